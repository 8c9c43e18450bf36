"""Every TypeScript sample of the guides compiles strictly, runs, and does what its page says.

One test, because the compiler takes seconds: everything is compiled once.
"""

from __future__ import annotations

from pathlib import Path

from tests.api.guide_outcomes import OUTCOMES, prepare
from tests.api.guide_samples import finished
from tests.api.guide_typescript import built
from tests.api.test_guide_receivers import running, trained
from tests.serving import Service, free_port


def test_typescript_samples_do_what_their_pages_say(service: Service, tmp_path: Path) -> None:
    built(tmp_path)
    for guide, expect in OUTCOMES.items():
        shop = service.merchant()
        prepare(guide, shop)
        given = {"LAARI": service.origin, "SECRET_KEY": shop.secret_key}
        expect(shop, finished(["node", f"{guide}.js"], tmp_path, given))
    port = free_port()
    with running(["node", "receiver.js"], port, tmp_path) as url:
        assert trained(url)["passed"] is True

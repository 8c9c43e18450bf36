"""Every sample of every page, in every language, on one merchant and in no particular order.

A reader comes from any page, in any language, and comes back. So no sample may rely on what another
left behind, or fail because of it: each is run here between any of the others, and twice by the
campaign. One test, because TypeScript's compiler takes seconds.
"""

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.api.guide_outcomes import OUTCOMES, after_any, prepare
from tests.api.guide_samples import RUNNERS, client_samples, finished, run, samples
from tests.api.guide_typescript import built
from tests.api.test_guide_receivers import running, trained
from tests.api.test_readme import README, curl_blocks, run_blocks
from tests.serving import Merchant, free_port

pytestmark = pytest.mark.ci

SEED = 28  # a failure comes from a change and not from luck


class Sample(NamedTuple):
    name: str
    run: Callable[[Merchant, dict[str, str]], None]


def guide(
    page: str, language: str, directory: Path, shop: Merchant, variables: dict[str, str]
) -> None:
    prepare(page, shop)
    if language == "ts":
        OUTCOMES[page](shop, finished(["node", f"{page}.js"], directory, variables))
        return
    place = directory / f"{page}-{language}"
    place.mkdir(exist_ok=True)
    (place / "statuses").unlink(missing_ok=True)
    ended = run(page, language, place, variables)
    OUTCOMES[page](shop, ended.output)
    if language == "sh":
        refused = [block.value("refused") for block in samples(page, "sh")]
        expected = [int(status) for status in refused if status]
        assert [status for status in ended.statuses if status >= 400] == expected


def readme(directory: Path, shop: Merchant, variables: dict[str, str]) -> None:
    blocks = curl_blocks(README.read_text(encoding="utf-8"))
    created, paid, read = run_blocks(blocks, variables, directory)
    assert created["data"]["status"] == "pending"
    assert paid["data"]["status"] == "paid"
    assert read == paid


def of_client(
    number: int, language: str, directory: Path, shop: Merchant, variables: dict[str, str]
) -> None:
    if language == "ts":
        output = finished(["node", f"readme-{number}.js"], directory, variables)
    else:
        output = RUNNERS[language](client_samples(language)[number], directory, variables).output
    code = client_samples(language)[number]
    assert "too much at once" in output or "PerPaymentLimit" not in code
    assert "12550" in output or "12550" not in code


def all_samples(directory: Path) -> Iterator[Sample]:
    for page in OUTCOMES:
        for language in (*RUNNERS, "ts"):
            yield Sample(f"{page} in {language}", partial(guide, page, language, directory))
    yield Sample("the README", partial(readme, directory))
    for language in ("python", "ts", "php"):
        for number in range(len(client_samples(language))):
            name = f"sample {number} of the {language} client"
            yield Sample(name, partial(of_client, number, language, directory))


@pytest.mark.parametrize("rounds", [1, pytest.param(2, marks=pytest.mark.campaign)])
def test_every_sample_works_after_any_other(shop: Merchant, tmp_path: Path, rounds: int) -> None:
    built(tmp_path)
    variables = {"LAARI_URL": shop.service.origin, "LAARI_SECRET_KEY": shop.secret_key}
    order = [*all_samples(tmp_path)] * rounds
    random.Random(SEED).shuffle(order)
    for place, sample in enumerate(order):
        try:
            sample.run(shop, variables)
            after_any(shop)
        except BaseException as error:
            before = [each.name for each in order[:place]]
            error.add_note(f"{sample.name}, after {before}")
            raise
    port = free_port()
    with running(["node", "receiver.js"], port, tmp_path) as url:
        assert trained(url)["passed"] is True

"""Every sample of the guides runs, in every language, and does what its page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from laari.edge.guide_text import LANGUAGES
from laari.edge.guides import GUIDES
from tests.api.guide_outcomes import OUTCOMES, prepare
from tests.api.guide_samples import RUNNERS, WITH_SAMPLES, blocks, run, samples
from tests.serving import Merchant


@pytest.mark.parametrize("language", RUNNERS)
@pytest.mark.parametrize("guide", OUTCOMES)
def test_a_page_does_what_it_says(
    guide: str, language: str, shop: Merchant, tmp_path: Path
) -> None:
    prepare(guide, shop)
    given = {"LAARI": shop.service.origin, "SECRET_KEY": shop.secret_key}
    ended = run(guide, language, tmp_path, given)
    OUTCOMES[guide](shop, ended.output)
    if language == "sh":
        refused = [block.value("refused") for block in samples(guide, "sh")]
        expected = [int(status) for status in refused if status]
        assert [status for status in ended.statuses if status >= 400] == expected


def test_no_page_with_samples_is_left_out() -> None:
    assert OUTCOMES.keys() == set(WITH_SAMPLES)


@pytest.mark.parametrize("guide", OUTCOMES)
def test_what_is_shown_in_one_language_is_shown_in_all(guide: str) -> None:
    numbers = {language: len(samples(guide, language)) for language in LANGUAGES}
    assert len(set(numbers.values())) == 1, numbers


def test_what_is_not_run_is_known() -> None:
    """Installing, starting and exporting; receivers, trainer and `listen` have their own tests."""
    left = [
        (guide, block.code.split("\n")[0])
        for guide in GUIDES
        for block in blocks(guide)
        if block.language in LANGUAGES and "by-hand" in block.words
    ]
    assert left == [
        ("quick-start", "python3 -m venv laari-env"),
        ("quick-start", "export LAARI=http://127.0.0.1:8000"),
        ("quick-start", "pip install ./clients/python    # Python 3.9 or newer"),
        (
            "webhooks",
            "laari webhook train http://127.0.0.1:8080/hook --secret -   # asks for the secret key",
        ),
        ("webhooks", "export LAARI_SECRET_KEY=$SECRET_KEY"),
        ("webhooks", "laari trigger --url $LAARI payment.paid"),
    ]

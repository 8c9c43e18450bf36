"""What the samples of the guides are; test_samples_together.py runs them all."""

import pytest

from laari import __version__
from laari.edge.reference.guide_text import LANGUAGES
from laari.edge.reference.guides import GUIDES
from tests.api.guide_outcomes import OUTCOMES
from tests.api.guide_samples import WITH_SAMPLES, blocks, samples


def test_no_page_with_samples_is_left_out() -> None:
    assert OUTCOMES.keys() == set(WITH_SAMPLES)


@pytest.mark.parametrize("guide", OUTCOMES)
def test_what_is_shown_in_one_language_is_shown_in_all(guide: str) -> None:
    numbers = {language: len(samples(guide, language)) for language in LANGUAGES}
    assert len(set(numbers.values())) == 1, numbers


def test_what_is_not_run_is_known() -> None:
    """Installing, starting, exporting, receivers, trainer and `listen` have their own tests."""
    left = [
        (guide, block.code.split("\n")[0])
        for guide in GUIDES
        for block in blocks(guide)
        if block.language in LANGUAGES and "by-hand" in block.words
    ]
    assert left == [
        ("quick-start", "python3 -m venv laari-env"),
        ("quick-start", ". laari-env/bin/activate"),
        ("quick-start", f"pip install dist/laari_client-{__version__}-py3-none-any.whl"),
        ("quick-start", "tsc -p clients/typescript"),
        ("quick-start", "cp -r clients/php laari-client"),
        (
            "webhooks",
            "laari webhook train http://127.0.0.1:8080/hook --secret -   # asks for the secret key",
        ),
        ("webhooks", "laari listen --forward-to http://127.0.0.1:8080/hook"),
        ("webhooks", "laari trigger payment.paid"),
        (
            "sandbox",
            f"pip install 'dist/laari-{__version__}-py3-none-any.whl[testing]'"
            f" dist/laari_client-{__version__}-py3-none-any.whl",
        ),
    ]

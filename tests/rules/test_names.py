"""Names that customers give themselves."""

import pytest

from laari.rules.people.contacts import MAX_OWN_NAME, read_own_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Aishath Ibrahim", "Aishath Ibrahim"),
        ("  Ali \t Didi ", "Ali Didi"),
        ("A. R. Al-Hassan Jr.", "A. R. Al-Hassan Jr."),
        ("Seán O\u2019Brien", "Seán O'Brien"),
        ("ޢާއިޝަތު އިބްރާހީމް", "ޢާއިޝަތު އިބްރާހީމް"),
        ("Zoe\u0308", "Zoë"),
        ("x" * MAX_OWN_NAME, "x" * MAX_OWN_NAME),
    ],
)
def test_a_name_has_letters_of_any_script(text: str, name: str) -> None:
    assert read_own_name(text) == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        " .-' ",
        "Wallet blocked! Unlock: https://laari-help.mv/u -",
        "laari-help.mv",
        "Ali.އ",
        "Ali.\u0301b",
        "Call 7771234",
        "Ali @ home",
        "Ali/Didi",
        "Ali\u202eidiD",
        "laari\u2024mv",
        "x" * (MAX_OWN_NAME + 1),
    ],
)
def test_links_numbers_and_signs_are_no_name(text: str) -> None:
    assert read_own_name(text) is None

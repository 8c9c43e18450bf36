"""One stored form for every way of writing a customer's name."""

import pytest

from laari.rules.people.contacts import masked_payer, read_email, read_mobile, read_vpa

SUFFIXES = ("fp", "fahipay")


@pytest.mark.parametrize(
    "text", ["7771234", " 777 1234 ", "777-1234", "+9607771234", "+960 777-1234", "9607771234"]
)
def test_mobile_numbers_are_seven_digits(text: str) -> None:
    assert read_mobile(text) == "7771234"


@pytest.mark.parametrize(
    "text", ["", "777123", "77712345", "+917771234", "+7771234x", "٧٧٧١٢٣٤", "9607771"[:6]]
)
def test_other_numbers_are_none(text: str) -> None:
    assert read_mobile(text) is None


def test_a_number_that_begins_like_the_prefix_is_kept_whole() -> None:
    assert read_mobile("9607771") == "9607771"


def test_email_is_trimmed_and_compared_without_case() -> None:
    assert read_email("  Aisha@Example.MV ") == "aisha@example.mv"


@pytest.mark.parametrize("text", ["", "aisha", "@x", "a@", "a b@c", "a@b@c", "a" * 250 + "@b.mv"])
def test_other_addresses_are_none(text: str) -> None:
    assert read_email(text) is None


@pytest.mark.parametrize("text", ["aisha", "Aisha", " aisha@fp ", "AISHA@FahiPay"])
def test_a_vpa_is_its_name(text: str) -> None:
    assert read_vpa(text, SUFFIXES) == "aisha"


@pytest.mark.parametrize("text", ["", "@fp", "aisha@other", "aisha@", "a b", "a@fp@fp", "x" * 101])
def test_other_vpas_are_none(text: str) -> None:
    assert read_vpa(text, SUFFIXES) is None


def test_a_payer_is_masked() -> None:
    assert masked_payer("Fathimath  Didi", "7712345", 7700) == "F… D…, …345"
    assert masked_payer("Ali", None, 7_700_000_000_012) == "A…, …012"

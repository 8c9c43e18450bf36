"""Spoken amounts: each says one number, in words that have a recording."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laari.edge.pages.assets import SPEECH
from laari.edge.pages.language import LANGUAGES
from laari.rules.limits.payments import MAX_PAYMENT_AMOUNT
from laari.rules.merchants.spoken_amounts import WORDS, spoken
from tools.spoken_words import PHONEMES

amounts = st.integers(1, MAX_PAYMENT_AMOUNT)
SIZES = {"thousand": 1_000, "million": 1_000_000, "haas": 1_000, "lakka": 100_000}
ALL_BYTES = 250_000  # of both languages: a phone loads one of them once


@pytest.mark.parametrize(
    ("laari", "english", "dhivehi"),
    [
        (1, "received one laari", "eh laari libijje"),
        (100, "received one rufiyaa", "eh rufiyaa libijje"),
        (1_050, "received ten rufiyaa fifty laari", "dhiha rufiyaa fansaas laari libijje"),
        (1_900, "received nineteen rufiyaa", "onavihi rufiyaa libijje"),
        (2_900, "received twenty nine rufiyaa", "onathirees rufiyaa libijje"),
        (3_000, "received thirty rufiyaa", "thirees rufiyaa libijje"),
        (3_100, "received thirty one rufiyaa", "thirees eh rufiyaa libijje"),
        (9_999, "received ninety nine rufiyaa ninety nine laari",
         "nuvadhiha nuva rufiyaa nuvadhiha nuva laari libijje"),
        (10_000, "received one hundred rufiyaa", "satheyka rufiyaa libijje"),
        (32_550, "received three hundred twenty five rufiyaa fifty laari",
         "thin satheyka fansavees rufiyaa fansaas laari libijje"),
        (20_100, "received two hundred one rufiyaa", "dhuisaththa eh rufiyaa libijje"),
        (110_000, "received one thousand one hundred rufiyaa",
         "eh haas satheyka rufiyaa libijje"),
        (10_000_000, "received one hundred thousand rufiyaa", "eh lakka rufiyaa libijje"),
        (123_456_700, "received one million two hundred thirty four thousand five hundred "
         "sixty seven rufiyaa",
         "baara lakka thirees hatharu haas fas satheyka fasdholhas hai rufiyaa libijje"),
        (2_000_000_000, "received twenty million rufiyaa", "dhuisaththa lakka rufiyaa libijje"),
    ],
)  # fmt: skip
def test_amounts_as_they_are_spoken(laari: int, english: str, dhivehi: str) -> None:
    assert " ".join(spoken(laari, "en")) == english
    assert " ".join(spoken(laari, "dv")) == dhivehi


def numbers_of(language: str) -> dict[str, int]:
    """The numbers that are one word."""
    single = [*range(1, 31), *range(40, 100, 10), 100, 200]
    found = {number: spoken(number * 100, language) for number in single}
    [received] = set(found[1]) & set(found[2]) - {"rufiyaa"}
    return {
        words[0]: number
        for number, each in found.items()
        if len(words := [word for word in each if word not in (received, "rufiyaa")]) == 1
    }


def heard(words: list[str], numbers: dict[str, int]) -> int:
    """The amount in laari that a listener understands."""
    amount = group = 0
    parts = {"rufiyaa": 0, "laari": 0}
    for word in words:
        if word in parts:
            assert parts[word] == 0
            parts[word], amount, group = amount + group, 0, 0
        elif word in SIZES:
            amount, group = amount + group * SIZES[word], 0
        elif word in ("hundred", "satheyka"):
            group = max(group, 1) * 100
        elif word not in ("received", "libijje"):
            group += numbers[word]
    assert (amount, group) == (0, 0)
    return parts["rufiyaa"] * 100 + parts["laari"]


@pytest.mark.parametrize("language", LANGUAGES)
@given(laari=amounts)
def test_a_listener_understands_the_amount(language: str, laari: int) -> None:
    assert heard(spoken(laari, language), numbers_of(language)) == laari


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_two_numbers_sound_the_same(language: str) -> None:
    """Without the pauses between the words."""
    numbers = range(1, 20_000)
    assert len({"".join(spoken(number * 100, language)) for number in numbers}) == len(numbers)


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_word_has_a_recording_and_is_needed(language: str) -> None:
    said = {word for n in (*range(1, 201), 10**5) for word in spoken(n * 10_101, language)}
    assert said == set(WORDS[language])
    assert {path.stem for path in (SPEECH / language).iterdir()} == said


def test_no_dhivehi_word_is_read_by_another_language() -> None:
    assert {*PHONEMES["dv"]} == {*WORDS["dv"]}


def test_recordings_are_small_and_of_a_kind_that_browsers_play() -> None:
    files = [path.read_bytes() for path in SPEECH.glob("*/*.mp3")]
    assert {path.parent.name for path in SPEECH.glob("*/*")} == {*LANGUAGES}
    assert sum(map(len, files)) < ALL_BYTES
    assert len(set(files)) == len(files)
    # A frame of MPEG 1, 2 or 2.5, layer III.
    assert {(file[0], file[1] & 0xE6) for file in files} == {(0xFF, 0xE2)}

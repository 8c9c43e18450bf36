"""Amounts as words that the counter speaks, in English and Dhivehi.

A word has one recording (`edge/pages/static/speech`), so an amount is a list of words. A Dhivehi
number has the form before a noun, because a noun always follows. It counts in lakka (100,000);
English counts in millions.
"""

# fmt: off
_ENGLISH = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen",
    "sixteen", "seventeen", "eighteen", "nineteen",
]
_ENGLISH_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_ENGLISH_SIZES = {1_000_000: "million", 1_000: "thousand", 100: "hundred"}

_DHIVEHI = [
    "eh", "dhe", "thin", "hatharu", "fas", "ha", "hai", "ah", "nuva", "dhiha",
    "egaara", "baara", "theyra", "saadha", "fanara",
    "soalha", "sathaara", "ashaara", "onavihi", "vihi",
    "ekaavees", "baavees", "theyvees", "sauvees", "fansavees",
    "sabbees", "hathaavees", "ashaavees", "onathirees",
]
_DHIVEHI_TENS = [
    "thirees", "saalhees", "fansaas", "fasdholhas", "haidhiha", "addiha", "nuvadhiha",
]
# fmt: on
_DHIVEHI_SIZES = {100_000: "lakka", 1_000: "haas"}
_HUNDRED, _TWO_HUNDRED = "satheyka", "dhuisaththa"

RUFIYAA, LAARI = "rufiyaa", "laari"
RECEIVED = {"en": "received", "dv": "libijje"}  # English begins with it, Dhivehi ends
_NUMBERS = {
    "en": [*_ENGLISH, *_ENGLISH_TENS, *_ENGLISH_SIZES.values()],
    "dv": [*_DHIVEHI, *_DHIVEHI_TENS, _HUNDRED, _TWO_HUNDRED, *_DHIVEHI_SIZES.values()],
}
WORDS = {code: [*words, RUFIYAA, LAARI, RECEIVED[code]] for code, words in _NUMBERS.items()}


def spoken(laari: int, language: str) -> list[str]:
    """The words for a received amount, such as `received`, `five`, `rufiyaa`."""
    number = _english if language == "en" else _dhivehi
    words: list[str] = []
    for count, unit in zip(divmod(laari, 100), (RUFIYAA, LAARI), strict=True):
        if count:
            words += [*number(count), unit]
    received = RECEIVED[language]
    return [received, *words] if language == "en" else [*words, received]


def _english(number: int) -> list[str]:
    words: list[str] = []
    for size, name in _ENGLISH_SIZES.items():
        count, number = divmod(number, size)
        if count:
            words += [*_english(count), name]
    return words + _below_hundred(number, _ENGLISH, _ENGLISH_TENS)


def _dhivehi(number: int) -> list[str]:
    words: list[str] = []
    for size, name in _DHIVEHI_SIZES.items():
        count, number = divmod(number, size)
        if count:
            words += [*_dhivehi(count), name]
    hundreds, number = divmod(number, 100)
    if hundreds == 2:
        words.append(_TWO_HUNDRED)
    elif hundreds:
        words += [*_dhivehi(hundreds), _HUNDRED] if hundreds > 1 else [_HUNDRED]
    return words + _below_hundred(number, _DHIVEHI, _DHIVEHI_TENS)


def _below_hundred(number: int, small: list[str], tens: list[str]) -> list[str]:
    """`small` has every number from one up to the first of the tens."""
    if number <= len(small):
        return small[number - 1 : number]
    ten, one = divmod(number - len(small) - 1, 10)
    return [tens[ten], *small[one - 1 : one]]

"""Identity data of customers: who they are by their document. It is stored only encrypted."""

from collections.abc import Mapping
from datetime import date

from msgspec import Struct

from laari.rules.calendar import read_date

DOCUMENTS = {
    "national_id": "National identity card",
    "passport": "Passport",
    "work_permit": "Work permit",
}
MAX_NUMBER = 50  # characters
MAX_ADDRESS = 500
_EARLIEST = date(1900, 1, 1)


class Identity(Struct, frozen=True):
    document: str
    number: str
    born: date
    address: str

    def __repr__(self) -> str:
        """Nothing that a log could keep."""
        return "Identity(…)"


def read_identity(given: Mapping[str, object], today: date) -> Identity | str:
    """The checked fields, or what is wrong in words that quote none of them."""
    texts = {name: str(given.get(name, "")).strip() for name in Identity.__struct_fields__}
    if texts["document"] not in DOCUMENTS:
        return "The document must be an identity card, a passport or a work permit."
    for name, longest in (("number", MAX_NUMBER), ("address", MAX_ADDRESS)):
        if not 1 <= len(texts[name]) <= longest or not texts[name].isprintable():
            return f"The {name} must be 1 to {longest} printable characters."
    born = read_date(texts.pop("born"))
    if born is None:
        return "The date of birth must be a date such as 1990-12-31."
    if not _EARLIEST <= born <= today:
        return "The date of birth must be between 1900 and today."
    return Identity(born=born, **texts)

"""The banks that an account can be at, each by the code that the operator's bank knows it by."""

from collections.abc import Mapping
from types import MappingProxyType

BANKS: Mapping[str, str] = MappingProxyType(
    {
        "BML": "Bank of Maldives",
        "MIB": "Maldives Islamic Bank",
        "BOC": "Bank of Ceylon",
        "CBM": "Commercial Bank of Maldives",
        "HBL": "Habib Bank",
        "HSBC": "HSBC",
        "MCB": "Mauritius Commercial Bank",
        "SBI": "State Bank of India",
    }
)
_CODES = {written.casefold(): code for code, name in BANKS.items() for written in (code, name)}


def bank_code(written: str) -> str:
    """The code of a bank that is written by its code or name; other texts as they are."""
    return _CODES.get(written.casefold(), written)

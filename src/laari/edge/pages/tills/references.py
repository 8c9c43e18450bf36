"""References of the payments that forms make: no two forms have the same."""

import re
import secrets

SALE = "SALE"  # made at the counter
SCAN = "SCAN"  # made by a customer with a static code
LINK = "LINK"  # made by a customer with a reusable link


def new_reference(kind: str) -> str:
    return f"{kind}-{secrets.token_hex(8).upper()}"


def is_reference(kind: str, text: str) -> bool:
    return re.fullmatch(rf"{kind}-[0-9A-F]{{16}}", text, re.ASCII) is not None

"""The parameters of a query or a form, read once for everything that looks at them.

Whoever has them read counts them first: the server those of a query, the token endpoint its fields.
"""

from typing import TypeAlias
from urllib.parse import parse_qsl

Parameters: TypeAlias = list[tuple[str, str]]  # in the order sent, blank ones too


def read_parameters(encoded: bytes, errors: str = "surrogateescape") -> Parameters:
    """Bytes that are no UTF-8 are kept: only the field that gets them knows what they mean."""
    return parse_qsl(encoded.decode(), keep_blank_values=True, errors=errors) if encoded else []

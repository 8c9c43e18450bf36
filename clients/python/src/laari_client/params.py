"""Objects inside of what is sent.

Made from the OpenAPI document by `make clients`; changes belong there or in tools/clients.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Optional, TypedDict, Union

# RFC 3339; a datetime needs a time zone.
Moment = Union[datetime, str]


class CustomerParams(TypedDict):
    type: Literal["mobile", "email", "vpa"]
    value: str


class PeriodParams(TypedDict, total=False):
    interval: Optional[Literal["day", "week", "month", "year"]]
    amount: Optional[int]


class LimitsParams(TypedDict, total=False):
    per_payment: Optional[int]
    period: Optional[PeriodParams]
    total: Optional[int]
    max_payments: Optional[int]


__all__ = ["CustomerParams", "LimitsParams", "Moment", "PeriodParams"]

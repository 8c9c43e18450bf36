"""A merchant's balance as JSON."""

from typing import Annotated, Literal

from msgspec import Meta, Struct


class MerchantBalance(Struct, frozen=True):
    """A merchant's money in one mode, in laari."""

    available: Annotated[
        int, Meta(description="Can be refunded or paid out; may be negative.", examples=[125000])
    ]
    held: Annotated[int, Meta(description="Held back by the operator.", examples=[0])]
    in_transit: Annotated[
        int, Meta(description="Paid out, not confirmed by the bank.", examples=[0])
    ]
    currency: Literal["MVR"]


def balance_shape(available: int, held: int, in_transit: int) -> MerchantBalance:
    return MerchantBalance(available, held, in_transit, "MVR")

"""Types of the fields of resources, with their descriptions in the reference."""

from typing import Annotated

from msgspec import Meta, Raw

from laari.rules import ids
from laari.rules.records import authorizations, ledger, payments, payouts

_DATE_TIME = {"format": "date-time"}
_URI = {"format": "uri"}
CURSOR_EXAMPLE = "AAZv0hQjWgABnxyOWkt8LZ4_YHGCk6S1qhQ3Xk9bY2c"
TID_EXAMPLE = "7Q2MX4C9T0V5K8HB"
_HEX = "019f1c8e5a4b7c2d9e3f60718293a4b5"


def _link(page: str, path: str) -> Meta:
    return Meta(
        description=f"{page} Use it exactly as returned.",
        examples=[f"https://pay.example/{path}/Zk3vQ9xW1rT7yLm2pB8cNd"],
        extra_json_schema=_URI,
    )


def _cursor(pattern: str, example: str) -> Meta:
    return Meta(
        description="Opaque; null on the last page.",
        examples=[example],
        extra_json_schema={"pattern": f"^{pattern}$"},
    )


Timestamp = Annotated[
    str, Meta(examples=["2027-07-01T09:30:00+05:00"], extra_json_schema=_DATE_TIME)
]
UtcTimestamp = Annotated[
    str,
    Meta(description="In UTC.", examples=["2027-07-01T04:30:00Z"], extra_json_schema=_DATE_TIME),
]
Metadata = Annotated[
    Raw,  # the JSON text as it was sent
    Meta(
        description="The strings sent with the payment.",
        examples=[{"basket": "b-77"}],
        extra_json_schema={"type": "object", "additionalProperties": {"type": "string"}},
    ),
]

AuthorizationId = Annotated[str, Meta(examples=[ids.AUTHORIZATION + _HEX])]
PaymentId = Annotated[str, Meta(examples=[ids.PAYMENT + _HEX])]
PaymentRequestId = Annotated[str, Meta(examples=[ids.PAYMENT_REQUEST + _HEX])]
RequestPaymentId = Annotated[
    str | None,
    Meta(description="The payment made from it; null until paid.", examples=[ids.PAYMENT + _HEX]),
]
RefundId = Annotated[str, Meta(examples=[ids.REFUND + _HEX])]
RefundAmount = Annotated[int, Meta(description="In laari.", examples=[5000])]
RefundReason = Annotated[payments.RefundReason | None, Meta(examples=["requested_by_customer"])]
# A payment of any kind, as JSON text: msgspec takes no union of structs in a field.
RefundedPayment = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/components/schemas/Payment"})]
RefundNote = Annotated[
    str | None,
    Meta(description="For you; the customer does not see it.", examples=["One ticket returned"]),
]
PayoutId = Annotated[str, Meta(examples=[ids.PAYOUT + _HEX])]
PayoutStatus = Annotated[payouts.PayoutStatus, Meta(examples=["sent"])]
PayoutFee = Annotated[
    int, Meta(description="In laari; one of the movements of the payout.", examples=[500])
]
PayoutNumber = Annotated[int, Meta(description="Among your payouts, from 1.", examples=[17])]
BankReferences = Annotated[
    list[str],
    Meta(
        description="The references of its orders on the bank's statement; empty until it is sent.",
        examples=[["LP000012R0003"]],
    ),
]
BankCode = Annotated[str, Meta(description="The code of the bank.", examples=["BML"])]
LastDigits = Annotated[
    str, Meta(description="The last four digits of the account number.", examples=["2345"])
]
ReturnedAmount = Annotated[
    int, Meta(description="In laari: the part that the bank returned.", examples=[0])
]
CutOff = Annotated[
    str,
    Meta(
        description="The movements of the payout are from before this time.",
        examples=["2027-07-02T00:00:00+05:00"],
        extra_json_schema=_DATE_TIME,
    ),
]
MovementType = Annotated[ledger.MovementType, Meta(examples=["payment"])]
SignedAmount = Annotated[
    int, Meta(description="In laari; negative if the balance fell.", examples=[12500])
]
MovementPaymentId = Annotated[
    str | None,
    Meta(description="Of a payment, its fee or its refund.", examples=[ids.PAYMENT + _HEX]),
]
MovementRefundId = Annotated[
    str | None, Meta(description="Of a refund.", examples=[ids.REFUND + _HEX])
]
EventId = Annotated[
    str,
    Meta(description="The same in every attempt to deliver it.", examples=[ids.EVENT + _HEX]),
]
CustomerKind = Annotated[payments.CustomerType, Meta(examples=["vpa"])]
CustomerValue = Annotated[
    str,
    Meta(
        description="A mobile number as seven digits, an email address, or a VPA's name part.",
        examples=["aisha"],
    ),
]
NextCursor = Annotated[str | None, _cursor("[A-Za-z0-9_-]{43}", CURSOR_EXAMPLE)]
NextTid = Annotated[str | None, _cursor(ids.TID_PATTERN, TID_EXAMPLE)]
Reference = Annotated[str, Meta(description="Your name for it.", examples=["ORDER-1001"])]
Amount = Annotated[int, Meta(description="In laari.", examples=[12500])]
Fee = Annotated[int | None, Meta(description="In laari; null until paid.", examples=[250])]
NetAmount = Annotated[
    int | None, Meta(description="Amount minus fee; null until paid.", examples=[12250])
]
Title = Annotated[str | None, Meta(examples=["Two tickets to Villingili"])]
Description = Annotated[str | None, Meta(examples=["Ferry, 1 July"])]
TerminalLabel = Annotated[str | None, Meta(examples=["Till 3"])]
BillNumber = Annotated[str | None, Meta(examples=["2027/0815"])]
PaymentStatus = Annotated[payments.PaymentStatus, Meta(examples=["paid"])]
PaymentReference = Annotated[
    str | None,
    Meta(description="The service's transaction reference.", examples=[TID_EXAMPLE]),
]
PaymentUrl = Annotated[str, _link("The checkout page.", "pay")]
QrUrl = Annotated[str, _link("A PNG image of the checkout page's address.", "merchant/public/qr")]
ReturnUrl = Annotated[
    str | None, Meta(examples=["https://shop.example/thanks"], extra_json_schema=_URI)
]

AuthorizationStatus = Annotated[authorizations.AuthorizationStatus, Meta(examples=["active"])]
AuthorizationTitle = Annotated[str, Meta(examples=["Monthly box"])]
ApprovalUrl = Annotated[str, _link("The page for the customer's approval.", "approve")]
Limit = Annotated[
    int | None, Meta(description="In laari; null is no limit of this kind.", examples=[50000])
]
MaxPayments = Annotated[
    int | None, Meta(description="Number of payments; null is no limit.", examples=[12])
]

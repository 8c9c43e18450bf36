"""Examples for the reference: one order, one invoice and one subscription after each operation."""

from typing import TypeVar

from msgspec import Raw, Struct, structs

from laari.edge.merchant.events import EventDelivery
from laari.edge.merchant.sandbox import SandboxClock, SandboxWallet
from laari.rules import ids
from laari.rules.events import PAYLOAD_VERSION, EventBody
from laari.rules.shapes.authorizations import (
    Authorization,
    AuthorizationLimits,
    AuthorizationUsage,
    ChargePreview,
    PeriodLimit,
    RemainingLimits,
)
from laari.rules.shapes.balance import MerchantBalance
from laari.rules.shapes.fields import TID_EXAMPLE
from laari.rules.shapes.payments import AuthorizationPayment, HostedPayment
from laari.rules.shapes.payouts import PaidAccount, Payout, PayoutMovement
from laari.rules.shapes.refunds import Refund
from laari.rules.shapes.requests import Customer, PaymentRequest

_ORIGIN = "https://pay.example"
_HEX = "019f1c8e5a4b7c2d9e3f60718293a4b5"
_TOKEN = "Zk3vQ9xW1rT7yLm2pB8cNd"  # noqa: S105  # of an example
_CREATED = "2027-07-01T09:30:00+05:00"
_LATER = "2027-07-01T09:42:10+05:00"
_TOMORROW = "2027-07-02T09:30:00+05:00"

S = TypeVar("S", bound=Struct)


def _sample(shape: type[S], **fields: object) -> S:
    """Fields that are left out are null."""
    return shape(**dict.fromkeys(shape.__struct_fields__) | fields)


PENDING = _sample(
    HostedPayment,
    id=ids.PAYMENT + _HEX,
    reference="ORDER-1001",
    amount=12500,
    title="Two tickets to Villingili",
    bill_number="2027/0815",
    status="pending",
    payment_url=f"{_ORIGIN}/pay/{_TOKEN}",
    qr_url=f"{_ORIGIN}/merchant/public/qr/{_TOKEN}",
    created_at=_CREATED,
    expires_at=_TOMORROW,
    metadata=Raw(b'{"basket":"b-77"}'),
)
_WHEN_PAID = {
    "status": "paid",
    "fee": 250,
    "net_amount": 12250,
    "payment_reference": TID_EXAMPLE,
    "paid_at": _LATER,
}
PAID = structs.replace(PENDING, **_WHEN_PAID)
REFUND = Refund(
    id=ids.REFUND + _HEX,
    payment_id=ids.PAYMENT + _HEX,
    amount=5000,
    reason="requested_by_customer",
    note="One ticket returned",
    created_at=_TOMORROW,
)
PAYOUT = _sample(
    Payout,
    id=ids.PAYOUT + _HEX,
    number=17,
    amount=125000,
    fee=500,
    status="sent",
    returned_amount=0,
    cut_off="2027-07-02T00:00:00+05:00",
    bank_references=["LP000012R0003"],
    bank_account=PaidAccount("BML", "2345"),
    created_at=_TOMORROW,
    sent_at=_TOMORROW,
)
_BANK_DAY = "2027-07-04T11:00:00+05:00"
PAYOUT_SETTLED = structs.replace(PAYOUT, status="settled", settled_at=_BANK_DAY)
PAYOUT_RETURNED = structs.replace(
    PAYOUT, status="returned", returned_amount=125000, returned_at=_BANK_DAY
)
PAYOUT_MOVEMENT = PayoutMovement(
    type="payment",
    amount=12500,
    payment_id=ids.PAYMENT + _HEX,
    refund_id=None,
    created_at=_LATER,
)
REQUEST = _sample(
    PaymentRequest,
    id=ids.PAYMENT_REQUEST + _HEX,
    reference="INVOICE-2001",
    amount=12500,
    title="Two tickets to Villingili",
    status="pending",
    customer=Customer("vpa", "sandbox"),
    created_at=_CREATED,
    expires_at=_TOMORROW,
)
REQUEST_PAID = structs.replace(REQUEST, payment_id=ids.PAYMENT + _HEX, **_WHEN_PAID)
AWAITING = _sample(
    Authorization,
    id=ids.AUTHORIZATION + _HEX,
    reference="BOX-77",
    title="Monthly box",
    type="recurring",
    currency="MVR",
    limits=AuthorizationLimits(50000, PeriodLimit("month", 50000), None, None),
    usage=AuthorizationUsage(0, 0),
    status="pending",
    approval_url=f"{_ORIGIN}/approve/{_TOKEN}",
    approval_expires_at=_TOMORROW,
    created_at=_CREATED,
    updated_at=_CREATED,
)
ACTIVE = structs.replace(AWAITING, status="active", approved_at=_LATER, updated_at=_LATER)
CHARGE = _sample(
    AuthorizationPayment,
    id=ids.PAYMENT + _HEX,
    reference="BOX-77/2027-07",
    amount=45000,
    fee=900,
    net_amount=44100,
    title="July's box",
    status="paid",
    payment_reference=TID_EXAMPLE,
    created_at=_LATER,
    paid_at=_LATER,
    metadata=Raw(b"{}"),
)
EVENT = {
    **structs.asdict(
        EventBody(
            id=ids.EVENT + _HEX,
            type="payment.paid",
            payload_version=PAYLOAD_VERSION,
            mode="sandbox",
            created_at="2027-07-01T04:42:10Z",
            data=PAID,
        )
    ),
    "delivery": EventDelivery("delivered", 1, None),
}

# By the name of the operation; the rows of a page for a list.
SAMPLES: dict[str, object] = {
    "create_payment": PENDING,
    "list_payments": [CHARGE, PAID],
    "get_payment": PAID,
    "cancel_payment": structs.replace(PENDING, status="cancelled"),
    "refund_payment": REFUND,
    "list_payment_refunds": [REFUND],
    "get_refund": REFUND,
    "get_balance": MerchantBalance(available=125000, held=0, in_transit=0, currency="MVR"),
    "list_payouts": [PAYOUT_SETTLED],
    "get_payout": PAYOUT,
    "list_payout_movements": [PAYOUT_MOVEMENT],
    "sandbox_create_payout": PAYOUT,
    "sandbox_settle_payout": PAYOUT_SETTLED,
    "sandbox_return_payout": PAYOUT_RETURNED,
    "create_payment_request": REQUEST,
    "list_payment_requests": [REQUEST],
    "get_payment_request": REQUEST_PAID,
    "cancel_payment_request": structs.replace(REQUEST, status="cancelled", cancelled_at=_LATER),
    "create_authorization": AWAITING,
    "list_authorizations": [ACTIVE],
    "get_authorization": ACTIVE,
    "charge_authorization": CHARGE,
    "preview_charge": ChargePreview(
        amount=45000,
        would_succeed=False,
        code="period_limit_exceeded",
        message="The amount exceeds the rest of this period's limit.",
        remaining=RemainingLimits(50000, 5000, None, None),
        period_resets_at="2027-08-01T00:00:00+05:00",
    ),
    "list_authorization_payments": [CHARGE],
    "cancel_authorization": structs.replace(
        ACTIVE, status="revoked", revoked_at=_LATER, updated_at=_LATER
    ),
    "list_events": [EVENT],
    "get_event": EVENT,
    "sandbox_pay_payment": PAID,
    "sandbox_reject_payment": structs.replace(PENDING, status="rejected"),
    "sandbox_reserve_payment": PENDING,
    "sandbox_release_payment": PENDING,
    "sandbox_pay_payment_request": REQUEST_PAID,
    "sandbox_reject_payment_request": structs.replace(
        REQUEST, status="rejected", rejected_at=_LATER
    ),
    "sandbox_reserve_payment_request": REQUEST,
    "sandbox_release_payment_request": REQUEST,
    "sandbox_approve_authorization": ACTIVE,
    "sandbox_reject_authorization": structs.replace(
        AWAITING, status="rejected", rejected_at=_LATER, updated_at=_LATER
    ),
    "sandbox_suspend_authorization": structs.replace(ACTIVE, status="suspended"),
    "sandbox_resume_authorization": ACTIVE,
    "sandbox_set_wallet": SandboxWallet(10_000_000, "verified", "wk_…"),
    "sandbox_move_clock": SandboxClock("2027-07-02T09:30:00+05:00", 86_400),
}

"""Resources as the merchant sees them."""

from typing import Any

from tests.model.reference.state import Authorization, Payment, Payout, Refund, Request
from tests.model.reference.times import Deadline, When, shown
from tests.model.reference.unknowns import Unknown, id_of, link_of


def _time(when: When | None) -> Any:
    return shown(when) if isinstance(when, int) else when


def _net(resource: Payment | Request) -> int | None:
    return None if resource.fee is None else resource.amount - resource.fee


def payment(it: Payment) -> dict[str, Any]:
    """Payments of authorizations leave out what only hosted payments have."""
    shape: dict[str, Any] = {
        "id": id_of(it.name),
        "reference": it.reference,
        "amount": it.amount,
        "fee": it.fee,
        "net_amount": _net(it),
        "title": it.title,
        "description": it.description,
        "bill_number": it.bill_number,
        "status": it.status,
        "payment_reference": it.tid,
        "created_at": it.created_at,
        "paid_at": it.paid_at,
        "metadata": it.metadata,
    }
    if it.kind == "charge":
        return shape
    return shape | {
        "terminal_label": it.terminal_label,
        "payment_url": link_of(it.name, "/pay/"),
        "qr_url": link_of(it.name, "/merchant/public/qr/"),
        "return_url": it.return_url,
        "expires_at": _time(it.expires_at),
    }


def refund(it: Refund) -> dict[str, Any]:
    return {
        "id": id_of(it.name),
        "payment_id": id_of(it.payment),
        "amount": it.amount,
        "reason": it.reason,
        "note": it.note,
        "created_at": it.created_at,
    }


def payout(it: Payout) -> dict[str, Any]:
    """Its cut-off is the service's choice, and stays."""
    return {
        "id": id_of(it.name),
        "number": it.number,
        "amount": it.amount,
        "fee": 0,
        "status": it.status,
        "returned_amount": it.amount if it.status == "returned" else 0,
        "cut_off": Unknown((*it.name, "cut_off"), r"\S+\+05:00", alone=False),
        "bank_references": [id_of(it.name)],
        "bank_account": {"bank": "BML", "last4": "0000"},
        "created_at": it.created_at,
        "sent_at": it.created_at,
        "settled_at": it.settled_at,
        "returned_at": it.returned_at,
        "cancelled_at": None,
    }


def request(it: Request) -> dict[str, Any]:
    return {
        "id": id_of(it.name),
        "reference": it.reference,
        "amount": it.amount,
        "fee": it.fee,
        "net_amount": _net(it),
        "title": it.title,
        "description": it.description,
        "terminal_label": it.terminal_label,
        "bill_number": it.bill_number,
        "status": it.status,
        "payment_id": None if it.payment is None else id_of(it.payment),
        "payment_reference": it.tid,
        "customer": {"type": it.customer_type, "value": it.customer_value},
        "return_url": it.return_url,
        "created_at": it.created_at,
        "paid_at": it.paid_at,
        "expires_at": _time(it.expires_at),
        "cancelled_at": it.cancelled_at,
        "rejected_at": it.rejected_at,
    }


def authorization(it: Authorization) -> dict[str, Any]:
    period = None
    if it.interval is not None:
        period = {"interval": it.interval, "amount": it.period_amount}
    return {
        "id": id_of(it.name),
        "reference": it.reference,
        "title": it.title,
        "description": it.description,
        "type": it.type,
        "currency": "MVR",
        "limits": {
            "per_payment": it.per_payment,
            "period": period,
            "total": it.total,
            "max_payments": it.max_payments,
        },
        "usage": {
            "payment_count": len(it.spendings),
            "total_paid": sum(amount for _, amount in it.spendings),
        },
        "status": it.status,
        "approval_url": link_of(it.name, "/approve/"),
        "approval_expires_at": approval_deadline(it),
        "expires_at": _time(it.expires_at),
        "return_url": it.return_url,
        "approved_at": it.approved_at,
        "rejected_at": it.rejected_at,
        "revoked_at": it.revoked_at,
        "last_used_at": it.last_used_at,
        "created_at": it.created_at,
        "updated_at": it.updated_at,
    }


def approval_deadline(it: Authorization) -> When:
    return Deadline(it.created_at)

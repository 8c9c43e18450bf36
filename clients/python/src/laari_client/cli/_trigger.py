"""`laari-client trigger`: makes an event happen in a merchant's sandbox."""

from __future__ import annotations

import secrets
import time
from datetime import datetime, timedelta
from typing import Any, Dict, Tuple

from laari_client import Laari, LaariError
from laari_client.cli._follow import Json, event_pages, sandbox_now

AMOUNT = 12_550  # laari
EXPIRES = timedelta(seconds=2)
PATIENCE_SECONDS = 30.0
LOOK_SECONDS = 0.25
TITLE = "Made by laari trigger"
SANDBOX_CUSTOMER = {"type": "vpa", "value": "sandbox"}

# What is done with the new resource: `cancel` and `refund` by the merchant, `settle` and
# `send_back` by the bank of the sandbox, the others by the sandbox customer.
EVENTS: Dict[str, Tuple[str, ...]] = {
    "payment.created": (),
    "payment.paid": ("pay",),
    "payment.cancelled": ("cancel",),
    "payment.expired": ("expire",),
    "payment.refunded": ("pay", "refund"),
    "payment_request.created": (),
    "payment_request.paid": ("pay",),
    "payment_request.rejected": ("reject",),
    "payment_request.cancelled": ("cancel",),
    "payment_request.expired": ("expire",),
    "authorization.created": (),
    "authorization.approved": ("approve",),
    "authorization.rejected": ("reject",),
    "authorization.cancelled": ("cancel",),
    "authorization.revoked": ("approve", "cancel"),
    "payout.sent": ("pay", "pay_out"),
    "payout.settled": ("pay", "pay_out", "settle"),
    "payout.returned": ("pay", "pay_out", "send_back"),
}


def trigger(client: Laari, event: str) -> Json:
    """The event, after it has happened."""
    now = sandbox_now(client)
    if now is None:
        raise LaariError("this key is in live mode: use one of a sandbox merchant")
    kind, steps = f"{event.partition('.')[0]}s", EVENTS[event]
    if kind == "payouts":
        kind = "payments"  # which bring the money in
    resource_id = _create(client, kind, now, expires="expire" in steps)
    for step in steps:
        if step == "expire":
            time.sleep(EXPIRES.total_seconds())
        elif step == "refund":
            kind, resource_id = "refunds", client.payments.refund(resource_id).id
        elif step == "pay_out":
            kind, resource_id = "payouts", client.sandbox.payouts.create().id
        else:
            actor = client if step == "cancel" else client.sandbox
            getattr(getattr(actor, kind), step)(resource_id)
    return _happened(client, kind, event, resource_id)


def _create(client: Laari, kind: str, now: datetime, expires: bool) -> str:
    fields: Dict[str, Any] = {"reference": f"trigger-{secrets.token_hex(6)}", "title": TITLE}
    if kind != "authorizations":
        fields.update(amount=AMOUNT, expires_at=now + EXPIRES if expires else None)
    if kind == "payment_requests":
        fields["customer"] = SANDBOX_CUSTOMER
    made: str = getattr(client, kind).create(**fields).id
    return made


def _happened(client: Laari, kind: str, event: str, resource_id: str) -> Json:
    """Waits for the event; reading the resource lets its deadline pass."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        getattr(client, kind).get(resource_id)
        now = sandbox_now(client)
        until = None if now is None else now + EXPIRES
        for found in next(event_pages(client, type=event, created_to=until)):
            if found["data"].get("id") == resource_id:
                return {name: found.get(name) for name in ("id", "type", "created_at", "data")}
        time.sleep(LOOK_SECONDS)
    raise LaariError(f"{resource_id} was created, but no {event} came in {PATIENCE_SECONDS:.0f} s")

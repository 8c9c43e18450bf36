"""`trigger`: makes an event happen in a merchant's sandbox."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from urllib.parse import quote

from .follow import events_of, sandbox_now
from .ports import AwayError, Json, Part, Screen, Service, ShopError

AMOUNT = 12_550  # laari
EXPIRES = timedelta(seconds=2)  # a near deadline that is surely in the future
PATIENCE_SECONDS = 30.0
LOOK_SECONDS = 0.25
TITLE = "Made by laari trigger"

Scenario = Callable[[Service, datetime], str]  # returns the resource's path
Make = Callable[..., str]  # takes more fields, returns the path too


def _create(service: Service, path: str, collection: str, **body: object) -> str:
    """Posts to a path and returns the path of the new resource."""
    made = service.post(path, dict(body))["data"]
    if not isinstance(made, dict) or not isinstance(made.get("id"), str):
        raise AwayError(f"{service.url} answers, but is not Laari: check --url")
    return f"{collection}/{quote(made['id'], safe='')}"


def _maker(path: str, **fixed: object) -> Make:
    def make(service: Service, **fields: str) -> str:
        reference = f"trigger-{secrets.token_hex(6)}"
        return _create(service, path, path, reference=reference, title=TITLE, **fixed, **fields)

    return make


payment = _maker("/payments", amount=AMOUNT)
request = _maker(
    "/payment-requests",
    amount=AMOUNT,
    customer={"type": "vpa", "value": "sandbox"},  # the default of LAARI_SANDBOX_VPA
)
authorization = _maker("/authorizations")


def _then(make: Make, *actions: str) -> Scenario:
    """Makes a resource and acts on it: `pay` as the sandbox's customer, `/cancel` as merchant."""

    def scenario(service: Service, now: datetime) -> str:
        path = make(service)
        for action in actions:
            own = action.startswith("/")
            service.post(path + action if own else f"/sandbox{path}/{action}")
        return path

    return scenario


def _refund(service: Service, now: datetime) -> str:
    path = _then(payment, "pay")(service, now)
    return _create(service, f"{path}/refunds", "/refunds")


def _payout(*answers: str) -> Scenario:
    """Pays out all that is available; the sandbox's bank answers."""

    def scenario(service: Service, now: datetime) -> str:
        _then(payment, "pay")(service, now)
        path = _create(service, "/sandbox/payouts", "/payouts")
        for answer in answers:
            service.post(f"/sandbox{path}/{answer}")
        return path

    return scenario


def _expiring(make: Make) -> Scenario:
    def scenario(service: Service, now: datetime) -> str:
        path = make(service, expires_at=(now + EXPIRES).isoformat())
        time.sleep(EXPIRES.total_seconds())
        return path

    return scenario


SCENARIOS: dict[str, Scenario] = {
    "payment.created": _then(payment),
    "payment.paid": _then(payment, "pay"),
    "payment.cancelled": _then(payment, "/cancel"),
    "payment.expired": _expiring(payment),
    "payment.refunded": _refund,
    "payment_request.created": _then(request),
    "payment_request.paid": _then(request, "pay"),
    "payment_request.rejected": _then(request, "reject"),
    "payment_request.cancelled": _then(request, "/cancel"),
    "payment_request.expired": _expiring(request),
    "authorization.created": _then(authorization),
    "authorization.approved": _then(authorization, "approve"),
    "authorization.rejected": _then(authorization, "reject"),
    "authorization.cancelled": _then(authorization, "/cancel"),
    "authorization.revoked": _then(authorization, "approve", "/cancel"),
    "payout.sent": _payout(),
    "payout.settled": _payout("settle"),
    "payout.returned": _payout("return"),
}


def trigger(service: Service, event: str, screen: Screen, *, as_json: bool) -> None:
    """Makes the event happen and shows it."""
    if not as_json:
        screen.say_meanwhile(f"Making {event} happen at {service.url}")
    now = sandbox_now(service)
    if now is None:
        raise ShopError("this key is in live mode: use one of a sandbox merchant")
    happened = _happened(service, event, SCENARIOS[event](service, now))
    if as_json:
        screen.say_json(happened)
        return
    screen.say_line(
        [
            Part(event, "green"),
            Part(f"  {happened['data']['id']}", whole=True),
            Part(f"  {happened['id']}", whole=True),
        ]
    )


def _happened(service: Service, event: str, path: str) -> Json:
    """Waits for the event; reading the resource lets its deadline pass."""
    resource_id = path.rpartition("/")[2]
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        service.get(path)
        now = sandbox_now(service)
        until = {} if now is None else {"created_to": (now + EXPIRES).isoformat()}
        for found in events_of(service, service.get("/events", type=event, **until)):
            if found["data"].get("id") == resource_id:
                return {name: found.get(name) for name in ("id", "type", "created_at", "data")}
        time.sleep(LOOK_SECONDS)
    raise ShopError(f"{resource_id} was created, but no {event} came in {PATIENCE_SECONDS:.0f} s")

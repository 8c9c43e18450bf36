"""`laari trigger`: makes an event happen in a merchant's sandbox."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

import click

from laari.cli.shop.remote import api_options
from laari.cli.terminal.operation import json_option, show
from laari.cli.terminal.output import Part, say_line, say_meanwhile
from laari.cli.terminal.permission import needs
from laari.errors import LaariError

if TYPE_CHECKING:
    from laari.cli.shop.api import Api, Json

AMOUNT = 12_550  # laari
EXPIRES = timedelta(seconds=2)  # a near deadline that is surely in the future
PATIENCE_SECONDS = 30.0
LOOK_SECONDS = 0.25
TITLE = "Made by laari trigger"

Scenario: TypeAlias = Callable[["Api", datetime], Awaitable[str]]  # returns the resource's path


Make: TypeAlias = Callable[..., Awaitable[str]]  # takes more fields, returns the path too


def _maker(path: str, **fixed: object) -> Make:
    async def make(api: Api, **fields: str) -> str:
        reference = f"trigger-{secrets.token_hex(6)}"
        made = await api.create(path, reference=reference, title=TITLE, **fixed, **fields)
        return f"{path}/{made['id']}"

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

    async def scenario(api: Api, now: datetime) -> str:
        path = await make(api)
        for action in actions:
            own = action.startswith("/")
            await api.post(path + action if own else f"/sandbox{path}/{action}")
        return path

    return scenario


async def _refund(api: Api, now: datetime) -> str:
    path = await _then(payment, "pay")(api, now)
    made = await api.create(f"{path}/refunds")
    return f"/refunds/{made['id']}"


def _payout(*answers: str) -> Scenario:
    """Pays out all that is available; the sandbox's bank answers."""

    async def scenario(api: Api, now: datetime) -> str:
        await _then(payment, "pay")(api, now)
        made = await api.create("/sandbox/payouts")
        for answer in answers:
            await api.post(f"/sandbox/payouts/{made['id']}/{answer}")
        return f"/payouts/{made['id']}"

    return scenario


def _expiring(make: Make) -> Scenario:
    async def scenario(api: Api, now: datetime) -> str:
        path = await make(api, expires_at=(now + EXPIRES).isoformat())
        await asyncio.sleep(EXPIRES.total_seconds())
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


@click.command("trigger")
@click.argument("event", type=click.Choice(list(SCENARIOS)), metavar="EVENT")
@api_options
@json_option
@needs("shop.develop")
def trigger_command(event: str, url: str, key: str, as_json: bool) -> None:
    """Make an event happen in the sandbox, such as payment.paid.

    Creates a payment, payment request or authorization and does what the event needs. The service
    sends its webhooks as usual. Refuses a key in live mode.
    """
    if not as_json:
        say_meanwhile(f"Making {event} happen at {url}")
    happened = asyncio.run(_trigger(event, url, key))
    if as_json:
        show(happened, as_json)
        return
    say_line(
        Part(event, "green"),
        Part(f"  {happened['data']['id']}", whole=True),
        Part(f"  {happened['id']}", whole=True),
    )


async def _trigger(event: str, url: str, key: str) -> Json:
    from laari.cli.shop.api import open_api  # noqa: PLC0415  # aiohttp loads slowly

    async with open_api(url, key) as api:
        now = await api.sandbox_now()
        if now is None:
            raise LaariError("this key is in live mode: use one of a sandbox merchant")
        path = await SCENARIOS[event](api, now)
        return await _happened(api, event, path)


async def _happened(api: Api, event: str, path: str) -> Json:
    """Waits for the event; reading the resource lets its deadline pass."""
    resource_id = path.rpartition("/")[2]
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        await api.get(path)
        now = await api.sandbox_now()
        until = {} if now is None else {"created_to": (now + EXPIRES).isoformat()}
        for found in (await api.get("/events", type=event, **until))["data"]:
            if found["data"]["id"] == resource_id:
                return {name: found[name] for name in ("id", "type", "created_at", "data")}
        await asyncio.sleep(LOOK_SECONDS)
    raise LaariError(f"{resource_id} was created, but no {event} came in {PATIENCE_SECONDS:.0f} s")

"""`laari webhook`: deliveries, and help for developers of receivers."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import UUID

import click
from msgspec import Raw
from msgspec.structs import asdict

from laari.cli.terminal import fields
from laari.cli.terminal.operation import database_operation, json_option, operation, show
from laari.cli.terminal.output import Part, complain, say_line, say_meanwhile, say_wrapped
from laari.cli.terminal.permission import needs
from laari.cli.terminal.secret_input import secret_options
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules import ids
from laari.rules.calendar import show as show_time
from laari.rules.calendar import show_or_none
from laari.rules.events import sample_event
from laari.rules.webhooks import check_webhook_url
from laari.store.merchants import merchants
from laari.store.outbox import deliveries
from laari.store.postgres.pool import Connection, connection_to
from laari.store.reads import events, tenants
from laari.store.reads.events import Delivery
from laari.store.reads.webhook_states import DeliveryStatus

if TYPE_CHECKING:
    from laari.workers.webhooks.training import Result

STATUS = click.Choice(["pending", "delivered", "failed"])


@click.group()
def webhook() -> None:
    """Deliveries of events, and tests for receivers."""


def described(delivery: Delivery) -> dict[str, object]:
    return {
        "event_id": ids.show_id(ids.EVENT, delivery.event_id),
        "type": delivery.type,
        "merchant_id": delivery.merchant_id,
        "mode": delivery.mode,
        "created_at": show_time(delivery.created_at),
        "status": delivery.status,
        "next_attempt_at": show_or_none(delivery.next_attempt_at),
        "attempts": [
            asdict(attempt) | {"started_at": show_time(attempt.started_at)}
            for attempt in delivery.attempts
        ],
    }


_event_id = fields.id_of(ids.EVENT, "an event id")


@webhook.command("list")
@click.option("--merchant", "merchant_id", help="Only this merchant's deliveries.")
@click.option("--status", type=STATUS, help="Only deliveries with this status.")
@click.option("--limit", type=fields.integer(1, 1_000_000), help="Only the newest NUMBER.")
@database_operation
@needs("webhooks.read")
async def list_all(
    connection: Connection,
    merchant_id: str | None,
    status: DeliveryStatus | None,
    limit: int | None,
) -> list[dict[str, object]]:
    """List deliveries, newest event first."""
    if merchant_id is not None:
        await merchants.show(connection, merchant_id)  # raises an error if there is none
    found = await events.deliveries_of(
        connection, merchant_id=merchant_id, status=status, limit=limit
    )
    return [described(delivery) for delivery in found]


@webhook.command("show")
@click.argument("event_id", type=_event_id)
@database_operation
@needs("webhooks.read")
async def show_one(connection: Connection, event_id: UUID) -> dict[str, object]:
    """Show a delivery: the event and every attempt to send it."""
    delivery = await _find(connection, event_id)
    shown = described(delivery)
    attempts = shown.pop("attempts")
    return {**shown, "event": Raw(delivery.body), "attempts": attempts}


@webhook.command()
@click.argument("event_id", type=_event_id)
@operation
@needs("webhooks.manage")
async def resend(service: Service, event_id: UUID) -> dict[str, object]:
    """Send an event again, with the same id and up to three attempts."""
    # One transaction, so that the command shows the delivery before its next attempt.
    async with connection_to(service.dsn) as connection, connection.transaction():
        refusal = await deliveries.resend(connection, event_id)
        if refusal == deliveries.NO_EVENT:
            raise LaariError(f"there is no event {ids.show_id(ids.EVENT, event_id)}")
        if refusal is not None:
            raise LaariError(refusal.message)
        return described(await _find(connection, event_id))


async def _find(connection: Connection, event_id: UUID) -> Delivery:
    found = await events.deliveries_of(connection, event_id=event_id)
    if found:
        return found[0]
    shown = ids.show_id(ids.EVENT, event_id)
    if await events.by_id(connection, [event_id]):
        raise LaariError(
            f"{shown} has no delivery: no webhook URL was set, or the delivery was purged; "
            f"use `laari webhook resend {shown}` to send it"
        )
    raise LaariError(f"there is no event {shown}")


@webhook.command("test")
@click.argument("merchant_id")
@operation
@needs("webhooks.manage")
async def send_test(service: Service, merchant_id: str) -> dict[str, object]:
    """Send a sample event now, and show the receiver's answer."""
    async with connection_to(service.dsn) as connection:
        merchant = await merchants.show(connection, merchant_id)
        if merchant.webhook_url is None:
            raise LaariError(
                f"{merchant_id} has no webhook URL: "
                f"set one with `laari merchant update {merchant_id} --webhook-url URL`"
            )
        secret = await merchants.signing_key_of(connection, service.master_key, merchant_id)
        tenant = await tenants.of_merchant(connection, merchant_id, merchant.mode)
    sample = sample_event(tenant, datetime.now(UTC), os.urandom)
    from laari.workers.webhooks.sender import Sender  # noqa: PLC0415  # aiohttp loads slowly

    async with Sender(allow_private=service.settings.webhook_allow_private) as sender:
        answer = await sender.send(merchant.webhook_url, secret, sample.body)
    return {
        "event_id": ids.show_id(ids.EVENT, sample.id),
        "type": sample.type,
        **answer.described(merchant.webhook_url),
    }


@webhook.command("train")
@click.argument("url")
@secret_options("secret", "The key with which the receiver verifies signatures", required=True)
@json_option
@needs("shop.develop")
def train_receiver(url: str, secret: str, as_json: bool) -> None:
    """Test a receiver with difficult events.

    The exercises are duplicates, forgeries, old and unknown events, and events out of order.

    The receiver may run anywhere, also on this machine. The exit status is 1 if it fails one.
    """
    refusal = check_webhook_url(url, allow_private=True)
    if refusal is not None:
        raise LaariError(refusal.message.replace("webhook_url", "URL"))
    results = asyncio.run(_train(url, secret, as_json))
    failed = sum(not result.passed for result in results)
    if as_json:
        show({"url": url, "passed": failed == 0, "exercises": results}, as_json)
    elif not failed:
        say_line(Part(f"The receiver passed all {len(results)} exercises.", "green"))
    if all(each.answered == "401" for each in results if each.expected == "2xx"):
        complain(
            "the receiver answers 401 to every genuine event: check that it verifies with the "
            "secret that you gave"
        )
    if failed:
        raise LaariError(f"the receiver failed {failed} of {len(results)} exercises")


async def _train(url: str, secret: str, as_json: bool) -> list[Result]:
    from laari.workers.webhooks.sender import Sender  # noqa: PLC0415  # aiohttp loads slowly
    from laari.workers.webhooks.training import exercises, train  # noqa: PLC0415

    names = [each.name for each in exercises(secret, 0)]
    width = max(map(len, names))
    results: list[Result] = []

    def tell(name: str, number: int, total: int) -> None:
        if not as_json:
            say_meanwhile(f"{number:>2}/{total}  ...   {name}")

    async with Sender(allow_private=True) as sender:
        async for result in train(sender, url, secret, tell):
            results.append(result)
            if not as_json:
                _say_result(result, f"{len(results):>2}/{len(names)}", width)
    return results


def _say_result(result: Result, place: str, width: int) -> None:
    verdict = Part("ok  ", "green") if result.passed else Part("FAIL", "red")
    exercise = Part(f"  {result.exercise:<{width}}  ")
    expected = "" if result.passed else f", expected {result.expected}"
    say_line(Part(f"{place}  "), verdict, exercise, Part(result.answered + expected))
    if not result.passed:
        say_wrapped(result.why, len(place) + 8)

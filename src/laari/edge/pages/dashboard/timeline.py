"""The history of a payment, from all records of the database."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, get_args
from uuid import UUID

from laari.edge.pages.person import PersonRequest
from laari.rules import ids
from laari.rules.actors import name_for_merchants
from laari.rules.idempotency import RETENTION
from laari.rules.ledger import FIRST_WALLET_ACCOUNT, fee_account
from laari.rules.records.idempotency import SavedResponse
from laari.rules.records.journal import JournalEntry
from laari.rules.records.ledger import Transfer
from laari.rules.records.payments import Payment, Refund
from laari.rules.records.tenants import Mode, Tenant, local_time
from laari.store.reads import events, journal, payment_history
from laari.store.reads.events import AttemptMade

# In the order of entries with the same time: the cause comes first.
TimelineKind = Literal["request", "state", "transfer", "event", "delivery"]
_ORDER = get_args(TimelineKind)
MOST_ACTIONS = 100  # of one payment in the journal


class TimelineEntry(NamedTuple):
    at: datetime
    kind: TimelineKind
    title: str
    detail: str = ""
    amount: int | None = None
    until: datetime | None = None
    replays: int = 0
    last_replayed_at: datetime | None = None
    event_id: str | None = None
    failed: bool = False


async def timeline(
    request: PersonRequest,
    tenant: Tenant,
    payment: Payment,
    refunds: Sequence[Refund],
    name_of: Callable[[str, str], str] = name_for_merchants,
) -> list[TimelineEntry]:
    """With the saved responses of its refunds, and events for people who may read webhooks.

    `name_of` names an actor by its kind and name.
    """
    ask, mode = request.backend.ask, tenant.mode
    objects = [payment.id, *(refund.id for refund in refunds)]
    shown = ids.show_id(ids.PAYMENT, payment.id)
    done = await ask(journal.actions_of, "payment", shown, MOST_ACTIONS)
    entries = _states(payment, done, name_of)
    entries += map(
        _request, await ask(payment_history.saved_responses_of, payment.tenant_id, objects)
    )
    transfers = await ask(payment_history.transfers_of, payment.id)
    refunders = {refund.tid: name_of(refund.actor_kind, refund.actor_name) for refund in refunds}
    entries += [_moved(mode, each, refunders.get(each.tid)) for each in transfers]
    if request.may("webhooks.read"):
        entries += await _events(request, tenant, objects)
    return sorted(entries, key=lambda entry: (entry.at, _ORDER.index(entry.kind)))


async def _events(
    request: PersonRequest, tenant: Tenant, objects: list[UUID]
) -> list[TimelineEntry]:
    """Events with their deliveries, which show the shop's address and its answers."""
    sent = await request.backend.ask(events.of_objects, objects)
    attempts = await request.backend.ask(events.attempts_of, [event.id for event in sent])
    entries = list[TimelineEntry]()
    for event in sent:
        event_id = ids.show_id(ids.EVENT, event.id)
        entries.append(
            TimelineEntry(event.created_at, "event", f"Event {event.type}", event_id=event_id)
        )
        for attempt in attempts.get(event.id, []):
            # Deliveries have real times, which are shown on the sandbox's clock here.
            at = local_time(attempt.started_at, tenant)
            entries.append(_delivery(event.type, attempt, at)._replace(event_id=event_id))
    return entries


def _states(
    payment: Payment, done: list[JournalEntry], name_of: Callable[[str, str], str]
) -> list[TimelineEntry]:
    cancelled = [each for each in done if each.action == "payment.cancel"]
    who = [name_of(each.actor_kind, each.actor_name) for each in cancelled[:1]]
    made = {
        "hosted": "Created",
        "request": "Created from a payment request",
        "charge": "Charged to an authorization",
    }[payment.kind]
    moments = (
        (payment.created_at, made, ""),
        (payment.reserved_at, "An attempt to pay is being processed", ""),
        (payment.paid_at, "Paid", ""),
        (payment.rejected_at, "Declined by the customer", ""),
        (payment.cancelled_at, "Cancelled", f"By {who[0]}" if who else ""),
        (payment.expires_at if payment.status == "expired" else None, "Expired", ""),
        (payment.refunded_at, "All of it is refunded", ""),
    )
    return [
        TimelineEntry(at, "state", title, detail) for at, title, detail in moments if at is not None
    ]


def _request(saved: SavedResponse) -> TimelineEntry:
    return TimelineEntry(
        saved.completed_at,
        "request",
        f"Response {saved.status}",
        f"Idempotency-Key {saved.key}: a repeated request gets the same response.",
        until=saved.completed_at + RETENTION,
        replays=saved.replays,
        last_replayed_at=saved.last_replayed_at,
    )


def _moved(mode: Mode, transfer: Transfer, who: str | None) -> TimelineEntry:
    detail = f"{_account(mode, transfer.debit_account)} → {_account(mode, transfer.credit_account)}"
    if who is not None:
        detail = f"By {who}: {detail}"
    title = {"payment": "Money moved", "fee": "Fee", "refund": "Money refunded"}[transfer.kind]
    return TimelineEntry(transfer.created_at, "transfer", title, detail, transfer.amount)


def _account(mode: Mode, account: int) -> str:
    if account == fee_account(mode).number:
        return "service fees"
    return "the payer's wallet" if account >= FIRST_WALLET_ACCOUNT else "your account"


def _delivery(event_type: str, attempt: AttemptMade, at: datetime) -> TimelineEntry:
    outcome = attempt.error or f"status {attempt.http_status}"
    failed = attempt.http_status is None or not 200 <= attempt.http_status < 300
    detail = f"{attempt.url}: {outcome} ({attempt.duration_ms} ms)"
    return TimelineEntry(at, "delivery", f"Delivery of {event_type}", detail, failed=failed)

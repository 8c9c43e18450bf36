"""Exercises for a merchant's webhook receiver: what is sent, and the status a correct one returns.

A receiver acknowledges every genuine event with 2xx, also one that comes twice, late, out of
order or with an unknown type, and returns 401 for everything else. What it does behind that
(fulfilling an order once) only its owner can see: every exercise names the payment to look for.
"""

import os
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from laari.rules import ids
from laari.rules.calendar import show, show_utc
from laari.rules.events import PAYLOAD_VERSION, EventBody
from laari.rules.shapes.envelopes import to_json
from laari.rules.shapes.payments import HostedPayment
from laari.rules.webhooks import SIGNATURE_TOLERANCE_SECONDS, is_acknowledged, signature

UNAUTHORIZED = 401
STALE_SECONDS = 2 * SIGNATURE_TOLERANCE_SECONDS
TOLERABLE_SECONDS = SIGNATURE_TOLERANCE_SECONDS - 60

Expected = Literal["2xx", "401"]
JsonObject: TypeAlias = dict[str, object]


class ExerciseDelivery(NamedTuple):
    body: bytes
    signed: str | None  # None sends no signature at all
    expected: Expected


class Exercise(NamedTuple):
    name: str
    why: str
    deliveries: list[ExerciseDelivery]
    at_once: bool = False  # all deliveries at the same moment


def passes(expected: Expected, status: int | None) -> bool:
    if status is None:
        return False
    return is_acknowledged(status) if expected == "2xx" else status == UNAUTHORIZED


class _EventFactory:
    """Makes events that look real, signed as the service signs, or not quite."""

    def __init__(self, secret: str, now: int) -> None:
        self._secret = secret
        self._now = now

    def payment(self, **changed: object) -> JsonObject:
        moment = datetime.fromtimestamp(self._now, UTC)
        token = ids.new_token(moment, os.urandom)
        reference = f"laari-training-{secrets.token_hex(6)}"
        shape = HostedPayment(
            id=ids.show_id(ids.PAYMENT, ids.new_id(moment, os.urandom)),
            reference=reference,
            amount=12500,
            fee=125,
            net_amount=12375,
            title="Training",
            description=None,
            terminal_label=None,
            bill_number=None,
            status="paid",
            payment_url=f"https://laari.invalid/pay/{token}",
            payment_reference=ids.new_tid(moment, os.urandom),
            qr_url=f"https://laari.invalid/merchant/public/qr/{token}",
            return_url=None,
            created_at=show(moment),
            paid_at=show(moment),
            expires_at=show(moment),
            metadata=msgspec.Raw(b"{}"),
        )
        return {**msgspec.json.decode(to_json(shape)), **changed}

    def pending(self, payment: JsonObject) -> JsonObject:
        not_yet = dict.fromkeys(("fee", "net_amount", "paid_at", "payment_reference"))
        return {**payment, **not_yet, "status": "pending"}

    def event(self, event_type: str = "payment.paid", data: JsonObject | None = None) -> JsonObject:
        moment = datetime.fromtimestamp(self._now, UTC)
        body = EventBody(
            id=ids.show_id(ids.EVENT, ids.new_id(moment, os.urandom)),
            type=event_type,
            payload_version=PAYLOAD_VERSION,
            mode="sandbox",
            created_at=show_utc(moment),
            data=self.payment() if data is None else data,
        )
        made: JsonObject = msgspec.to_builtins(body)
        return made

    def genuine(self, event: JsonObject | bytes, age_seconds: int = 0) -> ExerciseDelivery:
        body = event if isinstance(event, bytes) else to_json(event)
        return ExerciseDelivery(body, signature(self._secret, self._now - age_seconds, body), "2xx")

    def refused(self, body: bytes, signed: str | None) -> ExerciseDelivery:
        return ExerciseDelivery(body, signed, "401")

    def signed(self, body: bytes, *, key: str | None = None, age_seconds: int = 0) -> str:
        return signature(key or self._secret, self._now - age_seconds, body)


MakeExercise: TypeAlias = Callable[[_EventFactory], Exercise]


def exercises(secret: str, now: int) -> list[Exercise]:
    """All exercises, with fresh events signed for this moment."""
    make = _EventFactory(secret, now)
    return [exercise(make) for exercise in (*_GENUINE, *_FORGED)]


def _accepts(make: _EventFactory) -> Exercise:
    why = "A genuine event has to be acknowledged with 2xx."
    return Exercise("valid event", why, [make.genuine(make.event())])


def _duplicate(make: _EventFactory) -> Exercise:
    event = make.event()
    why = "An event can come twice: acknowledge it again, fulfil it once (by event id)."
    return Exercise("duplicate", why, [make.genuine(event) for _ in range(3)])


def _duplicates_at_once(make: _EventFactory) -> Exercise:
    event = make.event()
    why = "Two deliveries can arrive at the same moment: neither may end in an error."
    return Exercise(
        "duplicates at once", why, [make.genuine(event) for _ in range(4)], at_once=True
    )


def _out_of_order(make: _EventFactory) -> Exercise:
    paid = make.payment()
    created = make.event("payment.created", make.pending(paid))
    why = "payment.paid can come before payment.created: both are acknowledged, paid stays paid."
    deliveries = [make.genuine(make.event("payment.paid", paid)), make.genuine(created)]
    return Exercise("out of order", why, deliveries)


def _unknown_type(make: _EventFactory) -> Exercise:
    event = make.event("payment.celebrated")
    why = "A type you do not know is acknowledged and ignored."
    return Exercise("unknown event type", why, [make.genuine(event)])


def _unknown_fields(make: _EventFactory) -> Exercise:
    event = {**make.event(data=make.payment(novelty={"a": [1]})), "novelty": None}
    why = "Fields you do not know are ignored."
    return Exercise("unknown fields", why, [make.genuine(event)])


def _raw_body(make: _EventFactory) -> Exercise:
    event = make.event(data=make.payment(title="ރުފިޔާ ½"))
    spaced = msgspec.json.format(to_json(event), indent=3)
    escaped = spaced.decode().encode("ascii", "backslashreplace").replace(b"\\x", b"\\u00")
    why = "The signature covers the raw body, byte by byte: never parse and write it again first."
    return Exercise("raw body", why, [make.genuine(spaced), make.genuine(escaped)])


def _tolerable_age(make: _EventFactory) -> Exercise:
    why = f"A timestamp up to {SIGNATURE_TOLERANCE_SECONDS} seconds off is in order."
    return Exercise("slightly old timestamp", why, [make.genuine(make.event(), TOLERABLE_SECONDS)])


def _forged(
    name: str, why: str, forge: Callable[[_EventFactory, bytes], ExerciseDelivery]
) -> MakeExercise:
    """An exercise whose delivery has to be refused."""

    def exercise(make: _EventFactory) -> Exercise:
        return Exercise(name, why, [forge(make, to_json(make.event()))])

    return exercise


_GENUINE: tuple[MakeExercise, ...] = (
    _accepts,
    _duplicate,
    _duplicates_at_once,
    _out_of_order,
    _unknown_type,
    _unknown_fields,
    _raw_body,
    _tolerable_age,
)
_FORGED: tuple[MakeExercise, ...] = (
    _forged(
        "stale timestamp",
        "An old recording must not be played back: refuse it with 401.",
        lambda make, body: make.refused(body, make.signed(body, age_seconds=STALE_SECONDS)),
    ),
    _forged(
        "timestamp of the future",
        "A timestamp far ahead of your clock is refused with 401 too.",
        lambda make, body: make.refused(body, make.signed(body, age_seconds=-STALE_SECONDS)),
    ),
    _forged(
        "refreshed timestamp",
        "The timestamp is part of what is signed: a new one needs a new signature.",
        lambda make, body: make.refused(
            body,
            make.signed(body).partition(",")[0]
            + ","
            + make.signed(body, age_seconds=STALE_SECONDS).partition(",")[2],
        ),
    ),
    _forged(
        "wrong signature",
        "Signed with another key: refuse it with 401.",
        lambda make, body: make.refused(body, make.signed(body, key="sk_of_somebody_else")),
    ),
    _forged(
        "changed body",
        "A body that was changed on the way does not fit its signature: 401.",
        lambda make, body: make.refused(body.replace(b"12500", b"99900"), make.signed(body)),
    ),
    _forged(
        "no signature",
        "Without a signature anyone could have sent it: 401.",
        lambda make, body: make.refused(body, None),
    ),
    _forged(
        "empty signature",
        "A header that does not hold a signature is refused like a missing one.",
        lambda make, body: make.refused(body, make.signed(body).partition(",")[0] + ",v1="),
    ),
    _forged(
        "malformed header",
        "What cannot be read is refused with 401, not with an error of your own.",
        lambda make, body: make.refused(body, "t=soon,v1=\N{LATIN SMALL LETTER E WITH ACUTE}"),
    ),
)

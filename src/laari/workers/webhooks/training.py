"""Exercises for a merchant's webhook receiver.

A correct one answers 2xx to genuine events, also repeated or unknown ones, and 401 to others.
"""

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from laari.errors import LaariError
from laari.rules import ids
from laari.rules.calendar import show, show_utc
from laari.rules.events import PAYLOAD_VERSION, EventBody
from laari.rules.shapes.envelopes import to_json
from laari.rules.shapes.payments import HostedPayment
from laari.rules.webhooks import SIGNATURE_TOLERANCE_SECONDS, is_acknowledged, signature
from laari.workers.webhooks.failures import NO_CONNECTION_PHRASES, unreached
from laari.workers.webhooks.sender import Sender

UNAUTHORIZED = 401
STALE_SECONDS = 2 * SIGNATURE_TOLERANCE_SECONDS
TOLERABLE_SECONDS = SIGNATURE_TOLERANCE_SECONDS - 60

JsonObject: TypeAlias = dict[str, object]


class Exercise(NamedTuple):
    name: str
    expected: Literal["2xx", "401"]
    why: str
    deliveries: list[tuple[bytes, str | None]]  # bodies and signatures
    at_once: bool = False

    def passes(self, status: int | None) -> bool:
        if status is None:
            return False
        return is_acknowledged(status) if self.expected == "2xx" else status == UNAUTHORIZED


class Result(msgspec.Struct, frozen=True):
    exercise: str
    passed: bool
    expected: str
    answered: str
    why: str


async def train(
    sender: Sender, url: str, secret: str, tell: Callable[[str, int, int], None]
) -> AsyncIterator[Result]:
    """Runs one exercise after the other, so that the receiver's log reads like the report.

    Raises `LaariError` if there is no receiver, or it has ended.
    """
    all_of_them = exercises(secret, int(time.time()))
    for number, exercise in enumerate(all_of_them, 1):
        tell(exercise.name, number, len(all_of_them))
        yield await _run(sender, url, exercise, is_first=number == 1)


async def _run(sender: Sender, url: str, exercise: Exercise, *, is_first: bool) -> Result:
    posts = [sender.post(url, body, signed) for body, signed in exercise.deliveries]
    answers = await asyncio.gather(*posts) if exercise.at_once else [await post for post in posts]
    unanswered = all(answer.status is None for answer in answers)
    if unanswered and (is_first or {each.error for each in answers} <= NO_CONNECTION_PHRASES):
        raise LaariError(unreached(url, str(answers[0].error)))
    said = [str(each.status or each.error) for each in answers]
    return Result(
        exercise=exercise.name,
        passed=all(exercise.passes(answer.status) for answer in answers),
        expected=exercise.expected,
        answered=", ".join(dict.fromkeys(said)),  # each different answer once
        why=exercise.why,
    )


def _payment(moment: datetime, **changed: object) -> JsonObject:
    token = ids.new_token(moment, os.urandom)
    shape = HostedPayment(
        id=ids.show_id(ids.PAYMENT, ids.new_id(moment, os.urandom)),
        reference=f"laari-training-{secrets.token_hex(6)}",
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


def exercises(secret: str, now: int) -> list[Exercise]:
    """Returns all exercises, with new events signed at this Unix time."""
    moment = datetime.fromtimestamp(now, UTC)

    def event(type: str = "payment.paid", data: JsonObject | None = None) -> JsonObject:
        body = EventBody(
            id=ids.show_id(ids.EVENT, ids.new_id(moment, os.urandom)),
            type=type,
            payload_version=PAYLOAD_VERSION,
            mode="sandbox",
            created_at=show_utc(moment),
            data=data or _payment(moment),
        )
        made: JsonObject = msgspec.to_builtins(body)
        return made

    def sign(body: bytes, age_seconds: int = 0) -> str:
        return signature(secret, now - age_seconds, body)

    def genuine(
        name: str, why: str, *events: JsonObject | bytes, age: int = 0, at_once: bool = False
    ) -> Exercise:
        bodies = [each if isinstance(each, bytes) else to_json(each) for each in events]
        return Exercise(name, "2xx", why, [(body, sign(body, age)) for body in bodies], at_once)

    def forged(name: str, why: str, forge: Callable[[bytes], str | None]) -> Exercise:
        body = to_json(event())
        return Exercise(name, "401", why, [(body, forge(body))])

    paid, twice, at_once = _payment(moment), event(), event()
    unpaid = dict.fromkeys(("fee", "net_amount", "paid_at", "payment_reference"))
    pending = {**paid, **unpaid, "status": "pending"}
    spaced = msgspec.json.format(to_json(event(data=_payment(moment, title="ރުފިޔާ ½"))), indent=3)
    escaped = spaced.decode().encode("ascii", "backslashreplace").replace(b"\\x", b"\\u00")
    changed = to_json(event())
    return [
        genuine("valid event", "A genuine event has to be acknowledged with 2xx.", event()),
        genuine(
            "duplicate",
            "An event can come twice: acknowledge it again, fulfil it once (by event id).",
            *[twice] * 3,
        ),
        genuine(
            "duplicates at once",
            "Two deliveries can arrive at the same moment: neither may end in an error.",
            *[at_once] * 4,
            at_once=True,
        ),
        genuine(
            "out of order",
            "payment.paid can come before payment.created: acknowledge both; paid stays paid.",
            event("payment.paid", paid),
            event("payment.created", pending),
        ),
        genuine(
            "unknown event type",
            "Acknowledge and ignore a type that you do not know.",
            event("payment.celebrated"),
        ),
        genuine(
            "unknown fields",
            "Ignore fields that you do not know.",
            {**event(data=_payment(moment, novelty={"a": [1]})), "novelty": None},
        ),
        genuine(
            "raw body",
            "The signature covers the raw body, byte by byte: verify it before you parse the body.",
            spaced,
            escaped,
        ),
        genuine(
            "slightly old timestamp",
            f"Accept a timestamp that is up to {SIGNATURE_TOLERANCE_SECONDS} seconds off.",
            event(),
            age=TOLERABLE_SECONDS,
        ),
        forged(
            "stale timestamp",
            "Nobody may replay an old request: refuse it with 401.",
            lambda body: sign(body, STALE_SECONDS),
        ),
        forged(
            "timestamp of the future",
            "Refuse a timestamp far ahead of your clock with 401 too.",
            lambda body: sign(body, -STALE_SECONDS),
        ),
        forged(
            "refreshed timestamp",
            "The signature covers the timestamp: a new one needs a new signature.",
            lambda body: ",".join(
                (sign(body).split(",")[0], sign(body, STALE_SECONDS).split(",")[1])
            ),
        ),
        forged(
            "wrong signature",
            "Signed with another key: refuse it with 401.",
            lambda body: signature("sk_of_somebody_else", now, body),
        ),
        Exercise(
            "changed body",
            "401",
            "A body that was changed on the way does not match its signature: 401.",
            [(changed.replace(b"12500", b"99900"), sign(changed))],
        ),
        forged(
            "no signature", "Without a signature anyone could have sent it: 401.", lambda _: None
        ),
        forged(
            "empty signature",
            "Refuse a header without a signature like a missing header.",
            lambda body: sign(body).partition(",")[0] + ",v1=",
        ),
        forged(
            "malformed header",
            "Refuse an unreadable header with 401, not with an error of your own.",
            lambda _: "t=soon,v1=\N{LATIN SMALL LETTER E WITH ACUTE}",
        ),
    ]

"""What the operator does with the balance of a merchant, and with earned fees."""

from functools import partial
from typing import Literal

from asyncpg import Connection

from laari.operations.fields import Amount, Choice, Field, Text, flag, reason, seen
from laari.operations.operation import Operation, Shape, Subject, command
from laari.rules.actors import Actor
from laari.rules.banking.merchant_money import Funds, MoveFunds, SweepFees
from laari.rules.money import MAX_MONEY
from laari.rules.records.bank import FeeSweep
from laari.rules.records.tenants import MODES, Mode, Tenant
from laari.store.bank_statements import Ask
from laari.store.reads import tenants
from laari.store.reads.money.bank import earned_fees


async def find(connection: Connection, merchant: str, mode: Mode) -> Tenant | None:
    return await tenants.in_mode(connection, merchant, mode)


TENANT = Subject(
    "merchant",
    "",
    (
        Field("merchant", Text(100), positional=True, typed="merchant_id"),
        Field("mode", Choice(MODES), "Mode of the balance.", default="live"),
    ),
    find,
    "no merchant has the id {merchant} in {mode} mode",
)

_AMOUNT = Field("amount", Amount(1, MAX_MONEY), positional=True, typed="laari")
_REASON = reason("always", "Kept with it.")


def _moving(
    kind: Literal["hold", "release", "merchant_adjustment"],
    actor: Actor,
    tenant: Tenant,
    *,
    amount: int,
    reason: str,
    below_zero: bool = False,
    earlier: int | None = None,
) -> MoveFunds:
    return MoveFunds(tenant.id, actor, kind, amount, reason, below_zero, earlier)


async def _shape(ask: Ask, tenant: Tenant, after: Funds) -> Shape:
    return {"merchant_id": tenant.merchant_id, "mode": tenant.mode, **after._asdict()}


HOLD = Operation(
    "merchant.hold",
    needs="payouts.run",
    subject=TENANT,
    fields=(_AMOUNT, _REASON, seen("earlier")),
    run=command(partial(_moving, "hold")),
    shape=_shape,
    done="The balance is changed.",
    about="""Hold a part of a merchant's balance.

    Payouts and refunds cannot use it.
    """,
)
RELEASE = Operation(
    "merchant.release",
    needs="payouts.run",
    subject=TENANT,
    fields=(_AMOUNT, _REASON, seen("earlier")),
    run=command(partial(_moving, "release")),
    shape=_shape,
    done="The balance is changed.",
    about="Release held money of a merchant.",
)
CORRECT = Operation(
    "merchant.adjust",
    needs="payouts.run",
    subject=TENANT,
    fields=(
        Field("amount", Amount(-MAX_MONEY, MAX_MONEY), positional=True, typed="laari"),
        _REASON,
        flag("below_zero", "Allow a negative balance."),
        seen("earlier"),
    ),
    run=command(partial(_moving, "merchant_adjustment")),
    shape=_shape,
    done="The balance is changed.",
    about="""Correct a merchant's balance.

    Adds LAARI to the balance; a negative amount reduces it. Use --below-zero to allow a negative
    balance.
    """,
)


def _sweep(actor: Actor, amount: int, last: int | None = None) -> SweepFees:
    return SweepFees(actor, "live", amount, last)


async def _swept_shape(ask: Ask, subject: None, swept: FeeSweep) -> Shape:
    left = (await ask(earned_fees, ["live"]))["live"]
    return {"sweep": swept.number, "amount": swept.amount, "fees_left": left.balance}


SWEEP: Operation[None] = Operation(
    "fees.sweep",
    needs="payouts.run",
    fields=(_AMOUNT, seen("last")),
    run=command(_sweep),
    shape=_swept_shape,
    done="The sweep is recorded.",
    about="Record that earned fees were taken out of the live bank account.",
)

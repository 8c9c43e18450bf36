"""What a run of payouts would contain, and how it is filled.

The desk and the command line use the same steps.
"""

import asyncio
from collections.abc import Sequence
from datetime import date, datetime
from typing import NamedTuple
from uuid import UUID

from laari.rules.banking.bank_days import cut_off_of
from laari.rules.banking.payouts import tenant_of
from laari.rules.command import Command
from laari.rules.records.payouts import Payout, PayoutRun
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal
from laari.store.bank_statements import Ask, Submit
from laari.store.reads.money import payouts

TOGETHER = 50  # commands of a run: their batches load all of its payouts


class Held(NamedTuple):
    """A requested payout that cannot join a run now."""

    payout: Payout
    reason: str


class Expected(NamedTuple):
    """What a run for a day would contain."""

    payable: list[payouts.Preview]
    left_out: list[payouts.Preview]
    waiting: list[Payout]
    held: list[Held]
    tenants: dict[int, Tenant]  # of the waiting and the held ones
    opened: PayoutRun | None

    @property
    def waiting_ids(self) -> list[UUID]:
        return [each.id for each in self.waiting]

    @property
    def payable_ids(self) -> list[int]:
        """The tenants that are paid out up to the cut-off."""
        return [each.tenant.id for each in self.payable]

    @property
    def number(self) -> int:
        return len(self.payable) + len(self.waiting)

    @property
    def total(self) -> int:
        due = sum(each.amount for each in self.payable)
        return due + sum(each.amount for each in self.waiting)


async def expected(ask: Ask, day: date, now: datetime) -> Expected:
    seen = await ask(payouts.preview, "live", cut_off_of(day), now)
    requested = await ask(payouts.waiting, "live")
    held = await ask(payouts.held, requested)
    return Expected(
        payable=[each for each in seen if each.refusal is None],
        left_out=[each for each in seen if each.refusal is not None],
        waiting=[each for each in requested if each.id not in held],
        held=[Held(each, held[each.id]) for each in requested if each.id in held],
        tenants=await ask(payouts.tenants_of, requested),
        opened=await ask(payouts.open_run, "live"),
    )


class Refused(NamedTuple):
    """A payout on request, or the payout of a merchant, that could not join the run."""

    payout: Payout | None
    tenant: Tenant | None
    reason: str


async def fill(
    submit: Submit, found: Expected, commands: Sequence[Command[Payout]]
) -> list[Refused]:
    """Adds the payouts to a run, by a command for each of `found`, in its order.

    Payouts that could not join stay in the next preview.
    """
    outcomes: list[Payout | Refusal] = []
    for start in range(0, len(commands), TOGETHER):
        part = commands[start : start + TOGETHER]
        outcomes += await asyncio.gather(*(submit(each) for each in part))
    owners: list[tuple[Payout | None, Tenant | None]] = [
        (each, tenant_of(found.tenants, each)) for each in found.waiting
    ]
    owners += [(None, each.tenant) for each in found.payable]
    return [
        Refused(payout, tenant, outcome.message)
        for (payout, tenant), outcome in zip(owners, outcomes, strict=True)
        if isinstance(outcome, Refusal)
    ]

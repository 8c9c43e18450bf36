"""Approval of a run: of the total that a person saw, and never by the people whom it controls."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from hashlib import sha256
from typing import NamedTuple

from msgspec.structs import replace

from laari.rules.actors import Actor, written
from laari.rules.banking import payouts
from laari.rules.banking.bank_accounts import Owned
from laari.rules.banking.payout_runs import OneRun, Run
from laari.rules.calendar import local_day
from laari.rules.money import rufiyaa
from laari.rules.needs import Needs
from laari.rules.people.persons import helps_of, needs_helps, not_second
from laari.rules.records.payouts import ApprovedRun, Payout, PayoutRun
from laari.rules.records.second_person import Help
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World


def approved_on(runs: Iterable[ApprovedRun], day: date) -> int:
    """The total of the runs that were approved on a Maldivian day."""
    return sum(run.total for run in runs if local_day(run.approved_at) == day)


class Control(NamedTuple):
    """What a person has to control, and by which rules.

    `day_total` is of all runs of the day with this one, `owned` are the accounts of its owners.
    """

    run: PayoutRun
    day_total: int
    owned: Sequence[Owned]
    threshold: int  # up to this, one person may open and approve, if the rule is off
    needs_second: bool  # whether the rule of the second person is on
    helps: Sequence[Help]


def not_approver(actor: Actor, control: Control, now: datetime) -> str | None:
    """Why this person does not approve the run, or None."""
    own = "Another person has to approve a run that you opened."
    opened = not_second(control.run.created_by, actor, control.helps, now, own)
    if not control.needs_second:
        if opened is None or control.day_total <= control.threshold:
            return None
        total, limit = rufiyaa(control.day_total), rufiyaa(control.threshold)
        above = f"The runs of today have MVR {total}, which is above MVR {limit}"
        return f"{above}: another person has to approve this run."
    own = "You entered a new bank account of this run: another person has to approve it."
    names = {name for each in control.owned for name in each.entered_new(now)}
    entered = (not_second(name, actor, control.helps, now, own) for name in sorted(names))
    return opened or next((each for each in entered if each is not None), None)


def content_of(payouts: Iterable[Payout]) -> str:
    """A short digest of the payouts that a run pays, for a person who saw them."""
    paid = sorted(str(each.id) for each in payouts if each.status != "cancelled")
    return sha256(" ".join(paid).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class ApproveRun(OneRun):
    """Allows the file to be made.

    `if_total` is the total that the person saw, and `if_content` its payouts: others may have
    taken their place since. None: only the total was checked.
    """

    threshold: int
    if_total: int
    if_content: str | None = None

    def needs(self, needs: Needs) -> None:
        OneRun.needs(self, needs)
        needs_helps(needs)
        needs.read(World.approved_runs, "live")  # loads both modes

    def payout_needs(self, needs: Needs, payout: Payout) -> None:
        OneRun.payout_needs(self, needs, payout)
        needs.read(World.bank_accounts, payout.owner)
        needs.read(World.paid_accounts, payout.owner)

    def act(self, world: World, found: Run) -> Run | Refusal:
        run = found.run
        if run.status == "approved":
            return found
        if run.status != "requested":
            return refuse("payout_conflict", f"The run is {run.status}.")
        if not found.payouts:
            return refuse("payout_conflict", "The run has no payouts.")
        if self.if_total != found.total:
            message = (
                f"The total is MVR {rufiyaa(found.total)} now. Look at the run, and decide again."
            )
            return refuse("payout_conflict", message)
        if self.if_content not in (None, content_of(found.payouts)):
            message = "The run has other payouts now. Look at it, and decide again."
            return refuse("payout_conflict", message)
        reason = not_approver(self.actor, self._control(world, found), world.now)
        if reason is not None:
            return refuse("payout_conflict", reason)
        moved = [
            payouts.move(world, payouts.tenant_of(world.tenants, payout), payout, "approve")
            for payout in found.payouts
        ]
        approved = replace(
            run, status="approved", approved_at=world.now, approved_by=written(self.actor)
        )
        return self.done(world, "payout_run.approve", found, approved, moved)

    def _control(self, world: World, found: Run) -> Control:
        earlier = approved_on(world.approved_runs[found.run.mode], local_day(world.now))
        owners = {payout.owner for payout in found.payouts}
        return Control(
            run=found.run,
            day_total=earlier + found.total,
            owned=[Owned(world.bank_accounts[each], world.paid_accounts[each]) for each in owners],
            threshold=self.threshold,
            needs_second=world.second_operator_above is not None,
            helps=helps_of(world),
        )

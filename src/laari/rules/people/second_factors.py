"""Second factors of people: set up, confirmed by a first code, checked, and turned off.

Each command locks the factor. So guesses at once count one after another, and a code counts once.
"""

from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from uuid import UUID

from msgspec.structs import replace

from laari.rules.actors import Actor
from laari.rules.command import Command
from laari.rules.journal import Act, write_setting
from laari.rules.limits.second_factors import FACTOR_SET_UP_WITHIN, RECOVERY_CODES
from laari.rules.needs import Needs
from laari.rules.people.factor_codes import (
    RECOVERY_LETTERS,
    RECOVERY_SIZE,
    SEED_LETTERS,
    SEED_SIZE,
    accepted_step,
    is_recovery_code,
    read_code,
    show_recovery_code,
    wait_after,
)
from laari.rules.people.log_ins import may_not_help
from laari.rules.people.persons import log_ins, note_help, remove_factor
from laari.rules.records.people import PersonId, SecondFactor
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.world import World

STARTED_AGAIN = "The set-up has expired, or another tab has finished it. Start again."
REQUIRED = "A second factor is required of you, so it cannot be turned off."
WRONG_CODE = (
    "This code is not valid. A code works once: wait for the next one in your authenticator app, "
    "or use a recovery code. Nothing was done."
)
RECOVERY_CODE = "recovery-code"  # the purpose of a digest


@dataclass(frozen=True, slots=True)
class BeginFactor(Command[None]):
    """Makes a new seed, which counts after its first code.

    Only this session can read it: another one, perhaps stolen, would make the same codes later.
    """

    actor: Actor
    whose: PersonId
    session_digest: bytes

    def needs(self, needs: Needs) -> None:
        needs.person(self.whose.id)

    def decide(self, world: World) -> Refusal | None:
        present = world.second_factors.get(self.whose.id)
        if present is not None and present.confirmed_at is not None:
            return refuse("conflict", STARTED_AGAIN)
        seed = world.new_letters(SEED_LETTERS, SEED_SIZE)
        context = seed_context(self.whose.id, self.session_digest)
        factor = SecondFactor(self.whose.id, world.encrypt(seed.encode(), context), world.now)
        act = Act(self.actor, "second_factor.begin")
        write_setting(world, World.second_factors, factor, act)
        return None


@dataclass(frozen=True, slots=True)
class ConfirmFactor(Command[list[str]]):
    """Turns the factor on with its first code; the result is the recovery codes.

    All other sessions end: they were opened with the password alone.
    """

    actor: Actor
    whose: PersonId
    session_digest: bytes
    code: str

    def needs(self, needs: Needs) -> None:
        # A log-in locks the person too: it is half-open from now on, or its session ends here.
        needs.person(self.whose.id)

    def decide(self, world: World) -> list[str] | Refusal:
        factor = world.second_factors.get(self.whose.id)
        if (
            factor is None
            or factor.confirmed_at is not None
            or factor.created_at <= world.now - FACTOR_SET_UP_WITHIN
        ):
            return refuse("conflict", STARTED_AGAIN)
        seed = world.decrypt(
            factor.seed_encrypted, seed_context(self.whose.id, self.session_digest)
        )
        if seed is None:  # another session began the set-up
            return refuse("conflict", STARTED_AGAIN)
        refusal = _check(world, factor, seed.decode(), self.code)
        if refusal is not None:
            return refusal
        for each in log_ins(world, self.whose.id):
            if each.digest != self.session_digest:
                world.log_ins.remove(each.digest)
        confirmed = replace(
            world.second_factors[self.whose.id],
            confirmed_at=world.now,
            seed_encrypted=world.encrypt(seed, seed_context(self.whose.id)),
        )
        return _with_new_codes(world, confirmed, Act(self.actor, "second_factor.confirm"))


@dataclass(frozen=True, slots=True)
class CheckFactor(Command[None]):
    """Accepts a code once: of the phone, or a recovery code.

    A person without a factor has no valid code.
    """

    whose: PersonId
    code: str

    def needs(self, needs: Needs) -> None:
        needs.lock(World.second_factors, self.whose.id)

    def decide(self, world: World) -> Refusal | None:
        factor = world.second_factors.get(self.whose.id)
        if factor is None or factor.confirmed_at is None:
            return invalid("code", WRONG_CODE)
        seed = world.decrypt(factor.seed_encrypted, seed_context(self.whose.id))
        if seed is None:
            return invalid("code", WRONG_CODE)
        return _check(world, factor, seed.decode(), self.code)


@dataclass(frozen=True, slots=True)
class RenewRecoveryCodes(Command[list[str]]):
    """Makes new recovery codes; the old ones no longer work."""

    actor: Actor
    whose: PersonId

    def needs(self, needs: Needs) -> None:
        needs.lock(World.second_factors, self.whose.id)

    def decide(self, world: World) -> list[str] | Refusal:
        factor = world.second_factors.get(self.whose.id)
        if factor is None or factor.confirmed_at is None:
            return refuse("conflict", STARTED_AGAIN)
        return _with_new_codes(world, factor, Act(self.actor, "second_factor.renew_codes"))


@dataclass(frozen=True, slots=True)
class TurnOffFactor(Command[bool]):
    """A person turns off a factor that is not required; False if there was none."""

    actor: Actor
    whose: PersonId

    def needs(self, needs: Needs) -> None:
        needs.person(self.whose.id)
        needs.read(World.factor_required, self.whose.id)

    def decide(self, world: World) -> bool | Refusal:
        if world.factor_required[self.whose.id]:
            return refuse("conflict", REQUIRED)
        return remove_factor(world, Act(self.actor, "second_factor.remove"), self.whose.id)


@dataclass(frozen=True, slots=True)
class RemoveFactor(Command[bool]):
    """The operator turns the factor of a person off; False if there was none."""

    actor: Actor
    whose: PersonId

    def needs(self, needs: Needs) -> None:
        needs.person(self.whose.id)

    def decide(self, world: World) -> bool | Refusal:
        refusal = may_not_help(world, self.actor, self.whose)
        if refusal is not None:
            return refusal
        act = Act(self.actor, "second_factor.remove")
        removed = remove_factor(world, act, self.whose.id)
        if removed:
            note_help(world, act, world.persons[self.whose.id].email)
        return removed


def seed_context(person_id: UUID, pending_in: bytes | None = None) -> bytes:
    """What a seed is encrypted for: the person, and the session that sets it up."""
    session = "" if pending_in is None else f" in session {pending_in.hex()}"
    return f"second factor of {person_id}{session}".encode()


def _check(world: World, factor: SecondFactor, seed: str, code: str) -> Refusal | None:
    blocked = factor.blocked_until
    if blocked is not None and blocked > world.now:
        return _refused(blocked - world.now)
    code = read_code(code)
    step = accepted_step(seed, code, world.now, factor.last_step)
    used = _recovery_digest(world, factor.person_id, code) if is_recovery_code(code) else None
    if step is None and used not in factor.recovery_codes:
        failures = factor.failures + 1
        wait = wait_after(failures)
        until = world.now + wait if wait else None
        counted = replace(factor, failures=failures, blocked_until=until)
        world.second_factors.change(factor.person_id, counted)
        return _refused(wait)
    accepted = replace(
        factor,
        last_step=max(factor.last_step, step or 0),
        failures=0,
        blocked_until=None,
        recovery_codes=[each for each in factor.recovery_codes if each != used],
    )
    world.second_factors.change(factor.person_id, accepted)
    return None


def _refused(wait: timedelta) -> Refusal:
    """No code is looked at before the wait is over."""
    seconds = ceil(wait.total_seconds())
    if seconds == 0:
        return invalid("code", WRONG_CODE)
    minutes = ceil(seconds / 60)
    words = "a minute" if minutes == 1 else f"{minutes} minutes"
    message = f"Too many wrong codes. Wait {words}, then try again."
    return Refusal("rate_limited", message, retry_after=seconds)


def _with_new_codes(world: World, factor: SecondFactor, act: Act) -> list[str]:
    codes = [world.new_letters(RECOVERY_LETTERS, RECOVERY_SIZE) for _ in range(RECOVERY_CODES)]
    digests = [_recovery_digest(world, factor.person_id, code) for code in codes]
    renewed = replace(factor, codes_made_at=world.now, recovery_codes=digests)
    write_setting(world, World.second_factors, renewed, act)
    return [show_recovery_code(code) for code in codes]


def _recovery_digest(world: World, person_id: UUID, code: str) -> str:
    """With the master key: a code is short enough to be found from a plain digest."""
    return world.digest(RECOVERY_CODE, f"{person_id} {code}").hex()

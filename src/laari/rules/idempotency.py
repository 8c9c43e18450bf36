"""Idempotency keys: a request that is sent again gets its first response and is not run again."""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, NamedTuple, TypeVar
from uuid import UUID

from msgspec.structs import replace

from laari.rules.command import Command, TenantCommand
from laari.rules.needs import Needs
from laari.rules.records.idempotency import SavedResponse
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import PASSING_CODES, Refusal, refuse
from laari.rules.world import World

T = TypeVar("T")

RETENTION = timedelta(hours=24)

KEY_PATTERN = r"[\x21-\x7e]{1,255}"
_KEY = re.compile(KEY_PATTERN, re.ASCII)


def is_valid_key(key: str) -> bool:
    return _KEY.fullmatch(key) is not None


def fingerprint(parts: tuple[str, ...], body: Mapping[str, object]) -> bytes:
    """A digest that ignores the order of object keys; `1`, `1.0`, `"1"` and `true` all differ."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode())
    digest.update(_canonical(body).encode())
    return digest.digest()


def _canonical(value: object) -> str:
    match value:
        case dict():
            members = (f"{_canonical(key)}{_canonical(value[key])}" for key in sorted(value))
            return f"{{{''.join(members)}}}"
        case list():
            return f"[{''.join(map(_canonical, value))}]"
        case str():
            return f"s{len(value)}:{value}"
        case _:  # int, float, bool, None, and integers too long for int
            return f"{type(value).__name__}:{value!r};"


class Response(NamedTuple):
    status: int
    body: bytes
    code: str = ""  # of a refusal
    retry_after: int | None = None
    replayed: bool = False
    resource_id: UUID | None = None  # the resource in the body; None for a refusal


@dataclass(frozen=True, slots=True)
class Keyed(TenantCommand[Response], Generic[T]):
    """A command with an idempotency key; `inner` may be a refusal of its fields, saved too."""

    tenant: Tenant
    operation: str
    key: str
    fingerprint: bytes
    inner: Command[T] | Refusal
    render: Callable[[T | Refusal], Response]

    def needs(self, needs: Needs) -> None:
        needs.lock(World.saved_responses, self._slot)
        if not isinstance(self.inner, Refusal):
            self.inner.needs(needs)

    def busy(self) -> Refusal:
        # If the command has no conflict code of its own, the state of the key is unknown.
        if isinstance(self.inner, Refusal) or self.inner.busy().status == 503:
            return refuse("idempotency_unavailable")
        return self.inner.busy()

    @property
    def _slot(self) -> tuple[int, str, str]:
        return (self.tenant.id, self.operation, self.key)

    def decide(self, world: World) -> Response:
        if self._slot in world.keys_in_progress:
            return self.render(refuse("idempotency_in_progress"))
        now = world.at(self.tenant)
        saved = world.saved_responses.get(self._slot)
        if saved is not None and saved.completed_at + RETENTION > now:
            if saved.fingerprint != self.fingerprint:
                return self.render(refuse("idempotency_conflict"))
            replayed = replace(saved, replays=saved.replays + 1, last_replayed_at=now)
            world.saved_responses.change(self._slot, replayed)
            return Response(saved.status, saved.body, saved.code, replayed=True)
        outcome = self.inner if isinstance(self.inner, Refusal) else self.inner.decide(world)
        response = self.render(outcome)
        if not (isinstance(outcome, Refusal) and outcome.code in PASSING_CODES):
            world.saved_responses.add(
                self._slot,
                SavedResponse(
                    tenant_id=self.tenant.id,
                    operation=self.operation,
                    key=self.key,
                    fingerprint=self.fingerprint,
                    status=response.status,
                    code=response.code,
                    body=response.body,
                    completed_at=now,
                    resource_id=response.resource_id,
                ),
            )
        return response

"""Access tokens: their scopes and their lifetime.

A token acts in the merchant's mode at the time of use, and ages on its clock and in real time.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from laari.rules.calendar import LATEST
from laari.rules.command import Command
from laari.rules.limits.keys_and_rates import ACCESS_TOKEN_LIFE
from laari.rules.merchants.scopes import SCOPES
from laari.rules.needs import Needs
from laari.rules.records.merchants import AccessToken
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal, refuse
from laari.rules.world import World


@lru_cache(maxsize=1024)  # ten scopes have 2^10 combinations
def recognised(scope: str) -> frozenset[str]:
    """The scopes of a space-separated list that this service knows."""
    return frozenset(scope.split(" ")) & SCOPES.keys()


def write_scope(names: frozenset[str]) -> str:
    """A space-separated list in the order of the table."""
    return " ".join(name for name in SCOPES if name in names)


def granted_scope(of_client: str, asked: str | None) -> str | None:
    """All scopes of the client, or the requested part; None if the client lacks one of them."""
    names = frozenset((asked or "").split(" ")) - {""}
    if not names:
        return of_client
    return write_scope(names) if names <= recognised(of_client) else None


def is_alive(expires_at: datetime, offset_at_issue: int, tenant: Tenant, now: datetime) -> bool:
    """Whether a token may be used now, in the mode that its merchant is in."""
    if tenant.mode == "sandbox":
        moved_on = max(tenant.clock_offset_seconds - offset_at_issue, 0)
        now += timedelta(seconds=moved_on)
    return now < expires_at


@dataclass(frozen=True, slots=True)
class IssueToken(Command[AccessToken]):
    """Stores a token by its digest."""

    digest: bytes
    binding: bytes
    client_id: str
    scope: str
    sandbox_offset_seconds: int
    client_expires_at: datetime | None = None

    def needs(self, needs: Needs) -> None:
        """Nothing: revoking a client ends all its tokens, new ones too."""

    def decide(self, world: World) -> AccessToken | Refusal:
        """No token outlives its client, which may have expired since it was looked up."""
        expires_at = min(world.now + ACCESS_TOKEN_LIFE, self.client_expires_at or LATEST)
        if expires_at <= world.now:
            return refuse("unauthorized")
        token = AccessToken(
            digest=self.digest,
            client_id=self.client_id,
            scope=self.scope,
            issued_at=world.now,
            expires_at=expires_at,
            sandbox_offset_seconds=self.sandbox_offset_seconds,
            binding=self.binding,
        )
        world.access_tokens.append(token)
        return token

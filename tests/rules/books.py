"""A merchant, a wallet and an authorization kept in memory, for rules without a database."""

import os
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from msgspec.structs import replace

from laari.rules import wallets
from laari.rules.actors import Payer
from laari.rules.ids import Random
from laari.rules.ledger import merchant_account
from laari.rules.master_key import Keys
from laari.rules.merchants.sandbox_clock import MoveClock
from laari.rules.payments import authorization_limits
from laari.rules.payments.authorizations import (
    ApproveAuthorization,
    AuthorizationDraft,
    CreateAuthorization,
)
from laari.rules.periods import Counted, PeriodKey, others
from laari.rules.records.authorizations import Authorization
from laari.rules.records.ledger import Transfer
from laari.rules.records.merchant_funds import MerchantFunds
from laari.rules.records.merchants import MerchantActivity, MerchantSettings
from laari.rules.records.payments import Refund
from laari.rules.records.tenants import Tenant, TenantSettings
from laari.rules.records.wallets import Tier, Wallet
from laari.rules.world import World
from tests.actors import OPERATOR

START = datetime(2026, 2, 27, 12, 0, tzinfo=UTC)  # a Friday
ACCOUNT = 7_700_000_000_001
NEVER = date(1970, 1, 1)

# Keys that show what they were used for.
KEYS = Keys(
    lambda text, context: text,
    lambda purpose, value: f"{purpose} {value}".encode(),
    lambda stored, context: stored,
)
ROWS = ("references", "payments", "authorizations", "wallets", "funds")


def a_merchant(merchant_id: str, **settings: Any) -> MerchantSettings:
    """An active merchant in sandbox mode without fees and webhooks."""
    usual = MerchantSettings(
        id=merchant_id,
        created_at=START,
        sandbox_account=ACCOUNT,
        name="Shop",
        mode="sandbox",
        active=True,
        inactive_reason=None,
        secret_digest=b"digest",
        secret_encrypted=b"secret",
        old_secret_digest=None,
        old_secret_encrypted=None,
        old_secret_until=None,
        fee_bps=0,
        fee_fixed=0,
        webhook_url=None,
        webhooks_enabled=True,
        requires_factor=False,
    )
    return replace(usual, **settings)


class Books:
    """Runs commands one by one, each on a world loaded from what the ones before left."""

    def __init__(self, balance: int, tier: str = "business", **limits: Any) -> None:
        self.real = START
        self.offset = 0
        self.rows: dict[str, dict[Any, Any]] = {name: {} for name in ROWS}
        self.aside: dict[PeriodKey, int] = {}
        self.references: dict[tuple[int, str], UUID] = {}
        self.events: list[Any] = []
        self.transactions: list[Any] = []
        self.transfers: list[Transfer] = []
        self.refunds: list[Refund] = []
        self.tiers = {
            "business": Tier("business", None, None, None, None),
            "basic": Tier("basic", 500_000, 1_000_000, 3_000_000, 5_000_000),
        }
        self.rows["funds"][1] = MerchantFunds(1)
        self.rows["wallets"][ACCOUNT] = Wallet(
            ACCOUNT, uuid4(), "sandbox", tier, balance, NEVER, 0, NEVER, 0, NEVER, 0
        )
        draft = AuthorizationDraft("subscription", "Monthly box", **limits)
        self.id: UUID = self.run(CreateAuthorization(self.tenant, draft)).id
        self.run(ApproveAuthorization(self.tenant, self.id, Payer(ACCOUNT, "sandbox")))

    @property
    def tenant(self) -> Tenant:
        return Tenant(1, "mer_1", "Shop", "sandbox", 250, 10, self.offset, ACCOUNT, True)

    @property
    def now(self) -> datetime:
        return self.real + timedelta(seconds=self.offset)

    @property
    def authorization(self) -> Authorization:
        return self.rows["authorizations"][self.id]

    @property
    def balance(self) -> int:
        return self.rows["wallets"][ACCOUNT].balance

    @property
    def earned(self) -> int:
        """The merchant's balance."""
        account = merchant_account(self.tenant).number
        return sum(
            each.amount * ((each.credit_account == account) - (each.debit_account == account))
            for each in self.transfers
        )

    def move_clock(self, offset: int) -> None:
        """As the sandbox control moves it: by the difference."""
        outcome = self.run(MoveClock(self.tenant, OPERATOR, offset - self.offset))
        assert isinstance(outcome, TenantSettings)
        self.offset = outcome.clock_offset_seconds

    def world(self, random: Random = os.urandom) -> World:
        """What a batch would load now."""
        world = World(self.real, "http://laari.test", random)
        world.tenant_settings.lock(1, TenantSettings(1, "mer_1", "sandbox", self.offset, None))
        world.merchants.show("mer_1", MerchantActivity("mer_1", True))
        world.tiers = self.tiers
        world.authorization_ids.update(self.references)
        world.balances[1] = self.earned
        world.refund_counts.update(Counter(each.payment_id for each in self.refunds))
        for name in ROWS:
            for key, row in self.rows[name].items():
                getattr(world, name).lock(key, row)
        for wallet in self.rows["wallets"].values():
            self._look_up(world, wallets.counted(wallet))
        for authorization in self.rows["authorizations"].values():
            self._look_up(world, authorization_limits.counted(authorization))
        return world

    def _look_up(self, world: World, counted: Iterable[Counted]) -> None:
        """Only what a batch would: a period that the rules want beyond these is a defect."""
        world.aside |= {key: self.aside.get(key, 0) for key in others(counted, self.now)}

    def run(self, command: Any) -> Any:
        world = self.world()
        outcome = command.decide(world)
        for name in ROWS:
            rows = getattr(world, name)
            self.rows[name].update(rows.added)
            self.rows[name].update(rows.changed)
        aside = world.sandbox_periods.added.values()
        self.aside |= {(each.owner, each.unit, each.start): each.spent for each in aside}
        self.references = world.authorization_ids
        self.events += world.events
        self.transactions += world.transactions
        self.transfers += world.transfers
        self.refunds += world.refunds
        return outcome

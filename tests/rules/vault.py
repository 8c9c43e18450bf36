"""Merchants, wallets and the bank kept in memory: a batch sees only the rows that it has named."""

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from random import Random
from typing import Any
from uuid import UUID, uuid4

from laari.rules.ledger import FIRST_MERCHANT_ACCOUNT
from laari.rules.needs import Needs
from laari.rules.records.bank import EarnedFees
from laari.rules.records.bank_accounts import AccountOwner, BankAccount
from laari.rules.records.ledger import Transfer
from laari.rules.records.merchant_funds import MerchantFunds
from laari.rules.records.merchants import MerchantActivity
from laari.rules.records.payouts import Due, RunNumbers
from laari.rules.records.tenants import Tenant
from laari.rules.records.wallets import Wallet
from laari.rules.tables import Additions, Table
from laari.rules.world import REGISTRY, World

NOW = datetime(2026, 11, 18, 7, 0, tzinfo=UTC)
ENTERED = datetime(2026, 1, 1, tzinfo=UTC)
NEVER = date(1970, 1, 1)
WALLETS = (7_700_000_000_001, 7_700_000_000_002)
TENANTS = (1, 2, 3)
BALANCE = 1_000_000


class Vault:
    """Runs batches. A row that a command uses without a name, or names too late, is a KeyError."""

    def __init__(self, second_operator_above: int | None = None) -> None:
        self.now = NOW
        self.bytes = Random(0).randbytes  # so that generated cases can be repeated
        self.above = second_operator_above
        self.tables: dict[str, dict[Any, Any]] = {
            each.name: {} for each in REGISTRY if isinstance(each, Table)
        }
        self.transfers: list[Transfer] = []
        self.members: dict[str | None, dict[str, UUID]] = {}  # by the address, for each merchant
        self.tenants = {
            number: Tenant(number, f"mer_{number}", "Shop", "live", 0, 0, 0, 1, True)
            for number in TENANTS
        }
        for number, tenant in self.tenants.items():
            active = MerchantActivity(tenant.merchant_id, True)
            self.tables["merchants"][tenant.merchant_id] = active
            self.tables["funds"][number] = MerchantFunds(number)
        for account in WALLETS:
            empty = (NEVER, 0, NEVER, 0, NEVER, 0)
            self.tables["wallets"][account] = Wallet(
                account, uuid4(), "live", "business", BALANCE, *empty
            )

    def balance(self, account: int) -> int:
        """The sum of an account's transfers."""
        return sum(
            each.amount * ((each.credit_account == account) - (each.debit_account == account))
            for each in self.transfers
        )

    def of_tenant(self, number: int) -> int:
        return BALANCE + self.balance(FIRST_MERCHANT_ACCOUNT + number)

    def rows(self, name: str) -> Iterable[Any]:
        return list(self.tables[name].values())

    def _look_up(self, name: str, key: Any) -> Any:
        """What a look-up finds; None without a row."""
        finders: dict[str, Callable[[], Any]] = {
            "tenants": lambda: self.tenants.get(key),
            "members": lambda: self.members.get(key, {}),
            "account_owners": lambda: AccountOwner(
                "Aisha", "live", None if key in WALLETS else f"mer_{key}", ()
            ),
            "earned_fees": lambda: EarnedFees(BALANCE, 0, 0),
            "balances": lambda: self.of_tenant(key),
            "dues": lambda: Due(self.of_tenant(key[0]), 0, self.now, "1:1:"),
            "last_withdrawals": lambda: max(
                (each.number for each in self.rows("payouts") if each.account == key), default=0
            ),
            "bank_accounts": lambda: (self._bank_account(key),),
            "paid_accounts": frozenset,
            "helps": tuple,
            "run_numbers": lambda: self._run_numbers(key),
            "run_payouts": lambda: tuple(
                each.id for each in self.rows("payouts") if each.run_id == key
            ),
            "payout_orders": lambda: tuple(
                each.reference for each in self.rows("orders") if each.payout_id == key
            ),
            "order_payouts": lambda: getattr(self.tables["orders"].get(key), "payout_id", None),
            "answers": lambda: frozenset(
                each.use for each in self.rows("bank_lines") if each.order_reference == key
            ),
        }
        return finders[name]() if name in finders else None

    def _bank_account(self, owner: int) -> BankAccount:
        is_wallet = owner in WALLETS
        return BankAccount(
            UUID(int=owner),  # the same at each look-up
            None if is_wallet else owner,
            "Aisha",
            "BML",
            "1234567",
            ENTERED,
            ENTERED,
            "operator",
            "somebody",
            owner if is_wallet else None,
        )

    def _run_numbers(self, mode: str) -> RunNumbers | None:
        runs = [each for each in self.rows("runs") if each.mode == mode]
        opened = [each for each in runs if each.status == "requested"]
        assert len(opened) <= 1
        return RunNumbers(len(runs), opened[0] if opened else None) if runs else None

    def load(self, commands: Iterable[Any]) -> World:
        """As a batch does it: table by table, in the order of the registry."""
        needs, world = Needs(), World(self.now, "", self.bytes, second_operator_above=self.above)
        world.approved_runs.update({"live": (), "sandbox": ()})
        for command in commands:
            command.needs(needs)
        for each in REGISTRY:
            if isinstance(each, Additions):
                continue
            if isinstance(each, Table):
                self._load_table(needs, world, each)
            else:
                found = {key: self._look_up(each.name, key) for key in needs.only_read(each)}
                held = getattr(world, each.name)
                held.update({key: value for key, value in found.items() if value is not None})
                if each is World.balances:
                    world.held.update(dict.fromkeys(needs.only_read(World.balances), BALANCE))
            if each in needs.locks or each in needs.reads:
                for follow in needs.followers.get(each, ()):
                    follow(needs, world)
        return world

    def _load_table(self, needs: Needs, world: World, table: Table[Any, Any]) -> None:
        stored, rows = self.tables[table.name], table.of(world)
        for key in needs.locked(table) & stored.keys():
            (rows.show if table.shared else rows.lock)(key, stored[key])
        for key in needs.only_read(table) & stored.keys():
            rows.show(key, stored[key])

    def run(self, *commands: Any) -> list[Any]:
        """In one batch."""
        world = self.load(commands)
        outcomes = [command.decide(world) for command in commands]
        for name, stored in self.tables.items():
            rows = getattr(world, name)
            stored.update(rows.added)
            stored.update(rows.changed)
        self.transfers += world.transfers
        return outcomes

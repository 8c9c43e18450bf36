"""Every command decides by itself whether its actor may do this, whatever a face has checked."""

from typing import Any
from uuid import UUID

import pytest

from laari.rules.actors import Actor, themselves
from laari.rules.banking.bank_accounts import AddBankAccount
from laari.rules.banking.bank_imports import BeginImport, ConfirmImport, Sum, Totals
from laari.rules.banking.bank_lines import ImportLine, SignFloat
from laari.rules.banking.bank_statement import StatementLine
from laari.rules.banking.manual_matches import MatchLine, UnmatchLine
from laari.rules.banking.merchant_money import MoveFunds, SweepFees
from laari.rules.banking.merchant_refunds import RefundForMerchant
from laari.rules.banking.open_lines import AssignLine, ChargeLine, SendLineBack
from laari.rules.banking.payout_approval import ApproveRun
from laari.rules.banking.payout_runs import (
    AnswerPayout,
    CancelPayout,
    CancelRun,
    JoinRun,
    OpenRun,
    SendRun,
)
from laari.rules.banking.payouts import RequestPayout
from laari.rules.banking.waiting_movements import PERMISSIONS, MakeMovement, RefuseMovement
from laari.rules.banking.wallet_controls import FreezeWallet, SetTier, UnfreezeWallet
from laari.rules.banking.wallet_money import MoveMoney
from laari.rules.banking.withdrawals import RequestWithdrawal
from laari.rules.merchants.sandbox_clock import MoveClock
from laari.rules.merchants.sandbox_wallet import SetSandboxWallet
from laari.rules.needs import Needs
from laari.rules.payments.authorizations import ResumeAuthorization, SuspendAuthorization
from laari.rules.payments.charges import ChargeByHand
from laari.rules.payments.payments import PaymentDraft
from laari.rules.payments.refunds import RefundPayment
from laari.rules.payments.till_closings import CloseTill
from laari.rules.people.permissions import EVERY, ROLES, may
from laari.rules.records.bank_accounts import BankDetails
from laari.rules.records.people import Membership, MerchantRole
from laari.rules.records.second_person import PendingMovement
from laari.rules.records.tenants import Tenant
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.rules.books import Books
from tests.rules.vault import NOW, WALLETS, Vault

DAY = NOW.date().replace(day=17)
ID = UUID(int=7)
WALLET = WALLETS[0]
ACCOUNT = BankDetails("Aisha", "BML", "7730000012345")
LINE = StatementLine(2, DAY, "FT1", "For nobody", 500, None)
TOTALS = Totals(1, 1, DAY, DAY, Sum(), Sum(), Sum(), Sum())
MOVEMENT = PendingMovement(
    id=ID,
    requested_at=NOW,
    requested_by="operator bea@laari.test",
    kind="topup",
    amount=5,
    details="Cash",
    account=WALLET,
    tenant_id=None,
    payout_id=None,
    reference=None,
    below_zero=False,
    refund_reason=None,
    refund_note=None,
    matches=None,
    holder=None,
    bank=None,
    account_number=None,
)

# Each command about money that only the operator has.
OF_THE_OPERATOR = {
    "topup": lambda actor: MoveMoney(actor, None, WALLET, "topup", 5, "Cash"),
    "adjust": lambda actor: MoveMoney(actor, None, WALLET, "adjustment", -5, "Wrong"),
    "hold": lambda actor: MoveFunds(1, actor, "hold", 5, "Dispute"),
    "release": lambda actor: MoveFunds(1, actor, "release", 5, "Over"),
    "sweep": lambda actor: SweepFees(actor, "live", 5),
    "refund": lambda actor: RefundForMerchant(1, actor, ID),
    "assign": lambda actor: AssignLine(actor, "FT1", WALLET),
    "send_back": lambda actor: SendLineBack(actor, "FT1"),
    "charge": lambda actor: ChargeLine(actor, "FT1"),
    "match": lambda actor: MatchLine(actor, "FT1", ("sweep", "1")),
    "unmatch": lambda actor: UnmatchLine(actor, "FT1"),
    "begin_import": lambda actor: BeginImport(actor, "digest", TOTALS, "matches"),
    "confirm_import": lambda actor: ConfirmImport(actor, MOVEMENT),
    "import": lambda actor: ImportLine(actor, LINE),
    "sign": lambda actor: SignFloat(actor, DAY, 1, 1, None),
    "open": lambda actor: OpenRun(actor, "live", DAY),
    "send": lambda actor: SendRun(actor, ID, DAY, 100),
    "cancel_run": lambda actor: CancelRun(actor, ID),
    "approve": lambda actor: ApproveRun(actor, ID, 0, 5),
    "cancel": lambda actor: CancelPayout(actor, ID),
    "join": lambda actor: JoinRun(actor, ID, ID),
    "answer": lambda actor: AnswerPayout(actor, ID, "settle"),
    "make": lambda actor: MakeMovement(actor, ID),
    "refuse": lambda actor: RefuseMovement(actor, ID, "No"),
    "set_tier": lambda actor: SetTier(actor, WALLET, "basic"),
    "freeze": lambda actor: FreezeWallet(actor, WALLET, "Lost phone"),
    "unfreeze": lambda actor: UnfreezeWallet(actor, WALLET),
}
# Those that a merchant's people or the customer have too, each with the permission of the people.
SHARED: dict[str, Any] = {
    "payout": lambda actor: RequestPayout(1, actor),
    "bank": lambda actor: AddBankAccount(actor, 1, ACCOUNT),
}
OF_CUSTOMERS: dict[str, Any] = {
    "withdraw": lambda actor: RequestWithdrawal(actor, WALLET, 700),
    "own_bank": lambda actor: AddBankAccount(actor, WALLET, ACCOUNT),
}
MONEY: dict[str, Any] = {**OF_THE_OPERATOR, **SHARED, **OF_CUSTOMERS}
OWNER = Actor("person", "a@shop.mv", "owner")
ADMIN = Actor("command_line", "root", "admin")
WRONG = {
    "support": Actor("operator", "s@laari.test", "support"),
    "service": Actor("service", "sign-up"),
    "removed_owner": OWNER,
    "other_customer": themselves(ID),
    "program": Actor("credential", "secret key"),
    "till": Actor("till", "Till 1"),
}
# What support may do.
ALLOWED = {"freeze", "unfreeze", "set_tier"}


def a_vault() -> Vault:
    vault = Vault()
    vault.tables["movements"][ID] = MOVEMENT
    return vault


def is_refused(outcome: object) -> bool:
    return isinstance(outcome, Refusal) and outcome.code == "insufficient_scope"


def with_member(role: MerchantRole) -> Vault:
    vault = a_vault()
    vault.members["mer_1"] = {OWNER.name: ID}
    vault.tables["memberships"][ID, "mer_1"] = Membership(ID, "mer_1", role, None, NOW)
    return vault


@pytest.mark.parametrize("who", WRONG)
@pytest.mark.parametrize("name", MONEY)
def test_a_command_about_money_refuses_an_actor_with_the_wrong_role(name: str, who: str) -> None:
    vault = a_vault()
    [outcome] = vault.run(MONEY[name](WRONG[who]))
    is_allowed = name in ALLOWED and WRONG[who].role == "support"
    assert is_refused(outcome) is not is_allowed
    assert not vault.transfers


@pytest.mark.parametrize("name", MONEY)
def test_the_command_line_may_do_all_of_it(name: str) -> None:
    [outcome] = a_vault().run(MONEY[name](ADMIN))
    assert not is_refused(outcome)


@pytest.mark.parametrize("role", ["owner", "manager", "accountant", "cashier"])
@pytest.mark.parametrize("name", SHARED)
def test_a_role_at_a_merchant_counts_as_it_is_now(name: str, role: MerchantRole) -> None:
    """The request of the person names the role of an owner."""
    command = SHARED[name](OWNER)
    [outcome] = with_member(role).run(command)
    assert is_refused(outcome) is not may(role, command.own_permission)


@pytest.mark.parametrize("name", OF_CUSTOMERS)
def test_a_customer_moves_only_their_own_money(name: str) -> None:
    vault = a_vault()
    mine, other = (vault.tables["wallets"][each].customer_id for each in WALLETS)
    [own] = vault.run(OF_CUSTOMERS[name](themselves(mine)))
    [others] = vault.run(OF_CUSTOMERS[name](themselves(other)))
    assert not isinstance(own, Refusal)
    assert is_refused(others)


def test_who_confirms_a_movement_may_move_such_money() -> None:
    assert set(PERMISSIONS.values()) == {"wallets.move", "payouts.run", "bank.import"}
    assert [role for role in ROLES if may(role, "wallets.move")] == ["admin", "finance"]
    assert EVERY.issuperset(PERMISSIONS.values())


BOX = Tenant(1, "mer_1", "Shop", "sandbox", 0, 0, 0, WALLET, True)
# What a merchant's people do, and programs with a credential.
OF_SHOPS: dict[str, Any] = {
    "refund": lambda actor: RefundPayment(BOX, ID, actor),
    "charge": lambda actor: ChargeByHand(BOX, ID, PaymentDraft("ref-1", 500), actor),
    "close": lambda actor: CloseTill(BOX, "Till 1", actor),
    "clock": lambda actor: MoveClock(BOX, actor, 60),
    "sandbox_wallet": lambda actor: SetSandboxWallet(BOX, actor, 5, None),
}
PROGRAM, DEVICE = WRONG["program"], WRONG["till"]


@pytest.mark.parametrize("role", ["owner", "manager", "accountant", "cashier"])
@pytest.mark.parametrize("name", OF_SHOPS)
def test_a_person_of_a_shop_acts_with_the_present_role(name: str, role: MerchantRole) -> None:
    command = OF_SHOPS[name](OWNER)
    [outcome] = with_member(role).run(command)
    assert is_refused(outcome) is not may(role, command.permission)


@pytest.mark.parametrize("who", WRONG)
@pytest.mark.parametrize("name", OF_SHOPS)
def test_a_command_of_a_shop_refuses_others(name: str, who: str) -> None:
    """A credential has scopes instead of a role, and a device closes its till."""
    command = OF_SHOPS[name](WRONG[who])
    [outcome] = a_vault().run(command)
    is_allowed = command.actor == PROGRAM or (command.actor == DEVICE and name == "close")
    assert is_refused(outcome) is not is_allowed


@pytest.mark.parametrize("name", OF_SHOPS)
def test_a_program_loads_no_membership(name: str) -> None:
    needs = Needs()
    OF_SHOPS[name](PROGRAM).needs(needs)
    assert World.members not in needs.reads


@pytest.mark.parametrize("command", [SuspendAuthorization, ResumeAuthorization])
@pytest.mark.parametrize("role", ["admin", "support", "finance"])
def test_an_operator_pauses_authorizations_with_the_role_for_it(command: Any, role: Any) -> None:
    books = Books(1_000)
    actor = Actor("operator", "f@laari.test", role)
    outcome = books.run(command(books.tenant, books.id, actor))
    assert is_refused(outcome) is not may(role, "customers.change")

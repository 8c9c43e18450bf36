"""An operation needs the permission that its commands check."""

from typing import Any

import pytest

from laari.operations.every import OPERATIONS
from laari.operations.operation import AnyOperation
from laari.rules.banking.bank_accounts import AddBankAccount
from laari.rules.banking.bank_imports import BeginImport
from laari.rules.banking.bank_lines import ImportLine, SignFloat
from laari.rules.banking.manual_matches import MatchLine, UnmatchLine
from laari.rules.banking.merchant_money import MoveFunds, SweepFees
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
from laari.rules.banking.waiting_movements import PERMISSIONS
from laari.rules.banking.wallet_money import MoveMoney
from laari.rules.banking.withdrawals import RequestWithdrawal
from laari.rules.merchants.payout_terms import ChangePayoutTerms

# The commands of each operation about money.
COMMANDS: dict[str, tuple[Any, ...]] = {
    "wallet.topup": (MoveMoney,),
    "wallet.adjust": (MoveMoney,),
    "wallet.withdraw": (RequestWithdrawal,),
    "wallet.bank": (AddBankAccount,),
    "merchant.hold": (MoveFunds,),
    "merchant.release": (MoveFunds,),
    "merchant.adjust": (MoveFunds,),
    "payout.request": (RequestPayout,),
    "fees.sweep": (SweepFees,),
    "payout.run": (OpenRun, JoinRun, RequestPayout),
    "payout.approve": (ApproveRun,),
    "payout.file": (SendRun,),
    "payout.cancel": (CancelRun, CancelPayout),
    "payout.settle": (AnswerPayout,),
    "payout.return": (AnswerPayout,),
    "payout.terms": (ChangePayoutTerms,),
    "bank.import": (BeginImport, ImportLine),
    "bank.assign": (AssignLine,),
    "bank.return": (SendLineBack,),
    "bank.charge": (ChargeLine,),
    "bank.unmatch": (UnmatchLine,),
    "bank.match": (MatchLine,),
    "float.sign": (SignFloat,),
}
ABOUT_MONEY = ("wallet", "fees", "payout", "bank", "float")


def named(name: str) -> AnyOperation:
    [found] = [each for each in OPERATIONS if each.name == name]
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_an_operation_needs_what_its_commands_check(name: str) -> None:
    assert {each.permission for each in COMMANDS[name]} == {named(name).needs}


def test_every_operation_about_money_is_compared() -> None:
    about = {each.name for each in OPERATIONS if each.group in ABOUT_MONEY}
    assert about - COMMANDS.keys() == set()
    assert named("merchant.bank").needs == AddBankAccount.own_permission
    for name in ("movement.confirm", "movement.refuse"):  # the kind of the movement decides
        assert named(name).needs in PERMISSIONS.values()

"""Payouts, runs and the bank's lines as decisions: every command names its rows by itself."""

from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import fields

from laari.rules.actors import Actor
from laari.rules.banking.bank_lines import ImportLine
from laari.rules.banking.bank_statement import StatementLine
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
from laari.rules.banking.waiting_movements import Made, MakeMovement
from laari.rules.banking.withdrawals import RequestWithdrawal
from laari.rules.ledger import in_transit_account, outside_account, unallocated_account
from laari.rules.records.payouts import Payout
from laari.rules.records.second_person import PendingMovement
from laari.rules.refusals import Refusal
from laari.rules.world import World
from tests.rules.vault import BALANCE, TENANTS, WALLETS, Vault

ANN = Actor("operator", "ann@laari.test", "finance")
BEA = Actor("operator", "bea@laari.test", "finance")
DAY = date(2026, 11, 17)
NOBODY = UUID(int=7)
MOST = 400_000  # of one order
UNSENT = ("requested", "approved")
KINDS = (
    "request",
    "withdraw",
    "open",
    "join",
    "cancel",
    "one",
    "approve",
    "send",
    "answer",
    "line",
)


@dataclass
class Day:
    """A day of finance: each step is a batch of commands about rows that exist."""

    vault: Vault
    draw: Any
    lines: int = 0

    def one_of(self, found: Any) -> Any:
        return self.draw(st.sampled_from(sorted(found, key=str))) if found else None

    def command(self) -> Any:
        vault, kind = self.vault, self.draw(st.sampled_from(KINDS))
        run, payout = self.one_of(vault.tables["runs"]), self.one_of(vault.tables["payouts"])
        match kind:
            case "request":
                run_id = self.draw(st.sampled_from((None, run)))
                return RequestPayout(self.draw(st.sampled_from(TENANTS)), ANN, run_id=run_id)
            case "withdraw":
                account = self.draw(st.sampled_from(WALLETS))
                return RequestWithdrawal(ANN, account, self.draw(st.integers(1, BALANCE // 2)))
            case "line":
                return self.line()
            case "answer" if payout is not None:
                return AnswerPayout(ANN, payout, self.draw(st.sampled_from(("settle", "return"))))
            case "one" if payout is not None:
                return CancelPayout(ANN, payout)
            case "join" if payout is not None and run is not None:
                return JoinRun(ANN, payout, run)
            case "cancel" if run is not None:
                return CancelRun(ANN, run)
            case "approve" if run is not None:
                joined = [each for each in vault.rows("payouts") if each.run_id == run]
                total = sum(each.amount for each in joined if each.status != "cancelled")
                return ApproveRun(BEA, run, 0, total)
            case "send" if run is not None:
                return SendRun(BEA, run, DAY, MOST)
        return OpenRun(ANN, "live", DAY)

    def line(self) -> ImportLine:
        self.lines += 1
        order = self.one_of(self.vault.tables["orders"])
        if order is None:
            text, amount = f"For {self.draw(st.sampled_from(WALLETS))}", 500
        else:
            amount = self.vault.tables["orders"][order].amount
            text, amount = f"Payroll {order}", self.draw(st.sampled_from((amount, -amount, 7)))
        return ImportLine(ANN, StatementLine(2, DAY, f"FT{self.lines}", text, amount, None))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_order_of_commands_loses_money(data: st.DataObject) -> None:
    vault = Vault()
    day = Day(vault, data.draw)
    for _ in range(data.draw(st.integers(1, 12))):
        vault.run(*(day.command() for _ in range(data.draw(st.integers(1, 4)))))
        unsent = [each for each in vault.rows("payouts") if each.status in UNSENT]
        waiting = sum(each.amount for each in unsent)
        sent = sum(each.amount for each in vault.rows("orders") if each.status == "sent")
        assert vault.balance(in_transit_account("live").number) == waiting + sent
        for account in WALLETS:
            assert vault.tables["wallets"][account].balance == BALANCE + vault.balance(account) >= 0
        assert all(vault.of_tenant(number) >= 0 for number in TENANTS)


def opened(vault: Vault, *waiting: Payout) -> Any:
    [run] = vault.run(OpenRun(ANN, "live", DAY))
    for payout in waiting:
        [joined] = vault.run(JoinRun(ANN, payout.id, run.id))
        assert joined.run_id == run.id
    return run


def test_a_run_is_filled_approved_and_sent_in_one_batch() -> None:
    vault = Vault()
    withdrawal, asked = vault.run(RequestWithdrawal(ANN, WALLETS[0], 700), RequestPayout(1, ANN))
    run = opened(vault)
    total = 700 + BALANCE + BALANCE
    *_, sent = vault.run(
        JoinRun(ANN, withdrawal.id, run.id),
        JoinRun(ANN, asked.id, run.id),
        RequestPayout(2, ANN, run_id=run.id),
        ApproveRun(BEA, run.id, 0, total),
        SendRun(BEA, run.id, DAY, MOST),
    )
    assert (sent.run.status, sent.total) == ("sent", total)
    assert len(vault.tables["orders"]) == 1 + 3 + 3


def test_a_payout_that_joins_meanwhile_is_sent_only_with_a_new_look() -> None:
    """The total is what the person saw; there is nothing else to try again for."""
    vault = Vault()
    [made] = vault.run(RequestWithdrawal(ANN, WALLETS[0], 700))
    run = opened(vault, made)
    more, refused = vault.run(
        RequestPayout(1, ANN, run_id=run.id), ApproveRun(BEA, run.id, 0, if_total=700)
    )
    assert isinstance(more, Payout)
    assert "The total is MVR 10007.00 now." in refused.message
    [cancelled] = vault.run(CancelRun(ANN, run.id))
    assert [each.status for each in cancelled.payouts] == ["cancelled"] * 2
    assert vault.of_tenant(1) == vault.tables["wallets"][WALLETS[0]].balance == BALANCE


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (RequestPayout(9, ANN), "No such merchant."),
        (CancelRun(ANN, NOBODY), "No such run."),
        (MakeMovement(ANN, NOBODY), "There is no such movement."),
        (CancelPayout(ANN, NOBODY), f"No payout has the id po_{NOBODY.hex}."),
    ],
)
def test_what_does_not_exist_is_refused(command: Any, message: str) -> None:
    [refused] = Vault().run(command)
    assert refused == Refusal("not_found", message)


def receipt(vault: Vault, text: str, amount: int) -> Any:
    reference = f"FT{len(vault.tables['bank_lines'])}"
    [booked] = vault.run(ImportLine(ANN, StatementLine(2, DAY, reference, text, amount, None)))
    return booked.line


@pytest.mark.parametrize(
    ("text", "use"),
    [
        (f"For {WALLETS[0]}", "topup"),
        (f"For {WALLETS[0]} or {WALLETS[1]}", "receipt"),
        (f"For {WALLETS[0]} or 7700000000009", "topup"),  # which does not exist
        ("Nobody", "receipt"),
        (f"LP000001R0001 of {WALLETS[0]}", "returned"),
        ("LP000001R0001 LP000001R0002", "receipt"),
        ("LP000009R0001", "receipt"),
    ],
)
def test_a_line_finds_what_it_names(text: str, use: str) -> None:
    vault = Vault()
    [made] = vault.run(RequestWithdrawal(ANN, WALLETS[1], 2 * MOST))
    run = opened(vault, made)
    vault.run(ApproveRun(BEA, run.id, 0, 2 * MOST), SendRun(BEA, run.id, DAY, MOST))
    assert receipt(vault, text, MOST).use == use


def test_an_open_line_is_used_once() -> None:
    vault = Vault()
    for text, amount in (("One", 70), ("Two", 80), ("Charge", -5)):
        receipt(vault, text, amount)
    assert vault.balance(unallocated_account("live").number) == 150
    commands = (
        AssignLine(ANN, "FT0", WALLETS[0]),
        SendLineBack(ANN, "FT1"),
        ChargeLine(ANN, "FT2"),
    )
    assert [each.use for each in vault.run(*commands)] == ["assigned", "sent_back", "charge"]
    assert all(isinstance(each, Refusal) for each in vault.run(*commands))
    others = (SendLineBack(ANN, "FT2"), ChargeLine(ANN, "FT1"), AssignLine(ANN, "FT2", WALLETS[0]))
    assert {each.code for each in vault.run(*others)} == {"conflict"}
    assert vault.balance(unallocated_account("live").number) == 0
    assert vault.balance(outside_account("live").number) == -65
    assert vault.tables["wallets"][WALLETS[0]].balance == BALANCE + 70


def test_a_movement_is_made_by_its_id_and_names_its_own_rows() -> None:
    vault = Vault(second_operator_above=0)
    receipt(vault, "Nobody", 70)
    [asked] = vault.run(AssignLine(ANN, "FT0", WALLETS[0]))
    assert isinstance(asked, PendingMovement)
    own, made, twice = vault.run(
        MakeMovement(ANN, asked.id), MakeMovement(BEA, asked.id), MakeMovement(BEA, asked.id)
    )
    assert own.message == "Another person has to confirm a movement you asked for."
    assert isinstance(made, Made)
    assert made.movement.tid == vault.transfers[-1].tid
    assert twice.message == "The movement is done already."
    assert vault.tables["wallets"][WALLETS[0]].balance == BALANCE + 70


def test_a_movement_that_waits_never_changes() -> None:
    """So its id is enough for the second person: no command writes the values before its end."""
    names = [field.name for field in fields(PendingMovement)]
    assert World.movements.changes_from == "status"
    written = names[names.index("status") :]
    assert written == ["status", "decided_at", "decided_by", "reason", "tid"]

"""What the operator does with the money of a wallet."""

from asyncpg import Connection
from msgspec.structs import asdict

from laari.operations.fields import MOVED, Account, Amount, Field, Text, flag, seen
from laari.operations.operation import Context, Operation, Otherwise, Shape, Subject, command, plain
from laari.operations.payouts import payout_shape
from laari.rules.actors import Actor
from laari.rules.banking.bank_accounts import AddBankAccount, read_details
from laari.rules.banking.bank_file import MAX_HOLDER
from laari.rules.banking.wallet_money import MAX_SLIP, MovedMoney, MoveMoney
from laari.rules.banking.withdrawals import RequestWithdrawal
from laari.rules.calendar import show as show_time
from laari.rules.limits.texts import MAX_REASON
from laari.rules.money import MAX_MONEY
from laari.rules.records.bank_accounts import BankAccount
from laari.rules.records.payouts import Payout
from laari.rules.records.wallets import Transaction
from laari.store.bank_statements import Ask
from laari.store.reads import holders, tenants
from laari.store.reads.holders import Holder


async def find(connection: Connection, account: int) -> Holder | None:
    return await holders.by_account(connection, account)


WALLET = Subject(
    "wallet",
    "",
    (Field("account", Account(), positional=True),),
    find,
    "no wallet has the account number {account}",
)


def transaction_shape(transaction: Transaction) -> dict[str, object]:
    account, time = str(transaction.account), show_time(transaction.time)
    shape = asdict(transaction) | {"account": account, "time": time}
    del shape["unpaid_id"]  # the page of that payment shows the attempt
    return shape


async def _moved_shape(ask: Ask, holder: Holder, moved: MovedMoney) -> Shape:
    return transaction_shape(moved.transaction) | {
        "slip": moved.slip,
        "repeated": moved.repeated,
        "holder": holder.name,
        "balance_before": moved.before,
        "balance_after": moved.after,
    }


async def _top_up(
    context: Context,
    holder: Holder,
    *,
    amount: int,
    details: str | None,
    slip: str | None,
    moved: int | None = None,
) -> object:
    if details is None:
        details = "Top-up by the operator" if slip is None else f"Bank transfer {slip}"
    tenant = await context.ask(tenants.of_wallet, holder.account)
    return await context.submit(
        MoveMoney(
            actor=context.actor,
            tenant=tenant,
            account=holder.account,
            kind="topup",
            amount=amount,
            details=details,
            slip=slip,
            if_moved=moved,
        )
    )


TOP_UP = Operation(
    "wallet.topup",
    needs=MoveMoney.permission,
    subject=WALLET,
    fields=(
        Field("amount", Amount(1, MAX_MONEY), positional=True, typed="laari"),
        Field("details", Text(MAX_REASON), "Shown in the wallet's history.", "on pages"),
        Field(
            "slip",
            Text(MAX_SLIP),
            "Reference of the bank transfer. If used again, shows its top-up and adds no money.",
            "never",
        ),
        MOVED,
    ),
    run=_top_up,
    shape=_moved_shape,
    done="The money is moved.",
    otherwise=Otherwise(
        lambda moved: moved.repeated, "This slip was entered before. No money was moved again."
    ),
    about="Add money from outside to a wallet.",
)


async def _adjust(
    context: Context,
    holder: Holder,
    *,
    amount: int,
    details: str,
    below_zero: bool,
    moved: int | None = None,
) -> object:
    tenant = await context.ask(tenants.of_wallet, holder.account)
    return await context.submit(
        MoveMoney(
            actor=context.actor,
            tenant=tenant,
            account=holder.account,
            kind="adjustment",
            amount=amount,
            details=details,
            below_zero=below_zero,
            if_moved=moved,
        )
    )


ADJUST = Operation(
    "wallet.adjust",
    needs=MoveMoney.permission,
    subject=WALLET,
    fields=(
        Field("amount", Amount(-MAX_MONEY, MAX_MONEY), positional=True, typed="laari"),
        Field("details", Text(MAX_REASON), "Shown in the wallet's history.", typed="reason"),
        flag("below_zero", "Allow a negative balance."),
        MOVED,
    ),
    run=_adjust,
    shape=_moved_shape,
    done="The money is moved.",
    about="""Correct a wallet's balance.

    Adds LAARI to the balance; a negative amount reduces it. Use --below-zero to allow a negative
    balance.
    """,
)


async def _withdraw(
    context: Context, holder: Holder, amount: int, last: int | None = None
) -> object:
    return await context.submit(
        RequestWithdrawal(context.actor, holder.account, amount, if_last=last)
    )


def _withdrawal_shape(made: Payout) -> Shape:
    return payout_shape(made, None)


WITHDRAW = Operation(
    "wallet.withdraw",
    needs=RequestWithdrawal.permission,
    subject=WALLET,
    fields=(
        Field("amount", Amount(1, MAX_MONEY), positional=True, typed="laari"),
        seen("last"),
    ),
    run=_withdraw,
    shape=plain(_withdrawal_shape),
    done="The withdrawal is requested. The next payout run takes it.",
    about="""Send money of a live wallet to the customer's bank account.

    The next payout run takes it. Cancel it before that with `laari payout cancel`.
    """,
)


def _add_bank(actor: Actor, wallet: Holder, holder: str, bank: str, number: str) -> AddBankAccount:
    return AddBankAccount(actor, wallet.account, read_details(holder, bank, number))


def bank_account_shape(account: BankAccount) -> Shape:
    return {
        "holder": account.holder,
        "bank": account.bank,
        "number": account.account_number,
        "effective_at": show_time(account.effective_at),
        "entered_by": account.entered_by,
    }


BANK_FIELDS = (
    Field("holder", Text(MAX_HOLDER), "Name of the account's holder."),
    Field("bank", Text(MAX_HOLDER), "Name of the bank."),
    Field("number", Text(MAX_HOLDER), "Number of the account."),
)
ADD_BANK = Operation(
    "wallet.bank",
    needs=AddBankAccount.permission,
    subject=WALLET,
    fields=BANK_FIELDS,
    run=command(_add_bank),
    shape=plain(bank_account_shape),
    done="The bank account is saved. It is used after 48 hours.",
    about="""Show a customer's bank accounts, or add one.

    It is used after 48 hours, and the customer gets a notice. With
    LAARI_SECOND_OPERATOR_ABOVE, another name than the customer's needs a second person.
    """,
)

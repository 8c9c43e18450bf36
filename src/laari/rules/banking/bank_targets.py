"""What a line of the bank's statement names: a wallet, or an order that it answers."""

import re
from collections.abc import Container, Mapping
from typing import Literal, NamedTuple

from laari.rules.banking.bank_file import references_in
from laari.rules.banking.bank_statement import StatementLine
from laari.rules.records import COUNTRY, BankOrder, Transaction

_ACCOUNT = re.compile(r"(?<![0-9])77[0-9]{11}(?![0-9])", re.ASCII)


# As people write it, and not a part of the bank's own references.
_MOBILE = re.compile(
    rf"(?<![\w+])(?:\+?{COUNTRY}[ -]?)?([79][0-9]{{2}}[ -]?[0-9]{{4}})(?!\w)", re.ASCII
)


def accounts_in(text: str) -> list[int]:
    """The numbers of wallets that a line of the statement names."""
    return list(dict.fromkeys(int(found[0]) for found in _ACCOUNT.finditer(text)))


def orders_in(line: StatementLine) -> list[str]:
    """The orders that a line may name."""
    return references_in(_text(line))


def wallets_in(line: StatementLine) -> list[int]:
    """The wallets that a line may name."""
    return accounts_in(_text(line))


def mobiles_in(line: StatementLine) -> list[str]:
    """The mobile numbers that a line may name, as customers have them."""
    found = (re.sub("[ -]", "", each[1]) for each in _MOBILE.finditer(line.description))
    return list(dict.fromkeys(found))


def _text(line: StatementLine) -> str:
    return f"{line.reference} {line.description}"


class Target(NamedTuple):
    """What a line names: the wallet it is for, or the order that it answers.

    `answers` are the uses of other lines that name the order. `topup` has used the line's reference
    as its slip.
    """

    account: int | None = None
    by: Literal["account", "mobile", "slip"] | None = None  # how the line names the wallet
    order: BankOrder | None = None
    topup: Transaction | None = None
    answers: frozenset[str] = frozenset()


def target_of(
    line: StatementLine,
    orders: Mapping[str, BankOrder],
    live: Container[int],
    mobiles: Mapping[str, int],
    topup: Transaction | None,
    answers: Mapping[str, frozenset[str]],
) -> Target:
    """One order, or one live wallet. A line that names two names none.

    `live` are the accounts of live wallets, and `mobiles` has those by mobile number. Without a
    number, a slip that was entered by hand says which wallet it was.
    """
    named = [orders[each] for each in orders_in(line) if each in orders]
    by_account = [each for each in wallets_in(line) if each in live]
    by_mobile = [mobiles[each] for each in mobiles_in(line) if each in mobiles]
    accounts = list(dict.fromkeys([*by_account, *by_mobile]))
    if len(named) == 1:
        [order] = named
        uses = answers.get(order.reference, frozenset())
        return Target(order=order, topup=topup, answers=uses)
    if not named and len(accounts) == 1:
        return Target(accounts[0], "account" if by_account else "mobile", topup=topup)
    if not named and not accounts and topup is not None:
        return Target(topup.account, "slip", topup=topup)
    return Target(topup=topup)

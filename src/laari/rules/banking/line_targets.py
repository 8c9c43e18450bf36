"""What a line of the bank's statement names, and what an import would make of it."""

import re
from collections.abc import Container, Mapping
from typing import Literal, NamedTuple

from laari.rules.banking.bank_file import references_in
from laari.rules.banking.bank_statement import StatementLine
from laari.rules.money import rufiyaa
from laari.rules.records.bank import BankLine, BankLineUse
from laari.rules.records.payouts import BankOrder
from laari.rules.records.people import COUNTRY
from laari.rules.records.wallets import Transaction

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
    *,
    orders: Mapping[str, BankOrder],
    live: Container[int],
    mobiles: Mapping[str, int],
    topup: Transaction | None,
    answers: Mapping[str, frozenset[str]],
) -> Target:
    """One order, or one live wallet. A line with two names counts as having none.

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


def is_same(line: StatementLine, known: BankLine) -> bool:
    """Whether this line was imported before, with the same content.

    One of the files may have had no balances.
    """
    content = (line.day, line.description, line.amount)
    is_equal = content == (known.day, known.description, known.amount)
    return is_equal and (line.balance is None or known.balance in (None, line.balance))


class Expected(NamedTuple):
    """What the import would make of a line; `conflict` says why it would refuse the line."""

    line: StatementLine
    target: Target
    use: BankLineUse
    known: BankLine | None = None
    conflict: str | None = None

    @property
    def repeated(self) -> bool:
        """Whether the line was imported before."""
        return self.known is not None

    @property
    def credits(self) -> Literal["wallet", "owner"] | None:
        """Who gets new money by this line: a wallet, or the owner of an order."""
        if self.repeated or self.line.amount < 0:
            return None
        if self.use == "topup" and self.target.topup is None:
            return "wallet"
        order = self.target.order
        if self.use == "returned" and order is not None and order.status != "returned":
            return "owner"
        return None


class Match(NamedTuple):
    """What an import makes of a line: its first use, the wallet or the order, and new money."""

    use: BankLineUse
    account: int | None
    order: str | None
    credits: bool


def match_of(each: Expected) -> Match:
    """Of a line that is not known."""
    order = each.target.order if each.use in ("settled", "returned") else None
    return Match(
        each.use,
        each.target.account if each.use == "topup" else None,
        None if order is None else order.reference,
        each.credits is not None,
    )


def match_made(line: BankLine) -> Match:
    """Of a line in the books, whatever a person did with it later."""
    use = _FIRST_USES.get(line.use, line.use)
    credits_wallet = use == "topup" and line.booked_at == line.imported_at
    return Match(
        use,
        line.account if use == "topup" else None,
        line.order_reference if use in ("settled", "returned") else None,
        credits_wallet or (use == "returned" and line.tid is not None),
    )


_FIRST_USES: Mapping[BankLineUse, BankLineUse] = {
    "assigned": "receipt",
    "sent_back": "receipt",
    "charge": "none",
    "matched": "none",
}


def expected(line: StatementLine, target: Target, known: BankLine | None) -> Expected:
    if known is not None:
        conflict = None if is_same(line, known) else other_content(known)
        return Expected(line, target, known.use, known, conflict)
    answer = answer_of(line, target.order, target.answers)
    if answer is not None:
        return Expected(line, target, answer)
    if line.amount < 0:
        return Expected(line, target, "none")
    conflict = other_slip(line, target.account, target.topup)
    use: BankLineUse = "receipt" if target.account is None and target.topup is None else "topup"
    return Expected(line, target, use, conflict=conflict)


def answer_of(
    line: StatementLine, order: BankOrder | None, answers: frozenset[str]
) -> Literal["settled", "returned"] | None:
    """How the line answers this order, if it does. Each answer is one line."""
    if order is None or abs(line.amount) != order.amount:
        return None
    if line.amount > 0:
        return None if "returned" in answers else "returned"
    if answers & {"settled", "matched"}:
        return None
    # The bank paid although a person recorded that it did not: the owner has the money twice.
    is_contradicted = order.status == "returned" and order.settled_at is None
    return None if is_contradicted and "returned" not in answers else "settled"


def other_content(known: BankLine) -> str:
    was = f"{known.day}, MVR {rufiyaa(known.amount)}, {known.description}"
    if known.balance is not None:
        was += f", balance MVR {rufiyaa(known.balance)}"
    return f"The reference was imported before with other content: {was}."


def other_slip(line: StatementLine, account: int | None, first: Transaction | None) -> str | None:
    """Why this line is not the top-up that used its reference as a slip, or None."""
    if first is None or (first.account, first.amount) == (account or first.account, line.amount):
        return None
    used = f"MVR {rufiyaa(first.amount)} to account {first.account} ({first.tid})"
    return f"The slip was already used to top up {used}."

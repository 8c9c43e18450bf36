"""Customers' wallets: what they may spend, what leaves them, what they show."""

from dataclasses import replace
from typing import Any

from tests.model.reference.answers import Refused
from tests.model.reference.fields import SANDBOX_WALLET, read_fields
from tests.model.reference.state import Answer, Line, Payment, State, Wallet
from tests.model.reference.steps import Call, Step
from tests.model.reference.times import Stamp, next_period, shown, spent_in_period
from tests.model.reference.unknowns import ANY_TEXT, Mvr, Unknown, tid_of

# In laari: per transaction, and spent in a day, a week and a month.
TIERS: dict[str, tuple[int | None, ...]] = {
    "basic": (500_000, 1_000_000, 3_000_000, 5_000_000),
    "verified": (5_000_000, 10_000_000, 30_000_000, 50_000_000),
    "business": (None, None, None, None),
}
PERIODS = ("day", "week", "month")


def spent(wallet: Wallet, now: Stamp) -> list[int]:
    return [spent_in_period(wallet.spendings, interval, now) for interval in PERIODS]


def refusal(wallet: Wallet, amount: int, now: Stamp) -> str | None:
    """First the balance, then the tier's limits; all of a limit may be used."""
    if amount > wallet.balance:
        return "insufficient_balance"
    used = [0, *spent(wallet, now)]
    for limit, before in zip(TIERS[wallet.tier], used, strict=True):
        if limit is not None and before + amount > limit:
            return "wallet_limit_exceeded"
    return None


def take(step: Step, account: str, amount: int, details: str) -> Unknown:
    """A payment leaves the wallet; where it cannot, a failed line stays in the history."""
    wallet, now = step.state.wallets[account], step.now
    code = refusal(wallet, amount, now)
    tid, merchant = tid_of(step.call.number), step.state.merchants[step.tenant.merchant].name
    status = "success" if code is None else "failed"
    line = Line(tid, now, "payment", merchant, details, -amount, status)
    wallet = replace(wallet, lines=(*wallet.lines, line))
    if code is None:
        balance, spendings = wallet.balance - amount, (*wallet.spendings, (now, amount))
        wallet = replace(wallet, balance=balance, spendings=spendings)
    step.state.wallets[account] = wallet
    if code is not None:
        raise Refused(code)
    return tid


def give_back(step: Step, payment: Payment, amount: int) -> None:
    """A refund returns the money; what was spent in the periods stays spent."""
    account = payment.payer
    assert account is not None
    wallet = step.state.wallets[account]
    name = step.state.merchants[step.tenant.merchant].name
    details = payment.title or payment.reference
    line = Line(tid_of(step.call.number), step.now, "refund", name, details, amount)
    step.state.wallets[account] = replace(
        wallet, balance=wallet.balance + amount, lines=(*wallet.lines, line)
    )


def set_sandbox_wallet(step: Step) -> Answer:
    """The sandbox's own customer gets the balance and tier that a test needs."""
    wanted = read_fields(step.fields, SANDBOX_WALLET)
    account = f"sandbox of {step.tenant.merchant}"
    wallet = step.state.wallets[account]
    added = wanted.get("balance", wallet.balance) - wallet.balance
    if added:
        tid = tid_of(step.call.number)
        line = Line(tid, step.now, "adjustment", "Adjustment", "Sandbox balance set", added)
        wallet = replace(wallet, balance=wallet.balance + added, lines=(*wallet.lines, line))
    wallet = replace(wallet, tier=wanted.get("tier", wallet.tier))
    step.state.wallets[account] = wallet
    key = Unknown((account, "key"), r"\S+")
    return Answer(200, {"data": {"balance": wallet.balance, "tier": wallet.tier, "api_key": key}})


# The wallet interface, read with the customer's own key.


def read(state: State, call: Call, now: Stamp) -> Answer:
    wallet = state.wallets[call.customer]
    match call.operation:
        case "wallet_balance":
            return _success([_balance(call.customer, wallet)])
        case "wallet_usage":
            return _success(_usage(wallet, now))
    return _transactions(wallet, call)


def _success(data: Any, **more: Any) -> Answer:
    return Answer(200, {"success": True, "data": data, **more})


def _balance(account: str, wallet: Wallet) -> dict[str, Any]:
    return {
        "account_number": Unknown((account, "number"), r"\d+"),
        "currency": "MVR",
        "ledger_balance": Mvr(wallet.balance),
        "available_balance": Mvr(wallet.balance),
        "hold_balance": Mvr(0),
    }


def _mvr(laari: int | None) -> Mvr | None:
    return None if laari is None else Mvr(laari)


def _usage(wallet: Wallet, now: Stamp) -> dict[str, Any]:
    names = ("daily", "weekly", "monthly")
    per_transaction, *limits = TIERS[wallet.tier]
    used = spent(wallet, now)
    left = [
        None if limit is None else Mvr(max(0, limit - before))
        for limit, before in zip(limits, used, strict=True)
    ]
    resets = [shown(next_period(now, interval)) for interval in PERIODS]
    return {
        "tier": wallet.tier,
        "limits": {
            "per_transaction": _mvr(per_transaction),
            **dict(zip(names, map(_mvr, limits), strict=True)),
        },
        "usage": dict(zip(names, map(Mvr, used), strict=True)),
        "remaining": dict(zip(names, left, strict=True)),
        "reset_at": dict(zip(names, resets, strict=True)),
    }


def _transactions(wallet: Wallet, call: Call) -> Answer:
    """Most recently recorded first, from the transaction that the cursor names on."""
    limit, before = call.query.get("limit", 10), call.query.get("before")
    lines = list(reversed(wallet.lines))
    if before is not None:
        places = [place for place, line in enumerate(lines) if line.tid == before]
        if not places:
            error = {"code": "invalid_pagination", "message": ANY_TEXT}
            return Answer(400, {"success": False, "error": error})
        lines = lines[places[0] + 1 :]
    page, more = lines[:limit], len(lines) > limit
    pagination = {"limit": limit, "has_more": more, "next_cursor": page[-1].tid if more else None}
    return _success([_line(line) for line in page], pagination=pagination)


def _line(line: Line) -> dict[str, Any]:
    return {
        "tid": line.tid,
        "time": line.time if line.time is not None else ANY_TEXT,
        "type": line.type,
        "name": line.name,
        "details": line.details,
        "amount": Mvr(line.amount),
        "status": line.status,
    }

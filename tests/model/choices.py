"""What to call next: mostly sensible, often the same again, sometimes wrong.

Everything is drawn from one generator of random numbers, so that a number says which call comes
next.
"""

from collections.abc import Collection, Sequence
from typing import Any

from tests.model.accounts import CLIENTS
from tests.model.contents import Contents
from tests.model.reference import payments
from tests.model.reference.service import OPERATIONS, PAGES
from tests.model.reference.state import Name, State, Tenant
from tests.model.reference.steps import Call, Credential
from tests.model.reference.times import Stamp
from tests.model.reference.unknowns import Unknown

KEYS = ("k1", "k2", "k3", "K1")


class Choices(Contents):
    """Chooses calls for one case."""

    # Who calls, about what.

    def credential(self, state: State, merchant: str) -> Credential:
        kind = self.pick(("key",) * 20 + ("basic",) * 4 + ("token",) * 7 + ("wrong",))
        if kind == "token":
            own = [number for number, it in state.tokens.items() if it.merchant == merchant]
            return Credential("token", self.pick(own[-3:])) if own else Credential()
        return Credential(kind)

    def subject(
        self, state: State, noun: str, tenant: Tenant, likely: Collection[str] = ()
    ) -> Name:
        """Most often one of the tenant's that the call suits; sometimes anybody's, or nobody's."""
        rows = getattr(state, f"{noun}s")
        known = [name for name in rows if name in self.seen]
        if self.sometimes(25):
            return self.pick([*known, (noun, 0)])
        own = [name for name in known if rows[name].tenant == tenant]
        suited = [name for name in own if rows[name].status in likely]
        if suited and not self.sometimes(4):
            return self.pick(suited[-3:])
        return self.pick(own[-6:]) if own else (noun, 0)

    # Calls.

    def next(
        self,
        state: State,
        number: int,
        earlier: Sequence[Call],
        wallets: dict[str, list[Unknown]],
    ) -> Call:
        """A call of some kind; where that kind has nothing to do yet, something is made."""
        match self.random.choices([*KINDS], [*KINDS.values()])[0]:
            case "again":
                call = self.again(number, earlier)
            case "refund":
                call = self.refund(state, number)
            case "wallet_read":
                call = self.wallet_read(number, wallets)
            case "token":
                call = self.token(state, number)
            case "operator":
                call = self.operator(state, number)
            case "get_qr":
                call = self.qr(state, number)
            case kind:
                call = self.call(state, number, self.operation(kind))
        return call or self.call(state, number, self.operation("create"))

    def operation(self, kind: str) -> str:
        return self.pick(OPERATIONS_OF[kind]) if kind in OPERATIONS_OF else kind

    def call(self, state: State, number: int, operation: str) -> Call:
        merchant = self.pick("AAAB")
        tenant = Tenant(merchant, state.merchants[merchant].mode)
        if operation == "charge" and not self.sometimes(5):
            given = [it for it in state.authorizations.values() if it.tenant == tenant]
            if not any(it.status == "active" for it in given):
                operation = "sandbox_approve_authorization" if given else "create_authorization"
        if tenant.mode == "live" and operation in ON_A_PAGE and not self.sometimes(15):
            operation = ON_A_PAGE[operation]
        if operation in PAGES:
            return self.page(state, number, operation)
        known = OPERATIONS[operation]
        subject = None
        if "{}" in known.path:
            noun, likely = _noun_of(operation), LIKELY.get(operation, ())
            subject = self.subject(state, noun, tenant, likely)
            if subject == (noun, 0) and not self.sometimes(8):
                made_by = MADE_BY.get(noun, f"create_{noun}")
                return self.call(state, number, made_by)
        body, query = self.content(state, operation, tenant)
        key = self.pick(KEYS) if known.keyed and self.sometimes(2) else None
        if known.keyed and self.sometimes(60):
            key = self.pick(("k 1", "k" * 256, ""))
        credential = self.credential(state, merchant)
        return Call(number, operation, merchant, credential, subject, body, query, key)

    def qr(self, state: State, number: int) -> Call:
        tenant = Tenant("A", state.merchants["A"].mode)
        name = self.subject(state, "payment", tenant, ("pending",))
        return Call(number, "get_qr", "A", subject=name)

    def again(self, number: int, earlier: Sequence[Call]) -> Call | None:
        """An earlier write once more: as it was, or with another key or operation."""
        writes = [call for call in earlier if call.body is not None and call.key]
        if not writes:
            return None
        call = self.pick(writes[-6:])
        changed = dict(vars(call)) | {"number": number}
        match self.pick(("same", "same", "body", "merchant")):
            case "body":
                changed["body"] = dict(reversed(list((call.body or {}).items())))
            case "merchant":
                changed["merchant"] = "B" if call.merchant == "A" else "A"
                changed["credential"] = Credential()
        return Call(**changed)

    def page(self, state: State, number: int, operation: str) -> Call:
        noun, _ = PAGES[operation]
        rows = getattr(state, f"{noun}s")
        name = self.subject(state, noun, Tenant(self.pick("AAB"), "live"), LIKELY[operation])
        if name not in rows or (noun == "payment" and rows[name].kind != "hosted"):
            return self.call(state, number, f"create_{noun}")  # a charge has no page
        people = [name for name, it in state.wallets.items() if it.mode == "live"]
        own = rows[name].recipient if noun == "request" else getattr(rows[name], "payer", None)
        customer = own if own in people and not self.sometimes(6) else self.pick(people)
        return Call(number, operation, subject=name, customer=customer)

    def token(self, state: State, number: int) -> Call:
        client = CLIENTS[self.pick(("all", "all", "reader", "charger", "refunder", "nothing"))]
        query: dict[str, Any] = {"client": client}
        if self.sometimes(2):
            asked = self.pick((("payments:read",), ("payments:create", "payments:read"), ("x:y",)))
            query["scope"] = asked
        credential = Credential("wrong") if self.sometimes(10) else Credential()
        return Call(number, "issue_token", self.pick("AAB"), credential, query=query)

    def operator(self, state: State, number: int) -> Call:
        for name, merchant in state.merchants.items():
            if not merchant.active:
                return Call(number, "update_merchant", name, query={"active": True})
        mode, fees = self.pick(("live", "sandbox", "sandbox")), self.pick(((0, 50), (333, 0)))
        change = self.pick(
            (
                {"mode": mode},
                {"mode": mode},
                {"fee_bps": fees[0], "fee_fixed": fees[1]},
                {"active": False},
            )
        )
        return Call(number, "update_merchant", self.pick("AAB"), query=change)

    def refund(self, state: State, number: int) -> Call:
        merchant = self.pick("AAAB")
        mode = state.merchants[merchant].mode if not self.sometimes(8) else "live"
        name = self.subject(state, "payment", Tenant(merchant, mode), ("paid",))
        return Call(number, "refund", merchant, subject=name, query={"mode": mode})

    def wallet_read(self, number: int, known: dict[str, list[Unknown]]) -> Call | None:
        """With a key that is known, from a transaction that was seen."""
        if not known:
            return None
        customer = self.pick([*known])
        operation = self.pick(("wallet_balance", "wallet_usage", "wallet_transactions"))
        query: dict[str, Any] = {}
        if operation == "wallet_transactions":
            query["limit"] = self.pick((1, 3, 10, 100))
            seen = known[self.pick([*known]) if self.sometimes(10) else customer]
            if seen and self.sometimes(2):
                query["before"] = self.pick(seen)
        return Call(number, operation, customer=customer, query=query)


# How often each kind of call is made.
KINDS = {
    "create": 18,
    "charge": 16,
    "decide": 24,
    "again": 6,
    "cancel": 4,
    "refund": 2,
    "refund_payment": 7,
    "payout": 5,
    "read": 6,
    "get_qr": 2,
    "list": 9,
    "move_clock": 5,
    "set_wallet": 4,
    "wallet_read": 6,
    "token": 3,
    "operator": 3,
}
_AUTHORIZING = ("sandbox_approve_authorization",) * 5
OPERATIONS_OF: dict[str, tuple[str, ...]] = {
    "create": ("create_payment", "create_request", "create_authorization"),
    "decide": (
        *(name for name in OPERATIONS if name.startswith("sandbox_")),
        *("sandbox_pay_payment", "sandbox_pay_request") * 4,
        "sandbox_reserve_payment",
        "sandbox_reserve_request",
        *_AUTHORIZING,
    ),
    "cancel": ("cancel_payment", "cancel_request", "cancel_authorization"),
    "read": (
        "get_payment",
        "get_request",
        "get_authorization",
        "preview_charge",
        "get_refund",
        "get_balance",
        "get_balance",
    ),
    "payout": ("pay_out", "pay_out", "settle_payout", "return_payout", "get_payout"),
    "list": (
        "list_payments",
        "list_payouts",
        "list_payments",
        "list_requests",
        "list_authorizations",
        "list_charges",
        "list_payment_refunds",
    ),
}
MADE_BY = {"refund": "refund_payment", "payout": "pay_out"}
# In live mode customers decide for themselves, on pages.
ON_A_PAGE = {
    "sandbox_pay_payment": "page_pay",
    "sandbox_reject_payment": "page_decline",
    "sandbox_reserve_payment": "page_pay",
    "sandbox_release_payment": "page_pay",
    "sandbox_pay_request": "app_pay",
    "sandbox_reject_request": "app_reject",
    "sandbox_reserve_request": "app_pay",
    "sandbox_release_request": "app_pay",
    "sandbox_approve_authorization": "page_approve",
    "sandbox_reject_authorization": "page_reject",
    "sandbox_suspend_authorization": "app_pause",
    "sandbox_resume_authorization": "app_resume",
    "move_clock": "app_revoke",
}
# The statuses that a call suits.
LIKELY: dict[str, tuple[str, ...]] = {
    "charge": ("active",),
    "preview_charge": ("active",),
    "list_charges": ("active", "consumed"),
    "refund_payment": ("paid",),
    "list_payment_refunds": ("paid", "refunded"),
    "get_refund": ("made",),
    "settle_payout": ("sent",),
    "return_payout": ("sent", "settled"),
    "cancel_payment": ("pending",),
    "cancel_request": ("pending",),
    "cancel_authorization": ("pending", "active"),
    "app_pause": ("active",),
    "app_resume": ("suspended",),
    "app_revoke": ("active",),
    "sandbox_suspend_authorization": ("active",),
    "sandbox_resume_authorization": ("suspended",),
    **{
        name: ("pending",)
        for name in (*OPERATIONS, *PAGES)
        if name.startswith(("sandbox_pay", "sandbox_re", "sandbox_approve", "page_", "app_pay"))
        and name != "sandbox_resume_authorization"
    },
    "app_reject": ("pending",),
}


def _noun_of(operation: str) -> str:
    if "charge" in operation:
        return "authorization"
    if operation == "get_refund":
        return "refund"
    if operation.endswith("_payout"):
        return "payout"
    return next(noun for noun in ("payment", "request", "authorization") if noun in operation)


def overdue_requests(state: State, now: float) -> list[Name]:
    """What the service's background work would expire at a time of its own choosing."""
    found = []
    for name, request in state.requests.items():
        at = now + state.offset(request.tenant)
        if payments.is_overdue(request, Stamp((), at, at)):
            found.append(name)
    return found

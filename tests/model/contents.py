"""What a call sends: bodies and query strings, most of them valid.

Names and amounts come from small pools, so that references collide and limits are met exactly.
"""

from collections.abc import Container
from datetime import UTC, datetime
from random import Random
from typing import Any

from tests.model.reference.state import Name, State, Tenant
from tests.model.reference.times import HOUR, shown

AMOUNTS = (1, 99, 1_000, 250_000, 500_000, 500_000, 500_000, 500_001, 999_999, 5_000_000, 5_000_001)
BAD_AMOUNTS: tuple[Any, ...] = (0, -1, 10_000_000_000, "500", 500.0, True, None, {}, 10**31)
REFERENCES = (*(f"r{number}" for number in range(1, 13)), " r1 ", "r" * 100)
_SANDBOX_RECIPIENTS = (
    ("vpa", "sandbox"),
    ("vpa", " Sandbox@fahipay"),
    ("email", "Sandbox@laari.test"),
)
MOVES = (0, 1, 5, 19, 24, 25, 24 * 7, 24 * 31, -1, -24, -24 * 9)  # hours
SINCE = (-48, -24, 0, 24)  # hours
_ASKED = ("pending", "pending", "paid", "rejected", "expired", "expired", "cancelled")
STATUSES = {
    "list_payments": (*_ASKED, "refunded"),
    "list_requests": (*_ASKED, "refunded"),
    "list_authorizations": (
        "pending",
        "active",
        "rejected",
        "revoked",
        "expired",
        "cancelled",
        "suspended",
        "consumed",
    ),
    "list_charges": ("paid", "refunded"),
}


class Contents:
    """Chooses what is sent. `begun` is the case's first second, from which deadlines count."""

    def __init__(self, random: Random, begun: float, seen: Container[Name]) -> None:
        self.random = random
        self.pick = random.choice
        self.begun = int(begun)
        self.seen = seen  # whose id is known

    def sometimes(self, one_in: int) -> bool:
        return self.random.randrange(one_in) == 0

    def at(self, state: State, tenant: Tenant, hours: int) -> int:
        """A half hour beside the tenant's time: no clock comes near it during a case."""
        return self.begun + state.offset(tenant) + hours * HOUR + HOUR // 2

    def written(self, second: int) -> str:
        """The same moment, in one of the forms a merchant may write it."""
        utc = datetime.fromtimestamp(second, UTC).isoformat(timespec="seconds")
        local = shown(second)
        forms = (local, utc, utc.replace("+00:00", "Z"), local.removesuffix("+05:00"))
        return self.pick(forms)

    def content(
        self, state: State, operation: str, tenant: Tenant
    ) -> tuple[dict[str, Any] | None, dict[str, Any]]:
        """The body and the query string."""
        if operation == "refund_payment":
            return self.refunded(), {}
        if operation == "list_payouts":
            statuses = ({}, {}, {"status": "sent"}, {"status": "returned"})
            return None, {"limit": self.pick((1, 2, 5, 200)), **self.pick(statuses)}
        if operation == "list_payment_refunds":
            return None, {"limit": self.pick((1, 2, 5, 200))}
        if operation.startswith("create_") or operation == "charge":
            return self.body(state, operation, tenant), {}
        if operation == "set_wallet":
            return self.wallet(), {}
        if operation == "move_clock":
            return self.move(), {}
        if operation.startswith("list_"):
            return None, self.filters(state, operation, tenant)
        if operation == "preview_charge":
            return None, {"amount": self.pick(AMOUNTS)}
        return None, {}

    def refunded(self) -> dict[str, Any]:
        """Parts that often add up to all of it, and often to more."""
        body: dict[str, Any] = {}
        if not self.sometimes(3):
            body["amount"] = self.amount()
        if self.sometimes(3):
            reasons = ("requested_by_customer", "duplicate", "fraudulent", "other", "why not", None)
            body["reason"] = self.pick(reasons)
        if self.sometimes(4):
            body["note"] = self.pick(("Cold tea", "  Cold ", "", None, "N" * 500, "N" * 501, 5))
        if self.sometimes(40):
            body["currency"] = "MVR"
        return body

    def move(self) -> dict[str, Any]:
        if self.sometimes(8):
            return self.pick(({"reset": True}, {}, {"reset": True, "advance_seconds": 0}))
        return {"advance_seconds": self.pick(MOVES) * HOUR}

    def wallet(self) -> dict[str, Any]:
        body: dict[str, Any] = {}
        if self.sometimes(2):
            body["balance"] = self.pick((0, 500_000, 1_000_000, 3_000_001, 100_000_000, -5))
        if self.sometimes(2):
            body["tier"] = self.pick(("basic", "basic", "verified", "business", "gold"))
        return body

    def filters(self, state: State, operation: str, tenant: Tenant) -> dict[str, Any]:
        query: dict[str, Any] = {}
        if not self.sometimes(4):
            query["limit"] = self.pick((1, 2, 3, 5, 0, 200))
        if self.sometimes(2):
            query["status"] = self.pick(STATUSES[operation])
        if operation != "list_authorizations":
            if operation != "list_charges" and self.sometimes(4):
                query["terminal_label"] = self.pick(("T1", "T2", "t1"))
            if self.sometimes(5):
                query["bill_number"] = self.pick(("0017", "17"))
            if operation == "list_payments" and self.sometimes(5):
                query["reference"] = self.pick((*REFERENCES, "", " \u200b")).strip()
            for bound in ("created_from", "created_to"):
                if self.sometimes(6):
                    query[bound] = self.at(state, tenant, self.pick(SINCE))
        if state.cursors and self.sometimes(2):
            query["after"] = self.pick([*state.cursors][-3:])
        return query

    def amount(self) -> Any:
        return self.pick(BAD_AMOUNTS) if self.sometimes(25) else self.pick(AMOUNTS)

    def texts(self, *names: str) -> dict[str, Any]:
        pools: dict[str, tuple[Any, ...]] = {
            "title": ("Tea", "  Tea ", "", "\u200b", None, "T" * 255, "T" * 256, 5),
            "description": ("Long", None, "D" * 501),
            "terminal_label": ("T1", "T2", " T1 ", "t1", "", "12345678901"),
            "bill_number": ("0017", "17", "B/2", " 0017", "no#"),
            "return_url": (
                "https://shop.example/back",
                "",
                "ftp://shop.example",
                "https://a@b/",
                "http://.",
                "https://%00.example",
            ),
        }
        sent = {}
        for name in names:
            if self.sometimes(4):
                good = pools[name][:2]
                sent[name] = self.pick(pools[name] if self.sometimes(5) else good)
        return sent

    def deadline(self, state: State, tenant: Tenant) -> dict[str, Any]:
        if not self.sometimes(3):
            return {}
        if self.sometimes(6):
            return {"expires_at": self.pick((None, "soon", 7, "2026-02-30"))}
        return {"expires_at": self.written(self.at(state, tenant, self.pick((-3, 0, 2, 6, 40))))}

    def body(self, state: State, operation: str, tenant: Tenant) -> dict[str, Any]:
        common = ("title", "description", "bill_number")
        hosted = (*common, "terminal_label", "return_url")
        match operation:
            case "create_payment":
                body = self._asked() | self.texts(*hosted) | self.deadline(state, tenant)
                if self.sometimes(5):
                    body["metadata"] = self.pick(({"a": "1"}, {}, {"k": " v "}, {"n": 1}, None))
            case "create_request":
                body = self._asked() | self.texts(*hosted) | self.deadline(state, tenant)
                body["customer"] = self.recipient(state, tenant)
            case "create_authorization":
                body = self._authorization() | self.deadline(state, tenant)
            case _:
                body = self._asked() | self.texts(*common)
        if self.sometimes(40):
            body[self.pick(("currency", "Amount", "expires"))] = "MVR"
        if self.sometimes(40):
            body.pop(self.pick(sorted(body)))
        return body

    def _asked(self) -> dict[str, Any]:
        reference: Any = self.pick(REFERENCES)
        if self.sometimes(30):
            reference = self.pick(("", "  ", " \u200b", "r" * 101, None, 7))
        return {"reference": reference, "amount": self.amount()}

    def _authorization(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "reference": self.pick(("a1", "a2", "a3", "a4", "r1")),
            "title": self.pick(("Box", " Box ", "Tab")),
            **self.texts("description", "return_url"),
        }
        if self.sometimes(2):
            body["type"] = self.pick(("recurring", "unscheduled", "one_time", None))
        if not self.sometimes(3):
            body["limits"] = self.limits()
        if self.sometimes(25):
            body["limits"] = self.pick((None, {"total": 0}, {"period": {"amount": 5}}, 7, {"x": 1}))
        return body

    def limits(self) -> dict[str, Any]:
        limits: dict[str, Any] = {}
        if self.sometimes(3):
            limits["per_payment"] = self.pick((500_000, 1_000, 10**18 - 1))
        if self.sometimes(2):
            interval = self.pick(("day", "week", "month", "year"))
            amount = self.pick((500_000, 1_000_000, 1_000_001, None))
            limits["period"] = {"interval": interval, "amount": amount}
        if self.sometimes(3):
            limits["total"] = self.pick((1_000_000, 1_500_000))
        if self.sometimes(3):
            limits["max_payments"] = self.pick((1, 1, 2, 3))
        return limits

    def recipient(self, state: State, tenant: Tenant) -> Any:
        if tenant.mode == "sandbox" and not self.sometimes(10):
            forms = (
                ("vpa", "sandbox"),
                ("vpa", "Sandbox@fahipay"),
                ("email", "Sandbox@laari.test"),
            )
            kind, value = self.pick(forms)
            return {"type": kind, "value": value}
        person = self.pick([name for name, it in state.wallets.items() if it.mode == "live"])
        kind = self.pick(("mobile", "email", "vpa"))
        value = state.wallets[person].contacts[kind]
        if kind == "vpa":
            value = self.pick((value, f" {value.upper()}@fp", f"{value}@bank"))
        if kind == "mobile":
            value = self.pick((value, f"+960 {value}", "7"))
        if self.sometimes(10):
            value = self.pick((f"x{value.strip()}", "9990001", "nobody", "nobody@example.mv"))
        return {"type": kind, "value": value}

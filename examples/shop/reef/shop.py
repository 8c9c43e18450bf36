"""What the shop does with Laari: nothing here knows about pages.

Each step writes to the shop's database first, then calls Laari under a reference from there. So a
step that was interrupted, or a customer who presses twice, comes to the same payment.
"""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from laari_client import Laari, errors, verify_webhook
from reef import store
from reef.store import Database, Member, Order

# Prices in laari: 125000 is MVR 1,250.00. They never come from the customer's browser.
PRODUCTS = {
    "reef-dive": ("Guided reef dive", 125000),
    "night-dive": ("Night dive", 150000),
    "snorkel": ("Snorkelling set for a day", 20000),
}
CLUB_TITLE = "Reef Club membership"
CLUB_FEE = 15000  # laari a month

ENDED_PAYMENTS = {"rejected", "expired", "cancelled", "refunded"}
MEMBER_STATES = {"pending": "waiting", "active": "active", "suspended": "active"}


class Settings(NamedTuple):
    laari_url: str
    secret_key: str
    shop_url: str  # where customers reach this shop
    database: Path
    mode: str = "sandbox"  # of the events that count: "active" when the shop is live


def settings_from_environment() -> Settings:
    return Settings(
        os.environ.get("LAARI_URL", "http://127.0.0.1:8000"),
        os.environ["LAARI_SECRET_KEY"],
        os.environ.get("SHOP_URL", "http://127.0.0.1:5000"),
        Path(os.environ.get("SHOP_DATABASE", "reef.db")),
        os.environ.get("SHOP_MODE", "sandbox"),
    )


class Shop:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.database = Database(settings.database)
        self.laari = Laari(settings.laari_url, settings.secret_key)

    # Orders

    def order(self, product: str) -> Order:
        _, price = PRODUCTS[product]
        with self.database.transaction() as db:
            return store.new_order(db, product, price)

    def checkout(self, order: Order) -> str:
        """Where the customer pays the order's current attempt. Calling it again is harmless."""
        title, _ = PRODUCTS[order.product]
        payment = self.laari.payments.create(
            reference=order.reference,
            amount=order.amount,
            title=title,
            return_url=f"{self.settings.shop_url}/orders/{order.token}",
            metadata={"order": str(order.number)},
        )
        with self.database.transaction() as db:
            store.remember_payment(db, order.reference, payment.id)
        return payment.payment_url

    def try_again(self, token: str) -> Order | None:
        with self.database.transaction() as db:
            return store.try_again(db, token)

    def looked_up(self, token: str) -> tuple[Order, str | None] | None:
        """An order and its voucher; while it waits, Laari is asked what became of the payment."""
        with self.database.transaction() as db:
            found = store.order(db, token)
        if found is None:
            return None
        if found.state == "waiting" and found.payment is not None:
            self._settle(self.laari.payments.get(found.payment))
        with self.database.transaction() as db:
            found = store.order(db, token)
            assert found is not None
            return found, store.voucher(db, found.number)

    def reconcile(self) -> None:
        """Asks after every order that waits: for events that never came."""
        with self.database.transaction() as db:
            waiting = store.waiting_orders(db)
        for order in waiting:
            if order.payment is not None:
                self._settle(self.laari.payments.get(order.payment))

    def _settle(self, payment: Any) -> None:
        with self.database.transaction() as db:
            _settle_payment(db, payment)

    # The club

    def join(self) -> tuple[Member, str]:
        """A new member, and where the customer approves the monthly fee."""
        with self.database.transaction() as db:
            member = store.new_member(db)
        authorization = self.laari.authorizations.create(
            reference=member.reference,
            title=CLUB_TITLE,
            type="recurring",
            limits={
                "per_payment": CLUB_FEE,
                "period": {"interval": "month", "amount": CLUB_FEE},
            },
            return_url=f"{self.settings.shop_url}/members/{member.token}",
        )
        with self.database.transaction() as db:
            store.remember_authorization(db, member.reference, authorization.id)
        return member, authorization.approval_url

    def member(self, token: str) -> tuple[Member, dict[str, str]] | None:
        """A member and the fees; while the approval waits, Laari is asked."""
        with self.database.transaction() as db:
            found = store.member(db, token)
        if found is None:
            return None
        if found.state == "waiting" and found.authorization is not None:
            self._follow(self.laari.authorizations.get(found.authorization))
        with self.database.transaction() as db:
            found = store.member(db, token)
            assert found is not None
            return found, store.fees(db, found.number)

    def leave(self, token: str) -> None:
        with self.database.transaction() as db:
            found = store.member(db, token)
        if found is not None and found.authorization is not None:
            self._follow(self.laari.authorizations.cancel(found.authorization))

    def charge_members(self, today: date) -> dict[int, str]:
        """Takes the month's fee from everyone who owes it; what became of each.

        Run it every day. The reference names the month: however often it runs, also twice at once,
        a member pays once.
        """
        month = f"{today:%Y-%m}"
        with self.database.transaction() as db:
            members = store.owing(db, month)
        return {member.number: self._charge(member, month) for member in members}

    def _charge(self, member: Member, month: str) -> str:
        assert member.authorization is not None
        outcome = "paid"
        try:
            self.laari.authorizations.charge(
                member.authorization,
                reference=f"{member.reference}-{month}",
                amount=CLUB_FEE,
                title=f"{CLUB_TITLE}, {month}",
            )
        except (errors.AuthorizationInactiveError, errors.AuthorizationExpiredError) as error:
            outcome = error.code
            self._follow(self.laari.authorizations.get(member.authorization))
        except (errors.InsufficientBalanceError, errors.WalletLimitExceededError) as error:
            outcome = error.code  # tomorrow's run tries again
        with self.database.transaction() as db:
            store.record_fee(db, member.number, month, outcome)
        return outcome

    def _follow(self, authorization: Any) -> None:
        with self.database.transaction() as db:
            _follow_authorization(db, authorization)

    # Webhooks

    def take_event(self, body: bytes, signature: str | None) -> None:
        """Does what a genuine event asks for, once; raises `WebhookVerificationError` otherwise."""
        event = verify_webhook(body, signature, self.settings.secret_key)
        if event.mode != self.settings.mode:
            return  # play money does not buy a dive
        with self.database.transaction() as db:  # remembered if and only if it had its effect
            if not store.is_new(db, event.id):
                return
            if event.type.startswith("payment."):
                _settle_payment(db, event.data)
            elif event.type.startswith("authorization."):
                _follow_authorization(db, event.data)


def _settle_payment(db: Any, payment: Any) -> None:
    """From an event or from asking: whichever comes first does the work."""
    if payment.status == "paid":
        store.pay(db, payment.reference, payment.amount)
    elif payment.status in ENDED_PAYMENTS:
        store.end_order(db, payment.reference)


def _follow_authorization(db: Any, authorization: Any) -> None:
    state = MEMBER_STATES.get(authorization.status, "ended")
    if state != "waiting":  # an event of its creation may come after that of its approval
        store.set_member(db, authorization.reference, state)

"""A request of a customer who is logged in to the wallet application."""

import re
from typing import TypeVar
from urllib.parse import quote

from laari.edge.pages.decisions import DecisionRequest
from laari.edge.pages.language import LANGUAGES
from laari.edge.pages.login import is_fresh
from laari.edge.pages.request import Access, PageRequest
from laari.edge.resources import Resource
from laari.http.messages import Reply
from laari.rules.actors import Actor, themselves
from laari.rules.records.authorizations import Authorization
from laari.rules.records.payments import PaymentRequest
from laari.store.counters.sessions import CustomerSession
from laari.store.reads.listing import Position

PAGE = 20  # rows of a list
SIGN_UP = "/app/signup"
PASSWORD = "/app/password"  # noqa: S105  # the page that changes it

_PAYING = re.compile(r"/(pay|approve)/[A-Za-z0-9_-]{1,100}", re.ASCII)

W = TypeVar("W", PaymentRequest, Authorization)


class WalletVisitor(PageRequest):
    """Anybody at the door of the wallet application."""

    prefix = "/app"
    folders = ("app/",)

    @property
    def wanted(self) -> str:
        """Also the payment or approval from which a customer came."""
        return self.paying or super().wanted

    @property
    def paying(self) -> str | None:
        """The page of a payment or an approval to which the customer wants to come back."""
        page = (self.form or self.query).get("next", "")
        return page if _PAYING.fullmatch(page) else None

    def with_next(self, page: str) -> str:
        """The address of a page that leads back to the payment too."""
        return page if self.paying is None else f"{page}?next={self.paying}"


class WalletRequest(WalletVisitor):
    """Its pages are in the customer's language."""

    customer: CustomerSession

    async def enter(self, access: Access) -> Reply | None:
        """Redirects to the log-in, or to a password change that the operator requires."""
        customer = await self.find_customer(polled=access.polled)
        if customer is None:
            wanted = self.path if self.http.method != "POST" else self.home
            return self.go(f"/app/login?next={quote(wanted)}")
        self.customer = customer
        self.language = LANGUAGES[customer.language]
        return self.go(PASSWORD) if customer.must_change and not access.own else None

    @property
    def actor(self) -> Actor:
        return themselves(self.customer.customer_id, self.http.client)

    @property
    def file_owner(self) -> int:
        return self.customer.account

    async def may_still_export(self) -> bool:
        return await self.find_customer(polled=True) is not None

    @property
    def minimum(self) -> int | None:
        """The smallest withdrawal; None if this customer cannot withdraw here."""
        return self.backend.settings.withdrawal_minimum if self.customer.mode == "live" else None

    @property
    def section(self) -> str:
        """The current entry of the menu; keys belong to the account."""
        if self.path.startswith("/app/keys"):
            return PASSWORD
        return "/".join(self.path.split("/")[:3])

    @property
    def asks_password(self) -> bool:
        """Whether payments and credentials need the password again."""
        return not is_fresh(self, self.customer)

    @property
    def confirms_by_passkey(self) -> bool:
        """Whether a passkey does instead."""
        is_possible = self.customer.has_passkey and self.backend.party is not None
        return is_possible and self.asks_password

    # Lists: an older page begins after a sealed place.

    def read_place(self, listing: str) -> Position | None:
        after = self.query.get("after", "")
        place = self.backend.cursors.read(listing, self.customer.account, after)
        return None if place is None else Position(*place)

    def older(self, listing: str, place: Position | None) -> str | None:
        """The address of the page that begins after this place."""
        if place is None:
            return None
        cursor = self.backend.cursors.make(listing, self.customer.account, *place)
        return f"{self.path}?after={cursor}"


class OwnRequest(DecisionRequest[W], WalletRequest):
    """A request about one resource of the customer; the resources of others do not exist."""

    resource: Resource[W]

    async def find_row(self) -> W | None:
        row = await self.resource.find(self.backend, self.params["id"])
        return row if row is not None and row.account == self.customer.account else None

    @property
    def address(self) -> str:
        return f"{self.section}/{self.params['id']}"

    async def decider(self) -> CustomerSession:
        return self.customer

    def no_such_page(self, status: int = 404) -> Reply:
        return self.refusal(status, "not_found", back=self.section)

"""A request of one of a merchant's people.

Its address has the merchant and the mode, so tabs are independent.
"""

from collections.abc import Hashable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import ClassVar, TypeVar

from laari.edge.load.heavy import Line
from laari.edge.merchant.operations import Caller, Context, Write
from laari.edge.pages.person import ACCOUNT, OWN_DONE, PersonRequest, PersonVisitor, in_words
from laari.edge.pages.request import Access, RefusedForm
from laari.http.messages import Reply
from laari.operations import applications, clients, merchant_people
from laari.operations.merchant_money import ADD_BANK
from laari.operations.merchants import END_OLD_KEY, RENAME, SET_MODE, SET_WEBHOOK
from laari.rules.people.permissions import Permission, may
from laari.rules.records.tenants import Mode, Tenant, local_time
from laari.rules.refusals import Refusal
from laari.store.counters import sessions
from laari.store.counters.sessions import PersonSession
from laari.store.merchants import merchants
from laari.store.merchants.merchants import Merchant
from laari.store.reads import tenants
from laari.store.reads.people import memberships
from laari.store.reads.people.memberships import Place

B = TypeVar("B")
T = TypeVar("T")

HOME = "/dashboard"
FORGOTTEN = f"{HOME}/forgotten"
SIGN_UP = f"{HOME}/signup"
NOTHING: Mapping[str, object] = MappingProxyType({})  # the fields of an operation without fields
NO_NAMES: Mapping[str, str] = MappingProxyType({})
MODES: dict[str, Mode] = {"live": "live", "sandbox": "sandbox"}

_DECLARED = (
    RENAME,
    SET_MODE,
    SET_WEBHOOK,
    END_OLD_KEY,
    clients.REVOKE,
    applications.SUBMIT,
    applications.WITHDRAW,
    ADD_BANK,
    merchant_people.SET_ROLE,
    merchant_people.REMOVE,
    merchant_people.WITHDRAW_INVITATION,
)
# The texts for `?done=…` after a form: the address itself is never shown.
DONE = {
    **OWN_DONE,
    **{each.name: each.done for each in _DECLARED},
    "cancelled": "Cancelled.",
    "created": "The payment link is ready.",
    "asked": "The request is sent. It is in the customer's wallet.",
    "offered": "The authorization is ready. Let the customer scan the code or open the link.",
    "charged": "Charged. The money is in your balance.",
    "refunded": "Refunded. The money is back in the wallet that paid.",
    "payout": "The payout is requested.",
    "closed": "The till is closed. Print this page if you need it on paper.",
    "closed_already": "The till was closed already: this is the closing.",
    "till": "The till was created. Pair a device with it, or print its code.",
    "till_active": "The till is active.",
    "till_inactive": "The till is not active. Its devices have ended; its code takes no payments.",
    "link": "The link is ready. Send it, or print its code.",
    "link_ended": "The link has ended. It takes no more payments.",
    "device": "The device has ended. It can do nothing more.",
    "controlled": "Done, as the sandbox customer.",
    "resent": "The event is being sent again.",
    "resent_all": "The events are being sent again.",
    "tested": "A sample event is being sent. Reload in a moment to see the response.",
    "wallet": "The sandbox customer's wallet is set.",
    "clock": "The sandbox's clock is set.",
    "invited": "The invitation is being sent.",
    "sessions": "All sessions of this person have ended here. Other merchants are not affected.",
    "transferred": "The ownership is transferred.",
    "required": "The setting is saved.",
}
# The tabs of the dashboard: address, name, and the permission that shows it.
TABS: tuple[tuple[str, str, Permission], ...] = (
    ("", "Overview", "payments.read"),
    ("/counter", "Counter", "payments.create"),
    ("/payments", "Payments", "payments.read"),
    ("/requests", "Requests", "payments.read"),
    ("/authorizations", "Authorizations", "authorizations.read"),
    ("/tills", "Tills", "payments.read"),
    ("/money", "Money", "money.read"),
    ("/webhooks", "Webhooks", "webhooks.read"),
    ("/keys", "Keys", "keys.manage"),
    ("/people", "People", "people.manage"),
    ("/journal", "Journal", "journal.read"),
    ("/sandbox", "Sandbox", "sandbox.control"),
)
_CLOCK_UNITS = (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))


class DashboardVisitor(PersonVisitor):
    """Anybody at the door of the dashboard."""

    prefix = HOME
    folders: ClassVar[tuple[str, ...]] = ("dashboard/", "person/")
    session_cookie = "laari-dashboard"
    place = "the dashboard"
    password_page = f"{HOME}/live{ACCOUNT}"

    @property
    def signup(self) -> str | None:
        return SIGN_UP if self.backend.settings.sandbox_signup else None

    async def merchants_of(self, person: PersonSession) -> dict[str, Place]:
        """The memberships by merchant; the operator has pages of its own."""
        every = await self.backend.ask(memberships.of_person, person.whose)
        return {each.merchant_id: each for each in every if each.merchant_id is not None}

    async def first_merchant(self, person: PersonSession) -> Merchant | None:
        """The merchant of the person's last visit, or else the first of their merchants."""
        found = await self.merchants_of(person)
        if not found:
            return None
        last = person.merchant_id
        merchant_id = last if last is not None and last in found else next(iter(found))
        return await self.backend.ask(merchants.show, merchant_id)


class DashboardRequest(PersonRequest, DashboardVisitor):
    prefix = f"{HOME}/{{merchant}}/{{mode}}"
    actor_kind = "person"
    texts = DONE
    gets_messages = True
    memberships: dict[str, Place]  # of this person, by merchant
    merchant: Merchant
    tenant: Tenant
    tenant_now: datetime  # on the merchant's clock

    async def enter(self, access: Access) -> Reply | None:
        """Redirects to the log-in, or to a password change that the operator requires.

        A merchant of other people does not exist for this person. A role without the permission
        is refused. People of an inactive merchant may read the pages, and change or take away
        nothing.
        """
        mode = MODES.get(self.params["mode"])
        if mode is None:
            return self.no_such_page()
        stopped = await self.open(self.params["merchant"], mode, polled=access.polled)
        stopped = stopped or self.check(access)
        if stopped is None and mode == "sandbox" and self.only_sells and self.merchant.has_live:
            return self.go(self.other_mode)  # nobody can pay the codes of a sandbox
        if stopped is not None or access.own or self.merchant.active:
            return stopped
        changes = self.http.method == "POST" or access.hands_out
        return self.page("inactive.html", 403) if changes else None

    async def open(self, merchant_id: str, mode: Mode, *, polled: bool = False) -> Reply | None:
        """Looks up the person, the merchant and its tenant in this mode."""
        person = await self.find_person()
        if person is None:
            return await self.to_login()
        self.memberships = await self.merchants_of(person)
        if merchant_id not in self.memberships:
            return self.no_such_page()
        if merchant_id in person.ended_for:
            return await self.to_login()
        self.person, self.membership = person, self.memberships[merchant_id]
        self.merchant = await self.backend.ask(merchants.show, merchant_id)
        if not polled and (self.is_unseen(person) or person.merchant_id != self.merchant.id):
            await self.note_seen(sessions.note_seen_at, person, self.now, self.merchant.id)
        if mode == "live" and not self.merchant.has_live:
            return self.go(home_of(self.merchant.id, "sandbox"))
        self.tenant = await self.backend.ask(tenants.of_merchant, self.merchant.id, mode)
        self.tenant_now = local_time(self.now, self.tenant)
        return None

    @property
    def line(self) -> Line:
        return self.backend.heavy.merchants

    @property
    def turn_of(self) -> Hashable:
        return self.merchant.id

    @property
    def root(self) -> str:
        return home_of(self.merchant.id, self.tenant.mode)

    @property
    def employer(self) -> str:
        return self.merchant.name

    @property
    def requires_factor(self) -> bool:
        return self.merchant.requires_factor

    @property
    def file_owner(self) -> str:
        return self.merchant.id

    async def may_still_export(self) -> bool:
        return await self.still_may("exports.read")

    async def still_may(self, permission: Permission) -> bool:
        """Asks the database again, for work that takes long.

        The person may have been removed or logged out meanwhile.
        """
        role = await self.backend.ask(
            memberships.role_in_session, self.person.digest, self.merchant.id
        )
        return role is not None and may(role, permission)

    @property
    def till(self) -> str | None:
        """The only till whose payments the person sees; None for all of them."""
        return self.membership.till

    @property
    def only_sells(self) -> bool:
        """Whether pages are for a counter: without modes, fees and what only programs need."""
        return not self.may("money.read")

    @property
    def tabs(self) -> list[tuple[str, str]]:
        """The tabs for this person's role; live mode has no sandbox controls."""
        hidden = {"/sandbox"} if self.tenant.mode == "live" else set()
        if self.till is None:
            hidden.add("/counter")
        return [
            (rest, name)
            for rest, name, permission in TABS
            if self.may(permission) and rest not in hidden
        ]

    @property
    def moved_clock(self) -> str | None:
        """How far the sandbox's clock is from real time; None if it shows real time."""
        seconds = self.tenant.clock_offset_seconds
        return clock_words(seconds) if seconds else None

    def home_at(self, merchant_id: str) -> str:
        """The overview of another merchant of this person, in this mode."""
        return home_of(merchant_id, self.tenant.mode)

    @property
    def other_mode(self) -> str:
        """The same section in the other mode; a resource exists in one mode only."""
        other = "sandbox" if self.tenant.mode == "live" else "live"
        section = self.path.split("/")[4:5]
        home = home_of(self.merchant.id, other)
        return "/".join([home, *(section if section != ["sandbox"] else [])])

    @property
    def resource_path(self) -> str:
        """The page of the resource in the address, for `url`."""
        return "/".join(["", *self.path.split("/")[4:6]])

    async def run(
        self,
        operation: Write[B, T],
        source: Mapping[str, object] = NOTHING,
        names: Mapping[str, str] = NO_NAMES,
    ) -> T:
        """Runs an operation of the merchant API on the resource in the address.

        A refusal names fields as the form does, by these `names`.
        """
        caller = Caller(self.tenant, None, lambda: self.actor)
        context = Context(self.backend, caller, self.params.get("id", ""))
        outcome = await operation.run(context, source)
        if isinstance(outcome, Refusal):
            raise RefusedForm.of(in_words(outcome, names))
        return outcome

    @property
    def asks_password(self) -> bool:
        """Whether credentials and actions without an undo need the password again.

        With a second factor, they always do if the merchant has a live side. Its people and keys
        are the same in both modes, and the mode of the credentials can be changed later.
        """
        return super().asks_password or (self.person.has_factor and self.merchant.has_live)


def home_of(merchant_id: str, mode: str) -> str:
    return f"{HOME}/{merchant_id}/{mode}"


def clock_words(seconds: int) -> str:
    """`3 days ahead` or `1 hour and 5 minutes behind`, with at most two units."""
    left, parts = abs(seconds), list[str]()
    for name, size in _CLOCK_UNITS:
        number, left = divmod(left, size)
        if number:
            parts.append(f"{number:,} {name}{'' if number == 1 else 's'}")
    return f"{' and '.join(parts[:2])} {'ahead' if seconds > 0 else 'behind'}"

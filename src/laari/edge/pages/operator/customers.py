"""The page of a customer: wallet, limits, history, requests, authorizations, sessions, notes."""

import hmac
import secrets
from collections.abc import Callable
from typing import NamedTuple

from laari.edge.pages.operator.forms import form
from laari.edge.pages.operator.request import OperatorRequest, Subject, hand_over_link
from laari.edge.pages.person import long
from laari.edge.pages.render import short_day
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.routes import PageRoute, Routes
from laari.edge.pages.wallet.home import usage_of
from laari.http.messages import Reply
from laari.operations import customers as operations
from laari.rules import ids
from laari.rules.banking.bank_accounts import masked
from laari.rules.calendar import local_day
from laari.rules.lifecycle import shown_state
from laari.rules.money import rufiyaa
from laari.rules.people.contact_changes import not_confirmer
from laari.rules.people.customers import AddNote
from laari.rules.people.identities import DOCUMENTS, FACTS, Identity
from laari.rules.records.people import ContactChange, CustomerId
from laari.rules.records.tenants import local_time
from laari.rules.records.wallets import Transaction
from laari.rules.wallets import counted
from laari.store.counters import failed_logins
from laari.store.counters.sessions import list_of
from laari.store.reads import authorizations, contact_changes, holders, payment_requests, wallets
from laari.store.reads.find import tenant_names
from laari.store.reads.holders import Holder
from laari.store.reads.listing import Window
from laari.store.reads.money import payouts
from laari.store.reads.people import cases, customers, passkeys, remembered_devices, trusted
from laari.store.reads.tiers import all_tiers
from laari.store.secrets import derive

LINES = 25  # of history
ROWS = 10  # of requests, authorizations and cases
NOTES = 50
CHANGES = 10  # of contacts
ASKED = 2  # facts to ask a caller for


async def _find(request: OperatorRequest) -> Holder | None:
    customer_id = ids.read_id(ids.CUSTOMER, request.params["id"])
    if customer_id is None:
        return None
    return await request.backend.ask(holders.by_customer, customer_id)


@long
async def show_page(
    request: OperatorRequest, holder: Holder, identity: Identity | None = None
) -> Reply:
    """`identity` only in the answer to the form that asks for it."""
    backend, account = request.backend, holder.account
    status = await backend.wallets.get(account)
    assert status is not None  # a customer has a wallet, and wallets stay
    now = local_time(request.now, status.clock)
    moment = await backend.moment(status.wallet.mode, status.clock, now, counted(status.wallet))
    before = request.query.get("before")
    history = None
    if before is None or ids.is_tid(before):
        history = await backend.ask(wallets.history, account, before, LINES)
    if history is None:
        return request.missing()
    newest = history[0]
    if before is not None:
        first = await backend.ask(wallets.history, account, None, LINES)
        newest = [] if first is None else first[0]
    asked = await backend.page(payment_requests.of_account(account, Window(ROWS), waiting=True))
    ended = await backend.page(payment_requests.of_account(account, Window(ROWS), waiting=False))
    given = await backend.page(authorizations.of_account(account, Window(ROWS)))
    wanted = {each.tenant_id for each in (*asked.rows, *ended.rows)}
    wanted |= {each.tenant_id for each in given.rows}
    tenants = await backend.ask(tenant_names, wanted)
    shops = [
        tenants[each.tenant_id].merchant_name for each in given.rows if each.status == "active"
    ]
    return await request.long_page(
        "customer.html",
        holder=holder,
        status=status,
        usage=usage_of(status, moment),
        transactions=history[0],
        older=history[0][-1].tid if history[1] else None,
        requests=[*asked.rows, *ended.rows],
        authorizations=given.rows,
        tenants=tenants,
        sessions=await backend.ask(list_of, CustomerId(holder.customer_id), request.now, b""),
        failed=await backend.ask(failed_logins.last_of, CustomerId(holder.customer_id)),
        passkeys=await backend.ask(passkeys.of_customer, holder.customer_id),
        devices=await backend.ask(remembered_devices.of_customer, holder.customer_id, request.now),
        trust=await backend.ask(trusted.of_customer, holder.customer_id, request.now),
        trusting=await backend.ask(trusted.trusting, holder.customer_id, request.now),
        notes=await backend.ask(customers.notes, holder.customer_id, NOTES),
        cases=await backend.ask(cases.of_customer, holder.customer_id, ROWS),
        contact_changes=await backend.ask(contact_changes.of_customer, holder.customer_id, CHANGES),
        channels=backend.settings.channels,
        barred=await _barred(request, holder),
        freezes=await backend.ask(holders.freezes, account),
        tiers=sorted(await backend.ask(all_tiers)),
        state_of=shown_state,
        call=_call(request, holder, newest, shops),
        facts=FACTS,
        withdrawals=await backend.ask(payouts.of_wallet, account, ROWS),
        bank_accounts=(await backend.ask(payouts.bank_accounts, [account]))[account],
        masked=masked,
        tid_of_page=before,
        identity=identity,
        identity_since=await backend.ask(customers.identity_since, holder.customer_id),
        documents=DOCUMENTS,
    )


async def _barred(
    request: OperatorRequest, holder: Holder
) -> Callable[[ContactChange], str | None]:
    """Why this person does not confirm a change of a contact."""
    helps, settings = await request.helps(), request.backend.settings

    def reason(change: ContactChange) -> str | None:
        if settings.second_operator_above is None:
            return None
        actor, channels = request.actor, settings.channels
        return not_confirmer(holder, change, actor, helps, request.now, channels=channels)

    return reason


class Call(NamedTuple):
    """Facts to ask a caller for, and a proof that the server chose them for this customer."""

    facts: list[tuple[str, str]]  # question and answer
    asked: str  # the questions, as a note keeps them
    seal: str
    is_weak: bool  # a thief with the customer's phone knows an answer


def _call(
    request: OperatorRequest, holder: Holder, history: list[Transaction], shops: list[str]
) -> Call:
    """Two facts, chosen at random for each call: those on a stolen phone only if others lack.

    `history` are the newest lines, and `shops` those with an authorization that is active.
    """
    known = _own_facts(holder, history, shops)
    on_phone = [
        ("the mobile number", holder.mobile),
        ("the virtual payment address", holder.vpa),
        ("the last digits of the account number", str(holder.account)[-4:]),
    ]
    is_weak = len(known) < ASKED
    if is_weak:
        known += [(question, answer) for question, answer in on_phone if answer is not None]
    chosen = secrets.SystemRandom().sample(known, min(ASKED, len(known)))
    asked = "asked for " + " and ".join(question for question, _ in chosen)
    return Call(chosen, asked, _seal(request, holder, asked), is_weak)


def _own_facts(
    holder: Holder, history: list[Transaction], shops: list[str]
) -> list[tuple[str, str]]:
    """What the customer knows without the phone."""
    done = [line for line in history if line.status == "success"]
    facts = [] if holder.email is None else [("the email address", holder.email)]
    paid = [line for line in done if line.type == "payment"]
    if paid:
        facts.append(("the shop of the last payment", paid[0].name))
    added = [line for line in done if line.type == "topup"]
    if added:
        last = f"MVR {rufiyaa(added[0].amount)}, {short_day(local_day(added[0].time))}"
        facts.append(("the amount and day of the last top-up", last))
    if shops:
        names = " or ".join(dict.fromkeys(shops))
        facts.append(("a shop that may charge the wallet", names))
    return facts


def _seal(request: OperatorRequest, holder: Holder, asked: str) -> str:
    """Bound to the session: an operator cannot write other questions into the note."""
    value = f"{request.person.digest.hex()} {holder.customer_id} {asked}"
    return derive(request.backend.master_key, "caller", value).hex()


CUSTOMER = Subject("/customers/{id}", _find, show_page)


def page_of(holder: Holder) -> str:
    return f"/customers/{ids.show_id(ids.CUSTOMER, holder.customer_id)}"


async def _verify(request: OperatorRequest, holder: Holder) -> Reply:
    """Records how the operator verified a caller."""
    result = {"yes": "Caller verified", "no": "Caller NOT verified"}.get(
        request.form.get("result", "")
    )
    asked, seal = request.form.get("asked", ""), request.form.get("seal", "")
    if result is None:
        raise RefusedForm(422, "Choose whether the caller knew the answers.")
    if not hmac.compare_digest(_seal(request, holder, asked).encode(), seal.encode()):
        raise RefusedForm(
            422, "The page was shown for other questions. Ask the questions that it shows now."
        )
    await request.submit(AddNote(request.actor, holder.customer_id, f"{result}: {asked}."))
    return request.redirect(page_of(holder), done=operations.NOTE.name)


async def _password_link(request: OperatorRequest, holder: Holder) -> Reply:
    return await hand_over_link(request, CustomerId(holder.customer_id), page_of(holder))


ROUTES: Routes = [
    PageRoute(OperatorRequest, "/customers/{id}", get=CUSTOMER.show, needs="customers.read"),
    form(CUSTOMER, "/freeze", operations.FREEZE, page_of),
    form(CUSTOMER, "/unfreeze", operations.UNFREEZE, page_of),
    form(CUSTOMER, "/tier", operations.SET_TIER, page_of),
    form(CUSTOMER, "/end-passkeys", operations.END_PASSKEYS, page_of),
    form(CUSTOMER, "/end-devices", operations.END_DEVICES, page_of),
    form(CUSTOMER, "/end-trust", operations.END_TRUST, page_of),
    form(CUSTOMER, "/note", operations.NOTE, page_of),
    form(CUSTOMER, "/end-sessions", operations.END_SESSIONS, page_of),
    CUSTOMER.form("/verify", _verify, needs="customers.note"),
    CUSTOMER.form("/password-link", _password_link, needs="customers.change"),
]

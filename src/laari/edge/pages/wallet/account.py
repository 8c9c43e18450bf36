"""Log-in and log-out of the wallet application, here or everywhere, and the account page."""

from typing import cast, get_args

from laari.edge.pages import own_messages
from laari.edge.pages.language import LANGUAGES
from laari.edge.pages.login import change_password, log_in_customer
from laari.edge.pages.passkeys import log_in as passkey_log_in
from laari.edge.pages.request import RefusedForm
from laari.edge.pages.routes import PageRoute, Routes
from laari.edge.pages.wallet import details, devices, passkeys
from laari.edge.pages.wallet.request import PASSWORD, WalletRequest, WalletVisitor
from laari.http.messages import Reply
from laari.rules.people.customers import SetLanguage
from laari.rules.people.remembered_devices import ForgetDevices
from laari.rules.records.messages import Language
from laari.rules.records.tenants import Mode
from laari.rules.refusals import Refusal
from laari.store.counters import sessions
from laari.store.reads.people import message_choices, trusted


def _mode(request: WalletVisitor) -> Mode:
    mode = (request.form or request.query).get("mode")
    return "sandbox" if mode == "sandbox" else "live"


async def show_login(request: WalletVisitor) -> Reply:
    if request.problem is None and await request.find_customer() is not None:
        return request.go(request.wanted)
    return request.page("login.html", mode=_mode(request))


async def log_in(request: WalletVisitor) -> Reply:
    login = await log_in_customer(request, _mode(request))
    return request.go(f"{PASSWORD}?first=1" if login.first_password else request.wanted)


async def show_passkey_options(request: WalletVisitor) -> Reply:
    return await passkey_log_in.show_options(request, _mode(request))


async def log_in_by_passkey(request: WalletVisitor) -> Reply:
    await passkey_log_in.log_in(request, _mode(request))
    return request.go(request.wanted)


async def log_out(request: WalletRequest) -> Reply:
    await request.end_session()
    return request.go(f"/app/login?mode={request.customer.mode}")


async def log_out_everywhere(request: WalletRequest) -> Reply:
    """For a lost phone, or a browser that was left open: it does not pay any more either."""
    command = ForgetDevices(request.actor, request.customer.customer_id)
    outcome = await request.backend.spine.submit(command)
    if isinstance(outcome, Refusal):
        raise RefusedForm(outcome.status, request.language.text("login.busy"), outcome.retry_after)
    await request.backend.write(sessions.end_all, request.customer.whose)
    return await log_out(request)


async def show_password(request: WalletRequest) -> Reply:
    customer = request.customer
    listed = await request.backend.ask(
        sessions.list_of, customer.whose, request.now, customer.digest
    )
    choice = await request.backend.ask(message_choices.of, customer.whose)
    own = await details.details_of(request)
    ask, customer_id = request.backend.ask, customer.customer_id
    return request.page(
        "password.html",
        sessions=listed,
        choice=choice,
        details=own,
        trust=await ask(trusted.of_customer, customer_id, request.now),
        trusting=await ask(trusted.trusting, customer_id, request.now),
        passkeys=await passkeys.own_passkeys(request),
        devices=await devices.own_devices(request),
        device_name=devices.suggested_name(request),
    )


async def choose_messages(request: WalletRequest) -> Reply:
    await own_messages.choose(request, request.actor, request.customer.whose)
    return request.go(f"{PASSWORD}?done=messages")


async def choose_language(request: WalletRequest) -> Reply:
    """The language of this wallet's pages and messages."""
    code = request.form.get("language", "")
    if code not in get_args(Language):
        raise RefusedForm(422, request.language.text("password.no_language"))
    command = SetLanguage(request.actor, request.customer.customer_id, cast(Language, code))
    outcome = await request.backend.spine.submit(command)
    if isinstance(outcome, Refusal):
        raise RefusedForm(outcome.status, request.language.text("approval.busy"))
    request.keep_language(LANGUAGES[code])  # for the log-in page
    return request.go(f"{PASSWORD}?done=language")


async def end_session(request: WalletRequest) -> Reply:
    """A session of another customer does not exist here."""
    ended = await request.backend.write(
        sessions.end_one, request.customer.whose, request.params["id"]
    )
    return request.go(f"{PASSWORD}?done=session") if ended else request.no_such_page()


async def end_other_sessions(request: WalletRequest) -> Reply:
    await request.backend.write(
        sessions.end_others, request.customer.whose, request.customer.digest
    )
    return request.go(f"{PASSWORD}?done=others")


async def set_password(request: WalletRequest) -> Reply:
    await change_password(request, request.customer, request.actor)
    return request.go(f"{PASSWORD}?done=changed")


ROUTES: Routes = [
    PageRoute(WalletVisitor, "/login", get=show_login, post=log_in),
    PageRoute(
        WalletVisitor,
        "/login/passkey",
        get=show_passkey_options,
        post=log_in_by_passkey,
        page=show_login,
    ),
    PageRoute(WalletRequest, "/logout", post=log_out, own=True),
    PageRoute(
        WalletRequest,
        "/logout/everywhere",
        post=log_out_everywhere,
        page=show_password,
        own=True,
    ),
    PageRoute(WalletRequest, "/password", get=show_password, post=set_password, own=True),
    PageRoute(WalletRequest, "/messages", post=choose_messages, page=show_password, own=True),
    PageRoute(WalletRequest, "/language", post=choose_language, page=show_password, own=True),
    PageRoute(WalletRequest, "/password/contact", post=details.change, page=show_password),
    PageRoute(WalletRequest, "/password/contact/code", post=details.enter_code, page=show_password),
    PageRoute(WalletRequest, "/password/contact/cancel", post=details.cancel, page=show_password),
    PageRoute(
        WalletRequest,
        "/password/passkeys/options",
        post=passkeys.begin,
        page=passkeys.show_refused,
    ),
    PageRoute(WalletRequest, "/password/passkeys", post=passkeys.add, page=show_password),
    PageRoute(WalletRequest, "/password/passkeys/{id}/end", post=passkeys.end, page=show_password),
    PageRoute(WalletRequest, "/password/devices", post=devices.remember, page=show_password),
    PageRoute(WalletRequest, "/password/devices/{id}/end", post=devices.forget, page=show_password),
    PageRoute(WalletRequest, "/password/sessions/{id}", post=end_session, own=True),
    PageRoute(WalletRequest, "/password/end-others", post=end_other_sessions, own=True),
]

"""Remembered devices pay small amounts without the password; the account page lists them."""

from laari.edge.pages.cookies import DEVICE
from laari.edge.pages.devices import device_of
from laari.edge.pages.login import confirm
from laari.edge.pages.request import PageRequest, RefusedForm
from laari.edge.pages.wallet.passkeys import read_name
from laari.edge.pages.wallet.request import PASSWORD, WalletRequest
from laari.http.messages import Reply
from laari.rules import ids
from laari.rules.actors import themselves
from laari.rules.limits.remembered_devices import REMEMBERED_DEVICE_LIFE, REMEMBERED_DEVICES
from laari.rules.people.remembered_devices import MAX_NAME, ForgetDevice, RememberDevice
from laari.rules.refusals import Refusal
from laari.store.counters.sessions import CustomerSession
from laari.store.reads.people import logins, remembered_devices
from laari.store.reads.people.remembered_devices import ListedDevice


async def own_devices(request: WalletRequest) -> list[ListedDevice]:
    find, customer = remembered_devices.of_customer, request.customer
    return await request.backend.ask(find, customer.customer_id, request.now)


def suggested_name(request: PageRequest) -> str:
    return (device_of(request.http.headers.get(b"user-agent", "")) or "")[:MAX_NAME].strip()


async def remember_device(
    request: PageRequest, customer: CustomerSession, name: str, verified: str
) -> None:
    """Remembers this browser; `verified` is the hash of the password that was entered."""
    outcome = await request.backend.spine.submit(
        RememberDevice(
            themselves(customer.customer_id, request.http.client),
            customer.customer_id,
            name,
            verified,
            request.backend.settings.remembered_device_daily_limit,
        )
    )
    if not isinstance(outcome, Refusal):
        seconds = int(REMEMBERED_DEVICE_LIFE.total_seconds())
        request.keep_cookie(DEVICE, outcome.token, seconds)
        return
    text = request.language.text
    if outcome.code == "rate_limited":
        raise RefusedForm(422, text("devices.too_many", count=REMEMBERED_DEVICES))
    raise RefusedForm(outcome.status, text("devices.not_remembered"), outcome.retry_after)


async def remember(request: WalletRequest) -> Reply:
    is_on = request.backend.settings.remembered_device_daily_limit
    if not is_on or request.customer.mode != "live":
        return request.no_such_page()
    customer = request.customer
    name = read_name(request, "devices.no_name", MAX_NAME)
    password_hash = await request.backend.ask(logins.password_hash_of, customer.whose)
    await confirm(request, customer, always=True)
    assert password_hash is not None  # the password fitted it, or one that came after it
    await remember_device(request, customer, name, password_hash)
    return request.go(f"{PASSWORD}?done=device")


async def forget(request: WalletRequest) -> Reply:
    """A device of another customer does not exist here."""
    device_id = ids.read_id("", request.params["id"])
    if device_id is None:
        return request.no_such_page()
    command = ForgetDevice(request.actor, request.customer.customer_id, device_id)
    outcome = await request.backend.spine.submit(command)
    if not isinstance(outcome, Refusal):
        return request.go(f"{PASSWORD}?done=undevice")
    if outcome.code == "not_found":
        return request.no_such_page()
    raise RefusedForm(outcome.status, request.language.text("login.busy"), outcome.retry_after)

"""Passkeys under attack, over HTTP with an authenticator that lies; and what they do not open."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from laari.edge.input.passkeys import to_text
from laari.rules.limits.passkeys import PASSKEYS
from laari.rules.limits.passwords import PASSWORDS_PER_ADDRESS
from laari.store.people.passwords import hash_password
from laari.store.postgres.pool import connection_to
from tests.actors import OPERATOR
from tests.logins import password_link, reset_password
from tests.messages.outbox import content_of
from tests.pages.forms import Forms
from tests.pages.operators import desk_of
from tests.pages.passkeys import Browser, passkey_id, whose, with_passkey
from tests.pages.people import Customer, new_customer
from tests.passkeys import PRESENT, Authenticator
from tests.serving import Merchant, Service

pytestmark = pytest.mark.ci

REFUSED = "This passkey does not open a wallet here"


@pytest.fixture
def service(named_service: Service) -> Service:
    return named_service


@pytest.fixture
def live_shop(service: Service) -> Merchant:
    return service.merchant(mode="live", name="Seagull Café", fee_bps=150)


def app(service: Service) -> str:
    return f"{service.origin}/app/login"


async def test_a_passkey_opens_the_wallet_and_is_told(service: Service) -> None:
    customer = await new_customer(service)
    phone = with_passkey(service, customer)
    browser = Browser(service)
    answer = browser.use(phone)
    assert (answer.status_code, answer.headers["location"]) == (303, "/app")
    assert browser.is_in
    rows = service.execute(
        "SELECT * FROM messages WHERE customer_id = $1 AND kind = 'passkey_added'", customer.id
    )
    assert [content_of(row, service.master_key)["name"] for row in rows] == ["Phone"]
    account = browser.http.get(browser.account).text
    assert "Last used" in account
    assert "Never used" not in account


# An answer counts once, here, and for what it was asked for.


async def test_an_answer_opens_one_session(service: Service) -> None:
    phone = with_passkey(service, await new_customer(service))
    browser, page = Browser(service), app(service)
    answer = phone.get(browser.options(page))
    assert browser.send_answer(page, answer).status_code == 303
    browser.http.cookies.delete("laari")
    again = browser.send_answer(page, answer)
    assert (again.status_code, REFUSED in again.text) == (422, True)
    assert not browser.is_in


async def test_of_many_equal_answers_at_once_one_opens_a_session(service: Service) -> None:
    phone = with_passkey(service, await new_customer(service))
    browser, page = Browser(service), app(service)
    fields = phone.get(browser.options(page)) | {"form_token": browser.token(page)}
    cookies, headers = browser.http.cookies, browser.http.headers

    def send(_: int) -> int:
        copy = Forms()
        copy.http.cookies, copy.http.headers = cookies, headers
        return copy.send(f"{page}/passkey", fields).status_code

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(send, range(6))) == [303, *[422] * 5]


async def test_an_answer_for_another_browser_is_refused(service: Service) -> None:
    """A page that shows somebody our challenge gets an answer that is of no use to it."""
    phone = with_passkey(service, await new_customer(service))
    victim, thief, page = Browser(service), Browser(service), app(service)
    answer = phone.get(victim.options(page))
    thief.options(page)
    assert thief.send_answer(page, answer).status_code == 422
    assert not thief.is_in
    assert victim.send_answer(page, answer).status_code == 303


async def test_an_answer_for_one_payment_pays_no_other_and_opens_no_wallet(
    service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    phone, browser = with_passkey(service, customer), Browser(service)
    small, large = (live_shop.payment(amount=each) for each in (100, 40_000))
    answer = phone.get(browser.options(small["payment_url"]))
    for page in (large["payment_url"], app(service)):
        assert browser.send_answer(page, answer).status_code == 422
    assert live_shop.get(f"/payments/{large['id']}").json()["data"]["status"] == "pending"
    assert not browser.is_in
    assert browser.send_answer(small["payment_url"], answer).status_code == 303
    assert live_shop.get(f"/payments/{small['id']}").json()["data"]["status"] == "paid"
    assert not browser.is_in  # in a shop's browser the wallet stays shut
    other = browser.http.get(large["payment_url"])
    assert customer.name not in other.text


@pytest.mark.parametrize(
    "lies",
    [
        {"origin": "https://evil.example"},
        {"rp_id": "evil.example"},
        {"flags": PRESENT},
        {"challenge": to_text(bytes(56))},
        {"type": "webauthn.create"},
    ],
    ids=str,
)
async def test_lies_open_nothing_and_add_nothing(service: Service, lies: dict[str, Any]) -> None:
    customer = await new_customer(service)
    phone, browser = with_passkey(service, customer), Browser(service)
    assert browser.use(phone, **lies).status_code == 422
    assert not browser.is_in
    assert browser.use(phone).status_code == 303
    another = Authenticator(service.origin)
    lies = lies if "type" not in lies else {"type": "webauthn.get"}
    assert browser.add(another, customer, **lies).status_code == 422
    assert browser.http.get(browser.account).text.count('/end"') == 1


async def test_another_key_credential_or_customer_opens_nothing(service: Service) -> None:
    customer, other = await new_customer(service), await new_customer(service)
    phone, theirs = with_passkey(service, customer), with_passkey(service, other)
    stranger = Authenticator(service.origin)
    browser, page = Browser(service), app(service)
    for answer in (
        stranger.get(browser.options(page)),
        stranger.get(browser.options(page)) | {"credential": to_text(phone.credential)},
        theirs.get(browser.options(page)) | {"credential": to_text(phone.credential)},
        phone.get(browser.options(page)) | {"user_handle": to_text(other.id.bytes)},
        phone.get(browser.options(page)) | {"signature": to_text(b"none")},
        {},
    ):
        refused = browser.send_answer(page, answer)
        assert (refused.status_code, REFUSED in refused.text) == (422, True)
    assert not browser.is_in
    # An authenticator that does not say whose it is still has its key.
    assert browser.send_answer(page, phone.get(browser.options(page)) | {"user_handle": ""})


async def test_modes_do_not_mix(service: Service) -> None:
    sandbox = await new_customer(service, mode="sandbox")
    browser, phone, page = Browser(service), Authenticator(service.origin), app(service)
    fields = {"identity": sandbox.mobile, "password": sandbox.password, "mode": "sandbox"}
    assert browser.send(page, fields | {"form_token": browser.token(page)}).status_code == 303
    assert browser.add(phone, sandbox).status_code == 303
    browser = Browser(service)
    for asked, sent in (("live", "live"), ("sandbox", "live"), ("live", "sandbox")):
        answer = phone.get(browser.options(page, asked))
        assert browser.send_answer(page, answer, sent).status_code == 422
    answer = phone.get(browser.options(page, "sandbox"))
    assert browser.send_answer(page, answer, "sandbox").status_code == 303


async def test_a_copied_authenticator_is_refused(service: Service) -> None:
    phone = with_passkey(service, await new_customer(service))
    copy = Authenticator(service.origin)
    copy.key, copy.credential, copy.user_handle = phone.key, phone.credential, phone.user_handle
    for _ in range(3):
        assert Browser(service).use(phone).status_code == 303
    assert Browser(service).use(copy).status_code == 422
    assert Browser(service).use(phone).status_code == 303


# What ends a passkey.


async def test_an_ended_passkey_opens_nothing(service: Service) -> None:
    customer = await new_customer(service)
    phone, browser, thief = with_passkey(service, customer), Browser(service), Browser(service)
    assert browser.use(phone).status_code == 303
    assert thief.use(phone).status_code == 303
    end = f"{browser.account}/passkeys/{passkey_id(service, customer)}/end"
    wrong = browser.send(end, {"form_token": browser.token(browser.account), "password": "no"})
    assert (wrong.status_code, "not your password" in wrong.text) == (422, True)
    own = {"form_token": browser.token(browser.account), "password": customer.password}
    assert browser.send(end, own).headers["location"] == "/app/password?done=unpasskey"
    assert browser.send(end, own).status_code == 404
    assert thief.http.get(thief.account).status_code == 303  # to the log-in
    assert Browser(service).use(phone).status_code == 422
    # Neither does it come back.
    assert browser.add(phone, customer).status_code == 409
    kinds = service.execute(
        "SELECT kind FROM messages WHERE customer_id = $1 AND kind LIKE 'passkey%' ORDER BY id",
        customer.id,
    )
    assert [row["kind"] for row in kinds] == ["passkey_added", "passkey_ended"]


async def test_the_operator_ends_all_passkeys(service: Service) -> None:
    customer = await new_customer(service)
    phone, desk = with_passkey(service, customer), await desk_of(service, "support")
    page = f"/customers/cus_{customer.id.hex}"
    assert "Phone" in desk.get(page).text
    answer = desk.send(page, "/end-passkeys")
    assert "The customer has no passkeys now" in answer.text
    assert Browser(service).use(phone).status_code == 422
    finance = await desk_of(service, "finance")
    assert finance.send(page, "/end-passkeys").status_code == 403


async def test_a_passkey_of_another_customer_does_not_exist(service: Service) -> None:
    customer, other = await new_customer(service), await new_customer(service)
    phone, theirs = with_passkey(service, customer), with_passkey(service, other)
    browser = Browser(service)
    assert browser.use(theirs).status_code == 303
    end = f"{browser.account}/passkeys/{passkey_id(service, customer)}/end"
    own = {"form_token": browser.token(browser.account), "password": other.password}
    assert browser.send(end, own).status_code == 404
    assert Browser(service).use(phone).status_code == 303


async def _changed(service: Service, customer: Customer) -> None:
    browser = Browser(service)
    browser.log_in(app(service), customer.mobile, customer.password)
    fields = {
        "password": customer.password,
        "new": "two flat whites",
        "repeated": "two flat whites",
    }
    token = {"form_token": browser.token(browser.account)}
    assert browser.send(browser.account, fields | token).status_code == 303


async def _reset(service: Service, customer: Customer) -> None:
    async with connection_to(service.dsn) as connection:
        await reset_password(connection, OPERATOR, whose(customer), hash_password("x"))


async def _by_link(service: Service, customer: Customer) -> None:
    async with connection_to(service.dsn) as connection:
        now = datetime.now(UTC)
        link = await password_link(connection, whose(customer), now, service.master_key)
    address = f"{service.origin}/app/forgotten/{link}"
    forms, new = Forms(), "two flat whites"
    fields = {"form_token": forms.token(address), "new": new, "repeated": new}
    assert forms.send(address, fields).status_code == 303


@pytest.mark.parametrize("change", [_changed, _reset, _by_link])
async def test_a_new_password_ends_the_passkeys(service: Service, change: Any) -> None:
    customer = await new_customer(service)
    phone = with_passkey(service, customer)
    await change(service, customer)
    refused = Browser(service).use(phone)
    assert (refused.status_code, REFUSED in refused.text) == (422, True)


async def test_a_password_that_changes_meanwhile_opens_nothing(service: Service) -> None:
    """The answer is verified, and counts; then the session waits for the change."""
    customer = await new_customer(service)
    phone = with_passkey(service, customer)
    browser, page = Browser(service), app(service)
    fields = phone.get(browser.options(page)) | {"form_token": browser.token(page)}
    async with connection_to(service.dsn) as connection:
        change = connection.transaction()
        await change.start()
        await reset_password(connection, OPERATOR, whose(customer), hash_password("x"))
        answer = asyncio.create_task(asyncio.to_thread(browser.send, f"{page}/passkey", fields))
        await asyncio.sleep(1)
        assert not answer.done()
        await change.commit()
    assert (await answer).status_code in (422, 503)
    assert not browser.is_in


async def test_a_frozen_wallet_is_read_and_pays_nothing(
    service: Service, live_shop: Merchant
) -> None:
    """As with the password."""
    customer = await new_customer(service)
    phone = with_passkey(service, customer)
    freeze = ("customer", "freeze", str(customer.account), "--reason", "Court order 12")
    assert (await asyncio.to_thread(service.laari, *freeze)).returncode == 0
    payment = live_shop.payment()
    browser = Browser(service)
    refused = browser.use(phone, payment["payment_url"])
    assert (refused.status_code, "blocked" in refused.text) == (422, True)
    assert live_shop.get(f"/payments/{payment['id']}").json()["data"]["status"] == "pending"
    assert browser.use(phone).status_code == 303
    assert browser.is_in


# Adding.


async def test_adding_needs_the_password(service: Service) -> None:
    customer = await new_customer(service)
    browser = Browser(service)
    browser.log_in(app(service), customer.mobile, customer.password)
    refused = browser.begin("no")
    assert refused.status_code == 422
    assert refused.json() == {"problem": "That is not your password. Nothing was done."}
    # A challenge for a log-in adds nothing.
    options = browser.begin(customer.password).json()
    challenge = browser.http.get(f"{app(service)}/passkey").json()["challenge"]
    made = Authenticator(service.origin).create({**options, "challenge": challenge})
    assert browser.send_new(made).status_code == 409


async def test_a_challenge_of_another_session_or_password_adds_nothing(service: Service) -> None:
    customer = await new_customer(service)
    thief, owner = Browser(service), Browser(service)
    for browser in (thief, owner):
        browser.log_in(app(service), customer.mobile, customer.password)
    options = owner.begin(customer.password).json()
    made = Authenticator(service.origin).create(options)
    assert thief.send_new(made).status_code == 409
    assert owner.send_new(made).status_code == 303
    assert owner.send_new(made).status_code == 409


async def test_a_customer_has_a_number_of_passkeys(service: Service) -> None:
    customer = await new_customer(service)
    browser = Browser(service)
    browser.log_in(app(service), customer.mobile, customer.password)
    with_passkey(service, customer)
    service.execute(
        "INSERT INTO passkeys (id, customer_id, credential, public_key, binding, name, added_at, "
        "counter) SELECT gen_random_uuid(), $1, sha256((n || $2)::bytea), 'k', sha256('b'), "
        "'Old', now(), 0 FROM generate_series(2, $3::int) AS n",
        customer.id,
        customer.mobile,
        PASSKEYS,
    )
    refused = browser.add(Authenticator(service.origin), customer)
    assert (refused.status_code, "the maximum" in refused.text) == (422, True)


async def test_a_name_is_short_and_not_blank(service: Service) -> None:
    customer = await new_customer(service)
    browser = Browser(service)
    browser.log_in(app(service), customer.mobile, customer.password)
    for name in (" ", "n" * 51):
        assert browser.add(Authenticator(service.origin), customer, name).status_code == 422


# Where browsers have none.


async def test_without_a_name_the_service_offers_no_passkeys(usual_service: Service) -> None:
    """Browsers refuse passkeys for an address such as 127.0.0.1."""
    browser = Browser(usual_service)
    assert "passkey" not in browser.http.get(app(usual_service)).text
    assert browser.http.get(f"{usual_service.origin}/app/login/passkey").status_code == 404
    token = {"form_token": browser.token(app(usual_service))}
    assert browser.send(f"{app(usual_service)}/passkey", token).status_code == 422


async def test_guesses_are_throttled(service: Service) -> None:
    browser, page = Browser(service), app(service)
    token = {"form_token": browser.token(page)}
    answers = [
        browser.send(f"{page}/passkey", token).status_code
        for _ in range(PASSWORDS_PER_ADDRESS.burst + 20)
    ]
    assert set(answers) == {422, 429}

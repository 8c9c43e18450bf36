"""Log-ins under attack: floods, lock-outs, races, and whom a session lets do what."""

import asyncio
import secrets
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import httpx
import psutil
import pytest

from laari.edge.load.hashing import MOST_WAITING
from laari.rules.limits.passwords import (
    CONFIRMATIONS_PER_PERSON,
    PASSWORDS_PER_PERSON,
    PASSWORDS_PER_PERSON_EVERYWHERE,
)
from laari.rules.records.people import CustomerId
from laari.store.postgres.pool import connection_to
from tests.actors import OPERATOR
from tests.logins import reset_password
from tests.pages.forms import Forms
from tests.pages.people import Customer, new_customer
from tests.serving import Merchant, Service, serving

# Of "the right password", as slow to verify as in earnest; the tests' other people have quick ones.
SLOW = (
    "$argon2id$v=19$m=65536,t=3,p=1$4XjGD11Gvs3nvprOy8/pSQ$"
    "pMrtydB6xnibOyMIIh50KVun+/u/+fojhB90CEACCeg"
)


def address() -> dict[str, str]:
    """As somebody of an address that nobody has come from before."""
    return {"X-Forwarded-For": f"2001:db8:{secrets.token_hex(2)}:{secrets.token_hex(2)}::1"}


def app(service: Service) -> str:
    return f"{service.origin}/app/login"


def sets_password(service: Service, customer: Customer, password_hash: str) -> None:
    service.execute(
        "UPDATE customers SET password_hash = $2 WHERE id = $1", customer.id, password_hash
    )


# A log-in on a page is good for that page.


async def test_a_log_in_at_a_shop_opens_neither_the_wallet_nor_another_payment(
    service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    first, second = (live_shop.payment()["payment_url"] for _ in range(2))
    approval = live_shop.authorization()["approval_url"]
    browser = Forms(**address())
    assert browser.log_in(first, customer.mobile, customer.password).status_code == 303
    assert customer.name in browser.http.get(first).text
    for other in (second, approval):
        assert customer.name not in browser.http.get(other).text
    wallet = browser.http.get(f"{service.origin}/app")
    assert (wallet.status_code, wallet.headers["location"]) == (303, "/app/login?next=/app")
    # The session itself, put where the wallet looks for one, is no use either.
    token = next(v for n, v in browser.http.cookies.items() if n.startswith("laari-page-"))
    moved = httpx.get(f"{service.origin}/app", cookies={"laari": token})
    assert moved.status_code == 303
    paid = browser.send(f"{first}/pay", {"form_token": browser.token(first)})
    assert paid.status_code == 303
    assert httpx.get(f"{service.origin}/app", cookies=browser.http.cookies).status_code == 303


async def test_a_log_in_on_an_own_device_counts_for_the_wallet_and_the_next_payment(
    service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    first, second = (live_shop.payment()["payment_url"] for _ in range(2))
    browser = Forms(**address())
    fields = {"identity": customer.mobile, "password": customer.password, "own_device": "on"}
    token = {"form_token": browser.token(first)}
    refused = browser.send(f"{first}/login", fields | token | {"password": "not it"})
    assert 'name="own_device" checked' in refused.text
    assert browser.send(f"{first}/login", fields | token).status_code == 303
    assert customer.name in browser.http.get(f"{service.origin}/app").text
    assert browser.send(f"{first}/pay", {"form_token": browser.token(first)}).status_code == 303
    assert customer.name in browser.http.get(second).text
    assert (
        browser.send(f"{second}/logout", {"form_token": browser.token(second)}).status_code == 303
    )
    assert browser.http.get(f"{service.origin}/app").status_code == 303


async def test_two_payments_are_two_log_ins_and_the_wallets_is_good_for_both(
    service: Service, live_shop: Merchant
) -> None:
    customer, other = await new_customer(service), await new_customer(service, name="Hassan")
    first, second = (live_shop.payment()["payment_url"] for _ in range(2))
    browser = Forms(**address())
    assert browser.log_in(app(service), customer.mobile, customer.password).status_code == 303
    assert customer.name in browser.http.get(first).text
    assert browser.send(f"{first}/logout", {"form_token": browser.token(first)}).status_code == 303
    assert browser.http.get(f"{service.origin}/app").status_code == 303  # not them: out everywhere
    assert browser.log_in(first, customer.mobile, customer.password).status_code == 303
    assert browser.log_in(second, other.mobile, other.password).status_code == 303
    assert customer.name in browser.http.get(first).text
    assert "Hassan" in browser.http.get(second).text


# Guessing.


async def test_guesses_from_elsewhere_do_not_keep_the_right_password_out(
    service: Service,
) -> None:
    customer = await new_customer(service)
    guesser, owner = Forms(**address()), Forms(**address())
    for _ in range(PASSWORDS_PER_PERSON.burst):
        assert guesser.log_in(app(service), customer.mobile, "no").status_code == 422
    refused = guesser.log_in(app(service), customer.mobile, customer.password)
    assert refused.status_code == 429
    assert 1 <= int(refused.headers["retry-after"]) <= PASSWORDS_PER_PERSON.seconds
    assert owner.log_in(app(service), customer.mobile, customer.password).status_code == 303


async def test_more_log_ins_give_no_more_tries_to_confirm(service: Service) -> None:
    """Somebody with a passkey or an old password of the owner would guess the present one."""
    customer = await new_customer(service)
    page = f"{service.origin}/app/password"
    new = {"new": "two flat whites and a cake", "repeated": "two flat whites and a cake"}
    answers = []
    for _ in range(CONFIRMATIONS_PER_PERSON.burst // PASSWORDS_PER_PERSON.burst + 1):
        browser = Forms(**address())
        browser.log_in(app(service), customer.mobile, customer.password)
        fields = {"form_token": browser.token(page), "password": "no", **new}
        answers += [
            browser.send(page, fields).status_code for _ in range(PASSWORDS_PER_PERSON.burst)
        ]
    assert 429 not in answers[: CONFIRMATIONS_PER_PERSON.burst]
    assert answers.count(429) >= PASSWORDS_PER_PERSON.burst - 3  # a token comes back each 30 s


@pytest.mark.ci
async def test_a_browser_that_logged_in_before_is_let_try_when_nobody_else_is(
    service: Service,
) -> None:
    customer = await new_customer(service)
    known, others = Forms(**address()), Forms(**address())
    assert known.log_in(app(service), customer.mobile, customer.password).status_code == 303
    stranger = await new_customer(service)
    assert others.log_in(app(service), stranger.mobile, stranger.password).status_code == 303

    def guess(_: int) -> int:
        browser = Forms(**address())
        return browser.log_in(app(service), customer.mobile, "no").status_code

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(guess, range(PASSWORDS_PER_PERSON_EVERYWHERE.burst + 12)))
    assert set(answers) == {422, 429}
    right = (customer.mobile, customer.password)
    assert Forms(**address()).log_in(app(service), *right).status_code == 429
    # A browser that is known for somebody else is a stranger here.
    others.http.cookies.delete("laari")
    assert others.log_in(app(service), *right).status_code == 429
    known.http.cookies.delete("laari")
    known.http.headers.update(address())  # wherever it is now
    assert known.log_in(app(service), *right).status_code == 303
    # Its own tries are bounded too: two are used.
    known.http.cookies.delete("laari")
    for _ in range(PASSWORDS_PER_PERSON.burst - 1):
        assert known.log_in(app(service), customer.mobile, "no").status_code == 422
    assert known.log_in(app(service), *right).status_code == 429


@pytest.mark.ci
async def test_nobody_and_somebody_are_throttled_alike(service: Service) -> None:
    customer = await new_customer(service)
    for identity in (customer.email, f"{secrets.token_hex(6)}@example.mv"):
        browser, tries, began = Forms(**address()), [], time.monotonic()
        while not tries or (tries[-1].status_code == 422 and len(tries) <= allowed_since(began)):
            tries.append(browser.log_in(app(service), identity, "no"))
        told = [(each.status_code, "do not match" in each.text) for each in tries]
        assert told == [(422, True)] * (len(told) - 1) + [(429, False)]
        assert PASSWORDS_PER_PERSON.burst < len(told) <= allowed_since(began) + 1


def allowed_since(began: float) -> int:
    """Tries for one identity: on a slow machine some come back while the others are used up."""
    earned = (time.monotonic() - began) / PASSWORDS_PER_PERSON.seconds
    return PASSWORDS_PER_PERSON.burst + int(earned)


# Changes of the password while it is verified.


async def test_a_password_that_changes_while_it_is_verified_opens_nothing(
    service: Service,
) -> None:
    customer = await new_customer(service)
    browser = Forms(**address())
    token = browser.token(app(service))
    fields = {"form_token": token, "identity": customer.mobile, "password": customer.password}
    async with connection_to(service.dsn) as connection:
        change = connection.transaction()
        await change.start()
        await reset_password(connection, OPERATOR, CustomerId(customer.id), SLOW)
        # It is looked up and verified as it was; then the session waits for the change.
        answer = asyncio.create_task(asyncio.to_thread(browser.send, app(service), fields))
        await asyncio.sleep(1)
        assert not answer.done()
        await change.commit()
    assert (await answer).status_code == 422
    assert browser.http.get(f"{service.origin}/app").status_code == 303


# Floods.


@pytest.fixture
def flooded(dsn: str, tmp_path: Path) -> Iterator[Service]:
    """A service that can be flooded without keeping other tests waiting."""
    with serving(dsn, tmp_path, LAARI_TRUSTED_PROXIES="127.0.0.1") as service:
        yield service


async def people(service: Service, number: int) -> list[Customer]:
    made = [await new_customer(service) for _ in range(number)]
    for customer in made:
        sets_password(service, customer, SLOW)
    return made


def verified(attempts: list[Future[httpx.Response]]) -> int:
    """How many had their turn and have ended."""
    return sum(each.done() and each.result().status_code == 422 for each in attempts)


@pytest.mark.ci
async def test_a_flood_is_refused_and_a_newcomer_goes_first(flooded: Service) -> None:
    customer, *victims = await people(flooded, 41)
    flooder = Forms(**address())
    flooder.log_in(app(flooded), victims[0].mobile, "no")  # has asked for something before
    fields = {"form_token": flooder.token(app(flooded)), "password": "no"}

    def flood(victim: Customer) -> httpx.Response:
        return flooder.send(app(flooded), {**fields, "identity": victim.mobile})

    newcomer = Forms(**address())
    token = newcomer.token(app(flooded))
    right = {"identity": customer.mobile, "password": "the right password"}
    with ThreadPoolExecutor(len(victims)) as pool:
        under_way = [pool.submit(flood, victim) for victim in victims]
        await asyncio.sleep(0.3)
        before = verified(under_way)
        answer = newcomer.send(app(flooded), {"form_token": token, **right})
        meanwhile = verified(under_way) - before
        answers = [each.result() for each in under_way]
    assert answer.status_code == 303
    assert meanwhile <= MOST_WAITING // 2  # it went before those who had come before it
    refused = [each for each in answers if each.status_code == 503]
    assert len(refused) >= len(victims) // 3
    assert all(each.headers["retry-after"] == "3" for each in refused)
    assert all("Many people are logging in" in each.text for each in refused)
    assert {each.status_code for each in answers} == {422, 503}


def hashing_seconds(service: Service) -> float:
    """What the process that hashes has used of a processor."""
    tree = psutil.Process(service.process.pid).children(recursive=True)
    (process,) = (each for each in tree if "spawn_main" in " ".join(each.cmdline()))
    used = process.cpu_times()
    return used.user + used.system


@pytest.mark.ci
async def test_nothing_is_done_for_clients_that_left(flooded: Service) -> None:
    customer = await new_customer(flooded)
    victims = await people(flooded, MOST_WAITING)
    last = Forms(**address())
    assert last.log_in(app(flooded), victims[0].mobile, "no").status_code == 422
    one = hashing_seconds(flooded)  # what one hash takes, and the start
    fields = {"form_token": last.token(app(flooded)), "password": "no"}

    def leave(victim: Customer) -> None:
        form = {**fields, "identity": victim.mobile}
        with httpx.Client(cookies=last.http.cookies, headers=last.http.headers) as client:
            timeout = httpx.Timeout(30, read=0.02)
            with pytest.raises(httpx.ReadTimeout):
                client.post(app(flooded), data=form, timeout=timeout)

    with ThreadPoolExecutor(len(victims)) as pool:
        list(pool.map(leave, victims))
    # The same address, which has asked for more than they had: it would come after all of them.
    assert last.log_in(app(flooded), customer.mobile, customer.password).status_code == 303
    assert hashing_seconds(flooded) - one < one * MOST_WAITING / 2


# What a session is kept alive by.


async def test_a_page_that_watches_does_not_keep_its_session_alive(
    service: Service, live_shop: Merchant
) -> None:
    customer = await new_customer(service)
    browser = Forms(**address())
    assert browser.log_in(app(service), customer.mobile, customer.password).status_code == 303
    request = live_shop.request(customer={"type": "mobile", "value": customer.mobile})
    page = f"{service.origin}/app/requests/{request['id']}"

    def idle() -> timedelta:
        rows = service.execute(
            "SELECT now() - seen_at AS idle FROM sessions WHERE customer_id = $1", customer.id
        )
        return rows[0]["idle"]

    service.execute(
        "UPDATE sessions SET seen_at = now() - interval '5 minutes' WHERE customer_id = $1",
        customer.id,
    )
    watched = browser.http.get(f"{page}/status")
    assert watched.json() == {"status": "pending"}
    assert idle() > timedelta(minutes=4)
    assert browser.http.get(page).status_code == 200
    assert idle() < timedelta(minutes=1)

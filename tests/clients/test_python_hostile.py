"""The Python client among hostile or broken peers; what it never shows, follows or waits for."""

import asyncio
import logging
import pickle
import time
import traceback

import httpx
import pytest

from laari_client import (
    AsyncLaari,
    ConfigurationError,
    ConnectionFailedError,
    InvalidResponseError,
    Laari,
    LaariError,
    RequestTimeoutError,
    errors,
)
from tests.clients.faulty_proxy import FaultyProxy, faulty_proxy
from tests.serving import Merchant, free_port

SECRET = "sk_this-must-never-be-seen"
ONE_ATTEMPT = {"max_attempts": 1, "timeout": 1.0}


def create(origin: str, **options) -> LaariError:
    """The error of a write that cannot work."""
    with Laari(origin, SECRET, **options) as client, pytest.raises(LaariError) as refused:
        client.payments.create(reference="p-1", amount=100)
    return refused.value


def acreate(origin: str, **options) -> LaariError:
    async def run() -> LaariError:
        async with AsyncLaari(origin, SECRET, **options) as client:
            with pytest.raises(LaariError) as refused:
                await client.payments.create(reference="p-1", amount=100)
        return refused.value

    return asyncio.run(run())


BOTH = pytest.mark.parametrize("failing", [create, acreate], ids=["sync", "async"])

EXPECTED = {
    "502 html": (errors.ServerError, "http_502", 502),
    "503 html": (errors.ServerError, "http_503", 503),
    "503": (errors.ServiceUnavailableError, "service_unavailable", 503),
    "429": (errors.RateLimitedError, "rate_limited", 429),
    "200 html": (InvalidResponseError, "invalid_response", 200),
    "200 cut": (ConnectionFailedError, "connection_lost", None),
    "200 cut without a length": (InvalidResponseError, "invalid_response", 201),
    "200 wrong shape": (InvalidResponseError, "invalid_response", None),
    "new code": (errors.ConflictError, "brand_new", 409),
    "401": (errors.UnauthorizedError, "unauthorized", 401),
    "reset before": (ConnectionFailedError, "connection_lost", None),
    "reset after": (ConnectionFailedError, "connection_lost", None),
    "slow after": (RequestTimeoutError, "timeout", None),
    "drip": (RequestTimeoutError, "timeout", None),
    "redirect": (InvalidResponseError, "redirected", 307),
}


@BOTH
@pytest.mark.parametrize("fault", EXPECTED)
def test_every_bad_answer_is_an_error_that_keeps_the_secret(
    proxy: FaultyProxy, failing, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    proxy.choose = lambda _: fault
    error = failing(proxy.origin, **ONE_ATTEMPT)
    kind, code, status = EXPECTED[fault]
    assert type(error) is kind
    assert (error.code, error.status) == (code, status)
    assert len(proxy.seen) == 1
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    ours = [line for line in told.format() if "laari_client" in line]
    shown = [repr(error), str(error), pickle.dumps(error), *ours, *error.args]
    assert SECRET not in f"{shown} {caplog.text}"
    assert SECRET in proxy.seen[0].headers["x-api-key"]
    assert error.__context__ is None or SECRET not in repr(vars(error.__context__))


def test_a_wrong_shape_names_the_request(proxy: FaultyProxy) -> None:
    proxy.choose = lambda _: "200 wrong shape"
    error = create(proxy.origin)
    assert error.request_id == "r-1"
    assert "id of HostedPayment has the wrong form" in str(error)


def test_a_new_code_has_the_class_of_its_status_and_its_field(proxy: FaultyProxy) -> None:
    proxy.choose = lambda _: "new code"
    assert create(proxy.origin).field == "amount"


@BOTH
def test_a_redirect_is_not_followed(proxy: FaultyProxy, failing, shop: Merchant) -> None:
    with faulty_proxy(shop.service.origin) as elsewhere:
        proxy.redirect_to = elsewhere.origin
        proxy.choose = lambda _: "redirect"
        assert failing(proxy.origin).code == "redirected"
        assert (len(proxy.seen), elsewhere.seen) == (1, [])


def test_a_client_of_httpx_that_follows_redirects_does_not_here(
    proxy: FaultyProxy, shop: Merchant
) -> None:
    with (
        faulty_proxy(shop.service.origin) as elsewhere,
        httpx.Client(follow_redirects=True, auth=("user", "password")) as given,
    ):
        proxy.redirect_to = elsewhere.origin
        proxy.choose = lambda _: "redirect"
        client = Laari(proxy.origin, SECRET, http_client=given)
        with client, pytest.raises(InvalidResponseError):
            client.payments.get("pay_1")
        assert (len(proxy.seen), elsewhere.seen) == (1, [])
        assert "authorization" not in proxy.seen[0].headers
        assert not given.is_closed


@BOTH
def test_a_service_that_is_away(failing) -> None:
    begun = time.monotonic()
    away = f"http://127.0.0.1:{free_port()}"
    error = failing(away, deadline=1.5)
    assert (type(error), error.code) == (ConnectionFailedError, "connection_failed")
    assert f"could not be reached at {away}: " in str(error)
    assert 0.2 < time.monotonic() - begun < 8


@BOTH
def test_the_deadline_ends_everything(proxy: FaultyProxy, failing) -> None:
    proxy.choose = lambda _: "drip"
    begun = time.monotonic()
    assert failing(proxy.origin, timeout=10.0, deadline=1.0).code == "timeout"
    assert time.monotonic() - begun < 8  # less than the timeout of one attempt


@BOTH
def test_a_wait_beyond_the_deadline_is_not_begun(proxy: FaultyProxy, failing) -> None:
    proxy.choose = lambda _: "429 an hour"
    begun = time.monotonic()
    assert failing(proxy.origin).retry_after == 3600
    assert time.monotonic() - begun < 20
    assert len(proxy.seen) == 1


@BOTH
def test_retry_after_is_honoured(proxy: FaultyProxy, failing) -> None:
    faults = iter(["429", "401"])
    proxy.choose = lambda _: next(faults)
    begun = time.monotonic()
    assert failing(proxy.origin).status == 401
    assert time.monotonic() - begun >= 1
    assert len(proxy.seen) == 2


# What a client is made of


@pytest.mark.parametrize("path", ["", "/", "//", "/merchant", "/merchant/"])
def test_an_address_may_end_in_a_slash_or_be_the_merchant_interfaces(
    shop: Merchant, path: str
) -> None:
    with Laari(shop.service.origin + path, shop.secret_key) as client:
        assert list(client.payments.list()) == []


@pytest.mark.parametrize("path", ["/pay", "/pay/", "/pay/merchant", "/pay/merchant/"])
def test_an_address_may_have_a_path(proxy: FaultyProxy, path: str) -> None:
    with Laari(proxy.origin + path, SECRET, **ONE_ATTEMPT) as client, pytest.raises(LaariError):
        client.payments.get("pay_1")
    assert proxy.seen[0].target == "/pay/merchant/payments/pay_1"


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ("pay.example", "http or https"),
        ("ftp://pay.example", "http or https"),
        ("https://", "http or https"),
        ("https://user:word@pay.example", "credentials"),
        ("https://pay.example?key=1", "query"),
        ("https://pay.example#a", "fragment"),
        ("https://pay.example:port", "not a URL"),
        ("https://[::1", "not a URL"),
        ("https://pay\x00.example", "not a URL"),
        ("http://pay.example", "Plain http"),
        ("http://127.0.0.1.evil.example", "Plain http"),
    ],
)
def test_an_address_that_cannot_be_meant_is_refused(address: str, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        Laari(address, SECRET)


def test_plain_http_is_for_this_machine_or_for_those_who_ask() -> None:
    for address in ("http://localhost:8000", "http://shop.localhost", "http://[::1]:8000"):
        Laari(address, SECRET).close()
    Laari("http://laari:8000", SECRET, allow_http=True).close()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, "no credentials"),
        ({"secret_key": ""}, "secret_key is empty"),
        ({"secret_key": f"{SECRET}\n"}, "secret_key is empty, or has"),
        ({"secret_key": f"{SECRET}é"}, "secret_key is empty, or has"),
        ({"wallet_key": f"{SECRET} "}, "wallet_key is empty, or has"),
        ({"client_id": "c", "client_secret": f"{SECRET}\r"}, "client_secret is empty, or has"),
        ({"client_id": "c"}, "go together"),
        ({"secret_key": SECRET, "client_id": "c", "client_secret": "s"}, "not both"),
        ({"secret_key": SECRET, "scope": "payments:read"}, "scope"),
        ({"secret_key": SECRET, "timeout": 0}, "timeout"),
        ({"secret_key": SECRET, "deadline": float("inf")}, "deadline"),
        ({"secret_key": SECRET, "max_attempts": 0}, "max_attempts"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict, complaint: str) -> None:
    for kind in (Laari, AsyncLaari):
        with pytest.raises(ConfigurationError, match=complaint) as refused:
            kind("https://pay.example", **options)
        assert SECRET not in str(refused.value)


def test_credentials_are_for_their_interface_only() -> None:
    client = Laari("https://pay.example", SECRET)
    with client, pytest.raises(ConfigurationError, match="wallet_key"):
        client.wallet.balance()
    client = Laari("https://pay.example", wallet_key=SECRET)
    with client, pytest.raises(ConfigurationError, match="secret_key"):
        client.payments.get("pay_1")


def test_a_client_does_not_show_its_secrets(shop: Merchant) -> None:
    both = {"client_id": "client", "client_secret": SECRET, "wallet_key": SECRET}
    for client in (Laari("https://pay.example", **both), AsyncLaari("https://pay.example", **both)):
        connection = client._connection
        seen = [repr(client), str(client), repr(vars(client)), repr(vars(connection))]
        seen.append(repr(connection.config))
        assert SECRET not in "".join(seen)
        assert "pay.example" in repr(client)
    with Laari(shop.service.origin, shop.secret_key) as client:
        purse = client.sandbox.set_wallet()
        assert purse.api_key
        assert purse.api_key not in repr(purse)


def test_an_unknown_answer_is_no_reason_to_repeat_what_adds_up(proxy: FaultyProxy) -> None:
    for fault in ("502 html", "503 html", "200 cut", "200 html", "reset before", "slow after"):
        proxy.seen.clear()
        proxy.choose = lambda _, fault=fault: fault
        with Laari(proxy.origin, SECRET, timeout=1.0) as client, pytest.raises(LaariError):
            client.sandbox.move_clock(advance_seconds=1)
        assert len(proxy.seen) == 1, fault


def test_a_page_that_leads_to_itself_ends_the_list() -> None:
    page = '{"data": [], "pagination": {"limit": 1, "has_more": true, "next_cursor": "c"}}'
    transport = httpx.MockTransport(lambda _: httpx.Response(200, text=page))
    client = Laari("https://pay.example", SECRET, http_client=httpx.Client(transport=transport))
    with pytest.raises(InvalidResponseError, match="next one"):
        list(client.payments.list())


def test_what_is_new_in_an_answer_does_no_harm(shop: Merchant) -> None:
    with Laari(shop.service.origin, shop.secret_key) as real:
        made = real.payments.create(reference="p-1", amount=100)
        event = next(iter(real.events.list()))
    body = shop.get(f"/payments/{made.id}").json()["data"]
    body |= {"status": "half_paid", "tip": 5}
    told = shop.get(f"/events/{event.id}").json()["data"]
    told |= {"type": "payment.tipped", "data": {"tip": 5}}

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"data": told if "events" in request.url.path else body})

    mock = httpx.Client(transport=httpx.MockTransport(answer))
    client = Laari("https://pay.example", SECRET, http_client=mock)
    seen = client.payments.get(made.id)
    assert (seen.status, seen.unknown_fields) == ("half_paid", {"tip": 5})
    assert client.events.get(event.id).data == {"tip": 5}

"""One webhook on its way: names, addresses, certificates, redirects, sizes and times."""

import asyncio
import hashlib
import hmac
import itertools
import ssl
import time
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.client_reqrep import ConnectionKey

from laari.workers.webhooks import failures
from laari.workers.webhooks.failures import NOT_PUBLIC, ForbiddenAddress, describe
from laari.workers.webhooks.sender import Sender
from tests.webhooks.conftest import NAME
from tests.webhooks.receivers import (
    INTERNAL_ADDRESS,
    RECEIVER_ADDRESS,
    Authority,
    Names,
    Receiver,
    answering,
    hanging,
    receiving,
    resetting,
)

BODY = '{"id":"evt_1","data":{"title":"ދިވެހި"}}'.encode()
KEY = ConnectionKey("shop.mv", 443, True, True, None, None, None)


def connector_error(
    cause: OSError, kind: Any = aiohttp.ClientConnectorError
) -> aiohttp.ClientConnectorError:
    return kind(KEY, cause)


def url(receiver: Receiver, path: str = "/", name: str = NAME) -> str:
    return f"https://{name}:{receiver.port}{path}"


async def test_goes_to_the_name_signed_and_unchanged(sender: Sender, receiver: Receiver) -> None:
    answer = await sender.send(url(receiver, "/in?a=%2Fb"), "sk_secret", BODY)
    assert (answer.status, answer.error, answer.text) == (200, None, "thanks")
    assert answer.acknowledged
    (got,) = receiver.received
    assert got.body == BODY
    assert got.host == f"{NAME}:{receiver.port}"
    assert got.headers["user-agent"] == "Service-Merchant-Webhook/1.0"
    assert got.headers["content-type"] == "application/json"
    stamp, _, digest = got.headers["service-signature"].partition(",v1=")
    assert abs(int(stamp.removeprefix("t=")) - time.time()) < 5
    signed = stamp.removeprefix("t=").encode() + b"." + BODY
    assert digest == hmac.new(b"sk_secret", signed, hashlib.sha256).hexdigest()


async def test_a_certificate_for_another_name_is_refused(
    sender: Sender, authority: Authority, names: Names
) -> None:
    names.addresses["other.shop.mv"] = [RECEIVER_ADDRESS]
    async with receiving(authority.serving(NAME)) as receiver:
        answer = await sender.send(url(receiver, name="other.shop.mv"), "k", BODY)
    assert answer.status is None
    assert answer.error == "the certificate was refused: it is for another name"
    assert receiver.received == []


async def test_a_certificate_of_an_unknown_authority_is_refused(sender: Sender) -> None:
    async with receiving(Authority().serving(NAME)) as receiver:
        answer = await sender.send(url(receiver), "k", BODY)
    assert "certificate was refused" in (answer.error or "")
    assert receiver.received == []


async def test_a_certificate_for_the_address_alone_is_refused(
    sender: Sender, authority: Authority
) -> None:
    async with receiving(authority.serving(RECEIVER_ADDRESS)) as receiver:
        answer = await sender.send(url(receiver), "k", BODY)
    assert "certificate was refused" in (answer.error or "")


@pytest.mark.parametrize(
    "addresses",
    [
        [INTERNAL_ADDRESS],
        [RECEIVER_ADDRESS, INTERNAL_ADDRESS],
        ["10.0.0.1"],
        ["169.254.169.254"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::7f00:1"],
        ["fd00::1"],
        [RECEIVER_ADDRESS, "fe80::1"],
    ],
    ids="+".join,
)
async def test_every_address_of_the_name_must_be_public(
    sender: Sender,
    receiver: Receiver,
    names: Names,
    addresses: list[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    names.addresses["some.shop.mv"] = addresses
    answer = await sender.send(url(receiver, name="some.shop.mv"), "k", BODY)
    # The merchant is not told which address it was: that of a name inside would be an answer.
    assert (answer.status, answer.error) == (None, NOT_PUBLIC)
    assert receiver.received == []
    (line,) = caplog.messages  # the operator is
    assert "some.shop.mv resolves to" in line
    assert any(address in line for address in addresses)


async def test_a_name_that_changes_its_address_never_leads_inside(
    sender: Sender, authority: Authority, names: Names
) -> None:
    """Each look-up answers something else: vetted and connected addresses are still the same."""
    turn = itertools.cycle([[RECEIVER_ADDRESS], [INTERNAL_ADDRESS], [INTERNAL_ADDRESS]])
    names.addresses[NAME] = lambda: next(turn)
    async with (
        receiving(authority.serving(NAME)) as outside,
        receiving(authority.serving(NAME), INTERNAL_ADDRESS, outside.port) as inside,
    ):
        outside.answers["/"] = answering(200, Connection="close")  # the next one connects anew
        answers = [await sender.send(url(outside), "k", BODY) for _ in range(30)]
    assert inside.received == []
    assert len(outside.received) == sum(answer.acknowledged for answer in answers) == 10
    assert len(names.asked) == 30  # once per connection: there is no second look-up to differ


async def test_a_socket_is_vetted_whatever_way_its_address_came(sender: Sender) -> None:
    with pytest.raises(OSError, match=r"127\.0\.0\.2 is not a public address"):
        sender._make_socket((2, 1, 6, "", (INTERNAL_ADDRESS, 443)))


async def test_a_redirect_is_not_followed(
    sender: Sender, receiver: Receiver, authority: Authority
) -> None:
    async with receiving(address=INTERNAL_ADDRESS) as inside:
        target = f"http://{INTERNAL_ADDRESS}:{inside.port}/"
        receiver.answers["/moved"] = answering(302, Location=target)
        receiver.answers["/again"] = answering(307, Location=url(receiver, "/"))
        moved = await sender.send(url(receiver, "/moved"), "k", BODY)
        again = await sender.send(url(receiver, "/again"), "k", BODY)
    assert (moved.status, moved.error, moved.acknowledged) == (302, "answered 302", False)
    assert (again.status, again.acknowledged) == (307, False)
    assert inside.received == []
    assert [got.path for got in receiver.received] == ["/moved", "/again"]


async def test_no_proxy_is_taken_from_the_environment(
    sender: Sender, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with receiving() as proxy:
        for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert (await sender.send(url(receiver), "k", BODY)).acknowledged
    assert proxy.received == []


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
async def test_any_2xx_acknowledges(sender: Sender, receiver: Receiver, status: int) -> None:
    receiver.answers["/"] = answering(status)
    assert (await sender.send(url(receiver), "k", BODY)).acknowledged


@pytest.mark.parametrize("status", [300, 304, 400, 401, 404, 410, 429, 500, 503])
async def test_nothing_else_does(sender: Sender, receiver: Receiver, status: int) -> None:
    receiver.answers["/"] = answering(status, "no")
    answer = await sender.send(url(receiver), "k", BODY)
    assert (answer.status, answer.error) == (status, f"answered {status}")
    assert not answer.acknowledged


async def test_a_receiver_that_hangs_is_given_up(authority: Authority, receiver: Receiver) -> None:
    sender = Sender(allow_private=True, certificates=authority.trusting(), timeout_seconds=0.2)
    receiver.answers["/"] = hanging()
    async with receiving() as plain:
        plain.answers["/"] = hanging()
        answer = await sender.send(f"http://127.0.0.1:{plain.port}/", "k", BODY)
    await sender.close()
    assert (answer.status, answer.error) == (None, "no answer in time")
    assert 150 <= answer.duration_ms < 1500


async def test_resets_and_silence_are_told_in_words(sender: Sender, receiver: Receiver) -> None:
    receiver.answers["/"] = resetting
    answer = await sender.send(url(receiver), "k", BODY)
    assert (answer.status, answer.error) == (None, "the connection was closed without an answer")
    down = await sender.send(f"https://{NAME}:1/", "k", BODY)
    assert "port 443" in (down.error or "")  # the URL is vetted before every attempt too
    down = await sender.send(f"https://{NAME}:{free_port()}/", "k", BODY)
    assert down.error == "the connection was refused"
    unknown = await sender.send("https://nowhere.shop.mv/", "k", BODY)
    assert unknown.error == "the host name could not be resolved"


@pytest.mark.parametrize(
    "problem",
    [
        connector_error(OSError(111, "Connect call failed ('10.1.2.3', 8443)")),
        connector_error(OSError(None, "Multiple exceptions: [Errno 113] ('10.1.2.3', 8443)")),
        connector_error(OSError(99, "Cannot assign requested address 10.1.2.3")),
        connector_error(ForbiddenAddress(None, "x resolves to 10.1.2.3")),
        connector_error(OSError(4, "10.1.2.3"), aiohttp.ClientConnectorDNSError),
        connector_error(ssl.SSLError(1, "10.1.2.3"), aiohttp.ClientConnectorSSLError),
        aiohttp.ClientConnectorCertificateError(KEY, ssl.SSLCertVerificationError("10.1.2.3")),
        aiohttp.ClientOSError(104, "Connection reset by 10.1.2.3"),
        ConnectionResetError(104, "10.1.2.3"),
        aiohttp.ServerDisconnectedError("HTTP/1.1 10.1.2.3"),
        aiohttp.ClientPayloadError("10.1.2.3"),
        aiohttp.ConnectionTimeoutError("Connection timeout to host https://10.1.2.3"),
        TimeoutError("10.1.2.3"),
        ValueError("10.1.2.3"),
    ],
    ids=lambda problem: f"{type(problem).__name__} {problem!s:.30}",
)
def test_a_merchant_is_told_one_of_a_fixed_set_of_phrases(problem: Exception) -> None:
    refused = failures.CERTIFICATE
    assert describe(problem) in {
        NOT_PUBLIC,
        failures.NOT_RESOLVED,
        failures.NO_CONNECTION,
        refused,
        "TLS could not be set up",
        "the connection broke",
        "the connection was closed without an answer",
        "no answer in time",
        "the answer was too long",
        "the answer was not valid HTTP",
        *(f"{refused}: {why}" for why in failures.CERTIFICATE_ERRORS.values()),
        *failures.CONNECTION_ERRORS.values(),
    }
    assert not any(character.isdigit() for character in describe(problem))


async def test_the_same_failure_is_logged_once_a_minute(
    sender: Sender, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")

    def logged() -> list[str]:
        return [each.message for each in caplog.records if each.name.startswith("laari")]

    address = f"https://{NAME}:{free_port()}/"
    for _ in range(5):
        await sender.send(address, "k", BODY)
    (line,) = logged()
    assert NAME in line
    assert "ConnectionRefusedError" in line or "Connect call failed" in line
    receiver.answers["/"] = resetting
    await sender.send(url(receiver), "k", BODY)
    assert len(logged()) == 2  # another failure of the same host


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def test_an_endless_answer_is_read_to_64_kib(sender: Sender, receiver: Receiver) -> None:
    written = 0

    async def endless(request: web.Request, body: bytes) -> web.StreamResponse:
        nonlocal written
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"\xff\x00" + b"x" * 8190)
            written += 8192
            await asyncio.sleep(0)

    receiver.answers["/"] = endless
    answer = await sender.send(url(receiver), "k", BODY)
    assert answer.acknowledged
    assert answer.text is not None
    assert answer.text.startswith("\ufffd\ufffdxxx")
    assert len(answer.text) == 1024
    assert answer.duration_ms < 1000
    await asyncio.sleep(0.05)
    assert written < 8 * 1024 * 1024  # what fits into the buffers on the way, not more


async def test_a_compressed_answer_is_not_unpacked(sender: Sender, receiver: Receiver) -> None:
    import gzip

    bomb = gzip.compress(b"x" * 10_000_000)
    receiver.answers["/"] = lambda request, body: web.Response(
        body=bomb, headers={"Content-Encoding": "gzip"}
    )
    answer = await sender.send(url(receiver), "k", BODY)
    assert answer.acknowledged
    assert "xxx" not in (answer.text or "")


async def test_connections_are_kept_and_cookies_are_not(
    sender: Sender, receiver: Receiver, names: Names
) -> None:
    names.addresses[NAME] = lambda: [RECEIVER_ADDRESS]
    receiver.answers["/"] = answering(200, "ok", Set_Cookie="a=b")
    for _ in range(3):
        assert (await sender.send(url(receiver), "k", BODY)).acknowledged
    assert len(names.asked) == 1
    assert all("cookie" not in got.headers for got in receiver.received)

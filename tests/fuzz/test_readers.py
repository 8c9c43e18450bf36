"""What reads strangers' input refuses what it should, and never fails: hypothesis tries.

JSON, amounts, timestamps, addresses, cursors, credentials, cookies and forms, as bytes on the wire.
Where Python has a reader of its own, it is asked what the service should have said. The short form
takes the same way each time, so that it fails for what has changed; the long form does not.
"""

import base64
import json
import os
import secrets
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from urllib.parse import quote_from_bytes, urlsplit

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.fuzz.targets import Targets
from tests.fuzz.wire import Response, Wire
from tests.serving import Merchant, Service

pytestmark = pytest.mark.ci

SHORT, LONG = 25, int(os.environ.get("LAARI_FUZZ_READER_CASES", "1000"))  # of each kind
MALDIVES = timezone(timedelta(hours=5))

LENGTHS = [
    pytest.param(SHORT, id="short"),
    pytest.param(LONG, marks=pytest.mark.campaign, id="long"),
]
for_short_and_long = pytest.mark.parametrize("cases", LENGTHS)

# What a header may hold. The rest is the framing's matter, and tried in tests/http.
header_values = st.lists(
    st.sampled_from([byte for byte in range(256) if byte >= 32 and byte != 127]), max_size=60
).map(lambda value: bytes(value).strip())


def fuzz(cases: int, strategy: st.SearchStrategy[Any], check: Callable[[Any], None]) -> None:
    """Tries so many cases; a difference is told with the seed that finds it again."""
    chosen = int(os.environ.get("LAARI_FUZZ_SEED", "1" if cases == SHORT else secrets.randbits(32)))

    @seed(chosen)
    @settings(
        max_examples=cases,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def run(value: Any) -> None:
        check(value)

    try:
        run()
    except BaseException as error:
        target = "test" if cases == SHORT else "faults"
        error.add_note(
            f"Again: LAARI_FUZZ_SEED={chosen} LAARI_FUZZ_READER_CASES={LONG} "
            f"make {target} ARGS=tests/fuzz/test_readers.py"
        )
        raise


@pytest.fixture
def wire(fuzzed: Service) -> Iterator[Wire]:
    wire = Wire(fuzzed.origin)
    yield wire
    wire.close()


@pytest.fixture
def post(wire: Wire, shop: Merchant) -> Callable[[bytes], Response]:
    """Asks for a payment with this body."""
    headers = {"X-API-Key": shop.secret_key.encode(), "Content-Type": b"application/json"}
    return lambda body: wire.send("POST", b"/merchant/payments", headers, body)


def created(response: Response) -> dict[str, Any] | None:
    """The payment, or None where it was refused in the merchant interface's own shape."""
    body = json.loads(response.body)
    if response.status == 201:
        return dict(body["data"])
    assert response.status in (400, 409), (response.status, body)
    assert set(body) == {"error"}
    return None


def payment(**fields: Any) -> dict[str, Any]:
    return {"reference": f"fuzz-{secrets.token_hex(8)}", "amount": 100, **fields}


_VALID = b'{"reference": "x", "amount": 100, "metadata": {"a": "\\u00e9"}, "title": null}'
_PIECES = [
    b'"',
    b"{",
    b"}",
    b"[",
    b",",
    b":",
    b"\\",
    b"\\ud800",
    b"\xff",
    b"NaN",
    b"1e9",
    b"-",
    b" ",
]


@st.composite
def broken_json(draw: st.DrawFn) -> bytes:
    """A valid body with some bytes taken out, doubled or put in."""
    body = _VALID
    for _ in range(draw(st.integers(1, 3))):
        at, length = draw(st.integers(0, len(body))), draw(st.integers(0, 4))
        put_in = draw(st.sampled_from(_PIECES) | st.binary(max_size=3))
        body = body[:at] + put_in + body[at + length :]
    return body


@for_short_and_long
def test_bodies(cases: int, post: Callable[[bytes], Response]) -> None:
    def check(body: bytes) -> None:
        response = post(body)
        try:
            json.loads(body.decode("utf-8"))
        except (ValueError, RecursionError):
            assert response.status == 400, (body, response)
            assert json.loads(response.body)["error"]["code"] == "invalid_json", (body, response)
        else:
            created(response)

    fuzz(cases, broken_json() | st.binary(max_size=60), check)


_numbers = (
    st.integers(-5, 10_000_000_005).map(str)
    | st.integers(-(10**40), 10**40).map(str)
    | st.floats(allow_nan=False, allow_infinity=False).map(repr)
    | st.from_regex(r"-?(0|[1-9][0-9]{0,12})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
)


@for_short_and_long
def test_amounts(cases: int, post: Callable[[bytes], Response]) -> None:
    """Exactly the integers from 1 to 9,999,999,999, written as integers."""

    def check(number: str) -> None:
        text = json.dumps(payment(amount=7)).replace(": 7", f": {number}")
        made = created(post(text.encode()))
        digits = number.isdecimal() and number.isascii()
        wanted = int(number) if digits and len(number) < 12 else 0
        if 1 <= wanted <= 9_999_999_999:
            assert made is not None
            assert made["amount"] == wanted
        else:
            assert made is None, number

    fuzz(cases, _numbers, check)


_moments = st.datetimes(datetime(2000, 1, 1), datetime(2199, 12, 31)).flatmap(
    lambda moment: st.sampled_from(
        [
            moment.isoformat(timespec="seconds"),
            moment.isoformat(timespec="microseconds"),
            moment.isoformat(timespec="seconds") + "Z",
            moment.isoformat(" ", timespec="seconds") + "-11:30",
            moment.date().isoformat(),
            moment.isoformat(timespec="minutes"),
            moment.strftime("%G-W%V-%u"),
            moment.isoformat(timespec="seconds") + "+24:00",
            moment.strftime("%Y%m%dT%H%M%S"),
        ]
    )
)
_shuffled = st.text("0123456789-:.TZz+ ", max_size=30)


@for_short_and_long
def test_timestamps(cases: int, post: Callable[[bytes], Response]) -> None:
    def check(text: str) -> None:
        made = created(post(json.dumps(payment(expires_at=text)).encode()))
        if made is None:
            return
        moment = datetime.fromisoformat(text.strip().upper().replace(" ", "T"))
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=MALDIVES)
        assert made["expires_at"] == moment.astimezone(MALDIVES).replace(microsecond=0).isoformat()
        assert moment > datetime.now(UTC)

    fuzz(cases, _moments | _shuffled, check)


_addresses = (
    st.from_regex(r"https?://[a-z0-9.@:\[\]%-]{1,20}(/[!-~]{0,20})?", fullmatch=True)
    | st.text(max_size=40)
    | st.text(max_size=30).map(lambda rest: "https://shop.example/" + rest)
    | st.integers(2030, 2060).map(lambda length: "https://shop.example/".ljust(length, "x"))
)


@for_short_and_long
def test_addresses(cases: int, post: Callable[[bytes], Response]) -> None:
    def check(text: str) -> None:
        made = created(post(json.dumps(payment(return_url=text)).encode()))
        if made is None or made["return_url"] is None:
            assert made is None or not text.strip()
            return
        kept = made["return_url"]
        assert kept == text.strip()
        assert len(kept.encode()) <= 2048
        parts = urlsplit(kept)
        assert parts.scheme in ("http", "https")
        assert parts.hostname
        assert parts.username is None
        assert parts.password is None

    fuzz(cases, _addresses, check)


@for_short_and_long
def test_cursors(cases: int, wire: Wire, fuzzed: Service) -> None:
    """One that was not handed out, or is another merchant's, is the first page."""
    shop, other = fuzzed.merchant(), fuzzed.merchant()
    for _ in range(3):
        shop.payment()
        other.payment()
    first = shop.get("/payments", limit=1).json()
    real = first["pagination"]["next_cursor"].encode()
    others = other.get("/payments", limit=1).json()["pagination"]["next_cursor"].encode()
    headers = {"X-API-Key": shop.secret_key.encode()}

    def check(cursor: bytes) -> None:
        target = b"/merchant/payments?limit=1&after=" + quote_from_bytes(cursor).encode()
        response = wire.send("GET", target, headers, b"")
        assert response.status == 200
        shown = json.loads(response.body)["data"]
        assert (shown == first["data"]) == (cursor != real), (cursor, real)

    changed = st.tuples(st.integers(0, len(real) - 1), st.integers(33, 126)).map(
        lambda change: real[: change[0]] + bytes([change[1]]) + real[change[0] + 1 :]
    )
    cut = st.integers(0, len(real)).map(lambda length: real[:length])
    fuzz(cases, changed | cut | st.binary(max_size=60) | st.sampled_from([others, real]), check)


_schemes = st.sampled_from(
    [b"Bearer ", b"Basic ", b"basic  ", b"BEARER", b"Digest ", b"", b"\xff "]
)


@for_short_and_long
def test_credentials(cases: int, wire: Wire, targets: Targets) -> None:
    """Nothing but the right ones lets anybody in, on any of the interfaces."""
    pairs = st.binary(max_size=40).map(base64.b64encode)
    key = targets.shop.secret_key.encode()
    near = (
        st.integers(0, len(key))
        .map(lambda at: key[:at] + b"x" + key[at + 1 :])
        .filter(lambda changed: changed != key)
    )
    values = st.tuples(_schemes, header_values | pairs | near).map(b"".join)

    def check(value: bytes) -> None:
        value = value.strip()
        for name in ("Authorization", "X-API-Key"):
            for path in (b"/merchant/payments", b"/wallet/balance"):
                response = wire.send("GET", path, {name: value}, b"")
                assert response.status == 401, (name, value, response)
        form = b"grant_type=client_credentials"
        headers = {"Authorization": value, "Content-Type": b"application/x-www-form-urlencoded"}
        response = wire.send("POST", b"/merchant/oauth/token", headers, form)
        assert response.status in (400, 401), (value, response)

    fuzz(cases, values, check)


_cookies = st.lists(
    st.tuples(
        st.sampled_from([b"laari", b"laari-dashboard", b"__Host-laari", b"x"]) | header_values,
        header_values | st.binary(min_size=16, max_size=40).map(base64.urlsafe_b64encode),
    ).map(b"=".join),
    max_size=5,
).map(b"; ".join)


@for_short_and_long
def test_cookies(cases: int, wire: Wire) -> None:
    """A page that needs a log-in leads there, whatever a browser sends."""

    def check(cookie: bytes) -> None:
        for path in (b"/app", b"/dashboard"):
            response = wire.send("GET", path, {"Cookie": cookie.strip()}, b"")
            assert response.status in (302, 303), (path, cookie, response.status)
        response = wire.send("GET", b"/app/login", {"Cookie": cookie.strip()}, b"")
        assert response.status == 200, (cookie, response.status)

    fuzz(cases, _cookies, check)


_names = st.sampled_from(["form_token", "identity", "password", "grant_type", "client_id", "scope"])
_forms = st.lists(st.tuples(_names | st.text(max_size=8), st.text(max_size=20)), max_size=5).map(
    lambda pairs: "&".join(
        f"{quote_from_bytes(name.encode())}={quote_from_bytes(value.encode())}"
        for name, value in pairs
    ).encode()
)
_types = st.sampled_from(
    [
        b"application/x-www-form-urlencoded",
        b"application/x-www-form-urlencoded; charset=utf-16",
        b"multipart/form-data; boundary=x",
        b"multipart/form-data",
        b"text/plain",
        b"\xff",
    ]
)


@for_short_and_long
def test_forms(cases: int, wire: Wire, targets: Targets) -> None:
    """Forms of the pages and of the token endpoint: refused as such, and nobody is logged in."""
    link = urlsplit(targets.shop.payment()["payment_url"]).path.encode()
    paths = [b"/app/login", b"/dashboard/login", link + b"/login", link + b"/sandbox/pay"]

    def check(form: tuple[bytes, bytes]) -> None:
        body, kind = form
        headers = {"Content-Type": kind, "Sec-Fetch-Site": b"same-origin"}
        for path in paths:
            response = wire.send("POST", path, headers, body)
            assert 400 <= response.status < 500, (path, form, response.status)
        response = wire.send("POST", b"/merchant/oauth/token", headers, body)
        assert response.status in (400, 401), (form, response)
        assert "error" in json.loads(response.body)

    bodies = _forms | st.binary(max_size=80) | _forms.map(lambda body: body + b"&%ff=%00;%zz")
    fuzz(cases, st.tuples(bodies, _types), check)

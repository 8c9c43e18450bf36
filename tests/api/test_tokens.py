"""The token endpoint, and what a token is good for and for how long."""

import base64
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from laari.rules.merchants.scopes import SCOPES
from laari.store.merchants import oauth
from tests.serving import Merchant, Service, ask_for_token, serving

DAY = 86_400
ALL = " ".join(SCOPES)
FORM = {"grant_type": "client_credentials"}


def token_error(response: httpx.Response) -> tuple[int, str]:
    body = response.json()
    assert set(body) == {"error", "error_description"}
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Pragma"] == "no-cache"
    return response.status_code, body["error"]


def send(service: Service, body: str | bytes = "", **options: Any) -> httpx.Response:
    headers = {"Content-Type": "application/x-www-form-urlencoded", **options.pop("headers", {})}
    address = f"{service.origin}/merchant/oauth/token"
    return httpx.post(address, content=body, headers=headers, **options)


@pytest.mark.parametrize("way", ["basic", "form"])
def test_a_token_is_given(shop: Merchant, way: str) -> None:
    client_id, secret = shop.client()
    response = (
        ask_for_token(shop.service, auth=(client_id, secret))
        if way == "basic"
        else ask_for_token(shop.service, client_id=client_id, client_secret=secret)
    )
    assert response.status_code == 200
    body = response.json()
    assert len(body.pop("access_token")) == len("at_") + 43
    assert body == {"token_type": "Bearer", "expires_in": DAY, "scope": ALL}
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Pragma"] == "no-cache"
    assert "Service-Version" not in response.headers


def test_basic_credentials_may_be_form_encoded(shop: Merchant) -> None:
    client_id, secret = shop.client()
    encoded = "".join(f"%{ord(character):02x}" for character in secret)
    response = ask_for_token(shop.service, auth=(client_id, encoded))
    assert response.status_code == 200


@pytest.mark.parametrize(
    ("asked", "granted"),
    [
        (None, "payments:create payments:read"),
        ("", "payments:create payments:read"),
        ("  ", "payments:create payments:read"),
        ("payments:read", "payments:read"),
        ("payments:read payments:create", "payments:create payments:read"),
        ("payments:read payments:read", "payments:read"),
    ],
)
def test_scopes_that_are_granted(shop: Merchant, asked: str | None, granted: str) -> None:
    client = shop.client("payments:create payments:read")
    form = {} if asked is None else {"scope": asked}
    response = ask_for_token(shop.service, auth=client, **form)
    assert response.json()["scope"] == granted
    with shop.bearer(response.json()["access_token"]) as caller:
        assert caller.get("/payments").status_code == 200
        expected = 400 if "create" in granted else 403
        assert caller.post("/payments", json={}).status_code == expected


@pytest.mark.parametrize(
    "asked", ["payments:cancel", "payments:read payments:cancel", "everything", "PAYMENTS:READ"]
)
def test_scopes_that_are_not_granted(shop: Merchant, asked: str) -> None:
    client = shop.client("payments:create payments:read")
    response = ask_for_token(shop.service, auth=client, scope=asked)
    assert token_error(response) == (400, "invalid_scope")


def test_a_client_without_scopes(shop: Merchant) -> None:
    client = shop.client("")
    response = ask_for_token(shop.service, auth=client)
    assert (response.status_code, response.json()["scope"]) == (200, None)
    refused = ask_for_token(shop.service, auth=client, scope="payments:read")
    assert token_error(refused) == (400, "invalid_scope")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", "invalid_request"),
        ("grant_type=", "invalid_request"),
        ("grant_type=password", "unsupported_grant_type"),
        ("grant_type=client_credentials&grant_type=client_credentials", "invalid_request"),
        ("grant_type=client_credentials", "invalid_request"),
        ("grant_type=client_credentials&client_id=x", "invalid_request"),
        ("grant_type=client_credentials&client_secret=x", "invalid_request"),
        (
            "grant_type=client_credentials&client_id=x&client_id=x&client_secret=x",
            "invalid_request",
        ),
        (
            "grant_type=client_credentials&scope=a&scope=b&client_id=x&client_secret=x",
            "invalid_request",
        ),
        (f"grant_type=client_credentials&client_id={'x' * 257}&client_secret=x", "invalid_request"),
        (f"grant_type=client_credentials&client_id=x&client_secret={'x' * 257}", "invalid_request"),
        ("grant_type=%ff", "invalid_request"),
        (b"grant_type=\xff", "invalid_request"),
        ("x" * 20_000, "invalid_request"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_requests_that_are_wrong(service: Service, body: str | bytes, expected: str) -> None:
    assert token_error(send(service, body)) == (400, expected)


def test_a_form_has_a_bounded_number_of_fields(shop: Merchant) -> None:
    client_id, secret = shop.client()
    asked = f"grant_type=client_credentials&client_id={client_id}&client_secret={secret}"
    assert send(shop.service, asked + "&a=1" * 47).status_code == 200
    response = send(shop.service, asked + "&a=1" * 48)
    assert token_error(response) == (400, "invalid_request")
    assert "50 fields" in response.json()["error_description"]


def test_the_content_type(shop: Merchant) -> None:
    body, auth = "grant_type=client_credentials", shop.client()
    for wrong in ("application/json", "text/plain", ""):
        response = send(shop.service, body, auth=auth, headers={"Content-Type": wrong})
        assert token_error(response) == (400, "invalid_request")
    with_charset = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    assert send(shop.service, body, auth=auth, headers=with_charset).status_code == 200


def test_a_secret_is_sent_once(shop: Merchant) -> None:
    client_id, secret = shop.client()
    for form in ({"client_secret": secret}, {"client_id": client_id, "client_secret": secret}):
        response = ask_for_token(shop.service, auth=(client_id, secret), **form)
        assert token_error(response) == (400, "invalid_request")


def test_the_body_may_repeat_the_client_id_of_basic_but_name_no_other(shop: Merchant) -> None:
    (client_id, secret), (other_id, _) = shop.client(), shop.client()
    for auth in ((client_id, secret), (client_id.replace("_", "%5F"), secret)):
        same = ask_for_token(shop.service, auth=auth, client_id=client_id)
        assert same.status_code == 200, same.text
    other = ask_for_token(shop.service, auth=(client_id, secret), client_id=other_id)
    assert token_error(other) == (400, "invalid_request")
    # A wrong secret is still a wrong one, and the id in the body does not stand in for Basic's.
    wrong = ask_for_token(shop.service, auth=(client_id, "cs_wrong"), client_id=client_id)
    assert token_error(wrong) == (401, "invalid_client")
    blank = ask_for_token(shop.service, auth=("", secret), client_id=client_id)
    assert token_error(blank) == (400, "invalid_request")


@pytest.mark.parametrize(
    "header",
    [
        "Basic",
        "Basic !",
        "Basic " + base64.b64encode(b"no colon").decode(),
        "Basic " + base64.b64encode(b"cl_unknown:cs_wrong").decode(),
        "Basic " + base64.b64encode(b"cl_\0:\0").decode(),
    ],
)
def test_basic_credentials_that_are_wrong(service: Service, header: str) -> None:
    response = send(service, "grant_type=client_credentials", headers={"Authorization": header})
    assert token_error(response) == (401, "invalid_client")
    assert response.headers["WWW-Authenticate"].startswith("Basic")


def test_clients_that_may_not(service: Service) -> None:
    shop, other = service.merchant(), service.merchant()
    client_id, secret = shop.client()
    for auth in (
        (client_id, "cs_wrong"),
        (client_id, other.client()[1]),
        (client_id.upper(), secret),
        (shop.id, shop.secret_key),
    ):
        assert token_error(ask_for_token(service, auth=auth)) == (401, "invalid_client")
    service.laari("merchant", "update", shop.id, "--inactive")
    response = ask_for_token(service, auth=(client_id, secret))
    assert token_error(response) == (401, "invalid_client")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_only_post(service: Service, method: str) -> None:
    response = httpx.request(method, f"{service.origin}/merchant/oauth/token")
    assert token_error(response) == (405, "invalid_request")
    assert response.headers["Allow"] == "POST"


def test_the_version_header_does_not_apply(shop: Merchant) -> None:
    response = send(
        shop.service,
        "grant_type=client_credentials",
        auth=shop.client(),
        headers={"Service-Version": "x"},
    )
    assert response.status_code == 200


def reads(caller: httpx.Client) -> int:
    return caller.get("/payments").status_code


@pytest.mark.parametrize("wrong", ["at_", "at_wrong", "é", "a b"])
def test_tokens_that_are_none(shop: Merchant, wrong: str) -> None:
    header = {"Authorization": f"Bearer {wrong}".encode()}
    # The key beside it is not tried.
    response = shop.http.get("/payments", headers=header)
    assert response.status_code == 401
    assert "Bearer" in response.headers["WWW-Authenticate"]


def test_a_token_comes_before_a_key(shop: Merchant) -> None:
    token = shop.token("payments:create")
    both = {"Authorization": f"bearer  {token}"}
    assert shop.http.get("/payments", headers=both).status_code == 403
    assert shop.http.post("/payments", json={}, headers=both).status_code == 400
    with_wrong_key = {**both, "X-API-Key": "wrong"}
    assert shop.http.post("/payments", json={}, headers=with_wrong_key).status_code == 400


def test_another_scheme_is_ignored(shop: Merchant) -> None:
    assert shop.http.get("/payments", headers={"Authorization": "Digest x"}).status_code == 200


def test_revoking_the_client_ends_its_tokens_at_once(shop: Merchant) -> None:
    client = shop.client()
    tokens = [ask_for_token(shop.service, auth=client).json()["access_token"] for _ in range(3)]
    other = shop.token()
    callers = [shop.bearer(token) for token in tokens]
    assert [reads(caller) for caller in callers] == [200] * 3
    result = shop.service.laari("client", "revoke", client[0], "--json")
    assert result.returncode == 0, result.stderr
    assert [reads(caller) for caller in callers] == [401] * 3
    assert token_error(ask_for_token(shop.service, auth=client)) == (401, "invalid_client")
    assert reads(shop.bearer(other)) == 200


def expire(shop: Merchant, client_id: str, when: str) -> None:
    shop.service.execute(
        "UPDATE oauth_clients SET created_at = now() - interval '1 day', "
        f"expires_at = {when} WHERE id = $1",
        client_id,
    )


def test_an_expired_client_gets_no_token_and_its_tokens_end(shop: Merchant) -> None:
    client, other = shop.client(), shop.client()
    expire(shop, client[0], "now() + interval '1 hour'")
    granted = ask_for_token(shop.service, auth=client).json()
    assert 3500 < granted["expires_in"] <= 3600
    callers = [
        shop.bearer(granted["access_token"]),
        shop.bearer(ask_for_token(shop.service, auth=other).json()["access_token"]),
    ]
    assert [reads(caller) for caller in callers] == [200, 200]
    expire(shop, client[0], "now()")
    assert [reads(caller) for caller in callers] == [401, 200]
    assert token_error(ask_for_token(shop.service, auth=client)) == (401, "invalid_client")
    assert ask_for_token(shop.service, auth=other).status_code == 200


def last_use(shop: Merchant, client_id: str) -> Any:
    statement = "SELECT last_used_at FROM oauth_clients WHERE id = $1"
    return shop.service.execute(statement, client_id)[0]["last_used_at"]


def test_a_client_has_its_last_use_from_its_tokens(shop: Merchant) -> None:
    client, unused = shop.client(), shop.client()
    assert ask_for_token(shop.service, auth=(client[0], "cs_wrong")).status_code == 401
    token = ask_for_token(shop.service, auth=client).json()["access_token"]
    eventually(lambda: last_use(shop, client[0]) is not None)
    by_token = last_use(shop, client[0])
    caller = shop.bearer(token)
    assert [reads(caller) for _ in range(20)] == [200] * 20
    time.sleep(0.3)
    assert last_use(shop, client[0]) == by_token  # not a minute later
    assert last_use(shop, unused[0]) is None


def test_a_token_is_a_use_of_its_client(shop: Merchant) -> None:
    client, token = shop.client(), "at_" + "x" * 43 + shop.id
    held = oauth.token_digest(shop.service.master_key, token)
    shop.service.execute(
        "INSERT INTO access_tokens VALUES ($1, $2, 'payments:read', now(), "
        "now() + interval '1 hour', 0, $3)",
        held,
        client[0],
        oauth.bind_token(shop.service.master_key, held, client[0], "payments:read"),
    )
    assert reads(shop.bearer(token)) == 200
    eventually(lambda: last_use(shop, client[0]) is not None)


def test_a_use_that_cannot_be_written_fails_no_request(shop: Merchant) -> None:
    client = shop.client()
    shop.service.execute(
        "ALTER TABLE oauth_clients ADD CONSTRAINT unwritable "
        f"CHECK (id <> '{client[0]}' OR last_used_at IS NULL)"
    )
    try:
        response = ask_for_token(shop.service, auth=client)
        assert response.status_code == 200
        assert reads(shop.bearer(response.json()["access_token"])) == 200
        time.sleep(0.3)
        assert last_use(shop, client[0]) is None
    finally:
        shop.service.execute("ALTER TABLE oauth_clients DROP CONSTRAINT unwritable")


def eventually(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_both_secret_keys_work_until_the_overlap_ends(shop: Merchant) -> None:
    rotate = ("merchant", "rotate-key", shop.id, "--json")
    new = json.loads(shop.service.laari(*rotate, "--overlap", "24").stdout)["secret_key"]
    base = f"{shop.service.origin}/merchant/payments"

    def statuses() -> list[int]:
        return [
            httpx.get(base, **ways).status_code
            for key in (shop.secret_key, new)
            for ways in ({"headers": {"X-API-Key": key}}, {"auth": (shop.id, key)})
        ]

    assert statuses() == [200] * 4
    refused = shop.service.laari(*rotate, "--overlap", "1")
    assert refused.returncode == 1
    assert statuses() == [200] * 4
    shop.service.execute("UPDATE merchants SET old_secret_until = now() WHERE id = $1", shop.id)
    assert statuses() == [401, 401, 200, 200]


def test_a_token_follows_its_merchant(service: Service) -> None:
    shop = service.merchant()
    caller = shop.bearer(shop.token())
    payment = shop.payment()
    assert len(caller.get("/payments").json()["data"]) == 1
    service.laari("merchant", "update", shop.id, "--mode", "live")
    assert caller.get("/payments").json()["data"] == []
    assert caller.get(f"/payments/{payment['id']}").status_code == 404
    assert caller.post("/sandbox/clock", json={"reset": True}).status_code == 404
    service.laari("merchant", "update", shop.id, "--inactive")
    assert reads(caller) == 401
    service.laari("merchant", "update", shop.id, "--active", "--mode", "sandbox")
    assert len(caller.get("/payments").json()["data"]) == 1


def test_a_token_lives_a_day_on_the_sandbox_clock(shop: Merchant) -> None:
    caller = shop.bearer(shop.token())
    shop.advance(DAY - 60)
    assert reads(caller) == 200
    shop.advance(60)
    assert reads(caller) == 401
    # A token that is given now starts its own day.
    late = shop.bearer(shop.token())
    assert reads(late) == 200
    shop.advance(DAY)
    assert reads(late) == 401


def test_no_clock_makes_a_token_live_longer(shop: Merchant) -> None:
    shop.advance(100 * DAY)
    token = shop.token()
    shop.control("clock", {"reset": True})
    caller = shop.bearer(token)
    assert reads(caller) == 200
    shop.service.execute(
        "UPDATE access_tokens SET issued_at = issued_at - interval '1 day', "
        "expires_at = now() WHERE digest = $1",
        oauth.token_digest(shop.service.master_key, token),
    )
    assert reads(caller) == 401


def test_neither_token_nor_secret_is_stored(shop: Merchant) -> None:
    client_id, secret = shop.client()
    token = ask_for_token(shop.service, auth=(client_id, secret)).json()["access_token"]
    rows = shop.service.execute(
        "SELECT c::text || a::text AS row FROM oauth_clients c "
        "JOIN access_tokens a ON a.client_id = c.id WHERE c.id = $1",
        client_id,
    )
    assert len(rows) == 1
    assert secret not in rows[0]["row"]
    assert token not in rows[0]["row"]


@pytest.fixture(scope="module")
def strict(
    engine: Any, service: Service, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """A service behind a proxy on the same database: https only, low limits."""
    with serving(
        service.dsn,
        tmp_path_factory.mktemp("strict"),
        LAARI_REQUIRE_HTTPS="on",
        LAARI_TRUSTED_PROXIES="127.0.0.1",
        LAARI_TOKEN_FAILURES_PER_MINUTE="3",
        LAARI_TOKENS_PER_MINUTE="20",
        LAARI_RECIPIENT_MISSES_PER_MINUTE="3",
    ) as strict:
        yield strict


def https(address: str = "192.0.2.1") -> dict[str, str]:
    return {"X-Forwarded-Proto": "https", "X-Forwarded-For": address}


def test_https_is_required(strict: Service) -> None:
    shop = strict.merchant()
    client = shop.client()
    plain = send(strict, "grant_type=client_credentials", auth=client)
    assert token_error(plain) == (403, "invalid_request")
    assert httpx.get(f"{strict.origin}/merchant/oauth/token").status_code == 405
    secure = send(strict, "grant_type=client_credentials", auth=client, headers=https())
    assert secure.status_code == 200


def test_failed_attempts_are_throttled_per_client_and_address(strict: Service) -> None:
    shop = strict.merchant()
    (client_id, secret), other = shop.client(), shop.client()

    def ask(auth: tuple[str, str], address: str = "192.0.2.2") -> httpx.Response:
        return send(strict, "grant_type=client_credentials", auth=auth, headers=https(address))

    for _ in range(3):
        assert token_error(ask((client_id, "wrong"))) == (401, "invalid_client")
    for guess in ("wrong", secret):  # nor is the right one told from a wrong one
        throttled = ask((client_id, guess))
        assert token_error(throttled) == (429, "temporarily_unavailable")
        assert 1 <= int(throttled.headers["Retry-After"]) <= 20
    assert ask(other).status_code == 200
    assert ask((client_id, secret), "192.0.2.3").status_code == 200
    # What the client itself says about its address does not count.
    assert ask((client_id, secret), "192.0.2.9, 192.0.2.2").status_code == 429


def test_guessing_over_many_clients_is_throttled_too(strict: Service) -> None:
    answers: list[int] = []
    while 429 not in answers and len(answers) < 300:
        response = send(
            strict,
            "grant_type=client_credentials",
            auth=(f"cl_{len(answers)}", "wrong"),
            headers=https("192.0.2.77"),
        )
        answers.append(response.status_code)
    assert len(answers) > 30  # ten times what one client may
    assert answers[-1] == 429


def test_successes_do_not_count_as_failures(strict: Service) -> None:
    client = strict.merchant().client()
    for _ in range(12):
        response = send(
            strict, "grant_type=client_credentials", auth=client, headers=https("192.0.2.4")
        )
        assert response.status_code == 200


def test_tokens_are_limited_per_client(strict: Service) -> None:
    shop = strict.merchant()
    client, other = shop.client(), shop.client()

    def ask(auth: tuple[str, str], address: str, body: str = "") -> httpx.Response:
        form = f"grant_type=client_credentials{body}"
        return send(strict, form, auth=auth, headers=https(address))

    # What issues no token takes none of them: another's guesses, a scope that is refused.
    for number in range(3):
        assert ask((client[0], "wrong"), f"192.0.2.{100 + number}").status_code == 401
    assert ask(client, "192.0.2.110", "&scope=unknown").status_code == 400
    issued, began = 0, time.monotonic()
    while (limited := ask(client, f"192.0.2.{120 + issued}")).status_code == 200:
        issued += 1
        # On a slow machine some come back while the others are used up.
        assert issued <= 20 + (time.monotonic() - began) / 3
    assert issued >= 20
    assert token_error(limited) == (429, "temporarily_unavailable")
    assert 1 <= int(limited.headers["Retry-After"]) <= 3  # one in three seconds: 20 a minute
    assert ask(other, "192.0.2.119").status_code == 200
    tokens = strict.execute("SELECT count(*) FROM access_tokens WHERE client_id = $1", client[0])
    assert tokens[0]["count"] == issued


def test_looking_for_customers_is_throttled(strict: Service) -> None:
    strict.customer(vpa="throttled")
    shop = strict.merchant(mode="live")
    shop.http.headers.update(https())

    def ask(vpa: str, reference: str = "r") -> httpx.Response:
        customer = {"type": "vpa", "value": vpa}
        body = {"reference": reference, "amount": 1, "customer": customer}
        return shop.post("/payment-requests", body)

    assert ask("throttled", "first").status_code == 201
    for n in range(3):
        assert ask(f"nobody{n}").json()["error"]["code"] == "customer_not_found"
    for vpa in ("nobody", "throttled"):  # the answer does not tell who exists
        throttled = ask(vpa)
        assert throttled.status_code == 429
        assert throttled.json()["error"]["code"] == "rate_limited"
        assert 1 <= int(throttled.headers["Retry-After"]) <= 20
    # A retry looks for nobody.
    assert ask("throttled", "first").status_code == 201
    assert shop.get("/payment-requests").status_code == 200
    other = strict.merchant(mode="live")
    other.http.headers.update(https())
    body = {"reference": "r", "amount": 1, "customer": {"type": "vpa", "value": "throttled"}}
    assert other.post("/payment-requests", body).status_code == 201

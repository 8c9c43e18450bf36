"""The TypeScript client under node, against the real service and through the faulty proxy."""

import fcntl
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.clients import test_webhooks as signing
from tests.clients.faulty_proxy import FaultyProxy, Seen, faulty_proxy
from tests.clients.test_python_client import operations_of_the_document, reached, tokens_asked
from tests.clients.test_python_hostile import EXPECTED
from tests.clients.test_storm import AT_ONCE, LONG, SHORT, Write, weather
from tests.serving import Merchant, free_port

PROJECT = Path(__file__).parents[2] / "clients/typescript"
SCRIPTS = Path(__file__).parent / "typescript"
SECRET = "sk_this-must-never-be-seen"
STRICT = ("--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes")
MODULES = ("--target", "es2022", "--module", "nodenext", "--moduleResolution", "nodenext")
LIBRARIES = ("--lib", "es2022,dom", "--skipDefaultLibCheck")  # which are the compiler's own

Node: TypeAlias = Callable[..., str]

missing = [name for name in ("node", "tsc") if shutil.which(name) is None]
pytestmark = [
    pytest.mark.ci,
    pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}"),
]


def run(*command: str | Path, cwd: Path, **environ: str) -> str:
    ended = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, f"{command}:\n{ended.stdout[-4000:]}\n{ended.stderr[-4000:]}"
    return ended.stdout


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made by the first of the processes that run tests beside each other."""
    common = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        common = common.parent
    place = common / "typescript"
    with (common / "typescript.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "compiled").exists():
            compile_project(place)
            (place / "compiled").touch()
    return place


def compile_project(place: Path) -> None:
    """A project that has the package installed, as built, and the scripts compiled against it."""
    shutil.rmtree(place, ignore_errors=True)
    package = place / "node_modules/laari-client"
    shutil.copytree(PROJECT, package, ignore=shutil.ignore_patterns("dist", "node_modules"))
    run("tsc", "-p", ".", "--skipDefaultLibCheck", cwd=package)
    shutil.rmtree(package / "src")  # what is published has none
    (place / "package.json").write_text('{"type": "module"}')
    for script in SCRIPTS.glob("*.ts"):
        shutil.copy(script, place)
    scripts = [each.name for each in place.glob("*.ts")]
    run("tsc", *STRICT, *MODULES, *LIBRARIES, *scripts, cwd=place)


@pytest.fixture
def node(project: Path) -> Node:
    return lambda script, *arguments, **environ: run(
        "node", f"{script}.js", *arguments, cwd=project, **environ
    )


def test_every_operation_of_the_interface(node: Node, proxy: FaultyProxy, shop: Merchant) -> None:
    assert node("walk", proxy.origin, shop.secret_key) == "done\n"
    named = {each for each in reached(proxy.seen) if "{id}" in each[1] or "id" not in each[1]}
    assert named >= operations_of_the_document()
    for each in proxy.seen:
        assert ("x-api-key" in each.headers) != ("/public/" in each.target)


def test_the_package_has_no_dependencies() -> None:
    told = json.loads((PROJECT / "package.json").read_text())
    assert not any("ependencies" in name for name in told)
    assert told["type"] == "module"
    for module in (PROJECT / "src").glob("*.ts"):
        imported = re.findall(r'(?:from|import)\s*\(?"([^"]+)"', module.read_text())
        assert [name for name in imported if not name.startswith("./")] in ([], ["node:crypto"])


def storm(node: Node) -> Callable[[str, str, str, list[Write]], dict[str, str]]:
    return lambda origin, key, authorization, writes: json.loads(
        node("storm", origin, key, authorization, str(len(writes)), str(AT_ONCE))
    )


def test_writes_are_neither_doubled_nor_lost(
    node: Node, proxy: FaultyProxy, shop: Merchant
) -> None:
    weather(proxy, shop, storm(node), SHORT)


@pytest.mark.campaign
def test_a_thousand_writes_are_neither_doubled_nor_lost(
    node: Node, proxy: FaultyProxy, shop: Merchant
) -> None:
    weather(proxy, shop, storm(node), LONG)


def failing(node: Node, origin: str, calls: list[str], **options: Any) -> list[dict[str, Any]]:
    lines = node("hostile", origin, SECRET, json.dumps(options), *calls).splitlines()
    return [json.loads(line) for line in lines]


def in_turn(faults: list[str]) -> Callable[[Seen], str]:
    coming = iter(faults)
    return lambda _: next(coming)


def test_every_bad_answer_is_an_error_that_keeps_the_secret(node: Node, proxy: FaultyProxy) -> None:
    faults = [fault for fault in EXPECTED if fault != "200 wrong shape"]  # shapes are not checked
    proxy.choose = in_turn(faults)
    with faulty_proxy(proxy.upstream) as elsewhere:
        proxy.redirect_to = elsewhere.origin
        told = failing(node, proxy.origin, ["create"] * len(faults), maxAttempts=1, timeout=1000)
        assert elsewhere.seen == []
    for fault, each in zip(faults, told, strict=True):
        kind, code, status = EXPECTED[fault]
        assert (each["name"], each["code"], each["status"]) == (kind.__name__, code, status), fault
        assert SECRET not in each["shown"]
    assert len(proxy.seen) == len(faults)
    assert told[faults.index("new code")]["field"] == "amount"


def test_what_adds_up_is_not_repeated(node: Node, proxy: FaultyProxy) -> None:
    unknown = ["502 html", "503 html", "200 cut", "200 html", "reset before", "slow after"]
    proxy.choose = in_turn(unknown)
    told = failing(node, proxy.origin, ["clock"] * len(unknown), timeout=1000)
    # One request for each call: a repeat would have met the next call's fault.
    assert [each["code"] for each in told] == [EXPECTED[fault][1] for fault in unknown]
    assert len(proxy.seen) == len(unknown)
    proxy.choose = in_turn(["503", "429 at once", "401"])  # certain that nothing was begun
    assert failing(node, proxy.origin, ["clock"])[0]["status"] == 401


def test_waits_are_honoured_and_come_to_an_end(node: Node, proxy: FaultyProxy) -> None:
    proxy.choose = in_turn(["429", "401"])
    (told,) = failing(node, proxy.origin, ["create"])
    assert told["status"] == 401
    assert told["seconds"] >= 1
    proxy.choose = in_turn(["429 an hour"])
    (told,) = failing(node, proxy.origin, ["create"])
    assert told["retryAfter"] == 3600
    assert told["seconds"] < 5
    proxy.choose = lambda _: "drip"
    (told,) = failing(node, proxy.origin, ["create"], deadline=1000)
    assert (told["code"], told["seconds"] < 5) == ("timeout", True)
    proxy.choose = lambda _: "502 html"
    proxy.seen.clear()
    failing(node, proxy.origin, ["create"], maxAttempts=3)
    assert len(proxy.seen) == 3
    keys = {each.headers["idempotency-key"] for each in proxy.seen}
    assert len(keys) == 1
    away = f"http://127.0.0.1:{free_port()}"
    (told,) = failing(node, away, ["create"], deadline=1000)
    assert told["code"] == "connection_failed"
    assert f"could not be reached at {away}: ECONNREFUSED. Is it running?" in told["shown"]


def test_a_token_is_fetched_and_renewed_once(
    node: Node, proxy: FaultyProxy, shop: Merchant
) -> None:
    assert node("tokens", proxy.origin, *shop.client()) == "done\n"
    assert tokens_asked(proxy) == 2


def test_options_that_cannot_work_are_refused(node: Node) -> None:
    base = {"baseUrl": "https://pay.example"}
    cases = {
        "no credentials": base,
        "secretKey is empty": {**base, "secretKey": ""},
        "secretKey is empty, or": {**base, "secretKey": f"{SECRET}\n"},
        "clientSecret is empty": {**base, "clientId": "c", "clientSecret": f"{SECRET} "},
        "go together": {**base, "clientId": "c"},
        "not both": {**base, "secretKey": SECRET, "clientId": "c", "clientSecret": SECRET},
        "scope is": {**base, "secretKey": SECRET, "scope": "payments:read"},
        "timeout": {**base, "secretKey": SECRET, "timeout": 0},
        "not a URL": {"baseUrl": "pay.example", "secretKey": SECRET},
        "http or https": {"baseUrl": "ftp://pay.example", "secretKey": SECRET},
        "has no credentials": {"baseUrl": "https://a:b@pay.example", "secretKey": SECRET},
        "query": {"baseUrl": "https://pay.example?a", "secretKey": SECRET},
        "Plain http": {"baseUrl": "http://127.0.0.1.evil.example", "secretKey": SECRET},
        "Laari": {**base, "secretKey": SECRET, "walletKey": SECRET},
    }
    told = node("configured", json.dumps([*cases.values()])).splitlines()
    for wanted, said in zip(cases, told, strict=True):
        assert wanted in said, said
        assert SECRET not in said
        assert ("ConfigurationError" in said) == (wanted != "Laari"), said


@pytest.mark.parametrize("path", ["/", "/merchant", "/merchant/"])
def test_an_address_may_end_in_a_slash_or_be_the_merchant_interfaces(
    node: Node, shop: Merchant, path: str
) -> None:
    assert node("storm", shop.service.origin + path, shop.secret_key, "-", "1", "1")


def test_an_address_may_have_a_path(node: Node, proxy: FaultyProxy) -> None:
    failing(node, f"{proxy.origin}/pay/", ["create"])
    assert proxy.seen[0].target == "/pay/merchant/payments"


def test_webhooks_are_verified(node: Node) -> None:
    body = signing.BODY.decode()
    good = {"body": body, "header": signing.header(), "secret": signing.SECRET}
    good["now"] = signing.NOW
    old, new = "sk_old", "sk_new"
    by_new = signing.header(signing.sign(secret=new))
    other = json.dumps({**signing.SAMPLE, "type": "payout.sent"})
    cases: list[tuple[dict[str, Any], str]] = [
        (good, "webhook.test"),
        ({**good, "now": signing.NOW + 300}, "webhook.test"),
        ({**good, "now": signing.NOW - 300}, "webhook.test"),
        ({**good, "now": signing.NOW + 301}, "WebhookVerificationError"),
        ({**good, "now": signing.NOW - 301}, "WebhookVerificationError"),
        ({**good, "body": f"{body} "}, "WebhookVerificationError"),
        ({**good, "secret": [old, new], "header": by_new}, "webhook.test"),
        ({**good, "secret": [old], "header": by_new}, "WebhookVerificationError"),
        ({**good, "header": f"{signing.header('0' * 64, signing.sign())},v2=x"}, "webhook.test"),
        ({**good, "secret": ""}, "ConfigurationError"),
        ({**good, "secret": []}, "ConfigurationError"),
        ({**good, "secret": None}, "ConfigurationError"),
        ({**good, "body": signing.SAMPLE}, "ConfigurationError"),
        ({**good, "body": None}, "ConfigurationError"),
        ({**good, "header": {"Service-Signature": signing.header()}}, "ConfigurationError"),
        (
            {**good, "body": "[]", "header": signing.header(signing.sign(b"[]"))},
            "InvalidResponseError",
        ),
        (
            {**good, "body": other, "header": signing.header(signing.sign(other.encode()))},
            "payout.sent",
        ),
    ]
    cases += [
        ({**good, "header": forged}, "WebhookVerificationError")
        for forged in signing.FORGED.values()
    ]
    told = node("webhooks", json.dumps([case for case, _ in cases])).splitlines()
    assert told == [wanted for _, wanted in cases]

"""The PHP client, against the real service and through the faulty proxy."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.clients import test_webhooks as signing
from tests.clients.faulty_proxy import FaultyProxy
from tests.clients.test_python_client import operations_of_the_document, reached
from tests.clients.test_storm import Write, weather
from tests.serving import Merchant

SCRIPTS = Path(__file__).parent / "php"
WRITES = 60  # one after the other: PHP has no threads

pytestmark = [
    pytest.mark.ci,
    pytest.mark.skipif(shutil.which("php") is None, reason="not installed: php"),
]


def php(script: str, *arguments: str, stdin: str = "") -> str:
    # With all complaints on, as a developer has them.
    ended = subprocess.run(
        [
            "php",
            "-d",
            "error_reporting=-1",
            "-d",
            "display_errors=stderr",
            f"{script}.php",
            *arguments,
        ],
        cwd=SCRIPTS,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout + ended.stderr
    return ended.stdout


def test_every_operation_of_the_interface(proxy: FaultyProxy, shop: Merchant) -> None:
    made = shop.service.laari("client", "create", shop.id, "--json").stdout
    client = json.loads(made)
    said = php("walk", proxy.origin, shop.secret_key, client["client_id"], client["client_secret"])
    assert said == "done\n"
    assert {*reached(proxy.seen)} >= operations_of_the_document()


def test_writes_are_neither_doubled_nor_lost(proxy: FaultyProxy, shop: Merchant) -> None:
    def storm(origin: str, key: str, authorization: str, writes: list[Write]) -> dict[str, str]:
        return json.loads(php("storm", origin, key, authorization, str(len(writes))))

    weather(proxy, shop, storm, WRITES)


def test_webhooks_are_verified_as_in_python() -> None:
    genuine = signing.header()
    cases = [
        (genuine, signing.SECRET, 0),
        (genuine, ["sk_other", signing.SECRET], 300),
        (genuine, signing.SECRET, 301),
        (genuine, "sk_other", 0),
        (genuine, "", 0),
        *((forged, signing.SECRET, 0) for forged in signing.FORGED.values()),
    ]
    body = signing.BODY if isinstance(signing.BODY, str) else signing.BODY.decode()
    sent = [[body, header, secret, signing.NOW + off] for header, secret, off in cases]
    said = json.loads(php("verify", stdin=json.dumps(sent)))
    event = json.loads(body)["id"]
    refused = ["Laari\\WebhookVerificationError"]
    assert said == [
        event,
        event,
        *refused * 2,
        "InvalidArgumentException",
        *refused * len(signing.FORGED),
    ]

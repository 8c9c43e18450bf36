"""What strangers wrote never reaches the operator's terminal as it is, from whichever command."""

import ast
import asyncio
import json
import logging
import threading
import unicodedata
from collections.abc import Iterator
from datetime import UTC, date, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import pytest

from laari.cli.main import run
from laari.cli.serve.demo import greeting, prepare
from laari.cli.terminal import output
from laari.cli.terminal.operation import actor
from laari.errors import LaariError
from laari.process.logs import JsonLine, TextLine
from laari.process.open import Service
from laari.rules.actors import Payer
from laari.rules.payments.authorizations import (
    ApproveAuthorization,
    AuthorizationDraft,
    CreateAuthorization,
)
from laari.rules.payments.payments import CreatePayment, PaymentDraft, PayPayment
from laari.rules.people.identities import EnterIdentity, Identity
from laari.rules.people.invitations import Offer
from laari.rules.people.persons import NewLogin
from laari.settings import read_settings
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from laari.store.reads.people import persons
from laari.visible import visible, visible_json
from tests import people, shops
from tests.actors import MASTER, OPERATOR, change
from tests.cli.commands import COMMANDS, NOBODY, arguments
from tests.devices import add_device
from tests.factors import begin
from tests.logins import opened
from tests.making import make_customer, make_merchant
from tests.passkeys import add_passkey
from tests.people import decided
from tests.sampling import some_of

pytestmark = pytest.mark.ci

# Sets the clipboard, clears the screen (twice: ESC and C1), turns the direction of what follows,
# hides a letter, overwrites the line, and begins one that looks like another merchant's.
HOSTILE = (
    "\x1b]52;c;ZXZpbA==\x07\x1b[2J\x9b2J\u202eevil\u2066\u200b\r\x08\x7f"
    "\nmer_fake  Shop  live\u2028x"
)
FORBIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # Unicode's categories
MASTER_KEY = bytes(32)


def unseen(text: str) -> set[str]:
    return {c for c in text if c != "\n" and unicodedata.category(c) in FORBIDDEN}


# Commands whose output shows what strangers wrote; the others may.
SHOWS = {
    "merchant list",
    "merchant show",
    "merchant update",
    "client list",
    "client revoke",
    "payment refund",
    "payment show",
    "authorization suspend",
    "webhook show",
    "webhook test",
    "merchant user list",
    "customer show",
    "customer list",
    "message list",
    "message resend",
}


class Stage(NamedTuple):
    """A database in which everything that a stranger may write is hostile."""

    database: str
    values: dict[str, str]  # what to give an argument or option of this name


class Receiver(BaseHTTPRequestHandler):
    """Acknowledges nothing, and says what it likes."""

    def do_POST(self) -> None:
        body = HOSTILE.encode()
        self.send_response(500)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def receiver() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/hook"
        server.shutdown()


@pytest.fixture(scope="module")
def stage(engine: Any, receiver: str) -> Stage:
    name = engine.named("hostile")
    asyncio.run(engine.copy(name))
    return Stage(name, asyncio.run(fill(engine.url(name), receiver)))


async def fill(dsn: str, receiver: str) -> dict[str, str]:
    async with connection_to(dsn) as connection:
        made = await make_merchant(
            connection,
            OPERATOR,
            MASTER_KEY,
            name="x",
            mode="live",
            webhook_url=receiver,
            email="evil@shop.mv",
        )
        merchant_id = made.merchant.id
        customer = await make_customer(
            connection,
            OPERATOR,
            name="x",
            mode="live",
            tier="business",
            balance=50_000,
            mobile="7771234",
        )
        identity = Identity("passport", HOSTILE, date(1990, 1, 1), HOSTILE)
        command = EnterIdentity(OPERATOR, customer.id, identity, "x")
        await decided(connection, command, master=MASTER_KEY)
        await add_passkey(connection, customer.id, master=MASTER_KEY)
        await add_device(connection, customer.id, master=MASTER_KEY)
        client, _ = await shops.create_client(
            connection, OPERATOR, MASTER, merchant_id, "payments:read"
        )
        tenant = await tenants.of_merchant(connection, merchant_id, "live")
        runner = BatchRunner(dsn, "http://laari.test")
        texts = {"title": HOSTILE, "description": HOSTILE, "return_url": f"https://a.mv/{HOSTILE}"}
        metadata = json.dumps({HOSTILE: HOSTILE}, ensure_ascii=False)
        draft = PaymentDraft(HOSTILE[:100], 100, **texts, metadata=metadata)
        [payment] = await runner.run([CreatePayment(tenant, draft)], 1)
        await runner.run([PayPayment(tenant, payment.id, Payer(customer.account, tenant.mode))], 1)
        held = []
        for number in range(2):
            wanted = AuthorizationDraft(f"{number}{HOSTILE}", **texts)
            [pending] = await runner.run([CreateAuthorization(tenant, wanted)], 1)
            await runner.run(
                [ApproveAuthorization(tenant, pending.id, Payer(customer.account, tenant.mode))], 1
            )
            held.append(pending.id)
        await runner.close()
        event = await connection.fetchval("SELECT event_id FROM deliveries LIMIT 1")
        await connection.execute(
            "INSERT INTO delivery_attempts "
            "(event_id, lease, started_at, duration_ms, url, http_status, error, answer) "
            "VALUES ($1, 1, now(), 1, $2, 500, $2, $2)",
            event,
            HOSTILE,
        )
        await connection.execute(
            "UPDATE deliveries SET leases = 1, failed_attempts = 1 WHERE event_id = $1", event
        )
        message = await connection.fetchval(
            "INSERT INTO messages (id, created_at, kind, channel, recipient, language, parameters, "
            "status, last_error) VALUES (gen_random_uuid(), now(), 'receipt', 'email', $1, 'en', "
            "'{}', 'failed', $1) RETURNING id",
            HOSTILE,
        )
        for statement in (
            "UPDATE merchants SET name = $1",
            "UPDATE customers SET name = $1, vpa = CASE WHEN sandbox_of IS NULL THEN lower($1) END",
            "UPDATE oauth_clients SET scope = $1",
            "WITH hostile AS (INSERT INTO persons (id, email, password_hash, proven) "
            "VALUES (gen_random_uuid(), lower($1), 'x', true) RETURNING id) "
            "INSERT INTO memberships (person_id, merchant_id, role) "
            f"SELECT id, unnest(ARRAY['{merchant_id}', NULL]), unnest(ARRAY['owner', 'admin']) "
            "FROM hostile",
        ):
            await change(connection, statement, HOSTILE)
        await change(
            connection,
            "INSERT INTO memberships (person_id, role) "
            "SELECT id, 'admin' FROM persons WHERE email = 'evil@shop.mv'",
        )
        login, place = NewLogin("x"), (merchant_id, "member@shop.mv", "manager", None)
        await people.add(connection, OPERATOR, *place, login)
        person = await persons.find(connection, "evil@shop.mv")
        assert person is not None
        await begin(connection, person, datetime.now(UTC), master=MASTER_KEY)
        await opened(connection, "evil@shop.mv")
        offer = Offer("invited@shop.mv", "manager")
        await people.invite(
            connection,
            OPERATOR,
            MASTER_KEY,
            merchant_id,
            offer,
            datetime.now(UTC),
        )
        await connection.execute(
            "UPDATE authorizations SET status = 'suspended' WHERE id = $1", held[1]
        )
    return {
        **NOBODY,
        "merchant_id": merchant_id,
        "merchant": merchant_id,
        "customer_id": f"cus_{customer.id.hex}",
        "customer": f"cus_{customer.id.hex}",
        "client_id": client.id,
        "payment_id": f"pay_{payment.id.hex}",
        "authorization_id": f"auth_{held[0].hex}",
        "suspended_id": f"auth_{held[1].hex}",
        "event_id": f"evt_{event.hex}",
        "message_id": f"msg_{message.hex}",
        "account": str(customer.account),
        "url": receiver,
    }


def act(database: str, engine: Any, monkeypatch: pytest.MonkeyPatch, place: Path) -> str:
    """Commands of this test work on the database, and write files to the place alone."""
    monkeypatch.setenv("LAARI_DATABASE_URL", engine.url(database))
    monkeypatch.setenv("LAARI_MASTER_KEY", MASTER_KEY.hex())
    monkeypatch.setenv("LAARI_WEBHOOK_ALLOW_PRIVATE", "on")
    monkeypatch.chdir(place)  # where `backup` writes to the place that it is given
    return engine.url(database)


@pytest.fixture
def dsn_of_stage(
    engine: Any, stage: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[str]:
    """A copy of the stage, for commands that change it."""
    name = engine.named("hostile")
    asyncio.run(
        engine.execute(f"CREATE DATABASE {name} TEMPLATE {stage.database} STRATEGY FILE_COPY")
    )
    yield act(name, engine, monkeypatch, tmp_path)
    asyncio.run(engine.execute(f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture(scope="module")
def copy_of_stage(engine: Any, stage: Stage) -> str:
    """One for all commands that are refused."""
    name = engine.named("hostile_refused")
    asyncio.run(
        engine.execute(f"CREATE DATABASE {name} TEMPLATE {stage.database} STRATEGY FILE_COPY")
    )
    return name


@pytest.fixture
def refusing_stage(
    engine: Any, copy_of_stage: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    act(copy_of_stage, engine, monkeypatch, tmp_path)


# They need money, payouts or lines of a statement: test_payouts.py has them.
PREPARED = {
    "payout show",
    "payout approve",
    "payout file",
    "payout settle",
    "payout return",
    "payout cancel",
    "payout request",
    "bank import",
    "bank assign",
    "bank return",
    "fees sweep",
    "merchant hold",
    "merchant release",
    "payout run",
    "bank charge",
    "bank match",
    "bank unmatch",
    "wallet withdraw",
}
# They need an application, scheduled fees, a waiting movement, a sale, a case, a contact, a failed
# message or a trusted person, which their own tests have: test_approval.py,
# test_second_operator.py, test_till_closings.py, pages/test_wallet_cases.py,
# test_contact_changes.py, pages/test_desk.py and pages/test_trusted.py.
PREPARED |= {
    "merchant approve",
    "application submit",
    "application show",
    "application refuse",
    "application withdraw",
    "movement confirm",
    "movement refuse",
    "till close",
    "case answer",
    "message resend",
    "merchant cancel-fees",
    "customer set-contact",
    "customer confirm-contact",
    "customer cancel-contact",
    "customer end-trust",
}
# They end with status 1 on the stage: nothing is served there, and it has no embedded database.
FAILS = {"webhook train", "backup", "restore", "listen", "trigger", "health"}
# Without options they only show something.
ONLY_SHOWING = {
    "payout terms",
    "payout holidays",
    "merchant bank",
    "wallet bank",
    "bank lines",
    "float",
    "find",
    "merchant fees",
    "movement waiting",
    "statement",
    "payout runs",
}


@pytest.mark.usefixtures("dsn_of_stage")
@pytest.mark.parametrize("name", some_of(COMMANDS))
def test_no_command_prints_what_is_not_seen(
    name: str, stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*name.split(), *arguments(name, stage.values)]
    for form in ([], ["--json"]):
        status = run([*words, *form])
        out, err = capsys.readouterr()
        assert unseen(out + err) == set()
        assert "\nmer_fake" not in out
        assert err.count("\n") <= 1
        if form:
            json.loads(out or "null")
        elif name in SHOWS:
            assert status == 0, err
            assert "\\x1b]52;c;" in out
        elif name not in (*FAILS, *PREPARED):
            assert status == 0, err


@pytest.mark.usefixtures("refusing_stage")
@pytest.mark.parametrize("name", some_of(COMMANDS))
def test_no_error_quotes_what_is_not_seen(
    name: str, stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    known = stage.values.values()
    words = [HOSTILE if word in known else word for word in arguments(name, stage.values)]
    for given in (words, [HOSTILE], [f"--{HOSTILE}"], [HOSTILE] * 9):
        status = run([*name.split(), *given])
        out, err = capsys.readouterr()
        assert unseen(out + err) == set()
        if status:
            assert err.startswith("laari: ")
            assert err.count("\n") == 1


def test_the_books_that_differ_are_shown_safely(
    dsn_of_stage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def damage() -> None:
        async with connection_to(dsn_of_stage) as connection:
            await connection.execute("UPDATE wallets SET balance = balance + 1")
            await connection.execute("DELETE FROM events")

    asyncio.run(damage())
    for form in ([], ["--json"]):
        assert run(["audit", *form]) == 1
        assert unseen("".join(capsys.readouterr())) == set()


async def test_the_demos_greeting_is_safe(dsn: str) -> None:
    environ = {"LAARI_PUBLIC_URL": "http://pay.test"}
    service = Service(dsn, MASTER_KEY, read_settings(environ))
    await prepare(service)
    async with connection_to(dsn) as connection:
        await change(connection, "UPDATE merchants SET name = $1", HOSTILE)
    assert unseen(greeting(await prepare(service))) == set()


def test_a_defect_is_told_safely(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ValueError(HOSTILE)

    monkeypatch.setattr("laari.cli.terminal.operation.read_settings", fail)
    assert run(["merchant", "list"]) == 1
    told = capsys.readouterr().err
    assert "ValueError" in told
    assert "Traceback" in told
    assert unseen(told) == set()


def record(message: str, error: BaseException | None = None) -> logging.LogRecord:
    info = None if error is None else (type(error), error, error.__traceback__)
    return logging.LogRecord("laari", logging.ERROR, "", 1, "%s", (message,), info)


@pytest.mark.parametrize("formatter", [TextLine("%(name)s %(message)s"), JsonLine()])
def test_logs_are_safe(formatter: logging.Formatter) -> None:
    line = formatter.format(record(HOSTILE))
    assert unseen(line) == set()
    assert "\n" not in line
    assert unseen(formatter.format(record("x", LaariError(HOSTILE)))) == set()


def test_json_stays_the_same_value() -> None:
    value = {"plain": 'ދިވެހި é ☕ \\ "', "hostile": HOSTILE + "\U000e0041\ufeff", "n": [1, None]}
    encoded = json.dumps(value, ensure_ascii=False)
    shown = visible_json(encoded.encode())
    assert json.loads(shown) == value
    assert unseen(shown) == set()
    assert "ދިވެހި é ☕" in shown


def test_what_is_seen_stays_and_what_is_not_is_shown() -> None:
    assert visible("ދިވެހި 5% é ☕ [b]") == "ދިވެހި 5% é ☕ [b]"
    assert visible("a\x1b[2J\tb\n\x9b\u202e\U000e0041") == "a\\x1b[2J\\tb\\n\\x9b\\u202e\\U000e0041"
    every = "".join(chr(n) for n in range(0x110000))
    assert unseen(visible(every)) == set()


@pytest.mark.parametrize("path", sorted((SOURCE := Path(output.__file__).parents[1]).rglob("*.py")))
def test_only_one_place_prints(path: Path) -> None:
    """A command that prints by itself would go past what makes text safe."""
    if path.name in ("output.py", "progress.py"):  # a bar, with words of our own
        return
    tree = ast.parse(path.read_text())
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    own = {name for name in called if name.startswith(("click.", "sys.std", "rich."))}
    assert not own & {"click.echo", "click.secho", "click.echo_via_pager", "sys.stdout.write"}
    assert not called & {"print", "echo", "secho", "Console"}


# Commands without an entry in the journal, each for a reason.
READING = ("list", "show", "history")
UNJOURNALLED = {
    "audit": "reads",
    "health": "reads",
    "volume": "reads",
    "customer note": "a note has its author and is never changed",
    "merchant balance": "reads",
    "backup": "copies the database",
    "restore": "makes another database",
    "init": "writes files",
    "migrate": "changes the schema; the entries of the first tiers are its own",
    "listen": "calls the API of a service, which has its own entries",
    "trigger": "calls the API of a service, which has its own entries",
    "webhook train": "sends samples to an address",
    "webhook test": "sends a sample event",
    "webhook resend": "repeats a delivery; the event has its attempts",
}
# What changes something on the stage, if the least arguments do not.
CHANGING: dict[str, list[str]] = {
    "merchant update": ["{merchant_id}", "--fee-bps", "7"],
    "merchant set-limit": ["{merchant_id}", "--max-payment", "7"],
    "tier set": ["basic", "--daily", "7"],
    "merchant user set-role": ["{merchant_id}", "second@shop.mv", "--role", "accountant"],
    "merchant user remove": ["{merchant_id}", "second@shop.mv"],
}
SECOND = ["merchant", "user", "add", "{merchant_id}", "second@shop.mv", "--role", "manager"]
EARLIER: dict[str, list[list[str]]] = {
    "merchant end-old-key": [["merchant", "rotate-key", "{merchant_id}", "--overlap", "1"]],
    "merchant resume": [["merchant", "pause", "{merchant_id}"]],
    "customer unfreeze": [["customer", "freeze", "{customer}", "--reason", "x"]],
    "merchant user set-role": [SECOND],
    "merchant user remove": [SECOND],
}


@pytest.mark.parametrize(
    "name",
    some_of(
        [
            name
            for name in COMMANDS
            if name not in {*UNJOURNALLED, *PREPARED, *ONLY_SHOWING}
            and not name.split()[-1].startswith(READING)
        ],
        4,
    ),
)
def test_every_command_that_changes_something_is_in_the_journal(
    name: str, stage: Stage, dsn_of_stage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fill(words: list[str]) -> list[str]:
        return [word.format(**stage.values) if "{" in word else word for word in words]

    for words in EARLIER.get(name, []):
        assert run(fill(words)) == 0, capsys.readouterr().err
    before = asyncio.run(newest_entry(dsn_of_stage))
    words = fill(CHANGING[name]) if name in CHANGING else arguments(name, stage.values)
    assert run([*name.split(), *words]) == 0, capsys.readouterr().err
    after = asyncio.run(newest_entry(dsn_of_stage))
    assert before is None or after is not None
    assert after != before, "this command writes no entry: use acting() or note()"
    assert after is not None
    assert (after["actor_kind"], after["actor_name"]) == ("command_line", actor().name)


async def newest_entry(dsn: str) -> asyncpg.Record | None:
    async with connection_to(dsn) as connection:
        return await connection.fetchrow("SELECT * FROM journal ORDER BY id DESC LIMIT 1")

"""Messages of a running service: from the merchant's request to the customer's mailbox."""

import asyncio
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from pathlib import Path

import httpx
import pytest

from tests.actors import OPERATOR
from tests.making import make_customer
from tests.messages.outbox import Mailbox, mail_server
from tests.pages.forms import Forms
from tests.serving import Merchant, Service, serving


@pytest.fixture(scope="module")
def mailbox() -> Iterator[tuple[Mailbox, int]]:
    """A mail server in its own thread, and its port."""
    mailbox, loop = Mailbox(), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = mail_server(mailbox)
    address = asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
    yield mailbox, address.port
    asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


@pytest.fixture(scope="module")
def service(
    engine, mailbox: tuple[Mailbox, int], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("messages")
    program = folder / "send-sms"
    # A file for each number: two messages may be sent at once.
    program.write_text(
        f'#!/bin/sh\n{{ echo "$@"; cat; }} > {folder}/$3.new && mv {folder}/$3.new {folder}/$3\n'
    )
    program.chmod(0o755)
    settings = {
        "LAARI_SMTP_URL": f"smtp://127.0.0.1:{mailbox[1]}",
        "LAARI_MAIL_FROM": "Laari <pay@example.com>",
        "LAARI_SMS_COMMAND": f"{program} --route local",
    }
    with serving(engine.migrated("messages"), folder, **settings) as service:
        yield service


def until(found: Callable[[], object], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def mail_for(mailbox: Mailbox, recipient: str) -> list[EmailMessage]:
    return [email for email in mailbox.received if email["To"] == recipient]


def ask(shop: Merchant, customer: dict[str, str], **fields: object) -> httpx.Response:
    body = {"reference": f"r-{time.monotonic_ns()}", "amount": 12_500, "customer": customer}
    return shop.post("/payment-requests", {**body, **fields})


def test_a_request_is_mailed_once_and_one_that_is_refused_is_not(
    service: Service, mailbox: tuple[Mailbox, int]
) -> None:
    service.customer(email="aisha@example.mv", mobile="7770001")
    shop = service.merchant(mode="live", name="Seagull Café")
    to = {"type": "mobile", "value": "7770001"}
    refused = ask(shop, {"type": "mobile", "value": "7779999"})
    assert refused.json()["error"]["code"] == "customer_not_found"
    created = ask(shop, to, reference="order-1", title="Two coffees")
    assert created.status_code == 201
    assert ask(shop, to, reference="order-1", title="Two coffees").json() == created.json()

    def asking() -> list[EmailMessage]:
        found = mail_for(mailbox[0], "aisha@example.mv")
        return [each for each in found if each["Subject"].startswith("Seagull Café asks")]

    until(asking)
    time.sleep(1.5)
    [email] = asking()
    assert f"{service.origin}/app/requests/{created.json()['data']['id']}" in email.get_content()
    asked = "SELECT FROM messages WHERE kind = 'payment_request'"
    until(lambda: service.execute(f"{asked} AND status = 'sent'"))
    assert len(service.execute(asked)) == 1


def test_a_customer_without_email_gets_an_sms(service: Service) -> None:
    service.customer(mobile="7770002")
    shop = service.merchant(mode="live", name="Seagull Café")
    assert ask(shop, {"type": "mobile", "value": "7770002"}, title="Tea").status_code == 201
    file = Path(service.env["LAARI_DATA_DIR"]) / "+9607770002"
    until(file.exists)
    assert file.read_text().startswith("--route local +9607770002\nSeagull Café asks you to pay")
    assert "Tea" in file.read_text()


def test_a_sandbox_sends_nothing(service: Service) -> None:
    """Of this kind: messages about movements of other tests may be written meanwhile."""
    asked = "SELECT FROM messages WHERE kind = 'payment_request'"
    before = len(service.execute(asked))
    service.merchant().request()
    assert len(service.execute(asked)) == before


def test_a_receipt_goes_to_its_owner_by_the_channel_that_they_choose(
    service: Service, mailbox: tuple[Mailbox, int]
) -> None:
    made = service.database.run(
        lambda connection: make_customer(
            connection,
            OPERATOR,
            name="Ali",
            mode="live",
            tier="business",
            balance=100_000,
            email="ali@example.mv",
            mobile="7770009",
            password="a good password",
        )
    )
    shop = service.merchant(mode="live", name="Seagull Café")
    forms = Forms()
    assert forms.log_in(f"{service.origin}/app/login", "ali@example.mv", made.password).is_redirect
    token = {"form_token": forms.token(f"{service.origin}/app")}
    request = ask(shop, {"type": "mobile", "value": "7770009"}).json()["data"]
    assert forms.send(f"{service.origin}/app/requests/{request['id']}/pay", token).is_redirect
    tid = shop.get(f"/payment-requests/{request['id']}").json()["data"]["payment_reference"]
    page = f"{service.origin}/app/transactions/{tid}"
    assert "ali@example.mv" in forms.http.get(page).text
    for channel in ("email", "sms"):
        answer = forms.send(f"{page}/send", token | {"channel": channel})
        assert answer.headers["location"].endswith(f"/app/transactions/{tid}?sent={channel}")
    assert forms.send(f"{page}/send", token | {"channel": "pigeon"}).status_code == 422

    def receipts() -> list[str]:
        subjects = [email["Subject"] for email in mail_for(mailbox[0], "ali@example.mv")]
        return [subject for subject in subjects if subject.startswith("Receipt")]

    until(receipts)
    assert receipts() == ["Receipt: Payment to Seagull Café, MVR 125.00"]
    [sms] = service.execute(
        "SELECT channel FROM messages WHERE recipient = '+9607770009' AND kind = 'receipt'"
    )
    assert sms["channel"] == "sms"
    stranger = Forms()
    other = service.customer(email="eve@example.mv")
    assert stranger.log_in(f"{service.origin}/app/login", "eve@example.mv", other.password)
    assert stranger.http.get(page).status_code == 404
    own = {"form_token": stranger.token(f"{service.origin}/app"), "channel": "email"}
    assert stranger.send(f"{page}/send", own).status_code == 404


def test_customers_change_their_email_by_a_code_and_a_wait(
    service: Service, mailbox: tuple[Mailbox, int]
) -> None:
    made = service.customer(email="old@example.mv", mobile="7770010")
    page = f"{service.origin}/app/password"
    forms = Forms()
    assert forms.log_in(f"{service.origin}/app/login", "old@example.mv", made.password).is_redirect
    fields = {"form_token": forms.token(page), "contact": "email", "lost": "on"}
    wrong = forms.send(f"{page}/contact", fields | {"value": "no", "password": made.password})
    assert "Enter an email address such as" in wrong.text
    fields["value"] = "new@example.mv"
    assert forms.send(f"{page}/contact", fields | {"password": "not it"}).status_code == 422
    assert forms.send(f"{page}/contact", fields | {"password": made.password}).is_redirect
    until(lambda: mail_for(mailbox[0], "new@example.mv"))
    [email] = mail_for(mailbox[0], "new@example.mv")
    [code] = re.findall(r"Code: (\d{6})", email.get_content())
    [change] = re.findall(r'name="change" value="([0-9a-f]{32})"', forms.http.get(page).text)[:1]
    fields["change"] = change
    wrong = forms.send(f"{page}/contact/code", fields | {"code": f"{(int(code) + 1) % 10**6:06}"})
    assert "The code is wrong" in wrong.text
    assert forms.send(f"{page}/contact/code", fields | {"code": code}).is_redirect
    assert "new@example.mv" in (shown := forms.http.get(page).text)
    assert "takes effect on" in shown
    # The lost address hears of it without the link, which goes to the mobile number.

    def told() -> list[str]:
        texts = [email.get_content() for email in mail_for(mailbox[0], "old@example.mv")]
        return [text for text in texts if "was reported lost" in text]

    until(told)
    assert "http" not in told()[0]
    [sms] = service.execute("SELECT kind FROM messages WHERE recipient = '+9607770010'")
    assert sms["kind"] == "contact_change"
    assert forms.send(f"{page}/contact/cancel", fields).is_redirect
    assert "takes effect on" not in forms.http.get(page).text


def pending(service: Service, recipient: str = "%") -> int:
    """Messages that wait, also those of another test that are tried again later."""
    statement = "SELECT count(*) FROM messages WHERE status = 'pending' AND recipient LIKE $1"
    return int(service.execute(statement, recipient)[0]["count"])


def test_the_operator_lists_and_resends(service: Service, mailbox: tuple[Mailbox, int]) -> None:
    # The refusal is for the request, not for the notices of a log-in and of a balance before it.
    service.customer(email="gone@example.mv")
    until(lambda: mail_for(mailbox[0], "gone@example.mv"))
    until(lambda: not pending(service, "gone@example.mv"))
    mailbox[0].answer("RCPT", "550 5.1.1 unknown")
    shop = service.merchant(mode="live")
    assert ask(shop, {"type": "email", "value": "gone@example.mv"}).status_code == 201
    until(lambda: service.execute("SELECT FROM messages WHERE status = 'failed'"))
    [message] = json.loads(service.laari("message", "list", "--status", "failed", "--json").stdout)
    assert (message["recipient"], message["last_error"], message["attempts"]) == (
        "gone@example.mv",
        "550 5.1.1 unknown",
        1,
    )
    assert "parameters" not in message
    assert message["next_attempt_at"] is None
    resent = service.laari("message", "resend", message["id"], "--json")
    assert resent.returncode == 0
    assert '"pending"' in resent.stdout
    until(lambda: len(mail_for(mailbox[0], "gone@example.mv")) == 2)
    until(lambda: not pending(service, "gone@example.mv"))
    refused = service.laari("message", "resend", message["id"])
    assert (refused.returncode, refused.stderr) == (
        1,
        "laari: This message has not failed: it is sent.\n",
    )
    unknown = service.laari("message", "resend", "msg_" + "0" * 32)
    assert unknown.returncode == 1
    assert "there is no message" in unknown.stderr


def test_metrics_count_the_messages_that_wait(service: Service) -> None:
    service.execute(
        "INSERT INTO messages (id, created_at, kind, channel, recipient, language, parameters, "
        "next_attempt_at) VALUES (gen_random_uuid(), now() - interval '90 s', 'receipt', 'email', "
        "'a@b.mv', 'en', '{}', now() + interval '1 day')"
    )
    texts: list[str] = []

    def counted() -> bool:
        texts.append(httpx.get(service.metrics_url).text)
        return f"\nlaari_messages_waiting {pending(service)}\n" in texts[-1]

    until(counted)
    [oldest] = [line for line in texts[-1].splitlines() if line.startswith("laari_messages_oldest")]
    assert 90 <= float(oldest.split()[1]) < 200


def test_the_language_of_messages_is_set_by_the_operator(service: Service) -> None:
    made = service.customer(mobile="7770003")
    answer = service.laari("customer", "set-language", str(made.account), "dv", "--json")
    assert '"language":"dv"' in answer.stdout.replace(" ", "")
    shop = service.merchant(mode="live")
    assert ask(shop, {"type": "mobile", "value": "7770003"}).status_code == 201
    rows = service.execute("SELECT kind, language FROM messages WHERE recipient = '+9607770003'")
    assert "payment_request" in {row["kind"] for row in rows}
    # Perhaps one about the balance, which the background process writes.
    assert {row["language"] for row in rows} == {"dv"}

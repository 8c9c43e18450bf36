"""The desk about people: links for passwords, changed contacts, identity data, callers."""

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.messages.outbox import content_of
from tests.pages.forms import Forms
from tests.pages.operators import Desk, desk_of
from tests.pages.owners import new_owner
from tests.pages.people import new_customer
from tests.pages.test_forgotten import NEW, set_new
from tests.pages.test_operator import page_of
from tests.serving import Service, serving

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def mailing(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose messages wait: nobody answers at its mail server."""
    settings = {
        "LAARI_SMTP_URL": "smtp://127.0.0.1:9",
        "LAARI_MAIL_FROM": "Laari <pay@example.com>",
        "LAARI_SMS_COMMAND": "false",
    }
    folder = tmp_path_factory.mktemp("desk_people")
    with serving(engine.migrated("desk_people"), folder, **settings) as service:
        yield service


@pytest.fixture
async def support(service: Service) -> Desk:
    return await desk_of(service, "support")


@pytest.fixture
async def sender(mailing: Service) -> Desk:
    """Support of a service that can send messages."""
    return await desk_of(mailing, "support")


def message_to(service: Service, recipient: str, kind: str) -> dict[str, Any]:
    """The values of the latest message of this kind."""
    rows = service.execute(
        "SELECT * FROM messages WHERE recipient = $1 AND kind = $2 ORDER BY id DESC",
        recipient,
        kind,
    )
    return content_of(rows[0], service.master_key)


def entries(service: Service, object_type: str, object_id: str) -> list[tuple[str, str, str]]:
    rows = service.execute(
        "SELECT actor_kind, action, after, reason FROM journal "
        "WHERE object_type = $1 AND object_id = $2 ORDER BY id",
        object_type,
        object_id,
    )
    return [(row["actor_kind"], row["action"], str(row["after"])) for row in rows]


async def test_a_password_link_is_shown_once_without_a_transport(
    service: Service, support: Desk
) -> None:
    customer = await new_customer(service)
    page = page_of(service, customer)
    shown = support.send(page, "/password-link")
    [link] = re.findall(r'id="link"[^>]* value="([^"]+)"', shown.text)
    assert link.startswith(f"{service.origin}/app/forgotten/")
    assert link not in support.get(page).text
    assert set_new(link).headers["location"] == "/app/login?done=password"
    assert Forms().log_in(f"{service.origin}/app/login", customer.email, NEW).status_code == 303
    [entry, _] = entries(service, "password_link", page.rpartition("/")[2])
    assert entry[:2] == ("operator", "password_link.issue")
    assert link.rpartition("/")[2] not in entry[2]


async def test_a_password_link_is_sent_and_not_shown(mailing: Service, sender: Desk) -> None:
    customer = await new_customer(mailing)
    sent = sender.send(page_of(mailing, customer), "/password-link").text
    assert "is on its way" in sent
    assert "/app/forgotten/" not in sent
    link = message_to(mailing, customer.email, "password_link")["link"]
    assert set_new(link).status_code == 303


async def test_a_customer_with_only_a_mobile_number_gets_the_link_by_sms(
    mailing: Service,
) -> None:
    made = await asyncio.to_thread(
        mailing.laari, "customer", "create", "Ali", "--mobile", "7654321", "--json"
    )
    customer_id = json.loads(made.stdout)["customer_id"]
    answer = await asyncio.to_thread(
        mailing.laari, "customer", "password-link", customer_id, "--send", "--json"
    )
    if answer.returncode == 0:
        assert json.loads(answer.stdout)["sent_to"] == "+9607654321"
        assert "link" not in json.loads(answer.stdout)
    desk = await desk_of(mailing, "support")
    assert "is on its way" in desk.send(f"/customers/{customer_id}", "/password-link").text
    assert message_to(mailing, "+9607654321", "password_link")["link"]


async def test_the_customer_of_a_sandbox_has_no_password_link(
    service: Service, support: Desk
) -> None:
    shop = service.merchant()
    [row] = service.execute(
        "SELECT w.customer_id FROM wallets w JOIN merchants m ON m.sandbox_account = w.account "
        "WHERE m.id = $1",
        shop.id,
    )
    page = f"/customers/cus_{row['customer_id'].hex}"
    assert "password-link" not in support.get(page).text
    refused = support.send(page, "/password-link")
    assert (refused.status_code, "has no log-in" in refused.text) == (409, True)


async def test_only_an_admin_makes_a_link_for_a_person_of_this_merchant(service: Service) -> None:
    owner, other = new_owner(service), new_owner(service)
    admin, support = await desk_of(service, "admin"), await desk_of(service, "support")
    page = f"/merchants/{owner.shop.id}"
    assert support.send(page, "/password-link", email=owner.email).status_code == 403
    assert "password-link" not in support.get(page).text
    assert admin.send(page, "/password-link", email=other.email).status_code == 404
    shown = admin.send(page, "/password-link", email=owner.email).text
    [link] = re.findall(r'id="link"[^>]* value="([^"]+)"', shown)
    assert link.startswith(f"{service.origin}/dashboard/forgotten/")
    assert set_new(link).status_code == 303


def change_in(page: str) -> str:
    """The id of the open change on the customer's page."""
    return re.findall(r'name="change" value="([0-9a-f]{32})"', page)[0]


async def test_a_caller_reads_out_the_code_of_the_new_mobile_number(
    mailing: Service, sender: Desk
) -> None:
    customer = await new_customer(mailing)
    page = page_of(mailing, customer)
    new = "7660011"
    asked = sender.send(page, "/contact", contact="mobile", value=f"+960 {new}", reason="New SIM")
    assert "A code is on its way" in asked.text
    again = sender.send(page, "/contact", contact="mobile", value=new, reason="New SIM")
    assert (again.status_code, "is open: cancel it first" in again.text) == (409, True)
    code = message_to(mailing, f"+960{new}", "contact_code")["code"]
    assert code not in asked.text
    change = {"contact": "mobile", "change": change_in(asked.text)}
    wrong = f"{(int(code) + 1) % 10**6:06}"
    assert sender.send(page, "/confirm-contact", **change, caller_code=wrong).status_code == 400
    left_out = sender.send(page, "/confirm-contact", **change, reason="I know the voice")
    assert (left_out.status_code, "needs the code" in left_out.text) == (409, True)
    done = sender.send(page, "/confirm-contact", **change, caller_code=f"{code[:3]} {code[3:]}")
    assert "takes effect after the delay" in done.text
    assert "in effect from" in done.text
    link = message_to(mailing, customer.email, "contact_change")["link"]
    forms = Forms()
    shown = forms.http.get(link)
    assert "Stop the change" in shown.text
    assert new not in shown.text
    stopped = forms.send(link, {"form_token": forms.token(link)})
    assert "The change is stopped" in stopped.text
    assert forms.http.get(link).status_code == 410
    assert "stopped" in sender.get(page).text
    late = sender.send(page, "/cancel-contact", **change, reason="late")
    assert (late.status_code, "no open change" in late.text) == (409, True)


async def test_a_change_without_a_transport_is_confirmed_by_a_reason(
    service: Service, support: Desk
) -> None:
    customer, other = await new_customer(service), await new_customer(service)
    page = page_of(service, customer)
    for fields in (
        {"contact": "mobile", "value": "12", "reason": "x"},
        {"contact": "email", "value": "no address", "reason": "x"},
        {"contact": "vpa", "value": "name", "reason": "x"},
        {"contact": "email", "value": "new@example.mv", "reason": " "},
    ):
        assert support.send(page, "/contact", **fields).status_code == 422
    taken = support.send(page, "/contact", contact="email", value=other.email, reason="x")
    assert (taken.status_code, "Another customer has this" in taken.text) == (409, True)
    new = f"n{customer.email}"
    asked = support.send(page, "/contact", contact="email", value=new, reason="<b>moved</b>")
    assert "&lt;b&gt;moved&lt;/b&gt;" in asked.text
    change = {"contact": "email", "change": change_in(asked.text)}
    foreign = page_of(service, other)
    assert support.send(foreign, "/confirm-contact", **change, reason="x").status_code == 409
    assert support.send(foreign, "/cancel-contact", **change, reason="x").status_code == 409
    assert support.send(page, "/confirm-contact", **change, reason="").status_code == 422
    done = support.send(page, "/confirm-contact", **change, reason="Saw the passport")
    assert "The change is confirmed" in done.text
    finance = await desk_of(service, "finance")
    assert finance.send(page, "/cancel-contact", **change, reason="x").status_code == 403
    service.execute(
        "UPDATE contact_changes SET confirmed_at = now() - interval '1 day', "
        "effective_at = now() WHERE id = $1::uuid",
        change["change"],
    )
    for _ in range(100):
        if f"<dd>{new}" in support.get(page).text or new == _email(service, customer.id):
            break
        await asyncio.sleep(0.2)
    assert _email(service, customer.id) == new
    login = f"{service.origin}/app/login"
    assert Forms().log_in(login, customer.email, customer.password).status_code == 422
    assert Forms().log_in(login, new, customer.password).status_code == 303


def _email(service: Service, customer_id: Any) -> object:
    [row] = service.execute("SELECT email FROM customers WHERE id = $1", customer_id)
    return row["email"]


@pytest.mark.ci  # starts processes
async def test_contacts_on_the_command_line(service: Service) -> None:
    customer = await new_customer(service)
    customer_id = f"cus_{customer.id.hex}"

    async def run(command: str, *arguments: str) -> tuple[int, dict[str, Any], str]:
        done = await asyncio.to_thread(
            service.laari, "customer", command, customer_id, *arguments, "--json"
        )
        return done.returncode, json.loads(done.stdout or "{}"), done.stderr

    assert (await run("set-contact", "--reason", "x"))[0] == 1
    status, change, _ = await run("set-contact", "--email", f"c{customer.email}", "--reason", "x")
    assert (status, change["status"], change["code_sent"]) == (0, "waiting", False)
    assert "needs a reason" in (await run("confirm-contact", "email"))[2]
    _, change, _ = await run("confirm-contact", "email", "--reason", "saw it")
    assert (change["status"], change["effective_at"] is None) == ("confirmed", False)
    _, change, _ = await run("cancel-contact", "email", "--reason", "wrong")
    assert change["status"] == "cancelled"
    assert "no open change" in (await run("cancel-contact", "email", "--reason", "again"))[2]


async def test_the_server_chooses_the_questions_to_a_caller(
    service: Service, support: Desk
) -> None:
    customer, other = await new_customer(service), await new_customer(service)
    page = page_of(service, customer)

    def call() -> dict[str, str]:
        return dict(re.findall(r'name="(asked|seal)" value="([^"]+)"', support.get(page).text))

    assert len({call()["asked"] for _ in range(12)}) > 1
    asked = call()
    noted = support.send(page, "/verify", result="no", **asked)
    assert f"Caller NOT verified: {asked['asked']}." in noted.text
    assert "Caller verified" in support.send(page, "/verify", result="yes", **asked).text
    colleague = await desk_of(service, "support")
    for refused in (
        support.send(page, "/verify", result="perhaps", **asked),
        support.send(page, "/verify", result="yes", asked="asked for nothing", seal=asked["seal"]),
        support.send(page, "/verify", result="yes", asked=asked["asked"], seal="\u00e9"),
        support.send(page_of(service, other), "/verify", result="yes", **asked),
        colleague.send(page, "/verify", result="yes", **asked),
    ):
        assert refused.status_code == 422

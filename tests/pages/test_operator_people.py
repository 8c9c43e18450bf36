"""The desk about people: links for passwords, changed contacts, identity data, callers."""

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.pages.forms import Forms
from tests.pages.operators import Desk, desk_of
from tests.pages.owners import new_owner
from tests.pages.people import new_customer
from tests.pages.test_forgotten import NEW, set_new
from tests.pages.test_operator import page_of
from tests.serving import Service, serving


@pytest.fixture(scope="module")
def mailing(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose messages wait, and whose changed contacts take effect at once."""
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
        "SELECT parameters FROM messages WHERE recipient = $1 AND kind = $2 ORDER BY id DESC",
        *(recipient, kind),
    )
    values: dict[str, Any] = json.loads(rows[0]["parameters"])
    return values


def entries(service: Service, object_type: str, object_id: str) -> list[tuple[str, str, str]]:
    rows = service.execute(
        "SELECT actor_kind, action, after, reason FROM journal "
        "WHERE object_type = $1 AND object_id = $2 ORDER BY id",
        *(object_type, object_id),
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

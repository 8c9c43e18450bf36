"""Events of a shop that were given up: a banner, and one form that sends all of them again."""

import pytest

from tests.days import today, tomorrow
from tests.pages.forms import token_in
from tests.pages.owners import Owner, new_owner
from tests.pages.test_journal import client_of
from tests.serving import Service


@pytest.fixture
def owner(service: Service) -> Owner:
    return with_given_up(service)


def with_given_up(service: Service) -> Owner:
    """Two events were given up, and one waits."""
    owner = new_owner(service, webhook_url="https://shop.example/hook")
    for _ in range(3):
        owner.shop.payment()
    service.execute(
        "UPDATE deliveries SET status = 'failed', failed_attempts = 3 WHERE event_id IN ("
        "SELECT d.event_id FROM deliveries d JOIN tenants t ON t.id = d.tenant_id "
        "WHERE t.merchant_id = $1 ORDER BY d.event_id LIMIT 2)",
        owner.shop.id,
    )
    return owner


def states(owner: Owner) -> list[str]:
    rows = owner.shop.service.execute(
        "SELECT d.status, d.failed_attempts FROM deliveries d JOIN tenants t ON t.id = d.tenant_id "
        "WHERE t.merchant_id = $1 ORDER BY d.event_id",
        owner.shop.id,
    )
    return ["failed" if row["failed_attempts"] == 3 else "waits" for row in rows]


def test_what_was_given_up_is_sent_again_at_once(owner: Owner) -> None:
    words = "2 events were given up"
    with client_of(owner) as client:
        assert words in client.get(owner.url("/sandbox")).text
        page = client.get("/webhooks").text
        assert words in page
        assert f'value="{today()}"' in page
        form = {"form_token": token_in(page)}
        again = "/webhooks/given-up/resend"
        assert client.post(again, data={**form, "since": "x"}).status_code == 422
        client.post(again, data={**form, "since": str(tomorrow())})
        assert states(owner) == ["failed", "failed", "waits"]
        sent = client.post(again, data={**form, "since": str(today())})
        assert "The events are being sent again" in sent.text
        assert states(owner) == ["waits"] * 3
        assert words not in client.get("/webhooks").text
        assert words not in client.get(owner.url("/sandbox")).text


def test_a_long_outage_is_sent_again_in_parts(owner: Owner) -> None:
    """Neither the banner nor the form has to walk through all of it."""
    owner.shop.service.execute(
        "WITH told AS (SELECT e.* FROM events e JOIN tenants t ON t.id = e.tenant_id "
        "WHERE t.merchant_id = $1 LIMIT 1), made AS ("
        "INSERT INTO events (id, tenant_id, type, object_id, created_at, body) "
        "SELECT gen_random_uuid(), tenant_id, type, gen_random_uuid(), created_at, body "
        "FROM told, generate_series(1, 1000) RETURNING id, tenant_id) "
        "INSERT INTO deliveries (event_id, tenant_id, status, failed_attempts) "
        "SELECT id, tenant_id, 'failed', 3 FROM made RETURNING tenant_id",
        owner.shop.id,
    )
    with client_of(owner) as client:
        page = client.get("/webhooks").text
        assert "More than 1,000 events were given up" in page
        form = {"form_token": token_in(page), "since": "2000-01-01"}
        client.post("/webhooks/given-up/resend", data=form)
        assert "2 events were given up" in client.get("/webhooks").text


def test_events_of_another_shop_are_neither_counted_nor_sent(
    owner: Owner, service: Service
) -> None:
    other = with_given_up(service)
    with client_of(owner) as client:
        page = client.get("/webhooks").text
        assert "2 events were given up" in page
        form = {"form_token": token_in(page), "since": str(today())}
        client.post("/webhooks/given-up/resend", data=form)
    assert states(owner) == ["waits"] * 3
    assert states(other) == ["failed", "failed", "waits"]

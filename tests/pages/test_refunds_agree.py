"""A payment that is refunded in two parts is told alike on all pages."""

import re

import pytest

from tests.pages.owners import Owner, new_owner
from tests.pages.test_journal import client_of
from tests.serving import Service


@pytest.fixture
def owner(service: Service) -> Owner:
    owner = new_owner(service, webhook_url="https://shop.example/hook")
    paid = owner.shop.payment(reference="TABLE-7", amount=10_000)
    owner.shop.control(f"payments/{paid['id']}/pay")
    for _ in range(2):
        owner.shop.post(f"/payments/{paid['id']}/refunds", {"amount": 1_000})
    return owner


def test_the_state_and_the_counts(owner: Owner) -> None:
    with client_of(owner) as client:
        listed = client.get("/payments?preset=today").text
        assert re.search(r'badge note">partly refunded<', listed)
        assert "Refunds, 2<" in listed
        assert "1 paid, 2 refunds<" in client.get(owner.url("/sandbox")).text
        assert "Refunds, 2<" in client.get("/payments/movements?preset=today").text
        address = re.search(r'href="[^"]+(/payments/pay_\w+)">', listed)
        assert address is not None
        assert "partly refunded" in client.get(address[1]).text


def test_the_list_of_events_names_the_payment_of_a_refund(owner: Owner) -> None:
    with client_of(owner) as client:
        rows = client.get("/webhooks?type=payment.refunded").text.split("<tr>")[2:]
    assert len(rows) == 2
    assert all("TABLE-7" in row for row in rows)

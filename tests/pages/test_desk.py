"""The desk's inbox, and what it shows of payments, merchants and customers."""

import asyncio
import json
import re
import secrets
from datetime import UTC, datetime, timedelta

import pytest

from laari.edge.pages.operator.customers import _own_facts
from laari.rules.ids import read_id
from laari.rules.records.wallets import Transaction
from laari.store import inbox
from laari.store.postgres.pool import connection_to
from laari.store.reads import holders
from tests.actors import OPERATOR
from tests.pages.finance import paid_shop
from tests.pages.forms import Forms
from tests.pages.operators import desk_of
from tests.pages.people import new_customer
from tests.serving import Service

pytestmark = pytest.mark.ci
HOME = ""


async def test_the_inbox_counts_what_waits_and_since_when(usual_service: Service) -> None:
    service = usual_service
    finance, support = [await desk_of(service, role) for role in ("finance", "support")]
    now = datetime.now(UTC)
    async with connection_to(service.dsn) as connection:
        before = {each.kind: each.many for each in await inbox.read(connection, OPERATOR, now, ())}
    long_ago = datetime.now(UTC) - timedelta(days=400, hours=3)
    service.execute(
        "INSERT INTO messages "
        "(id, kind, channel, recipient, language, parameters, status, created_at) "
        "VALUES (gen_random_uuid(), 'receipt', 'email', 'x@example.mv', 'en', '', 'failed', $1)",
        long_ago,
    )
    async with connection_to(service.dsn) as connection:
        after = {each.kind: each for each in await inbox.read(connection, OPERATOR, now, ())}
    assert after["messages"].many == before.get("messages", 0) + 1
    assert after["messages"].since == long_ago
    shown = support.get(HOME).text
    assert re.search(r'messages">Failed messages?<.*?400 days', shown, re.DOTALL)
    assert "/messages" not in finance.get(HOME).text.split('id="inbox"')[1]
    service.execute("DELETE FROM messages WHERE created_at = $1", long_ago)


async def test_runs_to_approve_lead_to_the_run(usual_service: Service) -> None:
    finance = await desk_of(usual_service, "finance")
    await paid_shop(usual_service, 30_000)
    made = finance.send("/payouts/preview", "")
    page = made.url.path
    assert re.search(rf'href="{page}">Runs? to approve<', finance.get(HOME).text)
    finance.send(page.removeprefix("/operator"), "/cancel")
    assert page not in finance.get(HOME).text


async def test_a_payment_shows_attempts_refunds_and_its_history(usual_service: Service) -> None:
    support = await desk_of(usual_service, "support")
    shop = usual_service.merchant()
    paid = shop.payment(amount=12_500)
    shop.control("wallet", {"balance": 0})
    assert shop.post(f"/sandbox/payments/{paid['id']}/pay").status_code == 402
    shop.control("wallet", {"balance": 12_500})
    shop.control(f"payments/{paid['id']}/pay")
    refund = shop.post(f"/payments/{paid['id']}/refunds", {"amount": 500, "note": "Cold <tea>"})
    page = support.get(f"/payments/{paid['id']}").text
    assert "partly refunded" in page
    attempts = page.split('id="attempts"')[1].split("</section>")[0]
    assert attempts.count("The balance was too low") == 1
    refunds = page.split('id="refunds"')[1].split("</section>")[0]
    assert "Cold &lt;tea&gt;" in refunds
    assert refund.json()["data"]["id"] in refunds
    assert "Money refunded" in page.split('id="timeline"')[1]
    assert support.get(q=refund.json()["data"]["id"]).headers["location"] == (
        f"/operator/payments/{paid['id']}"
    )


async def test_a_merchant_shows_payouts_payments_and_webhooks(usual_service: Service) -> None:
    support = await desk_of(usual_service, "support")
    shop = usual_service.merchant()
    paid = shop.payment(amount=12_500)
    shop.control(f"payments/{paid['id']}/pay")
    payout = shop.post("/sandbox/payouts").json()["data"]
    page = support.get(f"/merchants/{shop.id}", mode="sandbox").text
    assert payout["id"] in page.split('id="paid-out"')[1]
    assert f"/operator/payments/{paid['id']}" in page.split('id="payments"')[1]
    assert "This merchant has no webhook." in page
    usual_service.execute(
        "INSERT INTO deliveries (event_id, tenant_id, status) SELECT id, tenant_id, 'failed' "
        "FROM events WHERE object_id = $1",
        read_id("po_", payout["id"]),
    )
    usual_service.execute(
        "UPDATE merchants SET webhook_url = 'https://x.example/hook' WHERE id = $1", shop.id
    )
    given_up = support.get(f"/merchants/{shop.id}", mode="sandbox").text.split('id="webhooks"')[1]
    assert "Given up" in given_up.split("</section>")[0]


async def test_the_journal_names_everybody(usual_service: Service) -> None:
    admin, support = [await desk_of(usual_service, role) for role in ("admin", "support")]
    shop = usual_service.merchant()
    admin.send(f"/merchants/{shop.id}", "/pause", reason="Papers <late>")
    shown = admin.get("/journal", merchant=shop.id).text
    assert "Papers &lt;late&gt;" in shown
    [name] = set(re.findall(r"admin-\w+@operator\.example", shown))
    entries = admin.get("/journal", actor=name, action="merchant.update").text.split("<tbody>")[1]
    assert shop.id in entries
    assert "No entries." in admin.get("/journal", merchant=shop.id, actor="nobody").text
    assert "Write a day" in admin.get("/journal", first="never").text
    assert support.get("/journal").status_code == 403


async def test_holidays_and_tiers_are_set_on_the_desk(usual_service: Service) -> None:
    admin, support = [await desk_of(usual_service, role) for role in ("admin", "support")]
    page = "/settings"
    admin.send(page, "/holiday", day="2031-05-01", name="Labour <Day>")
    assert "1 May 2031: " in admin.get(page).text
    assert "Labour &lt;Day&gt;" in support.get(page).text
    assert support.send(page, "/holiday", day="2031-05-02", name="x").status_code == 403
    assert "is removed" in admin.send(page, "/remove-holiday", removed="2031-05-01").text
    assert admin.send(page, "/remove-holiday", removed="2031-05-01").status_code == 409
    admin.send(page, "/tier", name="desk-gold", daily="125.50", monthly="none")
    admin.send(page, "/tier", name="desk-gold", weekly="700")
    [tier] = usual_service.execute("SELECT * FROM tiers WHERE name = 'desk-gold'")
    assert [tier[name] for name in ("per_transaction", "daily", "weekly", "monthly")] == [
        None,
        12_550,
        70_000,
        None,
    ]
    assert admin.send(page, "/tier", name="desk-gold", daily="-1").status_code == 422


async def test_people_of_the_operator_are_added_and_removed(usual_service: Service) -> None:
    admin, page = await desk_of(usual_service, "admin"), "/settings"
    email = f"new-{secrets.token_hex(4)}@operator.example"
    made = admin.send(page, "/person", email=email, role="finance")
    assert "/operator/password/" in made.text or "link" in made.text
    assert admin.send(page, "/person", email=email, role="finance").status_code == 409
    assert admin.send(page, "/person", email=email, role="owner").status_code == 422
    assert "The role is changed." in admin.send(page, "/role", email=email, role="support").text
    [row] = usual_service.execute(
        "SELECT b.role FROM memberships b JOIN persons p ON p.id = b.person_id WHERE p.email = $1",
        email,
    )
    assert row["role"] == "support"
    shown = admin.get(page).text
    [own] = re.findall(r"(admin-\w+@[\w.]+)</bdi> <span class=.quiet.>.you", shown)
    for action, more in (("/role", {"role": "support"}), ("/remove-person", {})):
        assert admin.send(page, action, email=own, **more).status_code == 409
    assert "no longer has access" in admin.send(page, "/remove-person", email=email).text
    assert admin.send(page, "/remove-person", email=email).status_code == 404


async def test_a_failed_message_is_sent_again(usual_service: Service) -> None:
    support = await desk_of(usual_service, "support")
    [row] = usual_service.execute(
        "INSERT INTO messages (id, kind, channel, recipient, language, parameters, status, "
        "last_error, created_at) VALUES (gen_random_uuid(), 'receipt', 'sms', '+9607000001', 'en', "
        "'', 'failed', 'No <such> number', now()) RETURNING id"
    )
    shown = support.get("/messages", status="failed").text
    assert "No &lt;such&gt; number" in shown
    path = f"/messages/msg_{row['id'].hex}/resend"
    assert path in shown
    assert "is sent again" in support.send(path, "").text
    [entry] = usual_service.execute(
        "SELECT actor_kind, object_id, before, after FROM journal WHERE action = 'message.resend'"
    )
    assert (entry["actor_kind"], entry["object_id"]) == ("operator", f"msg_{row['id'].hex}")
    assert json.loads(entry["before"])["status"] == "failed"
    assert json.loads(entry["after"])["status"] == "pending"
    assert support.send(path, "").status_code == 409
    usual_service.execute("DELETE FROM messages WHERE id = $1", row["id"])


async def test_failed_log_ins_of_a_customer_are_seen(usual_service: Service) -> None:
    support, customer = await desk_of(usual_service, "support"), await new_customer(usual_service)
    path = f"/customers/cus_{customer.id.hex}"
    assert "Failed log-ins" not in support.get(path).text
    for _ in range(2):
        Forms().log_in(f"{usual_service.origin}/app/login", customer.mobile, "not the password")
    async with asyncio.timeout(30):
        while not re.search("Failed log-ins of [^:]+: 2,", support.get(path).text):
            await asyncio.sleep(0.1)


def test_a_caller_is_asked_for_what_is_not_on_the_phone() -> None:
    now = datetime(2026, 11, 19, 12, tzinfo=UTC)
    holder = holders.Holder(**dict.fromkeys(holders.Holder.__struct_fields__))
    lines = [
        Transaction("T3", 77, now, "payment", "Café", "Tea", -500, "failed", "frozen"),
        Transaction("T2", 77, now, "payment", "Boat", "Trip", -500, "success"),
        Transaction("T1", 77, now, "topup", "Top-up", "Bank", 70_050, "success"),
    ]
    assert _own_facts(holder, lines, ["Gym", "Gym", "Box"]) == [
        ("the shop of the last payment", "Boat"),
        ("the amount and day of the last top-up", "MVR 700.50, 19 Nov 2026"),
        ("a shop that may charge the wallet", "Gym or Box"),
    ]

"""The operator's pages for payout runs, and for the money of a merchant, by their forms."""

import re
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from laari.rules.banking.payouts import RequestPayout
from laari.store.batch.runner import BatchRunner
from laari.store.postgres.pool import connection_to
from laari.store.reads import tenants
from laari.store.reads.money import payouts
from tests.actors import OPERATOR
from tests.bank_accounts import enter
from tests.days import today, yesterday
from tests.pages.finance import balance_of, paid_shop, seen_in
from tests.pages.operators import Desk, desk_of, new_operator, session_of
from tests.serving import Merchant, Service, serving

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def bank_service(engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Runs take all live merchants, so these tests have a service of their own."""
    settings = {"LAARI_PAYOUT_APPROVAL_ABOVE": "100000"}
    folder = tmp_path_factory.mktemp("bank")
    with serving(engine.migrated("bank"), Path(folder), **settings) as service:
        yield service


def approve(desk: Desk, page: str) -> httpx.Response:
    return desk.send(page, "/approve", **seen_in(desk.get(page).text))


@pytest_asyncio.fixture(loop_scope="session")
async def finance(bank_service: Service) -> AsyncIterator[Desk]:
    """One open run at a time: the run of a test before is cancelled."""
    desk = await desk_of(bank_service, "finance")
    for row in bank_service.execute("SELECT number FROM payout_runs WHERE status = 'requested'"):
        assert desk.send(f"/payouts/{row['number']}", "/cancel").status_code == 200
    # Only the merchants of the test are paid out.
    bank_service.execute(
        "INSERT INTO payout_terms (tenant_id, paused_reason) SELECT id, 'Of another test' "
        "FROM tenants ON CONFLICT (tenant_id) DO UPDATE SET paused_reason = 'Of another test'"
    )
    yield desk


def create(desk: Desk, **fields: str) -> tuple[str, Any]:
    """A new run for yesterday: its page, and the answer."""
    answer = desk.send("/payouts/preview", "", day=str(yesterday()), **fields)
    assert answer.status_code == 200, answer.text
    return answer.url.path.removeprefix("/operator"), answer


async def sent_run(service: Service, desk: Desk) -> tuple[str, list[str]]:
    """A run at the bank: its page, and the references of its orders."""
    page, _ = create(desk)
    second = await desk_of(service, "finance")
    assert "The run is approved" in approve(second, page).text
    shown = desk.send(page, "/send")
    assert "The file is made" in shown.text
    return page, sorted(set(re.findall(r"LP\d{6}R\d{4}", shown.text)))


async def test_a_preview_shows_amounts_and_reasons(bank_service: Service, finance: Desk) -> None:
    await paid_shop(bank_service, 30_000, name="Paid <b>Café</b>", fee_bps=100)
    await paid_shop(bank_service, 5_000, name="Without a bank", with_bank=False)
    small = await paid_shop(bank_service, 700, name="Small")
    paused = await paid_shop(bank_service, 9_000, name="Paused")
    negative = await paid_shop(bank_service, 100, name="Negative")
    terms = {"payout_fee": "0", "payout_minimum": "10.00"}
    assert finance.send(f"/merchants/{small.id}", "/payout-terms", **terms).status_code == 200
    finance.send(
        f"/merchants/{paused.id}", "/payout-terms", **terms, paused_reason="Documents missing"
    )
    correction = {"kind": "correct", "amount": "-2.50", "reason": "Chargeback"}
    finance.send(f"/merchants/{negative.id}", "/funds", **correction, below_zero="on")
    shown = finance.get("/payouts/preview", day=str(yesterday())).text
    paid, left = shown.split('id="left"')
    assert "Paid &lt;b&gt;Café&lt;/b&gt;" in paid
    assert "297.00" in paid
    for reason in (
        "There is no bank account.",
        "below the minimum of MVR 10.00",
        "Payouts are paused: Documents missing",
        "Later movements took MVR 2.50 of the amount.",
    ):
        assert reason in left
    assert bank_service.execute("SELECT FROM payout_runs WHERE status = 'requested'") == []


async def test_a_preview_shows_held_payouts_apart(bank_service: Service, finance: Desk) -> None:
    shops = {name: await paid_shop(bank_service, 9_000, name=name) for name in ("Held", "Free")}
    runner = BatchRunner(bank_service.dsn, bank_service.origin)
    for shop in shops.values():
        async with connection_to(bank_service.dsn) as connection:
            tenant = await tenants.of_merchant(connection, shop.id, "live")
        [asked] = await runner.run([RequestPayout(tenant.id, OPERATOR, None)], 1.0)
        assert asked.status == "requested"
    await runner.close()
    before = finance.get("/payouts/preview", day=str(yesterday())).text
    terms = {"payout_fee": "0", "payout_minimum": "1", "paused_reason": "Fraud <i>case</i>"}
    assert finance.send(f"/merchants/{shops['Held'].id}", "/payout-terms", **terms).is_success
    shown = finance.get("/payouts/preview", day=str(yesterday())).text
    paid, held = shown.split('id="held"')
    assert total_of(before) - total_of(shown) == 9_000
    assert (shops["Held"].id in paid, shops["Free"].id in paid) == (False, True)
    assert "Payouts are paused: Fraud &lt;i&gt;case&lt;/i&gt;" in held.split('id="left"')[0]
    page, answer = create(finance)
    assert "The payouts are in the run." in answer.text
    assert shops["Held"].id not in finance.get(page).text


def total_of(text: str) -> int:
    """The total of a preview, in laari."""
    shown = text.split("<dt>Total</dt>")[1].split("</dd>", maxsplit=1)[0]
    return int("".join(re.findall(r"[0-9]", re.sub(r"<[^>]*>", "", shown))))


async def test_a_run_that_is_created_twice_pays_once(bank_service: Service, finance: Desk) -> None:
    shop = await paid_shop(bank_service, 30_000)
    page, _ = create(finance)
    again, _ = create(finance)
    assert again == page
    rows = bank_service.execute(
        "SELECT p.amount FROM payouts p JOIN tenants t ON t.id = p.tenant_id "
        "WHERE t.merchant_id = $1",
        shop.id,
    )
    assert [row["amount"] for row in rows] == [30_000]
    assert (await balance_of(shop))._asdict() == {
        "available": 0,
        "held": 0,
        "in_transit": 30_000,
    }
    other = finance.send("/payouts/preview", "", day=str(yesterday() - timedelta(days=1)))
    assert other.status_code == 409
    assert "is open: approve it or cancel it first" in other.text


async def test_a_day_that_has_not_ended_is_refused(finance: Desk) -> None:
    for day in (str(today()), "9999-12-31", "soon"):
        assert finance.send("/payouts/preview", "", day=day).status_code == 422
        assert finance.get("/payouts/preview", day=day).status_code == 422


async def test_nothing_to_pay_opens_no_run(bank_service: Service, finance: Desk) -> None:
    assert finance.send("/payouts/preview", "", day=str(yesterday())).status_code == 409
    assert bank_service.execute("SELECT FROM payout_runs WHERE status = 'requested'") == []


async def test_a_large_run_needs_a_second_person(bank_service: Service, finance: Desk) -> None:
    await paid_shop(bank_service, 100_001)
    page, answer = create(finance)
    assert "another person has to approve this run" in answer.text
    own = approve(finance, page)
    assert own.status_code == 409
    assert "which is above MVR 1000.00: another person has to approve" in own.text
    second = await desk_of(bank_service, "finance")
    assert "The run is approved" in approve(second, page).text
    again = second.send(page, "/approve", **seen_in(own.text))
    assert again.status_code == 200  # sent twice
    finance.send(page, "/cancel")


async def test_the_bank_file_is_made_once(bank_service: Service, finance: Desk) -> None:
    await paid_shop(bank_service, 30_000)
    page, _ = create(finance)
    assert finance.get(f"{page}/file.csv").status_code == 404
    early = finance.send(page, "/send")
    assert early.status_code == 409
    assert "not approved" in early.text
    approve(finance, page)  # below the threshold
    assert "The file is made" in finance.send(page, "/send").text
    first = finance.get(f"{page}/file.csv")
    assert first.headers["content-type"].startswith("text/csv")
    assert "attachment" in first.headers["content-disposition"]
    assert finance.send(page, "/send").status_code == 200
    assert finance.get(f"{page}/file.csv").content == first.content
    assert b"300.00" in first.content
    assert finance.send(page, "/cancel").status_code == 409


async def test_the_bank_answers_each_order(bank_service: Service, finance: Desk) -> None:
    shops = [await paid_shop(bank_service, 30_000), await paid_shop(bank_service, 20_000)]
    page, orders = await sent_run(bank_service, finance)
    assert len(orders) == 2
    asked = finance.get(f"{page}/paid", order=orders[0]).text
    assert "Yes, the bank has paid it" in asked
    assert orders[1] not in asked
    paid = finance.send(page, "/paid", order=orders[0])
    assert "the bank has paid" in paid.text
    assert ">answered<" not in paid.text
    assert finance.send(page, "/paid", order=orders[0]).status_code == 409
    bank_words = "Account <b>closed</b>"
    assert finance.send(page, "/returned", order=orders[1]).status_code == 422
    back = finance.send(page, "/returned", order=orders[1], reason=bank_words)
    assert "available again" in back.text
    assert "Account &lt;b&gt;closed&lt;/b&gt;" in back.text
    assert ">answered<" in back.text
    assert ">answered<" in finance.get("/payouts").text
    again = finance.send(page, "/returned", order=orders[1], reason=bank_words)
    assert again.status_code == 409
    found = [await balance_of(shop) for shop in shops]
    assert sorted(each.available for each in found) in ([0, 20_000], [0, 30_000])
    assert [each.in_transit for each in found] == [0, 0]
    assert finance.send(page, "/returned", reason=bank_words).status_code == 400
    for path in ("/paid", "/returned"):
        assert finance.send(page, path, order="LP9", reason=bank_words).status_code == 404
        assert finance.get(page + path, order="LP9").status_code == 404
    assert finance.send(page, "/paid").status_code == 409


async def test_all_open_orders_are_paid_at_once(bank_service: Service, finance: Desk) -> None:
    for amount in (30_000, 20_000):
        await paid_shop(bank_service, amount)
    page, _ = await sent_run(bank_service, finance)
    assert "the bank has paid all 2" in finance.get(f"{page}/paid").text
    shown = finance.send(page, "/paid").text
    assert "The bank has paid all open orders" not in shown
    assert shown.count(">settled<") >= 4


async def test_a_payout_and_a_run_are_cancelled(bank_service: Service, finance: Desk) -> None:
    shop, other = await paid_shop(bank_service, 30_000), await paid_shop(bank_service, 400)
    page, answer = create(finance)
    [path, _] = re.findall(r"/payouts/one/po_\w+/cancel", answer.text)
    assert "The payout is cancelled" in finance.send(path, "").text
    assert finance.send(path, "").status_code == 200  # sent twice
    assert "The run is cancelled" in finance.send(page, "/cancel").text
    assert finance.send(page, "/cancel").status_code == 200
    found = [await balance_of(each) for each in (shop, other)]
    assert [each.available for each in found] == [30_000, 400]
    assert finance.send("/payouts/one/po_none/cancel", "").status_code == 404
    for number in ("0", "999999999", "9999999999", "x"):
        assert finance.get(f"/payouts/{number}").status_code == 404


async def test_support_reads_runs_and_changes_nothing(bank_service: Service, finance: Desk) -> None:
    await paid_shop(bank_service, 30_000)
    page, _ = create(finance)
    support = await desk_of(bank_service, "support")
    assert page in support.get("/payouts").text
    shown = support.get(page)
    assert shown.status_code == 200
    assert "Approve the run" not in shown.text
    for path in ("/payouts/preview", f"{page}/file.csv", "/bank", "/float"):
        assert support.get(path).status_code == 403
    for action in ("/approve", "/send", "/cancel", "/paid", "/returned"):
        assert support.send(page, action).status_code == 403


async def test_an_old_log_in_enters_the_password_again(
    bank_service: Service, finance: Desk
) -> None:
    shop = await paid_shop(bank_service, 30_000)
    page, _ = create(finance)
    email = await new_operator(bank_service, "finance")
    old = Desk(bank_service, await session_of(bank_service, email))
    bank_service.execute(
        "UPDATE sessions SET authenticated_at = authenticated_at - interval '1 hour' "
        "WHERE person_id = (SELECT id FROM persons WHERE email = $1)",
        email,
    )
    assert 'id="step-password"' in old.get(page).text
    merchant = f"/merchants/{shop.id}"
    forms: list[tuple[str, str, dict[str, str]]] = [
        (page, "/approve", {}),
        (page, "/cancel", {}),
        ("/payouts/preview", "", {"day": str(yesterday())}),
        (merchant, "/funds", {"kind": "hold", "amount": "1", "reason": "x"}),
        (merchant, "/payout-terms", {"payout_minimum": "1", "payout_fee": "0"}),
        ("/float", "", {"day": str(yesterday()), "bank_closing": "1", "note": "x"}),
        ("/float/sweep", "", {"amount": "1"}),
        ("/bank/return", "", {"reference": "FT"}),
    ]
    for where, action, fields in forms:
        for password in ("", "wrong password"):
            refused = old.send(where, action, **fields, password=password)
            assert refused.status_code in (422, 429), (where, action)
    [row] = bank_service.execute(
        "SELECT status FROM payout_runs WHERE number = $1", int(page.rsplit("/", 1)[1])
    )
    assert row["status"] == "requested"


# == A merchant's money ===========================================================================


async def test_money_is_held_released_and_corrected(bank_service: Service, finance: Desk) -> None:
    shop = await paid_shop(bank_service, 30_000)
    page = f"/merchants/{shop.id}"

    def move(kind: str, amount: str, **more: str) -> Any:
        fields = {"kind": kind, "amount": amount, "reason": "Dispute <i>7</i>", **more}
        return finance.send(page, "/funds", **fields)

    for kind, amount in (("hold", "x"), ("hold", "0"), ("hold", "-1"), ("steal", "1")):
        assert move(kind, amount).status_code == 422
    assert move("hold", "1", reason="").status_code == 422
    assert "Only MVR 300.00 are available." in move("hold", "300.01").text
    seen = finance.moved(page)
    assert "The balance is changed" in move("hold", "100.00", moved=seen).text
    again = move("hold", "100.00", moved=seen)  # sent twice
    assert again.status_code == 409
    assert "decide again" in again.text
    assert "Only MVR 100.00 are held." in move("release", "100.01").text
    assert "is changed" in move("release", "40").text
    assert move("correct", "-240.01").status_code == 409
    assert "is changed" in move("correct", "-240.01", below_zero="on").text
    found = await balance_of(shop)
    assert (found.available, found.held) == (-1, 6_000)
    rows = bank_service.execute(
        "SELECT action, actor_kind, address, reason FROM journal WHERE merchant_id = $1 "
        "AND object_type = 'balance' ORDER BY time, id",
        shop.id,
    )
    assert [row["action"] for row in rows] == [
        "merchant.hold",
        "merchant.release",
        "merchant.adjust",
    ]
    assert {(row["actor_kind"], row["reason"]) for row in rows} == {
        ("operator", "Dispute <i>7</i>"),
    }
    assert all(row["address"] for row in rows)


async def test_one_form_sent_eight_times_at_once_acts_once(
    bank_service: Service, finance: Desk
) -> None:
    shop = await paid_shop(bank_service, 30_000)
    fields = {"kind": "hold", "amount": "10", "reason": "Dispute"}
    fields["moved"] = finance.moved(f"/merchants/{shop.id}")
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(
                lambda _: finance.send(f"/merchants/{shop.id}", "/funds", **fields).status_code,
                range(8),
            )
        )
    assert sorted(answers) == [200, *[409] * 7]
    assert (await balance_of(shop)).held == 1_000


async def test_terms_and_bank_account_of_a_merchant(bank_service: Service, finance: Desk) -> None:
    shop = await paid_shop(bank_service, 30_000)
    page = f"/merchants/{shop.id}"
    for fields in (
        {"payout_minimum": "0", "payout_fee": "0"},
        {"payout_minimum": "1", "payout_fee": "-1"},
        {"payout_minimum": "1", "payout_fee": "0", "paused_reason": "x" * 256},
        {"payout_minimum": "1", "payout_fee": "0", "paused_reason": "two\nlines"},
    ):
        assert finance.send(page, "/payout-terms", **fields).status_code == 422
    terms = {"payout_minimum": "100", "payout_fee": "5", "on_request": "on"}
    shown = finance.send(page, "/payout-terms", **terms, paused_reason="<b>Late</b>").text
    assert 'Payouts are paused: <bdi dir="auto">&lt;b&gt;Late&lt;/b&gt;</bdi>' in shown
    assert "7730000012345" in shown
    assert (await _terms(shop)) == (10_000, 500, True, "<b>Late</b>")
    finance.send(page, "/payout-terms", payout_minimum="1", payout_fee="0")
    assert (await _terms(shop)) == (100, 0, False, None)
    async with connection_to(bank_service.dsn) as connection:
        tenant = await tenants.of_merchant(connection, shop.id, "live")
        await enter(connection, tenant.id, "999988887777", holder="Other", bank="MIB")
    support = await desk_of(bank_service, "support")
    read = support.get(page).text
    assert "…2345" in read
    assert "MIB …7777" in read
    assert "7730000012345" not in read
    assert "Hold, release or correct" not in read


async def test_all_that_is_available_is_paid_out_on_request(
    bank_service: Service, finance: Desk
) -> None:
    shop = await paid_shop(bank_service, 30_000)
    page = f"/merchants/{shop.id}"
    assert "Pay out all that is available" in finance.get(page).text
    assert "The payout is requested" in finance.send(page, "/request-payout", mode="live").text
    found = await balance_of(shop)
    assert (found.available, found.in_transit) == (0, 30_000)
    rows = bank_service.execute(
        "SELECT actor_kind FROM journal WHERE merchant_id = $1 AND action = 'payout.request'",
        shop.id,
    )
    assert [row["actor_kind"] for row in rows] == ["operator"]
    assert "Pay out all that is available" not in finance.get(page).text
    assert finance.send(page, "/request-payout", mode="live").status_code == 409
    support = await desk_of(bank_service, "support")
    assert support.send(page, "/request-payout", mode="live").status_code == 403


async def _terms(shop: Merchant) -> tuple[int, int, bool, str | None]:
    async with connection_to(shop.service.dsn) as connection:
        tenant = await tenants.of_merchant(connection, shop.id, "live")
        found = await payouts.terms(connection, tenant.id)
    return found.minimum, found.fee, found.on_request, found.paused_reason


async def test_the_page_shows_the_chosen_mode(bank_service: Service, finance: Desk) -> None:
    shop = await paid_shop(bank_service, 30_000)
    page = f"/merchants/{shop.id}"
    assert "Live balance</h2>" in finance.get(page).text
    assert "Sandbox balance</h2>" in finance.get(page, mode="sandbox").text


async def test_a_run_that_grew_is_not_approved_as_it_was(
    bank_service: Service, finance: Desk
) -> None:
    await paid_shop(bank_service, 30_000)
    page, shown = create(finance)
    seen = seen_in(shown.text)
    await paid_shop(bank_service, 12_345)
    assert create(finance)[0] == page
    second = await desk_of(bank_service, "finance")
    refused = second.send(page, "/approve", **seen)
    assert refused.status_code == 409
    grown = seen_in(refused.text)
    assert (
        f"The total is MVR {grown['total']} now. Look at the run, and decide again." in refused.text
    )
    for wrong in ({"total": "all"}, {}):
        assert second.send(page, "/approve", **wrong).status_code == 422
    assert "The run is approved" in second.send(page, "/approve", **grown).text
    finance.send(page, "/cancel")

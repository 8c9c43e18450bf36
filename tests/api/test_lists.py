"""GET /payments and GET /payments/{id}: filters, cursors, visibility, expiry on read."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.serving import Merchant, Service


def refs(page: dict[str, Any]) -> list[str]:
    return [payment["reference"] for payment in page["data"]]


def listed(shop: Merchant, **query: Any) -> list[str]:
    response = shop.get("/payments", **query)
    assert response.status_code == 200, response.text
    return refs(response.json())


def test_an_empty_listing(shop: Merchant) -> None:
    assert shop.get("/payments").json() == {
        "data": [],
        "pagination": {"limit": 20, "has_more": False, "next_cursor": None},
    }


def test_pages_newest_first_without_gap_or_repeat(shop: Merchant) -> None:
    made = [shop.payment(reference=f"p{i:02}")["reference"] for i in range(25)]
    first = shop.get("/payments").json()
    assert refs(first) == made[:4:-1]
    assert first["pagination"]["limit"] == 20
    assert first["pagination"]["has_more"] is True
    shop.payment(reference="newcomer")
    second = shop.get("/payments", after=first["pagination"]["next_cursor"]).json()
    assert refs(second) == made[4::-1]
    assert second["pagination"] == {"limit": 20, "has_more": False, "next_cursor": None}


def test_a_full_last_page_says_so(shop: Merchant) -> None:
    for _ in range(2):
        shop.payment()
    page = shop.get("/payments", limit=2).json()
    assert page["pagination"] == {"limit": 2, "has_more": False, "next_cursor": None}


@pytest.mark.parametrize(
    ("limit", "used"),
    [("1", 1), ("100", 100), ("101", 100), ("0", 1), ("-5", 1), ("007", 7), ("9" * 5000, 100)],
)
def test_limits_are_clamped(shop: Merchant, limit: str, used: int) -> None:
    assert shop.get("/payments", limit=limit).json()["pagination"]["limit"] == used


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("limit", v) for v in ("", "ten", "1.5", "1e1", " 5", "\u0665", "--5")),
        *(("status", v) for v in ("", "open", "PAID", "pending,paid")),
        *(("created_from", v) for v in ("", "yesterday", "2026-13-01", "2026-01-01T10:00")),
        ("created_to", ""),
        ("terminal_label", "x" * 11),
        ("terminal_label", "a\0"),
        *(("reference", v) for v in ("", " ", "\u200b", "x" * 101)),
        ("bill_number", "x" * 26),
        ("bill_number", "a#b"),
    ],
)
def test_bad_parameters_are_refused_by_name(shop: Merchant, name: str, value: str) -> None:
    response = shop.get("/payments", **{name: value})
    assert response.status_code == 400, response.text
    assert response.json()["error"] | {"message": ""} == {
        "code": "invalid_request",
        "message": "",
        "field": name,
    }


NAMES = ("limit", "after", "status", "created_from", "created_to", "terminal_label", "bill_number")
NAMES += ("reference",)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["{0}=paid&{0}=paid", "{0}[]=1", "{0}[x]=1", "{0}%5B%5D=1"])
def test_arrays_are_refused(shop: Merchant, name: str, form: str) -> None:
    response = shop.get("/payments?" + form.format(name))
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid_request"


def test_a_reference_finds_its_payment_of_every_kind(shop: Merchant, service: Service) -> None:
    def found(reference: str) -> list[str]:
        page = shop.get("/payments", reference=reference).json()
        return [payment["id"] for payment in page["data"]]

    hosted = shop.payment(reference="order-1", terminal_label="Till 1")
    shop.payment(reference="order-11")
    shop.payment(reference="ORDER-1")
    service.merchant().payment(reference="order-1")
    charge = shop.charge(shop.approved(), 5, "charge-1").json()["data"]
    request = shop.request(reference="request-1")
    assert found("order-1") == found(" order-1 ") == [hosted["id"]]
    assert found("charge-1") == [charge["id"]]
    assert found("request-1") == found("order") == found("none") == []
    shop.control(f"payment-requests/{request['id']}/pay")
    assert len(found("request-1")) == 1
    assert listed(shop, reference="request-1") == ["request-1"]


def test_a_reference_narrows_together_with_the_other_filters(shop: Merchant) -> None:
    shop.payment(reference="order-1", terminal_label="Till 1", bill_number="7")
    shop.payment(reference="order-2", terminal_label="Till 1", bill_number="7")
    for query in (
        {"status": "pending"},
        {"terminal_label": "Till 1", "bill_number": "7"},
        {"limit": 1, "created_from": "2020-01-01"},
    ):
        assert listed(shop, reference="order-1", **query) == ["order-1"]
    for other in (
        {"status": "paid"},
        {"status": "expired"},
        {"terminal_label": "Till 2"},
        {"bill_number": "8"},
        {"created_to": "2020-01-01"},
    ):
        assert listed(shop, reference="order-1", **other) == []


def test_payment_requests_do_not_have_the_filter(shop: Merchant) -> None:
    shop.request(reference="request-1")
    response = shop.get("/payment-requests", reference="other")
    assert [each["reference"] for each in response.json()["data"]] == ["request-1"]
    assert "reference" in response.headers["laari-warning"]


def test_unknown_parameters_are_ignored(shop: Merchant) -> None:
    shop.payment(reference="only")
    assert listed(shop, page="2", colour="blue") == ["only"]


@pytest.mark.parametrize("query", ["after=%ff", "page=%ff", "%ff=1", "%f0%28[]=1&%ff"])
def test_bytes_that_are_no_text_start_at_the_first_page_or_are_ignored(
    shop: Merchant, query: str
) -> None:
    shop.payment(reference="only")
    response = shop.get(f"/payments?{query}")
    assert response.status_code == 200, response.text
    assert refs(response.json()) == ["only"]
    assert ("Laari-Warning" in response.headers) == ("after" not in query)


@pytest.mark.parametrize(
    "name", ["limit", "status", "created_from", "terminal_label", "bill_number"]
)
def test_bytes_that_are_no_text_are_refused_in_a_filter(shop: Merchant, name: str) -> None:
    shop.payment(terminal_label="\ufffd")
    response = shop.get(f"/payments?{name}=%ff")
    assert response.status_code == 400
    assert response.json()["error"]["field"] == name


@pytest.mark.parametrize("text", ["%zz", "a=%f0%28"])
def test_odd_query_strings_do_no_harm(shop: Merchant, text: str) -> None:
    assert shop.get(f"/payments?terminal_label={text}").status_code in (200, 400)


@pytest.mark.parametrize(
    "moment",
    [
        "0001-01-01",
        "0000-01-01",
        "0001-01-01T00:00:00+23:59",
        "2016-12-31T23:59:60Z",
        "1990-12-31T15:59:60-08:00",
        "2017-01-01T04:59:60",
    ],
)
def test_dates_at_the_edge_of_the_calendar_are_bounds(shop: Merchant, moment: str) -> None:
    shop.payment(reference="only")
    assert listed(shop, created_from=moment) == ["only"]
    assert listed(shop, created_to=moment) == []


@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59Z", "9999-12-31T23:59:60-23:59"])
def test_dates_beyond_the_calendar_are_bounds(shop: Merchant, moment: str) -> None:
    shop.payment(reference="only")
    assert listed(shop, created_from=moment) == []
    assert listed(shop, created_to=moment) == ["only"]


def test_created_bounds(shop: Merchant) -> None:
    for day in range(3):
        shop.payment(reference=f"d{day}")
        shop.advance(86_400)
    days = [p["created_at"] for p in reversed(shop.get("/payments").json()["data"])]
    assert listed(shop, created_from=days[1]) == ["d2", "d1"]
    assert listed(shop, created_to=days[1]) == ["d0"]
    assert listed(shop, created_from=days[1], created_to=days[2]) == ["d1"]
    assert listed(shop, created_from=days[2][:10]) == ["d2"]
    assert listed(shop, created_from="2020-01-01", created_to="2020-01-02") == []
    for later in (days[1], days[0]):
        response = shop.get("/payments", created_from=days[1], created_to=later)
        assert response.status_code == 400


def test_labels_and_bill_numbers(shop: Merchant) -> None:
    shop.payment(reference="none")
    shop.payment(reference="a", terminal_label="Till", bill_number="007")
    shop.payment(reference="b", terminal_label="till", bill_number="7")
    assert listed(shop, terminal_label=" Till ") == ["a"]
    assert listed(shop, bill_number="007") == ["a"]
    assert listed(shop, bill_number="07") == []
    assert listed(shop, terminal_label="till", bill_number="7", status="pending") == ["b"]
    assert listed(shop, terminal_label="  ", bill_number="") == ["b", "a", "none"]


def test_statuses_with_overdue_and_reserved_payments(shop: Merchant) -> None:
    made = {name: shop.payment(reference=name) for name in ("overdue", "reserved", "paid", "seen")}
    shop.control(f"payments/{made['paid']['id']}/pay")
    shop.control(f"payments/{made['reserved']['id']}/reserve")
    shop.advance(25 * 3600)
    shop.get(f"/payments/{made['seen']['id']}")
    shop.payment(reference="fresh")
    assert listed(shop, status="pending") == ["fresh", "reserved"]
    assert shop.events(made["overdue"]["id"]) == ["payment.created"]
    assert listed(shop, status="paid") == ["paid"]
    assert listed(shop, status="cancelled") == []
    assert listed(shop, status="expired") == ["seen", "overdue"]
    assert shop.events(made["overdue"]["id"]) == ["payment.created", "payment.expired"]
    assert listed(shop, status="expired") == ["seen", "overdue"]
    assert shop.events(made["overdue"]["id"]) == ["payment.created", "payment.expired"]


@pytest.mark.parametrize("query", [{}, {"terminal_label": "T"}, {"status": "expired"}])
def test_listing_expires_just_the_rows_it_returns(shop: Merchant, query: dict[str, str]) -> None:
    older, newer = (shop.payment(reference=r, terminal_label="T") for r in ("older", "newer"))
    shop.advance(25 * 3600)
    page = shop.get("/payments", limit=1, **query).json()
    assert [(p["reference"], p["status"]) for p in page["data"]] == [("newer", "expired")]
    assert shop.events(newer["id"])[1:] == ["payment.expired"]
    assert shop.events(older["id"])[1:] == []


def test_a_scan_past_many_rows_gives_short_pages_that_lead_on(
    service: Service, shop: Merchant
) -> None:
    """A rare status under a bill: the page may be empty, the cursor still finds the row."""
    oldest = shop.payment(reference="oldest", bill_number="T")
    shop.post(f"/payments/{oldest['id']}/cancel")
    service.execute(
        "INSERT INTO payments (id, tenant_id, kind, token, reference, amount, bill_number, "
        "metadata, created_at, status) SELECT gen_random_uuid(), p.tenant_id, 'hosted', "
        "gen_random_uuid()::text, 'bulk' || n, 1, 'T', '{}', now() + n * interval '1 ms', "
        "'pending' FROM payments p, generate_series(1, 5000) n WHERE p.id = $1::uuid",
        oldest["id"].partition("_")[2],
    )
    after, found, pages = None, [], 0
    while True:
        query = {"bill_number": "T", "status": "cancelled"} | ({"after": after} if after else {})
        page = shop.get("/payments", **query).json()
        found += refs(page)
        pages += 1
        after = page["pagination"]["next_cursor"]
        assert page["pagination"]["has_more"] == (after is not None)
        if after is None:
            break
    # Rows without claims and events would be found by the audits of other tests.
    service.execute("DELETE FROM payments WHERE reference LIKE 'bulk%'")
    assert found == ["oldest"]
    assert pages > 1


@pytest.mark.parametrize("cursor", ["", "junk", "x" * 5000, "ދ", "../../etc", "%00"])
def test_unknown_cursors_start_at_the_first_page(shop: Merchant, cursor: str) -> None:
    shop.payment(reference="first")
    assert listed(shop, after=cursor) == ["first"]


def test_a_cursor_of_another_merchant_or_mode_is_unknown(service: Service, shop: Merchant) -> None:
    for i in range(3):
        shop.payment(reference=f"m{i}")
    cursor = shop.get("/payments", limit=1).json()["pagination"]["next_cursor"]
    other = service.merchant()
    other.payment(reference="theirs")
    assert listed(other, after=cursor) == ["theirs"]
    service.execute("UPDATE merchants SET mode = 'live' WHERE id = $1", shop.id)
    shop.payment(reference="live")
    assert listed(shop, after=cursor) == ["live"]


def test_nothing_shows_across_merchants_or_modes(service: Service, shop: Merchant) -> None:
    payment = shop.payment()
    assert service.merchant().get(f"/payments/{payment['id']}").status_code == 404
    service.execute("UPDATE merchants SET mode = 'live' WHERE id = $1", shop.id)
    assert shop.get(f"/payments/{payment['id']}").status_code == 404
    assert listed(shop) == []
    service.execute("UPDATE merchants SET mode = 'sandbox' WHERE id = $1", shop.id)
    assert shop.get(f"/payments/{payment['id']}").status_code == 200


@pytest.mark.parametrize(
    ("path", "make"),
    [
        ("/payments", Merchant.payment),
        ("/payment-requests", Merchant.request),
        ("/authorizations", Merchant.authorization),
        ("/events", Merchant.payment),
    ],
)
def test_every_list_is_of_one_merchant_and_one_mode(
    service: Service, shop: Merchant, path: str, make: Callable[[Merchant], object]
) -> None:
    make(shop)
    assert len(shop.get(path).json()["data"]) == 1
    make(service.merchant())
    assert len(shop.get(path).json()["data"]) == 1
    service.execute("UPDATE merchants SET mode = 'live' WHERE id = $1", shop.id)
    assert shop.get(path).json()["data"] == []


def test_lists_asked_for_together_are_each_callers_own(service: Service, shop: Merchant) -> None:
    """Equal ones share what was read and written: nobody else may get it."""
    other = service.merchant()
    for merchant in (shop, other):
        for number in range(3):
            merchant.payment(reference=f"p{number}", terminal_label=f"Till {number % 2}")
        merchant.request()
    asked = []
    for merchant in (shop, other):
        cursor = merchant.get("/payments", limit=1).json()["pagination"]["next_cursor"]
        paths = ("/payments", "/payments?limit=1", "/payments?limit=2", "/payment-requests")
        later = (f"/payments?limit=1&after={cursor}", "/payments?terminal_label=Till%201")
        asked += [(merchant, path) for path in (*paths, *later)]
    alone = [merchant.get(path).json() for merchant, path in asked]
    assert all(a != b for n, a in enumerate(alone) for b in alone[:n])
    order = list(range(len(asked))) * 5
    random.shuffle(order)

    async def ask_all() -> list[httpx.Response]:
        async with httpx.AsyncClient(timeout=60) as client:
            return await asyncio.gather(
                *(
                    client.get(
                        f"{service.origin}/merchant{asked[n][1]}",
                        headers={"X-API-Key": asked[n][0].secret_key},
                    )
                    for n in order
                )
            )

    together = asyncio.run(ask_all())
    assert [response.json() for response in together] == [alone[n] for n in order]
    assert len({response.headers["request-id"] for response in together}) == len(order)


@pytest.mark.parametrize("id", ["x", "pay_", "pay_" + "g" * 32, "pay_" + "A" * 32, "%00", "🙂"])
def test_unknown_payments_are_not_found(shop: Merchant, id: str) -> None:
    response = shop.get(f"/payments/{id}")
    assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")


def test_the_reference_is_no_id(shop: Merchant) -> None:
    assert shop.get(f"/payments/{shop.payment(reference='r')['reference']}").status_code == 404

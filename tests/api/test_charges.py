"""Charging an authorization: the order of checks, limits, retries and what it leaves behind."""

from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.serving import Merchant, Service, serving

DAY = 86_400
HOSTED_ONLY = {"terminal_label", "payment_url", "qr_url", "return_url", "expires_at"}


def code(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def usage(shop: Merchant, authorization: dict[str, Any]) -> dict[str, int]:
    return shop.get(f"/authorizations/{authorization['id']}").json()["data"]["usage"]


def history(shop: Merchant) -> list[tuple[str, int, str, str]]:
    """The sandbox customer's payments, newest first: status, amount, details, tid."""
    rows = shop.service.execute(
        "SELECT t.status, t.amount, t.details, t.tid FROM transactions t "
        "JOIN wallets w USING (account) JOIN customers c ON c.id = w.customer_id "
        "JOIN tenants n ON n.id = c.sandbox_of "
        "WHERE n.merchant_id = $1 AND t.type = 'payment' ORDER BY recorded DESC",
        shop.id,
    )
    return [tuple(row) for row in rows]


def move_to(shop: Merchant, moment: str) -> None:
    """Sets the sandbox's clock to a moment in Maldives time."""
    now = datetime.fromisoformat(shop.control("clock", {"advance_seconds": 0})["now"])
    there = datetime.fromisoformat(f"{moment}+05:00")
    shop.advance(int((there - now).total_seconds()))


def test_a_charge_is_a_paid_payment_at_once(service: Service) -> None:
    shop = service.merchant(fee_bps=250, fee_fixed=100)
    active = shop.approved()
    response = shop.charge(active, 12_345, "  box/1 ", description="March", bill_number=" B-1 ")
    assert response.status_code == 201
    data = response.json()["data"]
    assert not HOSTED_ONLY & set(data)
    assert data.pop("id").startswith("pay_")
    assert data.pop("created_at") == data.pop("paid_at")
    tid = data.pop("payment_reference")
    assert data == {
        "reference": "box/1",
        "amount": 12_345,
        "fee": 409,
        "net_amount": 11_936,
        "title": None,
        "description": "March",
        "bill_number": "B-1",
        "status": "paid",
        "metadata": {},
    }
    payment = response.json()["data"]
    assert shop.events(payment["id"]) == ["payment.paid"]
    assert shop.get(f"/payments/{payment['id']}").json()["data"] == payment
    assert shop.get("/payments").json()["data"] == [payment]
    assert history(shop) == [("success", -12_345, "Monthly box", tid)]
    charged = shop.get(f"/authorizations/{active['id']}").json()["data"]
    assert charged["usage"] == {"payment_count": 1, "total_paid": 12_345}
    assert charged["last_used_at"] == charged["updated_at"] == payment["paid_at"]
    assert charged["status"] == "active"
    (event,) = service.execute(
        "SELECT body FROM events WHERE object_id = $1::uuid", payment["id"].partition("_")[2]
    )
    assert response.content.removeprefix(b'{"data":').removesuffix(b"}") in event["body"]


def test_its_payment_has_no_qr_and_cannot_be_cancelled(shop: Merchant) -> None:
    payment = shop.charge(shop.approved(), 5).json()["data"]
    assert code(shop.get(f"/public/qr/{payment['id']}")) == (404, "not_found")
    cancelled = shop.post(f"/payments/{payment['id']}/cancel")
    assert code(cancelled) == (409, "payment_not_cancellable")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"reference": None}, "reference"),
        ({"reference": "r" * 101}, "reference"),
        ({"amount": 0}, "amount"),
        ({"amount": 10_000_000_000}, "amount"),
        ({"amount": "5"}, "amount"),
        ({"currency": "MVR"}, "currency"),
        ({"return_url": "https://shop.test"}, "return_url"),
        ({"expires_at": "2199-01-01"}, "expires_at"),
        ({"terminal_label": "till"}, "terminal_label"),
        ({"metadata": {}}, "metadata"),
        ({"title": "t" * 256}, "title"),
        ({"bill_number": "a#b"}, "bill_number"),
    ],
)
def test_wrong_fields_are_named(shop: Merchant, change: dict[str, Any], field: str) -> None:
    body = {"reference": "wrong", "amount": 5, **change}
    response = shop.post(f"/authorizations/{shop.approved()['id']}/charge", body)
    assert code(response) == (400, "invalid_request")
    assert response.json()["error"]["field"] == field


def test_a_matching_retry_answers_the_original_whatever_has_changed(shop: Merchant) -> None:
    active = shop.approved(limits={"max_payments": 1})
    first = shop.charge(active, 700, "once", title="First")
    shop.control("wallet", {"balance": 0, "tier": "basic"})
    assert shop.charge(active, 700, "once").content == first.content
    shop.post(f"/authorizations/{active['id']}/cancel")
    assert shop.charge(active, 700, "once", title="Other").content == first.content
    shop.advance(300 * DAY)
    assert shop.charge(active, 700, "once").content == first.content
    assert len(history(shop)) == 1
    refunded = shop.service.laari("payment", "refund", first.json()["data"]["id"], "--json")
    assert refunded.returncode == 0, refunded.stderr
    again = shop.charge(active, 700, "once")
    assert (again.status_code, again.json()["data"]["status"]) == (201, "refunded")


def test_references_are_shared_with_payments(shop: Merchant) -> None:
    one, two = shop.approved(), shop.approved()
    shop.payment(reference="hosted", amount=5)
    assert shop.charge(one, 5, "charged").status_code == 201
    for response in (
        shop.charge(one, 5, "hosted"),
        shop.charge(one, 6, "charged"),
        shop.charge(two, 5, "charged"),
        shop.post("/payments", {"reference": "charged", "amount": 5}),
    ):
        assert code(response) == (409, "reference_conflict")
    assert shop.authorization(reference="charged")["reference"] == "charged"


def test_the_order_of_checks(dsn: str, tmp_path: Path) -> None:
    """Everything is wrong at first; mending the first thing shows the next.

    Rows are tampered with, which the audits of other tests must not find: the database is its own.
    """
    with serving(dsn, tmp_path) as service:
        check_the_order(service, service.merchant())


def check_the_order(service: Service, shop: Merchant) -> None:
    number = shop.authorization(
        limits={
            "per_payment": 10,
            "period": {"interval": "day", "amount": 20},
            "total": 30,
            "max_payments": 3,
        }
    )
    shop.control("wallet", {"balance": 5, "tier": "basic"})

    def answer(amount: int, reference: str = "new") -> str:
        response = shop.charge(number, amount, reference)
        return response.json()["error"]["code"] if response.is_error else "paid"

    def store(**values: Any) -> None:
        columns = ", ".join(f"{name} = ${i}" for i, name in enumerate(values, 2))
        service.execute(
            f"UPDATE authorizations SET {columns} WHERE id = $1::uuid",
            number["id"].partition("_")[2],
            *values.values(),
        )

    shop.payment(reference="taken")
    assert answer(11, "taken") == "reference_conflict"
    assert answer(11) == "authorization_unapproved"
    shop.control(f"authorizations/{number['id']}/approve")
    shop.control(f"authorizations/{number['id']}/suspend")
    store(currency="USD")
    assert answer(11) == "authorization_inactive"
    shop.control(f"authorizations/{number['id']}/resume")
    assert answer(11) == "currency_mismatch"
    store(currency="MVR", total_paid=28, payment_count=3)
    store(period_paid=15, period_start=datetime.fromisoformat(number["created_at"]).date())
    assert answer(11) == "per_payment_limit_exceeded"
    assert answer(6) == "period_limit_exceeded"
    assert answer(3) == "total_limit_exceeded"
    assert answer(2) == "payment_count_limit_exceeded"
    store(max_payments=9, per_payment=10**6, period_amount=10**7, total=10**7)
    assert answer(600_000) == "insufficient_balance"
    shop.control("wallet", {"balance": 600_000})
    assert answer(600_000) == "wallet_limit_exceeded"
    assert answer(500_000) == "paid"
    assert [line[0] for line in history(shop)] == ["success", "failed", "failed"]


@pytest.mark.parametrize(
    ("limits", "amounts", "refused"),
    [
        ({"per_payment": 100}, [100, 100], (101, "per_payment_limit_exceeded")),
        ({"total": 250}, [100, 149], (2, "total_limit_exceeded")),
        ({"max_payments": 2}, [1, 1], (1, "payment_count_limit_exceeded")),
        (
            {"period": {"interval": "year", "amount": 250}},
            [100, 149],
            (2, "period_limit_exceeded"),
        ),
    ],
)
def test_each_limit_to_the_laari(
    shop: Merchant, limits: dict[str, Any], amounts: list[int], refused: tuple[int, str]
) -> None:
    active = shop.approved(limits=limits)
    for amount in amounts:
        assert shop.charge(active, amount).status_code == 201
    over, name = refused
    assert code(shop.charge(active, over)) == (409, name)
    left = shop.get(f"/authorizations/{active['id']}").json()["data"]
    assert left["status"] == "active"
    assert left["usage"] == {"payment_count": len(amounts), "total_paid": sum(amounts)}
    assert all(line[0] == "success" for line in history(shop))


@pytest.mark.parametrize(
    ("interval", "start", "last", "following"),
    [
        ("day", "2031-03-12T00:00:00", "2031-03-12T23:59:50", "2031-03-13T00:00:01"),
        ("week", "2031-03-09T00:00:01", "2031-03-15T23:59:50", "2031-03-16T00:00:01"),
        ("month", "2031-02-01T00:00:01", "2031-02-28T23:59:50", "2031-03-01T00:00:01"),
        ("year", "2031-01-01T00:00:01", "2031-12-31T23:59:50", "2032-01-01T00:00:01"),
    ],
)
def test_calendar_periods_in_maldives_time(
    shop: Merchant, interval: str, start: str, last: str, following: str
) -> None:
    active = shop.approved(limits={"period": {"interval": interval, "amount": 100}})
    move_to(shop, start)
    assert shop.charge(active, 60).status_code == 201
    move_to(shop, last)
    assert code(shop.charge(active, 41)) == (409, "period_limit_exceeded")
    assert shop.charge(active, 40).status_code == 201
    move_to(shop, following)
    assert shop.charge(active, 100).status_code == 201
    assert code(shop.charge(active, 1)) == (409, "period_limit_exceeded")
    # Back in the period before, what was charged there counts again.
    move_to(shop, last)
    assert code(shop.charge(active, 1)) == (409, "period_limit_exceeded")
    assert usage(shop, active) == {"payment_count": 3, "total_paid": 200}


def test_one_time_is_consumed_by_its_payment(shop: Merchant) -> None:
    once = shop.approved(type="one_time")
    shop.control("wallet", {"balance": 99})
    assert code(shop.charge(once, 100, "fails")) == (402, "insufficient_balance")
    shop.control("wallet", {"balance": 100})
    first = shop.charge(once, 100, "works")
    assert first.status_code == 201
    spent = shop.get(f"/authorizations/{once['id']}").json()["data"]
    assert (spent["status"], spent["limits"]["max_payments"]) == ("consumed", None)
    assert code(shop.charge(once, 1)) == (409, "authorization_inactive")
    assert shop.charge(once, 100, "works").content == first.content
    cancelled = shop.post(f"/authorizations/{once['id']}/cancel")
    assert code(cancelled) == (409, "authorization_not_cancellable")
    assert shop.events(once["id"]) == ["authorization.created", "authorization.approved"]


def test_failed_attempts_make_no_payment_but_show_in_the_history(shop: Merchant) -> None:
    active = shop.approved()
    shop.control("wallet", {"balance": 700_000, "tier": "basic"})
    assert code(shop.charge(active, 700_001, title="Too much")) == (402, "insufficient_balance")
    assert code(shop.charge(active, 500_001, "again")) == (422, "wallet_limit_exceeded")
    assert [line[:3] for line in history(shop)] == [
        ("failed", -500_001, "Monthly box"),
        ("failed", -700_001, "Too much"),
    ]
    assert shop.get("/payments").json()["data"] == []
    assert usage(shop, active) == {"payment_count": 0, "total_paid": 0}
    # The reference is free: nothing was made under it.
    assert shop.charge(active, 500_000, "again").status_code == 201


def test_a_refund_gives_no_usage_back(shop: Merchant) -> None:
    active = shop.approved(limits={"period": {"interval": "year", "amount": 100}, "total": 100})
    payment = shop.charge(active, 100).json()["data"]
    assert shop.service.laari("payment", "refund", payment["id"]).returncode == 0
    assert code(shop.charge(active, 1)) == (409, "period_limit_exceeded")
    assert usage(shop, active) == {"payment_count": 1, "total_paid": 100}


def test_keys_replay_successes_and_refusals(shop: Merchant) -> None:
    active, other = shop.approved(limits={"total": 100}), shop.approved()
    path = f"/authorizations/{active['id']}/charge"

    def send(amount: int, key: str, path: str = path, reference: str = "r") -> httpx.Response:
        return shop.post(path, {"reference": reference, "amount": amount}, Idempotency_Key=key)

    first = send(60, "one")
    again = send(60, "one")
    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert code(send(61, "one")) == (409, "idempotency_conflict")
    elsewhere = send(60, "one", f"/authorizations/{other['id']}/charge")
    assert code(elsewhere) == (409, "idempotency_conflict")
    # Keys of another operation are others.
    assert shop.post("/payments", {"reference": "p", "amount": 1}, Idempotency_Key="one").is_success
    shop.control("wallet", {"balance": 0})
    poor = send(40, "two", reference="r2")
    assert code(poor) == (402, "insufficient_balance")
    shop.control("wallet", {"balance": 1_000})
    assert send(40, "two", reference="r2").content == poor.content
    assert [line[0] for line in history(shop)] == ["failed", "success"]
    unknown = "/authorizations/auth_nothing/charge"
    missing = send(1, "three", unknown)
    assert code(missing) == (404, "authorization_not_found")
    assert send(1, "three", unknown).headers["Idempotent-Replayed"] == "true"
    shop.advance(DAY + 60)
    assert send(40, "two", reference="r2").status_code == 201


def test_amounts_of_the_largest_size(shop: Merchant) -> None:
    shop.control("wallet", {"tier": "business", "balance": 999_999_999_999_999_999})
    active = shop.approved(limits={"total": 999_999_999_999_999_999})
    for _ in range(3):
        assert shop.charge(active, 9_999_999_999).status_code == 201
    assert usage(shop, active) == {"payment_count": 3, "total_paid": 29_999_999_997}
    assert shop.control("wallet", {})["balance"] == 999_999_999_999_999_999 - 29_999_999_997

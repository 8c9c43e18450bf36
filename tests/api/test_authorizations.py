"""Authorizations: their fields, their states, and what ends them."""

import json
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.serving import Merchant, Service

DAY = 86_400
NO_LIMITS = {"per_payment": None, "period": None, "total": None, "max_payments": None}
BIGGEST = 999_999_999_999_999_999


def code(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def act(shop: Merchant, authorization: dict[str, Any], action: str) -> httpx.Response:
    return shop.post(f"/sandbox/authorizations/{authorization['id']}/{action}")


def cancel(shop: Merchant, authorization: dict[str, Any]) -> httpx.Response:
    return shop.post(f"/authorizations/{authorization['id']}/cancel")


def now_of(shop: Merchant, authorization: dict[str, Any]) -> dict[str, Any]:
    return shop.get(f"/authorizations/{authorization['id']}").json()["data"]


def in_a_while(shop: Merchant, seconds: int) -> str:
    now = datetime.fromisoformat(shop.control("clock", {"advance_seconds": 0})["now"])
    return (now + timedelta(seconds=seconds)).isoformat()


def test_a_new_authorization_waits_for_the_customer(shop: Merchant) -> None:
    response = shop.post(
        "/authorizations",
        {"reference": "  box-1 ", "title": " Monthly box ", "description": "  "},
    )
    assert response.status_code == 201
    data = response.json()["data"]
    assert data["id"].startswith("auth_")
    assert data["approval_url"].startswith(f"{shop.service.origin}/approve/")
    created = datetime.fromisoformat(data["created_at"])
    approval = datetime.fromisoformat(data["approval_expires_at"])
    assert approval - created == timedelta(hours=24)
    del data["id"], data["approval_url"], data["approval_expires_at"]
    assert data.pop("updated_at") == data.pop("created_at")
    assert data == {
        "reference": "box-1",
        "title": "Monthly box",
        "description": None,
        "type": "unscheduled",
        "currency": "MVR",
        "limits": NO_LIMITS,
        "usage": {"payment_count": 0, "total_paid": 0},
        "status": "pending",
        "expires_at": None,
        "return_url": None,
        "approved_at": None,
        "rejected_at": None,
        "revoked_at": None,
        "last_used_at": None,
    }
    assert now_of(shop, response.json()["data"]) == response.json()["data"]
    assert shop.events(response.json()["data"]["id"]) == ["authorization.created"]


def test_a_repeated_reference_answers_the_original_unchanged(shop: Merchant) -> None:
    first = shop.authorization(reference="same", limits={"total": 100})
    shop.advance(3600)
    body = {
        "reference": "same",
        "title": "Another",
        "type": "recurring",
        "limits": {"total": 5},
        "expires_at": "2000-01-01",  # only something new must end in the future
    }
    again = shop.post("/authorizations", body)
    assert (again.status_code, again.json()["data"]) == (201, first)
    assert shop.events(first["id"]) == ["authorization.created"]
    shop.advance(DAY)
    assert shop.post("/authorizations", body).json()["data"]["status"] == "expired"


def test_references_are_a_name_space_of_their_own(shop: Merchant, service: Service) -> None:
    shop.payment(reference="one")
    first = shop.authorization(reference="one")
    other = service.merchant()
    assert other.authorization(reference="one")["id"] != first["id"]
    assert code(other.get(f"/authorizations/{first['id']}")) == (404, "authorization_not_found")
    service.execute("UPDATE merchants SET mode = 'live' WHERE id = $1", shop.id)
    assert code(shop.get(f"/authorizations/{first['id']}")) == (404, "authorization_not_found")
    assert shop.authorization(reference="one")["id"] != first["id"]
    assert code(act(shop, first, "approve")) == (404, "not_found")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (None, NO_LIMITS),
        ({}, NO_LIMITS),
        ({"period": None}, NO_LIMITS),
        ({"period": {}}, NO_LIMITS),
        ({"period": {"interval": None, "amount": None}}, NO_LIMITS),
        (
            {"period": {"interval": "week"}},
            {**NO_LIMITS, "period": {"interval": "week", "amount": None}},
        ),
        (
            {
                "per_payment": BIGGEST,
                "period": {"interval": "year", "amount": BIGGEST},
                "total": BIGGEST,
                "max_payments": 4_294_967_295,
            },
            {
                "per_payment": BIGGEST,
                "period": {"interval": "year", "amount": BIGGEST},
                "total": BIGGEST,
                "max_payments": 4_294_967_295,
            },
        ),
    ],
)
def test_limits_are_shown_as_given(shop: Merchant, given: Any, shown: Any) -> None:
    made = shop.authorization(limits=given)
    assert made["limits"] == shown
    assert now_of(shop, made)["limits"] == shown


def test_the_largest_limits_are_exact_everywhere(shop: Merchant, service: Service) -> None:
    made = shop.authorization(
        limits={
            "per_payment": BIGGEST,
            "period": {"interval": "day", "amount": BIGGEST},
            "total": BIGGEST,
        }
    )
    raw = shop.get(f"/authorizations/{made['id']}").text
    number = made["id"].partition("_")[2]
    (row,) = service.execute(
        "SELECT per_payment, period_amount, total FROM authorizations WHERE id = $1::uuid", number
    )
    (event,) = service.execute("SELECT body FROM events WHERE object_id = $1::uuid", number)
    assert tuple(row) == (BIGGEST,) * 3
    for text in (raw, event["body"].decode()):
        assert text.count("999999999999999999") == 3
        assert json.loads(text)["data"]["limits"] == made["limits"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"reference": " "}, "reference"),
        ({"reference": "r" * 129}, "reference"),
        ({"title": None}, "title"),
        ({"title": "t" * 256}, "title"),
        ({"description": "d" * 501}, "description"),
        ({"type": "weekly"}, "type"),
        ({"currency": "MVR"}, "currency"),
        ({"amount": 5}, "amount"),
        ({"return_url": "ftp://shop.test"}, "return_url"),
        ({"return_url": "https://shop.test/" + "é" * 1020}, "return_url"),
        ({"expires_at": "2020-01-01"}, "expires_at"),
        ({"expires_at": "soon"}, "expires_at"),
        ({"limits": []}, "limits"),
        ({"limits": {"daily": 5}}, "limits.daily"),
        ({"limits": {"per_payment": 0}}, "limits.per_payment"),
        ({"limits": {"per_payment": BIGGEST + 1}}, "limits.per_payment"),
        ({"limits": {"total": "5"}}, "limits.total"),
        ({"limits": {"total": 5.0}}, "limits.total"),
        ({"limits": {"total": True}}, "limits.total"),
        ({"limits": {"max_payments": 4_294_967_296}}, "limits.max_payments"),
        ({"limits": {"max_payments": 0}}, "limits.max_payments"),
        ({"limits": {"period": 5}}, "limits.period"),
        ({"limits": {"period": {"amount": 5}}}, "limits.period.interval"),
        ({"limits": {"period": {"interval": None, "amount": 5}}}, "limits.period.interval"),
        ({"limits": {"period": {"interval": "hour"}}}, "limits.period.interval"),
        ({"limits": {"period": {"interval": "day", "amount": 0}}}, "limits.period.amount"),
        ({"limits": {"period": {"interval": "day", "start": 1}}}, "limits.period.start"),
        ({"type": "one_time", "limits": {"max_payments": 2}}, "limits.max_payments"),
    ],
)
def test_wrong_fields_are_named(shop: Merchant, change: dict[str, Any], field: str) -> None:
    response = shop.post("/authorizations", {"reference": "wrong", "title": "Box", **change})
    assert code(response) == (400, "invalid_request")
    assert response.json()["error"]["field"] == field
    assert shop.get("/authorizations").json()["data"] == []


def test_the_longest_values_are_taken(shop: Merchant) -> None:
    address = "https://shop.test/" + "r" * 2030
    made = shop.authorization(
        reference="r" * 128,
        title="ތ" * 255,
        description="d" * 500,
        type="one_time",
        limits={"max_payments": 1},
        return_url=address,
        expires_at="2199-12-31",
    )
    assert (made["reference"], made["title"], made["return_url"]) == ("r" * 128, "ތ" * 255, address)
    assert made["expires_at"] == "2199-12-31T00:00:00+05:00"
    assert made["limits"]["max_payments"] == 1


def test_the_customer_approves_once(shop: Merchant) -> None:
    waiting = shop.authorization()
    active = act(shop, waiting, "approve")
    assert active.status_code == 200
    data = active.json()["data"]
    assert data["status"] == "active"
    assert data["approved_at"] == data["updated_at"]
    assert data["approval_expires_at"] == waiting["approval_expires_at"]
    for action in ("approve", "reject"):
        assert code(act(shop, waiting, action)) == (409, "authorization_not_pending")
    assert shop.events(waiting["id"]) == ["authorization.created", "authorization.approved"]


def test_declining_is_final(shop: Merchant) -> None:
    waiting = shop.authorization()
    data = act(shop, waiting, "reject").json()["data"]
    assert (data["status"], data["approved_at"]) == ("rejected", None)
    assert data["rejected_at"] is not None
    assert code(act(shop, waiting, "approve")) == (409, "authorization_not_pending")
    assert code(cancel(shop, waiting)) == (409, "authorization_not_cancellable")
    assert shop.events(waiting["id"]) == ["authorization.created", "authorization.rejected"]


def test_the_approval_window_closes_without_an_event(shop: Merchant) -> None:
    waiting = shop.authorization()
    shop.advance(DAY - 60)
    assert now_of(shop, waiting)["status"] == "pending"
    shop.advance(60)
    assert now_of(shop, waiting)["status"] == "expired"
    for action in ("approve", "reject"):
        assert code(act(shop, waiting, action)) == (409, "authorization_expired")
    assert code(cancel(shop, waiting)) == (409, "authorization_not_cancellable")
    assert shop.events(waiting["id"]) == ["authorization.created"]
    # Derived, not stored: back in time it waits again.
    shop.control("clock", {"reset": True})
    assert act(shop, waiting, "approve").status_code == 200


def test_the_overall_deadline_ends_active_and_suspended_ones(shop: Merchant) -> None:
    deadline = in_a_while(shop, 3600)
    active = shop.approved(expires_at=deadline)
    suspended = shop.approved(expires_at=deadline)
    late = shop.authorization(expires_at=deadline)
    act(shop, suspended, "suspend")
    shop.advance(3600)
    for ended in (active, suspended):
        assert now_of(shop, ended)["status"] == "expired"
        assert code(shop.charge(ended, 1)) == (409, "authorization_expired")
        assert code(cancel(shop, ended)) == (409, "authorization_not_cancellable")
        for action in ("suspend", "resume"):
            assert code(act(shop, ended, action)) == (409, "authorization_expired")
        assert code(act(shop, ended, "approve")) == (409, "authorization_not_pending")
    # The customer may still decide on one that waits, but not agree to what has already ended.
    assert now_of(shop, late)["status"] == "pending"
    assert code(act(shop, late, "approve")) == (409, "authorization_expired")
    assert act(shop, late, "reject").status_code == 200


def test_suspending_stops_charges_until_resumed(shop: Merchant) -> None:
    active = shop.approved()
    for _ in range(2):
        assert act(shop, active, "suspend").json()["data"]["status"] == "suspended"
    assert code(shop.charge(active, 1)) == (409, "authorization_inactive")
    for _ in range(2):
        assert act(shop, active, "resume").json()["data"]["status"] == "active"
    assert shop.charge(active, 1).status_code == 201
    assert shop.events(active["id"]) == ["authorization.created", "authorization.approved"]


@pytest.mark.parametrize("action", ["suspend", "resume"])
def test_only_approved_ones_are_suspended_or_resumed(shop: Merchant, action: str) -> None:
    waiting, ended = shop.authorization(), shop.approved()
    cancel(shop, ended)
    assert code(act(shop, waiting, action)) == (409, "authorization_unapproved")
    assert code(act(shop, ended, action)) == (409, "authorization_unavailable")
    assert code(shop.post(f"/sandbox/authorizations/auth_0/{action}")) == (
        404,
        "authorization_not_found",
    )


def test_cancelling_a_waiting_one(shop: Merchant) -> None:
    waiting = shop.authorization()
    answers = [cancel(shop, waiting) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()
    assert answers[0].json()["data"]["status"] == "cancelled"
    assert answers[0].json()["data"]["revoked_at"] is None
    assert code(act(shop, waiting, "approve")) == (409, "authorization_not_pending")
    assert code(shop.charge(waiting, 1)) == (409, "authorization_inactive")
    assert shop.events(waiting["id"]) == ["authorization.created", "authorization.cancelled"]


@pytest.mark.parametrize("suspended", [False, True])
def test_cancelling_an_approved_one_revokes_it(shop: Merchant, suspended: bool) -> None:
    active = shop.approved()
    assert shop.charge(active, 100, "before").status_code == 201
    if suspended:
        act(shop, active, "suspend")
    answers = [cancel(shop, active) for _ in range(2)]
    assert answers[0].json() == answers[1].json()
    data = answers[0].json()["data"]
    assert (data["status"], data["revoked_at"]) == ("revoked", data["updated_at"])
    assert data["usage"] == {"payment_count": 1, "total_paid": 100}
    assert code(shop.charge(active, 1)) == (409, "authorization_inactive")
    assert shop.events(active["id"])[2:] == ["authorization.revoked"]
    (payment,) = shop.get(f"/authorizations/{active['id']}/payments").json()["data"]
    assert payment["status"] == "paid"
    # A revoked one has not expired, whenever it is read.
    shop.advance(400 * DAY)
    assert now_of(shop, active)["status"] == "revoked"


def test_unknown_authorizations(shop: Merchant, service: Service) -> None:
    theirs = service.merchant().approved()
    for known in (theirs["id"], theirs["reference"], "auth_", "auth_" + "0" * 32, "pay_1"):
        for response in (
            shop.get(f"/authorizations/{known}"),
            shop.get(f"/authorizations/{known}/payments"),
            shop.get(f"/authorizations/{known}/charge-preview", amount=1),
            shop.post(f"/authorizations/{known}/cancel"),
            shop.post(f"/authorizations/{known}/charge", {"reference": "x", "amount": 1}),
            shop.post(f"/sandbox/authorizations/{known}/approve"),
        ):
            assert code(response) == (404, "authorization_not_found")


def test_the_operator_suspends_and_resumes(shop: Merchant, service: Service) -> None:
    active = shop.approved()
    suspended = service.laari("authorization", "suspend", active["id"], "--json")
    assert suspended.returncode == 0, suspended.stderr
    shown = json.loads(suspended.stdout)
    assert (shown["status"], shown["reference"]) == ("suspended", active["reference"])
    assert code(shop.charge(active, 1)) == (409, "authorization_inactive")
    resumed = service.laari("authorization", "resume", active["id"], "--json")
    assert json.loads(resumed.stdout)["status"] == "active"
    assert shop.charge(active, 1).status_code == 201
    unknown = service.laari("authorization", "suspend", "auth_nothing")
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert len(unknown.stderr.splitlines()) == 1

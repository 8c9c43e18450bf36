"""Sandbox controls of the wallet and the clock, and the public QR image."""

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
import zxingcpp
from PIL import Image

from tests.serving import Merchant, Service


def test_the_wallet_starts_verified_with_100_000_rufiyaa(shop: Merchant) -> None:
    wallet = shop.control("wallet", {})
    assert (wallet["balance"], wallet["tier"]) == (10_000_000, "verified")
    assert wallet["api_key"].startswith("wk_")


def test_balance_and_tier_are_set_and_the_key_stays(service: Service, shop: Merchant) -> None:
    first = shop.control("wallet", {})
    second = shop.control("wallet", {"balance": 7, "tier": "basic"})
    assert second == {"balance": 7, "tier": "basic", "api_key": first["api_key"]}
    assert shop.control("wallet", {"balance": None, "tier": None}) == second
    assert service.merchant().control("wallet", {})["balance"] == 10_000_000


@pytest.mark.parametrize("balance", [0, 999_999_999_999_999_999, -5])
def test_any_balance_can_be_set(shop: Merchant, balance: int) -> None:
    assert shop.control("wallet", {"balance": balance})["balance"] == balance
    assert shop.service.laari("audit").returncode == 0


@pytest.mark.parametrize(
    ("field", "value"),
    [("balance", "5"), ("balance", 10**18), ("balance", 1.0), ("tier", "gold"), ("tier", 5)],
)
def test_bad_wallet_settings_change_nothing(shop: Merchant, field: str, value: Any) -> None:
    before = shop.control("wallet", {})
    response = shop.post("/sandbox/wallet", {"balance": 3, "tier": "basic", field: value})
    assert response.status_code == 400
    assert response.json()["error"]["field"] == field
    assert shop.control("wallet", {}) == before


def test_the_clock_adds_up_and_resets(shop: Merchant) -> None:
    assert shop.advance(0)["offset_seconds"] == 0
    assert shop.advance(100)["offset_seconds"] == 100
    assert shop.advance(-40)["offset_seconds"] == 60
    moved = shop.advance(86_400)
    assert moved["offset_seconds"] == 86_460
    shown = datetime.fromisoformat(moved["now"])
    assert abs(shown - datetime.now(UTC) - timedelta(seconds=86_460)) < timedelta(seconds=5)
    payment = shop.payment()
    assert datetime.fromisoformat(payment["created_at"]) >= shown
    assert shop.control("clock", {"reset": True})["offset_seconds"] == 0


def test_the_clock_is_each_merchants_own(service: Service, shop: Merchant) -> None:
    shop.advance(1_000_000)
    assert service.merchant().advance(0)["offset_seconds"] == 0


def test_events_follow_the_clock(shop: Merchant) -> None:
    shop.advance(40 * 86_400)
    payment = shop.payment()
    body = shop.service.execute(
        "SELECT convert_from(body, 'UTF8')::json AS body FROM events WHERE object_id = $1::uuid",
        payment["id"].partition("_")[2],
    )[0]["body"]
    assert '"mode":"sandbox"' in body
    assert '"payload_version":1' in body
    moment = datetime.fromisoformat(payment["created_at"]).astimezone(UTC)
    assert f'"created_at":"{moment:%Y-%m-%dT%H:%M:%SZ}"' in body


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"advance_seconds": 1, "reset": True},
        {"reset": False},
        {"reset": "yes"},
        {"advance_seconds": "5"},
        {"advance_seconds": 10**12},
        {"advance_seconds": 1.5},
        {"seconds": 5},
    ],
)
def test_bad_clock_moves_change_nothing(shop: Merchant, body: Any) -> None:
    response = shop.post("/sandbox/clock", body)
    assert response.status_code == 400, response.text
    assert shop.advance(0)["offset_seconds"] == 0


def test_the_controls_do_not_exist_in_live_mode(service: Service) -> None:
    shop = service.merchant(mode="live")
    payment, authorization = shop.payment(), shop.authorization()
    for path, body in (
        (f"payments/{payment['id']}/pay", None),
        (f"authorizations/{authorization['id']}/approve", None),
        ("wallet", {}),
        ("wallet", {"tier": 5}),  # not even what is wrong with it is told
        ("clock", {"advance_seconds": 1}),
        ("clock", {}),
    ):
        response = shop.post(f"/sandbox/{path}", body)
        assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")


def test_controls_reach_only_own_payments(service: Service, shop: Merchant) -> None:
    payment = shop.payment()
    for action in ("pay", "reject", "reserve", "release"):
        response = service.merchant().post(f"/sandbox/payments/{payment['id']}/{action}")
        assert response.status_code == 404


def test_the_qr_image_holds_the_payment_link(shop: Merchant) -> None:
    payment = shop.payment()
    response = httpx.get(payment["qr_url"])
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "image/png"
    assert response.headers["Cache-Control"] == "no-store"
    image = Image.open(io.BytesIO(response.content)).convert("L")
    assert zxingcpp.read_barcodes(image)[0].text == payment["payment_url"]
    by_id = httpx.get(f"{shop.service.origin}/merchant/public/qr/{payment['id']}")
    assert by_id.content == response.content


@pytest.mark.parametrize("end", ["pay", "reject", "cancel", "expire"])
def test_the_qr_image_ends_with_the_payment(shop: Merchant, end: str) -> None:
    payment = shop.payment()
    if end == "cancel":
        shop.post(f"/payments/{payment['id']}/cancel")
    elif end == "expire":
        shop.advance(25 * 3600)
    else:
        shop.control(f"payments/{payment['id']}/{end}")
    response = httpx.get(payment["qr_url"])
    assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")


def test_the_qr_image_stays_while_an_attempt_to_pay_is_processed(shop: Merchant) -> None:
    payment = shop.payment()
    shop.control(f"payments/{payment['id']}/reserve")
    shop.advance(25 * 3600)  # nothing expires that is being paid
    assert httpx.get(payment["qr_url"]).status_code == 200


@pytest.mark.parametrize("id", ["x", "pay_" + "0" * 32, "%00", "x" * 3000])
def test_unknown_qr_images(service: Service, id: str) -> None:
    assert httpx.get(f"{service.origin}/merchant/public/qr/{id}").status_code == 404

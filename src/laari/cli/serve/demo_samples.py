"""Samples of a demo, made with the sandbox clock set back: the customer spent nothing today."""

import asyncio

from laari.cli.shop.remote_service import RemoteService, open_remote_service
from laari.cli.shop.shared.ports import Json

DAY_SECONDS = 24 * 3600
CAFE, BEACH = "Cafe", "Beach"  # the shop's two tills


def make_samples(url: str, secret_key: str, recipient: str) -> None:
    """Makes the samples if the merchant has no payment; leaves the clock at real time."""
    with asyncio.Runner() as runner, open_remote_service(runner, url, secret_key) as api:
        if api.get("/payments", limit="1")["data"]:
            return
        try:
            _past(api, recipient)
        finally:
            api.post("/sandbox/clock", {"reset": True})
        _present(api, recipient)


def _past(api: RemoteService, recipient: str) -> None:
    _move(api, -9)
    _paid(api, "SAMPLE-1001", 12_550, "Two coffees and a cake", CAFE)
    _move(api, 3)
    _paid(api, "SAMPLE-1002", 48_000, "Snorkel and mask", BEACH)
    forgotten = _payment(api, "SAMPLE-1003", 9_900, "Towel", BEACH)
    api.post(f"{forgotten}/cancel")
    _move(api, 3)
    box = _create(
        api,
        "/authorizations",
        reference="SAMPLE-BOX-1",
        title="Monthly fruit box",
        type="recurring",
        limits={"per_payment": 50_000, "period": {"interval": "month", "amount": 50_000}},
    )
    api.post(f"/sandbox/authorizations/{box['id']}/approve")
    _create(
        api,
        f"/authorizations/{box['id']}/charge",
        reference="SAMPLE-BOX-1/1",
        amount=45_000,
        title="The first box",
    )
    _move(api, 2)
    _paid(api, "SAMPLE-1004", 31_500, "Ferry to Villingili, for two", BEACH)
    asked = _request(api, recipient, "SAMPLE-2001", 20_000, "Deposit for the boat")
    api.post(f"/sandbox{asked}/pay")


def _present(api: RemoteService, recipient: str) -> None:
    """Makes what the customer can pay or approve."""
    _payment(api, "SAMPLE-1005", 7_500, "Coconut juice", CAFE)
    _request(api, recipient, "SAMPLE-2002", 65_000, "Sunset trip")
    _create(api, "/authorizations", reference="SAMPLE-BOX-2", title="Weekly fish box")


def _move(api: RemoteService, days: int) -> None:
    api.post("/sandbox/clock", {"advance_seconds": days * DAY_SECONDS})


def _payment(api: RemoteService, reference: str, amount: int, title: str, till: str) -> str:
    fields = {"reference": reference, "amount": amount, "title": title, "terminal_label": till}
    return f"/payments/{_create(api, '/payments', **fields)['id']}"


def _paid(api: RemoteService, reference: str, amount: int, title: str, till: str) -> None:
    api.post(f"/sandbox{_payment(api, reference, amount, title, till)}/pay")


def _request(api: RemoteService, recipient: str, reference: str, amount: int, title: str) -> str:
    customer = {"type": "vpa", "value": recipient}
    fields = {"reference": reference, "amount": amount, "title": title, "customer": customer}
    return f"/payment-requests/{_create(api, '/payment-requests', **fields)['id']}"


def _create(api: RemoteService, path: str, **body: object) -> Json:
    made: Json = api.post(path, body)["data"]
    return made

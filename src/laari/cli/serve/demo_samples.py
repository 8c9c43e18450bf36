"""Samples of a demo, made with the sandbox clock set back: the customer spent nothing today."""

from laari.cli.shop.api import Api, open_api

DAY_SECONDS = 24 * 3600
CAFE, BEACH = "Cafe", "Beach"  # the shop's two tills


async def make_samples(url: str, secret_key: str, recipient: str) -> None:
    """Makes the samples if the merchant has no payment; leaves the clock at real time."""
    async with open_api(url, secret_key) as api:
        if (await api.get("/payments", limit="1"))["data"]:
            return
        try:
            await _past(api, recipient)
        finally:
            await api.post("/sandbox/clock", {"reset": True})
        await _present(api, recipient)


async def _past(api: Api, recipient: str) -> None:
    await _move(api, -9)
    await _paid(api, "SAMPLE-1001", 12_550, "Two coffees and a cake", CAFE)
    await _move(api, 3)
    await _paid(api, "SAMPLE-1002", 48_000, "Snorkel and mask", BEACH)
    forgotten = await _payment(api, "SAMPLE-1003", 9_900, "Towel", BEACH)
    await api.post(f"{forgotten}/cancel")
    await _move(api, 3)
    box = await api.create(
        "/authorizations",
        reference="SAMPLE-BOX-1",
        title="Monthly fruit box",
        type="recurring",
        limits={"per_payment": 50_000, "period": {"interval": "month", "amount": 50_000}},
    )
    await api.post(f"/sandbox/authorizations/{box['id']}/approve")
    await api.create(
        f"/authorizations/{box['id']}/charge",
        reference="SAMPLE-BOX-1/1",
        amount=45_000,
        title="The first box",
    )
    await _move(api, 2)
    await _paid(api, "SAMPLE-1004", 31_500, "Ferry to Villingili, for two", BEACH)
    asked = await _request(api, recipient, "SAMPLE-2001", 20_000, "Deposit for the boat")
    await api.post(f"/sandbox{asked}/pay")


async def _present(api: Api, recipient: str) -> None:
    """Makes what the customer can pay or approve."""
    await _payment(api, "SAMPLE-1005", 7_500, "Coconut juice", CAFE)
    await _request(api, recipient, "SAMPLE-2002", 65_000, "Sunset trip")
    await api.create("/authorizations", reference="SAMPLE-BOX-2", title="Weekly fish box")


async def _move(api: Api, days: int) -> None:
    await api.post("/sandbox/clock", {"advance_seconds": days * DAY_SECONDS})


async def _payment(api: Api, reference: str, amount: int, title: str, till: str) -> str:
    fields = {"reference": reference, "amount": amount, "title": title, "terminal_label": till}
    return f"/payments/{(await api.create('/payments', **fields))['id']}"


async def _paid(api: Api, reference: str, amount: int, title: str, till: str) -> None:
    await api.post(f"/sandbox{await _payment(api, reference, amount, title, till)}/pay")


async def _request(api: Api, recipient: str, reference: str, amount: int, title: str) -> str:
    customer = {"type": "vpa", "value": recipient}
    fields = {"reference": reference, "amount": amount, "title": title, "customer": customer}
    return f"/payment-requests/{(await api.create('/payment-requests', **fields))['id']}"

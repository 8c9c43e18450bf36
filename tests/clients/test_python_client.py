"""The Python client against the real service: all of the interface, errors, lists and tokens."""

import asyncio
import inspect
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from laari.edge.reference.openapi import openapi_document
from laari_client import AsyncLaari, ConfigurationError, Laari, LaariError, Listing, errors, models
from laari_client import _operations as ops
from laari_client._call import Call, Prepared
from laari_client._exchange import Result
from tests.clients.faulty_proxy import FaultyProxy, Seen
from tests.serving import Merchant


@pytest.fixture
def client(shop: Merchant):
    with Laari(shop.service.origin, shop.secret_key) as client:
        yield client


def walk(client: Laari) -> None:
    """Every method of the client once, as a merchant's tests would."""
    purse = client.sandbox.set_wallet(balance=50_000_000, tier="business")
    assert (purse.balance, purse.tier) == (50_000_000, "business")

    made = client.payments.create(
        reference="p-1",
        amount=9_999_999_999,
        title="Boat",
        metadata={"basket": "b-77"},
        expires_at=datetime.now(UTC) + timedelta(days=3),
    )
    assert made.status == "pending"
    assert made.metadata == {"basket": "b-77"}
    assert client.payments.qr(made.id).startswith(b"\x89PNG")
    assert client.sandbox.payments.reserve(made.id).status == "pending"
    assert client.sandbox.payments.release(made.id).status == "pending"
    assert client.payments.cancel(made.id).status == "cancelled"
    assert client.payments.get(made.id).amount == 9_999_999_999
    other = client.payments.create(reference="p-2", amount=100)
    assert client.sandbox.payments.reject(other.id).status == "rejected"
    paid = client.sandbox.payments.pay(client.payments.create(reference="p-3", amount=12_550).id)
    assert isinstance(paid.paid_at, datetime)
    assert [each.id for each in client.payments.list(status="paid")] == [paid.id]

    to = {"type": "vpa", "value": "sandbox"}
    ids = [
        client.payment_requests.create(reference=f"r-{n}", amount=500, customer=to).id
        for n in range(3)
    ]
    controls = client.sandbox.payment_requests
    assert controls.reserve(ids[0]).status == "pending"
    assert controls.release(ids[0]).status == "pending"
    assert controls.pay(ids[0]).payment_id is not None
    assert controls.reject(ids[1]).status == "rejected"
    assert client.payment_requests.cancel(ids[2]).status == "cancelled"
    assert client.payment_requests.get(ids[2]).customer.value == "sandbox"
    assert len(list(client.payment_requests.list())) == 3

    limits = {"total": 999_999_999_999_999_999, "period": {"interval": "month", "amount": 5_000}}
    asked = client.authorizations.create(reference="a-1", title="Box", limits=limits)
    assert asked.limits.total == 999_999_999_999_999_999
    assert client.sandbox.authorizations.approve(asked.id).status == "active"
    assert client.sandbox.authorizations.suspend(asked.id).status == "suspended"
    assert client.sandbox.authorizations.resume(asked.id).status == "active"
    preview = client.authorizations.preview_charge(asked.id, amount=6_000)
    assert (preview.would_succeed, preview.code) == (False, "period_limit_exceeded")
    charge = client.authorizations.charge(asked.id, reference="c-1", amount=4_000)
    assert isinstance(charge, models.Payment)
    assert charge.payment_url is None
    assert [each.id for each in client.authorizations.payments(asked.id)] == [charge.id]
    assert client.authorizations.cancel(asked.id).status == "revoked"
    second = client.authorizations.create(reference="a-2", title="Box", type="one_time")
    assert client.sandbox.authorizations.reject(second.id).status == "rejected"
    assert client.authorizations.get(asked.id).usage.total_paid == 4_000
    assert [each.id for each in client.authorizations.list(status="revoked")] == [asked.id]

    (event,) = client.events.list(type="payment.cancelled", delivered=False)
    assert isinstance(event, models.PaymentEvent)
    assert client.events.get(event.id).data == event.data
    assert event.data.amount == 9_999_999_999
    moved = client.sandbox.move_clock(advance_seconds=86_400)
    assert moved.offset_seconds == 86_400
    assert client.sandbox.move_clock(reset=True).offset_seconds == 0


def walk_money(client: Laari) -> None:
    def pay(reference: str) -> str:
        made = client.payments.create(reference=reference, amount=700)
        return client.sandbox.payments.pay(made.id).id

    refund = client.payments.refund(pay("m-1"), amount=50)
    assert client.refunds.get(refund.id) == refund
    assert list(client.payments.refunds(refund.payment_id)) == [refund]
    money = client.balance.get()
    payout = client.sandbox.payouts.create()
    assert payout.amount == money.available
    assert client.sandbox.payouts.settle(payout.id).status == "settled"
    assert client.payouts.get(payout.id).status == "settled"
    assert [each.id for each in client.payouts.list()] == [payout.id]
    assert sum(each.amount for each in client.payouts.movements(payout.id)) == payout.amount
    pay("m-2")
    assert client.sandbox.payouts.send_back(client.sandbox.payouts.create().id).status == "returned"


def walk_wallet(client: Laari) -> None:
    (balance,) = client.wallet.balance()
    assert balance.ledger_balance == Decimal("499829.50")  # 50,000,000 less 12,550, 500, 4,000
    assert client.wallet.usage().limits.daily is None
    history = [each for page in client.wallet.transactions(limit=2).pages() for each in page.items]
    assert [each.type for each in history] == [*["payment"] * 3, "adjustment", "topup"]
    assert history[0].amount == -40


def operations_of_the_document() -> set[tuple[str, str]]:
    return {
        (method.upper(), path)
        for path, methods in openapi_document("https://pay.example")["paths"].items()
        for method in methods
        if not path.endswith("/oauth/token")
    }


def reached(seen: list[Seen]) -> set[tuple[str, str]]:
    ids = re.compile(r"/(pay|prq|auth|evt|rfd|po)_[0-9a-f]+")
    return {(each.method, ids.sub("/{id}", each.target.partition("?")[0])) for each in seen}


def test_every_operation_of_the_interface(proxy: FaultyProxy, shop: Merchant) -> None:
    with Laari(proxy.origin, shop.secret_key) as client:
        walk(client)
        key = client.sandbox.set_wallet().api_key
        with Laari(proxy.origin, wallet_key=key) as customer:
            walk_wallet(customer)
        walk_money(client)
    assert reached(proxy.seen) == operations_of_the_document()
    assert {each.headers.get("service-version") for each in proxy.seen} == {"2027-07-01", None}
    for each in proxy.seen:  # what is public is asked without credentials
        assert ("x-api-key" in each.headers) != ("/public/" in each.target)


def methods(resource: object) -> dict[str, inspect.Signature]:
    """Everything that can be called, with what is below; annotations tell the clients apart."""
    found = {}
    for name, each in inspect.getmembers(resource):
        if name.startswith("_") or name == "close":
            continue
        if callable(each):
            signature = inspect.signature(each)
            found[name] = signature.replace(return_annotation=None)
        else:
            found |= {f"{name}.{inner}": its for inner, its in methods(each).items()}
    return found


def test_the_asynchronous_client_has_the_same_methods() -> None:
    one = methods(Laari("http://127.0.0.1:1", "sk_1"))
    assert len(one) == len(operations_of_the_document())
    assert one == methods(AsyncLaari("http://127.0.0.1:1", "sk_1"))


async def test_the_asynchronous_client_works(shop: Merchant) -> None:
    async with AsyncLaari(shop.service.origin, shop.secret_key) as client:
        made = [
            await client.payments.create(reference=f"p-{number}", amount=100 + number)
            for number in range(5)
        ]
        assert (await client.sandbox.payments.pay(made[0].id)).status == "paid"
        assert await client.payments.get(made[1].id) == made[1]
        listed = [each.reference async for each in client.payments.list()]
        assert listed == [each.reference for each in reversed(made)]
        two = client.payments.list(limit=2)
        assert [each.reference async for each in two] == listed[:2]
        assert [(await anext(two)).reference for _ in range(2)] == listed[:2]
        assert await anext(two, None) is None
        pages = [page async for page in client.payments.list(limit=2).pages()]
        assert [len(page.items) for page in pages] == [2, 2, 1]
        with pytest.raises(errors.PaymentNotCancellableError):
            await client.payments.cancel(made[0].id)
        assert (await client.payments.qr(made[1].id)).startswith(b"\x89PNG")
        key = (await client.sandbox.set_wallet()).api_key
    async with AsyncLaari(shop.service.origin, wallet_key=key) as customer:
        assert (await customer.wallet.balance())[0].ledger_balance == Decimal("99999")
        history = [each.amount async for each in customer.wallet.transactions()]
        assert history[0] == -1


def test_lists_go_over_all_pages_with_their_filters(client: Laari, proxy: FaultyProxy) -> None:
    for number in range(7):
        client.payments.create(reference=f"p-{number}", amount=100, bill_number=f"{number % 2}")
    with Laari(proxy.origin, client._connection.config.merchant.headers[0][1]) as watched:
        listing = watched.payments.list(limit=2, bill_number="0")
        first, second = listing.pages()
        assert [each.reference for each in (*first.items, *second.items)] == [
            "p-6",
            "p-4",
            "p-2",
            "p-0",
        ]
        assert list(listing.pages(first.next_cursor)) == [second]
        everything = watched.payments.list(bill_number="0")
        assert [each.reference for each in everything] == ["p-6", "p-4", "p-2", "p-0"]
        assert [each.reference for each in everything][:1] == ["p-6"]  # and again from the start
    assert all("bill_number=0" in each.target for each in proxy.seen)
    assert sum("after=" in each.target for each in proxy.seen) == 2


def test_a_limit_is_one_page_and_next_goes_on(client: Laari, proxy: FaultyProxy) -> None:
    for number in range(5):
        client.payments.create(reference=f"p-{number}", amount=100)
    with Laari(proxy.origin, client._connection.config.merchant.headers[0][1]) as watched:
        two = watched.payments.list(limit=2)
        assert [each.reference for each in two] == ["p-4", "p-3"]
        assert len(proxy.seen) == 1
        assert [next(two).reference, next(two).reference] == ["p-4", "p-3"]
        assert next(two, None) is None
        everything = watched.payments.list()
        assert [next(everything).reference for _ in range(5)] == [f"p-{n}" for n in (4, 3, 2, 1, 0)]
        with pytest.raises(ConfigurationError, match="at least 1"):
            next(watched.payments.list(limit=0))


def test_a_limit_is_met_over_pages_that_are_not_full() -> None:
    """A filter may leave a page short, or empty, where more follows."""
    pages = {None: [], "a": [{"n": 1}], "b": [{"n": 2}, {"n": 3}]}
    following = {None: "a", "a": "b", "b": "c"}

    class Pages:
        def fetch(self, prepared: Prepared) -> Result:
            cursor = prepared.target.partition("after=")[2] or None
            more = {"has_more": True, "next_cursor": following[cursor]}
            return Result({"data": pages[cursor], "pagination": more})

    listing = Listing(Pages(), Call(ops.LIST_PAYMENTS, query={"limit": 2}), lambda each: each["n"])
    assert list(listing) == [1, 2]


def test_a_client_of_another_event_loop_says_so(shop: Merchant) -> None:
    client = AsyncLaari(shop.service.origin, shop.secret_key)

    async def used() -> None:
        await client.payments.create(reference="p-1", amount=100)

    asyncio.run(used())
    for again in (used, client.close):
        with pytest.raises(ConfigurationError, match="belongs to another event loop"):
            asyncio.run(again())


README = Path(__file__).parents[2] / "clients/python/README.md"


def test_the_classes_of_statuses_are_those_that_are_told() -> None:
    page = README.read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| (\d+|5xx|any other) \| `(\w+)` \|", page, re.M))
    assert told.pop("5xx") == errors.error_class("new", 503).__name__
    assert told.pop("any other") == errors.error_class("new", 402).__name__
    assert told == {str(status): each.__name__ for status, each in errors.BY_STATUS.items()}
    for each in errors.BY_CODE.values():
        status = (each.__doc__ or "").rpartition("HTTP ")[2]
        if status.isdigit():
            assert issubclass(each, errors.error_class("new", int(status)))


def test_a_datetime_is_a_filter_and_needs_a_time_zone(client: Laari) -> None:
    made = client.payments.create(reference="p-1", amount=100)
    assert list(client.payments.list(created_from=made.created_at)) == [made]
    assert list(client.payments.list(created_to=made.created_at)) == []
    with pytest.raises(ConfigurationError, match="time zone"):
        list(client.payments.list(created_from=datetime(2027, 7, 1)))


def test_errors_have_a_class_for_their_code(client: Laari) -> None:
    with pytest.raises(errors.InvalidRequestError) as refused:
        client.payments.create(reference="p-1", amount=0)
    error = refused.value
    assert (error.code, error.status, error.field) == ("invalid_request", 400, "amount")
    assert error.request_id
    assert error.request_id in str(error)
    assert isinstance(error, errors.BadRequestError)
    assert isinstance(error, LaariError)
    with pytest.raises(errors.NotFoundError):
        client.payments.get("pay_unknown")
    with pytest.raises(errors.AuthorizationNotFoundError):
        client.authorizations.get("auth_unknown")
    client.payments.create(reference="p-1", amount=100)
    with pytest.raises(errors.ReferenceConflictError):
        client.payments.create(reference="p-1", amount=200)
    with pytest.raises(errors.UnauthorizedError):
        Laari(client._connection.config.origin, "sk_wrong").payments.get("pay_1")
    with pytest.raises(errors.UnauthorizedError):
        Laari(client._connection.config.origin, wallet_key="wk_wrong").wallet.balance()


def test_the_caller_may_give_the_idempotency_key(client: Laari) -> None:
    first = client.payments.create(reference="p-1", amount=100, idempotency_key="order-1")
    again = client.payments.create(reference="p-1", amount=100, idempotency_key="order-1")
    assert again == first
    with pytest.raises(errors.IdempotencyConflictError):
        client.payments.create(reference="p-2", amount=100, idempotency_key="order-1")
    for wrong in ("", "with space", "x" * 256, "line\nend", "é"):
        with pytest.raises(ConfigurationError, match="idempotency key"):
            client.payments.create(reference="p-3", amount=100, idempotency_key=wrong)


def test_ids_are_one_segment_of_the_path_whatever_they_contain(client: Laari) -> None:
    for wrong in ("", " ", ".", ".."):
        with pytest.raises(ConfigurationError, match="id"):
            client.payments.cancel(wrong)
    for strange in ("a/b", "../payments", "x?limit=1", "é", "a#b", "%2e%2e"):
        with pytest.raises(errors.NotFoundError):
            client.payments.get(strange)


# OAuth clients


def oauth(proxy: FaultyProxy, shop: Merchant, **options) -> dict:
    client_id, client_secret = shop.client()
    return {
        "base_url": proxy.origin,
        "client_id": client_id,
        "client_secret": client_secret,
        **options,
    }


def tokens_asked(proxy: FaultyProxy) -> int:
    return sum(each.target.endswith("/oauth/token") for each in proxy.seen)


def test_one_token_serves_all_threads(proxy: FaultyProxy, shop: Merchant) -> None:
    with Laari(**oauth(proxy, shop)) as client, ThreadPoolExecutor(16) as pool:
        made = list(
            pool.map(lambda n: client.payments.create(reference=f"p-{n}", amount=100), range(32))
        )
        assert len({each.id for each in made}) == 32
        assert tokens_asked(proxy) == 1


async def test_one_token_serves_all_tasks(proxy: FaultyProxy, shop: Merchant) -> None:
    async with AsyncLaari(**oauth(proxy, shop)) as client:
        await asyncio.gather(
            *(client.payments.create(reference=f"p-{n}", amount=100) for n in range(32))
        )
        assert tokens_asked(proxy) == 1


def test_a_token_that_expired_is_renewed_once(proxy: FaultyProxy, shop: Merchant) -> None:
    """The sandbox's clock ends the token's life, and the client's own clock knows nothing of it."""
    with Laari(**oauth(proxy, shop)) as client, ThreadPoolExecutor(16) as pool:
        made = client.payments.create(reference="p-1", amount=100)
        shop.advance(2 * 86_400)
        assert {
            each.id for each in pool.map(lambda _: client.payments.get(made.id), range(16))
        } == {made.id}
        assert tokens_asked(proxy) == 2


async def test_a_token_that_expired_is_renewed_once_for_tasks(
    proxy: FaultyProxy, shop: Merchant
) -> None:
    async with AsyncLaari(**oauth(proxy, shop)) as client:
        made = await client.payments.create(reference="p-1", amount=100)
        shop.advance(2 * 86_400)
        await asyncio.gather(*(client.payments.get(made.id) for _ in range(16)))
        assert tokens_asked(proxy) == 2


def test_a_token_is_asked_for_only_once_more_when_it_is_refused(
    proxy: FaultyProxy, shop: Merchant
) -> None:
    proxy.choose = lambda seen: "" if "oauth" in seen.target else "401"
    with Laari(**oauth(proxy, shop)) as client, pytest.raises(errors.UnauthorizedError):
        client.payments.get("pay_1")
    assert [each.target.rpartition("/")[2] for each in proxy.seen] == ["token", "pay_1"] * 2


def test_a_wrong_oauth_client_is_told(proxy: FaultyProxy, shop: Merchant) -> None:
    with pytest.raises(errors.InvalidClientError) as refused:
        Laari(**oauth(proxy, shop, client_secret="wrong")).payments.get("pay_1")
    assert (refused.value.code, refused.value.status) == ("invalid_client", 401)
    assert len(proxy.seen) == 1
    with pytest.raises(errors.InvalidScopeError):
        Laari(**oauth(proxy, shop, scope="payments:steal")).payments.get("pay_1")
    narrow = Laari(**oauth(proxy, shop, scope="payments:read"))
    with pytest.raises(errors.InsufficientScopeError):
        narrow.payments.create(reference="p-1", amount=100)


@pytest.mark.ci
def test_the_token_endpoint_may_fail_too(proxy: FaultyProxy, shop: Merchant) -> None:
    faults = iter(["reset before", "reset after", "503", "429 at once", "502 html"])
    proxy.choose = lambda seen: next(faults, "") if "oauth" in seen.target else ""
    with Laari(**oauth(proxy, shop)) as client:
        assert client.payments.create(reference="p-1", amount=100).status == "pending"

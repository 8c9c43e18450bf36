"""Books with a row in every table that the audit covers, all sealed."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from laari.rules.actors import Actor
from laari.rules.banking.merchant_refunds import RefundForMerchant
from laari.rules.banking.waiting_movements import Made, MakeMovement, RefuseMovement
from laari.rules.banking.wallet_money import MoveMoney
from laari.rules.calendar import local_day
from laari.rules.ids import CUSTOMER, show_id
from laari.rules.merchants.applications import SubmitApplication
from laari.rules.merchants.links import CreateReusableLink, EndReusableLink
from laari.rules.merchants.tills import CreateTill, EndDevice, OfferPairing, PairDevice
from laari.rules.payments.device_payments import PayWithDevice
from laari.rules.payments.payments import CreatePayment, PaymentDraft
from laari.rules.people.cases import AnswerCase, OpenCase
from laari.rules.people.customers import AddNote
from laari.rules.people.remembered_devices import ForgetDevice
from laari.rules.people.trusted import AgreeToTrust, AskTrustedPerson, EndTrust
from laari.rules.records.merchants import ApplicationAnswers
from laari.rules.records.people import Case, TrustedPerson
from laari.rules.records.second_person import PendingMovement
from laari.store import bank_statements
from laari.store.bank_statements import Booked, asking
from laari.store.counters import daily_figures
from laari.store.ledger.last_seal_file import KnownSeal
from laari.store.postgres.pool import connection_to
from laari.store.reads.tills import records as till_records
from tests import shops
from tests.actors import MASTER, OPERATOR
from tests.audit.books import close_till, seal_all, write_books, write_more
from tests.audit.payout_books import write_payouts
from tests.devices import LIMIT, add_device, themselves
from tests.making import make_customer, sign_up
from tests.people import decided
from tests.store.payout_books import Shop, a_shop

SECOND = Actor("command_line", "second", "admin")
ANSWERS = ApplicationAnswers(
    legal_name="Bodu Boat Pvt Ltd",
    registration_number="C-0417/2026",
    tax_number="1234567GST001",
    address="H. Sosun Magu 1, Malé",
    bank_name="BML",
    bank_holder="Bodu Boat Pvt Ltd",
    bank_account="7730000012345",
    monthly_volume=25_000_000,
    contact="Aisha, 7771234",
)


async def add_up_days(dsn: str) -> None:
    more = True
    async with connection_to(dsn) as connection:
        while more:
            async with connection.transaction():
                more = await daily_figures.add_up(connection)


async def import_statement(shop: Shop) -> None:
    """A statement that a second person confirmed."""
    now, header = datetime.now(UTC), "date,reference,description,debit,credit,balance"
    day, line = local_day(now), f"FT50,Aisha {shop.payer.account},,90.00,90.00"
    content = f"{header}\n{day},{line}\n".encode()
    digest = await bank_statements.digest_of(content)
    await bank_statements.keep(shop.connection, digest, content, now)
    ask = asking(shop.connection)
    asked = await bank_statements.book(ask, shop.run, OPERATOR, digest, day)
    assert isinstance(asked, PendingMovement)
    made = await bank_statements.make(ask, shop.run, SECOND, asked.id, day)
    assert isinstance(made, Made)
    assert isinstance(await bank_statements.book(ask, shop.run, SECOND, digest, day), Booked)


async def trust(shop: Shop, customer_id: UUID) -> None:
    """The customer's trusted person agrees, and the customer ends it."""
    made = await make_customer(
        shop.connection, OPERATOR, name="Ali", mode="live", tier="basic", mobile="7770002"
    )
    asks, agrees = (Actor("customer", show_id(CUSTOMER, each)) for each in (customer_id, made.id))
    for command in (
        AskTrustedPerson(asks, customer_id, "7770002", 1_000),
        AgreeToTrust(agrees, customer_id, made.id),
        EndTrust(asks, customer_id, made.id),
    ):
        assert isinstance(await shop.run(command), TrustedPerson)


async def pay_with_device(shop: Shop, customer_id: UUID) -> None:
    """One of two remembered devices pays; the other is ended."""
    ended, made = [(await add_device(shop.connection, customer_id)).device for _ in range(2)]
    forget = ForgetDevice(themselves(customer_id), customer_id, ended.id)
    await decided(shop.connection, forget)
    payment = await shop.run(CreatePayment(shop.tenant, PaymentDraft("by device", 700)))
    own = (made.id, made.digest, customer_id)
    pay = PayWithDevice(shop.tenant, payment.id, shop.payer, *own, LIMIT)
    await decided(shop.connection, pay)


async def write_records(dsn: str) -> None:
    """Waiting movements in every state, an application, fees that changed, cases and a note."""
    async with a_shop(dsn, above=900) as shop:
        account = shop.payer.account
        top_ups = [
            MoveMoney(OPERATOR, None, account, "topup", 900 + n, "Cash", f"s{n}") for n in range(4)
        ]
        _, _, made, refused = [await shop.run(each) for each in top_ups]
        assert isinstance(await shop.run(MakeMovement(SECOND, made.id)), Made)
        await shop.run(RefuseMovement(SECOND, refused.id, "No slip"))
        await import_statement(shop)
        payment = await shop.pay(2_000)
        refund = await shop.run(
            RefundForMerchant(shop.tenant.id, OPERATOR, payment.id, 950, "other", note="Broken")
        )
        assert isinstance(await shop.run(MakeMovement(SECOND, refund.id)), Made)
        connection, merchant_id = shop.connection, shop.tenant.merchant_id
        await shops.set_fees(connection, OPERATOR, merchant_id, 200, 10)
        later = datetime.now(UTC).replace(microsecond=0) + timedelta(days=9)
        await shops.set_fees(connection, OPERATOR, merchant_id, 300, 20, later)
        customer = await connection.fetchval(
            "SELECT customer_id FROM wallets WHERE account = $1", account
        )
        await decided(connection, AddNote(OPERATOR, customer, "Called, and knew the last payment"))
        themselves = Actor("customer", show_id(CUSTOMER, customer))
        paid = [payment.payment_reference, (await shop.pay(1_000)).payment_reference]
        _, answered = [
            await shop.run(OpenCase(themselves, customer, account, tid, "I was at sea"))
            for tid in paid
        ]
        assert isinstance(answered, Case)
        answer = AnswerCase(OPERATOR, answered.id, customer, answered.tid, "resolved", "Refunded")
        assert isinstance(await shop.run(answer), Case)
        await trust(shop, customer)
        await pay_with_device(shop, customer)
        link = await decided(connection, CreateReusableLink(OPERATOR, shop.tenant, "Course", 5_000))
        await decided(connection, EndReusableLink(OPERATOR, shop.tenant, link.id))
        till = await decided(connection, CreateTill(OPERATOR, shop.tenant, "Till 1"))
        for _ in range(2):
            pairing = await decided(connection, OfferPairing(OPERATOR, shop.tenant, till.id))
            code = till_records.code_digest(MASTER, pairing.code)
            paired = await decided(connection, PairDevice(code, "Chrome on Android"))
        end = EndDevice(OPERATOR, shop.tenant, till.id, paired.device.digest)
        await decided(connection, end)
        await decided(connection, OfferPairing(OPERATOR, shop.tenant, till.id))
        async with connection.transaction():
            new = await sign_up(
                connection, OPERATOR, MASTER, 10, name="Boat", email="boat@shop.example"
            )
        assert new is not None
        await decided(connection, SubmitApplication(OPERATOR, new.merchant.id, ANSWERS))


async def write_whole(dsn: str) -> KnownSeal:
    """The last seal."""
    await write_books(dsn)
    await write_more(dsn)
    await close_till(dsn)
    await write_payouts(dsn)
    await write_records(dsn)
    await add_up_days(dsn)
    last = (await seal_all(dsn))[-1]
    return KnownSeal(last.number, last.mac)

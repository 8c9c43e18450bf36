"""Subjects of operations, new for each test, as pages and commands name them."""

import secrets
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from laari.operations.operation import Operation
from laari.rules import ids
from laari.rules.banking.payout_runs import OpenRun
from laari.rules.calendar import local_day
from laari.rules.merchants.applications import RefuseApplication, SubmitApplication
from laari.rules.people.cases import AnswerCase
from laari.rules.people.persons import NewLogin
from laari.rules.records.merchants import ApplicationAnswers
from laari.store.people.passwords import hash_password
from laari.store.postgres.pool import connection_to
from tests import people
from tests.actors import OPERATOR
from tests.cli.test_approval import ANSWERS
from tests.deciding import done
from tests.making import sign_up
from tests.pages.operators import PASSWORD, new_operator
from tests.pages.people import new_customer
from tests.pages.wallets import reported
from tests.people import decided
from tests.serving import Service


# The parameters of a page, what the form says of the subject, and its words on the command line.
class Named(NamedTuple):
    params: dict[str, str]
    fields: dict[str, str]
    words: list[str]


async def _customer(service: Service) -> Named:
    made = await new_customer(service)
    return Named({"id": ids.show_id(ids.CUSTOMER, made.id)}, {}, [str(made.account)])


async def _wallet(service: Service) -> Named:
    made = await new_customer(service)
    account = str(made.account)
    page = {"id": ids.show_id(ids.CUSTOMER, made.id)}
    return Named(page, {"account": account}, [account])


async def _merchant(service: Service) -> Named:
    shop = service.merchant(mode="live")
    return Named({"merchant": shop.id}, {"mode": "live"}, [shop.id])


async def _movement(service: Service) -> Named:
    missing = ids.show_id(ids.MOVEMENT, UUID(int=1))
    return Named({"movement_id": missing}, {}, [missing])


async def _case(service: Service) -> Named:
    """That was answered."""
    case = await reported(service)
    await done(
        service.dsn, AnswerCase(OPERATOR, case.id, case.customer_id, case.tid, "rejected", "No")
    )
    shown = ids.show_id(ids.CASE, case.id)
    return Named({"case_id": shown}, {}, [shown])


async def _run(service: Service) -> Named:
    """Without payouts."""
    yesterday = local_day(datetime.now(UTC)) - timedelta(days=1)
    run = await done(service.dsn, OpenRun(OPERATOR, "live", yesterday))
    return Named({"number": str(run.number)}, {}, [str(run.number)])


async def _shop(service: Service) -> Named:
    shop = service.merchant()
    return Named({"merchant": shop.id}, {}, [shop.id])


async def signed_up(service: Service) -> Named:
    """A merchant that is not live."""
    async with connection_to(service.dsn) as connection, connection.transaction():
        made = await sign_up(connection, OPERATOR, bytes(32), 10**6, name="Boat")
    assert made is not None
    return Named({"merchant": made.merchant.id}, {}, [made.merchant.id])


async def _application(service: Service) -> Named:
    """That was refused."""
    shop = await signed_up(service)
    [merchant_id] = shop.words
    async with connection_to(service.dsn) as connection:
        answers = ApplicationAnswers(**ANSWERS)
        sent = await decided(connection, SubmitApplication(OPERATOR, merchant_id, answers))
        await decided(connection, RefuseApplication(OPERATOR, sent.id, "No register"))
    shown = ids.show_id(ids.APPLICATION, sent.id)
    return Named(shop.params, {"application": shown}, [shown])


async def _message(service: Service) -> Named:
    """That has not failed."""
    [row] = service.execute(
        "INSERT INTO messages (id, kind, channel, recipient, language, status, created_at) "
        "VALUES (gen_random_uuid(), 'receipt', 'sms', '+9607000001', 'en', 'suppressed', now()) "
        "RETURNING id"
    )
    shown = ids.show_id(ids.MESSAGE, row["id"])
    return Named({"message_id": shown}, {}, [shown])


async def _person(service: Service) -> Named:
    email = await new_operator(service, "support")
    return Named({}, {"email": email}, [email])


async def _member(service: Service) -> Named:
    """A manager, beside the owner that a shop has."""
    shop = service.merchant()
    owner, email = (f"{secrets.token_hex(4)}@shop.example" for _ in range(2))
    login = NewLogin(hash_password(PASSWORD))
    async with connection_to(service.dsn) as connection:
        await people.add(connection, OPERATOR, shop.id, owner, "owner", None, login)
        added = await people.add(connection, OPERATOR, shop.id, email, "manager", None, login)
    person = ids.show_id(ids.PERSON, added.id.id)
    return Named({"merchant": shop.id, "id": person}, {}, [shop.id, email])


NEW: dict[str, Callable[[Service], Awaitable[Named]]] = {
    "customer": _customer,
    "wallet": _wallet,
    "merchant": _merchant,
    "shop": _shop,
    "member": _member,
    "application": _application,
    "movement": _movement,
    "case": _case,
    "message": _message,
    "run": _run,
    "target": _run,
    "person": _person,
}


async def nobody(service: Service, declared: Operation[Any]) -> Named:
    """Words and addresses of a subject that there is not."""
    customer, address = ids.show_id(ids.CUSTOMER, UUID(int=1)), "nobody@laari.test"
    shop = service.merchant()
    person = ids.show_id(ids.PERSON, UUID(int=1))
    found = {
        "customer": Named({"id": customer}, {}, [customer]),
        "shop": Named({"merchant": "mer_nobody"}, {}, ["mer_nobody"]),
        "member": Named({"merchant": shop.id, "id": person}, {}, [shop.id, address]),
        "client": Named({"merchant": shop.id, "id": "cl_nobody"}, {}, ["cl_nobody"]),
        "person": Named({}, {"email": address}, [address]),
        "target": Named({"number": "999999", "id": "po_nothing"}, {}, ["999999"]),
    }
    assert declared.subject is not None
    return found[declared.subject.name]


async def new_subject(service: Service, declared: Operation[Any]) -> Named:
    return (
        Named({}, {}, []) if declared.subject is None else await NEW[declared.subject.name](service)
    )

"""A remembered device of a customer, as the account page adds it."""

from uuid import UUID

from asyncpg import Connection

from laari.rules.actors import Actor
from laari.rules.ids import CUSTOMER, show_id
from laari.rules.people.remembered_devices import RememberDevice, Remembered
from laari.rules.records.people import CustomerId
from laari.store.reads.people import logins
from tests.actors import MASTER
from tests.people import decided

LIMIT = 1_000_000


def themselves(customer_id: UUID) -> Actor:
    return Actor("customer", show_id(CUSTOMER, customer_id))


async def add_device(
    connection: Connection, customer_id: UUID, master: bytes = MASTER, name: str = "Phone"
) -> Remembered:
    password_hash = await logins.password_hash_of(connection, CustomerId(customer_id))
    assert password_hash is not None
    actor = themselves(customer_id)
    command = RememberDevice(actor, customer_id, name, password_hash, LIMIT)
    return await decided(connection, command, master=master)

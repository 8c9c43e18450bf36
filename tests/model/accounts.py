"""What a run of the model begins with: two merchants, two customers, and their credentials."""

import itertools
import secrets
from dataclasses import dataclass
from typing import Any

import asyncpg

from tests import shops
from tests.actors import OPERATOR
from tests.logins import opened
from tests.making import make_customer, make_merchant
from tests.model.reference.access import SCOPES
from tests.model.reference.state import Line, Merchant, State, Wallet
from tests.model.reference.unknowns import Unknown
from tests.serving import Service

# What each merchant's clients may ask for: the usual, only to read, to charge, to refund, nothing.
CLIENTS: dict[str, tuple[str, ...]] = {
    "all": SCOPES,
    "reader": tuple(scope for scope in SCOPES if scope.endswith(":read")),
    "charger": ("payments:create", "payments:read", "authorizations:charge"),
    "refunder": ("payments:read", "payments:refund", "balance:read"),
    "nothing": (),
}
PASSWORD = "correct horse"  # of the merchants' people
SANDBOX_BALANCE = 10_000_000  # laari: MVR 100,000.00
_FEES = {"A": (250, 300), "B": (0, 0)}
_numbers = itertools.count()  # of telephones: some thousand random ones would meet
_WALLETS = {"Aisha": ("basic", 2_200_000), "Binya": ("verified", 12_000_000)}


@dataclass(frozen=True)
class Shop:
    """A merchant's credentials."""

    id: str
    secret_key: str
    clients: dict[str, tuple[str, str]]
    session: str  # of one of its people, in the dashboard


@dataclass(frozen=True)
class Person:
    """A live customer's credentials."""

    api_key: str
    session: str


@dataclass(frozen=True)
class Accounts:
    shops: dict[str, Shop]
    people: dict[str, Person]
    wallet_keys: dict[str, str]  # by wallet; the sandboxes' own are learnt


async def _shop(connection: asyncpg.Connection, service: Service, name: str, mode: Any) -> Shop:
    email = f"{secrets.token_hex(6)}@shop.example"
    bps, fixed = _FEES[name]
    made = await make_merchant(
        connection,
        OPERATOR,
        service.master_key,
        name=f"Shop {name}",
        mode=mode,
        fee_bps=bps,
        fee_fixed=fixed,
        email=email,
        password=PASSWORD,
    )
    clients = {}
    for kind, scopes in CLIENTS.items():
        client, secret = await shops.create_client(
            connection, OPERATOR, service.master_key, made.merchant.id, " ".join(scopes)
        )
        clients[kind] = (client.id, secret)
    session = await opened(connection, email, master=service.master_key)
    return Shop(made.merchant.id, made.secret_key, clients, session)


def _opening(wallet: str, amount: int, kind: str, name: str, details: str) -> Line:
    tid = Unknown((wallet, "opening"), "[0-9A-Z]{16}")
    return Line(tid, None, kind, name, details, amount)


def new_case(service: Service, modes: tuple[str, str]) -> tuple[Accounts, State]:
    """New accounts in the service, and the model's state that stands for them."""
    return service.database.run(lambda connection: _new_case(connection, service, modes))


async def _new_case(
    connection: asyncpg.Connection, service: Service, modes: tuple[str, str]
) -> tuple[Accounts, State]:
    shops, people, keys = {}, {}, {}
    state = State({}, {})
    for name, mode in zip("AB", modes, strict=True):
        shops[name] = await _shop(connection, service, name, mode)
        state.merchants[name] = Merchant(f"Shop {name}", mode, *_FEES[name])
        own = f"sandbox of {name}"
        line = _opening(own, SANDBOX_BALANCE, "topup", "Top-up", "Opening balance")
        state.wallets[own] = Wallet("sandbox", "verified", SANDBOX_BALANCE, {}, (), (line,))
    for name, (tier, balance) in _WALLETS.items():
        mark = secrets.token_hex(6)
        contacts = {
            "mobile": f"7{next(_numbers):06}",
            "email": f"{mark}@example.mv",
            "vpa": f"v{mark}",
        }
        made = await make_customer(
            connection,
            OPERATOR,
            name=name,
            mode="live",
            tier=tier,
            balance=balance,
            key_with=service.master_key,
            **contacts,
        )
        session = await opened(connection, made.id, master=service.master_key)
        people[name] = Person(made.api_key, session)
        keys[name] = made.api_key
        line = _opening(name, balance, "topup", "Top-up", "Opening balance")
        state.wallets[name] = Wallet("live", tier, balance, contacts, (), (line,))
    return Accounts(shops, people, keys), state

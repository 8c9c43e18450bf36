"""Sign-up of customers: a mobile number proves itself by a code, then the wallet is opened.

The code counts only together with the secret of the request that asked for it, a few times.
"""

import hmac
import secrets
from datetime import datetime

from asyncpg import Connection

from laari.errors import LaariError
from laari.rules.actors import Actor
from laari.rules.messages import CodeContent, SignUpKnownContent
from laari.rules.people.contacts import COUNTRY
from laari.rules.records import Language
from laari.store.people import customers, notices
from laari.store.people.logins import CustomerId, Login
from laari.store.people.notices import Reached
from laari.store.people.password_links import CODE_DIGITS, LIFE, MOST_ATTEMPTS
from laari.store.secrets import derive, digest

# The first money limit decides; a tier without it is the highest.
_LOWEST_TIER = (
    "SELECT name FROM tiers ORDER BY per_transaction, daily, weekly, monthly, name LIMIT 1"
)


async def begin(
    connection: Connection,
    master: bytes,
    handle: str,
    mobile: str,
    name: str,
    password_hash: str,
    language: Language,
    now: datetime,
) -> None:
    """Sends a code to the number. A customer who has it gets a notice instead."""
    async with connection.transaction():
        known = await connection.fetchrow(
            "SELECT id, language FROM customers "
            "WHERE mode = 'live' AND mobile = $1 AND sandbox_of IS NULL",
            mobile,
        )
        recipient = f"+{COUNTRY}{mobile}"
        if known is not None:
            to = Reached("sms", recipient, known["language"], known["id"], True)
            await notices.write(connection, to, "signup_known", SignUpKnownContent(now), now)
            return
        code = f"{secrets.randbelow(10**CODE_DIGITS):0{CODE_DIGITS}}"
        await connection.execute(
            "INSERT INTO customer_signups (digest, mobile, name, password_hash, language, "
            "code_digest, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)",
            *(digest(handle), mobile, name, password_hash, language),
            *(_code_digest(master, handle, code), now + LIFE),
        )
        to = Reached("sms", recipient, language, None, False)
        await notices.write(connection, to, "signup_code", CodeContent(code, now + LIFE), now)


async def finish(
    connection: Connection, actor: Actor, master: bytes, handle: str, code: str, now: datetime
) -> Login | None:
    """Opens a wallet for the right code, once. None for any other, or if the number was taken."""
    async with connection.transaction():
        row = await connection.fetchrow(
            "SELECT mobile, name, password_hash, language, code_digest FROM customer_signups "
            "WHERE digest = $1 AND expires_at > $2 AND attempts < $3 FOR UPDATE",
            *(digest(handle), now, MOST_ATTEMPTS),
        )
        if row is None:
            return None
        if not hmac.compare_digest(row["code_digest"], _code_digest(master, handle, code)):
            await connection.execute(
                "UPDATE customer_signups SET attempts = attempts + 1 WHERE digest = $1",
                digest(handle),
            )
            return None
        await connection.execute("DELETE FROM customer_signups WHERE digest = $1", digest(handle))
        try:
            made = await customers.create(
                *(connection, actor),
                name=row["name"],
                mode="live",
                tier=await connection.fetchval(_LOWEST_TIER),
                mobile=row["mobile"],
                password_hash=row["password_hash"],
                with_key=False,
            )
        except LaariError:
            return None
        await customers.set_language(connection, actor, made.id, row["language"])
    return Login(CustomerId(made.id), row["password_hash"])


def _code_digest(master: bytes, handle: str, code: str) -> bytes:
    return derive(master, "sign-up-code", f"{handle} {code}")

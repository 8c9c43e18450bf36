"""Sign-up of customers: a mobile number proves itself by a code, then the wallet is opened.

The code counts only together with the secret of the request that asked for it, a few times.
"""

import hmac
import secrets
from datetime import datetime

from asyncpg import Connection

from laari.errors import LaariError
from laari.rules import terms
from laari.rules.actors import Actor
from laari.rules.messages import CodeContent, SignUpKnownContent
from laari.rules.people_records import CustomerId
from laari.rules.records import COUNTRY, Language
from laari.store.people import customers, notices
from laari.store.people.logins import Login
from laari.store.people.notices import Reached
from laari.store.secrets import derive

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
            known_content = SignUpKnownContent(now)
            await notices.write(connection, master, to, "signup_known", known_content, now)
            return
        code = f"{secrets.randbelow(10**terms.PASSWORD_CODE_DIGITS):0{terms.PASSWORD_CODE_DIGITS}}"
        await connection.execute(
            "INSERT INTO customer_signups (digest, mobile, name, password_hash, language, "
            "code_digest, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)",
            _of_request(master, handle),
            mobile,
            name,
            password_hash,
            language,
            _code_digest(master, handle, mobile, code),
            now + terms.PASSWORD_LINK_LIFE,
        )
        to = Reached("sms", recipient, language, None, False)
        content = CodeContent(code, now + terms.PASSWORD_LINK_LIFE)
        await notices.write(connection, master, to, "signup_code", content, now)


async def finish(
    connection: Connection, actor: Actor, master: bytes, handle: str, code: str, now: datetime
) -> Login | None:
    """Opens a wallet for the right code, once. None for any other, or if the number was taken."""
    held = _of_request(master, handle)
    async with connection.transaction():
        row = await connection.fetchrow(
            "SELECT mobile, name, password_hash, language, code_digest FROM customer_signups "
            "WHERE digest = $1 AND expires_at > $2 AND attempts < $3 FOR UPDATE",
            held,
            now,
            terms.PASSWORD_CODE_ATTEMPTS,
        )
        if row is None:
            return None
        expected = _code_digest(master, handle, row["mobile"], code)
        if not hmac.compare_digest(row["code_digest"], expected):
            await connection.execute(
                "UPDATE customer_signups SET attempts = attempts + 1 WHERE digest = $1", held
            )
            return None
        await connection.execute("DELETE FROM customer_signups WHERE digest = $1", held)
        try:
            made = await customers.create(
                connection,
                actor,
                name=row["name"],
                mode="live",
                tier=await connection.fetchval(_LOWEST_TIER),
                mobile=row["mobile"],
                language=row["language"],
                password_hash=row["password_hash"],
            )
        except LaariError:
            return None
    return Login(CustomerId(made.id), row["password_hash"])


def _of_request(master: bytes, handle: str) -> bytes:
    return derive(master, "sign-up", handle)


def _code_digest(master: bytes, handle: str, mobile: str, code: str) -> bytes:
    """Of this number too: put into the row, another one would not be proved."""
    return derive(master, "sign-up-code", f"{handle} {mobile} {code}")

"""The files for the bank: as they are stored, and as runs, orders and bank accounts make them."""

from uuid import UUID

from asyncpg import Connection

from laari.errors import LaariError
from laari.rules.records.payouts import StoredBankFile
from laari.store.tables import BANK_FILES

_RUFIYAA = "{0} / 100 || '.' || lpad(({0} % 100)::text, 2, '0')"
_QUOTED = "CASE WHEN {0} LIKE '%,%' THEN '\"' || {0} || '\"' ELSE {0} END"

# The bytes of the file of each run that was sent, made again without the code that made the file. A
# payout whose bank account is another owner's leaves out its orders.
REBUILT = f"""
SELECT run_id, order_count, total, encode(sha256(body), 'hex') AS digest,
    body || convert_to('T,' || number || ',' || order_count || ',' || {_RUFIYAA.format("total")}
        || ',' || encode(sha256(body), 'hex') || E'\\r\\n', 'UTF8') AS content
FROM (
    SELECT f.run_id, r.number, count(o.reference) AS order_count,
        coalesce(sum(o.amount), 0)::bigint AS total,
        convert_to('H,' || r.number || ',' || to_char(f.value_date, 'YYYY-MM-DD') || E',MVR\\r\\n'
            || coalesce(string_agg('P,' || o.reference || ',' || {_QUOTED.format("b.bank")} || ','
            || b.account_number || ',' || {_QUOTED.format("b.holder")} || ','
            || {_RUFIYAA.format("o.amount")} || E'\\r\\n', '' ORDER BY o.reference), ''), 'UTF8')
            AS body
    FROM bank_files f JOIN payout_runs r ON r.id = f.run_id
    LEFT JOIN payouts p ON p.run_id = r.id AND p.sent_at IS NOT NULL
    LEFT JOIN bank_accounts b ON b.id = p.bank_account_id
        AND (b.tenant_id = p.tenant_id OR b.account = p.account)
    LEFT JOIN bank_orders o ON o.payout_id = p.id AND b.id IS NOT NULL
    GROUP BY f.run_id, r.number, f.value_date
) AS lines"""


class ChangedFileError(LaariError):
    """Somebody has changed the file, or the records that it was made from, in the database."""


async def bank_file(connection: Connection, run_id: UUID) -> StoredBankFile | None:
    row = await connection.fetchrow(f"{BANK_FILES.select} WHERE run_id = $1", run_id)
    return None if row is None else BANK_FILES.read(row)


async def handed_out(connection: Connection, run_id: UUID) -> StoredBankFile | None:
    """The file for the bank, if its orders still make the same bytes."""
    made = await bank_file(connection, run_id)
    if made is None:
        return None
    rebuilt = await connection.fetchval(
        f"SELECT content FROM ({REBUILT}) AS rebuilt WHERE run_id = $1", run_id
    )
    if rebuilt != made.content:
        raise ChangedFileError(
            "the file has other bytes than its orders and bank accounts make: somebody has changed "
            "the database. Do not send it, and run `laari audit`"
        )
    return made

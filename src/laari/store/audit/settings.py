"""Settings against the journal: every watched value is the one of its object's last entry.

The service writes an entry with each change, so a difference is a change made in the database.
"""

from typing import NamedTuple

from laari.store.audit.difference import Check


class Watched(NamedTuple):
    """The columns of a table `r` whose values are in the journal.

    A column with a # is there as the beginning of a digest. `expected` are the values of an entry
    `after`: entries of the spine have more values and another form of times.
    """

    object_type: str
    object_id: str
    columns: tuple[str, ...]
    expected: str = "after::jsonb"


WATCHED = {
    "merchants": Watched(
        "merchant",
        "r.id",
        (
            *("name", "mode", "active", "fee_bps", "fee_fixed", "webhook_url", "webhooks_enabled"),
            *("secret_digest", "old_secret_digest", "old_secret_until", "requires_factor"),
        ),
    ),
    "tenants": Watched("tenant", "r.id::text", ("merchant_id", "mode", "max_payment")),
    "oauth_clients": Watched(
        "oauth_client",
        "r.id",
        ("merchant_id", "name", "scope", "secret_digest", "expires_at", "revoked_at"),
    ),
    "tiers": Watched("tier", "r.name", ("per_transaction", "daily", "weekly", "monthly")),
    "customers": Watched(
        "customer",
        "'cus_' || encode(uuid_send(r.id), 'hex')",
        ("name", "mobile", "email", "vpa", "language", "#password_hash"),
    ),
    "persons": Watched(
        "person",
        "'per_' || encode(uuid_send(r.id), 'hex')",
        ("email", "#password_hash", "proven"),
    ),
    "memberships": Watched(
        "membership",
        "'per_' || encode(uuid_send(r.person_id), 'hex') || ' ' "
        "|| coalesce(r.merchant_id, 'operator')",
        ("role", "till"),
        "after::jsonb - 'email'",  # which is there for readers
    ),
    "invitations": Watched(
        "invitation",
        "r.merchant_id || ' ' || r.email",
        ("digest", "email", "role", "till", "expires_at", "proves"),
    ),
    "second_factors": Watched(
        "second_factor",
        "'per_' || encode(uuid_send(r.person_id), 'hex')",
        ("created_at", "confirmed_at", "codes_made_at"),
    ),
    "wallets": Watched(
        "wallet",
        "r.account::text",
        ("tier", "frozen_at", "frozen_reason"),
        "(SELECT jsonb_build_object('tier', a -> 'tier', 'frozen_at', "
        "(a ->> 'frozen_at')::timestamptz, 'frozen_reason', a -> 'frozen_reason') "
        "FROM (SELECT after::jsonb) AS entry (a) WHERE a IS NOT NULL)",
    ),
    "contact_changes": Watched(
        "contact_change",
        "'chg_' || encode(uuid_send(r.id), 'hex')",
        (
            *("customer_id", "contact", "old_value", "new_value", "code_digest", "status"),
            *("confirmed_by", "effective_at", "ended_by"),
        ),
    ),
    "bank_accounts": Watched(
        "bank_account",
        "r.id::text",
        ("tenant_id", "account", "holder", "bank", "account_number", "effective_at"),
    ),
    "payout_terms": Watched(
        "payout_terms", "r.tenant_id::text", ("minimum", "fee", "on_request", "paused_reason")
    ),
    "customer_identities": Watched(
        "identity", "'cus_' || encode(uuid_send(r.customer_id), 'hex')", ("#encrypted",)
    ),
    "bank_holidays": Watched("bank_holiday", "r.day::text", ("name",)),
    "scheduled_fees": Watched(
        "scheduled_fees",
        "r.merchant_id || ' ' || floor(extract(epoch FROM r.starts_at))::bigint",
        ("fee_bps", "fee_fixed"),
    ),
    "pending_movements": Watched(
        "movement",
        "'mov_' || encode(uuid_send(r.id), 'hex')",
        ("status", "account", "amount", "requested_by"),
        "after::jsonb || jsonb_build_object('account', (after::jsonb ->> 'account')::bigint)",
    ),
    "wallet_keys": Watched(
        "wallet_key", "encode(r.digest, 'hex')", ("account", "name", "revoked_at")
    ),
}

LONGEST = 60  # characters of a value in a difference


def _value(column: str) -> str:
    name = column.removeprefix("#")
    if name == column:
        return f"'{name}', r.{name}"
    return f"'{name}', left(encode(sha256(convert_to(r.{name}::text, 'UTF8')), 'hex'), 32)"


def _check(table: str, watched: Watched) -> Check:
    values = ", ".join(map(_value, watched.columns))
    return Check(
        f"{watched.object_type}_setting",
        "The setting was changed without an entry in the journal.",
        f"""SELECT '{watched.object_type} ' || object_id || field AS id,
            left(coalesce(each.expected, 'null'), {LONGEST}) AS expected,
            left(coalesce(each.found, 'null'), {LONGEST}) AS found
        FROM (
            SELECT object_id, l.state AS expected, r.state AS found
            FROM (
                SELECT object_id, {watched.expected} AS state FROM (
                    SELECT DISTINCT ON (object_id) object_id, after FROM journal
                    WHERE object_type = '{watched.object_type}' ORDER BY object_id, id DESC
                ) AS newest
            ) AS l
            FULL JOIN (
                SELECT {watched.object_id} AS object_id, jsonb_build_object({values}) AS state
                FROM {table} r
            ) AS r USING (object_id)
            WHERE l.state IS DISTINCT FROM r.state
        ) AS differs CROSS JOIN LATERAL (
            SELECT ', ' || name, differs.expected ->> name, differs.found ->> name
            FROM jsonb_object_keys(differs.found) AS name
            WHERE differs.expected IS NOT NULL
                AND differs.expected -> name IS DISTINCT FROM differs.found -> name
            UNION ALL SELECT '', 'nothing', 'a row' WHERE differs.expected IS NULL
            UNION ALL SELECT '', 'a row', 'nothing' WHERE differs.found IS NULL
        ) AS each (field, expected, found)""",
        scope="all",
    )


def _history(watched: Watched) -> str:
    before = watched.expected.replace("after", "before")
    return f"""SELECT object_type, object_id, id, action, {before} AS found,
            lag({watched.expected}) OVER (PARTITION BY object_id ORDER BY id) AS expected
        FROM journal WHERE object_type = '{watched.object_type}'"""


_HISTORY = Check(
    "setting_history",
    "The setting was changed without an entry in the journal, before its next change.",
    # Such a change, and then one by the service, would leave a last entry that fits.
    f"""SELECT object_type || ' ' || object_id || ', entry ' || id AS id,
        left(coalesce(expected::text, 'nothing'), {LONGEST}) AS expected,
        left(coalesce(found::text, 'nothing'), {LONGEST}) AS found
    FROM ({" UNION ALL ".join(map(_history, WATCHED.values()))}) AS entries
    WHERE found IS DISTINCT FROM expected AND action <> 'journal.begin'""",
    scope="all",
)
_WALLET_CUSTOMER = Check(
    "wallet_customer",
    "The wallet belongs to another customer than the one it was opened for.",
    # A hash join by customer: one transaction may have opened all wallets.
    """SELECT r.account::text AS id, coalesce((SELECT min(c.object_id) FROM journal c
            WHERE c.object_type = 'customer' AND c.before IS NULL AND c.xid = j.xid), 'none')
            AS expected,
        'cus_' || encode(uuid_send(r.customer_id), 'hex') AS found
    FROM wallets r JOIN journal j ON j.object_type = 'wallet' AND j.object_id = r.account::text
        -- A wallet from before the journal has no entry about its opening.
        AND j.before IS NULL AND j.action <> 'journal.begin'
    WHERE NOT EXISTS (SELECT FROM journal c WHERE c.object_type = 'customer' AND c.before IS NULL
        AND c.xid = j.xid AND c.object_id = 'cus_' || encode(uuid_send(r.customer_id), 'hex'))""",
    scope="all",
)

CHECKS = [
    *(_check(table, watched) for table, watched in WATCHED.items()),
    _HISTORY,
    _WALLET_CUSTOMER,
]

"""Rows that are never changed, against the entries of the journal that came with them.

Seals find a changed or deleted row. A row that somebody adds would be sealed as one of the service:
it is found because the journal has no entry with its values.
"""

from typing import NamedTuple

from laari.store.audit.difference import Check


class _Added(NamedTuple):
    """The values of each row `r`, and the same values as the entries have them."""

    table: str
    row: str
    entry: str
    entries: str  # a condition


_ADDED = [
    _Added(
        "bank_accounts",
        "r.id::text, r.tenant_id, r.account, r.holder, r.bank, r.account_number, r.created_at, "
        "r.effective_at, r.actor_kind || ' ' || r.actor_name",
        "object_id, found -> 'tenant_id', found -> 'account', found -> 'holder', found -> 'bank', "
        "found -> 'account_number', time, (found ->> 'effective_at')::timestamptz, "
        "found -> 'entered_by'",
        "object_type = 'bank_account'",
    ),
    _Added(
        "wallet_freezes",
        "r.account::text, r.time, r.action, r.reason, r.silent",
        "object_id, time, CASE action WHEN 'wallet.freeze' THEN 'frozen' ELSE 'unfrozen' END, "
        "reason, found -> 'frozen_silently'",
        "object_type = 'wallet' AND action IN ('wallet.freeze', 'wallet.unfreeze')",
    ),
    _Added(
        "customer_notes",
        "'cus_' || encode(uuid_send(r.customer_id), 'hex'), r.time, r.author, "
        "encode(sha256(convert_to(r.text, 'UTF8')), 'hex')",
        "object_id, time, actor_name, found -> 'text_digest'",
        "object_type = 'customer_note'",
    ),
    # A trigger writes it in the transaction of the entry.
    _Added(
        "fee_history",
        "r.merchant_id, r.xid, r.fee_bps, r.fee_fixed",
        "object_id, xid, found -> 'fee_bps', found -> 'fee_fixed'",
        "object_type = 'merchant' AND (before IS NULL "
        "OR before::jsonb -> 'fee_bps' <> after::jsonb -> 'fee_bps' "
        "OR before::jsonb -> 'fee_fixed' <> after::jsonb -> 'fee_fixed')",
    ),
]


def _both(added: _Added) -> str:
    return f"""
        SELECT '{added.table}' AS name, jsonb_build_array({added.row}) AS state, 1 AS rows,
            0 AS entries
        FROM {added.table} r
        UNION ALL
        SELECT '{added.table}', jsonb_build_array({added.entry}), 0, 1
        FROM (SELECT *, after::jsonb AS found FROM journal) AS entries WHERE {added.entries}"""


CHECKS = [
    Check(
        "added_row",
        "A row and its entry in the journal are not both there, once and with the same values.",
        f"""SELECT name || ' ' || left(state::text, 200) AS id,
            sum(entries) || ' rows' AS expected, sum(rows) || ' rows' AS found
        FROM ({" UNION ALL ".join(map(_both, _ADDED))}) AS either
        GROUP BY name, state HAVING sum(rows) <> sum(entries)""",
        scope="all",
    ),
]

"""Compares the live schema with `schema.json`, which `python -m tools.audit_schema` writes.

Its lines are the same in PostgreSQL 15 and 18.
"""

from pathlib import Path

import msgspec
from asyncpg import Connection

from laari.store.audit.difference import Difference

FILE = Path(__file__).parent / "schema.json"

# Indexes that are not unique may be added, for somebody's reports. Other objects are reported only
# if they change what our statements do.
_DESCRIBE = """
WITH ours AS (
    SELECT c.oid, c.relname, c.relkind, c.relpersistence, c.relrowsecurity, c.relforcerowsecurity
    FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
)
SELECT 'table ' || relname, concat_ws(' ', CASE relpersistence WHEN 'u' THEN 'unlogged' END,
    CASE WHEN relrowsecurity THEN 'row security' END,
    CASE WHEN relforcerowsecurity THEN 'forced row security' END)
FROM ours WHERE relkind IN ('r', 'p')
UNION ALL
SELECT 'column ' || relname || '.' || attname, concat_ws(' ', format_type(atttypid, atttypmod),
    CASE WHEN attnotnull THEN 'not null' END, pg_get_expr(d.adbin, d.adrelid),
    nullif(attidentity::text, ''), nullif(attgenerated::text, ''),
    CASE WHEN attcollation NOT IN (0, 100) THEN attcollation::regcollation::text END)
FROM ours JOIN pg_attribute a ON attrelid = ours.oid AND attnum > 0 AND NOT attisdropped
LEFT JOIN pg_attrdef d ON adrelid = attrelid AND adnum = attnum
WHERE relkind IN ('r', 'p')
UNION ALL
SELECT 'view ' || relname, pg_get_viewdef(oid) FROM ours WHERE relkind = 'v'
UNION ALL
SELECT 'constraint ' || relname || '.' || conname, pg_get_constraintdef(c.oid)
FROM ours JOIN pg_constraint c ON conrelid = ours.oid WHERE contype <> 'n'
UNION ALL
SELECT CASE WHEN indisunique THEN 'unique ' ELSE '' END || 'index ' || i.indexrelid::regclass,
    concat_ws(' ', pg_get_indexdef(indexrelid), CASE WHEN NOT indisvalid THEN 'invalid' END)
FROM ours JOIN pg_index i ON indrelid = ours.oid WHERE relkind IN ('r', 'p')
UNION ALL
SELECT 'trigger ' || relname || '.' || tgname, concat_ws(' ', pg_get_triggerdef(t.oid),
    CASE WHEN tgenabled <> 'O' THEN 'not as it fires by default' END)
FROM ours JOIN pg_trigger t ON tgrelid = ours.oid WHERE NOT tgisinternal
UNION ALL
SELECT 'check of a foreign key on ' || relname, 'switched off'
FROM ours JOIN pg_trigger t ON tgrelid = ours.oid WHERE tgisinternal AND tgenabled <> 'O'
UNION ALL
SELECT 'rule ' || relname || '.' || rulename, pg_get_ruledef(r.oid)
FROM ours JOIN pg_rewrite r ON ev_class = ours.oid WHERE relkind IN ('r', 'p')
UNION ALL
SELECT 'policy ' || relname || '.' || polname, 'any'
FROM ours JOIN pg_policy p ON polrelid = ours.oid
UNION ALL
SELECT 'rows of ' || inhrelid::regclass || ' within ' || relname, 'inherited'
FROM ours JOIN pg_inherits i ON inhparent = ours.oid WHERE relkind IN ('r', 'p')
UNION ALL
SELECT 'sequence ' || relname, concat_ws(' ', format_type(seqtypid, NULL), seqstart, seqincrement,
    seqmin, seqmax, seqcache, seqcycle)
FROM ours JOIN pg_sequence s ON seqrelid = ours.oid
UNION ALL
SELECT 'function ' || p.oid::regprocedure, concat_ws(' ', l.lanname, p.provolatile, p.prosecdef,
    p.prosrc)
FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
WHERE p.pronamespace = 'public'::regnamespace AND p.prokind <> 'a'
UNION ALL
SELECT 'function in the way of pg_catalog.' || p.proname, p.oid::regprocedure::text
FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND EXISTS (
    SELECT FROM pg_proc c WHERE c.pronamespace = 'pg_catalog'::regnamespace
        AND c.proname = p.proname)
UNION ALL
SELECT 'operator in public', o.oid::regoperator::text
FROM pg_operator o WHERE o.oprnamespace = 'public'::regnamespace
UNION ALL
SELECT 'setting of every session', setting FROM pg_db_role_setting s, unnest(s.setconfig) setting
WHERE s.setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
    AND split_part(setting, '=', 1) IN
    ('session_replication_role', 'search_path', 'row_security', 'laari.actor')
"""

_MISSING = "Something that the schema has is missing, or is not as it was."
_ADDED = "Something was added to the schema that changes what it does."


async def describe(connection: Connection) -> dict[str, str]:
    """Every part of the schema by its name."""
    rows = await connection.fetch(_DESCRIBE)
    return {name: " ".join(definition.split()) for name, definition in sorted(rows)}


async def verify_schema(connection: Connection) -> list[Difference]:
    expected = msgspec.json.decode(FILE.read_bytes(), type=dict[str, str])
    live = await describe(connection)
    found = [
        Difference("schema", name, definition, live.get(name, "nothing"), _MISSING)
        for name, definition in expected.items()
        if live.get(name) != definition
    ]
    tables = {name.removeprefix("table ") for name in expected if name.startswith("table ")}
    return found + [
        Difference("schema", name, "nothing", definition, _ADDED)
        for name, definition in live.items()
        if name not in expected and _matters(name, definition, tables)
    ]


def _matters(name: str, definition: str, tables: set[str]) -> bool:
    """Whether it belongs to one of our tables or changes what our statements do."""
    kind, _, rest = name.partition(" ")
    match kind:
        case "table" | "view" | "sequence" | "index":
            return False
        case "unique":
            return any(f" ON public.{table} " in definition for table in tables)
        case "column" | "constraint" | "trigger" | "rule" | "policy":
            return rest.partition(".")[0] in tables
        case "rows" | "check":
            return rest.rpartition(" ")[2] in tables
        case "function":
            return rest.startswith("in the way of")
    return True

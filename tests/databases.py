"""Databases of the suite's server: copies of a template that are emptied and used again.

A new copy writes 9 MB in 350 files, which costs several times as much as emptying an old one. A
database with another schema than its template is dropped after the test.
"""

import asyncio
from io import BytesIO
from itertools import count

import asyncpg

TEMPLATE = "migrated"  # a database that every test's own is a copy of

_numbers = count(1)

# Every change of a schema writes rows with newer transaction numbers into these, or removes rows.
_CATALOGUES = (
    "pg_attrdef",
    "pg_attribute",
    "pg_constraint",
    "pg_event_trigger",
    "pg_extension",
    "pg_index",
    "pg_inherits",
    "pg_namespace",
    "pg_policy",
    "pg_proc",
    "pg_publication",
    "pg_rewrite",
    "pg_sequence",
    "pg_statistic_ext",
    "pg_trigger",
    "pg_type",
)
_STATES = ", ".join(
    f"(SELECT count(*) || ' ' || max(xmin::text::bigint) FROM {name})" for name in _CATALOGUES
)
_SIGNATURE = f"""SELECT ARRAY[
    {_STATES},
    -- A truncated table has another file, and vacuuming writes its size.
    (SELECT count(*) || ' ' || sum(hashtext(concat_ws(' ', oid, relname, relowner, reltablespace,
        relpersistence, relacl, reloptions, relreplident, relrowsecurity))) FROM pg_class),
    -- A query may run differently on a table that was analyzed; 16384 is the first of our own.
    (SELECT count(*)::text FROM pg_statistic WHERE starelid >= 16384),
    (SELECT concat_ws(' ', datdba, datistemplate, datallowconn, datconnlimit, datacl)
        FROM pg_database WHERE datname = current_database()),
    (SELECT count(*)::text FROM pg_db_role_setting
        WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database()))
]"""
_WRITTEN = """
    SELECT relname::text, pg_relation_size(oid) FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND pg_relation_size(oid) > 0
"""
_END_OTHERS = """
    SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
_MANY_BYTES = 64 * 1024
# Statements that return every sequence to its present place.
_SEQUENCES = """
    SELECT format('SELECT setval(%L, %s, %L)', seqrelid::regclass,
        coalesce(pg_sequence_last_value(seqrelid), seqstart),
        pg_sequence_last_value(seqrelid) IS NOT NULL)
    FROM pg_sequence
"""


class Engine:
    """The test process's own server; `dsn` is its maintenance database."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self._clean: list[str] = []  # databases that are as the template is
        self._signature: list[str] = []  # of the template
        self._content: dict[str, bytes] = {}  # of the tables that are not empty in it
        self._reset_sequences = ""

    def url(self, database: str) -> str:
        return self.dsn.replace("/laari?", f"/{database}?")

    def named(self, name: str) -> str:
        """The name of a new database: a fixture of a module may be made more than once."""
        return f"{name}_{next(_numbers)}"

    def migrated(self, name: str) -> str:
        """The address of a new database with the whole schema, for as long as the engine runs."""
        database = self.named(name)
        asyncio.run(self.copy(database))
        return self.url(database)

    async def copy(self, database: str, template: str = TEMPLATE) -> None:
        await self.execute(f"CREATE DATABASE {database} TEMPLATE {template} STRATEGY FILE_COPY")

    async def drop(self, database: str) -> None:
        await self.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")

    async def execute(self, statement: str) -> None:
        connection = await asyncpg.connect(self.dsn)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    async def remember_template(self) -> None:
        connection = await asyncpg.connect(self.url(TEMPLATE))
        try:
            self._signature = await connection.fetchval(_SIGNATURE)
            sequences = await connection.fetch(_SEQUENCES)
            self._reset_sequences = ";".join(statement for (statement,) in sequences)
            for table, _ in await connection.fetch(_WRITTEN):
                self._content[table] = await _content(connection, table)
        finally:
            await connection.close()

    async def take(self) -> str:
        """The name of a database that is as the template is."""
        if self._clean:
            return self._clean.pop()
        name = self.named("test")
        await self.copy(name)
        return name

    async def give_back(self, name: str) -> None:
        """Empties the database for another test, or drops it."""
        try:
            connection = await asyncpg.connect(self.url(name))
        except asyncpg.PostgresError:  # the test has closed or dropped it
            await self.drop(name)
            return
        try:
            await connection.execute(_END_OTHERS)
            same = await connection.fetchval(_SIGNATURE) == self._signature
            if same:
                await self._empty(connection)
        finally:
            await connection.close()
        if same:
            self._clean.append(name)
        else:
            await self.drop(name)

    async def _empty(self, connection: asyncpg.Connection) -> None:
        written = await connection.fetch(_WRITTEN)
        removals = (
            # To remove a few rows is quicker than to make new files.
            f"TRUNCATE {table} CASCADE" if size > _MANY_BYTES else f"DELETE FROM {table}"
            for table, size in written
            if table not in self._content
        )
        async with connection.transaction():
            # As a replica does it: without triggers and foreign keys.
            steps = "SET LOCAL session_replication_role = replica", *removals, self._reset_sequences
            await connection.execute(";".join(steps))
            for table, content in self._content.items():
                if await _content(connection, table) != content:
                    await connection.execute(f"DELETE FROM {table}")
                    await connection.copy_to_table(table, source=BytesIO(content))


async def _content(connection: asyncpg.Connection, table: str) -> bytes:
    content = BytesIO()
    await connection.copy_from_table(table, output=content)
    return content.getvalue()

"""Tries on an empty copy of a PostgreSQL table what is to be done to the table, and takes all of it back.

What hangs on the copy is what hangs on the table: constraints, indexes, defaults; but no view, trigger or foreign key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from schemactl.destinations._session import qualify, quote
from schemactl.destinations.postgresql._session import PostgresSession

TRIAL: Final = "_schemactl_trial"
SCHEMA: Final = "pg_temp"


def refusal_of(session: PostgresSession, dataset: str, table: str, statements: Sequence[str]) -> str | None:
    """Return why PostgreSQL does not run statements, whatever the rows are; None where it does.

    Args:
        session: where; what is only read is not written by it either.
        dataset: the schema of the table.
        table: the table that is copied, without its rows, to ``SCHEMA.TRIAL``.
        statements: about that copy.

    Where nothing may be made, not even for the session (a hot standby, a user without TEMPORARY), nothing is tried.
    """
    import psycopg
    from psycopg.errors import FeatureNotSupported, InsufficientPrivilege, ReadOnlySqlTransaction

    said = psycopg.ProgrammingError, psycopg.DataError, psycopg.IntegrityError, psycopg.NotSupportedError
    with session.connection.transaction(force_rollback=True):
        try:
            session.execute("SET TRANSACTION READ WRITE")
            session.execute(f"CREATE TEMPORARY TABLE {quote(TRIAL)} (LIKE {qualify(dataset, table)} INCLUDING ALL)")
        except (FeatureNotSupported, InsufficientPrivilege, ReadOnlySqlTransaction):
            return None
        try:
            for statement in statements:
                session.execute(statement)
        except said as error:
            return error.diag.message_primary or str(error)
    return None

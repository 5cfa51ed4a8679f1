"""Finds the sessions that hold a lock on a table of PostgreSQL."""

from __future__ import annotations

from typing import Final

from schemactl.destinations._session import literal
from schemactl.destinations.postgresql.session import PostgresSession
from schemactl.examples import shown_error

_SHOWN_SESSIONS: Final = 3
_SHOWN_LETTERS: Final = 100

_HOLDERS: Final = """
    SELECT a.pid, a.state, extract(epoch FROM clock_timestamp() - min(a.xact_start))::bigint, a.query
    FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'relation' AND l.granted AND l.pid <> {own} AND l.relation = pg_catalog.to_regclass({table})
        AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
    GROUP BY a.pid, a.state, a.query
    ORDER BY 3 DESC NULLS LAST
"""


def lock_holders(session: PostgresSession, table: str, waiting: PostgresSession) -> str:
    """Return the sessions that hold a lock on a table, as the end of a message; empty where none does any more.

    Args:
        session: runs the query; that of the migration cannot, as its transaction has failed.
        table: its full name, quoted.
        waiting: the session that did not get a lock on it.
    """
    own = waiting.connection.info.backend_pid
    with session.wrap_errors("look for who holds a lock"):
        found = session.query(_HOLDERS.format(own=own, table=literal(table)))
    shown = [_describe(*row) for row in found[:_SHOWN_SESSIONS]]
    if len(found) > len(shown):
        shown.append(f"{len(found) - len(shown)} more")
    return f"; {table} is locked by {', '.join(shown)}" if shown else ""


def _describe(pid: int, state: str | None, seconds: int | None, query: str | None) -> str:
    """Return a session with its state, the age of its transaction and its last statement.

    State and statement are null where the user may not see them.
    """
    age = "" if seconds is None else f" for {seconds} s"
    # A statement may hold values.
    text = shown_error(" ".join((query or "").split()))
    cut = text if len(text) <= _SHOWN_LETTERS else f"{text[:_SHOWN_LETTERS]}..."
    return f"session {pid} ({state or 'active'}{age}" + (f": `{cut}`)" if cut else ")")


def milliseconds(seconds: float) -> int:
    """Return a timeout in PostgreSQL's unit, at least 1: 0 would mean no timeout."""
    return max(round(seconds * 1000), 1)

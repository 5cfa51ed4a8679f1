"""Finds the dependents of the tables of a SQLite file (indexes, views, triggers), and losses of a copy."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any, Final

from schemactl.destinations.sqlite.conversion import register
from schemactl.destinations.sqlite.session import SqliteDatabase
from schemactl.migration.records import Blocker
from schemactl.migration.steps import DropColumn, DropUnique, Step
from schemactl.schema.quoting import quote

_LOST_BY_COPY: Final = re.compile(
    r"\b(default|check|references|foreign|collate|autoincrement|generated(?=\s+always)|as(?=\s*\()"
    r"|without\s+rowid|strict(?=\s*(?:,|$))|on\s+conflict)\b",
    re.IGNORECASE,
)
_SEVERAL_UNIQUE: Final = """
select group_concat(part.name, ', ') from pragma_index_list(?) as made, pragma_index_info(made.name) as part
where made.origin = 'u' group by made.name having count(*) > 1
"""
_MADE_FOR: Final = "select type, sql from sqlite_master where lower(tbl_name) = lower(?) and sql is not null"
_UNIQUE_INDEXES: Final = """
select made.name from pragma_index_list(?) as made
where made."unique" and made.origin = 'c' and not made.partial
    and (select iif(count(*) = 1, max(part.name), null) from pragma_index_info(made.name) as part) = ? collate nocase
"""
_INDEXES: Final = """
select made.name from pragma_index_list(?) as made
where made.origin = 'c' and ? collate nocase in (select part.name from pragma_index_info(made.name) as part)
"""

_QUOTED: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\]|--[^\n]*|/\*.*?\*/", re.DOTALL)


def lost_by_copy(database: SqliteDatabase, table: str) -> Blocker | None:
    """Return why a table cannot be copied: the clauses that the copy would lose; None if it loses nothing."""
    objects = database.query(_MADE_FOR, table)  # the table, its indexes and its triggers
    clauses = (_LOST_BY_COPY.findall(_QUOTED.sub("", sql)) for kind, sql in objects if kind == "table")
    lost = [" ".join(word.upper().split()) for words in clauses for word in words]
    lost = ["GENERATED" if word == "AS" else word for word in lost]
    lost += [f"UNIQUE ({row[0]})" for row in database.query(_SEVERAL_UNIQUE, table)]
    if not lost:
        return None
    return Blocker(
        f"a copy of table `{table}` would lose its {', '.join(dict.fromkeys(lost))}",
        "remove it first, or change the table by hand and run `schemactl migrate baseline`",
    )


def made_again(database: SqliteDatabase, table: str) -> list[str]:
    """Return the statements that made the indexes and triggers of a table."""
    objects = database.query(_MADE_FOR, table)
    return [sql for kind, sql in objects if kind in ("index", "trigger")]


def outdated_indexes(database: SqliteDatabase, steps: Sequence[Step]) -> list[str]:
    """Return the indexes that a copy of the table must not have again, each once."""
    indexes: list[tuple[Any, ...]] = []
    for step in steps:
        match step:
            case DropUnique():
                indexes += database.query(_UNIQUE_INDEXES, step.table, step.column)
            case DropColumn():  # made again, it would take the name of the column that is gone for a text
                indexes += database.query(_INDEXES, step.table, step.column.name)
            case _:
                pass
    return [name for (name,) in dict.fromkeys(indexes)]


# Tries steps on an empty copy of a SQLite file, in memory, to find the views, triggers and indexes that block them.

SPARE: Final = "_schemactl_trial"
"""A name that no table and no column has."""

_MADE: Final = r"""
select name, sql from sqlite_master
where sql is not null and name not like 'sqlite\_%' escape '\' and (
    lower(tbl_name) = lower(?) or exists (select 1 from sqlite_master where type in ('view', 'trigger'))
)
order by type <> 'table', rowid
"""
"""Views and triggers may be about any table; without them only the table itself counts."""

_DEPENDENTS: Final = "select type, name, sql from sqlite_master where type <> 'table' and sql is not null"
_DEFAULT: Final = "select dflt_value from pragma_table_xinfo(?) where name = ? collate nocase"


@contextmanager
def trial_of(database: SqliteDatabase, table: str) -> Iterator[SqliteDatabase]:
    """Yield a database in memory with the objects of a file that may concern a table, without rows."""
    statements = database.query(_MADE, table)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        register(connection)
        for name, statement in statements:
            # A virtual table has made its own tables along with it.
            if not connection.execute("select 1 from sqlite_master where name = ?", [name]).fetchone():
                connection.execute(statement)
        yield replace(database, connection=connection)


def has_column(database: SqliteDatabase, table: str, column: str) -> bool:
    """Return whether a table exists and has a column."""
    query = "select 1 from pragma_table_xinfo(?) where name = ? collate nocase"
    return bool(database.query(query, table, column))


def unreadable(database: SqliteDatabase) -> str | None:
    """Return SQLite's error for a view or trigger of a trial that it cannot read; None if it reads all of them."""
    database.execute(f"CREATE TABLE {quote(SPARE)} (x)")
    try:
        database.execute(f"ALTER TABLE {quote(SPARE)} RENAME TO {quote(SPARE + '_2')}")  # it reads all for that
    except sqlite3.OperationalError as error:
        database.execute(f"DROP TABLE {quote(SPARE)}")
        return str(error)
    database.execute(f"DROP TABLE {quote(SPARE + '_2')}")
    return None


def trial_error_of_rename(database: SqliteDatabase, table: str, column: str) -> str | None:
    """Return why a column of a trial gets no other name, in SQLite's words; None if it has got one: ``SPARE``."""
    try:
        database.execute(f"ALTER TABLE {quote(table)} RENAME COLUMN {quote(column)} TO {quote(SPARE)}")
    except sqlite3.OperationalError as error:
        return str(error)
    return None


def dependents_of(database: SqliteDatabase, table: str, column: str) -> list[str]:
    """Return the dependents that go with a trial's column when it gets another name; see ``SPARE``."""
    defaults = database.query(_DEFAULT, table, column)
    before = database.query(_DEPENDENTS)
    if trial_error_of_rename(database, table, column) is not None:
        return []  # the caller reports the object that blocks the rename
    after = {(kind, name): sql for kind, name, sql in database.query(_DEPENDENTS)}
    dependents = [f"{kind} `{name}`" for kind, name, sql in before if after.get((kind, name)) != sql]
    return [*dependents, *(["its default"] if defaults and defaults[0][0] is not None else [])]

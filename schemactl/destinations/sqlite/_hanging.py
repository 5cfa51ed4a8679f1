"""What hangs on the tables of a SQLite file beside what a schema says, and what of it a copy would lose."""

from __future__ import annotations

import re
from typing import Final

from schemactl.destinations._migration.records import Hindrance
from schemactl.destinations.sqlite._session import SqliteDatabase
from schemactl.migration.steps import DropColumn, DropUnique

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


def lost_by_copy(database: SqliteDatabase, table: str) -> Hindrance | None:
    """Return why a table cannot be copied: what the copy would not have; None where it has all."""
    found = database.connection.execute(_MADE_FOR, [table]).fetchall()
    made = (_LOST_BY_COPY.findall(_QUOTED.sub("", sql)) for kind, sql in found if kind == "table")
    lost = [" ".join(word.upper().split()) for words in made for word in words]
    lost = ["GENERATED" if word == "AS" else word for word in lost]
    lost += [f"UNIQUE ({row[0]})" for row in database.connection.execute(_SEVERAL_UNIQUE, [table])]
    if not lost:
        return None
    return Hindrance(
        f"a copy of table `{table}` would lose its {', '.join(dict.fromkeys(lost))}",
        "take it away first, or change the table by hand and run `schemactl migrate baseline`",
    )


def made_again(database: SqliteDatabase, table: str) -> list[str]:
    """Return the statements that made the indexes and triggers of a table."""
    found = database.connection.execute(_MADE_FOR, [table]).fetchall()
    return [sql for kind, sql in found if kind in ("index", "trigger")]


def unique_indexes(database: SqliteDatabase, step: DropUnique) -> list[str]:
    """Return the names of the indexes that were made to keep a column unique."""
    return [row[0] for row in database.connection.execute(_UNIQUE_INDEXES, [step.table, step.column]).fetchall()]


def indexes(database: SqliteDatabase, step: DropColumn) -> list[str]:
    """Return the names of the indexes that somebody has made and that have a column in them."""
    return [row[0] for row in database.connection.execute(_INDEXES, [step.table, step.column.name]).fetchall()]

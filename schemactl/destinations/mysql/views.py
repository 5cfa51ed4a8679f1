"""Write the statements that drop and re-create the views on columns of MySQL's tables."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from schemactl.destinations.mysql.session import MySqlSession, text_of
from schemactl.migration.records import ViewScript
from schemactl.schema.quoting import quote

_VIEWS: Final = "select table_schema, table_name, view_definition from information_schema.views order by 1, 2"
_GRANTS: Final = """
    select grantee, privilege_type, is_grantable from information_schema.table_privileges
    where table_schema = %s and table_name = %s order by 1, 2
"""
_CREATE: Final = re.compile(r"^CREATE (?=ALGORITHM|DEFINER|SQL|VIEW)", re.IGNORECASE)


def view_scripts(session: MySqlSession, dataset: str, columns: Collection[tuple[str, str]]) -> tuple[ViewScript, ...]:
    """Return the views that read columns, directly or by other views, in the order in which they are created.

    MySQL writes the definitions of views with all names quoted and complete, and keeps no list of the tables that they
    read.

    Args:
        session: of the server.
        dataset: of the tables.
        columns: pairs of a table and a column.
    """
    definitions = {(schema, name): text_of(text) for schema, name, text in session.query(_VIEWS)}
    readers = {
        view: None
        for view, text in definitions.items()
        if any(_qualified(dataset, table) in text and f".{quote(column, '`')}" in text for table, column in columns)
    }
    ordered: list[tuple[str, str]] = []
    while readers:
        ordered = [view for view in ordered if view not in readers] + list(readers)
        readers = {
            view: None for view, text in definitions.items() if any(_qualified(*reader) in text for reader in readers)
        }
    return tuple(
        ViewScript(".".join(view), f"DROP VIEW {_qualified(*view)}", tuple(_create(session, view))) for view in ordered
    )


def _qualified(schema: str, name: str) -> str:
    return f"{quote(schema, '`')}.{quote(name, '`')}"


def _create(session: MySqlSession, view: tuple[str, str]) -> Iterator[str]:
    """Yield the statements that create a view, with its definer, and grant its privileges."""
    qualified = _qualified(*view)
    # With ANSI_QUOTES MySQL would write names in double quotes, which other clients take for texts.
    ((mode,),) = session.query("SELECT @@sql_mode")
    session.query("SET sql_mode = ''")
    try:
        ((_, definition, *_),) = session.query(f"SHOW CREATE VIEW {qualified}")
    finally:
        session.query("SET sql_mode = %s", mode)
    head, _, query = text_of(definition).partition(" VIEW ")
    body = query[query.upper().index(" AS ") :]
    yield f"{_CREATE.sub('CREATE OR REPLACE ', head)} VIEW {qualified}{body}"
    for grantee, privilege, is_grantable in session.query(_GRANTS, *view):
        option = " WITH GRANT OPTION" if is_grantable == "YES" else ""
        yield f"GRANT {privilege} ON {qualified} TO {grantee}{option}"

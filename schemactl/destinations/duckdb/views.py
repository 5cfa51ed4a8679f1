"""Write the statements that drop and re-create the views of a DuckDB file that read columns of a table.

DuckDB changes a column below its views, whose columns then have their old types in the catalog.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from schemactl.destinations.duckdb.session import DuckDbSession
from schemactl.migration.records import ViewScript
from schemactl.schema.quoting import literal, qualify, quote

if TYPE_CHECKING:
    from sqlglot import Token

_VIEWS: Final = """
SELECT schema_name, view_name, sql, comment FROM duckdb_views()
WHERE NOT internal AND NOT temporary AND database_name = current_database() ORDER BY view_oid
"""
_COLUMN_COMMENTS: Final = """
SELECT schema_name, table_name, column_name, comment FROM duckdb_columns()
WHERE database_name = current_database() AND comment IS NOT NULL ORDER BY column_index
"""

_Name = tuple[str, str]
"""A schema and a view or table in it, in lower case."""


def view_scripts(database: DuckDbSession, dataset: str, columns: Collection[tuple[str, str]]) -> tuple[ViewScript, ...]:
    """Return the views that read columns, directly or by other views, in the order in which they are created.

    DuckDB keeps no list of the columns that a view reads: a view counts if it names a table with its column, or all
    columns of the table.

    Args:
        database: the open file.
        dataset: of the tables.
        columns: pairs of a table and a column.
    """
    definitions = {(schema, name): (sql, comment) for schema, name, sql, comment in database.query(_VIEWS)}
    words = {
        view: frozenset(token.text.lower() for token in _tokens(_body(sql))) for view, (sql, _) in definitions.items()
    }
    names = {_folded(view): view for view in definitions}
    readers: dict[_Name, None] = {}
    for view, view_words in words.items():
        if any(
            _names(view_words, view, (dataset, table)) and (column.lower() in view_words or "*" in view_words)
            for table, column in columns
        ):
            readers[_folded(view)] = None
    more = dict(readers)
    while more:
        more = {
            _folded(view): None
            for view in definitions
            if _folded(view) not in readers and any(_names(words[view], view, names[reader]) for reader in readers)
        }
        readers |= more
    ordered = _in_order([names[reader] for reader in readers], words)
    comments = database.query(_COLUMN_COMMENTS)
    return tuple(
        _script(view, *definitions[view], [(column, text) for *owner, column, text in comments if tuple(owner) == view])
        for view in ordered
    )


def _folded(name: tuple[str, str]) -> _Name:
    return name[0].lower(), name[1].lower()


def _tokens(sql: str) -> list[Token]:
    from sqlglot import Dialect

    return Dialect.get_or_raise("duckdb").tokenize(sql)


def _names(words: frozenset[str], view: tuple[str, str], relation: tuple[str, str]) -> bool:
    """Return whether the words of a view name a table or another view, with its schema if that is another one."""
    schema, name = _folded(relation)
    return name in words and (schema in words or schema in (view[0].lower(), "main"))


def _in_order(views: Sequence[tuple[str, str]], words: dict[tuple[str, str], frozenset[str]]) -> list[tuple[str, str]]:
    """Return views in an order in which each follows the views that it reads."""
    ordered: list[tuple[str, str]] = []
    remaining = list(views)
    while remaining:
        free = [
            view
            for view in remaining
            if not any(reader != view and _names(words[view], view, reader) for reader in remaining)
        ]
        ordered += free or remaining  # names of columns may look like a ring of views
        remaining = [view for view in remaining if view not in ordered]
    return ordered


def _script(
    view: tuple[str, str], sql: str, comment: str | None, column_comments: Sequence[tuple[str, str]]
) -> ViewScript:
    qualified = qualify(*view)
    head = sql[: len(sql) - len(_body_with_end(sql))].rstrip()[: -len("AS")].rstrip()
    columns = f" {head[head.index('(') :]}" if head.endswith(")") else ""
    statements = [f"CREATE VIEW {qualified}{columns} AS {_body(sql)}"]
    if comment is not None:
        statements.append(f"COMMENT ON VIEW {qualified} IS {literal(comment)}")
    statements += (
        f"COMMENT ON COLUMN {qualified}.{quote(column)} IS {literal(text)}" for column, text in column_comments
    )
    return ViewScript(".".join(view), f"DROP VIEW {qualified}", tuple(statements))


def _body(sql: str) -> str:
    """Return the query of a CREATE VIEW."""
    return _body_with_end(sql).strip().removesuffix(";").strip()


def _body_with_end(sql: str) -> str:
    depth = 0
    for token in _tokens(sql):
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0 and token.text.upper() == "AS":
            return sql[token.end + 1 :]
    return ""

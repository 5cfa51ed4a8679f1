"""Statements that make and change datasets, tables and columns, written by sqlglot from trees of its expressions.

What loads make is as dlt makes it (docs/dlt.md §9.2). Which type a column gets, and what a database can do, stands in
the destination's module; here it is only spelled. A dialect is sqlglot's name for a database's SQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._session import literal, qualify, quote
from schemactl.schema.structure import description_of
from schemactl.schema.types import Column

if TYPE_CHECKING:
    from sqlglot import exp

ColumnType = Callable[[Column], str]
"""Returns a destination's type for a column, as its catalog writes it."""

_COMMENTS_APART: Final = frozenset(("duckdb", "postgres"))
"""Dialects in which a description is a statement of its own."""

_COMMENTS_INSIDE: Final = frozenset(("mysql",))
"""Dialects in which it stands in a definition."""

_ANY_NAME: Final = "\0"
"""Stands for a column's name; no name holds it."""


def create_dataset(dataset: str, dialect: str) -> str:
    """Return the statement that makes a dataset where it is not there yet."""
    from sqlglot import exp

    return _sql(exp.Create(this=exp.Table(db=_name(dataset)), kind="SCHEMA", exists=True), dialect)


def create_table(  # noqa: PLR0913 - callers name what is rarely asked for
    dataset: str,
    table: str,
    columns: Sequence[Column],
    column_type: ColumnType,
    dialect: str,
    *,
    is_unique: bool = True,
    primary_key: Sequence[str] = (),
    description: str | None = None,
) -> str:
    """Return the statement that makes a table.

    Args:
        dataset: where it will be.
        table: its name.
        columns: complete ones, in their order.
        column_type: of the destination.
        dialect: sqlglot's name for the destination's SQL.
        is_unique: whether the hint ``unique`` becomes a constraint; dlt does so on PostgreSQL, not on DuckDB.
        primary_key: names of the columns that are the primary key; none for a table without one.
        description: of the table; see ``comments`` for dialects that state it apart.
    """
    from sqlglot import exp

    definitions = [_definition(column, column_type, is_unique, dialect) for column in columns]
    if primary_key:
        # As text: sqlglot would move the key of one column into that column's definition for SQLite.
        definitions.append(exp.Var(this=_sql(_primary_key(primary_key), dialect)))
    target = exp.Schema(this=_table(dataset, table), expressions=definitions)
    stated = description if description and dialect in _COMMENTS_INSIDE else None
    return _sql(exp.Create(this=target, kind="TABLE"), dialect) + _comment(stated, dialect, is_table=True)


def comments(
    dataset: str, table: str, description: str | None, columns: Iterable[Column], dialect: str
) -> tuple[str, ...]:
    """Return the statements that describe a table and columns that were made, for dialects that state it apart.

    Args:
        dataset: that holds the table.
        table: its name.
        description: of the table; None where it has none, or keeps its own.
        columns: that were made.
        dialect: sqlglot's name for the destination's SQL.
    """
    if dialect not in _COMMENTS_APART:
        return ()
    texts = {"": description, **{quote(each.name): description_of(each) for each in columns}}
    return tuple(comment_on(qualify(dataset, table), column, text) for column, text in texts.items() if text)


def comment_on(table: str, column: str, text: str | None) -> str:
    """Return the statement that describes a column, or its table.

    Args:
        table: its name, quoted.
        column: its name, quoted; empty for the table.
        text: the description; None for none.
    """
    what = f"COLUMN {table}.{column}" if column else f"TABLE {table}"
    return f"COMMENT ON {what} IS {'NULL' if text is None else literal(text)}"


def _comment(text: str | None, dialect: str, *, is_table: bool = False) -> str:
    """Return the end of a definition that describes it."""
    if text is None or dialect not in _COMMENTS_INSIDE:
        return ""
    return f" COMMENT {'= ' if is_table else ''}{literal(cut_comment(text, is_table))}"


def cut_comment(text: str, is_table: bool) -> str:
    """Return as much of a description as MySQL keeps: its catalog is in characters of three bytes at most."""
    return re.sub("[^\0-\uffff]", "?", text)[: 2048 if is_table else 1024]


def drop_table(dataset: str, table: str, dialect: str) -> str:
    """Return the statement that drops a table."""
    from sqlglot import exp

    return _sql(exp.Drop(tables=[_table(dataset, table)], kind="TABLE"), dialect)


def rename_table(dataset: str, table: str, name: str, dialect: str) -> str:
    """Return the statement that gives a table another name in the same dataset."""
    from sqlglot import exp

    return _alter(dataset, table, exp.AlterRename(this=exp.Table(this=_name(name))), dialect)


def add_column(
    dataset: str, table: str, column: Column, column_type: ColumnType, dialect: str, *, is_unique: bool = True
) -> str:
    """Return the statement that adds a column to a table; the arguments are as in ``create_table``."""
    from sqlglot import exp

    definition = exp.ColumnDef(this=_definition(column, column_type, is_unique, dialect))
    return _alter(dataset, table, definition, dialect)


def drop_column(dataset: str, table: str, column: str, dialect: str) -> str:
    """Return the statement that drops a column."""
    from sqlglot import exp

    return _alter(dataset, table, exp.Drop(tables=[exp.Column(this=_name(column))], kind="COLUMN"), dialect)


def rename_column(dataset: str, table: str, column: str, name: str, dialect: str) -> str:
    """Return the statement that gives a column another name."""
    from sqlglot import exp

    return _alter(dataset, table, exp.RenameColumn(this=_name(column), to=_name(name), exists=False), dialect)


def set_not_null(dataset: str, table: str, column: str, dialect: str) -> str:
    """Return the statement that forbids nulls in a column."""
    from sqlglot import exp

    # `allow_null=False`, as sqlglot reads it, gives the same text and a warning: it takes it for DROP DEFAULT.
    return _alter(dataset, table, exp.AlterColumn(this=_name(column), drop=False, allow_null=True), dialect)


def drop_not_null(dataset: str, table: str, column: str, dialect: str) -> str:
    """Return the statement that allows nulls in a column."""
    from sqlglot import exp

    return _alter(dataset, table, exp.AlterColumn(this=_name(column), drop=True, allow_null=True), dialect)


def add_unique(dataset: str, table: str, column: str, dialect: str) -> str:
    """Return the statement that makes a column unique; the database names the constraint."""
    from sqlglot import exp

    unique = exp.UniqueColumnConstraint(this=exp.Schema(expressions=[_name(column)]))
    return _alter(dataset, table, exp.AddConstraint(expressions=[unique]), dialect)


def add_primary_key(dataset: str, table: str, columns: Iterable[str], dialect: str) -> str:
    """Return the statement that gives a table a primary key; the database names the constraint."""
    from sqlglot import exp

    return _alter(dataset, table, exp.AddConstraint(expressions=[_primary_key(columns)]), dialect)


def create_unique_index(dataset: str, index: str, table: str, column: str, dialect: str) -> str:
    """Return the statement that makes an index of a dataset which keeps a column unique."""
    from sqlglot import exp

    made = exp.Index(
        this=_table(dataset, index),
        table=exp.Table(this=_name(table)),
        params=exp.IndexParameters(columns=[_name(column)]),
    )
    return _sql(exp.Create(this=made, kind="INDEX", unique=True), dialect)


def drop_index(dataset: str, index: str, dialect: str) -> str:
    """Return the statement that drops an index where it is there."""
    from sqlglot import exp

    return _sql(exp.Drop(tables=[_table(dataset, index)], kind="INDEX", exists=True), dialect)


def alter_table(dataset: str, table: str, action: str, dialect: str) -> str:
    """Return ``ALTER TABLE`` with an action that is written already, names in it quoted: conversions of values."""
    from sqlglot import exp

    return _alter(dataset, table, exp.Var(this=action), dialect)


def _alter(dataset: str, table: str, action: exp.Expression, dialect: str) -> str:
    from sqlglot import exp

    return _sql(exp.Alter(this=_table(dataset, table), kind="TABLE", actions=[action]), dialect)


def _primary_key(columns: Iterable[str]) -> exp.PrimaryKey:
    from sqlglot import exp

    return exp.PrimaryKey(expressions=[_name(column) for column in columns])


def _definition(column: Column, column_type: ColumnType, is_unique: bool, dialect: str) -> exp.Var:
    from sqlglot import exp

    unique = is_unique and bool(column.properties.get("unique"))
    shape = _definition_shape(column_type(column), unique, column.nullable, dialect)
    mark = shape[0]  # which quotes names in this dialect
    name = mark + column.name.replace(mark, mark * 2) + mark
    definition = shape.replace(f"{mark}{_ANY_NAME}{mark}", name, 1)
    return exp.Var(this=definition + _comment(description_of(column), dialect))


@lru_cache(maxsize=4096)
def _definition_shape(kind: str, is_unique: bool, is_nullable: bool, dialect: str) -> str:
    """Return the definition of a column of any name: thousands of columns have few shapes."""
    from sqlglot import exp

    constraints: list[Any] = [exp.UniqueColumnConstraint()] if is_unique else []
    constraints += [] if is_nullable else [exp.NotNullColumnConstraint()]
    made = exp.ColumnDef(
        this=_name(_ANY_NAME),
        # The type is the destination's own word; sqlglot would spell it as another dialect's synonym.
        kind=exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=kind),
        constraints=[exp.ColumnConstraint(kind=each) for each in constraints],
    )
    return _sql(made, dialect)


def _name(name: str) -> exp.Identifier:
    from sqlglot import exp

    return exp.Identifier(this=name, quoted=True)


def _table(dataset: str, name: str) -> exp.Table:
    from sqlglot import exp

    return exp.Table(this=_name(name), db=_name(dataset))


def _sql(statement: Any, dialect: str) -> str:
    from sqlglot import ErrorLevel
    from sqlglot.dialects.dialect import Dialect

    # Nobody else has the tree: to copy it would take as long as to write it.
    written: str = Dialect.get_or_raise(dialect).generate(
        statement, copy=False, identify=True, unsupported_level=ErrorLevel.RAISE
    )
    return written

"""Statements that make datasets, tables and columns as dlt makes them (dlt.md §9.2), written by sqlglot.

Which type a column gets, and what a database can do, stands in the destination's module; here it is only spelt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from schemactl.schema.types import Column

if TYPE_CHECKING:
    from sqlglot import exp

ColumnType = Callable[[Column], str]
"""Returns a destination's type for a column, as its catalogue writes it."""


def create_dataset(dataset: str, dialect: str) -> str:
    """Return the statement that makes a dataset where it is not there yet."""
    from sqlglot import exp

    name = exp.Table(db=exp.to_identifier(dataset, quoted=True))
    return _sql(exp.Create(this=name, kind="SCHEMA", exists=True), dialect)


def create_table(
    dataset: str,
    table: str,
    columns: Sequence[Column],
    column_type: ColumnType,
    dialect: str,
    *,
    is_unique: bool = True,
) -> str:
    """Return the statement that makes a table.

    Args:
        dataset: where it will be.
        table: its name.
        columns: complete ones, in their order.
        column_type: of the destination.
        dialect: sqlglot's name for the destination's SQL.
        is_unique: whether the hint ``unique`` becomes a constraint; dlt does so on PostgreSQL, not on DuckDB.
    """
    from sqlglot import exp

    definitions = [_definition(column, column_type, is_unique) for column in columns]
    target = exp.Schema(this=exp.table_(table, dataset, quoted=True), expressions=definitions)
    return _sql(exp.Create(this=target, kind="TABLE"), dialect)


def add_column(
    dataset: str, table: str, column: Column, column_type: ColumnType, dialect: str, *, is_unique: bool = True
) -> str:
    """Return the statement that adds a column to a table; the arguments are as in ``create_table``."""
    from sqlglot import exp

    target = exp.table_(table, dataset, quoted=True)
    definition = _definition(column, column_type, is_unique)
    return _sql(exp.Alter(this=target, kind="TABLE", actions=[definition]), dialect)


def _definition(column: Column, column_type: ColumnType, is_unique: bool) -> exp.ColumnDef:
    from sqlglot import exp

    # The type is the destination's own word; sqlglot would spell it as another dialect's synonym.
    kind = exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=column_type(column))
    constraints: list[Any] = []
    if is_unique and column.properties.get("unique"):
        constraints.append(exp.UniqueColumnConstraint())
    if not column.nullable:
        constraints.append(exp.NotNullColumnConstraint())
    return exp.ColumnDef(
        this=exp.to_identifier(column.name, quoted=True),
        kind=kind,
        constraints=[exp.ColumnConstraint(kind=each) for each in constraints],
    )


def _sql(statement: Any, dialect: str) -> str:
    written: str = statement.sql(dialect, identify=True)
    return written

"""The statements of a step for Spark SQL.

What makes, renames or drops a table, or adds a column, is run as it stands here. A copy is shown as people read it: its
values are converted as dlt converts them, which no cast of Spark's does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from schemactl.destinations._migration import ddl
from schemactl.destinations._migration.composing import Written, composed
from schemactl.destinations._stated_type import stated_type
from schemactl.destinations.spark.address import NAMES, namespace_of
from schemactl.destinations.spark.conversion import filled_from
from schemactl.destinations.spark.tables import COPY
from schemactl.destinations.spark.types import spark_type
from schemactl.engine.sql import literal, quoted
from schemactl.errors import InputError
from schemactl.migration.effects import run
from schemactl.migration.steps import (
    AddColumn,
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    CreateTable,
    DescribeTable,
    DropColumn,
    DropNotNull,
    DropPrimaryKey,
    DropTable,
    DropUnique,
    FillColumn,
    OnlineStep,
    RenameColumn,
    RenameTable,
    SetNotNull,
    Step,
    Taken,
    table_of,
)
from schemactl.schema.nested_types import structure_in, write_type
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, DataType, Table

_MOST_DIGITS = 38


def render(step: Step, table: Table | None, dataset: str) -> tuple[str, ...]:
    """Return the statements of a step; see ``destinations.Migrator``. ``dataset`` is ``CATALOG.SCHEMA``."""
    match step:
        case CreateTable():
            return (_create(step.table, step.table.name, dataset),)
        case DropTable():
            return (f"DROP TABLE {_table(dataset, step.table.name)}",)
        case RenameTable():
            return (_rename(dataset, step.before, step.after),)
        case DescribeTable():
            place = _table(dataset, step.table)
            return tuple(
                f"ALTER TABLE {place} ALTER COLUMN {_name(column)} COMMENT {literal(text or '')}"
                if column
                else f"COMMENT ON TABLE {place} IS {literal(text or '')}"
                for column, text in ddl.checked_texts(step)
            )
        case AddColumn():
            return (f"ALTER TABLE {_table(dataset, step.table)} ADD COLUMNS ({_definition(step.column)})",)
        case ChangeType() if is_same_type(step.before, step.after):
            return ()
        case DropColumn() | RenameColumn() | ChangeType() | Backfill() | FillColumn():
            return copy_statements((step,), table, dataset)
        case SetNotNull() | DropNotNull() | AddUnique() | DropUnique() | AddPrimaryKey() | DropPrimaryKey():
            return ()  # a catalog says nothing of nulls, and has no keys: no plan with such a step can be applied
        case OnlineStep():
            raise InputError("this destination does no steps of `--online`")
        case _:
            assert_never(step)


def is_same_type(before: Column, after: Column) -> bool:
    """Return whether a column's type is another one in the schema alone."""
    return before.data_type is after.data_type and column_type(before) == column_type(after)


def column_type(column: Column) -> str:
    """Return a column's type, checked.

    Raises:
        InputError: it is no type, or Spark has no such type.
    """
    stated = str(column.properties.get(DATABASE_TYPE, ""))
    structure = structure_in(stated)
    if structure is not None and write_type(structure, has_comments=False) == stated:
        return stated  # whose names may hold what no other type does
    if stated and stated != "void":  # which sqlglot does not know
        stated_type(column, "spark")
    return ddl.checked_type(column, _spark_type)


def _spark_type(column: Column) -> str:
    digits = column.properties.get("precision") or 0
    if column.data_type in (DataType.DECIMAL, DataType.WEI) and digits > _MOST_DIGITS:
        raise ValueError(f"Spark has no decimals of {digits} digits: `{column.name}`")
    return spark_type(column)


def _name(name: str) -> str:
    ddl.quoted(name, NAMES)
    return quoted(name)


def _table(dataset: str, name: str) -> str:
    _name(name)
    return namespace_of(dataset).table(name)


def _definition(column: Column) -> str:
    return f"{_name(column.name)} {column_type(column)}"


def _create(table: Table, name: str, dataset: str) -> str:
    listed = ", ".join(_definition(column) for column in table.columns.values())
    return f"CREATE TABLE {_table(dataset, name)} ({listed}){namespace_of(dataset).using}"


def _rename(dataset: str, before: str, after: str) -> str:
    _name(after)
    return f"ALTER TABLE {_table(dataset, before)} RENAME TO {namespace_of(dataset).new_name(after)}"


def copy_statements(steps: Sequence[Step], table: Table | None, dataset: str) -> tuple[str, ...]:
    """Return what one copy of a table does for steps about its columns.

    Args:
        steps: those that copy the table, and new columns between them.
        table: as the first of them finds it.
        dataset: ``CATALOG.SCHEMA``.

    Raises:
        InputError: the table is not there; a name, a type or a value cannot be written.
    """
    name = table_of(steps[0])
    if table is None:
        raise InputError(f"there is no table `{name}` to copy")
    after = {name: table}
    run(after, steps)
    values = composed(steps, table, _name, _written)
    listed = ", ".join(_name(column) for column, _ in values)
    copy, old = _table(dataset, f"{COPY}{name}"), _table(dataset, name)
    return (
        _create(after[name], f"{COPY}{name}", dataset),
        f"INSERT INTO {copy} ({listed}) SELECT {', '.join(value for _, value in values)} FROM {old}",
        f"DROP TABLE {old}",
        _rename(dataset, f"{COPY}{name}", name),
    )


def _written(step: Written, values: Mapping[str, str]) -> str:
    match step:
        case AddColumn():
            return f"CAST(NULL AS {column_type(step.column)})"
        case ChangeType():
            return f"CAST({values[step.before.name]} AS {column_type(step.after)})"
        case FillColumn():
            return f"coalesce({values[step.column.name]}, {_constant(step)})"
        case Backfill():
            return _backfilled(step, values)
        case _:
            assert_never(step)


def _constant(step: FillColumn) -> str:
    return f"CAST({literal(str(step.value))} AS {column_type(step.column)})"


def _backfilled(step: Backfill, values: Mapping[str, str]) -> str:
    source, target = values[step.source.name], values[step.target.name]
    if step.taken is Taken.FITTING:
        value = f"TRY_CAST({source} AS {column_type(step.target)})"
        return f"CASE WHEN {source} IS NOT NULL THEN {value} ELSE {target} END"
    filled = values[filled_from(step.source.name, list(values), step.table)]
    return f"CASE WHEN {source} IS NOT NULL AND {filled} IS NULL THEN {source} ELSE {target} END"

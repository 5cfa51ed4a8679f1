"""Steps of migrations of tables on files, as people read SQL: nothing runs these statements, they say what is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, assert_never

from schemactl.destinations._ddl import comment_on
from schemactl.destinations._migration.composing import Written, composed
from schemactl.destinations._migration.constants import constant
from schemactl.destinations._migration.ddl import checked_texts, quoted
from schemactl.errors import InputError
from schemactl.migration.abilities import Abilities, Way, way_of
from schemactl.migration.effects import run
from schemactl.migration.steps import (
    AddColumn,
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    ColumnStep,
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
)
from schemactl.schema.structure import DATABASE_TYPE, NameLimits
from schemactl.schema.types import Column, DataType, Table

REWRITES: Final = "-- rewrites the files"
"""What follows a statement that writes all rows anew."""


def render(step: Step, table: Table | None, dataset: str, abilities: Abilities) -> tuple[str, ...]:  # noqa: ARG001
    """Return a step as one statement with dlt's types; see ``destinations.Migrator``.

    Args:
        step: what is done.
        table: not looked at: all that is shown stands in the step.
        dataset: not shown: a session has one only.
        abilities: of the destination.

    Raises:
        InputError: a name, a type or a value cannot be written.
    """
    if isinstance(step, DescribeTable):
        names = abilities.names
        return tuple(
            comment_on(quoted(step.table, names), column and quoted(column, names), text)
            for column, text in checked_texts(step)
        )
    statement = _statement(step, abilities.names)
    is_rewritten = way_of(step, abilities) in (Way.REWRITE, Way.COPY)
    return (f"{statement} {REWRITES}" if is_rewritten else statement,)


def render_together(steps: Sequence[Step], table: Table, names: NameLimits) -> tuple[str, ...]:
    """Return what writing a table's rows anew once does for several steps, as one statement.

    Args:
        steps: those that write all rows anew, and new columns between them.
        table: as the first of them finds it.
        names: what the destination allows of names.

    Raises:
        InputError: a name, a type or a value cannot be written.
    """
    after = {table.name: table}
    run(after, steps)
    columns = after[table.name].columns
    values = composed(steps, table, lambda name: quoted(name, names), _written)
    listed = ", ".join(_kept_definition(columns[name], names) for name, _ in values)
    place = quoted(table.name, names)
    rows = f"SELECT {', '.join(value for _, value in values)} FROM {place}"
    return (f"CREATE OR REPLACE TABLE {place} ({listed}) AS {rows} {REWRITES}",)


def _kept_definition(column: Column, names: NameLimits) -> str:
    """Return a column with its type; one that only a database knows as the database calls it."""
    if DATABASE_TYPE not in column.properties:
        return _definition(column, names)
    null = "" if column.nullable else " NOT NULL"
    return f"{quoted(column.name, names)} {column.properties[DATABASE_TYPE]}{null}"


def _written(step: Written, values: Mapping[str, str]) -> str:
    match step:
        case AddColumn():
            return f"CAST(NULL AS {type_words(step.column)})"
        case ChangeType():
            return f"CAST({values[step.before.name]} AS {type_words(step.after)})"
        case FillColumn():
            return f"coalesce({values[step.column.name]}, {_constant(step)})"
        case Backfill():
            source, target = values[step.source.name], values[step.target.name]
            if step.taken is Taken.UNFIT:
                return f"CASE WHEN {source} IS NOT NULL /* and does not fit */ THEN {source} ELSE {target} END"
            value = f"CAST({source} AS {type_words(step.target)})"
            return f"CASE WHEN {source} IS NOT NULL /* and fits */ THEN {value} ELSE {target} END"
        case _:
            assert_never(step)


def _constant(step: FillColumn) -> str:
    return constant(step.value, step.column, type_words, lambda digits: f"unhex({digits})")


def type_words(column: Column) -> str:
    """Return a column's type in dlt's words.

    >>> type_words(Column("total", {"data_type": "decimal", "precision": 10, "scale": 2}))
    'decimal(10, 2)'

    Raises:
        InputError: it has none, or one that only a database knows, or its sizes are no numbers.
    """
    properties = column.properties
    if DATABASE_TYPE in properties or column.data_type is None:
        raise InputError(f"column `{column.name}` has no type of dlt's")
    sizes = [properties[name] for name in ("precision", "scale") if properties.get(name) is not None]
    if any(isinstance(size, bool) or not isinstance(size, int) for size in sizes):
        raise InputError(f"a size of column `{column.name}` is no integer: {sizes!r}")
    listed = f"({', '.join(map(str, sizes))})" if sizes else ""
    is_naive = column.data_type is DataType.TIMESTAMP and properties.get("timezone") is False
    return f"{column.data_type}{listed}{' without time zone' if is_naive else ''}"


def _statement(step: CreateTable | DropTable | RenameTable | ColumnStep, names: NameLimits) -> str:
    match step:
        case CreateTable() | DropTable() | RenameTable():
            return _of_table(step, names)
        case Backfill() | FillColumn():
            return f"UPDATE {quoted(step.table, names)} SET {_assignment(step, names)}"
        case AddColumn() | DropColumn() | RenameColumn() | ChangeType():
            return f"ALTER TABLE {quoted(step.table, names)} {_of_column(step, names)}"
        case SetNotNull() | DropNotNull() | AddUnique() | DropUnique() | AddPrimaryKey() | DropPrimaryKey():
            return f"ALTER TABLE {quoted(step.table, names)} {_of_constraint(step, names)}"
        case OnlineStep():
            raise InputError("this destination does no steps of `--online`")
        case _:
            assert_never(step)


def _definition(column: Column, names: NameLimits) -> str:
    return f"{quoted(column.name, names)} {type_words(column)}{'' if column.nullable else ' NOT NULL'}"


def _of_table(step: CreateTable | DropTable | RenameTable, names: NameLimits) -> str:
    match step:
        case CreateTable():
            columns = ", ".join(_definition(column, names) for column in step.table.columns.values())
            return f"CREATE TABLE {quoted(step.table.name, names)} ({columns})"
        case DropTable():
            return f"DROP TABLE {quoted(step.table.name, names)}"
        case RenameTable():
            return f"ALTER TABLE {quoted(step.before, names)} RENAME TO {quoted(step.after, names)}"
        case _:
            assert_never(step)


def _of_column(step: AddColumn | DropColumn | RenameColumn | ChangeType, names: NameLimits) -> str:
    match step:
        case AddColumn():
            return f"ADD COLUMN {_definition(step.column, names)}"
        case DropColumn():
            return f"DROP COLUMN {quoted(step.column.name, names)}"
        case RenameColumn():
            return f"RENAME COLUMN {quoted(step.before, names)} TO {quoted(step.after, names)}"
        case ChangeType():
            return f"ALTER COLUMN {quoted(step.before.name, names)} SET DATA TYPE {type_words(step.after)}"
        case _:
            assert_never(step)


def _of_constraint(
    step: SetNotNull | DropNotNull | AddUnique | DropUnique | AddPrimaryKey | DropPrimaryKey, names: NameLimits
) -> str:
    match step:
        case SetNotNull():
            return f"ALTER COLUMN {quoted(step.column.name, names)} SET NOT NULL"
        case DropNotNull():
            return f"ALTER COLUMN {quoted(step.column.name, names)} DROP NOT NULL"
        case AddUnique():
            return f"ADD UNIQUE ({quoted(step.column, names)})"
        case DropUnique():
            return f"DROP UNIQUE ({quoted(step.column, names)})"
        case AddPrimaryKey():
            return f"ADD PRIMARY KEY ({', '.join(quoted(column, names) for column in step.columns)})"
        case DropPrimaryKey():
            return "DROP PRIMARY KEY"
        case _:
            assert_never(step)


def _assignment(step: Backfill | FillColumn, names: NameLimits) -> str:
    if isinstance(step, FillColumn):
        column = quoted(step.column.name, names)
        return f"{column} = {_constant(step)} WHERE {column} IS NULL"
    source, target = (quoted(each.name, names) for each in (step.source, step.target))
    if step.taken is Taken.UNFIT:
        return f"{target} = {source} WHERE {source} IS NOT NULL /* and does not fit */"
    return f"{target} = CAST({source} AS {type_words(step.target)}) WHERE {source} IS NOT NULL /* and fits */"

"""What can be done to the tables of a destination, one type for each kind of step.

A step holds all that its statement needs, and all that is needed to undo it. Columns of the schema come with their
scalar properties (a destination may heed ``x-`` keys of its own); ``unique`` and ``primary_key`` stand only where the
destination has, or gets, such a constraint.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, assert_never

from schemactl.schema.conversions import Conversion
from schemactl.schema.types import Column, Table


class Taken(StrEnum):
    """Which values a ``Backfill`` takes over; the others stay null."""

    FITTING = "fitting"
    """Those that dlt's coercion takes over without loss, converted."""
    UNFIT = "unfit"
    """The others, as they are."""


@dataclass(frozen=True, slots=True)
class CreateTable:
    """Create a table with all its columns; constraints other than NOT NULL are steps of their own."""

    table: Table


@dataclass(frozen=True, slots=True)
class DropTable:
    """Drop a table with its rows."""

    table: Table


@dataclass(frozen=True, slots=True)
class RenameTable:
    """Give a table another name."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class AddColumn:
    """Add a column at the end; stored rows have null there."""

    table: str
    column: Column


@dataclass(frozen=True, slots=True)
class DropColumn:
    """Drop a column with its values."""

    table: str
    column: Column


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """Give a column another name."""

    table: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ChangeType:
    """Convert a column to another type, in its place and under its name.

    Attributes:
        before: the column as it is there; it may have a type that only the database knows (``x-database-type``).
        after: the column afterwards; as nullable as before.
        conversion: what becomes of the values, by dlt's coercion.
        needs_check: whether values may not survive: the step may run only where none is counted that does not.
        counts_seconds: whether numbers are seconds since 1970.
    """

    table: str
    before: Column
    after: Column
    conversion: Conversion = Conversion.WHOLE
    needs_check: bool = False
    counts_seconds: bool = False


@dataclass(frozen=True, slots=True)
class Backfill:
    """Fill a column of stored rows from another one of the same table; the source stays as it is.

    Attributes:
        conversion: what becomes of the values, by dlt's coercion.
        taken: which values are taken over.
        counts_seconds: whether numbers are seconds since 1970.
    """

    table: str
    source: Column
    target: Column
    conversion: Conversion = Conversion.WHOLE
    taken: Taken = Taken.FITTING
    counts_seconds: bool = False


@dataclass(frozen=True, slots=True)
class FillColumn:
    """Write one value into a column of all stored rows that have null there.

    Attributes:
        value: plain JSON data, of the column's type.
    """

    table: str
    column: Column
    value: Any


@dataclass(frozen=True, slots=True)
class SetNotNull:
    """Forbid nulls.

    Attributes:
        column: as it is before.
        needs_check: whether there may be nulls: the step may run only where none is counted.
    """

    table: str
    column: Column
    needs_check: bool = True


@dataclass(frozen=True, slots=True)
class DropNotNull:
    """Allow nulls.

    Attributes:
        column: as it is before.
    """

    table: str
    column: Column


@dataclass(frozen=True, slots=True)
class AddUnique:
    """Forbid that a value stands in two rows; the step may run only where none does."""

    table: str
    column: str


@dataclass(frozen=True, slots=True)
class DropUnique:
    """Drop the constraint that makes one column unique, whatever its name."""

    table: str
    column: str


@dataclass(frozen=True, slots=True)
class AddPrimaryKey:
    """Give a table a primary key; the step may run only where no row has a null there, or the values of another.

    Attributes:
        columns: their names, in their order; nulls are forbidden there before.
    """

    table: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DropPrimaryKey:
    """Drop the primary key of a table, whatever its name; its columns stay as nullable as they are.

    Attributes:
        columns: as in ``AddPrimaryKey``.
    """

    table: str
    columns: tuple[str, ...]


ColumnStep = (
    AddColumn
    | DropColumn
    | RenameColumn
    | ChangeType
    | Backfill
    | FillColumn
    | SetNotNull
    | DropNotNull
    | AddUnique
    | DropUnique
    | AddPrimaryKey
    | DropPrimaryKey
)
"""What is done to columns of a table, and to its keys."""

Step = CreateTable | DropTable | RenameTable | ColumnStep
"""Anything that is done to a destination."""


def table_of(step: Step) -> str:
    """Return the name under which the step finds its table."""
    match step:
        case CreateTable() | DropTable():
            return step.table.name
        case RenameTable():
            return step.before
        case (
            AddColumn()
            | DropColumn()
            | RenameColumn()
            | ChangeType()
            | Backfill()
            | FillColumn()
            | SetNotNull()
            | DropNotNull()
            | AddUnique()
            | DropUnique()
            | AddPrimaryKey()
            | DropPrimaryKey()
        ):
            return step.table
        case _:
            assert_never(step)


def column_of(step: Step) -> str | None:
    """Return the name under which the step leaves its column; None for a step about a whole table, or several."""
    match step:
        case CreateTable() | DropTable() | RenameTable():
            return None
        case AddPrimaryKey() | DropPrimaryKey():
            return step.columns[0] if len(step.columns) == 1 else None
        case AddColumn() | DropColumn() | FillColumn() | SetNotNull() | DropNotNull():
            return step.column.name
        case RenameColumn():
            return step.after
        case ChangeType():
            return step.after.name
        case Backfill():
            return step.target.name
        case AddUnique() | DropUnique():
            return step.column
        case _:
            assert_never(step)


def primary_key(table: Table) -> tuple[str, ...]:
    """Return the names of the columns that are hinted as a table's primary key, in their order."""
    return tuple(name for name, column in table.columns.items() if column.properties.get("primary_key"))

"""What can be done to the tables of a destination, one type for each kind of step.

A step holds all that its statement needs, and all that is needed to undo it. Columns of the schema come with their
scalar properties (a destination may heed ``x-`` keys of its own); ``unique`` and ``primary_key`` stand only where the
destination has, or gets, such a constraint.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from schemactl.schema.changes import ABSENT
from schemactl.schema.conversions import Conversion
from schemactl.schema.types import Column, Properties, Table

KEPT_PREFIX: Final = "_schemactl_old_"
"""How the name of a table begins that was dropped and is kept."""

LATER: Final[Mapping[str, bool]] = {"later": True}
"""Marks fields that steps did not always have: documents leave them out where they say nothing."""


class Taken(StrEnum):
    """Which values a ``Backfill`` takes over; the others stay null."""

    FITTING = "fitting"
    """Those that dlt's coercion takes over without loss, converted."""
    UNFIT = "unfit"
    """The others, as they are."""


@dataclass(frozen=True, slots=True)
class CreateTable:
    """Create a table with all its columns; constraints other than NOT NULL are steps of their own.

    Attributes:
        kept: the name under which a ``DropTable`` has kept it, which is undone; empty for a new table.
    """

    table: Table
    kept: str = field(default="", metadata=LATER)


@dataclass(frozen=True, slots=True)
class DropTable:
    """Drop a table with its rows.

    Attributes:
        kept: the name under which it is kept until ``migrate clean``; empty where it is gone.
    """

    table: Table
    kept: str = field(default="", metadata=LATER)


@dataclass(frozen=True, slots=True)
class RenameTable:
    """Give a table another name."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class DescribeTable:
    """Set the descriptions of a table and of columns of it.

    Attributes:
        before: the texts as they are there, by column, the table's own under the empty name; None for none.
        after: the texts that are set, of the same columns.
    """

    table: str
    before: Properties
    after: Properties


@dataclass(frozen=True, slots=True)
class AddColumn:
    """Add a column at the end.

    Attributes:
        value: plain JSON data that stored rows have there, by the catalog alone; ``ABSENT`` for null.
    """

    table: str
    column: Column
    value: Any = ABSENT


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
        in_batches: whether a few rows at a time are filled, each time in a transaction of their own.
    """

    table: str
    source: Column
    target: Column
    conversion: Conversion = Conversion.WHOLE
    taken: Taken = Taken.FITTING
    counts_seconds: bool = False
    in_batches: bool = field(default=False, metadata=LATER)


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
        is_prepared: whether a check has proven before that there are none.
    """

    table: str
    column: Column
    needs_check: bool = True
    is_prepared: bool = field(default=False, metadata=LATER)


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
    """Forbid that a value stands in two rows; the step may run only where none does.

    Attributes:
        is_prepared: whether its index was built before.
    """

    table: str
    column: str
    is_prepared: bool = field(default=False, metadata=LATER)


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
        is_prepared: as in ``AddUnique``.
    """

    table: str
    columns: tuple[str, ...]
    is_prepared: bool = field(default=False, metadata=LATER)


@dataclass(frozen=True, slots=True)
class DropPrimaryKey:
    """Drop the primary key of a table, whatever its name; its columns stay as nullable as they are."""

    table: str
    columns: tuple[str, ...]


class OnlineStep:
    """A step that only plans have in which others read and write meanwhile (``--online``)."""

    __slots__ = ()


class Phase(StrEnum):
    """A part of a step that is done ahead of it, or taken back."""

    ADD_CHECK = "add check"
    """From now on rows that are written are checked for what the step forbids."""
    VALIDATE_CHECK = "validate check"
    """Stored rows are looked at, too."""
    DROP_CHECK = "drop check"
    BUILD_INDEX = "build index"
    """The index of a key is built; no transaction can hold that."""
    DROP_INDEX = "drop index"
    START_SYNC = "start sync"
    """From now on rows that are written are filled as the step fills stored ones."""
    STOP_SYNC = "stop sync"


@dataclass(frozen=True, slots=True)
class Prepare(OnlineStep):
    """Do a part of a later step ahead of it, so that this has nothing to do that others wait for.

    Attributes:
        step: the later one. Of a ``Backfill`` it is also checked that it has left out no value.
    """

    step: Backfill | SetNotNull | AddUnique | AddPrimaryKey
    phase: Phase

    @property
    def subject(self) -> Backfill | SetNotNull | AddUnique | AddPrimaryKey:
        """The step that it is about."""
        return self.step


@dataclass(frozen=True, slots=True)
class SwapColumns(OnlineStep):
    """Give a column that was kept in step with another one that one's name; the other is kept under a new name.

    Attributes:
        backfill: what has filled the column.
        kept: the new name of the other column, which may hold nulls from then on.
        is_required: whether the column takes no nulls afterwards, which a check has proven.
        is_unique: whether its values stand in one row only; the index was built before.
        is_checked: whether a check has proven that each value was taken over.
        variant: the name of the column that was kept in step with the values that do not fit; None for none.
    """

    backfill: Backfill
    kept: str
    is_required: bool = False
    is_unique: bool = False
    is_checked: bool = False
    variant: str | None = None

    @property
    def subject(self) -> Backfill:
        """The step that it is about."""
        return self.backfill


@dataclass(frozen=True, slots=True)
class RestoreColumn(OnlineStep):
    """Undo a ``SwapColumns``; values that were written since go back into the column that was kept."""

    swap: SwapColumns

    @property
    def subject(self) -> Backfill:
        """The step that it is about."""
        return self.swap.backfill


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
    | Prepare
    | SwapColumns
    | RestoreColumn
)
"""What is done to columns of a table, and to its keys."""

Step = CreateTable | DropTable | RenameTable | DescribeTable | ColumnStep
"""Anything that is done to a destination."""


@dataclass(frozen=True, slots=True)
class RewriteTable:
    """Make changes to the columns of one table by writing its rows anew once: all of them, or none.

    A plan says which of its steps are done so (``rewrites.with_rewrites``). Each of them keeps its number, its undo
    and its line in the ledger, so that some of them can be undone without the others.

    Attributes:
        table: as the first change finds it.
        changes: in their order: those of which ``Abilities.rewrites`` holds, and new columns between them.
    """

    table: Table
    changes: tuple[ColumnStep, ...]


def table_of(step: Step) -> str:
    """Return the name under which the step finds its table."""
    match step:
        case CreateTable() | DropTable():
            return step.table.name
        case RenameTable():
            return step.before
        case OnlineStep():
            return step.subject.table
        case _:
            return step.table


def kind_of(step: Step) -> str:
    """Return the kind of a step in words, such as ``change type``."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", type(step).__name__).lower()


def name_of(step: Step) -> str:
    """Return ``table.column`` of a step, or its table's name where it is about all of it, or several columns."""
    return ".".join(part for part in (table_of(step), column_of(step)) if part)


def column_of(step: Step) -> str | None:
    """Return the name under which the step leaves its column; None for a step about a whole table, or several."""
    return columns_of(step)[1]


def columns_of(step: Step) -> tuple[str | None, str | None]:
    """Return the names under which the step finds its column and leaves it; None as in ``column_of``."""
    match step:
        case CreateTable() | DropTable() | RenameTable() | DescribeTable():
            return None, None
        case AddPrimaryKey() | DropPrimaryKey():
            only = step.columns[0] if len(step.columns) == 1 else None
            return only, only
        case RenameColumn():
            return step.before, step.after
        case ChangeType():
            return step.before.name, step.after.name
        case Backfill():
            return step.source.name, step.target.name
        case AddUnique() | DropUnique():
            return step.column, step.column
        case Prepare():
            return columns_of(step.step)
        case SwapColumns() | RestoreColumn():
            source = step.subject.source.name
            return (source if isinstance(step, SwapColumns) else step.swap.kept), source
        case _:
            return step.column.name, step.column.name


def needs_count(step: Step) -> bool:
    """Return whether the data has to be looked at before the step: it runs only where nothing is counted."""
    match step:
        case ChangeType() | SetNotNull():
            return step.needs_check
        case AddUnique() | AddPrimaryKey() | RestoreColumn():
            return True
        case _:
            return False


def is_outside_transaction(step: Step) -> bool:
    """Return whether a step keeps what it does bit by bit: no transaction can take it back, it is run again."""
    match step:
        case Backfill():
            return step.in_batches
        case Prepare():
            return step.phase is Phase.BUILD_INDEX
        case _:
            return False

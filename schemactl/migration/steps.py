"""The steps that change a destination, one class for each kind.

A class owns all facts about its kind: its title, its effect on the table and on the readers of the table, its undo, its
risk, the way in which a destination runs it. A new kind is a class here, a case in ``statements.render``, and its test;
``ways.Ways`` declares how destinations run it.

A step holds all data that its statement and its undo need. Columns of the schema come with their scalar properties (a
destination may read ``x-`` keys); ``unique`` and ``primary_key`` are set only if the destination has, or gets, such a
constraint.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, ClassVar, Final, Self, assert_never

from schemactl.errors import backquoted
from schemactl.migration.table_model import (
    Columns,
    StepDoesNotFit,
    find_column,
    key_columns,
    refuse_taken,
    replace_columns,
    set_description,
    set_property,
    with_description,
    with_property,
)
from schemactl.migration.ways import RISKS, Lock, Risk, Way, Ways
from schemactl.schema.changes import ABSENT
from schemactl.schema.conversions import Conversion
from schemactl.schema.fit import fit
from schemactl.schema.reader_effects import ReaderEffect
from schemactl.schema.types import Column, DataType, Properties, Table
from schemactl.schema.wording import counted, describe_column, describe_type, show_value

KEPT_PREFIX: Final = "_schemactl_old_"
"""The prefix of the name under which a dropped table is kept."""

LATER: Final[Mapping[str, bool]] = {"later": True}
"""Marks fields that earlier versions did not have: documents omit them if they have their default."""

ADD: Final = "+"
CHANGE: Final = "~"
DROP: Final = "-"


@dataclass(frozen=True, slots=True)
class Undo:
    """The steps that undo a step.

    Attributes:
        steps: in their order; empty if there is nothing to undo, or undoing is impossible.
        is_possible: whether the undo restores the tables.
        note: why it is impossible, or the remaining differences: part of a sentence; may be empty.
    """

    steps: tuple[Step, ...] = ()
    is_possible: bool = True
    note: str = ""


class BaseStep(ABC):
    """The facts about a step. Defaults describe a step that can always run and only changes the catalog."""

    __slots__ = ()

    mark: ClassVar[str] = CHANGE
    """``+``, ``~`` or ``-``, for lists of steps."""
    loses_data: ClassVar[bool] = False
    """Whether values are lost that no check can save."""
    shows_in_catalog: ClassVar[bool] = True
    """Whether the catalog shows that the step is done; else the step can run twice without harm."""
    is_structural: ClassVar[bool] = False
    """Whether it changes names or types of columns, so that tables without it differ from the schema."""
    outdates_copies: ClassVar[bool] = False
    """Whether a table's copy in dlt's staging dataset stays different, since dlt only ever adds columns."""
    reader_effect: ClassVar[ReaderEffect] = ReaderEffect.NONE
    """The effect on queries that read ``read_columns``."""

    @property
    @abstractmethod
    def table_name(self) -> str:
        """The name under which the step finds its table."""

    @property
    def table_name_after(self) -> str:
        """The name under which the step leaves its table."""
        return self.table_name

    @property
    def column_before(self) -> str | None:
        """The name under which the step finds its column; None if it changes a whole table, or several columns."""
        return None

    @property
    def column_name(self) -> str | None:
        """The name under which the step leaves its column; None as in ``column_before``."""
        return self.column_before

    @property
    def read_columns(self) -> tuple[str | None, ...]:
        """The columns that ``reader_effect`` is about, under the names before the step; None for the whole table."""
        return (self.column_before,)

    @property
    def full_name(self) -> str:
        """The name ``table.column``, or only the table's if the step changes all of it, or several columns."""
        return ".".join(name for name in (self.table_name, self.column_name) if name)

    @property
    def kind(self) -> str:
        """The kind of the step for people, such as ``change type``."""
        return re.sub(r"(?<!^)(?=[A-Z])", " ", type(self).__name__).lower()

    @property
    @abstractmethod
    def title(self) -> str:
        """The step in a few words, names in backquotes."""

    @property
    def caution(self) -> str:
        """The condition on the stored values, part of a sentence; empty for no condition."""
        return ""

    @property
    def needs_count(self) -> bool:
        """Whether the data has to be checked before the step: it runs only if no value is counted against it."""
        return False

    @property
    def is_outside_transaction(self) -> bool:
        """Whether a step commits as it goes: no transaction can roll it back; after a failure it runs again."""
        return False

    @property
    @abstractmethod
    def undo(self) -> Undo:
        """The undo at a destination that can run all steps."""

    @abstractmethod
    def way(self, ways: Ways) -> Way:
        """Return how a destination runs the step."""

    @abstractmethod
    def change_table(self, table: Table) -> Table | None:
        """Return the table after the step; None if it is dropped.

        Raises:
            StepDoesNotFit: a column is missing, or the new name is taken.
        """

    @abstractmethod
    def with_names(self, table: str, column: str) -> Self:
        """Return the step about a table and a column of other names."""

    def undo_at(self, ways: Ways) -> Undo:
        """Return the undo at a destination; it is impossible if the destination cannot run one of its steps."""
        undo = self.undo
        if ways.copies_file and self.loses_data and not undo.is_possible:
            return replace(undo, note=f"{undo.note}, except for the copy of the file from before")
        if any(step.way(ways) is Way.NONE for step in undo.steps):
            return Undo(is_possible=False, note="the destination does not support its undo")
        return undo

    def writes_all(self, ways: Ways) -> bool:
        """Return whether the step rewrites all rows of its table."""
        return self.way(ways) in (Way.REWRITE, Way.COPY)

    def risk(self, way: Way, lock: Lock | None) -> Risk:
        """Return the risk of the step.

        A retype that may lose values is not destructive: it runs only if the data holds no such value. A step of an
        online plan that no reader or writer waits for is safe, however long it takes.
        """
        if self.loses_data:
            return Risk.LOSES_DATA
        is_online = isinstance(self, OnlineStep) or self.is_outside_transaction
        is_safe = is_online and lock is not None and not lock.writers_wait
        return Risk.SAFE if is_safe else RISKS.get(way, Risk.SAFE)

    def apply_to(self, table: Table | None) -> Table | None:
        """Return the table after the step, as ``change_table``; a missing table does not fit, unless it is created."""
        if table is None:
            raise StepDoesNotFit(f"there is no table `{self.table_name}`")
        return self.change_table(table)

    @property
    def typed_columns(self) -> tuple[Column, ...]:
        """The columns to which the step gives a type, as they are after it."""
        return ()

    # --- names that were in use before the step ---

    def creates(self, column: str) -> bool:  # noqa: ARG002 - for steps that add
        """Return whether the step adds a column; the empty name is that of the whole table."""
        return False

    @property
    def earlier_columns(self) -> Mapping[str, str]:
        """The names that columns had before the step, by the names that they have after it, if the step moves names."""
        return {}


@dataclass(frozen=True, slots=True)
class _WholeTableStep(BaseStep):
    """A step that creates or drops a table.

    Attributes:
        kept: the name under which a ``DropTable`` keeps the table until ``migrate clean``; empty if it is not kept.
    """

    table: Table
    kept: str = field(default="", metadata=LATER)

    @property
    def table_name(self) -> str:
        return self.table.name

    def with_names(self, table: str, column: str) -> Self:  # noqa: ARG002
        return replace(self, table=replace(self.table, name=table))


@dataclass(frozen=True, slots=True)
class CreateTable(_WholeTableStep):
    """Create a table with all its columns; constraints other than NOT NULL are separate steps.

    With ``kept``, it restores the table that a ``DropTable`` has kept under that name.
    """

    mark = ADD
    is_structural = True

    @property
    def title(self) -> str:
        if self.kept:
            return f"restore table `{self.table.name}` from `{self.kept}`"
        return f"create table `{self.table.name}`, {counted(len(self.table.columns), 'column')}"

    @property
    def undo(self) -> Undo:
        return Undo((DropTable(self.table),), note="with all rows that were loaded since")

    def way(self, ways: Ways) -> Way:
        return ways.create_table

    @property
    def typed_columns(self) -> tuple[Column, ...]:
        return tuple(self.table.columns.values())

    def apply_to(self, table: Table | None) -> Table:
        return self.table if table is None else self.change_table(table)

    def change_table(self, table: Table) -> Table:
        raise StepDoesNotFit(f"table `{table.name}` already exists")

    def creates(self, column: str) -> bool:  # noqa: ARG002 - any column of it
        return True


@dataclass(frozen=True, slots=True)
class DropTable(_WholeTableStep):
    """Drop a table with its rows."""

    mark = DROP
    loses_data = True
    is_structural = True
    outdates_copies = True
    reader_effect = ReaderEffect.REMOVED

    @property
    def title(self) -> str:
        ending = f" (kept as `{self.kept}` until `schemactl migrate clean`)" if self.kept else ""
        return f"drop table `{self.table.name}`{ending}"

    @property
    def undo(self) -> Undo:
        if self.kept:
            return Undo((CreateTable(self.table, self.kept),), note="until `schemactl migrate clean` drops it")
        return Undo(is_possible=False, note="its rows are lost")

    def way(self, ways: Ways) -> Way:
        return ways.drop_table

    def change_table(self, table: Table) -> None:  # noqa: ARG002
        return None


@dataclass(frozen=True, slots=True)
class RenameTable(BaseStep):
    """Give a table another name."""

    before: str
    after: str
    is_structural = True
    outdates_copies = True
    reader_effect = ReaderEffect.REMOVED

    @property
    def table_name(self) -> str:
        return self.before

    @property
    def table_name_after(self) -> str:
        return self.after

    @property
    def title(self) -> str:
        return f"rename table `{self.before}` to `{self.after}`"

    @property
    def undo(self) -> Undo:
        return Undo((RenameTable(self.after, self.before),))

    def way(self, ways: Ways) -> Way:
        return ways.rename_table

    def change_table(self, table: Table) -> Table:
        return replace(table, name=self.after)

    def with_names(self, table: str, column: str) -> Self:  # noqa: ARG002
        return replace(self, before=table)


class _InTable(BaseStep):
    """A step that changes a table, or columns of it, and keeps its name."""

    __slots__ = ()
    table: str

    @property
    def table_name(self) -> str:
        return self.table


@dataclass(frozen=True, slots=True)
class DescribeTable(_InTable):
    """Set the descriptions of a table and of some of its columns.

    Attributes:
        before: the current texts by column, the table's own under the empty name; None for no description.
        after: the new texts of the same columns.
    """

    table: str
    before: Properties
    after: Properties
    shows_in_catalog = False

    @property
    def title(self) -> str:
        columns = [column for column in self.after if column]
        described = [f"table `{self.table}`"] if "" in self.after else []
        if len(columns) == 1:
            described.append(f"column `{self.table}.{columns[0]}`")
        elif columns:
            described.append(f"{counted(len(columns), 'column')} of `{self.table}`")
        return f"describe {' and '.join(described)}"

    @property
    def undo(self) -> Undo:
        return Undo((DescribeTable(self.table, self.after, self.before),))

    def way(self, ways: Ways) -> Way:
        return ways.describe_table

    def change_table(self, table: Table) -> Table:
        columns = dict(table.columns)
        for name, text in self.after.items():
            if name:
                columns[name] = set_description(find_column(columns, name), text)
        properties = with_description(table.properties, self.after[""]) if "" in self.after else table.properties
        return replace(table, columns=columns, properties=properties)

    def with_names(self, table: str, column: str) -> Self:  # noqa: ARG002
        return replace(self, table=table)


class _ColumnsStep(_InTable):
    """A step that changes nothing of a table but its columns."""

    __slots__ = ()

    @abstractmethod
    def change_columns(self, columns: Columns) -> Columns:
        """Return the table's columns after the step; raises ``StepDoesNotFit`` as ``change_table``."""

    def change_table(self, table: Table) -> Table:
        return replace(table, columns=self.change_columns(table.columns))


@dataclass(frozen=True, slots=True)
class _OneColumnStep(_ColumnsStep):
    """A step about one column, which keeps its name."""

    table: str
    column: Column

    @property
    def column_before(self) -> str:
        return self.column.name

    def with_names(self, table: str, column: str) -> Self:
        return replace(self, table=table, column=replace(self.column, name=column))


@dataclass(frozen=True, slots=True)
class AddColumn(_OneColumnStep):
    """Add a column at the end.

    Attributes:
        value: the value of stored rows, as JSON data, set without writing rows; ``ABSENT`` for null.
    """

    value: Any = ABSENT
    mark = ADD
    is_structural = True
    reader_effect = ReaderEffect.ADDED
    read_columns = (None,)

    @property
    def title(self) -> str:
        filled = "" if self.value is ABSENT else f", {show_value(self.value)} in stored rows"
        return f"add column `{self.full_name}`, {describe_column(self.column)}{filled}"

    @property
    def undo(self) -> Undo:
        return Undo((DropColumn(self.table, self.column),), note="with all values that were loaded since")

    def way(self, ways: Ways) -> Way:
        return ways.add_column

    @property
    def typed_columns(self) -> tuple[Column, ...]:
        return (self.column,)

    def change_columns(self, columns: Columns) -> Columns:
        refuse_taken(columns, self.column.name)
        return {**columns, self.column.name: set_description(self.column, None)}  # a separate step describes it

    def creates(self, column: str) -> bool:
        return column == self.column.name


@dataclass(frozen=True, slots=True)
class DropColumn(_OneColumnStep):
    """Drop a column with its values."""

    mark = DROP
    loses_data = True
    is_structural = True
    outdates_copies = True
    reader_effect = ReaderEffect.REMOVED

    @property
    def title(self) -> str:
        return f"drop column `{self.full_name}`, {describe_column(self.column)}"

    @property
    def undo(self) -> Undo:
        return Undo(is_possible=False, note="its values are lost")

    def way(self, ways: Ways) -> Way:
        return ways.drop_column

    def change_columns(self, columns: Columns) -> Columns:
        is_key = bool(find_column(columns, self.column.name).properties.get("primary_key"))
        remaining = {name: column for name, column in columns.items() if name != self.column.name}
        # The whole key goes with a column of it.
        return set_property(remaining, key_columns(remaining), "primary_key", None) if is_key else remaining


@dataclass(frozen=True, slots=True)
class RenameColumn(_ColumnsStep):
    """Give a column another name."""

    table: str
    before: str
    after: str
    is_structural = True
    outdates_copies = True
    reader_effect = ReaderEffect.REMOVED

    @property
    def column_before(self) -> str:
        return self.before

    @property
    def column_name(self) -> str:
        return self.after

    @property
    def title(self) -> str:
        return f"rename column `{self.table}.{self.before}` to `{self.after}`"

    @property
    def undo(self) -> Undo:
        return Undo((RenameColumn(self.table, self.after, self.before),))

    def way(self, ways: Ways) -> Way:
        return ways.rename_column

    def change_columns(self, columns: Columns) -> Columns:
        refuse_taken(columns, self.after)
        return replace_columns(columns, {self.before: replace(find_column(columns, self.before), name=self.after)})

    def with_names(self, table: str, column: str) -> Self:
        return replace(self, table=table, before=column)

    @property
    def earlier_columns(self) -> Mapping[str, str]:
        return {self.after: self.before}


@dataclass(frozen=True, slots=True)
class ChangeType(_ColumnsStep):
    """Convert a column to another type, in its place and under its name.

    Attributes:
        before: the current column; it may have a type that only the database knows (``x-database-type``).
        after: the column afterwards; as nullable as before.
        conversion: how dlt's coercion converts the values.
        needs_check: whether values may not survive: the step may run only if no such value is counted.
        counts_seconds: whether numbers are seconds since 1970.
    """

    table: str
    before: Column
    after: Column
    conversion: Conversion = Conversion.WHOLE
    needs_check: bool = False
    counts_seconds: bool = False
    is_structural = True
    outdates_copies = True
    reader_effect = ReaderEffect.RETYPED

    @property
    def column_before(self) -> str:
        return self.before.name

    @property
    def column_name(self) -> str:
        return self.after.name

    @property
    def typed_columns(self) -> tuple[Column, ...]:
        return (self.after,)

    @property
    def title(self) -> str:
        before, after = describe_type(self.before.properties), describe_type(self.after.properties)
        return f"change type of `{self.full_name}`: {before} -> {after}"

    @property
    def caution(self) -> str:
        if not self.needs_check:
            return ""
        is_nested = self.before.data_type is None or self.after.data_type is None
        lost = "" if is_nested else fit(self.before, self.after, counts_seconds=self.counts_seconds).lost
        return "only if every stored value survives" + (f" ({lost})" if lost else "")

    @property
    def needs_count(self) -> bool:
        return self.needs_check

    @property
    def undo(self) -> Undo:
        # Stored values came from the earlier type, so they fit it; values that were loaded since may not.
        back = replace(self, before=self.after, after=self.before, conversion=Conversion.DEPENDS, needs_check=True)
        is_parsed = self.before.data_type is DataType.TEXT and self.after.data_type is not DataType.TEXT
        spelling = "text values return in canonical form, " if is_parsed else ""
        return Undo((back,), note=f"{spelling}unless values loaded later do not fit")

    def way(self, ways: Ways) -> Way:
        return ways.retype(self.before, self.after)

    def change_columns(self, columns: Columns) -> Columns:
        text = find_column(columns, self.before.name).properties.get("description")
        return {**columns, self.after.name: set_description(self.after, text)}

    def with_names(self, table: str, column: str) -> Self:
        before, after = replace(self.before, name=column), replace(self.after, name=column)
        return replace(self, table=table, before=before, after=after)


class Taken(StrEnum):
    """The values that a ``Backfill`` copies; the remaining rows stay null."""

    FITTING = "fitting"
    """Those that dlt's coercion converts without loss."""
    UNFIT = "unfit"
    """The values that the coercion cannot convert, unchanged."""
    NONE = "none"
    """No value: rows whose source has a value lose it in the target."""


@dataclass(frozen=True, slots=True)
class Backfill(_ColumnsStep):
    """Fill a column of stored rows from another column of the table, which does not change.

    Attributes:
        conversion: how dlt's coercion converts the values.
        taken: the values to copy.
        counts_seconds: whether numbers are seconds since 1970.
        in_batches: whether the rows are filled in batches, each in a separate transaction.
    """

    table: str
    source: Column
    target: Column
    conversion: Conversion = Conversion.WHOLE
    taken: Taken = Taken.FITTING
    counts_seconds: bool = False
    in_batches: bool = field(default=False, metadata=LATER)
    shows_in_catalog = False

    @property
    def column_before(self) -> str:
        return self.source.name

    @property
    def column_name(self) -> str:
        return self.target.name

    @property
    def title(self) -> str:
        values = " with values that do not fit" if self.taken is Taken.UNFIT else ""
        batches = " in batches" if self.in_batches else ""
        return f"fill `{self.full_name}` from `{self.source.name}`{values}{batches}"

    @property
    def caution(self) -> str:
        if self.conversion is Conversion.WHOLE:
            return ""
        if self.taken is Taken.UNFIT:
            return "only the values that do not fit, as they are"
        lost = fit(self.source, self.target, counts_seconds=self.counts_seconds).lost
        return f"values that do not fit stay null ({lost})"

    @property
    def is_outside_transaction(self) -> bool:
        return self.in_batches

    @property
    def undo(self) -> Undo:
        if self.taken is Taken.UNFIT:
            return Undo(note=f"values stay in `{self.target.name}` if the column existed before")
        return Undo()  # undone with the column that was filled

    def way(self, ways: Ways) -> Way:
        return ways.write_values

    def change_columns(self, columns: Columns) -> Columns:
        find_column(columns, self.source.name)
        find_column(columns, self.target.name)
        return columns

    def with_names(self, table: str, column: str) -> Self:
        return replace(self, table=table, source=replace(self.source, name=column))


@dataclass(frozen=True, slots=True)
class FoldVariant(Backfill):
    """Move the values of a variant column into the column that it was made for, which is null in these rows.

    The variant keeps its values, so that an undo finds them. The step may run only if every value survives, and no row
    holds values in both columns.
    """

    caution = "only if every value survives, and no row has values in both columns"
    needs_count = True

    @property
    def title(self) -> str:
        return f"fold `{self.table}.{self.source.name}` into `{self.target.name}`"

    @property
    def undo(self) -> Undo:
        unfold = UnfoldVariant(self.table, self.source, self.target, self.conversion)
        return Undo((unfold,), note="values loaded since stay in the column")


@dataclass(frozen=True, slots=True)
class UnfoldVariant(Backfill):
    """Undo a ``FoldVariant``: set the column to null in the rows in which the variant has a value."""

    taken: Taken = Taken.NONE
    caution = ""
    loses_data = True  # a plan from a file may have it as a step instead of an undo

    @property
    def title(self) -> str:
        return f"unfold `{self.table}.{self.source.name}` from `{self.target.name}`"

    @property
    def undo(self) -> Undo:
        return Undo((FoldVariant(self.table, self.source, self.target, self.conversion),))


@dataclass(frozen=True, slots=True)
class FillColumn(_OneColumnStep):
    """Write one value into a column of all stored rows that have null in it.

    Attributes:
        value: JSON data of the column's type.
    """

    value: Any
    shows_in_catalog = False

    @property
    def title(self) -> str:
        return f"fill `{self.full_name}` with {show_value(self.value)}"

    @property
    def undo(self) -> Undo:
        return Undo()  # undone with the column that was filled

    def way(self, ways: Ways) -> Way:
        return ways.write_values

    def change_columns(self, columns: Columns) -> Columns:
        find_column(columns, self.column.name)
        return columns


@dataclass(frozen=True, slots=True)
class SetNotNull(_OneColumnStep):
    """Forbid nulls in a column, which is given as it is before.

    Attributes:
        needs_check: whether the column may hold nulls: the step may run only after a count of zero.
        is_prepared: whether an earlier check has proven that it holds no nulls.
    """

    needs_check: bool = True
    is_prepared: bool = field(default=False, metadata=LATER)

    @property
    def title(self) -> str:
        return f"forbid nulls in `{self.full_name}`"

    @property
    def caution(self) -> str:
        return "only if no stored value is null" if self.needs_check else ""

    @property
    def needs_count(self) -> bool:
        return self.needs_check

    @property
    def undo(self) -> Undo:
        return Undo((DropNotNull(self.table, with_property(self.column, "nullable", False)),))

    def way(self, ways: Ways) -> Way:
        return Way.IN_PLACE if self.is_prepared else ways.set_not_null

    def change_columns(self, columns: Columns) -> Columns:
        return set_property(columns, (self.column.name,), "nullable", False)


@dataclass(frozen=True, slots=True)
class DropNotNull(_OneColumnStep):
    """Allow nulls in a column, which is given as it is before."""

    outdates_copies = True
    reader_effect = ReaderEffect.COMPARED

    @property
    def title(self) -> str:
        return f"allow nulls in `{self.full_name}`"

    @property
    def undo(self) -> Undo:
        required = SetNotNull(self.table, with_property(self.column, "nullable", None))
        return Undo((required,), note="unless nulls were loaded since")

    def way(self, ways: Ways) -> Way:
        return ways.drop_not_null

    def change_columns(self, columns: Columns) -> Columns:
        return set_property(columns, (self.column.name,), "nullable", None)


@dataclass(frozen=True, slots=True)
class _UniqueStep(_ColumnsStep):
    """A step about the constraint that makes one column unique."""

    table: str
    column: str

    @property
    def column_before(self) -> str:
        return self.column

    def with_names(self, table: str, column: str) -> Self:
        return replace(self, table=table, column=column)


@dataclass(frozen=True, slots=True)
class AddUnique(_UniqueStep):
    """Make a column unique; the step may run only if no two rows share a value.

    Attributes:
        is_prepared: whether its index was built before.
    """

    is_prepared: bool = field(default=False, metadata=LATER)
    mark = ADD
    caution = "only if no value is stored twice"
    needs_count = True

    @property
    def title(self) -> str:
        return f"make `{self.full_name}` unique"

    @property
    def undo(self) -> Undo:
        return Undo((DropUnique(self.table, self.column),))

    def way(self, ways: Ways) -> Way:
        return Way.IN_PLACE if self.is_prepared else ways.add_unique

    def change_columns(self, columns: Columns) -> Columns:
        return set_property(columns, (self.column,), "unique", True)


@dataclass(frozen=True, slots=True)
class DropUnique(_UniqueStep):
    """Drop the constraint that makes one column unique, whatever its name."""

    mark = DROP
    reader_effect = ReaderEffect.COMPARED

    @property
    def title(self) -> str:
        return f"let values of `{self.full_name}` repeat"

    @property
    def undo(self) -> Undo:
        return Undo((AddUnique(self.table, self.column),), note="unless values were loaded twice since")

    def way(self, ways: Ways) -> Way:
        return ways.drop_unique

    def change_columns(self, columns: Columns) -> Columns:
        return set_property(columns, (self.column,), "unique", None)


@dataclass(frozen=True, slots=True)
class _KeyStep(_ColumnsStep):
    """A step about the primary key of a table.

    Attributes:
        columns: the names of the key's columns, in their order.
    """

    table: str
    columns: tuple[str, ...]

    @property
    def column_before(self) -> str | None:
        return self.columns[0] if len(self.columns) == 1 else None

    @property
    def read_columns(self) -> tuple[str, ...]:
        return self.columns

    def with_names(self, table: str, column: str) -> Self:  # noqa: ARG002 - it has several
        return replace(self, table=table)


@dataclass(frozen=True, slots=True)
class AddPrimaryKey(_KeyStep):
    """Add a primary key; the step may run only if no row has a null in it, or the values of another row.

    Attributes:
        is_prepared: as in ``AddUnique``.
    """

    is_prepared: bool = field(default=False, metadata=LATER)
    mark = ADD
    caution = "only if no row has a null or a duplicate value"
    needs_count = True

    @property
    def title(self) -> str:
        return f"make {backquoted(self.columns)} the primary key of `{self.table}`"

    @property
    def undo(self) -> Undo:
        return Undo((DropPrimaryKey(self.table, self.columns),))

    def way(self, ways: Ways) -> Way:
        return Way.IN_PLACE if self.is_prepared else ways.add_primary_key

    def change_columns(self, columns: Columns) -> Columns:
        if key_columns(columns):
            raise StepDoesNotFit(f"table `{self.table}` has a primary key already")
        return set_property(columns, self.columns, "primary_key", True)


@dataclass(frozen=True, slots=True)
class DropPrimaryKey(_KeyStep):
    """Drop the primary key of a table, whatever its name; its columns stay as nullable as they are."""

    mark = DROP
    reader_effect = ReaderEffect.COMPARED

    @property
    def title(self) -> str:
        return f"drop the primary key of `{self.table}`, {backquoted(self.columns)}"

    @property
    def undo(self) -> Undo:
        return Undo((AddPrimaryKey(self.table, self.columns),), note="unless values were loaded twice since")

    def way(self, ways: Ways) -> Way:
        return ways.drop_primary_key

    def change_columns(self, columns: Columns) -> Columns:
        return set_property(columns, self.columns, "primary_key", None)


# --- steps of online plans, during which other sessions read and write (``--online``) ---


class OnlineStep(BaseStep):
    """A step that only online plans have."""

    __slots__ = ()

    @property
    @abstractmethod
    def subject(self) -> Backfill | SetNotNull | AddUnique | AddPrimaryKey:
        """The step that it prepares or completes."""

    @property
    def table_name(self) -> str:
        return self.subject.table

    def way(self, ways: Ways) -> Way:
        return self.online_way if ways.is_online else Way.NONE

    @property
    def online_way(self) -> Way:
        """How the step runs at a destination that can run online plans."""
        return Way.IN_PLACE


class Phase(StrEnum):
    """A part of a step that runs ahead of it, or an undo of such a part."""

    ADD_CHECK = "add check"
    """From now on, the database checks written rows for the step's condition."""
    VALIDATE_CHECK = "validate check"
    """Stored rows are checked, too."""
    DROP_CHECK = "drop check"
    BUILD_INDEX = "build index"
    """The index of a key is built; no transaction can hold that."""
    DROP_INDEX = "drop index"
    START_SYNC = "start sync"
    """From now on, written rows are filled as the step fills stored rows."""
    STOP_SYNC = "stop sync"


_OPPOSITE_PHASES: Final = {
    Phase.ADD_CHECK: Phase.DROP_CHECK,
    Phase.BUILD_INDEX: Phase.DROP_INDEX,
    Phase.START_SYNC: Phase.STOP_SYNC,
}


@dataclass(frozen=True, slots=True)
class Prepare(OnlineStep):
    """Do a part of a later step ahead of it, so that no session waits for that step.

    Attributes:
        step: the later step. For a ``Backfill``, a check also proves that no value was left out.
    """

    step: Backfill | SetNotNull | AddUnique | AddPrimaryKey
    phase: Phase
    shows_in_catalog = False

    @property
    def subject(self) -> Backfill | SetNotNull | AddUnique | AddPrimaryKey:
        return self.step

    @property
    def column_before(self) -> str | None:
        return self.step.column_before

    @property
    def column_name(self) -> str | None:
        return self.step.column_name

    @property
    def title(self) -> str:
        step = self.step
        names = ", ".join(step.columns) if isinstance(step, AddPrimaryKey) else str(step.column_name)
        name = f"`{step.table}.{names}`"
        if isinstance(step, Backfill):
            source = f"`{step.source.name}`"
            checked = f"that {name} has each value of {source}" if step.taken is Taken.FITTING else ""
            synced = f"{name} in step with {source}{' for values that do not fit' if step.taken is Taken.UNFIT else ''}"
        else:
            checked, synced = f"{name} for nulls", ""
        match self.phase:
            case Phase.ADD_CHECK:
                return f"check {checked}, in written rows"
            case Phase.VALIDATE_CHECK:
                return f"check {checked}, in stored rows"
            case Phase.DROP_CHECK:
                return f"drop the check {checked}"
            case Phase.BUILD_INDEX:
                return f"build the unique index of {name}"
            case Phase.DROP_INDEX:
                return f"drop the unique index of {name}"
            case Phase.START_SYNC:
                return f"keep {synced} in written rows"
            case Phase.STOP_SYNC:
                return f"stop keeping {synced}"
            case _:
                assert_never(self.phase)

    @property
    def is_outside_transaction(self) -> bool:
        return self.phase is Phase.BUILD_INDEX

    @property
    def undo(self) -> Undo:
        opposite = _OPPOSITE_PHASES.get(self.phase)
        return Undo() if opposite is None else Undo((replace(self, phase=opposite),))

    @property
    def online_way(self) -> Way:
        return Way.SCAN if self.phase in (Phase.VALIDATE_CHECK, Phase.BUILD_INDEX) else Way.IN_PLACE

    def change_table(self, table: Table) -> Table:
        return table

    def with_names(self, table: str, column: str) -> Self:
        return replace(self, step=self.step.with_names(table, column))


@dataclass(frozen=True, slots=True)
class SwapColumns(OnlineStep):
    """Give a column the name of the column that it was synced with, which is kept under a new name.

    Attributes:
        backfill: the step that has filled the column.
        kept: the new name of the other column, which may hold nulls from then on.
        is_required: whether the column takes no nulls afterwards, which a check has proven.
        is_unique: whether its values are unique; the index was built before.
        is_checked: whether a check has proven that each value was copied.
        variant: the name of the column that was synced with the values that do not fit; None without one.
    """

    backfill: Backfill
    kept: str
    is_required: bool = False
    is_unique: bool = False
    is_checked: bool = False
    variant: str | None = None
    outdates_copies = True
    reader_effect = ReaderEffect.RETYPED

    @property
    def subject(self) -> Backfill:
        return self.backfill

    @property
    def column_before(self) -> str:
        return self.backfill.source.name

    @property
    def title(self) -> str:
        backfill = self.backfill
        target = f"`{backfill.table}.{backfill.target.name}` takes the name `{backfill.source.name}`"
        return f"{target}; the old column becomes `{self.kept}`"

    @property
    def undo(self) -> Undo:
        return Undo((RestoreColumn(self),), note="later values are copied back, unless they do not fit")

    def change_table(self, table: Table) -> Table:
        columns, source, target = table.columns, self.backfill.source.name, self.backfill.target.name
        refuse_taken(columns, self.kept)
        old_column = with_property(replace(find_column(columns, source), name=self.kept), "nullable", None)
        new_column = replace(find_column(columns, target), name=source)
        if self.is_required:
            new_column = with_property(new_column, "nullable", False)
        if self.is_unique:
            new_column = with_property(new_column, "unique", True)
        return replace(table, columns=replace_columns(columns, {source: old_column, target: new_column}))

    def with_names(self, table: str, column: str) -> Self:
        return replace(self, backfill=self.backfill.with_names(table, column))

    @property
    def earlier_columns(self) -> Mapping[str, str]:
        # The column was filled with the values of its source.
        source = self.backfill.source.name
        return {self.kept: source, source: source}


@dataclass(frozen=True, slots=True)
class RestoreColumn(OnlineStep):
    """Undo a ``SwapColumns``; values that were written since are copied back into the old column."""

    swap: SwapColumns
    needs_count = True
    outdates_copies = True
    reader_effect = ReaderEffect.RETYPED

    @property
    def subject(self) -> Backfill:
        return self.swap.backfill

    @property
    def column_before(self) -> str:
        return self.swap.kept

    @property
    def column_name(self) -> str:
        return self.swap.backfill.source.name

    @property
    def read_columns(self) -> tuple[str, ...]:
        return (self.column_name,)

    @property
    def title(self) -> str:
        backfill = self.swap.backfill
        return f"`{backfill.table}.{self.swap.kept}` gets its name `{backfill.source.name}` back"

    @property
    def undo(self) -> Undo:
        return Undo(is_possible=False, note="apply the plan that swapped the columns again")

    @property
    def online_way(self) -> Way:
        return Way.SCAN

    def change_table(self, table: Table) -> Table:
        columns, backfill = table.columns, self.swap.backfill
        source, target = backfill.source.name, backfill.target.name
        refuse_taken(columns, target)
        old_column = replace(find_column(columns, self.swap.kept), name=source)
        old_column = with_property(old_column, "nullable", None if backfill.source.nullable else False)
        new_column = with_property(replace(find_column(columns, source), name=target), "nullable", None)
        return replace(table, columns=replace_columns(columns, {self.swap.kept: old_column, source: new_column}))

    def with_names(self, table: str, column: str) -> Self:
        backfill = replace(self.swap.backfill, table=table)
        return replace(self, swap=replace(self.swap, backfill=backfill, kept=column))

    @property
    def earlier_columns(self) -> Mapping[str, str]:
        source = self.swap.backfill.source.name
        return {self.swap.backfill.target.name: source, source: self.swap.kept}


ColumnStep = (
    AddColumn
    | DropColumn
    | RenameColumn
    | ChangeType
    | Backfill
    | FoldVariant
    | UnfoldVariant
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
"""A step about columns of a table, or about its keys."""

Step = CreateTable | DropTable | RenameTable | DescribeTable | ColumnStep
"""A change of a destination."""


@dataclass(frozen=True, slots=True)
class RewriteTable:
    """Make several changes to the columns of one table by rewriting its rows once: either all of them or no change.

    A plan records which of its steps run this way (``rewrites.with_rewrites``). Each step keeps its number, its undo
    and its line in the ledger, so that a single step can be undone.

    Attributes:
        table: as it is before the first change.
        changes: in their order: steps for which ``Abilities.rewrites`` holds, and new columns between them.
    """

    table: Table
    changes: tuple[ColumnStep, ...]

"""The rows of a table as a step leaves them, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from schemactl.destinations._lake.conversions import ROWS, ask, duckdb_type
from schemactl.errors import DestinationError
from schemactl.examples import shown_error
from schemactl.migration.statements import new_column, values_after
from schemactl.migration.steps import (
    AddColumn,
    Backfill,
    ChangeType,
    DropColumn,
    DropNotNull,
    FillColumn,
    RenameColumn,
    SetNotNull,
    Taken,
)
from schemactl.schema.types import Column, Table

if TYPE_CHECKING:
    import pyarrow
    from duckdb import DuckDBPyConnection

Rewritten = AddColumn | DropColumn | RenameColumn | ChangeType | Backfill | FillColumn | SetNotNull | DropNotNull
"""The steps that writing all rows anew can do."""

Written = ChangeType | Backfill | FillColumn
"""Those of them that write values."""

MakeField = Callable[..., "pyarrow.Field"]
"""Makes a field of a column, and of the one whose place that takes; see ``LakeMigration.field``."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a step writes into a column.

    Attributes:
        column: its name before the step.
        needed: names of all columns that the value depends on.
        query: of the values, over rows with these columns.
    """

    column: str
    needed: Sequence[str]
    query: str

    def values(self, batch: pyarrow.RecordBatch, field: pyarrow.Field, connection: DuckDBPyConnection) -> pyarrow.Array:
        """Return the values of the column after the step, as the new field has them.

        Raises:
            DestinationError: a value does not survive.
        """
        import pyarrow

        rows = pyarrow.Table.from_batches([batch.select(self.needed)])
        found = ask(connection, rows, self.query, f"write `{self.column}`").column("made").combine_chunks()
        whole = found if isinstance(found, pyarrow.Array) else pyarrow.concat_arrays(found.chunks)
        # Those of DuckDB's own kinds as what they are stored as.
        stored = whole.storage if isinstance(whole, pyarrow.ExtensionArray) else whole
        try:
            return stored.cast(field.type)
        except pyarrow.ArrowException as error:
            message = f"a value of `{self.column}` does not survive: {shown_error(str(error))}"
            raise DestinationError(message) from error


@dataclass(frozen=True, slots=True)
class Rewriting:
    """What becomes of the columns of a table.

    Attributes:
        fields: the columns afterwards.
        origins: the name that each of them has before, in their order; None for one that is new.
        written: what is written into one of them, by its name before; None where values stay as they are.
    """

    fields: pyarrow.Schema
    origins: Mapping[str, str | None]
    written: Assignment | None = None

    def apply(self, batch: pyarrow.RecordBatch, connection: DuckDBPyConnection | None) -> pyarrow.RecordBatch:
        """Return rows as they are afterwards; what is written needs a connection.

        Raises:
            DestinationError: a value does not survive, or is missing where none may be.
        """
        import pyarrow

        arrays = [
            pyarrow.nulls(batch.num_rows, field.type) if origin is None else batch.column(origin)
            for field, origin in zip(self.fields, self.origins.values(), strict=True)
        ]
        if self.written and connection is not None:
            place = [*self.origins.values()].index(self.written.column)
            arrays[place] = self.written.values(batch, self.fields.field(place), connection)
        for field, array in zip(self.fields, arrays, strict=True):
            if not field.nullable and array.null_count:
                raise DestinationError(f"column `{field.name}` holds nulls, and may hold none afterwards")
        return pyarrow.RecordBatch.from_arrays(arrays, schema=self.fields)


def rewritings(before: pyarrow.Schema, steps: Sequence[Rewritten], field_of: MakeField) -> tuple[Rewriting, ...]:
    """Return what each step about one table makes of what those before it have made; ``before`` are its columns.

    Raises:
        DestinationError: the table has not the columns that a step speaks of.
        InputError: a value of a step is none of its column's type.
    """
    import pyarrow

    made: list[Rewriting] = []
    for step in steps:
        fields = {field.name: field for field in before}
        needed, new = _names(step)
        if missing := next((name for name in needed if name not in fields), None):
            raise DestinationError(f"there is no column `{missing}` in `{step.table}`")
        if new in fields:
            raise DestinationError(f"there is a column `{new}` in `{step.table}` already")
        after, origins = _fields(step, fields, field_of)
        written = _write(step, tuple(fields)) if isinstance(step, Written) else None
        before = pyarrow.schema(list(after.values()), metadata=before.metadata)
        made.append(Rewriting(before, origins, written))
    return tuple(made)


def _names(step: Rewritten) -> tuple[tuple[str, ...], str | None]:
    """Return the columns that a step needs, and the one that may not be there."""
    match step:
        case AddColumn():
            return (), step.column.name
        case RenameColumn():
            return (step.before,), step.after
        case ChangeType():
            return (step.before.name,), None
        case Backfill():
            return (step.source.name, step.target.name), None
        case DropColumn() | FillColumn() | SetNotNull() | DropNotNull():
            return (step.column.name,), None
        case _:
            assert_never(step)


def _fields(
    step: Rewritten, fields: Mapping[str, pyarrow.Field], field_of: MakeField
) -> tuple[Mapping[str, pyarrow.Field], Mapping[str, str | None]]:
    """Return the columns afterwards, and where each comes from."""
    same: dict[str, str | None] = {name: name for name in fields}
    match step:
        case AddColumn():
            name = step.column.name
            return {**fields, name: field_of(step.column)}, {**same, name: None}
        case DropColumn():
            kept = {name: field for name, field in fields.items() if name != step.column.name}
            return kept, {name: name for name in kept}
        case RenameColumn():
            names = {name: step.after if name == step.before else name for name in fields}
            renamed = {new: fields[old].with_name(new) for old, new in names.items()}
            return renamed, {new: old for old, new in names.items()}
        case ChangeType():
            name = step.before.name
            return {**fields, name: field_of(step.after, fields[name])}, same
        case SetNotNull() | DropNotNull():
            name = step.column.name
            return {**fields, name: fields[name].with_nullable(isinstance(step, DropNotNull))}, same
        case Backfill() | FillColumn():
            return fields, same
        case _:
            assert_never(step)


def _write(step: Written, columns: tuple[str, ...]) -> Assignment:
    """Return what a step writes into a table with these columns.

    Raises:
        InputError: a name, a type or a value cannot be written.
    """
    from schemactl.destinations.duckdb.migration import ENGINE

    needed: dict[str, str | None]  # the type that DuckDB is to take each for
    match step:
        case ChangeType():
            column, needed = step.before.name, {step.before.name: duckdb_type(step.before)}
        case FillColumn():
            column, needed = step.column.name, {step.column.name: None}
        case Backfill():
            column, needed = step.target.name, {step.target.name: None, step.source.name: duckdb_type(step.source)}
            if step.taken is Taken.UNFIT:
                # Of the values that went into the new column, nulls alone count.
                needed.setdefault(new_column(step, columns))
    value = values_after((step,), Table(step.table, {name: Column(name) for name in columns}), ENGINE)[column]
    listed = ", ".join(
        ENGINE.name(name) if kind is None else f"CAST({ENGINE.name(name)} AS {kind}) AS {ENGINE.name(name)}"
        for name, kind in needed.items()
    )
    return Assignment(column, list(needed), f"SELECT {value} AS made FROM (SELECT {listed} FROM {ROWS})")

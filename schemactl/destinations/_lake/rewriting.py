"""The rows of a table as a step leaves them, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from schemactl.destinations._lake.conversions import Assignment, Written, assigned, assignment, duckdb_session
from schemactl.destinations._lake.store import LakeStore
from schemactl.errors import DestinationError
from schemactl.migration.steps import (
    AddColumn,
    Backfill,
    ChangeType,
    DropColumn,
    DropNotNull,
    FillColumn,
    RenameColumn,
    SetNotNull,
)

if TYPE_CHECKING:
    import pyarrow

Rewritten = AddColumn | DropColumn | RenameColumn | ChangeType | Backfill | FillColumn | SetNotNull | DropNotNull
"""The steps that writing all rows anew can do."""


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

    def batches(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        """Yield rows as they are afterwards.

        Raises:
            DestinationError: a value does not survive, or is missing where none may be.
        """
        import pyarrow

        with duckdb_session() if self.written else nullcontext() as connection:
            for batch in batches:
                arrays = [
                    pyarrow.nulls(batch.num_rows, field.type) if origin is None else batch.column(origin)
                    for field, origin in zip(self.fields, self.origins.values(), strict=True)
                ]
                if self.written and connection is not None:
                    place = [*self.origins.values()].index(self.written.column)
                    rows = pyarrow.Table.from_batches([batch])
                    arrays[place] = assigned(connection, rows, self.written, self.fields.field(place))
                for field, array in zip(self.fields, arrays, strict=True):
                    if not field.nullable and array.null_count:
                        raise DestinationError(f"column `{field.name}` holds nulls, and may hold none afterwards")
                yield pyarrow.RecordBatch.from_arrays(arrays, schema=self.fields)


def rewritings(store: LakeStore, steps: Sequence[Rewritten]) -> tuple[Rewriting, ...]:
    """Return what each step about one table makes of what those before it have made.

    Raises:
        DestinationError: the table has not the columns that a step speaks of.
        InputError: a value of a step is none of its column's type.
    """
    import pyarrow

    made: list[Rewriting] = []
    before = store.fields(steps[0].table)
    for step in steps:
        fields = {field.name: field for field in before}
        needed, new = _names(step)
        if missing := next((name for name in needed if name not in fields), None):
            raise DestinationError(f"there is no column `{missing}` in `{step.table}`")
        if new in fields:
            raise DestinationError(f"there is a column `{new}` in `{step.table}` already")
        after, origins = _fields(store, step, fields)
        written = assignment(step, step.table, tuple(fields)) if isinstance(step, Written) else None
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
    store: LakeStore, step: Rewritten, fields: Mapping[str, pyarrow.Field]
) -> tuple[Mapping[str, pyarrow.Field], Mapping[str, str | None]]:
    """Return the columns afterwards, and where each comes from."""
    same: dict[str, str | None] = {name: name for name in fields}
    match step:
        case AddColumn():
            name = step.column.name
            return {**fields, name: store.field(step.column)}, {**same, name: None}
        case DropColumn():
            kept = {name: field for name, field in fields.items() if name != step.column.name}
            return kept, {name: name for name in kept}
        case RenameColumn():
            names = {name: step.after if name == step.before else name for name in fields}
            renamed = {new: fields[old].with_name(new) for old, new in names.items()}
            return renamed, {new: old for old, new in names.items()}
        case ChangeType():
            name = step.before.name
            return {**fields, name: store.field(step.after, fields[name])}, same
        case SetNotNull() | DropNotNull():
            name = step.column.name
            return {**fields, name: fields[name].with_nullable(isinstance(step, DropNotNull))}, same
        case Backfill() | FillColumn():
            return fields, same
        case _:
            assert_never(step)

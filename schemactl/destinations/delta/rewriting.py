"""Reads the rows of a Delta table, and sees to it that they can be put in their own place in other columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemactl.destinations._lake.types import plain_type
from schemactl.destinations._migration.records import Hindrance
from schemactl.destinations.delta.catalogue import wrap_errors
from schemactl.destinations.delta.lake import DeltaLakeTable
from schemactl.errors import DestinationError, SchemactlError
from schemactl.migration.steps import ChangeType, DropColumn, RenameColumn, Step
from schemactl.schema.types import Column

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.dataset
    from deltalake import DeltaTable

AGAIN: Final = "migrate again"
"""What to do where another program was faster."""

_COMMENT: Final = b"comment"


def fields_of(table: DeltaTable) -> pyarrow.Schema:
    """Return a table's columns as new files are to hold them, with what Delta keeps beside them."""
    import pyarrow

    held = pyarrow.schema(table.schema().to_arrow())
    return pyarrow.schema([each.with_type(plain_type(each.type)) for each in held])


def commented(field: pyarrow.Field, before: pyarrow.Field) -> pyarrow.Field:
    """Return a column with the comment of another; what else stands beside that one may be about its type."""
    comment = (before.metadata or {}).get(_COMMENT)
    return field if comment is None else field.with_metadata({_COMMENT: comment})


def demand_of(table: DeltaLakeTable) -> Hindrance | None:
    """Return what keeps all who cannot do what a table asks for from writing to it."""
    return Hindrance(f"{_place(table)} {table.demand}") if table.demand is not None else None


def hindrance(table: DeltaLakeTable, step: Step, new: Callable[[Column], pyarrow.Field]) -> Hindrance | None:
    """Return why the rows of a table cannot be written anew for a step.

    Args:
        table: whose rows they are.
        step: about one of its columns.
        new: makes a column as new files hold it.
    """
    if found := demand_of(table):
        return found
    stated = table.table.metadata()
    if stated.configuration.get("delta.appendOnly") == "true":
        hint = "set its property `delta.appendOnly` to false, then migrate again"
        return Hindrance(f"{_place(table)} only takes new rows, and this step rewrites it", hint)
    changed = _changed(table, step, new)
    if changed in stated.partition_columns:
        message = f"{_place(table)} is partitioned by `{changed}`, which must keep its name and type"
        return Hindrance(message, "make a new table with other partitions, and load it anew")
    return None


def _changed(table: DeltaLakeTable, step: Step, new: Callable[[Column], pyarrow.Field]) -> str | None:
    """Return the column that a step takes its name or its type."""
    match step:
        case DropColumn():
            return step.column.name
        case RenameColumn():
            return step.before
        case ChangeType():
            name = step.before.name
            is_same = name in table.fields.names and table.fields.field(name).type == new(step.after).type
            return None if is_same else name
        case _:
            return None


def _place(table: DeltaLakeTable) -> str:
    return f"`{table.name}` in `{table.folder.parent}`"


def delta_fields(fields: Sequence[pyarrow.Field]) -> pyarrow.Schema:
    """Return columns as a table is given them.

    Raises:
        DestinationError: Delta would make other types of them.
    """
    import pyarrow
    from deltalake import Schema as DeltaSchema

    with wrap_errors("Delta has no such column", AGAIN):
        wanted = pyarrow.schema(list(fields))
        made = pyarrow.schema(DeltaSchema.from_arrow(wanted).to_arrow())
    for each, there in zip(wanted, made, strict=True):
        if (each.type, each.nullable) != (plain_type(there.type), there.nullable):
            raise DestinationError(f"Delta would make `{there.type}` of `{each.name}`, not `{each.type}`")
    return wanted


def read_batches(place: Path, rows: pyarrow.dataset.Dataset, fields: pyarrow.Schema) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows of the table at ``place``, few of them read ahead, in the types of ``fields``."""
    import pyarrow

    with wrap_errors(f"cannot read `{place}`", AGAIN):
        # What is read ahead is held in memory.
        for batch in rows.to_batches(columns=fields.names, batch_readahead=2, fragment_readahead=1):
            columns = [column.cast(each.type) for column, each in zip(batch.columns, fields, strict=True)]
            yield pyarrow.RecordBatch.from_arrays(columns, schema=fields)


def in_fields(batches: Iterator[pyarrow.RecordBatch], fields: pyarrow.Schema) -> Iterator[pyarrow.RecordBatch]:
    """Yield batches that hold just these columns; others would be read as if they did."""
    import pyarrow

    for batch in batches:
        if batch.schema.names != fields.names:
            raise DestinationError(f"rows with the columns {batch.schema.names} do not fit {fields.names}")
        yield pyarrow.RecordBatch.from_arrays(batch.columns, schema=fields)


@contextmanager
def failing_as_itself(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[Iterator[pyarrow.RecordBatch]]:
    """Let our errors, and interrupts, come out of ``batches`` as they are: delta-rs makes errors of its own of them."""
    failures: list[BaseException] = []

    def watched() -> Iterator[pyarrow.RecordBatch]:
        try:
            yield from batches
        except BaseException as error:
            failures.append(error)
            raise

    try:
        yield watched()
    except DestinationError as error:
        if failures and (isinstance(failures[0], SchemactlError) or not isinstance(failures[0], Exception)):
            raise failures[0] from error
        raise

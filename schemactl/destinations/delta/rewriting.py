"""Reads the rows of a Delta table, and sees to it that they can be put in their own place in other columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemactl.destinations._lake.types import plain_type
from schemactl.destinations.delta.catalogue import told
from schemactl.destinations.delta.lake import DeltaLakeTable
from schemactl.errors import DestinationError, SchemactlError

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


def with_comments(fields: pyarrow.Schema, before: pyarrow.Schema) -> pyarrow.Schema:
    """Return columns with the comments that they had; what else stands beside a column may be about its old type."""
    import pyarrow

    comments = {each.name: each.metadata[_COMMENT] for each in before if _COMMENT in (each.metadata or {})}
    return pyarrow.schema(
        [
            each.with_metadata({_COMMENT: comments[each.name]}) if each.name in comments and not each.metadata else each
            for each in fields
        ]
    )


def refuse_rewriting(table: DeltaLakeTable, fields: pyarrow.Schema) -> None:
    """Refuse what would fail, or lose what it must not, only after all rows are written."""
    held, place = table.fields, f"`{table.name}` in `{table.folder.parent}`"
    if table.demand is not None:
        raise DestinationError(f"{place} {table.demand}")
    if table.table.metadata().configuration.get("delta.appendOnly") == "true":
        hint = "set its property `delta.appendOnly` to false, then migrate again"
        raise DestinationError(f"{place} only takes new rows, and this step rewrites it", hint=hint)
    for name in table.table.metadata().partition_columns:
        if name not in fields.names or fields.field(name).type != held.field(name).type:
            raise DestinationError(
                f"{place} is partitioned by `{name}`, which must keep its name and type",
                hint="make a new table with other partitions, and load it anew",
            )
    delta_fields(fields)


def delta_fields(fields: Sequence[pyarrow.Field]) -> pyarrow.Schema:
    """Return columns as a table is given them.

    Raises:
        DestinationError: Delta would make other types of them.
    """
    import pyarrow
    from deltalake import Schema as DeltaSchema

    with told("Delta has no such column", AGAIN):
        wanted = pyarrow.schema(list(fields))
        made = pyarrow.schema(DeltaSchema.from_arrow(wanted).to_arrow())
    for each, there in zip(wanted, made, strict=True):
        if (each.type, each.nullable) != (plain_type(there.type), there.nullable):
            raise DestinationError(f"Delta would make `{there.type}` of `{each.name}`, not `{each.type}`")
    return wanted


def read_batches(place: Path, rows: pyarrow.dataset.Dataset, fields: pyarrow.Schema) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows of the table at ``place``, few of them read ahead, in the types of ``fields``."""
    import pyarrow

    with told(f"cannot read `{place}`", AGAIN):
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

"""Reads chosen columns of a table as Arrow batches, alike from every destination: rejects, and keys of loaded rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._bookkeeping import rows_of
from schemactl.schema.types import Table

if TYPE_CHECKING:
    import pyarrow

_BATCH_ROWS: Final = 10_000


def arrow_fields(table: Table) -> pyarrow.Schema:
    """Return a table's columns as batches of its rows have them; all may be null."""
    import pyarrow

    from schemactl.kernel.stored import stored_type

    return pyarrow.schema([pyarrow.field(column.name, stored_type(column)) for column in table.columns.values()])


def batches_of(table: Table, rows: Iterable[Sequence[Any]]) -> Iterator[pyarrow.RecordBatch]:
    """Yield rows, each in the order of a table's columns; timestamps as in ``rows_of``."""
    import pyarrow

    fields = arrow_fields(table)
    all_rows = rows_of(table, rows)
    while batch_rows := list(islice(all_rows, _BATCH_ROWS)):
        yield pyarrow.RecordBatch.from_pylist(batch_rows, schema=fields)

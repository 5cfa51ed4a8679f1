"""Rows of staged files, a batch at a time, for databases that do not read Parquet themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._json import json_texts
from schemactl.destinations._package import StagedTable
from schemactl.errors import DestinationError
from schemactl.schema.arrow_types import is_nested
from schemactl.schema.nested_types import structure_of
from schemactl.schema.types import Column

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_BYTES: Final = 8 << 20
_MOST_ROWS: Final = 65_536


def batches(staged: StagedTable) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a staged table, with columns in its order; structs, lists and maps are JSON texts."""
    import pyarrow as pa
    from pyarrow import parquet

    for path in staged.files:
        with parquet.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
            for batch in file.iter_batches(batch_size=_batch_rows(file.metadata)):
                chosen = batch.select(list(staged.table.columns))
                columns = [
                    _json(values, staged.table.columns[name]) if is_nested(values.type) else values
                    for name, values in zip(chosen.schema.names, chosen.columns, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(columns, names=chosen.schema.names)


def _batch_rows(metadata: Any) -> int:
    """Return how many rows make a batch of some megabytes; sizes in a file's footer are those before compression."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    widest = max((group.total_byte_size / group.num_rows for group in groups if group.num_rows), default=1.0)
    return max(1, min(_MOST_ROWS, int(_BATCH_BYTES / max(widest, 1.0))))


def _json(values: pa.Array, column: Column) -> pa.Array:
    structure = structure_of(column)
    if structure is None:
        raise DestinationError(f"column `{column.name}` has structs or lists, and the schema does not say which")
    return json_texts(values, structure)


def in_utc(values: pa.Array) -> pa.Array:
    """Return moments without their zone, in UTC."""
    import pyarrow as pa

    return values.cast(pa.timestamp("us"))

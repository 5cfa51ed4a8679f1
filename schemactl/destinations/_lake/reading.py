"""Reads rows of a Parquet file under the columns that a table has now, whatever the file calls or lacks of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

BATCH_ROWS: Final = 131_072


def read_parquet(
    file: pyarrow.parquet.ParquetFile,
    wanted: pyarrow.Schema,
    groups: Sequence[int] | None,
    *,
    stated: Mapping[str, Any],
    names: Mapping[str, str | None] | None = None,
) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows of a file, or of some groups of them.

    Args:
        file: open.
        wanted: the columns; rows come in their types.
        groups: numbers, ascending; None for all.
        stated: what stands for a column in the place of the file; one that it lacks is null.
        names: what the file calls each column, None where it lacks it; without it the table's own names.

    Raises:
        pyarrow.ArrowException: the file cannot be read, or a value has no room in its column.
    """
    import pyarrow

    known = {name: name for name in file.schema_arrow.names} if names is None else names
    columns = {name: held for name in wanted.names if name not in stated and (held := known.get(name))}
    chosen = range(file.num_row_groups) if groups is None else groups
    if columns:
        batches = file.iter_batches(BATCH_ROWS, row_groups=list(chosen), columns=list(columns.values()))
    else:
        sizes = (file.metadata.row_group(number).num_rows for number in chosen)
        batches = (pyarrow.RecordBatch.from_struct_array(pyarrow.nulls(rows, pyarrow.struct([]))) for rows in sizes)
    for batch in batches:
        arrays = []
        for field in wanted:
            if field.name in columns:
                array = batch.column(columns[field.name])
            else:
                value = stated.get(field.name)
                array = pyarrow.nulls(batch.num_rows) if value is None else pyarrow.repeat(value, batch.num_rows)
            arrays.append(array if array.type == field.type else array.cast(field.type))
        yield pyarrow.RecordBatch.from_arrays(arrays, schema=wanted)

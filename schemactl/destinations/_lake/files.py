"""Makes new files of a table: links a finished file if it fits, else rewrites its rows batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemactl.destinations._lake.table import FilesTable, with_mask
from schemactl.destinations._load import missing_value
from schemactl.errors import DestinationError
from schemactl.examples import shown_error
from schemactl.normalization.package import StagedTable, rows_in
from schemactl.type_systems.arrow_types import plain_type

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

GROUP_ROWS: Final = 131_072
_SPLIT_ROWS: Final = 1_048_576
_PLACE: Final = "_schemactl_place"

Alter = Callable[["pyarrow.RecordBatch"], "pyarrow.RecordBatch"]
"""Turns rows of a table, or rows of a load, into the rows that the table holds afterwards."""


def read_staged(file: Path) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows of a staged file."""
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(file) as opened:
        yield from opened.iter_batches()


def add_staged(
    table: FilesTable,
    staged: StagedTable,
    prefix: str,
    masks: Sequence[pyarrow.BooleanArray] | None = None,
    alter: Alter | None = None,
) -> Iterator[str]:
    """Yield the new files of a table, which has all columns of ``staged``, for the rows of a load.

    ``masks`` select the rows of each staged file, None for all; ``alter`` changes them first. Names of new files start
    with ``prefix``.
    """
    for number, file in enumerate(staged.files):
        path = table.new_file(f"{prefix}-{number:05}.parquet")
        if masks is None and alter is None and rows_in(file) == 0:
            continue
        if masks is None and alter is None and not table.partitions and _is_as_wanted(file, table.fields):
            table.adopt(file, path)
            yield path
            continue
        batches: Iterable[pyarrow.RecordBatch] = read_staged(file)
        if masks is not None:
            batches = (batch.filter(mask) for batch, mask in with_mask(batches, masks[number]))
        yield from write_rows(table, path, map(alter, batches) if alter else batches)


def write_rows(table: FilesTable, path: str, batches: Iterable[pyarrow.RecordBatch]) -> list[str]:
    """Write rows into a new file of a table, or into one for each of its partitions; return the files with rows."""
    import pyarrow

    fields = table.fields
    converted = (
        pyarrow.RecordBatch.from_arrays([_values(batch, field, table.name) for field in fields], schema=fields)
        for batch in batches
        if batch.num_rows
    )
    if not table.partitions:
        groups = grouped(converted, GROUP_ROWS)
        first = next(groups, None)
        if first is None:
            return []
        _write(table, path, chain((first,), groups))
        return [path]
    written: list[str] = []
    for rows in split_by_partition(converted, table.partitions):
        written.append(f"{path.removesuffix('.parquet')}-{len(written):05}.parquet")
        _write(table, written[-1], (rows,))
    return written


def _write(table: FilesTable, path: str, groups: Iterable[pyarrow.Table]) -> None:
    import pyarrow.parquet

    with table.write(path) as out, pyarrow.parquet.ParquetWriter(out, table.fields, compression="zstd") as writer:
        for group in groups:
            writer.write_table(group)


def split_by_partition(batches: Iterable[pyarrow.RecordBatch], partitions: Sequence[str]) -> Iterator[pyarrow.Table]:
    """Yield tables of rows that have equal values in the partition columns.

    A partition may come more than once: a million rows at a time are held in memory and split.
    """
    import pyarrow

    for rows in grouped(batches, _SPLIT_ROWS):
        keys = rows.select(list(partitions)).append_column(_PLACE, pyarrow.array(range(rows.num_rows)))
        partition_groups = keys.group_by(list(partitions), use_threads=False).aggregate([(_PLACE, "list")])
        for indexes in partition_groups[f"{_PLACE}_list"]:
            yield rows.take(indexes.values)


def grouped(batches: Iterable[pyarrow.RecordBatch], rows: int) -> Iterator[pyarrow.Table]:
    """Yield batches together as groups of rows: files of many small groups are slow to read."""
    import pyarrow

    pending: list[pyarrow.RecordBatch] = []
    for batch in batches:
        pending.append(batch)
        if sum(pending_batch.num_rows for pending_batch in pending) >= rows:
            yield pyarrow.Table.from_batches(pending)
            pending = []
    if pending:
        yield pyarrow.Table.from_batches(pending)


def _values(batch: pyarrow.RecordBatch, field: pyarrow.Field, table: str) -> pyarrow.Array:
    import pyarrow

    if field.name not in batch.schema.names:
        values = pyarrow.nulls(batch.num_rows, field.type)
    else:
        try:
            values = batch.column(field.name).cast(field.type)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
            raise DestinationError(
                f"column `{field.name}` of `{table}` is `{field.type}` and cannot store a value: "
                f"{shown_error(str(error))}",
                hint="widen the column there, as a load with `--contract data_type=promote` does, or load elsewhere",
            ) from error
    if not field.nullable and values.null_count:
        raise missing_value(field.name, table)
    return values


def _is_as_wanted(file: Path, fields: pyarrow.Schema) -> bool:
    """Return whether a file can be a table's without changes: same types, values in all columns that need some."""
    import pyarrow.parquet

    footer = pyarrow.parquet.read_metadata(file)
    file_schema = footer.schema.to_arrow_schema()
    is_typed = all(
        name in fields.names and plain_type(file_schema.field(name).type) == fields.field(name).type
        for name in file_schema.names
    )
    column_numbers = {footer.schema.column(number).path: number for number in range(footer.num_columns)}
    needed = [field.name for field in fields if not field.nullable]
    if not is_typed or not column_numbers.keys() >= set(needed):
        return False
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    all_statistics = (group.column(column_numbers[name]).statistics for name in needed for group in groups)
    return all(statistics is not None and statistics.null_count == 0 for statistics in all_statistics)

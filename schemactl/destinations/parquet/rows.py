"""Rows of Parquet files, batch by batch: all or a sample of them, under wanted columns; written to several files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemactl.destinations._lake.sampling import Sampled, group_sizes, has_plainly, read_groups, sample
from schemactl.destinations.parquet.catalogue import partition_values
from schemactl.errors import DestinationError
from schemactl.examples import shown_error

if TYPE_CHECKING:
    import pyarrow

_BATCH_ROWS: Final = 131_072


def read_rows(
    file: Path, fields: pyarrow.Schema, stated: Mapping[str, str | None] | None = None
) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows of a file under wanted columns; one that it lacks is null.

    Args:
        file: the file.
        fields: the columns.
        stated: values that stand in the file's path, by column.

    Raises:
        DestinationError: it cannot be read, or a value has no room in its column.
    """
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(file) as opened:
            names = [name for name in fields.names if name in opened.schema_arrow.names]
            for batch in opened.iter_batches(_BATCH_ROWS, columns=names):
                arrays = [
                    batch.column(field.name).cast(field.type)
                    if field.name in names
                    else _repeated((stated or {}).get(field.name), batch.num_rows, field.type)
                    for field in fields
                ]
                yield pyarrow.RecordBatch.from_arrays(arrays, schema=fields)
    except pyarrow.ArrowInvalid as error:
        raise DestinationError(f"cannot read `{file}`: {shown_error(str(error))}") from error
    except (pyarrow.ArrowException, OSError) as error:
        raise DestinationError(f"cannot read `{file}`: {error}") from error


def _repeated(value: str | None, rows: int, kind: pyarrow.DataType) -> pyarrow.Array:
    import pyarrow

    return pyarrow.nulls(rows, kind) if value is None else pyarrow.repeat(value, rows).cast(kind)


def cut(batches: Iterator[pyarrow.RecordBatch], sizes: Sequence[int]) -> Iterator[tuple[int, pyarrow.RecordBatch]]:
    """Yield rows with the place of the file that each part belongs to.

    Args:
        batches: all rows, in the order of the files.
        sizes: how many rows each file holds; none is empty.

    Raises:
        DestinationError: there are more rows than that, or fewer.
    """
    place, left = 0, sizes[0]
    for batch in batches:
        rest = batch
        while rest.num_rows:
            if not left:
                place += 1
                if place == len(sizes):
                    raise DestinationError("there are more rows than the table's files say")
                left = sizes[place]
            taken = min(left, rest.num_rows)
            yield place, rest.slice(0, taken)
            rest, left = rest.slice(taken), left - taken
    if left or place != len(sizes) - 1:
        raise DestinationError("there are fewer rows than the table's files say")


def write_files(
    files: Sequence[Path], fields: pyarrow.Schema, numbered: Iterator[tuple[int, pyarrow.RecordBatch]]
) -> None:
    """Write files one after the other; one that gets no rows is written without any.

    Args:
        files: where.
        fields: the columns of all of them.
        numbered: rows, with the place of their file, ascending.

    Raises:
        DestinationError: the columns cannot be written as Parquet.
        OSError: a file cannot be written.
    """
    written = set()
    for place, parts in groupby(numbered, key=lambda each: each[0]):
        _write(files[place], fields, (batch for _, batch in parts))
        written.add(place)
    for place, file in enumerate(files):
        if place not in written:
            _write(file, fields, iter(()))


def _write(file: Path, fields: pyarrow.Schema, batches: Iterator[pyarrow.RecordBatch]) -> None:
    import pyarrow
    import pyarrow.parquet

    with ExitStack() as opened:
        try:
            writer = opened.enter_context(pyarrow.parquet.ParquetWriter(file, fields))
            for batch in batches:
                writer.write_batch(batch)
        except pyarrow.ArrowException as error:
            raise DestinationError(f"cannot write `{file.name}`: {shown_error(str(error))}") from error


def sampled_rows(files: Mapping[str, Path], wanted: pyarrow.Schema, share: float) -> Iterator[pyarrow.RecordBatch]:
    """Yield about a share of the rows of files, the same ones each time.

    Args:
        files: by their path in the table's folder; there is one at least.
        wanted: the columns.
        share: of the rows, between 0 and 1.

    Raises:
        DestinationError: a file cannot be read.
    """
    import pyarrow

    try:
        yield from sample((_sampled(name, file, wanted) for name, file in files.items()), share)
    except (pyarrow.ArrowException, OSError) as error:
        folder = next(iter(files.values())).parent
        raise DestinationError(f"cannot read a file in `{folder}`: {error}") from error


def _sampled(name: str, file: Path, wanted: pyarrow.Schema) -> Sampled:
    """Return a file of a table; one that lacks a column is read as a whole, as what is null costs nothing."""
    import pyarrow.parquet

    names = {each: each for each in wanted.names}
    footer = pyarrow.parquet.read_metadata(file)
    if has_plainly(footer.schema.to_arrow_schema(), names, wanted):
        return Sampled(group_sizes(footer), lambda groups: read_groups(file, groups, names, wanted))
    return Sampled((footer.num_rows,), lambda _: read_rows(file, wanted, partition_values(name)))

"""Rows of a table in a folder of Parquet: read as those of any table on files, and written to several files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from schemactl.destinations._lake.reading import read_parquet
from schemactl.destinations._lake.table import DataFile, FilesTable, group_sizes
from schemactl.destinations.parquet.catalogue import partition_values
from schemactl.destinations.parquet.fields import joint_fields
from schemactl.errors import DestinationError
from schemactl.examples import shown_error
from schemactl.normalization.package import rows_in

if TYPE_CHECKING:
    import pyarrow


def cut(batches: Iterator[pyarrow.RecordBatch], sizes: Sequence[int]) -> Iterator[tuple[int, pyarrow.RecordBatch]]:
    """Yield rows in the order of files, with the place of the file that each part belongs to; no file is empty.

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
    """Write files one after the other; rows come with the place of their file, ascending, and some files get none.

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

    try:
        with pyarrow.parquet.ParquetWriter(file, fields) as writer:
            for batch in batches:
                writer.write_batch(batch)
    except pyarrow.ArrowException as error:
        raise DestinationError(f"cannot write `{file.name}`: {shown_error(str(error))}") from error


@dataclass(frozen=True)
class FolderTable(FilesTable):
    """A table of a folder of Parquet.

    Attributes:
        held: its files, by their path in the table's folder.
        folder: where new files are made, called as the table.
        stated: the columns of new files; None for those of all files together.
    """

    held: Mapping[str, Path]
    folder: Path
    stated: pyarrow.Schema | None = None

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def place(self) -> Path:
        return self.folder

    @cached_property
    def fields(self) -> pyarrow.Schema:
        return joint_fields(self.held) if self.stated is None else self.stated

    def files(self) -> Sequence[DataFile]:
        return [DataFile(name, path) for name, path in self.held.items()]

    def read(
        self, file: DataFile, columns: Sequence[str], groups: Sequence[int] | None = None
    ) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow.parquet

        with _wrap_errors(file.handle), pyarrow.parquet.ParquetFile(file.handle) as opened:
            names = opened.schema_arrow.names
            stated = {name: value for name, value in partition_values(file.path).items() if name not in names}
            yield from read_parquet(opened, self.chosen(columns), groups, stated=stated)

    def group_sizes(self, file: DataFile) -> tuple[int, ...]:
        import pyarrow.parquet

        with _wrap_errors(file.handle):
            return group_sizes(pyarrow.parquet.read_metadata(file.handle))

    def row_count(self) -> int:
        return sum(map(rows_in, self.held.values()))


@contextmanager
def _wrap_errors(file: Path) -> Iterator[None]:
    import pyarrow

    try:
        yield
    except pyarrow.ArrowInvalid as error:
        raise DestinationError(f"cannot read `{file}`: {shown_error(str(error))}") from error
    except (pyarrow.ArrowException, OSError) as error:
        raise DestinationError(f"cannot read `{file}`: {error}") from error

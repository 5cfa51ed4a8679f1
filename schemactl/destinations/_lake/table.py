"""The interface of table formats that loads need, and the choice of rows for a sample.

Nothing here knows a format.
"""

from __future__ import annotations

import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar, Final

from schemactl.destinations._journal import Versions
from schemactl.destinations._table_rows import arrow_fields
from schemactl.errors import DestinationError
from schemactl.normalization.package import Among, LoadPackage
from schemactl.schema.structure import NameLimits
from schemactl.schema.types import Column, Properties, Table

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

_GOLDEN: Final = 0x9E3779B97F4A7C15
"""The fraction of the golden ratio, in parts of 2**64."""

_WHOLE: Final = 2**64


@dataclass(frozen=True, slots=True)
class Sampled:
    """A file that a sample takes rows of.

    Attributes:
        groups: the number of rows in each part of it that can be read separately.
        read: yields all rows of some parts, by their places in ``groups``, ascending.
    """

    groups: tuple[int, ...]
    read: Callable[[tuple[int, ...]], Iterator[pyarrow.RecordBatch]]


def sample(files: Iterable[Sampled], share: float) -> Iterator[pyarrow.RecordBatch]:
    """Yield about a share, between 0 and 1, of the rows of files, which come always in the same order.

    Some rows of every file are taken, the same rows each time, and little else is read. Of each file only as many
    groups of rows are read as contain the share. Their rows are numbered through all files, and a row is taken if the
    fraction of its number times the golden ratio is small: such rows are spread evenly, follow no period of the data
    (Weyl's equidistribution), and their number is right to a few rows.
    """
    seen_groups = seen_rows = 0
    for file in files:
        target = share * sum(file.groups)
        chosen = _choose(file.groups, target, seen_groups)
        group_rows = sum(file.groups[group] for group in chosen)
        if group_rows and (mask := _mask(seen_rows, group_rows, target / group_rows)).true_count:
            yield from (batch.filter(is_chosen) for batch, is_chosen in with_mask(file.read(chosen), mask))
        seen_groups, seen_rows = seen_groups + len(file.groups), seen_rows + group_rows


def _choose(groups: Sequence[int], target: float, start: int) -> tuple[int, ...]:
    """Return places of groups that lie evenly in a file and have enough rows."""
    order = sorted(range(len(groups)), key=lambda group: (start + group + 1) * _GOLDEN % _WHOLE)
    chosen: list[int] = []
    chosen_rows = 0
    for group in order:
        if chosen_rows >= target:
            break
        chosen.append(group)
        chosen_rows += groups[group]
    return tuple(sorted(chosen))


def _mask(start: int, count: int, share: float) -> pyarrow.BooleanArray:
    """Return a mask of the sampled rows, for rows numbered from ``start``."""
    import numpy
    import pyarrow

    if share >= 1.0:
        return pyarrow.repeat(True, count)
    numbers = numpy.arange(start + 1, start + count + 1, dtype=numpy.uint64)
    # The product wraps, which leaves the fraction.
    return pyarrow.array(numbers * numpy.uint64(_GOLDEN) < numpy.uint64(int(share * _WHOLE)))


def with_mask(
    batches: Iterable[pyarrow.RecordBatch], mask: pyarrow.BooleanArray
) -> Iterator[tuple[pyarrow.RecordBatch, pyarrow.BooleanArray]]:
    """Yield batches, each with its part of a mask over the rows of all."""
    start = 0
    for batch in batches:
        yield batch, mask.slice(start, batch.num_rows)
        start += batch.num_rows


BATCH_ROWS: Final = 131_072


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a table as it is now; ``handle`` is the format's own."""

    path: str
    handle: Any


class FilesTable(ABC):
    """A table whose files can be read, and to which files can be added."""

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in the dataset."""

    @property
    @abstractmethod
    def fields(self) -> pyarrow.Schema:
        """The columns of new files: types, nulls, and the format's metadata."""

    @property
    def partitions(self) -> Sequence[str]:
        """The columns whose values are the same in all rows of a file."""
        return ()

    @abstractmethod
    def files(self) -> Sequence[DataFile]:
        """Return the files that hold its rows now."""

    @abstractmethod
    def open_file(self, file: DataFile) -> AbstractContextManager[pyarrow.parquet.ParquetFile]:
        """Return a context in which a file is open for reading, and errors are translated."""

    def names_in(
        self,
        file: DataFile,  # noqa: ARG002 - overrides use it
        file_schema: pyarrow.Schema,
        columns: Sequence[str],
    ) -> tuple[Mapping[str, str | None], Mapping[str, Any]]:
        """Return the file's names of the table's columns, None for columns that it lacks, and constant values.

        Such a value is in all rows of its column, whatever the file holds.
        """
        return {name: name if name in file_schema.names else None for name in columns}, {}

    def read(
        self, file: DataFile, columns: Sequence[str], groups: Sequence[int] | None = None
    ) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows of one file, always in the same order and in the types of ``fields``.

        Args:
            file: the file.
            columns: names; columns that the file lacks are null.
            groups: the numbers of the groups of rows that are read, ascending; None for all.
        """
        import pyarrow

        fields = self.chosen(columns)
        with self.open_file(file) as opened:
            names, constants = self.names_in(file, opened.schema_arrow, columns)
            file_names = {
                name: file_name for name in fields.names if name not in constants and (file_name := names.get(name))
            }
            chosen = range(opened.num_row_groups) if groups is None else groups
            if file_names:
                batches = opened.iter_batches(BATCH_ROWS, row_groups=list(chosen), columns=list(file_names.values()))
            else:
                sizes = (opened.metadata.row_group(number).num_rows for number in chosen)
                empty = pyarrow.struct([])
                batches = (pyarrow.RecordBatch.from_struct_array(pyarrow.nulls(rows, empty)) for rows in sizes)
            for batch in batches:
                arrays = [
                    batch.column(file_names[name])
                    if name in file_names
                    else pyarrow.repeat(constants.get(name), batch.num_rows)
                    for name in fields.names
                ]
                yield in_fields(pyarrow.RecordBatch.from_arrays(arrays, fields.names), fields)

    def group_sizes(self, file: DataFile) -> tuple[int, ...]:
        """Return the number of rows in each group of a file that can be read separately."""
        with self.open_file(file) as opened:
            return tuple(opened.metadata.row_group(number).num_rows for number in range(opened.num_row_groups))

    @abstractmethod
    def row_count(self) -> int:
        """Return how many rows it holds, by the metadata of its files."""

    @property
    @abstractmethod
    def place(self) -> Path | None:
        """The folder of new files; None if that is no folder of this machine."""

    def new_file(self, name: str) -> str:
        """Return the path of a new file of this name."""
        return str(self.place / name) if self.place else name

    def write(self, path: str) -> IO[bytes]:
        """Open a new file for writing."""
        return Path(path).open("xb")

    def adopt(self, source: Path, path: str) -> None:
        """Make a new file of a finished file, which stays."""
        link_or_copy(source, Path(path))

    def chosen(self, columns: Sequence[str]) -> pyarrow.Schema:
        """Return some of the columns."""
        import pyarrow

        fields = self.fields
        return pyarrow.schema([fields.field(name) for name in columns])

    def batches(self, columns: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
        """Return all rows, in the types of ``fields``."""
        files = self.files()
        return (batch for file in files for batch in self.read(file, columns))

    def rows_of(self, table: Table, among: Among | None) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows; columns that the table lacks are null. See ``Readable.read_table``."""
        import pyarrow
        import pyarrow.compute as pc

        fields = arrow_fields(table)
        stored_names = [name for name in fields.names if name in self.fields.names]
        if among is not None and among.column not in stored_names:
            return
        values = None if among is None else pyarrow.array(sorted(among.values), pyarrow.string())
        for batch in self.batches(stored_names):
            if among is not None and values is not None:
                batch = batch.filter(pc.is_in(batch.column(among.column).cast(pyarrow.string()), values))
            yield in_fields(batch, fields)

    def sample(self, columns: Sequence[str], share: float) -> Iterator[pyarrow.RecordBatch]:
        """Yield about a share of the rows, as ``batches`` does: the same rows each time, some of every file."""
        return sample(
            (Sampled(self.group_sizes(file), partial(self.read, file, columns)) for file in self.files()), share
        )

    def discard_files(self, attempt: str) -> None:
        """Remove the files that a load or a rewrite has made and not committed, where they can be found."""
        for file in self.place.glob(f"{attempt}-*") if self.place else ():
            file.unlink(missing_ok=True)


def in_fields(batch: pyarrow.RecordBatch, fields: pyarrow.Schema) -> pyarrow.RecordBatch:
    """Return rows with just these columns, in their types; columns that the rows lack are null."""
    import pyarrow

    arrays = []
    for field in fields:
        is_new = field.name not in batch.schema.names
        array = pyarrow.nulls(batch.num_rows, field.type) if is_new else batch.column(field.name)
        arrays.append(array if array.type == field.type else array.cast(field.type))
    return pyarrow.RecordBatch.from_arrays(arrays, schema=fields)


def link_or_copy(source: Path, path: Path) -> None:
    """Give a file a second name; copy it if that fails, for example on another file system."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, path)
    except OSError:
        shutil.copyfile(source, path)


class LakeTable(FilesTable):
    """One table, as of its last commit."""

    __slots__ = ()

    @property
    @abstractmethod
    def kinds(self) -> Mapping[str, Properties]:
        """The columns in dlt's types."""

    @property
    @abstractmethod
    def version(self) -> int:
        """The version to which ``restore`` goes back."""

    @property
    @abstractmethod
    def blocker(self) -> str | None:
        """Why rows cannot be loaded into it, None if they can."""

    @abstractmethod
    def add_columns(self, fields: Sequence[pyarrow.Field], load_id: str) -> LakeTable:
        """Return the table with columns added at the end."""

    def grow_columns(self, fields: Sequence[pyarrow.Field], load_id: str) -> LakeTable:
        """Return the table with columns of structs or lists that have more or wider fields."""
        # For an existing column, formats add the new fields to its structs.
        return self.add_columns(fields, load_id)

    @abstractmethod
    def commit(self, added: Sequence[str], removed: Sequence[DataFile], load_id: str) -> None:
        """Add and remove files in one step, marked with the load; fail if another program has changed the table."""

    @abstractmethod
    def is_touched_by_others(self, since: int | None, load_id: str) -> bool:
        """Return whether another than this load has committed after a version; None: since it was made."""

    @abstractmethod
    def restore(self, version: int, load_id: str) -> None:
        """Restore the rows of an earlier version, in a new commit if the format needs one."""


class Lake(ABC):
    """A dataset."""

    __slots__ = ()

    names: ClassVar[NameLimits]
    """The name limits of the format."""

    widens: ClassVar[Collection[tuple[str, str]]] = ()
    """Fields in structs that are made wider without other files: pairs of types, as DDL calls them."""

    @property
    @abstractmethod
    def origin(self) -> str:
        """Its address, for messages."""

    @abstractmethod
    def kind_of(self, column: Column) -> Properties:
        """Return the type that a new column gets, in dlt's types."""

    @abstractmethod
    def locked(self) -> AbstractContextManager[None]:
        """Keep other loads out."""

    @abstractmethod
    def open(self, name: str) -> LakeTable | None:
        """Return a table; None if it does not exist."""

    @abstractmethod
    def create(
        self,
        name: str,
        fields: Sequence[pyarrow.Field],
        load_id: str,
        *,
        partitions: Sequence[str],
        description: str | None,
    ) -> LakeTable:
        """Make a table without rows."""

    @abstractmethod
    def drop(self, name: str) -> None:
        """Remove a table with its files."""

    @abstractmethod
    def read_journal(self) -> Versions | None:
        """Return the journal of the load under way."""

    @property
    @abstractmethod
    def lock_folder(self) -> Path:
        """The folder whose lock ``locked`` holds."""

    @property
    def has_leftovers(self) -> bool:
        """Whether a command is writing, or was killed while it wrote: the next session that writes ends that."""
        try:
            return self.read_journal() is not None
        except DestinationError:  # no load has written it: the next session that writes refuses it
            return True

    def remove_leftovers(self) -> None:  # noqa: B027 - for formats that remember steps of migrations
        """Remove the files that killed migrations have not committed, and warn of them."""

    @abstractmethod
    def write_journal(self, journal: Versions | None) -> None:
        """Write the journal of the running load, or remove it, in one step."""

    @abstractmethod
    def read_rows(self, table: Table, /, **equal: str) -> Iterator[Mapping[str, Any]]:
        """Yield rows of a table in which the dataset keeps its loads; see ``ReadRows``."""

    def table_rows(self, table: Table, among: Among | None = None) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows of a table; see ``Readable.read_table``."""
        lake_table = self.open(table.name)
        if lake_table is not None:
            yield from lake_table.rows_of(table, among)

    @abstractmethod
    def finish(self, package: LoadPackage, prefix: str) -> None:
        """Remember schema, inputs, and last, in one step, that the load is complete.

        Names of new files in tables begin with ``prefix``.
        """

    def own_tables(self, package: LoadPackage) -> Sequence[str]:  # noqa: ARG002 - for formats that keep tables
        """Return the tables that ``finish`` adds to."""
        return ()

    def own_files(self, package: LoadPackage) -> Sequence[str]:  # noqa: ARG002 - for formats that keep files
        """Return the files that ``finish`` makes, save the one that completes the load."""
        return ()

    def discard_own(self, journal: Versions) -> None:  # noqa: B027 - for formats that keep files
        """Remove the files of ``own_files`` of a load that was undone."""

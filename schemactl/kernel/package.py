"""Writes one partition of records from Spark to Parquet files, and returns a summary of the written files.

Each attempt writes its own files under random names; files that the driver gets no summary of are never listed.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs
import pyarrow.parquet

from schemactl.garbage_collection import paused_collector
from schemactl.kernel.chunks import NO_KEYS, Chunk
from schemactl.kernel.coercion import text_of
from schemactl.kernel.columnar import ColumnarSource, chunk_of_model, chunks_of_rows, rows_by_table
from schemactl.kernel.dispatch import BLOCK_SHIFT, ONE_TABLE, Dispatch, Piece, Tables
from schemactl.kernel.outcome import RowOutcome
from schemactl.kernel.partitions import Gaps, RecordReader, RowReader, RowsPiece, read_rows, row_number
from schemactl.kernel.reading import AS_THEY_ARE, ReadOptions
from schemactl.kernel.reject_records import DroppedValues, with_records
from schemactl.kernel.rows import MadeRows, RowMaker
from schemactl.normalization.plan import Plan
from schemactl.normalization.tally import LoadTime

if TYPE_CHECKING:
    from schemactl.kernel.models import RejectedDocuments
    from schemactl.kernel.typing_rows import RejectedRows

_MOST_BYTES_HELD: Final = 1 << 26
"""Of rows that wait to be written; each table gets a row group of them."""


@dataclass(frozen=True, slots=True)
class RowsJob:
    """The job of all partitions of a load.

    Attributes:
        plans: the plans by their tables, as a dispatch names them.
        load, compared: as in ``RowMaker``.
        folder: the address of an existing folder for files. None if rows are only counted.
        options: the options for reading records.
        stray: the table whose rejects contain documents without a table.
    """

    plans: Mapping[Tables, Plan]
    load: LoadTime
    compared: Mapping[str, Sequence[str]]
    folder: str | None
    options: ReadOptions = AS_THEY_ARE
    stray: str | None = None

    def makers(self) -> list[RowMaker]:
        """Return a row maker for each plan."""
        return [
            RowMaker(plan, self.load, {root: key for root, key in self.compared.items() if root in plan.tables})
            for plan in self.plans.values()
        ]


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file, by its name in the folder, and how many rows it has."""

    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """The files of one attempt: of tables with rows, of their places (``MadeRows.places``), of rejects by plan."""

    tables: dict[str, WrittenFile] = field(default_factory=dict)
    places: dict[str, WrittenFile] = field(default_factory=dict)
    rejects: dict[int, WrittenFile] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """The files of one partition, the outcome of each plan's rows, and the file and number of its first record."""

    first: tuple[str, int] | None
    files: WrittenFiles
    outcomes: tuple[RowOutcome, ...]


def write_documents(
    batches: Iterable[pa.RecordBatch],
    job: RowsJob,
    folder: str,
    before: Mapping[tuple[str, int], int],
    gaps: Gaps | None = None,
    columns: Sequence[str] = (),
) -> WrittenPart:
    """Write the rows of JSON documents.

    Args:
        batches: as ``partitions.RecordReader`` reads them.
        job: the same for all partitions.
        folder: the working folder of the command.
        before: the number of records before each block in its file, by file name (as shown to people) and block.
        gaps: rows of files that are not records, see ``partitions.row_number``.
        columns: as in ``partitions.RecordReader.pieces``.
    """
    pieces = RecordReader(folder).pieces(batches, job.options, columns)
    return _write(job, _document_chunks(pieces, before, columns), gaps)


def write_columnar(
    batches: Iterable[pa.RecordBatch],
    job: RowsJob,
    folder: str,
    before: Mapping[tuple[str, int], int],
    source: ColumnarSource,
    gaps: Gaps | None = None,
) -> WrittenPart:
    """Write the rows of sources that declare their types; see ``write_documents`` for the arguments."""
    if source.task is not None:
        # Only typings need these modules, which take a quarter of a second to load.
        from schemactl.arc.text_columns import TextTyper
        from schemactl.kernel.typing_rows import type_names, typed_rows

        typer = TextTyper(source.task.typing)
        rows_by_table = (
            (ONE_TABLE, row)
            for file, block, offset, rows in read_rows(batches, folder)
            for row in typed_rows(rows, file, before[file, block] + offset + 1, source, typer)
        )
        return _write(job, rows_by_table, gaps, type_names(source.task))
    if job.options.model is not None:
        pieces = RowReader(folder, source).pieces(batches, job.options)
        return _write(job, _document_chunks(pieces, before, source=source), gaps)
    return _write(job, _row_chunks(batches, folder, before, source, job.options.dispatch), gaps)


def _row_chunks(
    batches: Iterable[pa.RecordBatch],
    folder: str,
    before: Mapping[tuple[str, int], int],
    source: ColumnarSource,
    dispatch: Dispatch | None,
) -> Iterator[tuple[str, Chunk]]:
    for file, block, offset, rows in read_rows(batches, folder):
        first = before[file, block] + offset + 1
        for table, mask in rows_by_table(rows, source.names, dispatch):
            table_rows = rows if mask is None else rows.filter(mask)
            numbers: Sequence[int] = range(first, first + len(rows))
            if mask is not None:
                numbers = [first + index for index in pc.indices_nonzero(mask).to_pylist()]
            if table is not None:
                yield from ((table, chunk) for chunk in chunks_of_rows(table_rows, file, numbers, source))


def _write(
    job: RowsJob,
    chunks: Iterable[tuple[str | None, Chunk | RejectedRows | RejectedDocuments]],
    gaps: Gaps | None = None,
    types: Mapping[str, str] | None = None,
) -> WrittenPart:
    makers = job.makers()
    plan_indexes = {table: plan_index for plan_index, tables in enumerate(job.plans) for table in tables}
    dropped = [DroppedValues.of(maker.plan) for maker in makers]
    writer = None if job.folder is None else PartitionWriter(job.folder, makers)
    first = None
    with paused_collector():
        for table, chunk in chunks:
            name = job.stray if table is None else table
            plan_index = None if name is None else plan_indexes.get(name)
            if plan_index is None:
                continue
            maker = makers[plan_index]
            if gaps is not None:
                chunk = replace(chunk, numbers=[row_number(number, chunk.file, gaps) for number in chunk.numbers])
            if first is None and len(chunk.numbers):
                first = (chunk.file, int(chunk.numbers[0]))
            origin = job.load.origins.get(chunk.file)
            if origin is not None:
                lines = [origin.lines[number - 1] for number in chunk.numbers]
                chunk = replace(chunk, file=origin.file, numbers=lines)
            load = job.load if origin is None else replace(job.load, id=origin.load_id)
            if isinstance(chunk, Chunk):
                rows = maker.make(chunk if origin is None else replace(chunk, load_id=origin.load_id))
                rows = _with_records(rows, chunk, maker, dropped[plan_index]) if rows.rejects else rows
            elif table is None:
                rows = _reject(chunk, "", {}, load, dropped[plan_index])
            else:
                root_table = maker.plan.rows.table
                maker.outcome.count(root_table, read=len(chunk.numbers), rejected=len(chunk.numbers))
                maker.outcome.documents += len(chunk.numbers)
                rows = _reject(chunk, root_table, types or {}, load, dropped[plan_index])
            if writer is not None:
                writer.add(plan_index, rows)
        files = WrittenFiles() if writer is None else writer.close()
    return WrittenPart(first, files, tuple(maker.outcome for maker in makers))


def _with_records(rows: MadeRows, chunk: Chunk, maker: RowMaker, dropped: DroppedValues | None) -> MadeRows:
    """Return rows whose rejects have the records of their chunk."""
    indexes = {int(number): index for index, number in enumerate(chunk.numbers)}
    rejects = with_records(
        rows.rejects,
        maker.plan.rows.table,
        dropped,
        lambda line: chunk.record_text(indexes[line]),
        lambda line: rows.root_keys[indexes[line]],
    )
    return replace(rows, rejects=rejects)


def _reject(
    rows: RejectedRows | RejectedDocuments,
    table: str,
    types: Mapping[str, str],
    load: LoadTime,
    dropped: DroppedValues | None,
) -> MadeRows:
    """Return the rejects of rows that typing or a model rejects; ``table`` is empty for records of no table."""
    described = rows.describe(table, types, load)
    texts = dict(zip(described.column("line").to_pylist(), described.column("row").to_pylist(), strict=True))
    return MadeRows(rejects=with_records([described], table, dropped, texts.__getitem__))


def _document_chunks(
    pieces: Iterable[Piece | RowsPiece | RejectedDocuments],
    before: Mapping[tuple[str, int], int],
    columns: Sequence[str] = (),
    source: ColumnarSource | None = None,
) -> Iterator[tuple[str | None, Chunk | RejectedDocuments]]:
    for item in pieces:
        if isinstance(item, RowsPiece):
            # A position counts from the beginning of the block.
            block, offset = item.first.number >> BLOCK_SHIFT, item.first.number & ((1 << BLOCK_SHIFT) - 1)
            start, cells = before[item.first.file, block] + offset + 1, item.rows.columns
            rows = range(start, start + len(cells[0]))
            documents = [NO_KEYS] * len(rows)
            texts = dict(zip(columns, cells, strict=True))
            yield ONE_TABLE, Chunk(item.first.file, rows, documents, texts, columns, omits_nulls=True)
            continue
        piece = item if isinstance(item, Piece) else item.piece
        file, start = piece.positions.file, before[piece.positions.file, piece.positions.block] + 1
        numbers = [start + record for record in piece.positions.records]
        if not isinstance(item, Piece):
            yield piece.table, replace(item, numbers=numbers)
        elif piece.table is not None and source is not None:
            yield piece.table, chunk_of_model(piece, numbers, source)
        elif piece.table is not None:
            yield piece.table, Chunk(file, numbers, piece.documents, ignored=piece.ignored, originals=piece.originals)


def find_records(
    batches: Iterable[pa.RecordBatch],
    folder: str,
    before: Mapping[tuple[str, int], int],
    positions: Set[tuple[str, int]],
    source: ColumnarSource | None = None,
    gaps: Gaps | None = None,
) -> list[tuple[str, int, str]]:
    """Return the records of these files and numbers: file, number, JSON.

    A source has rows with declared types, all other records are documents; see ``write_documents`` for the arguments.
    """
    records: list[tuple[str, int, str]] = []
    chunks: Iterable[tuple[str | None, Any]] = (
        _document_chunks(RecordReader(folder).pieces(batches, AS_THEY_ARE, ()), before)
        if source is None
        else _row_chunks(batches, folder, before, source, None)
    )
    for _, chunk in chunks:
        for index, number in enumerate(chunk.numbers):
            position = (chunk.file, row_number(number, chunk.file, gaps) if gaps is not None else number)
            if position in positions:
                record = json.dumps(chunk.whole_documents[index], default=text_of, ensure_ascii=False)
                records.append((*position, record))
    return records


def open_folder(address: str) -> tuple[pyarrow.fs.FileSystem, str]:
    """Return the file system of an existing folder, and its path there."""
    system, path = pyarrow.fs.FileSystem.from_uri(address)
    if system.get_file_info(path).type is pyarrow.fs.FileType.NotFound:
        raise FileNotFoundError(f"this machine does not reach the staging folder {address}")
    return system, path


class PartitionWriter:
    """Writes the rows of one attempt at one partition, a file for each table that has any."""

    def __init__(self, folder: str, makers: Sequence[RowMaker]) -> None:
        self._system, self._path = open_folder(folder)
        self._attempt = secrets.token_hex(8)
        self._tables = [table for maker in makers for table in maker.schemas]
        self._held: dict[str, list[pa.RecordBatch]] = {}
        self._held_bytes = 0
        self._writers: dict[str, pyarrow.parquet.ParquetWriter] = {}
        self._rows: dict[str, int] = {}

    def add(self, plan: int, rows: MadeRows) -> None:
        """Add the rows that a plan makes from a chunk."""
        for kind, batches in (("t", rows.tables), ("p", rows.places)):
            for table, table_batches in batches.items():
                self._hold(f"{kind}{self._tables.index(table)}", table_batches)
        if rows.rejects:
            self._hold(f"r{plan}", rows.rejects)
        if self._held_bytes > _MOST_BYTES_HELD:
            self._flush()

    def close(self) -> WrittenFiles:
        """Return the files that were written."""
        self._flush()
        for writer in self._writers.values():
            writer.close()
        files = {name: WrittenFile(self._file(name), rows) for name, rows in self._rows.items() if rows}
        tables = {table: files[f"t{index}"] for index, table in enumerate(self._tables) if f"t{index}" in files}
        places = {table: files[f"p{index}"] for index, table in enumerate(self._tables) if f"p{index}" in files}
        rejects = {int(name[1:]): file for name, file in files.items() if name.startswith("r")}
        return WrittenFiles(tables, places, rejects)

    def _hold(self, name: str, batches: Sequence[pa.RecordBatch]) -> None:
        pending = self._held.setdefault(name, [])
        for batch in batches:
            if batch.num_rows:
                pending.append(batch)
                self._held_bytes += batch.nbytes

    def _flush(self) -> None:
        for name, batches in self._held.items():
            if not batches:
                continue
            table = pa.Table.from_batches(batches)
            if name not in self._writers:
                self._writers[name] = parquet_writer(self._system, f"{self._path}/{self._file(name)}", table.schema)
            self._writers[name].write_table(table)
            self._rows[name] = self._rows.get(name, 0) + table.num_rows
        self._held, self._held_bytes = {}, 0

    def _file(self, name: str) -> str:
        return f"{self._attempt}-{name}.parquet"


def parquet_writer(system: pyarrow.fs.FileSystem, path: str, schema: pa.Schema) -> pyarrow.parquet.ParquetWriter:
    """Open a file for rows; keys of rows, which are all different, are written without a dictionary."""
    worded = [field.name for field in schema if not field.name.endswith(_KEY_NAMES)]
    return pyarrow.parquet.ParquetWriter(path, schema, filesystem=system, use_dictionary=worded)


_KEY_NAMES: Final = ("dlt_id", "dlt_parent_id", "dlt_root_id", "DLT_ID", "DLT_PARENT_ID", "DLT_ROOT_ID")


def drop_superseded(
    batches: Iterable[pa.RecordBatch], folder: str, superseded: str, keeps: Sequence[str]
) -> list[tuple[int, str, WrittenFile, WrittenFile]]:
    """Rewrite files without their superseded rows; return both files for each partition and table.

    Args:
        batches: a column ``part``: as JSON, the number of a partition, a table, and the names of the files with its
            rows and with their places.
        folder: the folder of the files.
        superseded: a folder of Parquet files with the columns ``part`` (the partition's number) and ``ordinal`` of
            superseded root rows.
        keeps: the tables whose superseded rows are written to separate files.
    """
    system, path = open_folder(folder)
    superseded_system, superseded_path = open_folder(superseded)
    from pyarrow.dataset import dataset  # which loads pandas, where that is installed

    superseded_rows = dataset(superseded_path, filesystem=superseded_system, format="parquet")
    written = []
    for batch in batches:
        for text in batch.column("part").to_pylist():
            partition, table, rows, places = json.loads(text)
            ordinals = superseded_rows.to_table(["ordinal"], filter=pc.field("part") == partition).column("ordinal")
            files = _split_file(system, path, rows, places, ordinals, keeps_superseded=table in keeps)
            written.append((partition, table, *files))
    return written


def _split_file(
    system: pyarrow.fs.FileSystem, path: str, rows: str, places: str, ordinals: Any, *, keeps_superseded: bool
) -> tuple[WrittenFile, WrittenFile]:
    attempt = secrets.token_hex(8)
    writers: dict[str, pyarrow.parquet.ParquetWriter] = {}
    counts = {"current": 0, "superseded": 0}
    with (
        pyarrow.parquet.ParquetFile(f"{path}/{rows}", filesystem=system) as data,
        pyarrow.parquet.ParquetFile(f"{path}/{places}", filesystem=system) as row_places,
    ):
        for group in range(data.num_row_groups):
            table = data.read_row_group(group)
            row_ordinals = row_places.read_row_group(group, ["ordinal"]).column("ordinal")
            is_superseded = pc.is_in(row_ordinals, value_set=ordinals)
            for name, mask in (("current", pc.invert(is_superseded)), ("superseded", is_superseded)):
                rows_of_name = table.filter(mask)
                counts[name] += rows_of_name.num_rows
                if rows_of_name.num_rows and (name == "current" or keeps_superseded):
                    if name not in writers:
                        file = f"{path}/{attempt}-{name}.parquet"
                        writers[name] = parquet_writer(system, file, table.schema)
                    writers[name].write_table(rows_of_name)
    for writer in writers.values():
        writer.close()
    current, superseded = (
        WrittenFile(f"{attempt}-{name}.parquet" if name in writers else "", count) for name, count in counts.items()
    )
    return current, superseded

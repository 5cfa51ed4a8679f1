"""Reads one partition of records from Spark and collects its evidence: the functions that Spark's workers run."""

from __future__ import annotations

import pickle
from bisect import bisect, bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, compress, groupby
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from schemactl.garbage_collection import paused_collector
from schemactl.inference.evidence import Evidence, Position
from schemactl.inference.survival import Scalars
from schemactl.kernel.cells import TextRows
from schemactl.kernel.dispatch import BLOCK_SHIFT, MOST_TABLES, ONE_TABLE, Dispatch, Piece, Positions, gather
from schemactl.kernel.files import UnreadableFileError, parts_of, read_cells, read_records
from schemactl.kernel.observation import Observer
from schemactl.kernel.outcome import FieldErrors, count_errors, count_ignored
from schemactl.kernel.parsing import is_blank, parse_texts
from schemactl.kernel.reading import AS_THEY_ARE, ReadOptions, Sorter
from schemactl.kernel.recount import Absences, Recount
from schemactl.kernel.sampling import RowSample, is_sampled
from schemactl.memory import why_too_large
from schemactl.schema.paths import Path

if TYPE_CHECKING:
    from schemactl.kernel.columnar import ColumnarSource, RowObserver
    from schemactl.kernel.models import RejectedDocuments

AT_ONCE: Final = 10_000
"""Records that are parsed together, if they are small: each column of a batch has a price."""

MOST_BYTES_AT_ONCE: Final = 1 << 22

MAX_BAD_RECORDS: Final = 20
"""Bad records that are shown; all are counted."""

_SHOWN_OF_BAD: Final = 200


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that is not JSON, and how it begins."""

    position: Position
    text: str


@dataclass(slots=True)
class BlockCounts:
    """The records of one block of a file, as its task counts them.

    Attributes:
        lines: all records, including blank and unsampled ones.
        records: the records that are not blank.
        first_bad: the index of the first bad record in the block, from 0.
    """

    lines: int = 0
    records: int = 0
    documents: int = 0
    bad: int = 0
    first_bad: int | None = None

    def add(self, lines: int, records: int, documents: int, bad: Sequence[int] = ()) -> None:
        """Count further records; ``bad`` are the indexes of bad records in the block, in order."""
        self.lines += lines
        self.records += records
        self.documents += documents
        self.bad += len(bad)
        if bad:
            self.first_bad = bad[0] if self.first_bad is None else min(self.first_bad, bad[0])


Gaps: TypeAlias = Mapping[str, Sequence[int]]
"""Rows that are not records (header, blank lines), by file: the number of records before each; other files have a
header."""


def shown_path(uri: str, folder: str) -> str:
    """Return the path of a Spark address as shown to people: relative if it is below ``folder``."""
    if not uri.startswith("file:"):
        return uri
    path = unquote("/" + uri.removeprefix("file:").lstrip("/"))
    return path.removeprefix(f"{folder.rstrip('/')}/")


def row_number(record: int, file: str, gaps: Gaps | None) -> int:
    """Return the number of a record's row in a spreadsheet; without gaps the record's own number.

    >>> [row_number(record, "a.csv", {"a.csv": (0, 2, 2)}) for record in (1, 2, 3)]
    [2, 3, 6]
    """
    return record if gaps is None else record + bisect_left(gaps.get(file, (0,)), record)


@dataclass(frozen=True, slots=True)
class RowsPiece:
    """Good rows of strings of one file, and the position of the first row."""

    rows: TextRows
    first: Position


class RecordReader:
    """Reads the records of one partition, and counts them.

    Attributes:
        blocks: the counts by file and block.
        bad_records: the first ones that cannot be read.
    """

    def __init__(self, folder: str, share: float = 1) -> None:
        self._folder = folder
        self._share = share
        self.blocks: dict[tuple[str, int], BlockCounts] = {}
        self.bad_records: list[BadRecord] = []

    def read(self, batches: Iterable[pa.RecordBatch], dispatch: Dispatch | None = None) -> Iterator[Piece]:
        """Yield the documents, read together if they seem to go to one table; positions count within their block."""
        with paused_collector():
            for (file, block), runs in groupby(self._runs(batches), itemgetter(0)):
                for texts, records in gather((run[1:] for run in runs), dispatch, AT_ONCE):
                    yield from self._parse(file, block, texts, records)

    def _runs(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[tuple[str, int], Sequence[bytes], int]]:
        """Yield file and block, records of it that follow one another, and the number of the first in the block."""
        for address, block, texts in records_of(batches):
            if not texts:
                continue
            file = shown_path(address, self._folder)
            counts = self.blocks.setdefault((file, block), BlockCounts())
            first, counts.lines = counts.lines, counts.lines + len(texts)
            if reason := why_too_large(max(map(len, texts), default=0)):
                number = first + 1 + max(range(len(texts)), key=lambda index: len(texts[index]))
                # Records in earlier blocks are not counted yet.
                record_name = f"document {number:,}" if block == 0 else "a document"
                raise UnreadableFileError(f"{address}: {record_name} has {reason}")
            yield (file, block), texts, first

    def pieces(
        self, batches: Iterable[pa.RecordBatch], options: ReadOptions, columns: Sequence[str]
    ) -> Iterator[Piece | RowsPiece | RejectedDocuments]:
        if columns:
            yield from self._read_rows(batches, columns)
        else:
            yield from Sorter(options).sort(self.read(batches, options.dispatch))

    def _read_rows(self, batches: Iterable[pa.RecordBatch], columns: Sequence[str]) -> Iterator[Piece | RowsPiece]:
        with paused_collector():
            for file_part in parts_of(batches):
                file, block = shown_path(file_part.file, self._folder), file_part.start
                for rows in read_cells(file_part):
                    count = len(rows.faults)
                    counts = self.blocks.setdefault((file, block), BlockCounts())
                    first, counts.lines = counts.lines, counts.lines + count
                    if rows.faults.null_count < count:
                        yield from self._parse(file, block, rows.documents(columns), range(first, first + count))
                        continue
                    if count:
                        yield RowsPiece(rows, Position(file, (block << BLOCK_SHIFT) + first))
                    counts.add(0, count, count)

    def _parse(self, file: str, block: int, texts: Sequence[bytes], records: Sequence[int]) -> Iterator[Piece]:
        """Parse records of a block; they are numbered as in ``Positions``."""
        counts = self.blocks[file, block]
        mask = None if self._share >= 1 else [is_sampled(text, self._share) for text in texts]
        indexes = range(len(texts)) if mask is None else list(compress(range(len(texts)), mask))
        sampled = texts if mask is None else list(compress(texts, mask))
        parsed = parse_texts(sampled)
        positions = Positions(file, block, records if mask is None else list(compress(records, mask)))
        for index in parsed.bad[:MAX_BAD_RECORDS]:
            text = texts[indexes[index]][: 4 * _SHOWN_OF_BAD].decode("utf-8", "replace")[:_SHOWN_OF_BAD]
            self.bad_records.append(BadRecord(positions[index], text))
        self.bad_records = sorted(self.bad_records, key=attrgetter("position"))[:MAX_BAD_RECORDS]
        count = len(parsed.documents) + len(parsed.bad)
        if mask is not None:
            count += sum(not is_blank(text) for text, is_in_sample in zip(texts, mask, strict=True) if not is_in_sample)
        counts.add(0, count, len(parsed.documents), [positions.records[index] for index in parsed.bad])
        if parsed.documents:
            places = parsed.places
            if places is not None:
                positions, sampled = positions.taken(places), [sampled[index] for index in places]
            yield Piece(parsed.documents, positions, sampled)


class RowReader:
    """Reads the rows of one partition of sources that declare their types as documents, and counts them."""

    def __init__(self, folder: str, source: ColumnarSource) -> None:
        self._folder, self._source = folder, source
        self.blocks: dict[tuple[str, int], BlockCounts] = {}
        self.bad_records: list[BadRecord] = []

    def pieces(
        self, batches: Iterable[pa.RecordBatch], options: ReadOptions, _columns: Sequence[str] = ()
    ) -> Iterator[Piece | RejectedDocuments]:
        """Yield a model's rows, sorted by table."""
        with paused_collector():
            yield from Sorter(options).sort(self._read(batches))

    def _read(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Piece]:
        from schemactl.kernel.columnar import documents_of

        for file, block, offset, rows in read_rows(batches, self._folder):
            indexes: Sequence[int] = range(len(rows))
            count = len(rows)
            if self._source.sample is not None:
                mask = self._source.sample.mask(file, block, offset, count)
                indexes, rows = pc.indices_nonzero(mask).to_pylist(), rows.filter(mask)
            self.blocks.setdefault((file, block), BlockCounts()).add(count, count, len(rows))
            for start in range(0, len(rows), AT_ONCE):
                batch = rows.slice(start, AT_ONCE)
                columns = dict(zip(self._source.names, batch.columns, strict=False))
                records = [offset + index for index in indexes[start : start + AT_ONCE]]
                documents = documents_of(columns, self._source.json_paths)
                yield Piece(documents, Positions(file, block, records), None, ONE_TABLE, columns)


Errors: TypeAlias = dict[str | None, dict[tuple[str, str], FieldErrors]]
"""Errors by table (None if the table is unknown), and by field and contract mode."""


@dataclass(frozen=True, slots=True)
class Share:
    """The evidence of the documents of one partition for one table, their number by file, and the first one."""

    evidence: Evidence
    documents: Mapping[str, int]
    first: Position


class Shares:
    """Collects the evidence of a partition by table.

    With ``too_many``, the stream has more tables than allowed (``MOST_TABLES``); further tables are not collected.
    """

    def __init__(self, types: Mapping[Path, str], names: Sequence[str] = ()) -> None:
        self.names = names
        self.types = types
        self.too_many = False
        self._observers: dict[str | None, Observer] = {}
        self._columns: dict[str | None, RowObserver] = {}
        self._counts: dict[str | None, dict[str, int]] = {}
        self._first: dict[str | None, Position] = {}

    def add(self, piece: Piece) -> None:
        """Add documents of a table; documents without a table are only counted."""
        self.count(piece.table, piece.positions.file, len(piece.documents), piece.positions[0])
        if piece.table is not None and (observer := self._observer(piece.table)) is not None:
            observer.add(piece.documents, piece.positions, None if piece.texts is None else sum(map(len, piece.texts)))
            if piece.columns:
                self._columns_of(piece.table).add_columns(piece.columns, piece.positions)

    def add_columnar(
        self, table: str | None, rows: pa.RecordBatch, file: str, first: int, is_sampled: pa.BooleanArray
    ) -> None:
        """Add rows of declared types, as in ``RowObserver.add``; rows without a table are only counted."""
        self.count(table, file, is_sampled.true_count, Position(file, first + pc.index(is_sampled, True).as_py()))
        if table is None:
            return
        if table in self._columns or len(self._columns) < MOST_TABLES:
            self._columns_of(table).add(rows, file, first, is_sampled)
        else:
            self.too_many = True

    def _columns_of(self, table: str) -> RowObserver:
        from schemactl.kernel.columnar import RowObserver

        return self._columns.setdefault(table, RowObserver(self.names, self.types))

    def add_rows(self, piece: RowsPiece, names: Sequence[str]) -> None:
        """Take rows that all go to one table."""
        self.count(ONE_TABLE, piece.first.file, len(piece.rows.faults), piece.first)
        self._observers.setdefault(ONE_TABLE, Observer()).add_cells(names, piece.rows.columns, piece.first)

    def count(self, table: str | None, file: str, documents: int, first: Position) -> None:
        """Count documents of a table."""
        counts = self._counts.setdefault(table, {})
        counts[file] = counts.get(file, 0) + documents
        self._first[table] = min(first, self._first.get(table, first))

    def _observer(self, table: str) -> Observer | None:
        if table not in self._observers and len(self._observers) >= MOST_TABLES:
            self.too_many = True
            return None
        return self._observers.setdefault(table, Observer())

    def too_deep(self) -> Position | None:
        """Return the first document that nests too deep, as ``Observer.too_deep``."""
        positions = (position.too_deep for position in self._observers.values())
        return min((position for position in positions if position is not None), default=None)

    def by_table(self) -> dict[str | None, Share]:
        """Return the share of each table."""
        for observer in self._observers.values():
            observer.flush()
        deep = self.too_deep() is not None
        return {
            table: Share(Evidence() if deep else self._evidence(table), counts, self._first[table])
            for table, counts in self._counts.items()
        }

    def _evidence(self, table: str | None) -> Evidence:
        observed = self._observers[table].evidence() if table in self._observers else Evidence()
        return replace(observed, counted=self._columns[table].evidence) if table in self._columns else observed


@dataclass(frozen=True, slots=True)
class PartitionResult:
    """The result of one partition.

    Attributes:
        result: shares by table, or the tallies of a recount; positions count from the beginning of their block.
        blocks, bad_records: as in ``RecordReader``.
        too_deep: as in ``Observer``.
        too_many: as in ``Shares``.
        errors: the errors of documents that a model rejects, and of texts that cannot be typed.
        rejected: how many of these are of no table, by file.
        converted: how many texts of each field of a typing became values.
    """

    result: Any
    blocks: dict[tuple[str, int], BlockCounts]
    bad_records: tuple[BadRecord, ...] = ()
    too_deep: Position | None = None
    too_many: bool = False
    errors: Errors = field(default_factory=dict)
    rejected: Mapping[str, int] = field(default_factory=dict)
    converted: Mapping[str, int] = field(default_factory=dict)


def observe_partition(
    batches: Iterable[pa.RecordBatch],
    folder: str,
    share: float = 1,
    options: ReadOptions = AS_THEY_ARE,
    columns: Sequence[str] = (),
    source: ColumnarSource | None = None,
) -> PartitionResult:
    """Return the findings of a partition, including the evidence of each table.

    Args:
        batches: as in ``RecordReader`` or ``RowReader``.
        folder: the working folder of the command.
        share: the share of the records to read.
        options: the options for reading records.
        columns: as in ``RecordReader.pieces``.
        source: the source of rows with declared types that a model validates; None for records.
    """
    reader = RecordReader(folder, share) if source is None else RowReader(folder, source)
    shares = Shares(source.types if source else {})
    errors: Errors = {}
    rejected: Counter[str] = Counter()
    for piece in reader.pieces(batches, options, columns):
        if isinstance(piece, RowsPiece):
            shares.add_rows(piece, columns)
            continue
        if isinstance(piece, Piece):
            shares.add(piece)
            if piece.ignored:
                _add_errors(errors, piece.table, count_ignored(piece.positions, piece.ignored))
            continue
        if piece.piece.table is None:
            rejected[piece.file] += len(piece.errors)
        else:
            shares.count(piece.piece.table, piece.file, len(piece.errors), piece.piece.positions[0])
        _add_errors(errors, piece.piece.table, piece.field_errors())
    bad = tuple(reader.bad_records)
    return PartitionResult(shares.by_table(), reader.blocks, bad, shares.too_deep(), shares.too_many, errors, rejected)


def _add_errors(errors: Errors, table: str | None, more: Mapping[tuple[str, str], FieldErrors]) -> None:
    errors[table] = count_errors(chain(errors.get(table, {}).items(), more.items()))


def count_partition(batches: Iterable[pa.RecordBatch]) -> int:
    """Return the number of records of a partition that are not blank."""
    return sum(not is_blank(text) for _, _, texts in records_of(batches) for text in texts)


def recount_partition(
    batches: Iterable[pa.RecordBatch], folder: str, questions: Sequence[Scalars | Absences], share: float = 1
) -> PartitionResult:
    """Return the findings of a partition, which have a tally for each question."""
    reader, recount = RecordReader(folder, share), Recount(questions)
    for piece in reader.read(batches):
        recount.add(piece.documents, piece.positions)
    return PartitionResult(recount.tallies(), reader.blocks)


def observe_rows_partition(
    batches: Iterable[pa.RecordBatch],
    folder: str,
    names: Sequence[str],
    types: Mapping[Path, str],
    dispatch: Dispatch | None = None,
    sample: RowSample | None = None,
) -> PartitionResult:
    """Return the findings of a partition of a source that declares its types (``read_rows``)."""
    from schemactl.kernel.columnar import rows_by_table

    blocks: dict[tuple[str, int], BlockCounts] = {}
    shares = Shares(types, names)
    for file, block, offset, rows in read_rows(batches, folder):
        count = len(rows)
        in_sample = pa.repeat(True, count) if sample is None else sample.mask(file, block, offset, count)
        blocks.setdefault((file, block), BlockCounts()).add(count, count, in_sample.true_count)
        base = (block << BLOCK_SHIFT) + offset
        for table, mask in rows_by_table(rows, names, dispatch):
            is_table_row = in_sample if mask is None else pc.and_(in_sample, mask)
            if is_table_row.true_count:
                shares.add_columnar(table, rows, file, base, is_table_row)
        if shares.too_many:
            break
    return PartitionResult(shares.by_table(), blocks, too_many=shares.too_many)


def read_rows(batches: Iterable[pa.RecordBatch], folder: str) -> Iterator[tuple[str, int, int, pa.RecordBatch]]:
    """Yield the rows of one block of a file: file name as shown to people, block, index in the block from 0, rows.

    Args:
        batches: either shares for workers to open (``files.parts_of``), which give the columns and why a row is bad, or
            the columns of the source, followed by ``file`` (Spark's address) and ``block``, with the rows of a block
            together. Columns whose names begin with ``timestamp_ltz`` or ``timestamp_ntz`` are timestamps, counted in
            nanoseconds since 1970.
        folder: the working folder of the command.
    """
    offsets: Counter[tuple[str, int]] = Counter()
    for address, block, rows in _rows_of_blocks(batches):
        key = shown_path(address, folder), block
        yield *key, offsets[key], rows
        offsets[key] += len(rows)


def _rows_of_blocks(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, int, pa.RecordBatch]]:
    for batch in batches:
        if batch.schema.names == ["share"]:
            for file_part in parts_of([batch]):
                for rows in read_cells(file_part):
                    columns = [*rows.columns, rows.faults]
                    texts = pa.RecordBatch.from_arrays(columns, list(map(str, range(len(columns)))))
                    yield file_part.file, file_part.start, texts
            continue
        for index, name in enumerate(batch.schema.names):
            if name.startswith("timestamp_"):
                zone = "UTC" if name.startswith("timestamp_ltz") else None
                batch = batch.set_column(index, name, batch.column(index).cast(pa.timestamp("ns", zone)))
        files, blocks = batch.column("file"), batch.column("block")
        for start, end in _runs(files, blocks):
            yield files[start].as_py(), blocks[start].as_py(), batch.slice(start, end - start)


def records_of(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, int, list[bytes]]]:
    """Yield the address of the file, the number of the block, and consecutive records, at most a few megabytes.

    Args:
        batches: shares for workers to open (``files.parts_of``), or records in pieces (``files.PIECES``),
            or single records in the columns ``file``, ``block`` and ``text`` (binary), with the records of a block
            together.
    """
    for batch in batches:
        match batch.schema.names:
            case ["share"]:
                for file_part in parts_of([batch]):
                    for records in read_records(file_part):
                        yield file_part.file, file_part.start, records
            case [*names] if "texts" in names:
                files, blocks = batch.column("file").to_pylist(), batch.column("block").to_pylist()
                pieces = (pickle.loads(piece.as_buffer()) for piece in batch.column("texts"))
                yield from zip(files, blocks, pieces, strict=True)
            case _:
                files, blocks, texts = (batch.column(name) for name in ("file", "block", "text"))
                for start, end in _runs(files, blocks):
                    for first, last in _pieces(texts, start, end):
                        records = texts.slice(first, last - first).to_pylist()
                        yield files[start].as_py(), blocks[start].as_py(), records


def _runs(files: pa.Array, blocks: pa.Array) -> Iterator[tuple[int, int]]:
    """Yield the start and end of the records of each block."""
    start, size = 0, len(files)
    while start < size:
        first = (files[start], blocks[start])
        end = size
        if (files[size - 1], blocks[size - 1]) != first:
            # A block is contiguous, so binary search finds its end.
            end = bisect(range(size), 0, start, size, key=lambda row: (files[row], blocks[row]) != first)
        yield start, end
        start = end


def _pieces(texts: pa.BinaryArray, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a run of records into pieces that are parsed at once."""
    while start < end:
        last = min(start + AT_ONCE, end)
        while last - start > 1 and texts.slice(start, last - start).nbytes > MOST_BYTES_AT_ONCE:
            last = (start + last) // 2
        yield start, last
        start = last

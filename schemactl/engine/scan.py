"""Collects evidence from sources: an engine reads and distributes records, the kernel observes them, this merges.

Documents are read once. Columns of sources that state their types are taken as they are stated, and their values are
counted where that is asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any

from schemactl.engine.input import Input
from schemactl.engine.protocol import Batch, DocumentBatch, Engine, Records, RowBatch, TextBatch
from schemactl.engine.typing import findings_of, types_of
from schemactl.errors import InputError
from schemactl.examples import shown_error
from schemactl.inference.classes import NULL, is_row_key
from schemactl.inference.evidence import Evidence, FileEvidence, PathEvidence, Position, merge, too_deep
from schemactl.inference.report import TypingFinding
from schemactl.inference.sample import Sample
from schemactl.inference.survival import Tally, add
from schemactl.kernel.dispatch import BLOCK_SHIFT, MOST_TABLES, ONE_TABLE, Dispatch
from schemactl.kernel.outcome import FieldErrors
from schemactl.kernel.partitions import (
    MAX_BAD_RECORDS,
    BadRecord,
    BlockCounts,
    Gaps,
    Part,
    Share,
    row_number,
)
from schemactl.kernel.reading import AS_THEY_ARE, ReadOptions
from schemactl.kernel.recount import Absences, Scalars
from schemactl.progress import Progress, no_progress
from schemactl.schema.contract import Mode
from schemactl.schema.paths import Path
from schemactl.schema.typing.model import TypingTask


@dataclass(frozen=True, slots=True)
class ReadDocuments:
    """A batch of documents that was read, to be read again.

    Attributes:
        before: by file, as people are shown it, and block how many records stand before the block in the file.
        records: for the kernel (``partitions.records_of``).
        columns: as of ``partitions.RecordReader.pieces``.
    """

    documents: DocumentBatch
    before: Mapping[tuple[str, int], int]
    records: Records
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadRows:
    """A batch of rows that state their types, to be read again."""

    batch: RowBatch | TextBatch
    before: Mapping[tuple[str, int], int]


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of a scan.

    Attributes:
        tables: evidence by the table that a dispatch names, in the order of the data; one, ``ONE_TABLE``, without.
        stray: the records that go to no table: how many, and the first; None where there are none.
        bad_records: the first ones.
        documents: the batches of documents among it.
        typed: the batches of rows that state their types, and of texts that are typed.
        rejected: records of no table that a model rejects: how many, by input.
        typing: what is wrong with texts that are typed, and with documents that a model rejects, by table; of
            documents that are of no table under ``ONE_TABLE``.
    """

    tables: Mapping[str, Evidence]
    files: Mapping[str, FileEvidence]
    bad_records: tuple[BadRecord, ...]
    inputs: tuple[Input, ...]
    documents: tuple[ReadDocuments, ...] = ()
    typed: tuple[ReadRows, ...] = ()
    typing: Mapping[str, tuple[TypingFinding, ...]] = field(default_factory=dict)
    stray: tuple[int, Position] | None = None
    rejected: Mapping[str, int] = field(default_factory=dict)
    options: ReadOptions = AS_THEY_ARE

    @property
    def evidence(self) -> Evidence:
        """Of all records that were read."""
        return self.tables[ONE_TABLE] if ONE_TABLE in self.tables else merge(*self.tables.values())

    def warn_of_nanoseconds(self) -> None:
        """Warn of timestamps that only columns with nanoseconds keep whole."""
        for rows in self.typed:
            if isinstance(rows.batch, RowBatch):
                rows.batch.warn_of_nanoseconds()


def scan_inputs(
    engine: Engine,
    inputs: Sequence[Input],
    sample: Sample,
    progress: Progress = no_progress,
    *,
    counts_typed: bool = True,
    options: ReadOptions = AS_THEY_ARE,
) -> Scan:
    """Collect evidence from files and tables.

    ``counts_typed``: whether to look at what stands in columns whose types are stated, which only a schema that is
    known may speak against.

    Raises:
        InputError, EngineError: the engine cannot read them, they have other columns than the typing, or records go to
            too many tables.
    """
    batches = engine.read(inputs, options.null_values)
    documents: list[tuple[ReadDocuments, _Located]] = []
    typed: list[RowBatch | TextBatch]
    if options.task is not None:
        progress("typing texts", None)
        texts = [batch.typed_by(options.task) for batch in batches]
        typed = list(texts)
        rows = [_locate_texts(engine, batch) for batch in texts]  # once to find what is wrong; nothing is kept
        types = [types_of(options.task)] * len(texts)
    else:
        progress("reading documents", None)
        documents = [batch.observe(options) for batch in _read_documents(engine, batches, sample, progress)]
        row_batches = [batch for batch in batches if isinstance(batch, RowBatch)]
        typed = list(row_batches)
        if typed:
            progress("counting rows", None)
        rows = [_locate_rows(engine, batch, sample, counts_typed, options) for batch in row_batches]
        types = [batch.column_types() for batch in row_batches]
    read: list[tuple[_Located, Mapping[Path, Mapping[str, Any]]]] = [(located, {}) for _, located in documents]
    read += zip(rows, types, strict=True)
    located = [each for each, _ in read]
    bad = sorted((record for each in located for record in each.bad_records()), key=lambda record: record.position)
    unread = Evidence(files={each.path: FileEvidence(documents=0) for each in inputs if each.is_local})
    tables, stray = _tables(read, unread, options)
    rejected: Counter[str] = Counter()
    for part in (part for each in located for part in each.parts):
        rejected.update(part.rejected)
    return Scan(
        tables,
        merge(unread, *(Evidence(files=each.files()) for each in located)).files,
        tuple(bad[:MAX_BAD_RECORDS]),
        tuple(inputs),
        tuple(each for each, _ in documents),
        tuple(ReadRows(batch, part.before) for batch, part in zip(typed, rows, strict=True)),
        typing=_findings(located, options.task),
        rejected=dict(sorted(rejected.items())),
        stray=stray,
        options=options,
    )


def _findings(found: Sequence[_Located], task: TypingTask | None) -> dict[str, tuple[TypingFinding, ...]]:
    """Return by table what is wrong with texts that are typed, or why documents are rejected by a model."""
    merged: dict[str, dict[tuple[str, str], FieldErrors]] = {}
    for located in found:
        for table, errors in (item for part in located.parts for item in part.errors.items()):
            known = merged.setdefault(table or ONE_TABLE, {})
            for key, each in errors.items():
                at = replace(each, first=located.position(each.first))
                known[key] = known[key].merged(at) if key in known else at
    if task is not None:
        converted: Counter[str] = Counter()
        for part in (part for located in found for part in located.parts):
            converted.update(part.converted)
        return {ONE_TABLE: findings_of(task, merged.get(ONE_TABLE, {}), converted)}
    return {
        table: tuple(
            TypingFinding(name, each.count, each.first, shown_error(each.message), _become(contract), True, contract)
            for (name, contract), each in sorted(errors.items(), key=lambda item: item[1].first)
        )
        for table, errors in merged.items()
    }


def _become(contract: str) -> str:
    """Return what becomes of rows that break a contract, as ``--typing-errors`` calls it, or of their values."""
    match Mode(contract.partition("=")[2]):
        case Mode.FREEZE:
            return "fail"
        case Mode.DISCARD_VALUE:
            return "discard"
        case _:
            return "reject"


def _tables(
    found: Sequence[tuple[_Located, Mapping[Path, Mapping[str, Any]]]], unread: Evidence, options: ReadOptions
) -> tuple[dict[str, Evidence], tuple[int, Position] | None]:
    """Return the evidence by table, and the records that go to none.

    The batches come as they were read, with the types that they state; columns that a model lacks have the type that is
    stated where they have a value.

    Raises:
        InputError: a document nests too deep, or there are too many tables.
    """
    dispatch = options.dispatch
    if any(part.too_many for located, _ in found for part in located.parts):
        raise _too_many(dispatch)

    def types_of(located: _Located, table: str, types: Mapping[Path, Mapping[str, Any]]) -> dict[Path, Any]:
        keys = None if options.model is None else located.filled(table)
        return {path: each for path, each in types.items() if keys is None or path[0] in keys}

    if dispatch is None:
        read = [Evidence(files=located.files(), typed=types_of(located, ONE_TABLE, types)) for located, types in found]
        return {ONE_TABLE: merge(unread, *read, *(_evidence(located, ONE_TABLE) for located, _ in found))}, None
    first: dict[str | None, Position] = {}
    for located, _ in found:
        for table, share in located.shares():
            at = located.position(share.first)
            first[table] = min(at, first.get(table, at))
    names = [name for name in sorted(first, key=lambda each: first[each]) if name is not None]
    if len(names) > MOST_TABLES:
        raise _too_many(dispatch)
    tables = {
        name: merge(
            *(
                Evidence(
                    files=located.files_of(name), typed=types_of(located, name, types) if located.has(name) else {}
                )
                for located, types in found
            )
        )
        for name in names
    }
    for name in names:
        tables[name] = merge(tables[name], *(_evidence(located, name) for located, _ in found))
    if names:
        # What could not be read is of no table: it is reported once.
        bad = merge(*(Evidence(files=located.bad_files()) for located, _ in found))
        tables[names[0]] = merge(tables[names[0]], bad)
    count = sum(sum(share.documents.values()) for located, _ in found for table, share in located.shares() if not table)
    return tables, (count, first[None]) if None in first else None


def _too_many(dispatch: Dispatch | None) -> InputError:
    field = ".".join(dispatch.path) if dispatch else ""
    message = f"`--table-by {field}` makes more than {MOST_TABLES:,} tables"
    return InputError(message, hint="name a field that says what kind of record it is")


def recount(
    engine: Engine,
    inputs: Sequence[Input],
    sample: Sample,
    asked: Sequence[Scalars | Absences],
    progress: Progress = no_progress,
) -> list[Tally]:
    """Look at the documents of the same inputs and sample once more; rows of stated types are left out.

    Raises:
        EngineError: the engine cannot read them.
    """
    documents = _read_documents(engine, engine.read(inputs), sample, progress)
    progress("looking at values again", None)
    parts = [batch.locate("recount_partition", asked=tuple(asked)) for batch in documents]
    answers = [tallies for part in parts for tallies in part.tallies()]
    return [add(of_one) for of_one in zip(*answers, strict=True)]


def _read_documents(engine: Engine, batches: Sequence[Batch], sample: Sample, progress: Progress) -> list[_Documents]:
    return [_Documents(engine, batch, sample, progress) for batch in batches if isinstance(batch, DocumentBatch)]


class _Documents:
    """The records of a batch of documents."""

    def __init__(self, engine: Engine, documents: DocumentBatch, sample: Sample, progress: Progress) -> None:
        self.documents = documents
        self._engine = engine
        self.records: Records = documents.records()
        count = 0
        if sample.records:
            progress("counting records", None)
            count = sum(self._run("count_partition"))
        self._share = sample.share_of(count)

    def observe(self, options: ReadOptions) -> tuple[ReadDocuments, _Located]:
        """Collect their evidence."""
        names = self._columns(options)
        located = self.locate("observe_partition", options=options, columns=names)
        return ReadDocuments(self.documents, located.before, self.records, names), located

    def _columns(self, options: ReadOptions) -> tuple[str, ...]:
        """Return the columns of rows that are read a column at a time; none where records are read one by one."""
        layout = self.documents.csv_layout()
        is_plain = self._share >= 1 and options.dispatch is None and options.model is None
        if not is_plain or layout is None:
            return ()
        names = layout.names
        are_fields = len(set(names)) == len(names) and not any(map(is_row_key, names))
        return names if are_fields else ()

    def locate(self, function: str, **arguments: Any) -> _Located:
        """Run a function of ``kernel.partitions`` on all partitions."""
        arguments |= {"folder": str(FilePath.cwd()), "share": self._share}
        return _Located(tuple(self._run(function, **arguments)), self.documents.gaps)

    def _run(self, function: str, **arguments: Any) -> list[Any]:
        return self._engine.run(self.records, "schemactl.kernel.partitions", function, **arguments)


def _locate_texts(engine: Engine, batch: TextBatch) -> _Located:
    """Find out what is wrong with texts that are typed."""
    arguments = {"folder": str(FilePath.cwd()), "task": batch.task}
    parts = engine.run(batch.texts().records, "schemactl.kernel.typing_rows", "check_partition", **arguments)
    return _Located(tuple(parts), batch.gaps)


def _locate_rows(engine: Engine, batch: RowBatch, sample: Sample, counts: bool, options: ReadOptions) -> _Located:
    """Count rows that state their types, and where that is asked for or needed what stands in them."""
    is_needed = options.dispatch is not None or options.model is not None
    if not counts and not is_needed and sample.is_full:
        blocks = {key: BlockCounts(rows, rows, rows) for key, rows in batch.count_by_block().items()}
        return _Located((Part({}, blocks),))
    share = sample.share_of(sum(batch.count_by_block().values()) if sample.records else 0)
    rows = batch.rows(share=share)
    types = {path: properties["data_type"] for path, properties in batch.column_types().items()}
    arguments: dict[str, Any] = {"folder": str(FilePath.cwd())}
    if options.model is None:
        function = "observe_rows_partition"
        arguments |= {"names": rows.names, "types": types, "dispatch": options.dispatch}
    else:
        from schemactl.kernel.typed import TypedSource  # which loads what makes rows

        function = "observe_partition"
        arguments |= {"options": options, "source": TypedSource(rows.names, whole=rows.json_paths, types=types)}
    return _Located(tuple(engine.run(rows.records, "schemactl.kernel.partitions", function, **arguments)))


class _Located:
    """The shares of a batch's partitions; records are counted from the beginning of their file, from 1.

    With ``gaps`` a record has the number of its row (``row_number``).
    """

    def __init__(self, parts: tuple[Part, ...], gaps: Gaps | None = None) -> None:
        self.parts, self._gaps = parts, gaps
        self._blocks = sorted((key, counts) for part in parts for key, counts in part.blocks.items())
        self.before: dict[tuple[str, int], int] = {}
        self._known: dict[Position, Position] = {}
        lines: dict[str, int] = {}
        for (file, block), counts in self._blocks:
            self.before[file, block] = lines.get(file, 0)
            lines[file] = self.before[file, block] + counts.lines

    def position(self, found: Position) -> Position:
        """Return where in its file a record is that was counted from the beginning of its block."""
        known = self._known.get(found)  # thousands of columns begin in one record
        if known is None:
            block, at = found.number >> BLOCK_SHIFT, found.number & ((1 << BLOCK_SHIFT) - 1)
            known = self._known[found] = Position(found.file, self._number(found.file, block, at))
        return known

    def _number(self, file: str, block: int, at: int) -> int:
        return row_number(self.before[file, block] + at + 1, file, self._gaps)

    def files(self) -> dict[str, FileEvidence]:
        """Return what was read, by input."""
        files: dict[str, FileEvidence] = {}
        for (file, block), counts in self._blocks:
            known = files.get(file, FileEvidence(documents=0))
            first_bad = None if counts.first_bad is None else self._number(file, block, counts.first_bad)
            files[file] = FileEvidence(
                documents=known.documents + counts.documents,
                bad=known.bad + counts.bad,
                first_bad=first_bad if known.first_bad is None else known.first_bad,
                records=known.records + counts.records,
            )
        return files

    def shares(self) -> Iterator[tuple[str | None, Share]]:
        """Yield what each partition holds for each table."""
        for part in self.parts:
            yield from part.found.items()

    def has(self, table: str) -> bool:
        """Return whether a table has documents here."""
        return any(table in part.found for part in self.parts)

    def filled(self, table: str) -> set[str | None]:
        """Return the columns of a table that are counted as their source states them, and have a value."""
        shares = (part.found[table] for part in self.parts if table in part.found)
        return {
            path[0]
            for share in shares
            for path, classes in share.evidence.counted.items()
            if len(path) == 1 and classes.keys() - {NULL}
        }

    def files_of(self, table: str) -> dict[str, FileEvidence]:
        """Return what was read for one table of several, by input."""
        counts: Counter[str] = Counter()
        for part in self.parts:
            if table in part.found:
                counts.update(part.found[table].documents)
        return {file: FileEvidence(documents=count, records=count) for file, count in counts.items()}

    def bad_files(self) -> dict[str, FileEvidence]:
        """Return the records that could not be read, by input."""
        return {
            file: replace(found, documents=0, records=found.bad) for file, found in self.files().items() if found.bad
        }

    def bad_records(self) -> Iterator[BadRecord]:
        """Yield the first records of each partition that cannot be read."""
        for part in self.parts:
            for record in part.bad_records:
                yield replace(record, position=self.position(record.position))

    def tallies(self) -> Iterator[tuple[Tally, ...]]:
        """Yield the answers of each partition (``recount_partition``)."""
        for part in self.parts:
            yield tuple(
                replace(tally, first=None if tally.first is None else self.position(tally.first))
                for tally in part.found
            )


def _evidence(located: _Located, table: str) -> Evidence:
    """Return the evidence of a table in all partitions of a batch (``observe_partition``).

    Raises:
        InputError: a document nests too deep.
    """
    deep = [located.position(part.too_deep) for part in located.parts if part.too_deep is not None]
    if deep:
        raise too_deep(min(deep))
    shares = [part.found[table].evidence for part in located.parts if table in part.found]
    return merge(
        *(
            Evidence(
                paths={path: _classes(classes, located) for path, classes in seen.paths.items()},
                counted={path: _classes(classes, located) for path, classes in seen.counted.items()},
                witnesses={located.position(at): document for at, document in seen.witnesses.items()},
            )
            for seen in shares
        )
    )


def _classes(classes: PathEvidence, located: _Located) -> PathEvidence:
    return {name: replace(seen, first=located.position(seen.first)) for name, seen in classes.items()}

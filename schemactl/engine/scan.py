"""Collects evidence from sources: an engine reads and distributes records, the kernel observes them, this merges.

Documents are read once. Columns of sources with types keep these types, and their values are only counted on request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any, TypeAlias

from schemactl.arc.fields import OnError, TypingTask
from schemactl.arc.source_columns import column_types, documents_cannot
from schemactl.engine.input import Input
from schemactl.engine.protocol import Batch, DocumentBatch, Engine, Records, RowBatch, TextBatch
from schemactl.errors import InputError
from schemactl.examples import shown_error
from schemactl.inference.classes import NULL, is_row_key
from schemactl.inference.evidence import Evidence, FileEvidence, PathEvidence, Position, merge, too_deep
from schemactl.inference.report import TypingFinding
from schemactl.inference.sample import Sample
from schemactl.inference.survival import Scalars, Tally, add
from schemactl.kernel.dispatch import BLOCK_SHIFT, MOST_TABLES, ONE_TABLE, Dispatch
from schemactl.kernel.outcome import FieldErrors
from schemactl.kernel.partitions import (
    MAX_BAD_RECORDS,
    BadRecord,
    BlockCounts,
    Gaps,
    PartitionResult,
    Share,
    row_number,
)
from schemactl.kernel.reading import AS_THEY_ARE, ReadOptions
from schemactl.kernel.recount import Absences
from schemactl.kernel.sampling import RowSample
from schemactl.progress import Progress, no_progress
from schemactl.schema.contract import Mode
from schemactl.schema.paths import Path


@dataclass(frozen=True, slots=True)
class ReadDocuments:
    """A batch of documents that was read, to be read again.

    Attributes:
        before: the number of records before each block in its file, by file name (as shown to people) and block.
        records: the records for the kernel (``partitions.records_of``).
        columns: as in ``partitions.RecordReader.pieces``.
    """

    documents: DocumentBatch
    before: Mapping[tuple[str, int], int]
    records: Records
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadRows:
    """A batch of rows with declared types, for another reading."""

    batch: RowBatch | TextBatch
    before: Mapping[tuple[str, int], int]


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of a scan.

    Attributes:
        tables: evidence by the table that a dispatch names, in the order of the data; without dispatch under
            ``ONE_TABLE``.
        stray: the number and the first position of records without a table; None without such records.
        bad_records: the first bad records.
        documents: the batches of documents.
        rows: the batches of columnar rows, and of typed strings.
        rejected: by input, the number of records without a table that a model rejects.
        typing: the errors of typed strings, and of documents that a model rejects, by table; documents without a table
            are under ``ONE_TABLE``.
    """

    tables: Mapping[str, Evidence]
    files: Mapping[str, FileEvidence]
    bad_records: tuple[BadRecord, ...]
    inputs: tuple[Input, ...]
    documents: tuple[ReadDocuments, ...] = ()
    rows: tuple[ReadRows, ...] = ()
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
        for rows in self.rows:
            if isinstance(rows.batch, RowBatch):
                rows.batch.warn_of_nanoseconds()


def scan_inputs(
    engine: Engine,
    inputs: Sequence[Input],
    sample: Sample,
    progress: Progress = no_progress,
    *,
    counts_values: bool = True,
    options: ReadOptions = AS_THEY_ARE,
) -> Scan:
    """Collect evidence from files and tables.

    ``counts_values``: whether to read the values of columns with declared types, which matters only if a known schema
    may contradict them.
    """
    batches = engine.read(inputs, options.null_values)
    documents: list[tuple[ReadDocuments, _BatchFindings]] = []
    columnar: list[RowBatch | TextBatch]
    if options.task is not None:
        progress("typing texts", None)
        nested = [batch for batch in batches if _is_nested(batch)]
        if nested and options.task.on_error is not OnError.COLUMN:
            raise documents_cannot(options.task.on_error)
        documents = [batch.observe(options) for batch in _read_documents(engine, nested, sample, progress)]
        texts = [batch.typed_by(options.task) for batch in batches if not _is_nested(batch)]
        columnar = list(texts)
        rows = [_locate_texts(engine, batch) for batch in texts]  # one pass to find errors; nothing is kept
        types = [column_types(options.task)] * len(texts)
    else:
        progress("reading documents", None)
        documents = [batch.observe(options) for batch in _read_documents(engine, batches, sample, progress)]
        row_batches = [batch for batch in batches if isinstance(batch, RowBatch)]
        columnar = list(row_batches)
        if columnar:
            progress("counting rows", None)
        rows = [_locate_rows(engine, batch, sample, counts_values, options) for batch in row_batches]
        types = [batch.column_types() for batch in row_batches]
    source_findings: list[_SourceFindings] = [(findings, {}) for _, findings in documents]
    source_findings += zip(rows, types, strict=True)
    batch_findings = [findings for findings, _ in source_findings]
    bad_records = sorted(
        (record for findings in batch_findings for record in findings.bad_records()), key=lambda record: record.position
    )
    unread = Evidence(files={file.path: FileEvidence(documents=0) for file in inputs if file.has_size})
    tables, stray = _tables(source_findings, unread, options)
    rejected: Counter[str] = Counter()
    for partition in (partition for findings in batch_findings for partition in findings.partitions):
        rejected.update(partition.rejected)
    return Scan(
        tables,
        merge(unread, *(Evidence(files=findings.files()) for findings in batch_findings)).files,
        tuple(bad_records[:MAX_BAD_RECORDS]),
        tuple(inputs),
        tuple(read_documents for read_documents, _ in documents),
        tuple(ReadRows(batch, findings.before) for batch, findings in zip(columnar, rows, strict=True)),
        typing=_typing_findings(batch_findings, options.task),
        rejected=dict(sorted(rejected.items())),
        stray=stray,
        options=options,
    )


def _is_nested(batch: Batch) -> bool:
    """Return whether a batch has JSON documents, whose texts are typed one document at a time."""
    return isinstance(batch, DocumentBatch) and not batch.has_columns


def _typing_findings(
    batches: Sequence[_BatchFindings], task: TypingTask | None
) -> dict[str, tuple[TypingFinding, ...]]:
    """Return by table the errors of typed strings, or the reasons why a model rejects documents."""
    errors_by_table: dict[str, dict[tuple[str, str], FieldErrors]] = {}
    for findings in batches:
        for table, errors in (item for partition in findings.partitions for item in partition.errors.items()):
            merged = errors_by_table.setdefault(table or ONE_TABLE, {})
            for key, field_errors in errors.items():
                in_file = replace(field_errors, first=findings.position(field_errors.first))
                merged[key] = merged[key].merged(in_file) if key in merged else in_file
    if task is not None:
        converted: Counter[str] = Counter()
        for partition in (partition for findings in batches for partition in findings.partitions):
            converted.update(partition.converted)
        typing_errors = errors_by_table.get(ONE_TABLE, {})
        # A field with only errors stops the command, unless the call sets the treatment of errors.
        return {
            ONE_TABLE: tuple(
                TypingFinding(
                    column=field.name,
                    count=typing_error.count,
                    first=typing_error.first,
                    message=shown_error(typing_error.message),
                    mode=str(OnError.FAIL if task.is_default and not converted[field.name] else task.on_error),
                    nullable=field.nullable,
                    converted=converted[field.name],
                )
                for field in task.typing.fields
                if (typing_error := typing_errors.get((field.name, ""))) is not None
            )
        }
    return {
        table: tuple(
            TypingFinding(
                name,
                errors.count,
                errors.first,
                shown_error(errors.message),
                # The fate of the rows in the words of `--typing-errors`, or of their values.
                {Mode.FREEZE: "fail", Mode.DISCARD_VALUE: "discard"}.get(Mode(contract.partition("=")[2]), "reject"),
                True,
                contract,
            )
            for (name, contract), errors in sorted(merged.items(), key=lambda item: item[1].first)
        )
        for table, merged in errors_by_table.items()
    }


def _tables(
    batches: Sequence[_SourceFindings], unread: Evidence, options: ReadOptions
) -> tuple[dict[str, Evidence], tuple[int, Position] | None]:
    """Return the evidence by table, and the records without a table.

    Columns that a model lacks have the type of their source if they have a value.
    """
    dispatch = options.dispatch
    if any(partition.too_many for findings, _ in batches for partition in findings.partitions):
        raise _too_many(dispatch)

    def types_of(findings: _BatchFindings, table: str, types: Mapping[Path, Mapping[str, Any]]) -> dict[Path, Any]:
        keys = None if options.model is None else findings.filled(table)
        return {path: properties for path, properties in types.items() if keys is None or path[0] in keys}

    if dispatch is None:
        of_batches = [
            Evidence(files=findings.files(), declared=types_of(findings, ONE_TABLE, types), nullable=findings.nulls)
            for findings, types in batches
        ]
        observed = (_evidence(findings, ONE_TABLE) for findings, _ in batches)
        return {ONE_TABLE: merge(unread, *of_batches, *observed)}, None
    first_positions: dict[str | None, Position] = {}
    for findings, _ in batches:
        for table, share in findings.shares():
            position = findings.position(share.first)
            first_positions[table] = min(position, first_positions.get(table, position))
    names = [name for name, _ in sorted(first_positions.items(), key=lambda item: item[1]) if name is not None]
    if len(names) > MOST_TABLES:
        raise _too_many(dispatch)
    tables = {
        name: merge(
            *(
                Evidence(
                    files=findings.files_of(name),
                    declared=types_of(findings, name, types),
                    nullable=findings.nulls,
                )
                for findings, types in batches
                if findings.shares_of(name)
            ),
            *(_evidence(findings, name) for findings, _ in batches),
        )
        for name in names
    }
    if names:
        # Unreadable records belong to no table: they are reported once.
        bad_files = merge(*(Evidence(files=findings.bad_files()) for findings, _ in batches))
        tables[names[0]] = merge(tables[names[0]], bad_files)
    stray_shares = [share for findings, _ in batches for table, share in findings.shares() if not table]
    count = sum(sum(share.documents.values()) for share in stray_shares)
    return tables, (count, first_positions[None]) if None in first_positions else None


def _too_many(dispatch: Dispatch | None) -> InputError:
    field = ".".join(dispatch.path) if dispatch else ""
    message = f"`--table-by {field}` results in more than {MOST_TABLES:,} tables"
    return InputError(message, hint="use a field that contains the kind of a record")


def recount(
    engine: Engine,
    inputs: Sequence[Input],
    sample: Sample,
    questions: Sequence[Scalars | Absences],
    progress: Progress = no_progress,
    null_values: tuple[str, ...] = (),
) -> list[Tally]:
    """Read the documents of the same inputs and sample once more; rows with declared types are left out."""
    documents = _read_documents(engine, engine.read(inputs, null_values), sample, progress)
    progress("looking at values again", None)
    partitions = [batch.locate("recount_partition", questions=tuple(questions)) for batch in documents]
    answers = [tallies for partition in partitions for tallies in partition.tallies()]
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

    def observe(self, options: ReadOptions) -> tuple[ReadDocuments, _BatchFindings]:
        names = self._columns(options)
        findings = self.locate("observe_partition", options=options, columns=names)
        return ReadDocuments(self.documents, findings.before, self.records, names), findings

    def _columns(self, options: ReadOptions) -> tuple[str, ...]:
        """Return the columns of rows that are read a column at a time; empty if records are read one by one."""
        layout = self.documents.csv_layout()
        is_plain = self._share >= 1 and options.dispatch is None and options.model is None
        if not is_plain or layout is None:
            return ()
        names = layout.names
        are_fields = len(set(names)) == len(names) and not any(map(is_row_key, names))
        return names if are_fields else ()

    def locate(self, function: str, **arguments: Any) -> _BatchFindings:
        """Run a function of ``kernel.partitions`` on all partitions."""
        arguments |= {"folder": str(FilePath.cwd()), "share": self._share}
        return _BatchFindings(tuple(self._run(function, **arguments)), self.documents.gaps)

    def _run(self, function: str, **arguments: Any) -> list[Any]:
        return self._engine.run(self.records, "schemactl.kernel.partitions", function, **arguments)


def _locate_texts(engine: Engine, batch: TextBatch) -> _BatchFindings:
    """Find the errors of typed strings."""
    arguments = {"folder": str(FilePath.cwd()), "task": batch.task}
    partitions = engine.run(batch.texts().records, "schemactl.kernel.typing_rows", "check_partition", **arguments)
    return _BatchFindings(tuple(partitions), batch.gaps)


def _locate_rows(engine: Engine, batch: RowBatch, sample: Sample, counts: bool, options: ReadOptions) -> _BatchFindings:
    """Count rows with declared types, and also their values if requested or needed."""
    is_needed = options.dispatch is not None or options.model is not None
    if not counts and not is_needed and sample.is_full:
        blocks = {key: BlockCounts(rows, rows, rows) for key, rows in batch.count_by_block().items()}
        return _BatchFindings((PartitionResult({}, blocks),), nulls=batch.nulls)
    row_counts = {} if sample.is_full else batch.count_by_block()
    share = sample.share_of(sum(row_counts.values()))
    rows = batch.rows()
    types = {path: properties["data_type"] for path, properties in batch.column_types().items()}
    row_sample = RowSample(share, _rows_before(row_counts.items())) if share < 1 else None
    arguments: dict[str, Any] = {"folder": str(FilePath.cwd())}
    if options.model is None:
        function = "observe_rows_partition"
        arguments |= {"names": rows.names, "types": types, "dispatch": options.dispatch, "sample": row_sample}
    else:
        from schemactl.kernel.columnar import ColumnarSource  # loads the modules that make rows

        function = "observe_partition"
        source = ColumnarSource(rows.names, json_paths=rows.json_paths, types=types, sample=row_sample)
        arguments |= {"options": options, "source": source}
    partitions = tuple(engine.run(rows.records, "schemactl.kernel.partitions", function, **arguments))
    return _BatchFindings(partitions, nulls=batch.nulls)


def _rows_before(counts: Iterable[tuple[tuple[str, int], int]]) -> dict[tuple[str, int], int]:
    """Return by file and block the number of rows before the block in its file, given the number in each block."""
    before: dict[tuple[str, int], int] = {}
    totals: dict[str, int] = {}
    for (file, block), count in sorted(counts):
        before[file, block] = totals.get(file, 0)
        totals[file] = before[file, block] + count
    return before


class _BatchFindings:
    """The shares of a batch's partitions; records are counted from the beginning of their file, from 1.

    With ``gaps``, a record has the number of its row (``row_number``). ``nulls`` is the declared nullability of a batch
    of rows.
    """

    def __init__(
        self,
        partitions: tuple[PartitionResult, ...],
        gaps: Gaps | None = None,
        nulls: Mapping[Path, bool] | None = None,
    ) -> None:
        self.partitions, self._gaps, self.nulls = partitions, gaps, nulls or {}
        self._blocks = sorted((key, counts) for partition in partitions for key, counts in partition.blocks.items())
        self.before = _rows_before((key, counts.lines) for key, counts in self._blocks)
        self._positions: dict[Position, Position] = {}

    def position(self, in_block: Position) -> Position:
        """Return the position in its file of a record that was counted from the beginning of its block."""
        in_file = self._positions.get(in_block)  # thousands of columns begin in one record
        if in_file is None:
            block, record_index = in_block.number >> BLOCK_SHIFT, in_block.number & ((1 << BLOCK_SHIFT) - 1)
            in_file = Position(in_block.file, self._number(in_block.file, block, record_index))
            self._positions[in_block] = in_file
        return in_file

    def _number(self, file: str, block: int, record_index: int) -> int:
        return row_number(self.before[file, block] + record_index + 1, file, self._gaps)

    def files(self) -> dict[str, FileEvidence]:
        """Return the evidence of the files, by input."""
        files: dict[str, FileEvidence] = {}
        for (file, block), counts in self._blocks:
            evidence = files.get(file, FileEvidence(documents=0))
            first_bad = None if counts.first_bad is None else self._number(file, block, counts.first_bad)
            files[file] = FileEvidence(
                documents=evidence.documents + counts.documents,
                bad=evidence.bad + counts.bad,
                first_bad=first_bad if evidence.first_bad is None else evidence.first_bad,
                records=evidence.records + counts.records,
            )
        return files

    def shares(self) -> Iterator[tuple[str | None, Share]]:
        """Yield the records of each partition for each table."""
        for partition in self.partitions:
            yield from partition.result.items()

    def shares_of(self, table: str) -> list[Share]:
        """Return the records of each partition for a table."""
        return [partition.result[table] for partition in self.partitions if table in partition.result]

    def filled(self, table: str) -> set[str | None]:
        """Return the columns of a table that are counted with declared types and have a value."""
        return {
            path[0]
            for share in self.shares_of(table)
            for path, classes in share.evidence.counted.items()
            if len(path) == 1 and classes.keys() - {NULL}
        }

    def files_of(self, table: str) -> dict[str, FileEvidence]:
        """Return the evidence of the files for one table of several, by input."""
        counts: Counter[str] = Counter()
        for share in self.shares_of(table):
            counts.update(share.documents)
        return {file: FileEvidence(documents=count, records=count) for file, count in counts.items()}

    def bad_files(self) -> dict[str, FileEvidence]:
        """Return the records that could not be read, by input."""
        return {
            file: replace(evidence, documents=0, records=evidence.bad)
            for file, evidence in self.files().items()
            if evidence.bad
        }

    def bad_records(self) -> Iterator[BadRecord]:
        """Yield the first records of each partition that cannot be read."""
        for partition in self.partitions:
            for record in partition.bad_records:
                yield replace(record, position=self.position(record.position))

    def tallies(self) -> Iterator[tuple[Tally, ...]]:
        """Yield the answers of each partition (``recount_partition``)."""
        for partition in self.partitions:
            yield tuple(
                replace(tally, first=None if tally.first is None else self.position(tally.first))
                for tally in partition.result
            )


def _evidence(findings: _BatchFindings, table: str) -> Evidence:
    """Return the evidence of a table in all partitions of a batch (``observe_partition``)."""
    deep = [
        findings.position(partition.too_deep) for partition in findings.partitions if partition.too_deep is not None
    ]
    if deep:
        raise too_deep(min(deep))
    return merge(
        *(
            Evidence(
                paths={path: _classes(classes, findings) for path, classes in evidence.paths.items()},
                counted={path: _classes(classes, findings) for path, classes in evidence.counted.items()},
                witnesses={findings.position(position): document for position, document in evidence.witnesses.items()},
            )
            for evidence in (share.evidence for share in findings.shares_of(table))
        )
    )


def _classes(classes: PathEvidence, findings: _BatchFindings) -> PathEvidence:
    return {name: replace(evidence, first=findings.position(evidence.first)) for name, evidence in classes.items()}


_SourceFindings: TypeAlias = tuple[_BatchFindings, Mapping[Path, Mapping[str, Any]]]
"""The findings of a batch, and the types that its source declares, by path."""

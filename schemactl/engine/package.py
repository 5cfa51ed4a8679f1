"""The rows of a load: workers write Parquet files, and return the valid ones.

A table's folder contains only files of the attempts that the engine has accepted. The engine decides which of several
rows with one primary key a merge keeps, and rewrites files without the superseded rows.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, compress
from pathlib import Path
from typing import Any

import pyarrow.parquet

from schemactl.engine.protocol import Engine, Records, RowBatch, RowPlaces
from schemactl.engine.scan import Scan
from schemactl.inference.evidence import Position
from schemactl.kernel.columnar import ColumnarSource
from schemactl.kernel.dispatch import Tables
from schemactl.kernel.outcome import RowOutcome, rejected_by, tally_of
from schemactl.kernel.package import RowsJob, WrittenFiles, WrittenPart
from schemactl.kernel.partitions import Gaps
from schemactl.kernel.rows import RowMaker
from schemactl.normalization.plan import Plan, RowKey
from schemactl.normalization.tally import LoadTime, Rejected, Tally
from schemactl.progress import Progress, no_progress
from schemactl.schema.contract import Mode
from schemactl.schema.dispositions import SUPERSEDED_FOLDER, dedup_sort, keeps_one_of_each, named
from schemactl.schema.types import Table


@dataclass(frozen=True, slots=True)
class WrittenRejects:
    """Rejected rows and values as they are written.

    Attributes:
        folder: the folder of Parquet files with the columns ``tally.STORED_REJECTS_COLUMNS``; it contains at least one
            file.
    """

    folder: Path
    rows: int


def count_rejects(rejects: WrittenRejects, roots: Set[str]) -> tuple[Counter[str], Counter[str]]:
    """Return by file the number of rejected rows and values, and the number of records that are rejected whole.

    ``roots`` are the root tables, whose rows are records.
    """
    columns = ["file", "line", "table_name", "row"]
    counts: Counter[str] = Counter()
    records: set[tuple[str, int]] = set()
    for path in sorted(rejects.folder.glob("*.parquet")):
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=columns):
                is_row = batch["row"].is_valid().to_pylist()
                files, lines, tables = (batch[name].to_pylist() for name in columns[:3])
                counts.update(files)
                # Records of no table are rejected whole.
                is_record = [has_row and table in (*roots, "") for has_row, table in zip(is_row, tables, strict=True)]
                records.update(compress(zip(files, lines, strict=True), is_record))
    return counts, Counter(file for file, _ in records)


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """The rows of one plan as they are written.

    Attributes:
        folders: folders of Parquet files by table, in the plan's order; each contains at least one file. Superseded
            rows are in a subfolder (``SUPERSEDED_FOLDER``).
        tally: the outcome of all rows; if values would be lost, the files must not be loaded.
        rejected: the rejects of each contract violation, in the plan's order.
        rejects: the written rejects; None without rejects.
        spans: the range of numbers that overflow columns with a declared size, by table and column.
        room: the properties that these columns need to take such numbers, by table and column.
        filled: the columns, by table, in which a row has a value.
        cut: the number of texts, by table and column, whose nanoseconds are cut.
    """

    folders: Mapping[str, Path]
    tally: Tally
    rejected: tuple[Rejected, ...] = ()
    rejects: WrittenRejects | None = None
    spans: Mapping[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    filled: frozenset[tuple[str, str]] = frozenset()
    cut: Mapping[tuple[str, str], int] = field(default_factory=dict)
    room: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)


def write_rows(
    engine: Engine,
    scan: Scan,
    plans: Mapping[Tables, Plan],
    load: LoadTime,
    folder: Path,
    progress: Progress = no_progress,
) -> dict[Tables, WrittenRows]:
    """Write the tables of a source (complete columns only), and the rejects.

    The plans map the documents of each table that the scan has named to rows; other documents are left out. The folder
    must be new, and workers must be able to write to it.
    """
    files = folder / "files"
    files.mkdir(parents=True)
    tables = {name: table for plan in plans.values() for name, table in plan.tables.items()}
    compared = {name: _compared(table) for name, table in tables.items() if keeps_one_of_each(table)}
    job = RowsJob(plans, load, compared, files.as_uri(), scan.options, next(iter(scan.tables), None))
    progress("making rows", None)
    partitions = _run(engine, scan, job)
    outcomes = _outcomes(partitions, plans)
    superseded_files = _drop_superseded(engine, partitions, job, outcomes, folder, progress)
    makers = job.makers()
    schemas = {name: schema for maker in makers for name, schema in maker.schemas.items()}
    folders = {name: folder / f"table-{number}" for number, name in enumerate(schemas)}
    for name, target in folders.items():
        table_files = [partition.files.tables[name].name for partition in partitions if name in partition.files.tables]
        _move_files(files, table_files, target)
        if not any(target.iterdir()):
            pyarrow.parquet.write_table(schemas[name].empty_table(), target / "part-00000.parquet")
        if name in superseded_files:
            _move_files(files, superseded_files[name], target / SUPERSEDED_FOLDER)
    written = {}
    for plan_number, (names, plan) in enumerate(plans.items()):
        plan_folders = {name: folders[name] for name in plan.tables}
        reject_files = [
            partition.files.rejects[plan_number] for partition in partitions if plan_number in partition.files.rejects
        ]
        rejects = None
        if reject_files:
            rejects = WrittenRejects(folder / f"rejects-{plan_number}", sum(file.rows for file in reject_files))
            _move_files(files, [file.name for file in reject_files], rejects.folder)
        counted = _counted(outcomes[plan_number], makers[plan_number], plan)
        written[names] = replace(counted, folders=plan_folders, rejects=rejects)
    shutil.rmtree(files, ignore_errors=True)
    return written


def count_rows(engine: Engine, scan: Scan, tables: Tables, plan: Plan, progress: Progress = no_progress) -> WrittenRows:
    """Return the result of ``write_rows`` for a plan without writing rows: there are no folders."""
    job = RowsJob({tables: plan}, LoadTime("", datetime.now(UTC)), {}, None, scan.options)
    progress("counting the rows that contracts reject", None)
    (outcome,), (maker,) = _outcomes(_run(engine, scan, job), job.plans), job.makers()
    return _counted(outcome, maker, plan)


def _outcomes(partitions: Sequence[WrittenPart], plans: Mapping[Tables, Plan]) -> list[RowOutcome]:
    """Return the outcome of each plan's rows."""
    outcomes = [RowOutcome() for _ in plans]
    for partition in partitions:
        for outcome, of_partition in zip(outcomes, partition.outcomes, strict=True):
            outcome.merge(of_partition)
    return outcomes


def _counted(outcome: RowOutcome, maker: RowMaker, plan: Plan) -> WrittenRows:
    tally = tally_of(outcome, maker.problems, plan)
    rejected, filled = rejected_by(outcome, maker.problems), frozenset(outcome.filled)
    return WrittenRows({}, tally, rejected, None, outcome.spans, filled, outcome.cut)


def _compared(table: Table) -> tuple[str, ...]:
    """Return the columns that identify and order the rows with one primary key."""
    sort = dedup_sort(table)
    return tuple(dict.fromkeys((*named(table, "primary_key"), *((sort[0],) if sort else ()))))


def _move_files(files: Path, names: Sequence[str], target: Path) -> None:
    target.mkdir(parents=True)
    for number, name in enumerate(names):
        (files / name).rename(target / f"part-{number:05}.parquet")


def find_records(engine: Engine, scan: Scan, positions: Set[Position]) -> dict[Position, str]:
    """Return some records of a scan as JSON; texts that are typed are left out."""
    places = {(position.file, position.number) for position in positions}
    files = {file for file, _ in places}
    records: list[list[tuple[str, int, str]]] = []
    for read in scan.documents:
        if not files.isdisjoint(file for file, _ in read.before):
            gaps = read.documents.gaps
            records += _run_kernel(engine, read.records, "find_records", read.before, gaps, positions=places)
    for read_rows in scan.rows:
        if isinstance(read_rows.batch, RowBatch) and not files.isdisjoint(file for file, _ in read_rows.before):
            rows = read_rows.batch.rows()
            source = ColumnarSource(rows.names, {}, rows.json_paths)
            before = read_rows.before
            records += _run_kernel(engine, rows.records, "find_records", before, None, positions=places, source=source)
    return {Position(file, number): record for of_partition in records for file, number, record in of_partition}


def _run(engine: Engine, scan: Scan, job: RowsJob) -> list[WrittenPart]:
    """Return the files that partitions have written, in the order of the input."""
    partitions: list[WrittenPart] = []
    for read in scan.documents:
        before, gaps = read.before, read.documents.gaps
        partitions += _run_kernel(engine, read.records, "write_documents", before, gaps, job=job, columns=read.columns)
    for read_rows in scan.rows:
        batch = read_rows.batch
        if isinstance(batch, RowBatch):
            rows, task, gaps = batch.rows(_used_keys(job)), None, None
        else:
            rows, task, gaps = batch.texts(), batch.task, batch.gaps
        top_cells = [cell for plan in job.plans.values() for cell in plan.rows.cells if len(cell.path) == 1]
        structures = {str(cell.path[0]): cell.structure for cell in top_cells if cell.structure is not None}
        source = ColumnarSource(rows.names, structures, rows.json_paths, task)
        partitions += _run_kernel(
            engine, rows.records, "write_columnar", read_rows.before, gaps, job=job, source=source
        )
    return sorted(partitions, key=lambda partition: partition.first or ("", 0))


def _run_kernel(
    engine: Engine,
    records: Records,
    function: str,
    before: Mapping[tuple[str, int], int],
    gaps: Gaps | None,
    **arguments: Any,
) -> list[Any]:
    arguments |= {"folder": str(Path.cwd()), "before": before, "gaps": gaps}
    return engine.run(records, "schemactl.kernel.package", function, **arguments)


def _used_keys(job: RowsJob) -> frozenset[str | None] | None:
    """Return the columns that plans take something from; None for all of them, as a model validates whole rows."""
    if job.options.model is not None:
        return None
    plans = job.plans.values()
    walked = [rows for plan in plans for rows in plan.rows.walk()]
    if any(plan.rows.key is RowKey.CONTENT for plan in plans) or any(map(_refuses_rows, walked)):
        return None
    paths: list[tuple[str | None, ...]] = [rows.path for rows in walked]
    paths += [cell.path for rows in walked for cell in (*rows.cells, *rows.own_key)]
    paths += [job.options.dispatch.path] if job.options.dispatch else []
    return frozenset(path[0] for path in paths if path)


def _refuses_rows(rows: Any) -> bool:
    """Return whether rows may be rejected whole, and are kept with all that they hold."""
    targets = (target for cell in rows.cells for of_kind in cell.targets.values() for target in of_kind)
    return rows.refusal is not None or any(
        target.refusal is not None and target.refusal.mode is not Mode.DISCARD_VALUE for target in targets
    )


def _drop_superseded(
    engine: Engine,
    partitions: Sequence[WrittenPart],
    job: RowsJob,
    outcomes: Sequence[RowOutcome],
    folder: Path,
    progress: Progress,
) -> dict[str, list[str]]:
    """Rewrite the files with superseded rows; return by table the files with the superseded rows."""
    superseded_files: dict[str, list[str]] = {}
    for root_number, root in enumerate(job.compared):
        plan, outcome = next(
            (plan, outcome) for plan, outcome in zip(job.plans.values(), outcomes, strict=True) if root in plan.tables
        )
        files_by_partition = {
            number: partition.files for number, partition in enumerate(partitions) if root in partition.files.places
        }
        if not files_by_partition:
            continue
        progress("looking for rows with the same key", None)
        target = folder / f"superseded-{root_number}"
        assert job.folder is not None
        place_files = {number: files.places[root].name for number, files in files_by_partition.items()}
        places = RowPlaces(job.folder, place_files, job.compared[root], plan.tables[root])
        if not engine.write_superseded(places, target):
            continue
        records = engine.distribute(_rewritten_files(files_by_partition, plan, root))
        arguments = {"folder": job.folder, "superseded": target.as_uri(), "keeps": list(plan.tables)}
        rewritten = engine.run(records, "schemactl.kernel.package", "drop_superseded", **arguments)
        for number, table, current, superseded in sorted(chain.from_iterable(rewritten), key=lambda item: item[:2]):
            tables = partitions[number].files.tables
            del tables[table]
            if current.rows:
                tables[table] = current
            if superseded.rows:
                superseded_files.setdefault(table, []).append(superseded.name)
                outcome.count(table, superseded=superseded.rows)
    return superseded_files


def _rewritten_files(parts: Mapping[int, WrittenFiles], plan: Plan, root: str) -> list[str]:
    """Return the files of a root table and of its nested tables."""
    tables = {root: None}
    for rows in plan.rows.walk():
        if rows.parent in tables:
            tables[rows.table] = None
    return [
        json.dumps([number, table, files.tables[table].name, files.places[table].name])
        for number, files in parts.items()
        for table in tables
        if table in files.places
    ]

"""Writes the tables of a load from staged documents: Parquet files with a table's columns, and counts of all rows."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Final

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Observation, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemactl.engine.coercions.by_python import is_refused, without_python
from schemactl.engine.dispositions import SUPERSEDED_FOLDER
from schemactl.engine.duplicates import SUPERSEDED_FLAG, find_superseded
from schemactl.engine.nested_types import column_type
from schemactl.engine.outcome import ABOVE, ITSELF, LOSSES, VALUES, Problem, columns_of, flags_of, problems_of
from schemactl.engine.rows import RowFrame, row_frames
from schemactl.engine.sql import quoted
from schemactl.engine.stage import Staged, prepare_parquet
from schemactl.engine.survey import Progress
from schemactl.inference.evidence import Position
from schemactl.normalization.plan import Plan
from schemactl.normalization.tally import Overwritten, RowCounts, Tally, Unfit
from schemactl.schema.types import Table

_JOBS_AT_ONCE: Final = 2
"""What one table's job leaves idle at its start and end, another one uses."""


@dataclass(frozen=True, slots=True)
class Written:
    """Tables as they are written.

    Attributes:
        folders: of Parquet files by table, in the plan's order; each holds one file at least. Rows that give way to
            others with the same primary key stand in a folder of their own in it (``SUPERSEDED_FOLDER``).
        tally: what became of all rows.
    """

    folders: Mapping[str, Path]
    tally: Tally


def write_tables(
    spark: SparkSession,
    staged: Sequence[Staged],
    plan: Plan,
    load_id: str,
    folder: Path,
    progress: Progress = lambda *_: None,
) -> Written:
    """Write every table of ``plan`` into a folder of its own below ``folder``, complete columns only.

    Where the tally says that values would be lost (``Tally.is_loadable``), the files must not be loaded.

    Args:
        spark: a session.
        staged: what ``stage`` has made for the same plan.
        plan: as ``stage`` was given it.
        load_id: as ``stage`` was given it.
        folder: a folder of its own, which Spark's workers can write to.
        progress: told each table.
    """
    prepare_parquet(spark)
    try:
        with without_python():
            frames = frames_by_table(staged, plan, load_id)
        return _write_tables(spark, frames, plan, load_id, folder / "usual", progress)
    except PySparkException as error:
        if not is_refused(error):
            raise
    shutil.rmtree(folder / "usual", ignore_errors=True)
    return _write_tables(spark, frames_by_table(staged, plan, load_id), plan, load_id, folder / "all", progress)


def _write_tables(
    spark: SparkSession,
    frames: Mapping[str, Sequence[RowFrame]],
    plan: Plan,
    load_id: str,
    folder: Path,
    progress: Progress,
) -> Written:
    superseded = find_superseded(spark, frames, plan, load_id, folder / "superseded")
    if superseded.places:
        frames = {name: [superseded.mark(each) for each in found] for name, found in frames.items()}
    names = list(dict.fromkeys((*(rows.table for rows in plan.rows.walk()), *plan.tables)))
    folders = {name: folder / f"table-{at}" for at, name in enumerate(names) if name in plan.tables}

    def write(name: str) -> _Counted:
        table = plan.tables.get(name)
        if table is not None:
            return _write(spark, frames.get(name, []), table, plan, load_id, folders[name])
        return _count(frames[name]) if name in frames else _Counted(RowCounts())

    counted: dict[str, _Counted] = {}
    with ThreadPoolExecutor(_JOBS_AT_ONCE) as pool:
        for at, (name, counts) in enumerate(zip(names, pool.map(write, names), strict=True)):
            progress("writing tables", (at + 1) / len(names))
            counted[name] = counts
    lossy = [each for name in names if counted[name].is_lossy for each in frames[name]]
    unfit, overwritten = _find_losses(lossy, progress) if lossy else ((), ())
    return Written(folders, Tally({name: each.rows for name, each in counted.items()}, unfit, overwritten))


def frames_by_table(staged: Sequence[Staged], plan: Plan, load_id: str) -> dict[str, list[RowFrame]]:
    """Return the rows of each table that has any, those of refused tables too."""
    frames: dict[str, list[RowFrame]] = {}
    for batch in staged:
        for found in row_frames(batch, plan, load_id):
            frames.setdefault(found.rows.table, []).append(found)
    return frames


# --- one table ---


@dataclass(frozen=True, slots=True)
class _Counted:
    """The rows of a table, and whether values of theirs would be lost."""

    rows: RowCounts
    is_lossy: bool = False


def _write(
    spark: SparkSession, frames: Sequence[RowFrame], table: Table, plan: Plan, load_id: str, folder: Path
) -> _Counted:
    if not frames:
        empty = spark.createDataFrame([], _row_type(table, plan))
        empty.coalesce(1).write.parquet(folder.as_uri())
        return _Counted(RowCounts())
    observation = Observation()
    rows = _flagged(frames, [columns_of(each, table, plan, load_id) for each in frames])
    _kept(rows.observe(observation, *_counts(rows))).write.parquet(folder.as_uri())
    counted = _counted(observation.get)
    if counted.rows.superseded:
        _kept(rows, is_superseded=True).write.parquet((folder / SUPERSEDED_FOLDER).as_uri())
    return counted


_UNSET: Final = {ABOVE: "false", ITSELF: "false", SUPERSEDED_FLAG: "false", VALUES: "0", LOSSES: "0"}


def _flagged(frames: Sequence[RowFrame], columns: Sequence[Sequence[str]]) -> DataFrame:
    """Return some columns of all rows, and beside them the flags of ``_UNSET`` that any of them has."""
    flags = [_flags(each) for each in frames]
    names = [name for name in _UNSET if any(name in found for found in flags)]
    parts = []
    for each, found, wanted in zip(frames, flags, columns, strict=True):
        told = (f"{found.get(name, _UNSET[name])} as {quoted(name)}" for name in names)
        parts.append(each.frame.selectExpr(*wanted, *told))
    return united(parts)


def _flags(rows: RowFrame) -> dict[str, str]:
    found = flags_of(rows, problems_of(rows))
    return found | {SUPERSEDED_FLAG: quoted(SUPERSEDED_FLAG)} if SUPERSEDED_FLAG in rows.frame.columns else found


def _kept(rows: DataFrame, *, is_superseded: bool = False) -> DataFrame:
    """Return the rows that are kept, or the superseded ones, without their flags."""
    flags = [name for name in _UNSET if name in rows.columns]
    # Rows without any flag are not made anew.
    wanted = [
        ("" if is_superseded and name == SUPERSEDED_FLAG else "not ") + quoted(name)
        for name in flags
        if name in (ABOVE, ITSELF, SUPERSEDED_FLAG)
    ]
    return (rows.where(" and ".join(wanted)) if wanted else rows).drop(*flags)


def _row_type(table: Table, plan: Plan) -> T.StructType:
    complete = (column for column in table.columns.values() if column.is_complete)
    return T.StructType([T.StructField(column.name, column_type(column, table.name, plan)) for column in complete])


def united(parts: Sequence[DataFrame]) -> DataFrame:
    """Return the rows of all frames, column by column."""
    return reduce(DataFrame.unionAll, parts)


def _counts(rows: DataFrame) -> list[Column]:
    """Return the counts of ``_Counted`` that may be more than 0; each one takes its time for every row."""
    above, itself, superseded, values, losses = (
        F.col(quoted(name)) if name in rows.columns else F.expr(unset) for name, unset in _UNSET.items()
    )
    counts = {
        ITSELF: F.count_if(itself).alias("rejected"),
        ABOVE: F.count_if(above).alias("rejected_above"),
        VALUES: F.coalesce(F.sum(values), F.lit(0)).alias("values_rejected"),
        SUPERSEDED_FLAG: F.count_if(superseded & ~above & ~itself).alias("superseded"),
        LOSSES: F.coalesce(F.sum(losses), F.lit(0)).alias("losses"),
    }
    return [F.count("*").alias("read"), *(count for name, count in counts.items() if name in rows.columns)]


def _counted(found: Mapping[str, Any]) -> _Counted:
    counts = {name: int(value) for name, value in found.items()}
    losses = counts.pop("losses", 0)
    return _Counted(RowCounts(**counts), losses > 0)


def _count(frames: Sequence[RowFrame]) -> _Counted:
    """Count the rows of a table that may not be."""
    flags = _flagged(frames, [("true as row",)] * len(frames))
    return _counted(flags.agg(*_counts(flags)).collect()[0].asDict())


# --- what would be lost ---


def found_problems(rows: RowFrame, frame: DataFrame, problems: Sequence[Problem], *also: str) -> DataFrame:
    """Return a row for each problem that a row has: ``file``, ``number``, ``at`` (in ``problems``), ``value``.

    Rows below refused ones are left out, and of a refused row all but what refuses it.

    Args:
        rows: which rows.
        frame: theirs, with the columns that ``also`` needs.
        problems: which problems.
        also: further columns, as SQL with names.
    """
    structs = [
        f"if({each.sql}{'' if each.refuses_row else f' and not {quoted(ITSELF)}'}, "
        f"named_struct('at', {at}, 'value', {each.text}), null)"
        for at, each in enumerate(problems)
    ]
    itself = flags_of(rows, ()).get(ITSELF, _UNSET[ITSELF])
    flagged = frame.selectExpr("*", f"{itself} as {quoted(ITSELF)}")
    listed = flagged.where("not r").selectExpr(
        "file", "number", *also, f"explode(array_compact(array({', '.join(structs)}))) as problem"
    )
    return listed.select("*", "problem.*").drop("problem")


def _find_losses(frames: Iterable[RowFrame], progress: Progress) -> tuple[tuple[Unfit, ...], tuple[Overwritten, ...]]:
    progress("finding values that would be lost", None)
    unfit: list[Unfit] = []
    overwritten: list[Overwritten] = []
    for rows in frames:
        problems = [each for each in problems_of(rows) if each.violation is None]
        for problem, row in _summed(found_problems(rows, rows.frame, problems), problems) if problems else ():
            first = Position(row["first"]["file"], row["first"]["number"])
            column = problem.column
            if problem.is_overwrite:
                overwritten.append(Overwritten(problem.table, column, problem.paths, row["count"], first))
                continue
            unfit.append(
                Unfit(
                    problem.table, column or "", problem.paths[0], problem.kind, problem.expected,
                    row["count"], first, row["example"],
                )
            )  # fmt: skip
    return tuple(unfit), tuple(overwritten)


def _summed(found: DataFrame, problems: Sequence[Problem]) -> list[tuple[Problem, Row]]:
    """Return for each problem that is found how often (``count``), where ``first``, and an ``example``."""
    place = F.struct("file", "number")
    summed = found.groupBy("at").agg(
        F.count("*").alias("count"), F.min(place).alias("first"), F.min_by("value", place).alias("example")
    )
    return [(problems[row["at"]], row) for row in sorted(summed.collect(), key=lambda row: row["at"])]

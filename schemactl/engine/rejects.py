"""Writes what contracts keep out of a load: each rejected row and value with its reason and its place.

A row that is rejected for several values is written once for each of them; what is nested in it stands in its JSON,
not in rows of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from schemactl.engine.coercion import stored_type
from schemactl.engine.outcome import Problem, problems_of
from schemactl.engine.rows import RowFrame, row_json
from schemactl.engine.sql import literal
from schemactl.engine.stage import Staged, prepare_parquet
from schemactl.engine.tables import found_problems, frames_by_table, united
from schemactl.inference import paths
from schemactl.inference.evidence import Position
from schemactl.inference.paths import ELEMENT
from schemactl.normalization.plan import Plan
from schemactl.normalization.tally import REJECTS_COLUMNS, Rejected
from schemactl.schema.judgement import Violation


@dataclass(frozen=True, slots=True)
class WrittenRejects:
    """Rejected rows and values as they are written.

    Attributes:
        folder: of Parquet files with the columns ``tally.REJECTS_COLUMNS``; it holds one file at least.
        rows: how many there are.
        by_violation: what each violation kept out, in the plan's order.
    """

    folder: Path
    rows: int
    by_violation: tuple[Rejected, ...]


def write_rejects(
    spark: SparkSession,
    staged: Sequence[Staged],
    plan: Plan,
    load_id: str,
    inserted_at: datetime,
    folder: Path,
) -> WrittenRejects | None:
    """Write all rejected rows and values; None where there are none.

    Args:
        spark: a session.
        staged: what ``stage`` has made for the same plan.
        plan: as ``stage`` was given it.
        load_id: as ``stage`` was given it.
        inserted_at: when the load is made, with its time zone.
        folder: a folder of its own, which Spark's workers can write to.
    """
    prepare_parquet(spark)
    frames = [each for found in frames_by_table(staged, plan, load_id).values() for each in found]
    parts: list[DataFrame] = []
    violations: dict[tuple[str, str | None], Violation] = {}
    for rows in frames:
        problems = [each for each in problems_of(rows) if each.violation is not None]
        if problems:
            parts.append(_described(rows, problems, load_id, inserted_at))
            violations.update({_key(each.violation): each.violation for each in problems if each.violation})
    if not parts:
        return None
    united(parts).write.parquet(folder.as_uri())
    by_violation = _summed(spark.read.parquet(folder.as_uri()), violations)
    return WrittenRejects(folder, sum(each.count for each in by_violation), by_violation)


def _key(violation: Violation) -> tuple[str, str | None]:
    return violation.table, violation.column


def _described(rows: RowFrame, problems: Sequence[Problem], load_id: str, inserted_at: datetime) -> DataFrame:
    indexes = [f"i{level}" for level in range(1, rows.level + 1)]
    with_row = rows.frame.withColumn("row", row_json(rows))
    found = found_problems(rows, with_row, problems, f"k{rows.level} as row_key", "row", *indexes)
    return found.select(*(column.alias(name) for name, column in _columns(problems, load_id, inserted_at).items()))


def _columns(problems: Sequence[Problem], load_id: str, inserted_at: datetime) -> dict[str, Column]:
    violations = [each.violation for each in problems if each.violation is not None]

    def known(values: Sequence[str | None]) -> Column:
        texts = ", ".join("cast(null as string)" if value is None else literal(value) for value in values)
        return F.expr(f"array({texts})[at]")

    at_path = ", ".join(_path_sql(each) for each in problems)
    is_row = ", ".join(str(each.refuses_row).lower() for each in problems)
    made = {
        "load_id": F.lit(load_id),
        "table_name": known([each.table for each in violations]),
        "column_name": known([each.column for each in violations]),
        "entity": known([each.entity for each in violations]),
        "mode": known([each.mode for each in violations]),
        "expected": known([each.expected for each in violations]),
        "found": known([each.found for each in violations]),
        "value": F.col("value").cast("string"),
        "path": F.expr(f"array({at_path})[at]"),
        "file": F.col("file"),
        "line": F.col("number"),
        "row_key": F.col("row_key"),
        "row": F.expr(f"if(array({is_row})[at], row, null)"),
        "inserted_at": F.lit(inserted_at),
    }
    return {column.name: made[column.name].cast(stored_type(column)) for column in REJECTS_COLUMNS}


def _path_sql(problem: Problem) -> str:
    """Return SQL for the path of a value, with its places in lists in place of "each element"."""
    parts: list[list[str]] = [[]]
    for step in problem.paths[0]:
        if step is ELEMENT:
            parts.append([])
        else:
            parts[-1].append(step)
    texts = [literal(paths.format_path(tuple(part)).removeprefix("$")) for part in parts]
    found = ["'$'", texts[0]]
    for level, text in enumerate(texts[1:], start=1):
        found += ["'['", f"i{level}", "']'", text]
    return f"concat({', '.join(found)})"


def _summed(rejects: DataFrame, violations: Mapping[tuple[str, str | None], Violation]) -> tuple[Rejected, ...]:
    place = F.struct("file", "line")
    shown = F.coalesce("value", "row")
    counted = rejects.groupBy("table_name", "column_name").agg(
        F.count("*").alias("count"), F.min(place).alias("first"), F.min_by(shown, place).alias("example")
    )
    rows: dict[tuple[str, str | None], Row] = {
        (row["table_name"], row["column_name"]): row for row in counted.collect()
    }
    return tuple(
        Rejected(violation, row["count"], Position(row["first"]["file"], row["first"]["line"]), row["example"])
        for key, violation in violations.items()
        if (row := rows.get(key)) is not None
    )

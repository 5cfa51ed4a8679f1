"""Files of this machine that Spark's workers open by themselves (``engine.parts``); Spark lists and reads none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from operator import not_
from typing import Final

from pyspark.sql import SparkSession

from schemactl.engine.input import Input
from schemactl.engine.parts import cut_csv, cut_files
from schemactl.engine.spark.batches import Documents, FileRows
from schemactl.engine.spark.options import local_cores, parse_size
from schemactl.engine.spark.shipping import for_workers, parts_frame, shares_this_machine
from schemactl.kernel.cells import CsvLayout
from schemactl.kernel.files import PIECES, Form

_MOST_OF_TASK: Final = 1 << 27
_TASKS_PER_CORE: Final = 2


def split_inputs(spark: SparkSession, inputs: Sequence[Input]) -> tuple[list[Input], list[Input]]:
    """Return the files that workers can open, and the files that Spark reads: remote, or with another compression."""
    is_near = shares_this_machine(spark)
    are_readable = [is_near and file.is_readable_here for file in inputs]
    return list(compress(inputs, are_readable)), list(compress(inputs, map(not_, are_readable)))


def read_files(spark: SparkSession, inputs: Sequence[Input], form: Form) -> Iterator[Documents]:
    """Yield the records of files that workers can open."""
    if not inputs:
        return
    cores = _cores(spark)
    files = cut_files(inputs, form, cores, _most_of_task(spark))
    if files.tasks:
        yield Documents(parts_frame(spark, files.tasks), is_for_workers=True)
    if files.packed:
        read = for_workers(spark, "schemactl.kernel.files", "read_pieces")
        pieces = parts_frame(spark, files.packed).mapInArrow(read, PIECES)
        yield Documents(pieces.repartition(_TASKS_PER_CORE * cores), is_for_workers=True)


def read_csv(
    spark: SparkSession, inputs: Sequence[Input], layout: CsvLayout, starts: Mapping[str, Mapping[int, bool]]
) -> Documents:
    """Return the rows of files of CSV that workers can open, all of one layout (``parts.cut_csv``)."""
    tasks = cut_csv(inputs, layout, starts, _cores(spark), _most_of_task(spark))
    return file_documents(spark, FileRows(tasks, layout))


def file_documents(spark: SparkSession, rows: FileRows) -> Documents:
    """Return the rows of files as documents."""
    return Documents(parts_frame(spark, rows.tasks), rows, is_for_workers=True)


def _cores(spark: SparkSession) -> int:
    return local_cores(spark.conf.get("spark.master") or "") or 1


def _most_of_task(spark: SparkSession) -> int:
    """Return how many bytes a task reads at most, by Spark's own setting."""
    return parse_size(spark.conf.get("spark.sql.files.maxPartitionBytes") or "", bare=1) or _MOST_OF_TASK

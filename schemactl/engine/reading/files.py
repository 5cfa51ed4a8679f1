"""Files of this machine that workers open by themselves: which task reads which of them, and which parts of large ones.

Spark lists no files and reads none; a large file that is not compressed is read by several tasks, and of one that is,
or of one list, the pieces go to all of them.
"""

from __future__ import annotations

import os
import pickle
from array import array
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import compress, pairwise
from operator import not_
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from schemactl.engine.input import UTF8, Input, compression_of
from schemactl.engine.input_formats import Documents, FileRows
from schemactl.engine.session.settings import local_cores, parse_size
from schemactl.engine.shipping import for_workers, shares_this_machine
from schemactl.kernel.arrays import binary_array
from schemactl.kernel.cells import CsvLayout
from schemactl.kernel.files import HEAD_BYTES, PIECES, READ_BYTES, FilePart, Form
from schemactl.kernel.splitting import BEGUN, Outline, Outliner

_OPEN_COST: Final = 1 << 16
"""Bytes that could be read in the time that it takes to open a file."""

_LEAST_OF_TASK: Final = 1 << 22
_MOST_OF_TASK: Final = 1 << 27
_TASKS_PER_CORE: Final = 2
_PACKED: Final = 5
"""How many bytes a compressed one stands for, at a guess."""


def split_inputs(spark: SparkSession, inputs: Sequence[Input]) -> tuple[list[Input], list[Input]]:
    """Return the files that workers can open, and those that Spark reads: elsewhere, or compressed in another way."""
    is_near = shares_this_machine(spark)
    taken = [is_near and each.is_readable_here for each in inputs]
    return list(compress(inputs, taken)), list(compress(inputs, map(not_, taken)))


def read_files(spark: SparkSession, inputs: Sequence[Input], form: Form) -> Iterator[Documents]:
    """Yield the records of files that workers can open."""
    cores = local_cores(spark.conf.get("spark.master") or "") or 1
    paths = [os.path.join(os.getcwd(), each.path) for each in inputs]  # noqa: PTH109, PTH118
    parts = [_whole(path, each, form) for path, each in zip(paths, inputs, strict=True)]
    sizes = [_size(part) for part in parts]
    most = _most_of_task(spark, sum(sizes) + _OPEN_COST * len(sizes), cores)
    packed: list[FilePart] = []
    taken: list[tuple[FilePart, int]] = []
    for part, size in zip(parts, sizes, strict=True):
        if size <= most or cores == 1:
            taken.append((part, size))
        elif part.suffix or part.encoding != UTF8:
            # One task reads it; what it holds is parsed by all, but for a document that is one record.
            if form is Form.LINES or part.is_list():
                packed.append(part)
            else:
                taken.append((part, size))
        else:
            taken += _cut(part, size, most, cores)
    if taken:
        yield Documents(shares_frame(spark, list(_grouped(taken, most))), is_for_workers=True)
    if packed:
        read = for_workers(spark, "schemactl.kernel.files", "read_pieces")
        pieces = shares_frame(spark, [[part] for part in packed]).mapInArrow(read, PIECES)
        yield Documents(pieces.repartition(_TASKS_PER_CORE * cores), is_for_workers=True)


def read_csv(
    spark: SparkSession, inputs: Sequence[Input], layout: CsvLayout, starts: Mapping[str, Mapping[int, bool]]
) -> Documents:
    """Return the rows of files of well-formed CSV that workers can open, all of one layout.

    ``starts`` says by file where parts of it may begin, in bytes, and whether that is within a quoted cell.
    """
    cores = local_cores(spark.conf.get("spark.master") or "") or 1
    parts = [replace(_whole(str(Path.cwd() / each.path), each, Form.ROWS), layout=layout) for each in inputs]
    sizes = [_size(part) for part in parts]
    most = _most_of_task(spark, sum(sizes) + _OPEN_COST * len(sizes), cores)
    taken: list[tuple[FilePart, int]] = []
    for each, part, size in zip(inputs, parts, sizes, strict=True):
        cuts = [0]
        if cores > 1 and not part.suffix and part.encoding == UTF8:
            for start in starts[each.path]:
                if start - cuts[-1] >= most:
                    cuts.append(start)
        for start, end in pairwise([*cuts, max(size, cuts[-1])]):
            of_part = None if start == cuts[-1] else end - start
            found = replace(part, start=start, size=of_part, is_in_cell=starts[each.path].get(start, False))
            taken.append((found, end - start))
    return file_documents(spark, FileRows(tuple(map(tuple, _grouped(taken, most))), layout))


def file_documents(spark: SparkSession, rows: FileRows) -> Documents:
    """Return the rows of files as documents."""
    return Documents(shares_frame(spark, rows.shares), rows, is_for_workers=True)


def _whole(path: str, file: Input, form: Form) -> FilePart:
    return FilePart(f"file://{quote(os.fsencode(path))}", path, compression_of(path), file.encoding, form)


def _size(part: FilePart) -> int:
    with suppress(OSError):  # the worker reports it
        return os.stat(part.path).st_size * (_PACKED if part.suffix else 1)  # noqa: PTH116 - thousands of files
    return 0


def _most_of_task(spark: SparkSession, total: int, cores: int) -> int:
    """Return how many bytes a task reads: all cores have work, and no more than Spark's own setting."""
    stated = parse_size(spark.conf.get("spark.sql.files.maxPartitionBytes") or "", bare=1)
    return min(stated or _MOST_OF_TASK, max(_LEAST_OF_TASK, total // (_TASKS_PER_CORE * cores)))


def _cut(part: FilePart, size: int, most: int, cores: int) -> list[tuple[FilePart, int]]:
    """Cut a large file into parts; a document that is no list stays whole."""
    if part.form is Form.LINES:
        return [
            (replace(part, start=start, size=min(most, size - start)), min(most, size - start))
            for start in range(0, size, most)
        ]
    if not part.is_list():
        return [(part, size)]
    with part.open() as opened:
        begin = opened.read(HEAD_BYTES).index(b"[") + 1
        starts = [begin]
        for start in range(begin + most, size, most):
            at = start
            # A part begins behind no backslash, which would be half of an escape.
            while opened.seek(at - 1) and opened.read(1) == b"\\":
                at += 1
            if starts[-1] < at < size:
                starts.append(at)
    bounds = list(zip(starts, [*starts[1:], size], strict=True))
    with ThreadPoolExecutor(cores) as pool:
        outlines = list(pool.map(lambda bound: _outline(part, *bound), bounds[:-1]))
    found, before = [], BEGUN
    for (start, end), outline in zip(bounds, [*outlines, None], strict=True):
        found.append((replace(part, start=start, size=end - start, before=before), end - start))
        if outline is not None:
            before = outline.after(before)
    return found


def _outline(part: FilePart, start: int, end: int) -> Outline:
    outliner = Outliner()
    with part.open() as opened:
        opened.seek(start)
        for at in range(start, end, READ_BYTES):
            outliner.add(opened.read(min(READ_BYTES, end - at)))
    return outliner.outline


def _grouped(parts: Sequence[tuple[FilePart, int]], most: int) -> Iterator[list[FilePart]]:
    """Yield the parts that a task reads, in their order."""
    group: list[FilePart] = []
    held = 0
    for part, size in parts:
        if group and held + size > most:
            yield group
            group, held = [], 0
        group.append(part)
        held += size + _OPEN_COST
    if group:
        yield group


def shares_frame(spark: SparkSession, shares: Sequence[Sequence[FilePart]]) -> DataFrame:
    """Return a frame of one share in each partition."""
    pickled = [pickle.dumps(tuple(parts), pickle.HIGHEST_PROTOCOL) for parts in shares]
    numbers = pa.Array.from_buffers(pa.int32(), len(pickled), [None, pa.py_buffer(array("i", range(len(pickled))))])
    batch = pa.RecordBatch.from_arrays([numbers, binary_array(pickled)], ["number", "share"])
    frame = spark.createDataFrame(pa.Table.from_batches([batch]))
    if len(shares) > 1:
        frame = frame.repartitionById(len(shares), F.col("number"))
    return frame.select("share")

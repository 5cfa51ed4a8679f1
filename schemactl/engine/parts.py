"""Cuts files of this machine into the parts that workers of any engine read.

A large file that is not compressed is read by several tasks; small files are read together by one. Of a large file
that is compressed, one process undoes the compression, and its records go to all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final
from urllib.parse import quote

from schemactl.engine.input import UTF8, Input, compression_of
from schemactl.grouping import group_by_size
from schemactl.kernel.cells import CsvLayout
from schemactl.kernel.files import HEAD_BYTES, READ_BYTES, FilePart, Form, wrapped_errors
from schemactl.kernel.splitting import BEGUN, Outline, Outliner

OPEN_COST: Final = 1 << 16
"""Bytes that could be read in the time that it takes to open a file."""

_LEAST_OF_TASK: Final = 1 << 22
_TASKS_PER_CORE: Final = 2
_UNPACKED_TIMES: Final = 5
"""The estimated ratio of unpacked to compressed bytes."""


@dataclass(frozen=True, slots=True)
class TaskParts:
    """The parts of files that one task reads, one after the other; ``size`` counts uncompressed bytes (estimated)."""

    parts: tuple[FilePart, ...]
    size: int

    def with_layout(self, layout: CsvLayout) -> TaskParts:
        return TaskParts(tuple(replace(file_part, layout=layout) for file_part in self.parts), self.size)


@dataclass(frozen=True, slots=True)
class CutFiles:
    """Files, cut into tasks, and ``packed``: large compressed files whose records go to all cores."""

    tasks: tuple[TaskParts, ...]
    packed: tuple[TaskParts, ...] = ()


def uncompressed_size(file: Input) -> int:
    """Return the size of a file in bytes, at a guess if it is compressed; 0 if it cannot be read."""
    return (file.stored_size() or 0) * (_UNPACKED_TIMES if compression_of(file.path) else 1)


def cut_files(inputs: Sequence[Input], form: Form, cores: int, most_of_task: int) -> CutFiles:
    """Cut files of lines or JSON documents into tasks of at most ``most_of_task`` bytes, and work for all cores."""
    files = [whole_file(file, form) for file in inputs]
    sizes = [uncompressed_size(file) for file in inputs]
    most = _bytes_of_task(sizes, cores, most_of_task)
    packed: list[TaskParts] = []
    parts: list[tuple[FilePart, int]] = []
    for file, size in zip(files, sizes, strict=True):
        if size <= most or cores == 1:
            parts.append((file, size))
        # Records inside a document are read from its beginning on.
        elif (
            file.suffix
            or file.encoding != UTF8
            or (file.selection is not None and (form is Form.ELEMENTS or file.has_long_line()))
        ):
            # A document that is one record goes to one task.
            if form is not Form.ELEMENTS or file.selection is not None or file.is_list():
                packed.append(TaskParts((file,), size))
            else:
                parts.append((file, size))
        else:
            parts += _cut(file, size, most, cores)
    return CutFiles(tuple(_grouped(parts, most)), tuple(packed))


def cut_csv(
    inputs: Sequence[Input], layout: CsvLayout, starts: Mapping[str, Mapping[int, bool]], cores: int, most_of_task: int
) -> tuple[TaskParts, ...]:
    """Cut files of CSV of one layout into tasks; malformed files stay whole.

    ``starts`` has by path the offsets (bytes) at which parts may begin, and whether each is within a quoted cell.
    """
    files = [replace(whole_file(input_file, Form.ROWS), layout=layout) for input_file in inputs]
    sizes = [uncompressed_size(file) for file in inputs]
    most = _bytes_of_task(sizes, cores, most_of_task)
    parts: list[tuple[FilePart, int]] = []
    for input_file, file, size in zip(inputs, files, sizes, strict=True):
        cuts = [0]
        if layout.is_well_formed and cores > 1 and not file.suffix and file.encoding == UTF8:
            for start in starts[input_file.path]:
                if start - cuts[-1] >= most:
                    cuts.append(start)
        for start, end in pairwise([*cuts, max(size, cuts[-1])]):
            part_size = None if start == cuts[-1] else end - start
            is_in_cell = starts[input_file.path].get(start, False)
            parts.append((replace(file, start=start, size=part_size, is_in_cell=is_in_cell), end - start))
    return tuple(_grouped(parts, most))


def whole_file(file: Input, form: Form) -> FilePart:
    """Return a whole file of this machine, or an object of a store, as one part."""
    suffix, selection = compression_of(file.path), file.selection
    if not file.is_local:
        return FilePart(file.path, file.address, suffix, file.encoding, form, selection=selection)
    path = os.path.join(os.getcwd(), file.path)  # noqa: PTH109, PTH118 - of thousands of files
    address = f"file://{quote(os.fsencode(path))}"
    return FilePart(address, path, suffix, file.encoding, form, selection=selection)


def _bytes_of_task(sizes: Sequence[int], cores: int, most_of_task: int) -> int:
    total = sum(sizes) + OPEN_COST * len(sizes)
    return min(most_of_task, max(_LEAST_OF_TASK, total // (_TASKS_PER_CORE * cores)))


def _cut(file: FilePart, size: int, most: int, cores: int) -> list[tuple[FilePart, int]]:
    """Cut a large file into parts; a document that is not a list stays whole."""
    if file.form is not Form.ELEMENTS:
        return [
            (replace(file, start=start, size=min(most, size - start)), min(most, size - start))
            for start in range(0, size, most)
        ]
    if not file.is_list():
        return [(file, size)]
    with wrapped_errors(file), file.open() as opened:
        first = opened.read(HEAD_BYTES).find(b"[") + 1
        starts = [first]
        for start in range(first + most, size, most):
            cut = start
            # A part begins behind no backslash, which would be half of an escape.
            while opened.seek(cut - 1) and opened.read(1) == b"\\":
                cut += 1
            if starts[-1] < cut < size:
                starts.append(cut)
    bounds = list(zip(starts, [*starts[1:], size], strict=True))
    with ThreadPoolExecutor(cores) as pool:
        outlines = list(pool.map(lambda bound: _outline(file, *bound), bounds[:-1]))
    parts, before = [], BEGUN
    for (start, end), outline in zip(bounds, [*outlines, None], strict=True):
        parts.append((replace(file, start=start, size=end - start, before=before), end - start))
        if outline is not None:
            before = outline.after(before)
    return parts


def _outline(file: FilePart, start: int, end: int) -> Outline:
    outliner = Outliner()
    with wrapped_errors(file), file.open() as opened:
        opened.seek(start)
        for offset in range(start, end, READ_BYTES):
            outliner.add(opened.read(min(READ_BYTES, end - offset)))
    return outliner.outline


def _grouped(parts: Sequence[tuple[FilePart, int]], most: int) -> Iterator[TaskParts]:
    """Yield the parts that each task reads, in their order."""
    # The first file of a task costs nothing: the task is open anyway.
    for group in group_by_size(parts, lambda part_and_size: part_and_size[1] + OPEN_COST, most + OPEN_COST):
        size = sum(size + OPEN_COST for _, size in group)
        yield TaskParts(tuple(file_part for file_part, _ in group), size)

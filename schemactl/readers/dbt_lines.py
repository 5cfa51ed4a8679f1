"""The lines of a model's file that the lines of its compiled SQL come from: Jinja adds and removes lines."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import pairwise
from typing import Final

_TAGS: Final = ("{{", "{%", "{#")


def map_lines(raw_code: str, compiled_code: str) -> dict[int, int]:
    """Return the line of the file by the line of the compiled SQL, both from 1; without lines that are not known.

    Lines that occur once in both texts are the same; their equal neighbors are, too. Other lines are the result of the
    one tag between two such lines. Texts without such lines have nothing in common.
    """
    raw_lines = [line.strip() for line in raw_code.splitlines()]
    lines = [line.strip() for line in compiled_code.splitlines()]
    if len(raw_lines) == len(lines) and all(
        line == raw_line or _has_tag(raw_line) for line, raw_line in zip(lines, raw_lines, strict=True)
    ):
        return {number: number for number in range(1, len(lines) + 1)}
    raw_numbers = dict(_same_lines(raw_lines, lines))
    if not raw_numbers:
        return {}
    used_numbers = set(raw_numbers.values())
    for number, raw_number in list(raw_numbers.items()):
        for step in (1, -1):
            neighbor, raw_neighbor = number + step, raw_number + step
            while (
                neighbor not in raw_numbers
                and 0 <= neighbor < len(lines)
                and 0 <= raw_neighbor < len(raw_lines)
                and lines[neighbor] == raw_lines[raw_neighbor]
                and raw_neighbor not in used_numbers
            ):
                raw_numbers[neighbor] = raw_neighbor
                used_numbers.add(raw_neighbor)
                neighbor, raw_neighbor = neighbor + step, raw_neighbor + step
    known_numbers = [(-1, -1), *sorted(raw_numbers.items()), (len(lines), len(raw_lines))]
    for (start, raw_start), (end, raw_end) in pairwise(known_numbers):
        tag_numbers = [number for number in range(raw_start + 1, raw_end) if _has_tag(raw_lines[number])]
        if len(tag_numbers) == 1:
            raw_numbers |= dict.fromkeys(range(start + 1, end), tag_numbers[0])
    return {number + 1: raw_number + 1 for number, raw_number in raw_numbers.items()}


def _has_tag(line: str) -> bool:
    return any(tag in line for tag in _TAGS)


def _same_lines(raw_lines: list[str], lines: list[str]) -> list[tuple[int, int]]:
    """Return the numbers, from 0, of the lines that occur once in both texts, in the order of both."""
    raw_counts, counts = Counter(raw_lines), Counter(lines)
    raw_numbers = {line: number for number, line in enumerate(raw_lines) if raw_counts[line] == 1}
    pairs = [
        (number, raw_numbers[line])
        for number, line in enumerate(lines)
        if counts[line] == 1 and line and line in raw_numbers
    ]
    return _longest_rising(pairs)


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest part of pairs in which the second numbers rise, as the first ones do."""
    ends: list[int] = []
    indexes: list[int] = []
    previous: list[int | None] = []
    for index, (_, number) in enumerate(pairs):
        length = bisect_left(ends, number)
        previous.append(indexes[length - 1] if length else None)
        ends[length:] = [number, *ends[length + 1 :]]
        indexes[length:] = [index, *indexes[length + 1 :]]
    rising = []
    position = indexes[-1] if indexes else None
    while position is not None:
        rising.append(pairs[position])
        position = previous[position]
    return rising[::-1]

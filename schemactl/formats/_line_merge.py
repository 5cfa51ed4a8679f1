"""Merge lines: bring the difference of two texts into a third one, which is the first in a person's spacing."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

_COMMENT_BEHIND = re.compile(r"\s+#.*$")
_UNKNOWN = 1 << 30


class ConflictError(Exception):
    """Both texts differ from the first one in the same lines, and comments there would be lost."""


def merge_lines(base: str, theirs: str, ours: str) -> str:
    """Return ``theirs`` with the changes from ``base``, which says the same in other spacing, to ``ours``.

    Raises:
        ConflictError: a change falls on lines with comments that ``base`` does not have.
    """
    merge = _Merge(base.split("\n"), theirs.split("\n"), ours.split("\n"))
    return "\n".join(merge.lines())


class _Merge:
    def __init__(self, base: list[str], theirs: list[str], ours: list[str]) -> None:
        self._base, self._theirs, self._ours = base, theirs, ours
        self._end = "\r" if any(line.endswith("\r") for line in theirs) else ""
        self._their_of = _aligned(base, theirs)
        self._our_of = {at: to for at, to in _aligned(base, ours).items() if base[at] == ours[to]}

    def lines(self) -> list[str]:
        """Return the merged lines."""
        merged: list[str] = []
        done = (0, 0, 0)
        for point in self._points():
            if all(after >= before for after, before in zip(point, done, strict=True)):
                merged += self._part(done, point)
                done = point
        return merged

    def _points(self) -> Iterator[tuple[int, int, int]]:
        """Yield places between lines that are known in all three texts."""
        for at in range(len(self._base) + 1):
            their, our = (
                [place for place in (aligned.get(at - 1, -2) + 1, aligned.get(at, -1)) if place >= 0]
                for aligned in (self._their_of, self._our_of)
            )
            if their and our:
                yield at, min(their), min(our)
                yield at, max(their), max(our)
        yield len(self._base), len(self._theirs), len(self._ours)

    def _part(self, start: tuple[int, int, int], end: tuple[int, int, int]) -> list[str]:
        """Merge the lines between two places."""
        texts = (self._base, self._theirs, self._ours)
        base, theirs, ours = (text[first:last] for text, first, last in zip(texts, start, end, strict=True))
        if base == ours:
            return theirs
        if base and ours[: len(base)] == base:
            return theirs + self._in_their_form(ours[len(base) :], end[0] - 1)
        written = self._in_their_form(ours, start[0])
        if not base:
            return written + theirs
        if [*map(_identity, base)] != [*map(_identity, theirs)]:
            if "".join(theirs).count("#") > "".join(base).count("#"):
                raise ConflictError("\n".join(theirs))
        elif len(ours) == len(base):
            return [_with_comment(*lines) for lines in zip(written, base, theirs, strict=True)]
        return written

    def _in_their_form(self, lines: list[str], at: int) -> list[str]:
        """Return lines that are written at a place of ``base`` as deep as those around them are in ``theirs``."""
        written, indent, deeper = [], _UNKNOWN, 0
        for line in lines:
            if line.lstrip(" ").startswith("#"):  # a person's, in the column that it had
                written.append(line + self._end)
                continue
            if line and _indent(line) < indent:
                indent = _indent(line)
                deeper = self._deeper(indent, at)
            written.append((" " * max(0, _indent(line) + deeper) + line.lstrip(" ") if line else "") + self._end)
        return written

    def _deeper(self, indent: int, at: int) -> int:
        """Return how much deeper ``theirs`` has what stands at a place of ``base``, or what that is within."""
        for near in (each for each in (at, *range(at - 1, -1, -1)) if each in self._their_of):
            line = self._base[near].lstrip(" ")
            own = len(self._base[near]) - len(line)
            if line[:1] not in ("", "#") and (own == indent or (own < indent and near < at)):
                return _indent(self._theirs[self._their_of[near]]) - own
        return 0


def _with_comment(line: str, before: str, their: str) -> str:
    """Return a line with the comment that a person's line has at its end and ruamel.yaml's has not: of an alias."""
    found = _COMMENT_BEHIND.search(their)
    is_there = "#" in before or _COMMENT_BEHIND.search(line)
    return line if found is None or is_there else line.rstrip("\r") + found[0]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _identity(line: str) -> str:
    return "".join(_COMMENT_BEHIND.sub("", line.strip()).split())


def _aligned(base: list[str], other: list[str]) -> dict[int, int]:
    """Return which lines of another text are which of ``base``, in one order."""
    places = {name: at for at, name in enumerate(_names(other))}
    common = [(at, places[name]) for at, name in enumerate(_names(base)) if name in places]
    # The longest run in the order of both.
    ends: list[int] = []
    last: list[int] = []
    before: list[int | None] = []
    for index, (_, to) in enumerate(common):
        length = bisect_left(ends, to)
        before.append(last[length - 1] if length else None)
        ends[length : length + 1] = [to]
        last[length : length + 1] = [index]
    aligned = {}
    at = last[-1] if last else None
    while at is not None:
        aligned[common[at][0]] = common[at][1]
        at = before[at]
    return aligned


def _names(lines: list[str]) -> list[tuple[object, ...]]:
    """Return a name for each line that no other has: what it says, below which lines, and the how many-th of those."""
    above = [(-1, 0)]
    names: list[tuple[object, ...]] = []
    name: tuple[int, str]
    seen: Counter[tuple[object, ...]] = Counter()
    for line in lines:
        text = _identity(line)
        indent = _indent(line) + line.lstrip(" ").startswith("- ")
        if not text:
            # The end of both is the same, whatever stands before it.
            name = above[-1][1] if len(names) < len(lines) - 1 else 0, text
        elif text.startswith("#"):
            name = next(parent for column, parent in reversed(above) if column < indent), text
        else:
            while above[-1][0] >= indent:
                above.pop()
            name = above[-1][1], text
            above.append((indent, hash((above[-1][1], text.partition(":")[0]))))
        seen[name] += 1
        names.append((*name, seen[name]))
    return names

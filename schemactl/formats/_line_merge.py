"""Merge lines: apply the difference of two texts to a third text, which is the first text in the user's formatting."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import chain

_COMMENT_BEHIND = re.compile(r"\s+#.*$")
_UNKNOWN = 1 << 30


class ConflictError(Exception):
    """Both texts change the same lines of the first text, and comments there would be lost."""


def merge_lines(base: str, theirs: str, ours: str) -> str:
    """Return ``theirs`` with the changes from ``base``, which says the same in other spacing, to ``ours``.

    Raises:
        ConflictError: a change falls on lines with comments that ``base`` does not have.
    """
    return "\n".join(_Merge(base.split("\n"), theirs.split("\n"), ours.split("\n")).lines())


def with_comments(text: str, source: str, comments: Collection[str]) -> str:
    """Return ``text`` with the comments that ``source`` has at the end of or above the same lines."""
    lines, source_lines = text.split("\n"), source.split("\n")
    indexes = {name: index for index, name in enumerate(_names(lines))}
    above: dict[int, list[str]] = {}
    pending_lines: list[str] = []
    for line, name in zip(source_lines, _names(source_lines), strict=True):
        comment = line.strip()
        if comment.startswith("#"):
            pending_lines += [line] if comment in comments else []
            continue
        index = indexes.get(name)
        if index is not None and comment:
            above[index] = pending_lines
            behind = _COMMENT_BEHIND.search(line)
            if behind and behind[0].strip() in comments and not _COMMENT_BEHIND.search(lines[index]):
                lines[index] += behind[0]
        pending_lines = []
    return "\n".join(chain.from_iterable((*above.get(index, ()), line) for index, line in enumerate(lines)))


class _Merge:
    def __init__(self, base: list[str], theirs: list[str], ours: list[str]) -> None:
        self._base, self._theirs, self._ours = base, theirs, ours
        self._end = "\r" if any(line.endswith("\r") for line in theirs) else ""
        self._their_of = _aligned(base, theirs)
        self._our_of = {index: other for index, other in _aligned(base, ours).items() if base[index] == ours[other]}

    def lines(self) -> list[str]:
        """Return the merged lines."""
        merged: list[str] = []
        start = (0, 0, 0)
        for end in self._points():
            if all(after >= before for after, before in zip(end, start, strict=True)):
                merged += self._part(start, end)
                start = end
        return merged

    def _points(self) -> Iterator[tuple[int, int, int]]:
        """Yield places between lines that are known in all three texts."""
        for base_index in range(len(self._base) + 1):
            their_indexes, our_indexes = (
                [index for index in (aligned.get(base_index - 1, -2) + 1, aligned.get(base_index, -1)) if index >= 0]
                for aligned in (self._their_of, self._our_of)
            )
            if their_indexes and our_indexes:
                yield base_index, min(their_indexes), min(our_indexes)
                yield base_index, max(their_indexes), max(our_indexes)
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

    def _in_their_form(self, lines: list[str], base_index: int) -> list[str]:
        """Return lines for a position in ``base`` with the indentation of the surrounding lines in ``theirs``."""
        formed_lines, indent, deeper = [], _UNKNOWN, 0
        for line in lines:
            if line.lstrip(" ").startswith("#"):  # the user's, in the column that it had
                formed_lines.append(line + self._end)
                continue
            if line and _indent(line) < indent:
                indent = _indent(line)
                deeper = self._deeper(indent, base_index)
            formed_lines.append((" " * max(0, _indent(line) + deeper) + line.lstrip(" ") if line else "") + self._end)
        return formed_lines

    def _deeper(self, indent: int, base_index: int) -> int:
        """Return how much deeper ``theirs`` indents a line of ``base``, or the block around it."""
        for near_index in (index for index in (base_index, *range(base_index - 1, -1, -1)) if index in self._their_of):
            line = self._base[near_index].lstrip(" ")
            base_indent = len(self._base[near_index]) - len(line)
            if line[:1] not in ("", "#") and (
                base_indent == indent or (base_indent < indent and near_index < base_index)
            ):
                return _indent(self._theirs[self._their_of[near_index]]) - base_indent
        return 0


def _with_comment(line: str, before: str, their: str) -> str:
    """Return a line with the user's comment at its end if ruamel.yaml has dropped it, as after an alias."""
    comment = _COMMENT_BEHIND.search(their)
    has_comment = "#" in before or _COMMENT_BEHIND.search(line)
    return line if comment is None or has_comment else line.rstrip("\r") + comment[0]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _identity(line: str) -> str:
    return "".join(_COMMENT_BEHIND.sub("", line.strip()).split())


def _aligned(base: list[str], other: list[str]) -> dict[int, int]:
    """Return which lines of another text are which of ``base``, in one order."""
    indexes_by_name = {name: index for index, name in enumerate(_names(other))}
    common = [(index, indexes_by_name[name]) for index, name in enumerate(_names(base)) if name in indexes_by_name]
    # The longest run in the order of both.
    ends: list[int] = []
    last_common: list[int] = []
    previous: list[int | None] = []
    for index, (_, other_index) in enumerate(common):
        length = bisect_left(ends, other_index)
        previous.append(last_common[length - 1] if length else None)
        ends[length : length + 1] = [other_index]
        last_common[length : length + 1] = [index]
    aligned = {}
    common_index = last_common[-1] if last_common else None
    while common_index is not None:
        aligned[common[common_index][0]] = common[common_index][1]
        common_index = previous[common_index]
    return aligned


def _names(lines: list[str]) -> list[tuple[object, ...]]:
    """Return a unique name for each line: its content, its parent lines, and its number among equal ones."""
    above = [(-1, 0)]
    names: list[tuple[object, ...]] = []
    name: tuple[int, str]
    name_counts: Counter[tuple[object, ...]] = Counter()
    for line in lines:
        text = _identity(line)
        indent = _indent(line) + line.lstrip(" ").startswith("- ")
        if not text:
            # Both texts end equally, with any lines before.
            name = above[-1][1] if len(names) < len(lines) - 1 else 0, text
        elif text.startswith("#"):
            name = next(parent for column, parent in reversed(above) if column < indent), text
        else:
            while above[-1][0] >= indent:
                above.pop()
            name = above[-1][1], text
            above.append((indent, hash((above[-1][1], text.partition(":")[0]))))
        name_counts[name] += 1
        names.append((*name, name_counts[name]))
    return names

"""Write two versions of a schema file as one text, with git's conflict markers around the lines that differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from typing import Final

from schemactl.errors import InputError
from schemactl.formats.dlt import read
from schemactl.schema.branch_merge import Conflict

MARKER_SIZE: Final = 7
"""The number of characters of a marker, unless `conflict-marker-size` of gitattributes(5) says otherwise."""


def mark_conflicts(
    ours: str,
    our_conflicts: Sequence[Conflict],
    theirs: str,
    their_conflicts: Sequence[Conflict],
    path: str,
    marker_size: int = MARKER_SIZE,
) -> str:
    """Return our text with both versions of each conflict between markers, and a sentence about it.

    The texts differ in nothing else. The sentence follows the first marker, where git names the branch: readers of
    conflicts take any text there, and JSON has no comments.
    """
    our_lines, their_lines = (text.splitlines(keepends=True) for text in (ours, theirs))
    our_messages, their_messages = (
        dict(_messages(text, conflicts, path)) for text, conflicts in ((ours, our_conflicts), (theirs, their_conflicts))
    )
    line_end = "\r\n" if ours.partition("\n")[0].endswith("\r") else "\n"
    opening, divider, closing = (mark * marker_size for mark in "<=>")
    marked: list[str] = []
    for tag, our_start, our_end, their_start, their_end in _blocks(our_lines, their_lines):
        if tag == "equal":
            marked += our_lines[our_start:our_end]
            continue
        located = [our_messages[line] for line in range(our_start, our_end) if line in our_messages]
        located = located or [their_messages[line] for line in range(their_start, their_end) if line in their_messages]
        sentence = "; ".join(dict.fromkeys(located or (conflict.message for conflict in our_conflicts)))
        marked += [f"{opening} ours: {sentence}{line_end}", *_complete(our_lines[our_start:our_end], line_end)]
        marked += [f"{divider}{line_end}", *_complete(their_lines[their_start:their_end], line_end)]
        marked.append(f"{closing} theirs{line_end}")
    return "".join(marked)


def _blocks(ours: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield blocks of lines that are equal or differ, as difflib names them.

    It compares only the lines between the first and the last difference: a file may have 100,000 lines.
    """
    shortest = min(len(ours), len(theirs))
    start = next((index for index in range(shortest) if ours[index] != theirs[index]), shortest)
    differing_ends = (index for index in range(shortest - start) if ours[-1 - index] != theirs[-1 - index])
    end = next(differing_ends, shortest - start)
    our_end, their_end = len(ours) - end, len(theirs) - end
    yield "equal", 0, start, 0, start
    matcher = SequenceMatcher(None, ours[start:our_end], theirs[start:their_end], autojunk=False)
    for tag, *bounds in matcher.get_opcodes():
        our_first, our_last, their_first, their_last = (start + bound for bound in bounds)
        yield tag, our_first, our_last, their_first, their_last
    yield "equal", our_end, len(ours), their_end, len(theirs)


def _messages(text: str, conflicts: Sequence[Conflict], path: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of conflicts by the index of the line that they are about, if the text has it."""
    with suppress(InputError):  # the preferences of one side may make no schema
        document = read(text, path)
        for conflict in conflicts:
            location = document.locate(*conflict.keys)
            # If the text lacks the key, its parent is located.
            if location.line is not None and location != document.locate(*conflict.keys[:-1]):
                yield location.line - 1, conflict.message


def _complete(lines: Sequence[str], line_end: str) -> list[str]:
    return [line if line.endswith("\n") else line + line_end for line in lines]

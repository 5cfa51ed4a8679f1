"""The lines of a document: where they start and end, which belong to an entry, and how edits are made."""

from __future__ import annotations

from dataclasses import dataclass

from schemactl.formats._tree import Entry


@dataclass(frozen=True, slots=True)
class Edit:
    """``text[start:end]`` becomes ``new``."""

    start: int
    end: int
    new: str


def patched(text: str, start: int, end: int, edits: list[Edit]) -> str:
    """Return ``text[start:end]`` with the edits; of edits at one place the first comes first."""
    parts, position = [], start
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end > edit.start)):
        parts += [text[position : edit.start], edit.new]
        position = edit.end
    return "".join((*parts, text[position:end]))


def newline_of(text: str) -> str:
    """Return how the document ends its lines."""
    return "\r\n" if "\r\n" in text else "\n"


def line_start(text: str, offset: int) -> int:
    """Return where the line of an offset starts."""
    return text.rfind("\n", 0, offset) + 1


def line_end(text: str, offset: int) -> int:
    """Return where the line of an offset ends, its newline included."""
    found = text.find("\n", offset)
    return len(text) if found < 0 else found + 1


def column_of(text: str, offset: int) -> int:
    """Return how many characters stand before an offset on its line."""
    return offset - line_start(text, offset)


def head_of(text: str, entry: Entry) -> int:
    """Return where an entry's lines start: with the comment right above it that is indented like it."""
    start = line_start(text, entry.start)
    comment = text[start : entry.start] + "#"
    while start and text.startswith(comment, line_start(text, start - 1)):
        start = line_start(text, start - 1)
    return start


def tail_of(text: str, entry: Entry) -> int:
    """Return where an entry's lines end: after the comments that follow it and are indented deeper."""
    end, column = line_end(text, entry.end), column_of(text, entry.start)
    while True:
        line = text[end : line_end(text, end)]
        stated = line.lstrip(" ")
        if not stated.startswith("#") or len(line) - len(stated) <= column:
            return end
        end += len(line)

"""Explains what is wrong in a text that is not YAML: the place where it starts, and the way out."""

from __future__ import annotations

import re
from bisect import bisect_right

import yaml

from schemactl.formats._tree import Source

Span = tuple[int, int]

_MISPLACED_COLON = ("mapping values are not allowed", "found unexpected ':'")
_COMMENT = re.compile(r"(?:^|\s)#", re.MULTILINE)


def refusal_of(source: Source, error: yaml.MarkedYAMLError, quoted: list[Span]) -> Exception:
    """Return what the parser's error says to a person.

    Args:
        source: the text.
        error: the parser's.
        quoted: where the scalars in quotes stand that were read before it.
    """
    mark = error.problem_mark or error.context_mark
    offset = min(mark.index, len(source.text)) if mark else 0
    if error.context == "while scanning a quoted scalar" and error.context_mark and offset == len(source.text):
        hint = "close it with the same quote"
        return source.refuse("the quote that opens here is not closed", error.context_mark.index, hint)
    if (opened := _stray_quote(source.text, quoted, offset)) is not None:
        hint = "a closing quote is missing here, or there is one too many further down"
        return source.refuse(f"the quote that opens here closes in line {source.locate(offset).line}", opened, hint)
    if source.text[offset : offset + 1] == "\t":
        return refused_tab(source, offset)
    if error.problem and error.problem.startswith(_MISPLACED_COLON):
        hint = "put a text that holds `: ` in quotes; check the indentation"
        return source.refuse("`:` cannot stand here", offset, hint)
    described = ", ".join(part for part in (error.context, error.problem) if part)
    hint = "look at the brackets, quotes and indentation here and right above"
    return source.refuse(f"this is not YAML: {described}", offset, hint)


def _stray_quote(text: str, quoted: list[Span], offset: int) -> int | None:
    """Return where a text of several lines in quotes starts that ends right before ``offset``, None if none does."""
    start, end = quoted[-1] if quoted else (0, 0)
    is_near = end <= offset and "\n" not in text[end:offset]
    is_long = text[start : start + 1] in ("'", '"') and "\n" in text[start:end]
    return start if is_near and is_long else None


def refused_tab(source: Source, offset: int) -> Exception:
    """Return the error for a tab that cannot stand where it does."""
    is_indent = not source.text[source.text.rfind("\n", 0, offset) + 1 : offset].strip()
    message = "a tab cannot indent in YAML" if is_indent else "a tab cannot stand here"
    return source.refuse(message, offset, "indent with spaces" if is_indent else "write spaces")


def stray_tab(text: str, quoted: list[Span]) -> int | None:
    """Return where the first tab stands that is in no quotes, block scalar or comment; None if there is none.

    dlt's YAML library refuses such tabs, and libyaml takes them for blanks.

    Args:
        text: a YAML document.
        quoted: where its scalars in quotes and its block scalars stand, from first to last.
    """
    starts = [start for start, _ in quoted]
    tab = text.find("\t")
    while tab >= 0:
        before = bisect_right(starts, tab) - 1
        end = quoted[before][1] if before >= 0 else 0
        if end <= tab:
            line_start = text.rfind("\n", 0, tab) + 1
            comment = _COMMENT.search(text, max(line_start, end), tab)
            if comment is None:
                return tab
            end = text.find("\n", tab)
        tab = text.find("\t", end) if end >= 0 else -1
    return None

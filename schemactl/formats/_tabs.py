"""Finds the tabs that dlt's YAML library refuses and libyaml takes for blanks."""

from __future__ import annotations

import re
from bisect import bisect_right

Span = tuple[int, int]

_COMMENT = re.compile(r"(?:^|\s)#", re.MULTILINE)


def stray_tab(text: str, quoted: list[Span]) -> int | None:
    """Return where the first tab stands that is in no quotes, block scalar or comment; None if there is none.

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

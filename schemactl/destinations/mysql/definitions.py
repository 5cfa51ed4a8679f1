"""Definitions of columns as the server states them: what changes one must state it whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from schemactl.destinations._session import literal, quote
from schemactl.errors import DestinationError

_PART: Final = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|[(),]|[^\s'"`(),]+|\s+""")


def with_comment(made: str, column: str, text: str | None) -> str:
    """Return a column's name and definition with another comment.

    Args:
        made: what SHOW CREATE TABLE says, with names in double quotes.
        column: its name.
        text: of the comment; None for none.

    Raises:
        DestinationError: there is no such column.
    """
    start = made.find(f"\n  {quote(column)} ")
    if start < 0:
        raise DestinationError(f"the server states no column `{column}`: {made}")
    parts = list(_definition(made, start))
    words = [part.upper() for part in parts]
    end = words.index("CHECK") if "CHECK" in words else len(parts)  # MariaDB's, which comes last
    at = words.index("COMMENT") if "COMMENT" in words else end
    rest = parts[end:]
    return "".join((*parts[:at], f" COMMENT {literal(text or '')}", *([" "] if rest else []), *rest)).strip()


def _definition(made: str, start: int) -> Iterator[str]:
    """Yield the parts of a definition, with what stands in brackets as one."""
    depth, inner = 0, ""
    for found in _PART.finditer(made, start):
        part = found[0]
        depth += {"(": 1, ")": -1}.get(part, 0)
        if depth < 0 or (depth == 0 and part == ","):
            return
        if depth or part == ")":
            inner += part
        if not depth:
            yield inner or part
            inner = ""

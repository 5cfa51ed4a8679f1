"""The readers of columns, as formats for people show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

MOST_NAMES: Final = 5


@dataclass(frozen=True, slots=True)
class ReaderNames:
    """The readers of a column, or what may read it: the answer is ``read``, ``not read`` or ``cannot tell``."""

    answer: str
    names: tuple[str, ...] = ()


ReadersByColumn: TypeAlias = Mapping[tuple[str, str], ReaderNames]
"""The readers of the columns of a schema, by table and column."""


def printable(name: str) -> str:
    r"""Return the name of a reader without characters that steer a terminal or hide: a stranger may have chosen it.

    >>> printable("a\x1b[2J")
    'a�[2J'
    """
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in name)


def readers_in_words(readers: ReaderNames | None) -> str:
    """Return the first names of the readers of a column; empty if its readers are unknown.

    >>> readers_in_words(ReaderNames("read", ("a.sql", "b.sql")))
    'read by a.sql, b.sql'
    >>> readers_in_words(ReaderNames("cannot tell", tuple("abcdefg")))
    'cannot tell: a, b, c, d, e and 2 more'
    """
    if readers is None:
        return ""
    if not readers.names:
        return readers.answer
    names = ", ".join(map(printable, readers.names[:MOST_NAMES]))
    more = f" and {len(readers.names) - MOST_NAMES:,} more" if len(readers.names) > MOST_NAMES else ""
    return f"{'read by ' if readers.answer == 'read' else f'{readers.answer}: '}{names}{more}"

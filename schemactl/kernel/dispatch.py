"""Sorts the records of one stream by root table, by a field of each (``--table-by``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, Final, TypeAlias

from schemactl.inference.evidence import Position

BLOCK_SHIFT: Final = 44
"""A position within a partition: where the block begins in the file, shifted by this, and the record in the block."""

ONE_TABLE: Final = ""
"""The name of the table of all records while they are read."""

Tables: TypeAlias = tuple[str, ...]
"""The values that name one root table: what they become is one name."""

MOST_TABLES: Final = 1_000
"""Of one stream: a field with more values is a key or a measure, and names no tables."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some documents of one file that go to one table.

    Attributes:
        documents: parsed.
        positions: of each.
        texts: of each, as it stands in the data.
        table: as a dispatch names it; None where nothing says which one.
    """

    documents: Sequence[Any]
    positions: Sequence[Position]
    texts: Sequence[bytes]
    table: str | None = ONE_TABLE

    def taken(self, places: Sequence[int], table: str | None) -> Piece:
        """Return some of the documents, as those of a table."""
        if len(places) == len(self.documents):
            return replace(self, table=table)
        if len(places) == 1:
            (at,) = places
            return Piece([self.documents[at]], [self.positions[at]], [self.texts[at]], table)
        take = itemgetter(*places)
        return Piece(take(self.documents), take(self.positions), take(self.texts), table)


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Names the table of each record by what stands at a path of it.

    dlt's ``table_name=lambda item: item["type"]`` and ``with_table_name``; what it fails on, records without a text
    there, may have a table of their own here.

    Attributes:
        path: the keys to the field.
        names: tables by the field's value; any other value is the name of its table.
        rest: the table of records in which neither a text nor a whole number stands there; None where they have none.
    """

    path: tuple[str, ...]
    names: Mapping[str, str] = field(default_factory=dict)
    rest: str | None = None

    def sort(self, piece: Piece) -> Iterator[Piece]:
        """Yield the documents of each table."""
        by_value: dict[str, list[int]] = {}
        groups: dict[str | None, list[int]] = {}
        for at, value in enumerate(self._values(piece.documents)):
            if type(value) is str:
                by_value.setdefault(value, []).append(at)
            else:
                groups.setdefault(self._table_of(value), []).append(at)
        for value, places in by_value.items():
            groups.setdefault(self._table_of(value), []).extend(places)
        for name, places in groups.items():
            yield piece.taken(sorted(places), name)

    def _values(self, documents: Sequence[Any]) -> list[Any]:
        if len(self.path) > 1:
            return [value_at(document, self.path) for document in documents]
        (key,) = self.path
        return [document.get(key) if isinstance(document, dict) else None for document in documents]

    def tables_of(self, values: Sequence[Any]) -> list[str | None]:
        """Return the table that each value of the field names."""
        return [self._table_of(value) for value in values]

    def _table_of(self, value: Any) -> str | None:
        if type(value) is int:
            value = str(value)
        return self.names.get(value, value) if isinstance(value, str) and value else self.rest


_ENOUGH: Final = 2_000
"""Documents of a table that are worked on at once: fewer cost more each."""

_MOST_HELD: Final = 1 << 24
"""Bytes of texts that wait for more of their table."""


class Gathering:
    """Holds the documents of each table, of one block of a file, until there are enough to work on them at once."""

    def __init__(self) -> None:
        self._held: dict[tuple[str | None, str, int], list[Piece]] = {}
        self._documents: dict[tuple[str | None, str, int], int] = {}
        self._bytes = 0

    def add(self, piece: Piece) -> Iterator[Piece]:
        """Take documents of a table; yield those that are enough."""
        first = piece.positions[0]
        key = (piece.table, first.file, first.number >> BLOCK_SHIFT)
        self._held.setdefault(key, []).append(piece)
        self._documents[key] = self._documents.get(key, 0) + len(piece.documents)
        self._bytes += sum(map(len, piece.texts))
        if self._documents[key] >= _ENOUGH:
            yield self._taken(key)
        elif self._bytes >= _MOST_HELD:
            yield from self.rest()

    def rest(self) -> Iterator[Piece]:
        """Yield what is left."""
        for key in list(self._held):
            yield self._taken(key)
        self._bytes = 0

    def _taken(self, key: tuple[str | None, str, int]) -> Piece:
        pieces = self._held.pop(key)
        self._documents.pop(key)
        self._bytes -= sum(len(text) for piece in pieces for text in piece.texts)
        if len(pieces) == 1:
            return pieces[0]
        return Piece(
            [each for piece in pieces for each in piece.documents],
            [each for piece in pieces for each in piece.positions],
            [each for piece in pieces for each in piece.texts],
            key[0],
        )


def value_at(document: Any, path: Sequence[str]) -> Any:
    """Return what stands at the end of some keys; None where nothing does."""
    for key in path:
        if not isinstance(document, dict):
            return None
        document = document.get(key)
    return document

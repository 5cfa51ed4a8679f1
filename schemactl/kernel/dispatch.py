"""Sorts the records of one stream by root table, by a field of each (``--table-by``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from schemactl.inference.evidence import Position

if TYPE_CHECKING:
    import pyarrow as pa

_Value = TypeVar("_Value")

BLOCK_SHIFT: Final = 44
"""A position within a partition: where the block begins in the file, shifted by this, and the record in the block."""

ONE_TABLE: Final = ""
"""The name of the table of all records while they are read."""

Tables: TypeAlias = tuple[str, ...]
"""The values that name one root table: what they become is one name."""

MOST_TABLES: Final = 1_000
"""Of one stream: a field with more values is a key or a measure, and names no tables."""


@dataclass(frozen=True, slots=True)
class Positions(Sequence[Position]):
    """The positions of documents of one block, each made when it is asked for: few are.

    Attributes:
        file: as people are shown it.
        block: where it begins in the file.
        records: in the block, from 0, ascending.
    """

    file: str
    block: int
    records: Sequence[int]

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, at: Any) -> Any:
        return Position(self.file, (self.block << BLOCK_SHIFT) + self.records[at])

    def taken(self, places: Sequence[int]) -> Positions:
        """Return some of them."""
        return Positions(self.file, self.block, _taken(self.records, places))


@dataclass(frozen=True, slots=True)
class Piece:
    """Some documents of one file that go to one table.

    Attributes:
        documents: parsed.
        positions: of each.
        texts: of each, as it stands in the data; None where the source states types, and where no model asks for them.
        table: as a dispatch names it; None where nothing says which one.
        columns: of a source that states types, those that the model of the documents may lack.
    """

    documents: Sequence[Any]
    positions: Positions
    texts: Sequence[bytes] | None
    table: str | None = ONE_TABLE
    columns: Mapping[str, pa.Array] = field(default_factory=dict)

    def taken(self, places: Sequence[int], table: str | None) -> Piece:
        """Return some of the documents, as those of a table."""
        if len(places) == len(self.documents):
            return replace(self, table=table)
        return Piece(
            _taken(self.documents, places),
            self.positions.taken(places),
            None if self.texts is None else _taken(self.texts, places),
            table,
            {name: column.take(list(places)) for name, column in self.columns.items()},
        )


def _taken(values: Sequence[_Value], places: Sequence[int]) -> Sequence[_Value]:
    return itemgetter(*places)(values) if len(places) > 1 else [values[at] for at in places]


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

_ROW_BYTES: Final = 1 << 9
"""What a row of a source that states types counts as among these."""


class Gathering:
    """Holds the documents of each table, of one block of a file, until there are enough to work on them at once."""

    def __init__(self) -> None:
        self._held: dict[tuple[str | None, str, int], _Held] = {}
        self._bytes = 0

    def add(self, piece: Piece, weight: int) -> Iterator[Piece]:
        """Take documents of a table; yield those that are enough.

        Args:
            piece: the documents.
            weight: of one of them in bytes (``weight_of``).
        """
        key = (piece.table, piece.positions.file, piece.positions.block)
        held = self._held.setdefault(key, _Held())
        held.pieces.append(piece)
        held.documents += len(piece.documents)
        held.bytes += len(piece.documents) * weight
        self._bytes += len(piece.documents) * weight
        if held.documents >= _ENOUGH:
            yield self._taken(key)
        elif self._bytes >= _MOST_HELD:
            yield from self.rest()

    def rest(self) -> Iterator[Piece]:
        """Yield what is left."""
        for key in list(self._held):
            yield self._taken(key)

    def _taken(self, key: tuple[str | None, str, int]) -> Piece:
        held = self._held.pop(key)
        self._bytes -= held.bytes
        if len(held.pieces) == 1:
            return held.pieces[0]
        table, file, block = key
        return Piece(
            list(chain.from_iterable(piece.documents for piece in held.pieces)),
            Positions(file, block, list(chain.from_iterable(piece.positions.records for piece in held.pieces))),
            None,
            table,
            _joined([piece.columns for piece in held.pieces]),
        )


def weight_of(piece: Piece) -> int:
    """Return the bytes of the text of a document, on average."""
    return _ROW_BYTES if piece.texts is None else sum(map(len, piece.texts)) // len(piece.texts)


@dataclass(slots=True)
class _Held:
    """The documents of one table that wait for more."""

    pieces: list[Piece] = field(default_factory=list)
    documents: int = 0
    bytes: int = 0


def _joined(columns: Sequence[Mapping[str, pa.Array]]) -> dict[str, pa.Array]:
    """Return the columns of rows of one file, which are of the same names."""
    import pyarrow as pa  # loaded where there are rows of Arrow's, and not by commands that only name a dispatch

    return {name: pa.concat_arrays([each[name] for each in columns]) for name in columns[0]}


def value_at(document: Any, path: Sequence[str]) -> Any:
    """Return what stands at the end of some keys; None where nothing does."""
    for key in path:
        if not isinstance(document, dict):
            return None
        document = document.get(key)
    return document

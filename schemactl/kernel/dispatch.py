"""Sorts the records of one stream by root table, by a field of each (``--table-by``)."""

from __future__ import annotations

import json
import re
import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from schemactl.inference.evidence import Position

if TYPE_CHECKING:
    import pyarrow as pa

    from schemactl.kernel.outcome import IgnoredKey

_Value = TypeVar("_Value")

BLOCK_SHIFT: Final = 44
"""A position within a partition: the block's offset in the file, shifted by this, plus the record's number in the
block."""

ONE_TABLE: Final = ""
"""The name of the table of all records while they are read."""

Tables: TypeAlias = tuple[str, ...]
"""The values that name one root table, because they normalize to the same name."""

MOST_TABLES: Final = 1_000
"""Of one stream: a field with more values is a key or a measure, and names no tables."""


@dataclass(frozen=True, slots=True)
class Positions(Sequence[Position]):
    """The positions of documents of one block, created on demand because few are needed.

    ``block`` is its offset in the file, ``records`` the numbers of the records in it, from 0, ascending.
    """

    file: str
    block: int
    records: Sequence[int]

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, index: Any) -> Any:
        return Position(self.file, (self.block << BLOCK_SHIFT) + self.records[index])

    def taken(self, indexes: Sequence[int]) -> Positions:
        """Return some of them."""
        return Positions(self.file, self.block, _taken(self.records, indexes))


@dataclass(frozen=True, slots=True)
class Piece:
    """Some documents of one file that go to one table.

    Attributes:
        texts: the text of each document, as in the data; None if the source declares types, or no model needs texts.
        table: the table that the dispatch names; None if unknown.
        columns: for a source that declares types, the columns that the model may lack.
        ignored: the keys of each document that its model ignores; empty if no keys are ignored.
        originals: the texts of documents that a model has changed since; None if the source declares types.
    """

    documents: Sequence[Any]
    positions: Positions
    texts: Sequence[bytes] | None
    table: str | None = ONE_TABLE
    columns: Mapping[str, pa.Array] = field(default_factory=dict)
    ignored: Sequence[Sequence[IgnoredKey]] = ()
    originals: Sequence[bytes] | None = None

    def taken(self, indexes: Sequence[int], table: str | None) -> Piece:
        """Return some of the documents as a piece of one table."""
        if len(indexes) == len(self.documents):
            return replace(self, table=table)
        return Piece(
            _taken(self.documents, indexes),
            self.positions.taken(indexes),
            None if self.texts is None else _taken(self.texts, indexes),
            table,
            {name: column.take(list(indexes)) for name, column in self.columns.items()},
            _taken(self.ignored, indexes) if self.ignored else (),
            None if self.originals is None else _taken(self.originals, indexes),
        )


def _taken(values: Sequence[_Value], indexes: Sequence[int]) -> Sequence[_Value]:
    return itemgetter(*indexes)(values) if len(indexes) > 1 else [values[index] for index in indexes]


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Names the table of each record by the value at a path of it.

    Like dlt's ``table_name=lambda item: item["type"]`` and ``with_table_name``. For records without a string at the
    path, dlt fails; here they may go to a separate table.

    Attributes:
        path: the keys to the field.
        names: tables by the field's value; any other value is the name of its table.
        rest: the table of records whose field contains neither a non-blank string nor a whole number; None to load no
            such record.
    """

    path: tuple[str, ...]
    names: Mapping[str, str] = field(default_factory=dict)
    rest: str | None = None

    def sort(self, piece: Piece) -> Iterator[Piece]:
        """Yield the documents of each table."""
        values = self._values(piece.documents)
        if type(values[0]) is str and values.count(values[0]) == len(values):
            # Most pieces are of one table (``gather``).
            yield replace(piece, table=self._table_of(values[0]))
            return
        groups: defaultdict[str | None, list[int]] = defaultdict(list)
        for index, table in enumerate(self.tables_of(values)):
            groups[table].append(index)
        for table, indexes in groups.items():
            yield piece.taken(indexes, table)

    def _values(self, documents: Sequence[Any]) -> list[Any]:
        if len(self.path) > 1:
            return [value_at(document, self.path) for document in documents]
        (key,) = self.path
        with suppress(KeyError, TypeError):
            return list(map(itemgetter(key), documents))
        return [document.get(key) if isinstance(document, dict) else None for document in documents]

    def tables_of(self, values: Sequence[Any]) -> list[str | None]:
        """Return the table that each value of the field names."""
        return [self._table_of(value) for value in values]

    def _table_of(self, value: Any) -> str | None:
        if type(value) is int:
            value = str(value)
        if not isinstance(value, str) or not value or value.isspace():
            return self.rest
        return self.names.get(value, value)


_MOST_HELD: Final = 1 << 24
"""Bytes of texts that wait for more of their table."""


def gather(
    runs: Iterable[tuple[Sequence[bytes], int]], dispatch: Dispatch | None, enough: int
) -> Iterator[tuple[Sequence[bytes], Sequence[int]]]:
    """Yield the records of a block in batches of ``enough`` that are parsed at once, and their numbers, ascending.

    Records that seem to go to one table come together, so that its documents are processed while they are in the
    processor's cache. The guess looks at the text of the field: ``Dispatch.sort`` decides the table, and documents of
    one table with different spellings may come out of order. The runs are consecutive records with the number of the
    first record.
    """
    if dispatch is None:
        for texts, first in runs:
            for start in range(0, len(texts), enough):
                batch = texts[start : start + enough]
                yield batch, range(first + start, first + start + len(batch))
        return
    key = re.escape(json.dumps(dispatch.path[-1], ensure_ascii=False).encode(errors="replace"))
    pattern = re.compile(key + rb'[ \t\r\n]*:[ \t\r\n]*("[^"\\]*"|[0-9]+)')
    waiting_by_value: defaultdict[bytes, _WaitingTexts] = defaultdict(_WaitingTexts)
    size = 0
    for texts, first in runs:
        indexes_by_value: defaultdict[bytes, list[int]] = defaultdict(list)
        for index, value in enumerate(_guess(texts, pattern)):
            indexes_by_value[value].append(index)
        for value, indexes in indexes_by_value.items():
            waiting = waiting_by_value[value]
            size += waiting.add(_taken(texts, indexes), [first + index for index in indexes])
            if len(waiting.numbers) >= enough:
                for gathered, numbers in waiting.take(enough):
                    yield gathered, numbers
                    size -= sum(map(len, gathered))
        if size >= _MOST_HELD:
            yield from _in_portions(waiting_by_value.values(), enough)
            waiting_by_value.clear()
            size = 0
    yield from _in_portions(waiting_by_value.values(), enough)


_BETWEEN: Final = b"\n%s\n" % secrets.token_hex(8).encode()
"""Separates waiting texts: no text can contain it, because it is random."""


@dataclass(slots=True)
class _WaitingTexts:
    """Texts, and their numbers, that seem to go to one table and wait for more of it.

    They are kept joined by run: texts that lie scattered in memory are slow to parse.
    """

    joined: list[bytes] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)

    def add(self, texts: Sequence[bytes], numbers: Sequence[int]) -> int:
        """Take further texts; return how many bytes they have."""
        self.joined.append(_BETWEEN.join(texts))
        self.numbers += numbers
        return len(self.joined[-1]) - len(_BETWEEN) * (len(texts) - 1)

    def texts(self) -> list[bytes]:
        """Return the waiting documents."""
        return _BETWEEN.join(self.joined).split(_BETWEEN)

    def take(self, enough: int) -> Iterator[tuple[list[bytes], list[int]]]:
        """Yield full batches of texts, and keep the remaining texts."""
        texts, numbers = self.texts(), self.numbers
        full = len(texts) - len(texts) % enough
        self.joined, self.numbers = [_BETWEEN.join(texts[full:])] if texts[full:] else [], numbers[full:]
        for start in range(0, full, enough):
            yield texts[start : start + enough], numbers[start : start + enough]


def _guess(texts: Sequence[bytes], pattern: re.Pattern[bytes]) -> list[bytes]:
    """Return the field's text in each document, empty if it is in none."""
    # Mostly each text has it once; if one text has two and another has zero, the guess is wrong.
    values = pattern.findall(b"\n".join(texts))
    if len(values) != len(texts):
        values = [match[1] if match else b"" for match in map(pattern.search, texts)]
    return values


def _in_portions(all_waiting: Iterable[_WaitingTexts], enough: int) -> Iterator[tuple[list[bytes], list[int]]]:
    records = [
        record
        for waiting in all_waiting
        if waiting.numbers
        for record in zip(waiting.numbers, waiting.texts(), strict=True)
    ]
    for start in range(0, len(records), enough):
        portion = sorted(records[start : start + enough])
        yield [text for _, text in portion], [number for number, _ in portion]


def value_at(document: Any, path: Sequence[str]) -> Any:
    """Return the value at the end of some keys; None without one."""
    for key in path:
        if not isinstance(document, dict):
            return None
        document = document.get(key)
    return document

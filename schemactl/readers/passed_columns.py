"""Follows columns of a schema through readers that pass them on: models, views, and tables of SQL files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from schemactl.readers.tables import ReadTables
from schemactl.review.readers import Blindness, Reader, Readership


@dataclass(frozen=True, slots=True)
class Passage:
    """A column that a reader passes on.

    Attributes:
        output: its name in the reader's result.
        table, column: of the schema.
        is_named: whether a query has named it; if not, only ``*`` has passed it on.
    """

    output: str
    table: str
    column: str
    is_named: bool


@dataclass(frozen=True)
class Reading:
    """The reading of tables by a reader.

    Attributes:
        reader_id: the reader, by its id in the graph.
        tables: the tables to look for: the schema's, or the result of a reader that passes their columns on.
        sources: the tables that the reader is declared to read.
        columns: the columns that the result passes on; None for the tables of the schema.
        result: the id of the result; None for the tables of the schema.
    """

    reader_id: str
    tables: ReadTables
    sources: tuple[str, ...] = ()
    columns: tuple[Passage, ...] | None = None
    result: str | None = None

    def _passages_of(self, column: str | None) -> list[Passage]:
        return [passage for passage in self.columns or () if column is None or passage.output == column]

    def passages(self, outputs: Iterable[Sequence[Any]]) -> Iterator[Passage]:
        """Yield the columns of the schema that the reader passes on in turn; ``outputs`` has rows as in ``Uses``."""
        for output, table, column, is_named in outputs:
            if self.columns is None:
                yield Passage(output, table, column, is_named)
            for passage in self._passages_of(column):
                yield replace(passage, output=output, is_named=passage.is_named or is_named)

    def of_tables(self, readership: Readership) -> Readership:
        """Return uses of a result as uses of the tables whose columns it passes on.

        Of a column that a reader before names, a use is indirect: only uses that compute it or compare it count.
        """
        if self.columns is None:
            return readership
        uses = [
            use._replace(table=passage.table, column=passage.column, is_indirect=passage.is_named)
            for use in readership.uses
            if use.column is not None
            for passage in self._passages_of(use.column)
            if not (passage.is_named and use.is_plain)
        ]
        blind = [
            replace(item, table=passage.table, column=passage.column)
            for item in readership.blind
            if item.table is not None
            for passage in self._passages_of(item.column)
            if not passage.is_named
        ]
        return Readership(tuple(uses), tuple(blind))


class ReaderGraph(Protocol):
    """Readers that can read each other's results. Readers and results have ids."""

    def first_readings(self) -> Iterable[Reading]:
        """Return the readings of the schema's tables."""
        ...

    def read(self, readings: Sequence[Reading]) -> list[tuple[Readership, Mapping[str, list[list[Any]]]]]:
        """Return the uses of each reading, and the rows of outputs of each result that its reader passes on."""
        ...

    def next_reading(self, result: str, reader_id: str, passages: tuple[Passage, ...]) -> Reading | None:
        """Return the reading of a result by a reader; None if it is not to be followed.

        Args:
            result: the id of the result.
            reader_id: one of ``readers_of``.
            passages: the columns that no earlier reading of the result by the reader has.
        """
        ...

    def readers_of(self, result: str) -> Iterable[str]:
        """Return the ids of the readers of a result."""
        ...

    def reader(self, reader_id: str) -> Reader:
        """Return a reader by its id."""
        ...

    def dependents(self, reader_id: str) -> Iterable[str]:
        """Return the ids of the direct readers of a reader's results."""
        ...


MAX_LEVELS: Final = 200
"""Readers in a row: files that read each other, with columns that move by one place, would go on for long."""


def _unread(reader: Reader, reading: Reading) -> Readership:
    """Return the doubt about a reading that is too far behind the tables."""
    reason = f"more than {MAX_LEVELS:,} readers in a row"
    columns = dict.fromkeys((passage.table, passage.column) for passage in reading.columns or ())
    return Readership(blind=tuple(Blindness(reader, reason, table, column) for table, column in columns))


def _downstream(graph: ReaderGraph, reader_id: str) -> tuple[Reader, ...]:
    """Return the direct and indirect readers of a reader's results, nearest first."""
    reader_ids, reached = [reader_id], {reader_id}
    for next_id in reader_ids:
        new_ids = [dependent for dependent in dict.fromkeys(graph.dependents(next_id)) if dependent not in reached]
        reader_ids += new_ids
        reached.update(new_ids)
    return tuple(map(graph.reader, reader_ids[1:]))


def follow_columns(graph: ReaderGraph) -> Readership:
    """Return the uses of tables by all readers of a graph, and by the readers that the columns are passed on to."""
    readerships: list[Readership] = []
    reached: dict[str, None] = {}
    followed: dict[tuple[str, str], set[Passage]] = {}
    readings = list(graph.first_readings())
    for _ in range(MAX_LEVELS):
        next_readings: list[Reading] = []
        for reading, (result_readership, results) in zip(readings, graph.read(readings), strict=True):
            readership = reading.of_tables(result_readership)
            readerships.append(readership)
            if readership.uses or readership.blind:
                reached[reading.reader_id] = None
            for result, outputs in results.items():
                passages = dict.fromkeys(reading.passages(outputs))
                for reader_id in graph.readers_of(result):
                    earlier_passages = followed.get((result, reader_id), set())
                    new_passages = tuple(passage for passage in passages if passage not in earlier_passages)
                    if not new_passages and (result, reader_id) in followed:
                        continue
                    if next_reading := graph.next_reading(result, reader_id, new_passages):
                        followed[result, reader_id] = earlier_passages.union(new_passages)
                        next_readings.append(next_reading)
        readings = next_readings
        if not readings:
            break
    readerships += (_unread(graph.reader(reading.reader_id), reading) for reading in readings)
    downstream = {graph.reader(reader_id): _downstream(graph, reader_id) for reader_id in reached}
    uses = [use for readership in readerships for use in readership.uses]
    blind = [item for readership in readerships for item in readership.blind]
    if followed:  # two readings of a text can have a use in common
        uses, blind = list(dict.fromkeys(uses)), list(dict.fromkeys(blind))
    return Readership(tuple(uses), tuple(blind), downstream)

"""SQL texts that read each other's views and tables: the views of a database, and files that create tables."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from schemactl.readers.passed_columns import Passage, Reading, follow_columns
from schemactl.readers.sql_texts import SqlText, read_uses, readership_of
from schemactl.readers.tables import ReadTables, words_in
from schemactl.review.readers import Blindness, Reader, Readership

RelationName = tuple[str, str]
"""The dataset and the name of a table or view; "" if the dataset is not known."""

_CREATE: Final = re.compile(
    r"""\bcreate\b[^;()]{0,200}?\b(?:table|view)\s{1,20}(?:if\s{1,20}not\s{1,20}exists\s{1,20})?"""
    r"""(?:["`\[]?([^\s."`()\[\]]{0,200})["`\]]?\s{0,20}\.\s{0,20}){0,3}["`\[]?([^\s."`()\[\]]{1,200})""",
    re.IGNORECASE,
)
"""CREATE TABLE and VIEW, with the dataset and the name."""


@dataclass(frozen=True)
class SqlNode:
    """A SQL text, which may read the results of another text.

    Attributes:
        text: with the tables of the schema.
        relation: the view that the text defines; None for a file, whose CREATE statements name its tables and views.
        blind_reason: why the text cannot be read; None if it is SQL.
    """

    text: SqlText
    relation: RelationName | None = None
    blind_reason: str | None = None


def read_sql_graph(nodes: Sequence[SqlNode]) -> Readership:
    """Return the uses of tables by SQL texts, directly and by the tables and views that other texts create."""
    return follow_columns(_SqlGraph(nodes))


@dataclass
class _SqlGraph:
    """SQL texts by their numbers.

    Attributes:
        relations: the tables and views with columns of the schema, by id.
        creators: the number of the text that creates a table or view, by its id.
        readers_by_creator: the texts that read a table or view of a text.
    """

    nodes: Sequence[SqlNode]
    relations: dict[str, RelationName] = field(default_factory=dict)
    creators: dict[str, str] = field(default_factory=dict)
    readers_by_creator: dict[str, dict[str, None]] = field(default_factory=dict)

    def first_readings(self) -> Iterator[Reading]:
        """Yield the readings of the schema's tables: all texts may read them."""
        for number, node in enumerate(self.nodes):
            yield Reading(str(number), self._visible_tables(node, node.text.tables))

    def read(self, readings: Sequence[Reading]) -> list[tuple[Readership, Mapping[str, list[list[Any]]]]]:
        """Return the uses of each reading, and the outputs of the tables and views that the text creates."""
        nodes = [self._node(reading.reader_id) for reading in readings]
        texts = [
            replace(node.text, tables=reading.tables, text="" if node.blind_reason else node.text.text)
            for node, reading in zip(nodes, readings, strict=True)
        ]
        results: list[tuple[Readership, Mapping[str, list[list[Any]]]]] = []
        for node, reading, uses in zip(nodes, readings, read_uses(texts), strict=True):
            reader = node.text.reader
            readership = readership_of(reader, uses)
            if node.blind_reason is not None:
                tables = reading.tables.mentioned_in(node.text.text)
                readership = Readership(blind=tuple(Blindness(reader, node.blind_reason, table) for table in tables))
            is_reader = bool(readership.uses or readership.blind)
            if reading.result is not None and is_reader and node.blind_reason is None:
                self.readers_by_creator.setdefault(self.creators[reading.result], {})[reading.reader_id] = None
            created = [(*node.relation, uses["outputs"])] if node.relation else uses["created"]
            outputs = {}
            for dataset, name, rows in created if is_reader else ():
                result = f"{reading.reader_id}:{dataset}.{name}"
                if result in self.relations or self._is_unambiguous(reading.reader_id, (dataset, name)):
                    self.relations[result] = dataset, name
                    self.creators[result] = reading.reader_id
                    outputs[result] = rows
            results.append((readership, outputs))
        return results

    def readers_of(self, result: str) -> list[str]:
        """Return the texts that contain the name of a table or view, without its creator."""
        _, name = self.relations[result]
        return [reader_id for reader_id in self._ids_naming(name) if reader_id != self.creators[result]]

    def next_reading(self, result: str, reader_id: str, passages: tuple[Passage, ...]) -> Reading:
        """Return the reading of a table or view by a text, even if no column of the schema is passed on."""
        dataset, name = self.relations[result]
        columns = tuple(dict.fromkeys(passage.output for passage in passages))
        tables = self._visible_tables(self._node(reader_id), ReadTables({name: columns}, dataset))
        return Reading(reader_id, tables, (), passages, result)

    def reader(self, reader_id: str) -> Reader:
        """Return the reader of a text."""
        return self._node(reader_id).text.reader

    def dependents(self, reader_id: str) -> Iterable[str]:
        """Return the direct readers of the tables and views of a text."""
        return self.readers_by_creator.get(reader_id, ())

    def _node(self, reader_id: str) -> SqlNode:
        return self.nodes[int(reader_id)]

    def _visible_tables(self, node: SqlNode, tables: ReadTables) -> ReadTables:
        """Return tables as a text can name them: a bare name means a view of the text's own dataset first."""
        if node.relation is None or node.relation[0] == tables.dataset:
            return tables
        view_names = self._view_names[node.relation[0]]
        return replace(tables, shadowed=tuple(name for name in tables.columns if name.casefold() in view_names))

    @cached_property
    def _view_names(self) -> Mapping[str, set[str]]:
        """The names of the views of each dataset, in lower case."""
        view_names: defaultdict[str, set[str]] = defaultdict(set)
        for node in self.nodes:
            if node.relation is not None:
                view_names[node.relation[0]].add(node.relation[1].casefold())
        return view_names

    @cached_property
    def _ids_by_word(self) -> Mapping[str, list[str]]:
        """The ids of the texts that contain each word."""
        ids: defaultdict[str, list[str]] = defaultdict(list)
        for number, node in enumerate(self.nodes):
            for word in set(words_in(node.text.text)):
                ids[word].append(str(number))
        return ids

    def _ids_naming(self, name: str) -> Sequence[str]:
        """Return the ids of the texts that may name a table or view: they contain the first word of its name."""
        return self._ids_by_word.get(next(iter(words_in(name)), ""), ())

    def _is_unambiguous(self, reader_id: str, relation: RelationName) -> bool:
        """Return whether no other text creates a table or view that may be the same one."""
        if self._node(reader_id).relation is not None:
            return True
        dataset, name = relation[0].casefold(), relation[1].casefold()
        return not any(
            # A statement without a dataset may create the table in any.
            create[2] == name and (not create[1] or not dataset or create[1] == dataset)
            for other_id in self._ids_naming(name)
            if other_id != reader_id
            for create in _CREATE.finditer(self._node(other_id).text.text.casefold())
        )

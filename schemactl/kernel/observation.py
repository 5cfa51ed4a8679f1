"""Documents -> evidence, a batch at a time and within it a column at a time.

The values at one path of a batch are a column: its values and the documents that they are of, in the order of the
input. Objects give a column for each key, lists one of their elements. ``inference.evidence.observe`` says the same of
documents value by value; tests hold this to it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, compress, repeat
from operator import itemgetter
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemactl.inference.classes import KEYED_OBJECT, LIST, NULL, OBJECT, is_row_key
from schemactl.inference.evidence import (
    MOST_LEVELS,
    ClassEvidence,
    Evidence,
    Position,
    as_float,
    cut_witnesses,
    example_of,
    has_fractions,
)
from schemactl.kernel.arrays import array_of, numbers_of, string_array
from schemactl.kernel.decimal_places import measure_doubles
from schemactl.kernel.value_classes import class_of_code, classes_of_numbers, codes_of_array, codes_of_columns, has_few
from schemactl.schema.paths import ELEMENT, Path
from schemactl.schema.types import DataType

_BOOL: Final = str(DataType.BOOL)

_MOST_AT_ONCE: Final = 1 << 16
"""Objects whose values are taken together."""

_FEW: Final = 1_000
"""Fewer documents wait for documents of other files, because each column of a batch has a fixed cost."""

_MOST_WAITING_BYTES: Final = 1 << 21


class Observer:
    """Collects the evidence of batches of documents, in any order of the batches.

    ``too_deep`` is the first document that nests deeper than ``MOST_LEVELS``; evidence ends there.
    """

    def __init__(self) -> None:
        self.too_deep: Position | None = None
        self._root = _Node(())
        self._first_documents: dict[Position, Any] = {}
        self._waiting_documents: list[Any] = []
        self._waiting_positions: list[Position] = []
        self._waiting_bytes = 0

    def add(self, documents: Sequence[Any], positions: Sequence[Position], size: int | None = None) -> None:
        """Observe a batch of documents, with ascending positions.

        If the size of their texts is given, in bytes, few documents wait for the next batch (``flush``).
        """
        if size is None or len(documents) >= _FEW:
            self._observe(documents, positions)
            return
        if self._waiting_positions and positions[0] < self._waiting_positions[-1]:
            self.flush()
        self._waiting_documents += documents
        self._waiting_positions += positions
        self._waiting_bytes += size
        if len(self._waiting_documents) >= _FEW or self._waiting_bytes >= _MOST_WAITING_BYTES:
            self.flush()

    def flush(self) -> None:
        """Observe the waiting documents."""
        documents, positions = self._waiting_documents, self._waiting_positions
        self._waiting_documents, self._waiting_positions, self._waiting_bytes = [], [], 0
        if documents:
            self._observe(documents, positions)

    def _observe(self, documents: Sequence[Any], positions: Sequence[Position]) -> None:
        batch = _Batch(documents, positions, self._first_documents)
        columns = [_Column(self._root, documents, range(len(documents)))]
        while columns:
            column = columns.pop()
            if len(column.node.path) <= MOST_LEVELS:
                columns.extend(batch.observe(column))
            else:
                position = positions[column.owners[0]]
                self.too_deep = position if self.too_deep is None else min(self.too_deep, position)
        batch.observe_texts()

    def add_cells(self, names: Sequence[str], columns: Sequence[pa.StringArray], first: Position) -> None:
        """Observe consecutive rows of strings, as ``add`` observes documents without nulls.

        The columns have distinct names, and no row key is among them.
        """
        rows = len(columns[0])
        if not rows:
            return
        if self._root.see(OBJECT, first, rows).first is first:
            self._first_documents.setdefault(first, {})
        filled = [index for index, column in enumerate(columns) if column.null_count < rows]
        if not filled:
            return
        texts = [columns[index].drop_null() for index in filled]
        cells = np.concatenate([_places_of(columns[index]) for index in filled])
        joined = pa.concat_arrays(texts)
        for group in _by_class(joined, codes_of_columns(texts), list(map(len, texts))):
            name, index = names[filled[group.column]], int(group.places[0])
            position = Position(first.file, first.number + int(cells[index]))
            evidence = self._root.child(name).see(group.name, position, len(group.places))
            evidence.add_texts(group.shortest, group.longest, _distinct(joined, group.places))
            if evidence.first is position:
                text = joined[index].as_py()
                evidence.example = example_of(text)
                self._first_documents.setdefault(position, {})[name] = text

    def evidence(self) -> Evidence:
        """Return the evidence of all batches."""
        paths = {
            node.path: {name: values.evidence() for name, values in node.classes.items()} for node in self._root.walk()
        }
        firsts = {evidence.first for classes in paths.values() for evidence in classes.values()}
        documents = {position: document for position, document in self._first_documents.items() if position in firsts}
        return Evidence(paths=paths, witnesses=cut_witnesses(paths, documents))


@dataclass(slots=True)
class _ClassValues:
    """The values of one class at one path, as in ``ClassEvidence``.

    ``only`` is the beginning of the values as long as all are alike; None before the first one.
    """

    first: Position
    example: str | None = None
    count: int = 0
    shortest: int | None = None
    longest: int | None = None
    least: float | None = None
    greatest: float | None = None
    varies: bool = False
    places: int | None = None
    only: str | None = None

    def evidence(self) -> ClassEvidence:
        examples = () if self.example is None else (self.example,)
        numbers = (self.shortest, self.longest, self.least, self.greatest)
        return ClassEvidence(self.count, self.first, examples, *numbers, self.varies, self.places)

    def add_texts(self, shortest: int, longest: int, texts: Iterable[str]) -> None:
        """Add texts, given their minimum and maximum length and the distinct ones."""
        self.add_lengths(shortest, longest)
        self.varies = self.varies or self.shortest != self.longest
        if not self.varies:
            self.add_values(map(example_of, texts))

    def add_values(self, values: Iterable[str]) -> None:
        """Take examples of values, until one differs from the first."""
        for value in values:
            if self.only is None:
                self.only = value
            elif value != self.only:
                self.varies = True
                return

    def add_lengths(self, shortest: int, longest: int) -> None:
        self.shortest = shortest if self.shortest is None else min(self.shortest, shortest)
        self.longest = longest if self.longest is None else max(self.longest, longest)

    def add_range(self, least: float | None, greatest: float | None) -> None:
        if least is not None and greatest is not None:
            self.least = least if self.least is None else min(self.least, least)
            self.greatest = greatest if self.greatest is None else max(self.greatest, greatest)


@dataclass(slots=True)
class _Node:
    """A path, the classes of its values, and the paths below it."""

    path: Path
    classes: dict[str, _ClassValues] = field(default_factory=dict)
    children: dict[str | None, _Node] = field(default_factory=dict)

    def child(self, step: str | None) -> _Node:
        child = self.children.get(step)
        if child is None:
            child = self.children[step] = _Node((*self.path, step))
        return child

    def see(self, name: str, position: Position, count: int) -> _ClassValues:
        """Count values of one class; ``first`` becomes ``position`` itself if that precedes all earlier ones."""
        evidence = self.classes.get(name)
        if evidence is None:
            evidence = self.classes[name] = _ClassValues(position)
        elif position < evidence.first:
            evidence.first = position
        evidence.count += count
        return evidence

    def walk(self) -> Iterator[_Node]:
        nodes = [self]
        while nodes:
            node = nodes.pop()
            yield node
            nodes.extend(node.children.values())


@dataclass(frozen=True, slots=True)
class _Column:
    """The values at one path of a batch, and the index of the document of each; in the order of the input."""

    node: _Node
    values: Sequence[Any]
    owners: Sequence[int]

    def by_type(self) -> Iterator[tuple[type, Sequence[Any], Sequence[int]]]:
        """Yield the values of each type by themselves."""
        types = set(map(type, self.values))
        if len(types) == 1:
            yield types.pop(), self.values, self.owners
            return
        value_types = list(map(type, self.values))
        for column_type in types:
            mask = [value_type is column_type for value_type in value_types]
            yield column_type, list(compress(self.values, mask)), list(compress(self.owners, mask))


class _Batch:
    def __init__(
        self, documents: Sequence[Any], positions: Sequence[Position], first_documents: dict[Position, Any]
    ) -> None:
        self._documents = documents
        self._positions = positions
        self._first_documents = first_documents
        self._texts: list[_Column] = []

    def observe(self, column: _Column) -> Iterator[_Column]:
        """Count the values of a column, and yield the columns below it."""
        for kind, values, owners in column.by_type():
            typed_column = _Column(column.node, values, owners)
            if kind is dict:
                yield from self._observe_objects(typed_column)
            elif kind is list:
                yield from self._observe_lists(typed_column)
            elif kind is str:
                self._texts.append(typed_column)
            elif kind is bool:
                evidence = self._see(typed_column.node, _BOOL, owners[0], len(values), values[0])
                if not evidence.varies:
                    evidence.add_values(map(example_of, set(values)))
            elif values[0] is None:
                self._see(typed_column.node, NULL, owners[0], len(values))
            else:
                self._observe_numbers(typed_column)

    def observe_texts(self) -> None:
        """Count the texts of all columns: they are classified together."""
        if not self._texts:
            return
        classified = [list(set(column.values)) if has_few(column.values) else column.values for column in self._texts]
        sizes = list(map(len, classified))
        joined = string_array(list(chain.from_iterable(classified)))
        starts = list(accumulate(sizes, initial=0))
        for group in _by_class(joined, codes_of_array(joined), sizes):
            column, texts = self._texts[group.column], classified[group.column]
            if texts is column.values:
                first, count = int(group.places[0]) - starts[group.column], len(group.places)
            elif len(group.places) == len(texts):
                first, count = 0, len(column.values)
            else:
                counts, group_texts = (
                    Counter(column.values),
                    {texts[index - starts[group.column]] for index in group.places.tolist()},
                )
                first = column.values.index(next(text for text in counts if text in group_texts))
                count = sum(map(counts.__getitem__, group_texts))
            evidence = self._see(column.node, group.name, column.owners[first], count, column.values[first])
            evidence.add_texts(group.shortest, group.longest, _distinct(joined, group.places))

    def _observe_numbers(self, column: _Column) -> None:
        names = classes_of_numbers(column.values)
        for name in {names} if isinstance(names, str) else set(names):
            values, owners = column.values, column.owners
            if names != name:
                mask = [class_name == name for class_name in names]
                values, owners = list(compress(values, mask)), list(compress(owners, mask))
            evidence = self._see(column.node, name, owners[0], len(values), values[0])
            if has_fractions(name):
                evidence.places, *span = measure_doubles(values, evidence.places or 0)
                evidence.add_range(*span)
                continue
            if as_float(values[0]) is None:  # NaN, which is neither less nor greater than what follows
                values = [value for value in values if as_float(value) is not None] or values
            evidence.add_range(as_float(min(values)), as_float(max(values)))

    def _observe_lists(self, column: _Column) -> Iterator[_Column]:
        lengths = list(map(len, column.values))
        evidence = self._see(column.node, LIST, column.owners[0], len(lengths))
        evidence.add_lengths(min(lengths), max(lengths))
        if elements := list(chain.from_iterable(column.values)):
            owners = list(chain.from_iterable(map(repeat, column.owners, lengths)))
            yield _Column(column.node.child(ELEMENT), elements, owners)

    def _observe_objects(self, column: _Column) -> Iterator[_Column]:
        # Numbers the forms in order of appearance.
        numbers: defaultdict[tuple[str, ...], int] = defaultdict()
        numbers.default_factory = numbers.__len__
        forms = list(map(numbers.__getitem__, map(tuple, column.values)))
        if any(map(is_row_key, set(chain.from_iterable(numbers)))):
            self._see_keyed(column)
        else:
            self._see(column.node, OBJECT, column.owners[0], len(column.values))
        if len(numbers) == 1:
            for key, values in zip(next(iter(numbers)), _transpose(column.values), strict=True):
                yield _Column(column.node.child(key), values, column.owners)
            return
        object_indexes: list[list[int]] = [[] for _ in numbers]
        for index, form in enumerate(forms):
            object_indexes[form].append(index)
        values_by_key: dict[str, dict[int, Sequence[Any]]] = {}
        for keys, form in numbers.items():
            objects = [column.values[index] for index in object_indexes[form]]
            for key, values in zip(keys, _transpose(objects), strict=True):
                values_by_key.setdefault(key, {})[form] = values
        # Many keys have the same forms: their objects are sorted once.
        merged: dict[tuple[int, ...], tuple[itemgetter[Any], Sequence[int]]] = {}
        for key, values_by_form in values_by_key.items():
            key_forms = tuple(values_by_form)
            if key_forms not in merged:
                merged[key_forms] = _order([object_indexes[form] for form in key_forms], column.owners)
            take, owners = merged[key_forms]
            yield _Column(column.node.child(key), take(list(chain.from_iterable(values_by_form.values()))), owners)

    def _see_keyed(self, column: _Column) -> None:
        """Count objects, some of them perhaps with a row key."""
        keys = [key for key in set(chain.from_iterable(column.values)) if is_row_key(key)]
        are_keyed = [any(map(value.get, keys)) for value in column.values]
        counts = Counter(are_keyed)
        for is_keyed, count in counts.items():
            name = KEYED_OBJECT if is_keyed else OBJECT
            self._see(column.node, name, column.owners[are_keyed.index(is_keyed)], count)

    def _see(self, node: _Node, name: str, owner: int, count: int, value: Any = None) -> _ClassValues:
        """Count values of one class; ``owner`` is the document of the first of them, ``value``."""
        position = self._positions[owner]
        evidence = node.see(name, position, count)
        if evidence.first is position:
            evidence.example = None if value is None else example_of(value)
            self._first_documents[position] = self._documents[owner]
        return evidence


def _transpose(objects: Sequence[dict[str, Any]]) -> Iterator[Sequence[Any]]:
    """Yield the values of each key of objects with the same keys, a part at a time: each object takes an iterator."""
    if len(objects) <= _MOST_AT_ONCE:
        yield from zip(*map(dict.values, objects), strict=True)
        return
    columns: list[list[Any]] = [[] for _ in objects[0]]
    for start in range(0, len(objects), _MOST_AT_ONCE):
        for column, values in zip(columns, _transpose(objects[start : start + _MOST_AT_ONCE]), strict=True):
            column.extend(values)
    yield from columns


class _ClassGroup(NamedTuple):
    """The texts of one class in one column: their indexes in the texts of all columns, ascending, and their lengths."""

    column: int
    name: str
    places: np.ndarray[Any, np.dtype[np.int64]]
    shortest: int
    longest: int


def _by_class(
    texts: pa.StringArray, codes: np.ndarray[Any, np.dtype[np.int32]], sizes: Sequence[int]
) -> Iterator[_ClassGroup]:
    """Yield the texts of each column and class, given the texts of all columns, and the size of each column."""
    classes = int(codes.max()) + 1
    groups = np.repeat(np.arange(len(sizes)), sizes) * classes + codes
    order = np.argsort(groups, kind="stable")
    ordered, lengths = groups[order], numbers_of(pc.utf8_length(texts))[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    ends = [*starts[1:].tolist(), len(order)]
    shortest, longest = np.minimum.reduceat(lengths, starts).tolist(), np.maximum.reduceat(lengths, starts).tolist()
    for group, start, end, least, most in zip(
        ordered[starts].tolist(), starts.tolist(), ends, shortest, longest, strict=True
    ):
        column, code = divmod(group, classes)
        yield _ClassGroup(column, class_of_code(code), order[start:end], least, most)


def _distinct(texts: pa.StringArray, places: np.ndarray[Any, np.dtype[np.int64]]) -> Iterator[str]:
    """Yield the texts at some places, each different one at least once; most columns differ in the first two."""
    yield from (texts[index].as_py() for index in places[:2].tolist())
    if len(places) > 2:
        yield from pc.unique(texts.take(array_of(places, pa.int64()))).to_pylist()


def _places_of(column: pa.Array) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the indexes of a column's values that are not null."""
    if not column.null_count:
        return np.arange(len(column))
    return np.flatnonzero(numbers_of(column.is_valid().cast(pa.uint8())))


def _order(indexes_by_form: Sequence[list[int]], owners: Sequence[int]) -> tuple[itemgetter[Any], Sequence[int]]:
    """Return a getter that restores the order of objects sorted by form, and their owners."""
    indexes = list(chain.from_iterable(indexes_by_form))
    if len(indexes_by_form) == 1:
        return itemgetter(slice(None)), [owners[index] for index in indexes]
    order = sorted(range(len(indexes)), key=indexes.__getitem__)
    return itemgetter(*order), [owners[indexes[index]] for index in order]

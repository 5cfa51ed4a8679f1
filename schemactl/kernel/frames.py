"""A frame: the elements of a chunk that become rows of one table, in the order of the input, and their columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemactl.inference.values import kind as kind_of
from schemactl.kernel import keys
from schemactl.kernel.chunks import Chunk
from schemactl.kernel.kinds import KindValues, array_values, text_array
from schemactl.kernel.row_plans import CompiledCell, KeyCell, RowPlan
from schemactl.kernel.stored import python_values
from schemactl.normalization.plan import RowKey
from schemactl.normalization.tally import LoadTime
from schemactl.schema.coercion import coerce
from schemactl.schema.paths import Path
from schemactl.schema.types import DataType

Mask = np.ndarray[Any, Any] | None
"""A mask of rows; None masks no row."""


@dataclass(frozen=True, slots=True)
class Nesting:
    """The frame of the parents of nested rows, and each row's parent in it and index in its list."""

    frame: Frame
    parents: np.ndarray[Any, Any]
    indexes: np.ndarray[Any, Any]


@dataclass(frozen=True)
class Objects:
    """The objects at one path of a frame's elements.

    ``rows`` has the index of the element of each object; None if every element is an object. ``size`` counts elements.
    """

    values: Sequence[Any]
    rows: np.ndarray[Any, Any] | None
    size: int

    def spread(self, values: Sequence[Any]) -> Sequence[Any]:
        """Return a value for each element, given values for the objects: None for elements that are not objects."""
        if self.rows is None:
            return values
        spread = [None] * self.size
        for row, value in zip(self.rows.tolist(), values, strict=True):
            spread[row] = value
        return spread

    def spread_kind(self, values: KindValues) -> KindValues:
        """Return values of one kind for each element, given values for the objects."""
        if self.rows is None:
            return values
        if values.array is None:
            return KindValues(values.kind, None, self.spread(values.listed))
        return replace(values, array=values.array.take(self._object_indexes))

    @cached_property
    def _object_indexes(self) -> pa.Array:
        indexes = np.full(self.size, -1)
        indexes[self.rows] = np.arange(len(self.values))
        return pa.array(indexes, mask=indexes < 0)


class Frame:
    """The elements of a chunk that become the rows of one ``RowPlan``.

    Attributes:
        nesting: the origin of nested rows; None for documents.
        rejected: rows nested in rejected rows.
        ordinals: the number of the root row of each row, if rows may be superseded.
    """

    def __init__(
        self,
        plan: RowPlan,
        load: LoadTime,
        chunk: Chunk,
        elements: Sequence[Any],
        nesting: Nesting | None = None,
        rejected: Mask = None,
    ) -> None:
        self.plan = plan
        self.load = load
        self.chunk = chunk
        self.elements = elements
        self.nesting = nesting
        self.parent = nesting.frame if nesting is not None else None
        self.rejected = rejected
        self.ordinals: np.ndarray[Any, Any] | None = None
        self._objects: dict[Path, Objects] = {}
        self._values: dict[Path, Sequence[Any]] = {}

    @property
    def size(self) -> int:
        return len(self.elements)

    @property
    def source_load(self) -> LoadTime:
        """The load that the documents first came with, which differs from ``load`` if they are replayed."""
        return self.load if self.chunk.load_id is None else replace(self.load, id=self.chunk.load_id)

    def filtered(self, mask: np.ndarray[Any, Any]) -> Frame:
        """Return a frame of the masked rows."""
        rows = np.nonzero(mask)[0]
        rejected = None if self.rejected is None else self.rejected[rows]
        elements = [self.elements[row] for row in rows.tolist()]
        if self.nesting is not None:
            nesting = replace(self.nesting, parents=self.nesting.parents[rows], indexes=self.nesting.indexes[rows])
            return Frame(self.plan, self.load, self.chunk, elements, nesting, rejected)
        numbers = [self.chunk.numbers[row] for row in rows.tolist()]
        columns = {key: column.take(pa.array(rows)) for key, column in self.chunk.columns.items()}
        ignored = [self.chunk.ignored[row] for row in rows.tolist()] if self.chunk.ignored else ()
        chunk = replace(self.chunk, numbers=numbers, documents=elements, columns=columns, ignored=ignored)
        return Frame(self.plan, self.load, chunk, elements, None, rejected)

    def values(self, path: Path) -> Sequence[Any]:
        """Return the value of each element at a path, None if it lacks one."""
        return self.objects(path[:-1]).spread(self.object_values(path)) if path else self.elements

    def objects(self, path: Path) -> Objects:
        """Return the objects at a path of the elements."""
        if path not in self._objects:
            values, rows = (self.object_values(path), self.objects(path[:-1]).rows) if path else (self.elements, None)
            if any(value_type is not dict for value_type in set(map(type, values))):
                indexes = [index for index, value in enumerate(values) if type(value) is dict]
                values = [values[index] for index in indexes]
                rows = np.array(indexes, np.int64) if rows is None else rows[indexes]
            self._objects[path] = Objects(values, rows, self.size)
        return self._objects[path]

    def object_values(self, path: Path) -> Sequence[Any]:
        """Return the value at the last key of a path, for each object at the path before it."""
        if path not in self._values:
            objects, key = self.objects(path[:-1]).values, path[-1]
            values = None
            if path not in self.plan.optional_paths:
                try:
                    values = list(map(itemgetter(key), objects))
                except KeyError:
                    self.plan.optional_paths.add(path)
            self._values[path] = [item.get(key) for item in objects] if values is None else values
        return self._values[path]

    def ancestor(self, levels_up: int) -> Frame:
        """Return the frame some levels up, 0 for this one."""
        frame = self
        for _ in range(levels_up):
            assert frame.parent is not None
            frame = frame.parent
        return frame

    def ancestor_rows(self, levels_up: int) -> np.ndarray[Any, Any] | None:
        """Return for each row the index of its ancestor some levels up; None for 0."""
        rows: np.ndarray[Any, Any] | None = None
        frame = self
        for _ in range(levels_up):
            assert frame.nesting is not None
            rows = frame.nesting.parents if rows is None else frame.nesting.parents[rows]
            frame = frame.nesting.frame
        return rows

    def column(self, levels_up: int, path: Path) -> Sequence[Any] | pa.Array:
        """Return for each row the value at a path of its ancestor some levels up."""
        ancestor, rows = self.ancestor(levels_up), self.ancestor_rows(levels_up)
        array = self.chunk.columns.get(str(path[0])) if len(path) == 1 and ancestor.parent is None else None
        if array is not None:
            return array if rows is None else array.take(pa.array(rows))
        values = ancestor.values(path)
        return values if rows is None else [values[row] for row in rows.tolist()]

    def column_values(self, levels_up: int, path: Path) -> Sequence[Any]:
        """Return ``column`` as Python values."""
        column = self.column(levels_up, path)
        return python_values(column) if isinstance(column, pa.Array) else column

    def cell_values(self, cell: CompiledCell) -> Iterator[KindValues]:
        """Yield the values of a cell by kind, each with one value for each row."""
        path = cell.path
        if not cell.levels_up and path and (self.parent is not None or path[0] not in self.chunk.columns):
            # Many columns have values in few rows.
            split = cell.split(self.object_values(path), self.chunk.json_paths)
            yield from map(self.objects(path[:-1]).spread_kind, split)
            return
        column = self.column(cell.levels_up, path)
        if not isinstance(column, pa.Array):
            yield from cell.split(column, self.chunk.json_paths)
        elif (values := array_values(column)) is not None and values.kind in cell.kinds and values.count:
            yield values

    @cached_property
    def depth(self) -> int:
        return 0 if self.parent is None else self.parent.depth + 1

    def numbers(self, rows: np.ndarray[Any, Any]) -> list[int]:
        """Return the number of the document of each of some rows."""
        documents = self.ancestor_rows(self.depth)
        return [self.chunk.numbers[row] for row in (rows if documents is None else documents[rows]).tolist()]

    def document(self, row: int) -> Any:
        """Return the document of a row."""
        documents = self.ancestor_rows(self.depth)
        return self.chunk.whole_documents[row if documents is None else documents[row]]

    def list_indexes(self, rows: np.ndarray[Any, Any]) -> list[list[int]]:
        """Return the list indexes of some rows: one list for each depth, the outermost first."""
        indexes: list[list[int]] = []
        nesting = self.nesting
        while nesting is not None:
            indexes.append(nesting.indexes[rows].tolist())
            rows = nesting.parents[rows]
            nesting = nesting.frame.nesting
        return indexes[::-1]

    def row_value(self, row: int) -> Any:
        """Return the whole value that becomes a row."""
        return self.chunk.whole_documents[row] if self.parent is None else self.elements[row]

    @cached_property
    def data_keys(self) -> pa.Array | None:
        """The row keys in the data; None without such keys. As in dlt, falsy values count as none."""
        if not self.plan.key_sources:
            return None
        last: list[Any] = [None] * self.size
        for levels_up, path in self.plan.key_sources:
            values = self.column_values(levels_up, path)
            last = [new if new is not None else old for new, old in zip(values, last, strict=True)]
        if self.chunk.columns and self.parent is None:
            texts = [_key_text(key) if key else None for key in last]
        else:
            pairs = zip(last, self.elements, strict=True)
            texts = [_key_text(key) if key and type(element) is dict else None for key, element in pairs]
        return text_array(texts) if any(texts) else None

    @cached_property
    def has_data_key(self) -> Mask:
        return None if self.data_keys is None else to_mask(pc.is_valid(self.data_keys))

    @cached_property
    def keys(self) -> pa.Array:
        """The key of each row."""
        if self.data_keys is None:
            return keys.key_array(self._hashed_keys)
        if self.data_keys.null_count == 0:
            return self.data_keys
        return pc.coalesce(self.data_keys, keys.key_array(self._hashed_keys))

    @cached_property
    def key_bytes(self) -> list[bytes]:
        if self.data_keys is None:
            return keys.key_texts(self._hashed_keys)
        return [key.encode() for key in self.keys.to_pylist()]

    @cached_property
    def primary_key_values(self) -> list[list[Any]]:
        """The values of the primary key, by column."""
        return [self._last_values(cells) for cells in self.plan.key_cells]

    def _last_values(self, cells: Sequence[KeyCell]) -> list[Any]:
        last: list[Any] = [None] * self.size
        for cell in cells:
            values = self.column_values(cell.levels_up, cell.path)
            if not cell.path and not cell.levels_up:
                values = [None if type(value) is dict else value for value in values]
            pairs = zip(values, last, strict=True)
            last = [new if new is not None and str(kind_of(new)) in cell.kinds else old for new, old in pairs]
        return last

    @cached_property
    def _hashed_keys(self) -> np.ndarray[Any, Any]:
        rows, names = self.plan.rows, self.plan.plan.names
        match rows.key:
            case RowKey.PARENT:
                assert self.nesting is not None
                parents, indexes = self.nesting.parents.tolist(), self.nesting.indexes.tolist()
                digests = keys.hash_children(self.nesting.frame.key_bytes, rows.table, parents, indexes)
            case RowKey.RANDOM:
                all_rows = np.arange(self.size)
                numbers, indexes = self.numbers(all_rows), self.list_indexes(all_rows)
                positions: Iterable[object] = numbers
                if indexes:
                    positions = (".".join(map(str, position)) for position in zip(numbers, *indexes, strict=True))
                digests = keys.hash_places(self.source_load.id, rows.table, self.chunk.file, positions)
            case RowKey.PRIMARY_KEY:
                columns = self.primary_key_values
                key_rows = zip(*columns, strict=True) if columns else repeat((), self.size)
                items = (dict(zip(rows.key_columns, values, strict=True)) for values in key_rows)
                digests = keys.hash_texts(map(keys.content_text, items))
            case RowKey.CONTENT:
                elements = self.chunk.whole_documents if self.parent is None else self.elements
                digests = keys.hash_texts(
                    keys.document_text(element, "list" if rows.path and isinstance(element, list) else names.value)
                    for element in elements
                )
        return keys.keys_of(digests)

    def system_column(self, column: str) -> pa.Array | None:
        """Return the values of one of dlt's columns (``Plan.names``); None if these rows lack the column."""
        rows, names = self.plan.rows, self.plan.plan.names
        for propagated in rows.passed:
            if propagated.target.name == column:
                levels_up = self.plan.levels_up[propagated.path]
                values = self.ancestor(levels_up).system_column(propagated.column)
                indexes = self.ancestor_rows(levels_up)
                return values if values is None or indexes is None else values.take(pa.array(indexes))
        if column == names.row_id:
            return self.keys
        if column == names.load_id and rows.has_load_id:
            load_ids = pa.repeat(self.load.id, self.size)
            if self.parent is None:
                return load_ids
            # dlt gives no load id to scalars in a list that fills a root table.
            is_container = pa.array([type(element) in (dict, list) for element in self.elements], pa.bool_())
            return pc.if_else(is_container, load_ids, None)
        if column == names.parent_id and rows.parent is not None:
            assert self.nesting is not None
            return self._unless_data_key(self.nesting.frame.keys.take(pa.array(self.nesting.parents)))
        if column == names.list_index and rows.parent is not None:
            assert self.nesting is not None
            return self._unless_data_key(pa.array(self.nesting.indexes, pa.int64()))
        return None

    def _unless_data_key(self, values: pa.Array) -> pa.Array:
        return values if self.has_data_key is None else pc.if_else(pa.array(self.has_data_key), None, values)


def to_mask(array: pa.Array) -> np.ndarray[Any, Any]:
    """Return an array of booleans as a mask."""
    return np.asarray(array.to_numpy(zero_copy_only=False)).astype(bool, copy=False)


def _key_text(key: Any) -> str:
    return str(key) if type(key) is int else str(coerce(key, kind_of(key), DataType.TEXT))

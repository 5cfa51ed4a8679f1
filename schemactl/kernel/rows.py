"""From a batch of documents and a plan to rows: Arrow batches by table, rejects, and a tally.

A row maker is compiled of a plan once for each partition. It works level by level: a frame has the values that make
the rows of one ``Rows`` of the plan, in the order of the input, and each cell of these rows is one column of values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, repeat
from operator import itemgetter
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemactl.inference.values import kind as kind_of
from schemactl.kernel import keys
from schemactl.kernel.coercion import Coercion, loses_nanoseconds, text_of
from schemactl.kernel.kinds import KindValues, array_values, split_by_kind, text_array
from schemactl.kernel.outcome import (
    IgnoredKey,
    Problem,
    Refused,
    RowOutcome,
    Seen,
    describe_ignored,
    describe_rejects,
)
from schemactl.kernel.stored import arrow_type, notes_of, python_values, spark_notes
from schemactl.kernel.structures import build, either
from schemactl.normalization.plan import Cell, Plan, RowKey, Rows, TargetColumn
from schemactl.normalization.tally import LoadTime
from schemactl.schema.coercion import coerce
from schemactl.schema.contract import Mode
from schemactl.schema.nested_types import NestedType
from schemactl.schema.paths import ELEMENT, Path
from schemactl.schema.types import Column, DataType, Table

Mask = np.ndarray[Any, Any] | None
"""A mask of rows; None for no row."""

NULL_KIND: Final = "null"
"""The kind of missing values of primary keys (``tally.UnfitFinding``)."""


ELEMENTS_AT_ONCE: Final = 1 << 16
"""Elements of lists that become rows together: all rows of a long list at once take a quarter more memory."""

NO_KEYS: Final[dict[str, Any]] = {}
"""A document all keys of which stand in columns."""


@dataclass(frozen=True)
class Chunk:
    """Some hundred documents of one file, in the order of the file.

    Attributes:
        file: as people are shown it.
        numbers: of the documents in the file, from 1.
        documents: parsed; of sources that state their types without the keys in ``columns``.
        columns: scalars of a stated type at the top of documents, by key.
        names: of all keys at the top of documents, in order, where there are columns; none where each document has
            keys of its own, and columns come after them.
        whole: paths at which sources state JSON: whatever stands there is a value of that kind.
        omits_nulls: whether documents lack the keys of columns that are null.
        ignored: the keys of each document that its model ignores; empty where there are none.
    """

    file: str
    numbers: Sequence[int]
    documents: Sequence[Any]
    columns: Mapping[str, pa.Array] = field(default_factory=dict)
    names: Sequence[str] = ()
    whole: frozenset[Path] = frozenset()
    omits_nulls: bool = False
    ignored: Sequence[Sequence[IgnoredKey]] = ()

    @cached_property
    def whole_documents(self) -> Sequence[Any]:
        """The documents with what stands in ``columns``."""
        if not self.columns:
            return self.documents
        stated = {key: python_values(column) for key, column in self.columns.items()}
        if not self.names:
            added = (dict(zip(stated, values, strict=True)) for values in zip(*stated.values(), strict=True))
            return [
                document | {name: value for name, value in each.items() if value is not None}
                for document, each in zip(self.documents, added, strict=True)
            ]
        listed = [
            stated[name] if name in stated else [document[name] for document in self.documents] for name in self.names
        ]
        found = [dict(zip(self.names, values, strict=True)) for values in zip(*listed, strict=True)]
        if not self.omits_nulls:
            return found
        return [{name: value for name, value in each.items() if value is not None} for each in found]


@dataclass(frozen=True, slots=True)
class MadeRows:
    """The rows of one chunk.

    Attributes:
        tables: batches by table with exactly its stored columns; a table that several lists go to has several.
        places: for the same rows where they stand, for tables of which rows may be superseded (``RowMaker``).
        rejects: batches with the columns of ``tally.REJECTS_COLUMNS``.
    """

    tables: dict[str, list[pa.RecordBatch]] = field(default_factory=dict)
    places: dict[str, list[pa.RecordBatch]] = field(default_factory=dict)
    rejects: list[pa.RecordBatch] = field(default_factory=list)


class RowMaker:
    """Makes the rows of one partition.

    Args:
        plan: what becomes of documents.
        load: its id, and when it is made.
        compared: root tables of which a merge keeps one row for each primary key, with the columns that say which.
            For these and those nested in them it is said where each row stands: ``ordinal`` among the rows of the root
            table, and for root rows ``file``, ``line``, ``list`` (which of the lists that make rows of the table),
            ``indexes`` in lists, and the columns, named by their places.
    """

    def __init__(self, plan: Plan, load: LoadTime, compared: Mapping[str, Sequence[str]] | None = None) -> None:
        self.plan = plan
        self.load = load
        self.compared = dict(compared or {})
        self.problems: list[Problem] = []
        self.schemas = {name: table_schema(table, plan) for name, table in plan.tables.items()}
        self.ordinals = dict.fromkeys(self.compared, 0)
        self.lists: dict[str, list[Path]] = {}
        for rows in plan.rows.walk():
            self.lists.setdefault(rows.table, []).append(rows.path)
        self.outcome = RowOutcome()
        self._root = _Level(self, plan.rows, ())

    def make(self, chunk: Chunk) -> MadeRows:
        """Return the rows of some documents, and add to ``outcome``."""
        made = MadeRows()
        frame = _Frame(self._root, chunk, chunk.documents)
        self._root.run(frame, made)
        filled = self.outcome.filled
        for table, batches in made.tables.items():
            for batch in batches:
                columns = zip(batch.schema.names, batch.columns, strict=True)
                filled |= {(table, name) for name, values in columns if values.null_count < len(values)}
        return made


def table_schema(table: Table, plan: Plan) -> pa.Schema:
    """Return the stored columns of a table, complete ones only, with the notes that footers of files hold."""
    complete = (column for column in table.columns.values() if column.is_complete)
    fields = [pa.field(each.name, arrow_type(each, table.name, plan), metadata=notes_of(each)) for each in complete]
    return pa.schema(fields, metadata=spark_notes(fields))


# --- values ---


@dataclass(frozen=True, slots=True)
class _Nesting:
    """The places of nested rows.

    Attributes:
        above: the rows that they are nested in.
        parents: of each row the one above.
        indexes: its place in its list.
    """

    above: _Frame
    parents: np.ndarray[Any, Any]
    indexes: np.ndarray[Any, Any]


@dataclass(frozen=True)
class _Objects:
    """The objects that stand at one place of the elements of a frame.

    Attributes:
        values: the objects.
        rows: of each the element that it stands in; None where each element has one.
        size: how many elements there are.
    """

    values: Sequence[Any]
    rows: np.ndarray[Any, Any] | None
    size: int

    def spread(self, values: Sequence[Any]) -> Sequence[Any]:
        """Return values of the objects as values of the elements, None where there is no object."""
        if self.rows is None:
            return values
        found = [None] * self.size
        for row, value in zip(self.rows.tolist(), values, strict=True):
            found[row] = value
        return found

    def spread_kind(self, values: KindValues) -> KindValues:
        """Return values of one kind of the objects as such values of the elements."""
        if self.rows is None:
            return values
        if values.array is None:
            return KindValues(values.kind, None, self.spread(values.listed))
        return replace(values, array=values.array.take(self._places))

    @cached_property
    def _places(self) -> pa.Array:
        places = np.full(self.size, -1)
        places[self.rows] = np.arange(len(self.values))
        return pa.array(places, mask=places < 0)


class _Frame:
    """The values that make the rows of one level.

    Attributes:
        elements: the values.
        nested: the rows that they are nested in; None for those of documents.
        refused: rows below refused ones.
        ordinals: of each row that of its root row, where rows may be superseded.
    """

    def __init__(
        self,
        level: _Level,
        chunk: Chunk,
        elements: Sequence[Any],
        nested: _Nesting | None = None,
        refused: Mask = None,
    ) -> None:
        self.level = level
        self.chunk = chunk
        self.elements = elements
        self.nested = nested
        self.above = nested.above if nested is not None else None
        self.refused = refused
        self.ordinals: np.ndarray[Any, Any] | None = None
        self._objects: dict[Path, _Objects] = {}
        self._values: dict[Path, Sequence[Any]] = {}

    @property
    def size(self) -> int:
        return len(self.elements)

    def filtered(self, keep: np.ndarray[Any, Any]) -> _Frame:
        """Return some of the rows."""
        at = np.nonzero(keep)[0]
        refused = None if self.refused is None else self.refused[at]
        elements = [self.elements[each] for each in at.tolist()]
        if self.nested is not None:
            nested = replace(self.nested, parents=self.nested.parents[at], indexes=self.nested.indexes[at])
            return _Frame(self.level, self.chunk, elements, nested, refused)
        numbers = [self.chunk.numbers[each] for each in at.tolist()]
        columns = {key: column.take(pa.array(at)) for key, column in self.chunk.columns.items()}
        ignored = [self.chunk.ignored[each] for each in at.tolist()] if self.chunk.ignored else ()
        chunk = replace(self.chunk, numbers=numbers, documents=elements, columns=columns, ignored=ignored)
        return _Frame(self.level, chunk, elements, None, refused)

    def values(self, path: Path) -> Sequence[Any]:
        """Return what stands under some keys of each element, None where nothing does."""
        return self.objects(path[:-1]).spread(self.values_below(path)) if path else self.elements

    def objects(self, path: Path) -> _Objects:
        """Return the objects that stand under some keys of the elements."""
        found = self._objects.get(path)
        if found is None:
            values, rows = (self.values_below(path), self.objects(path[:-1]).rows) if path else (self.elements, None)
            if any(kind is not dict for kind in set(map(type, values))):
                at = [place for place, value in enumerate(values) if type(value) is dict]
                values, rows = [values[place] for place in at], np.array(at, np.int64) if rows is None else rows[at]
            found = self._objects[path] = _Objects(values, rows, self.size)
        return found

    def values_below(self, path: Path) -> Sequence[Any]:
        """Return what stands under the last of some keys of each object that stands under those before."""
        found = self._values.get(path)
        if found is None:
            objects, key = self.objects(path[:-1]).values, path[-1]
            if path not in self.level.optional:
                try:
                    found = list(map(itemgetter(key), objects))
                except KeyError:
                    self.level.optional.add(path)
            if found is None:
                found = [each.get(key) for each in objects]
            self._values[path] = found
        return found

    def places_above(self, levels: int) -> np.ndarray[Any, Any] | None:
        """Return for each row the one that it is nested in, some levels up; None for itself."""
        found: np.ndarray[Any, Any] | None = None
        frame = self
        for _ in range(levels):
            assert frame.nested is not None
            found = frame.nested.parents if found is None else frame.nested.parents[found]
            frame = frame.nested.above
        return found

    def frame_above(self, levels: int) -> _Frame:
        frame = self
        for _ in range(levels):
            assert frame.above is not None
            frame = frame.above
        return frame

    def column(self, up: int, path: Path) -> Sequence[Any] | pa.Array:
        """Return what stands under some keys of the elements some levels up, for each row here."""
        frame, places = self.frame_above(up), self.places_above(up)
        array = self.chunk.columns.get(str(path[0])) if len(path) == 1 and frame.above is None else None
        if array is not None:
            return array if places is None else array.take(pa.array(places))
        values = frame.values(path)
        return values if places is None else [values[at] for at in places.tolist()]

    @cached_property
    def depth(self) -> int:
        return 0 if self.above is None else self.above.depth + 1

    def numbers(self, rows: np.ndarray[Any, Any]) -> list[int]:
        """Return the numbers of the documents that some rows stand in."""
        places = self.places_above(self.depth)
        found = rows if places is None else places[rows]
        return [self.chunk.numbers[at] for at in found.tolist()]

    def document(self, row: int) -> Any:
        """Return the document that a row stands in."""
        places = self.places_above(self.depth)
        return self.chunk.whole_documents[row if places is None else places[row]]

    def list_indexes(self, rows: np.ndarray[Any, Any]) -> list[list[int]]:
        """Return the places of some rows in their lists, from the outermost list on: a list for each depth."""
        found: list[list[int]] = []
        nested, at = self.nested, rows
        while nested is not None:
            found.append(nested.indexes[at].tolist())
            at = nested.parents[at]
            nested = nested.above.nested
        return found[::-1]

    def whole(self, row: int) -> Any:
        """Return what makes a row, with all that is in it."""
        return self.chunk.whole_documents[row] if self.above is None else self.elements[row]

    # --- keys ---

    @cached_property
    def own_keys(self) -> pa.Array | None:
        """The keys that rows bring themselves; like dlt, what Python takes for false is none."""
        cells = self.level.own_key
        if not cells:
            return None
        own: list[Any] = [None] * self.size
        for up, path in cells:
            found = self.column(up, path)
            values = python_values(found) if isinstance(found, pa.Array) else found
            own = [new if new is not None else old for new, old in zip(values, own, strict=True)]
        is_object = [True] * self.size if self.chunk.columns and self.above is None else self._are_objects
        texts = [_key_text(key) if key and it else None for key, it in zip(own, is_object, strict=True)]
        return text_array(texts) if any(texts) else None

    @cached_property
    def _are_objects(self) -> list[bool]:
        return [type(element) is dict for element in self.elements]

    @cached_property
    def has_own_key(self) -> Mask:
        return None if self.own_keys is None else _mask(pc.is_valid(self.own_keys))

    @cached_property
    def _made_keys(self) -> np.ndarray[Any, Any]:
        return keys.keys_of(self.level.hash_rows(self))

    @cached_property
    def keys(self) -> pa.Array:
        """The key of each row."""
        if self.own_keys is None:
            return keys.key_array(self._made_keys)
        if self.own_keys.null_count == 0:
            return self.own_keys
        return pc.coalesce(self.own_keys, keys.key_array(self._made_keys))

    @cached_property
    def key_bytes(self) -> list[bytes]:
        if self.own_keys is None:
            return keys.key_texts(self._made_keys)
        return [key.encode() for key in self.keys.to_pylist()]

    @cached_property
    def key_values(self) -> list[list[Any]]:
        """The values of the primary key's columns."""
        return [self._last_values(cells) for cells in self.level.key_cells]

    def _last_values(self, cells: Sequence[tuple[Cell, int, Path]]) -> list[Any]:
        last: list[Any] = [None] * self.size
        for cell, up, path in cells:
            found = self.column(up, path)
            values = python_values(found) if isinstance(found, pa.Array) else found
            if not path and not up:
                values = [None if type(value) is dict else value for value in values]
            pairs = zip(values, last, strict=True)
            last = [new if new is not None and str(kind_of(new)) in cell.targets else old for new, old in pairs]
        return last

    # --- what the normalizer makes ---

    def made(self, column: str) -> pa.Array | None:
        """Return the values of one of dlt's own columns (``Plan.names``); None where it makes none."""
        rows, names = self.level.rows, self.level.maker.plan.names
        for passed in rows.passed:
            if passed.target.name == column:
                up = self.level.ups[passed.path]
                found, places = self.frame_above(up).made(passed.column), self.places_above(up)
                return found if found is None or places is None else found.take(pa.array(places))
        if column == names.row_id:
            return self.keys
        if column == names.load_id and rows.has_load_id:
            return self._load_ids()
        if column == names.parent_id and rows.parent is not None:
            assert self.nested is not None
            return self._unless_keyed(self.nested.above.keys.take(pa.array(self.nested.parents)))
        if column == names.list_index and rows.parent is not None:
            assert self.nested is not None
            return self._unless_keyed(pa.array(self.nested.indexes, pa.int64()))
        return None

    def _load_ids(self) -> pa.Array:
        load_ids = pa.repeat(self.level.maker.load.id, self.size)
        if self.above is None:
            return load_ids
        is_container = pa.array([type(element) in (dict, list) for element in self.elements], pa.bool_())
        return pc.if_else(is_container, load_ids, None)

    def _unless_keyed(self, values: pa.Array) -> pa.Array:
        return values if self.has_own_key is None else pc.if_else(pa.array(self.has_own_key), None, values)


def _key_text(key: Any) -> str:
    if type(key) is int:
        return str(key)
    return str(coerce(key, kind_of(key), DataType.TEXT))


def _mask(found: pa.Array) -> np.ndarray[Any, Any]:
    array = np.asarray(found.to_numpy(zero_copy_only=False))
    return array.astype(bool, copy=False)


# --- the plan, compiled ---


@dataclass(frozen=True, slots=True)
class _Take:
    """The values of one kind that one column takes.

    Attributes:
        problem: of the violation that refuses them; None where they are loaded.
    """

    target: TargetColumn
    convert: _Convert
    problem: int | None
    refuses_row: bool


@dataclass(frozen=True, slots=True)
class _Kind:
    """The values of one kind of a cell: the columns in turn, and the problem of those that none takes."""

    takes: tuple[_Take, ...]
    left: int
    sized: Column | None
    """The column of a stated size that numbers were meant for."""


@dataclass(frozen=True, slots=True)
class _CellMaker:
    """A cell: where its values stand, and what becomes of them by kind."""

    cell: Cell
    up: int
    path: Path
    kinds: Mapping[str, _Kind]
    is_row: bool
    """Whether objects among the values are the rows themselves."""


class _Convert:
    """Turns the values of one kind into those of one column."""

    def __init__(self, kind: DataType, target: TargetColumn) -> None:
        self._structure: NestedType | None = target.structure if kind is DataType.JSON else None
        self._coercion = Coercion(kind, target.column, is_exact=target.is_exact)

    def __call__(self, values: KindValues) -> pa.Array:
        if self._structure is None:
            return self._coercion(values)
        found, lost = build(values.listed, self._structure)
        return found if lost is None else pc.if_else(pa.array(~lost), found, None)


@dataclass(slots=True)
class _Found:
    """The content of the cells of a frame.

    Attributes:
        fills: by column what fills it: for each cell, in order, arrays.
        refusing: rows that a value refuses.
        problems: with the rows that have them, and their values.
        left: numbers of a stated size that were left without a place.
        cut: texts of columns that lose nanoseconds.
    """

    fills: dict[str, list[list[pa.Array]]] = field(default_factory=dict)
    refusing: Mask = None
    problems: list[tuple[int, np.ndarray[Any, Any], KindValues | None]] = field(default_factory=list)
    left: list[tuple[Column, np.ndarray[Any, Any], KindValues]] = field(default_factory=list)
    cut: list[tuple[str, np.ndarray[Any, Any]]] = field(default_factory=list)


class _Level:
    """The rows of one ``Rows`` of a plan, and those below."""

    def __init__(self, maker: RowMaker, rows: Rows, above: tuple[_Level, ...]) -> None:
        self.maker = maker
        self.rows = rows
        self.above = above
        self.chain = (*(each.rows for each in above), rows)
        self.ups = {each.path: len(above) - at for at, each in enumerate(self.chain)}
        self.table = maker.plan.tables.get(rows.table)
        self.own_key = [self._source(cell) for cell in rows.own_key]
        self.key_cells = [
            [(cell, *self._source(cell)) for cell in rows.cells if cell.name == column] for column in rows.key_columns
        ]
        self.root = len(above) - max(at for at, each in enumerate(self.chain) if each.parent is None)
        self.compared = self.chain[-1 - self.root].table if self.chain[-1 - self.root].table in maker.compared else None
        self._refusal = self._problem(None, (rows.path,), violation=rows.refusal) if rows.refusal else None
        self.cells = [self._cell(cell) for cell in rows.cells if cell.name != maker.plan.names.row_id]
        self._key_problems = self._missing_keys()
        self._overwrites = self._meeting_cells()
        self._met_lists = self._meeting_lists()
        self.below = [_Level(maker, each, (*above, self)) for each in rows.lists]
        self.optional: set[Path] = set()
        """Paths at which some elements were seen to lack a value."""

    # --- compiling ---

    def _source(self, cell: Cell) -> tuple[int, Path]:
        """Return where a cell's values stand: how many levels up, and under which keys."""
        for up, rows in enumerate(reversed(self.chain)):
            size = len(rows.path)
            if cell.path[:size] == rows.path and ELEMENT not in cell.path[size:]:
                return up, cell.path[size:]
        raise ValueError(f"no row of the chain has the path {cell.path}")

    def _cell(self, cell: Cell) -> _CellMaker:
        up, path = self._source(cell)
        kinds = {name: self._kind(cell, DataType(name), targets) for name, targets in cell.targets.items()}
        return _CellMaker(cell, up, path, kinds, is_row=cell.path == self.rows.path)

    def _kind(self, cell: Cell, kind: DataType, targets: Sequence[TargetColumn]) -> _Kind:
        if not self.maker.plan.coerces:
            targets = [target for target in targets if target.column.data_type is kind]
        takes = tuple(self._take(cell, kind, target) for target in targets)
        first = targets[0].column if targets else None
        column, expected = (first.name, str(first.data_type)) if first else (cell.name, "")
        left = self._problem(column, (cell.path,), kind=str(kind), expected=expected)
        asked = next((target.column for target in targets if not target.is_exact), None)
        return _Kind(takes, left, asked if asked is not None and _is_sized(asked) else None)

    def _take(self, cell: Cell, kind: DataType, target: TargetColumn) -> _Take:
        refuses_row = target.refusal is not None and target.refusal.mode is not Mode.DISCARD_VALUE
        problem = None
        if target.refusal is not None:
            problem = self._problem(
                target.column.name, (cell.path,), kind=str(kind), violation=target.refusal, refuses_row=refuses_row
            )
        return _Take(target, _Convert(kind, target), problem, refuses_row)

    def _problem(self, column: str | None, paths: tuple[Path, ...], **stated: Any) -> int:
        table = stated.pop("table", self.rows.table)
        self.maker.problems.append(Problem(table, column, paths, **stated))
        return len(self.maker.problems) - 1

    def _missing_keys(self) -> list[int]:
        """Rows that are found by their primary key need all of it, unless they bring the key of their own."""
        if self.rows.key is not RowKey.PRIMARY_KEY:
            return []
        found = []
        for column, cells in zip(self.rows.key_columns, self.key_cells, strict=True):
            path = cells[0][0].path if cells else self.rows.path
            found.append(self._problem(column, (path,), kind=NULL_KIND))
        return found

    def _meeting_cells(self) -> dict[str, int]:
        paths: dict[str, dict[Path, bool]] = {}
        for cell in self.rows.cells:
            for target in chain.from_iterable(cell.targets.values()):
                known = paths.setdefault(target.column.name, {})
                known[cell.path] = known.get(cell.path, False) or target.refusal is None
        return {
            column: self._problem(column, tuple(found)) for column, found in paths.items() if sum(found.values()) > 1
        }

    def _meeting_lists(self) -> list[tuple[int, list[Path]]]:
        """Elements of two lists at the same place would get the same key."""
        by_table: dict[str, list[Path]] = {}
        for below in self.rows.lists:
            if below.key is RowKey.PARENT:
                by_table.setdefault(below.table, []).append(below.path[:-1])
        start = len(self.rows.path)
        return [
            (self._problem(None, tuple(paths), table=table), [path[start:] for path in paths])
            for table, paths in by_table.items()
            if len(paths) > 1
        ]

    # --- keys ---

    def hash_rows(self, frame: _Frame) -> list[bytes]:
        """Return the digests that the keys of rows are made of."""
        rows, load_id = self.rows, self.maker.load.id
        match rows.key:
            case RowKey.PARENT:
                assert frame.nested is not None
                parents, indexes = frame.nested.parents.tolist(), frame.nested.indexes.tolist()
                return keys.hash_children(frame.nested.above.key_bytes, rows.table, parents, indexes)
            case RowKey.RANDOM:
                at = np.arange(frame.size)
                parts = [frame.numbers(at), *frame.list_indexes(at)]
                places: Iterable[object] = parts[0]
                if len(parts) > 1:
                    places = (".".join(map(str, place)) for place in zip(*parts, strict=True))
                return keys.hash_places(load_id, rows.table, frame.chunk.file, places)
            case RowKey.PRIMARY_KEY:
                named = zip(*frame.key_values, strict=True) if frame.key_values else repeat((), frame.size)
                items = (dict(zip(rows.key_columns, values, strict=True)) for values in named)
                return keys.hash_texts(map(keys.content_text, items))
            case RowKey.CONTENT:
                elements = frame.chunk.whole_documents if frame.above is None else frame.elements
                value = self.maker.plan.names.value
                return keys.hash_texts(
                    keys.document_text(each, "list" if rows.path and isinstance(each, list) else value)
                    for each in elements
                )

    # --- running ---

    def run(self, frame: _Frame, made: MadeRows) -> None:
        """Make the rows of a frame and those below."""
        if self.rows.skips_empty and frame.size:
            frame = self._without_empty(frame)
        if not frame.size:
            return
        table, outcome = self.rows.table, self.maker.outcome
        above = 0 if frame.refused is None else int(frame.refused.sum())
        outcome.count(table, read=frame.size, rejected_above=above)
        outcome.documents += frame.size if frame.above is None else 0
        if self._refusal is not None:
            outcome.count(table, rejected=frame.size - above)
            self._report(frame, made, [(self._refusal, np.ones(frame.size, bool), None)], None)
            self._run_below(frame, np.ones(frame.size, bool), made)
            return
        if above == frame.size:
            self._run_below(frame, frame.refused, made)
            return
        found = self._take_cells(frame)
        self._add_other_problems(frame, found)
        itself = found.refusing if found.refusing is None or frame.refused is None else found.refusing & ~frame.refused
        refused = either(frame.refused, itself)
        rejected = 0 if itself is None else int(itself.sum())
        values_rejected = self._report(frame, made, found.problems, itself)
        if frame.above is None and frame.chunk.ignored:
            values_rejected += self._report_ignored(frame, made, refused)
        outcome.count(table, rejected=rejected, values_rejected=values_rejected)
        self._measure(found, refused)
        self._number(frame, refused)
        if self.table is not None:
            self._write(frame, found, refused, made)
        self._run_below(frame, refused, made)

    def _without_empty(self, frame: _Frame) -> _Frame:
        is_any = np.zeros(frame.size, bool)
        for maker in self.cells:
            for values in self._by_kind(frame, maker):
                is_any |= _mask(values.is_there)
        if frame.has_own_key is not None:
            is_any |= frame.has_own_key
        return frame if is_any.all() else frame.filtered(is_any)

    def _by_kind(self, frame: _Frame, maker: _CellMaker) -> Iterator[KindValues]:
        up, path = maker.up, maker.path
        if not up and path and (frame.above is not None or path[0] not in frame.chunk.columns):
            # Many columns have values in few rows.
            objects = frame.objects(path[:-1])
            yield from map(objects.spread_kind, self._split(frame, maker, frame.values_below(path)))
            return
        found = frame.column(up, path)
        if not isinstance(found, pa.Array):
            yield from self._split(frame, maker, found)
        elif (values := array_values(found)) is not None and values.kind in maker.kinds and values.count:
            yield values

    def _split(self, frame: _Frame, maker: _CellMaker, values: Sequence[Any]) -> Iterator[KindValues]:
        if maker.cell.path not in frame.chunk.whole:
            yield from split_by_kind(values, maker.kinds, are_rows=maker.is_row)
        elif DataType.JSON in maker.kinds:
            yield KindValues(DataType.JSON, None, values)

    def _take_cells(self, frame: _Frame) -> _Found:
        found = _Found()
        for maker in self.cells:
            filled: dict[str, list[pa.Array]] = {}
            for values in self._by_kind(frame, maker):
                self._take_kind(maker.kinds[values.kind], values, filled, found)
            for column, arrays in filled.items():
                found.fills.setdefault(column, []).append(arrays)
        return found

    def _take_kind(self, kind: _Kind, values: KindValues, filled: dict[str, list[pa.Array]], found: _Found) -> None:
        """Have the columns take the values in turn, each what those before have left."""
        left, left_count, is_taken = values, values.count, None
        for take in kind.takes:
            if not left_count:
                break
            array = take.convert(left)
            count = len(array) - array.null_count
            if not count:
                continue
            if take.problem is None:
                filled.setdefault(take.target.column.name, []).append(array)
                if (cut := loses_nanoseconds(left, array)) is not None:
                    found.cut.append((take.target.column.name, cut))
            else:
                mask = _mask(pc.is_valid(array))
                found.problems.append((take.problem, mask, values))
                if take.refuses_row:
                    found.refusing = either(found.refusing, mask)
            left_count -= count
            if left_count:
                is_taken = either(is_taken, _mask(pc.is_valid(array)))
                assert is_taken is not None
                left = _without(values, is_taken)
        if left_count:
            mask = _mask(left.is_there)
            found.problems.append((kind.left, mask, values))
            if kind.sized is not None:
                found.left.append((kind.sized, mask, values))

    def _add_other_problems(self, frame: _Frame, found: _Found) -> None:
        for problem, values in zip(self._key_problems, frame.key_values if self._key_problems else (), strict=True):
            missing = np.array([value is None for value in values], bool)
            if frame.has_own_key is not None:
                missing &= ~frame.has_own_key
            found.problems.append((problem, missing, None))
        for column, problem in self._overwrites.items():
            cells = found.fills.get(column, ())
            if len(cells) > 1:
                present = [np.logical_or.reduce([_mask(pc.is_valid(array)) for array in cell]) for cell in cells]
                found.problems.append((problem, sum(each.astype(np.int64) for each in present) > 1, None))
        for problem, paths in self._met_lists:
            sizes = [[type(value) is list and len(value) > 0 for value in frame.values(path)] for path in paths]
            found.problems.append((problem, np.array(sizes, np.int64).sum(axis=0) > 1, None))

    def _report(
        self,
        frame: _Frame,
        made: MadeRows,
        problems: Sequence[tuple[int, np.ndarray[Any, Any], KindValues | None]],
        itself: Mask,
    ) -> int:
        """Note problems and write rejects: none below refused rows, and of a refused row only what refuses it.

        Returns:
            How many values are kept out of rows that are loaded.
        """
        kept_out = 0
        for at, mask, values in problems:
            problem = self.maker.problems[at]
            if frame.refused is not None:
                mask = mask & ~frame.refused
            if itself is not None and not problem.refuses_row:
                mask = mask & ~itself
            rows = np.nonzero(mask)[0]
            if not len(rows):
                continue
            first = rows[:1]
            (number,) = frame.numbers(first)
            example = None if values is None else text_of(values.at(int(first[0])))
            if problem.violation is not None and problem.column is None:
                example = _row_text(frame.whole(int(first[0])))
            outcome, place = self.maker.outcome, (frame.chunk.file, number)
            outcome.add(at, Seen(len(rows), *place, example))
            if problem.violation is None:
                continue
            is_first = (outcome.problems[at].file, outcome.problems[at].number) == place
            # Many columns may be refused first in one record, which may be large.
            if is_first and place not in outcome.records:
                outcome.records[place] = _row_text(frame.document(int(first[0])))
            kept_out += 0 if problem.refuses_row or problem.column is None else len(rows)
            is_whole = problem.refuses_row or problem.column is None
            described = Refused(
                file=frame.chunk.file,
                numbers=frame.numbers(rows),
                indexes=frame.list_indexes(rows),
                keys=frame.keys.take(pa.array(rows)),
                values=[None if values is None else text_of(values.at(row)) for row in rows.tolist()],
                rows=[_row_text(frame.whole(row)) if is_whole else None for row in rows.tolist()],
            )
            made.rejects.append(describe_rejects(problem, described, self.maker.load))
        return kept_out

    def _report_ignored(self, frame: _Frame, made: MadeRows, refused: Mask) -> int:
        """Write a reject for each key that a model ignores in a row that is loaded, and return how many there are."""
        rows = range(frame.size) if refused is None else np.nonzero(~refused)[0].tolist()
        numbers, row_keys = frame.chunk.numbers, frame.keys
        keys = [(int(numbers[row]), row_keys[row].as_py(), key) for row in rows for key in frame.chunk.ignored[row]]
        if keys:
            made.rejects.append(describe_ignored(self.rows.table, frame.chunk.file, keys, self.maker.load))
        return len(keys)

    def _measure(self, found: _Found, refused: Mask) -> None:
        """Note the range of the numbers that columns of a stated size have no room for, and nanoseconds that go."""
        for name, mask in found.cut:
            count = int((mask if refused is None else mask & ~refused).sum())
            if count:
                self.maker.outcome.cut[self.rows.table, name] += count
        for column, mask, values in found.left:
            wide = _widest(column)
            numbers = Coercion(values.kind, wide)(values)
            is_left = mask if refused is None else mask & ~refused
            kept = numbers.filter(pa.array(is_left)).drop_null()
            floats = [float(number) for number in kept.to_pylist()]
            if floats:
                self.maker.outcome.measure(self.rows.table, column.name, min(floats), max(floats))

    def _number(self, frame: _Frame, refused: Mask) -> None:
        """Number the root rows that are written, and pass them to those below."""
        if self.compared is None:
            return
        if self.root:
            assert frame.nested is not None
            assert frame.nested.above.ordinals is not None
            frame.ordinals = frame.nested.above.ordinals[frame.nested.parents]
            return
        kept = np.ones(frame.size, bool) if refused is None else ~refused
        first = self.maker.ordinals[self.compared]
        frame.ordinals = np.cumsum(kept) - 1 + first
        self.maker.ordinals[self.compared] = first + int(kept.sum())

    def _write(self, frame: _Frame, found: _Found, refused: Mask, made: MadeRows) -> None:
        assert self.table is not None
        name, schema = self.rows.table, self.maker.schemas[self.rows.table]
        over = self._made_columns(frame)
        arrays = [
            _over(over.get(column.name), _coalesced(found.fills.get(column.name, ())), column.type, frame.size)
            for column in schema
        ]
        batch = pa.RecordBatch.from_arrays(arrays, schema=schema) if arrays else None
        keep = None if refused is None else pa.array(~refused)
        if batch is not None:
            made.tables.setdefault(name, []).append(batch if keep is None else batch.filter(keep))
        if self.compared is not None:
            places = self._places(frame, arrays)
            made.places.setdefault(name, []).append(places if keep is None else places.filter(keep))

    def _made_columns(self, frame: _Frame) -> dict[str, pa.Array]:
        """Return what the normalizer makes over the data's values, null where it makes nothing."""
        rows, names = self.rows, self.maker.plan.names
        wanted = [passed.target.name for passed in rows.passed]
        wanted += [names.load_id] if rows.has_load_id else []
        wanted += [names.parent_id, names.list_index] if rows.parent is not None else []
        known = self.maker.schemas[rows.table].names
        found = {column: frame.made(column) for column in wanted if column in known}
        if names.row_id in known:
            found[names.row_id] = frame.keys
        return {column: array for column, array in found.items() if array is not None}

    def _places(self, frame: _Frame, arrays: Sequence[pa.Array]) -> pa.RecordBatch:
        ordinals = pa.array(frame.ordinals, pa.int64())
        if self.root:
            return pa.RecordBatch.from_arrays([ordinals], names=["ordinal"])
        at = np.arange(frame.size)
        indexes = frame.list_indexes(at)
        table, schema = self.rows.table, self.maker.schemas[self.rows.table]
        compared = [_countable(arrays[schema.names.index(column)]) for column in self.maker.compared[table]]
        columns = {
            "ordinal": ordinals,
            "file": pa.repeat(frame.chunk.file, frame.size),
            "line": pa.array(frame.numbers(at), pa.int64()),
            "list": pa.repeat(self.maker.lists[table].index(self.rows.path), frame.size).cast(pa.int64()),
            "indexes": pa.array(
                list(zip(*indexes, strict=True)) if indexes else [()] * frame.size, pa.list_(pa.int64())
            ),
            **{f"c{number}": array for number, array in enumerate(compared)},
        }
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    def _run_below(self, frame: _Frame, refused: Mask, made: MadeRows) -> None:
        for level in self.below:
            path = level.rows.path[len(self.rows.path) : -1]
            values, rows = (frame.values_below(path), frame.objects(path[:-1]).rows) if path else (frame.elements, None)
            lists = [value if type(value) is list else () for value in values]
            elements = list(chain.from_iterable(lists))
            if not elements:
                continue
            sizes = np.fromiter(map(len, lists), np.int64, len(lists))
            parents = np.repeat(np.arange(len(lists)) if rows is None else rows, sizes)
            starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
            indexes = np.arange(len(elements)) - starts
            below = refused[parents] if refused is not None else None
            for at in range(0, len(elements), ELEMENTS_AT_ONCE):
                taken = slice(at, at + ELEMENTS_AT_ONCE)
                nesting = _Nesting(frame, parents[taken], indexes[taken])
                part = None if below is None else below[taken]
                level.run(_Frame(level, frame.chunk, elements[taken], nesting, part), made)


def _is_sized(column: Column) -> bool:
    is_number = column.data_type in (DataType.BIGINT, DataType.DECIMAL, DataType.WEI)
    return is_number and bool(column.properties.get("precision"))


def _widest(column: Column) -> Column:
    kept = {key: each for key, each in column.properties.items() if key != "precision"}
    return Column(column.name, kept)


def _without(values: KindValues, is_taken: np.ndarray[Any, Any]) -> KindValues:
    if values.array is not None:
        return replace(values, array=pc.if_else(pa.array(is_taken), None, values.array))
    pairs = zip(values.listed, is_taken.tolist(), strict=True)
    return KindValues(values.kind, None, [None if taken else value for value, taken in pairs])


def _coalesced(cells: Sequence[Sequence[pa.Array]]) -> pa.Array | None:
    """Return what fills a column: the last cell that has a value."""
    arrays = [array for cell in reversed(cells) for array in cell]
    if len(arrays) < 2:
        return arrays[0] if arrays else None
    return pc.coalesce(*arrays)


def _over(made: pa.Array | None, found: pa.Array | None, of: pa.DataType, size: int) -> pa.Array:
    """Return the values of a column: what is made, and what is found where nothing is."""
    if made is None:
        return pa.nulls(size, of) if found is None else found
    made = _cast(made, of)
    return made if found is None or made.null_count == 0 else pc.coalesce(made, found)


def _cast(array: pa.Array, of: pa.DataType) -> pa.Array:
    if array.type == of:
        return array
    try:
        return array.cast(of)
    except pa.ArrowInvalid:
        return pa.concat_arrays([_cast_one(array.slice(at, 1), of) for at in range(len(array))])


def _cast_one(array: pa.Array, of: pa.DataType) -> pa.Array:
    try:
        return array.cast(of)
    except pa.ArrowInvalid:
        return pa.nulls(len(array), of)


def _countable(array: pa.Array) -> pa.Array:
    """Return timestamps of nanoseconds, which PySpark has no class for, as integers of the same order."""
    return array.cast(pa.int64()) if pa.types.is_timestamp(array.type) and array.type.unit == "ns" else array


def _row_text(value: Any) -> str:
    return str(coerce(value, DataType.JSON, DataType.TEXT))

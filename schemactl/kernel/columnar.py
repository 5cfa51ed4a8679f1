"""Rows of columnar sources, which declare their types (Parquet, ORC, tables): Arrow columns -> evidence and chunks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, starmap
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from schemactl.arc.fields import TypingTask
from schemactl.inference.classes import LIST, NULL, OBJECT
from schemactl.inference.evidence import MAX_EXAMPLE_LENGTH, ClassEvidence, Position, example_of, merge_classes
from schemactl.kernel.chunks import NO_KEYS, Chunk
from schemactl.kernel.coercion import text_of
from schemactl.kernel.dispatch import ONE_TABLE, Dispatch, Piece, Positions, value_at
from schemactl.kernel.kinds import natural_kind
from schemactl.kernel.sampling import RowSample
from schemactl.kernel.stored import python_values
from schemactl.schema.nested_types import ListOf, MapOf, NestedType, Struct
from schemactl.schema.paths import ELEMENT, Path

_ROWS_OF_CHUNK: Final = 1_000


@dataclass(frozen=True, slots=True)
class ColumnarSource:
    """The rows of a columnar source.

    Attributes:
        structures: the nested types in which the plan keeps columns, by name.
        json_paths: paths whose values are JSON texts.
        task: the typing of its texts, if they are typed.
        types: the types of its columns, as in ``RowObserver``, if their values are counted.
        sample: chooses the rows that are counted and validated; None for all.
    """

    names: tuple[str, ...]
    structures: Mapping[str, NestedType] = field(default_factory=dict)
    json_paths: frozenset[Path] = frozenset()
    task: TypingTask | None = None
    types: Mapping[Path, str] = field(default_factory=dict)
    sample: RowSample | None = None


def rows_by_table(
    rows: pa.RecordBatch, names: Sequence[str], dispatch: Dispatch | None
) -> Iterator[tuple[str | None, pa.BooleanArray | None]]:
    """Yield the tables that rows go to, and which rows these are, None for all of them."""
    if dispatch is None:
        yield ONE_TABLE, None
        return
    key, *inner_keys = dispatch.path
    column = rows.column(names.index(key)) if key in names else pa.nulls(len(rows))
    tables = dispatch.tables_of([value_at(value, inner_keys) for value in python_values(column)])
    for table in dict.fromkeys(tables):
        yield table, pa.array([row_table == table for row_table in tables])


def documents_of(columns: Mapping[str, pa.Array], json_paths: frozenset[Path]) -> list[dict[str, Any]]:
    """Return rows of at least one column as documents; ``json_paths`` as in ``ColumnarSource``."""
    value_lists = [to_python(column, None, (name,), json_paths) for name, column in columns.items()]
    return [dict(zip(columns, values, strict=True)) for values in zip(*value_lists, strict=True)]


def chunk_of_model(piece: Piece, numbers: Sequence[int], source: ColumnarSource) -> Chunk:
    """Return rows that a model validated, and the columns that the model lacks with their original values."""
    scalars, nested = _split_columns(piece.columns, source)
    documents = piece.documents
    if nested:
        rows = (dict(zip(nested, values, strict=True)) for values in zip(*nested.values(), strict=True))
        documents = [
            document | {name: value for name, value in row.items() if value is not None}
            for document, row in zip(documents, rows, strict=True)
        ]
    json_paths = frozenset(path for path in source.json_paths if path[0] in nested)
    return Chunk(piece.positions.file, numbers, documents, scalars, (), json_paths, ignored=piece.ignored)


def _split_columns(
    columns: Mapping[str, pa.Array], source: ColumnarSource
) -> tuple[dict[str, pa.Array], dict[str, list[Any]]]:
    """Return the columns of scalars, and the values of all other columns."""
    scalars = {
        name: column
        for name, column in columns.items()
        if natural_kind(column.type) is not None and (name,) not in source.json_paths
    }
    nested = {
        name: to_python(column, source.structures.get(name), (name,), source.json_paths)
        for name, column in columns.items()
        if name not in scalars
    }
    return scalars, nested


def chunks_of_rows(rows: pa.RecordBatch, file: str, numbers: Sequence[int], source: ColumnarSource) -> Iterator[Chunk]:
    """Yield rows of one file as documents, given the numbers of the rows in the file, from 1.

    The rows have the columns of the source in order, under any names; more columns may follow.
    """
    for start in range(0, len(rows), _ROWS_OF_CHUNK):
        batch = rows.slice(start, _ROWS_OF_CHUNK)
        scalars, nested = _split_columns(dict(zip(source.names, batch.columns, strict=False)), source)
        documents: list[Any] = [NO_KEYS] * len(batch)
        if nested:
            values = zip(*nested.values(), strict=True)
            documents = [dict(zip(nested, row, strict=True)) for row in values]
        yield Chunk(file, numbers[start : start + len(batch)], documents, scalars, source.names, source.json_paths)


class RowObserver:
    """Counts the values of columnar rows; no schema depends on the counts (``Evidence.counted``).

    Attributes:
        types: the classes of their values, by path, without structs and lists.
        evidence: the evidence by path and class; file names are as shown to people.
    """

    def __init__(self, names: Sequence[str], types: Mapping[Path, str]) -> None:
        self.names = names
        self.types = types
        self.evidence: dict[Path, dict[str, ClassEvidence]] = {}

    def add(self, rows: pa.RecordBatch, file: str, first: int, is_sampled: pa.BooleanArray) -> None:
        """Take rows of one file, as ``chunks_of_rows``, some of them in the sample; ``first`` orders their places."""
        numbers = pa.array(range(len(rows)), pa.int64())
        if is_sampled.true_count < len(is_sampled):
            rows, numbers = rows.filter(is_sampled), numbers.filter(is_sampled)
        if not len(rows):
            return
        row_places = _RowPlaces(file, first)
        self._add_evidence((), OBJECT, ClassEvidence(len(rows), row_places.first_of(numbers)))
        for name, column in zip(self.names, rows.columns, strict=False):
            self._observe((name,), column, numbers, row_places)

    def add_columns(self, columns: Mapping[str, pa.Array], positions: Positions) -> None:
        """Take some columns of rows."""
        first = positions[0]
        numbers = pa.array([record - positions.records[0] for record in positions.records], pa.int64())
        for name, column in columns.items():
            self._observe((name,), column, numbers, _RowPlaces(first.file, first.number))

    def _observe(self, path: Path, values: pa.Array, numbers: pa.Array, row_places: _RowPlaces) -> None:
        """Count the values at a path, one in each row of these numbers."""
        if values.null_count:
            is_valid = values.is_valid()
            self._add_evidence(
                path, NULL, ClassEvidence(values.null_count, row_places.first_of(numbers.filter(pc.invert(is_valid))))
            )
            values, numbers = values.filter(is_valid), numbers.filter(is_valid)
        if not len(values):
            return
        first = row_places.first_of(numbers)
        if (class_name := self.types.get(path)) is not None:
            examples = (_first_value_text(values, path),)
            self._add_evidence(path, class_name, _scalar_evidence(values, ClassEvidence(len(values), first, examples)))
        elif pa.types.is_struct(values.type):
            self._add_evidence(path, OBJECT, ClassEvidence(len(values), first))
            for field, inner in zip(values.type, values.flatten(), strict=True):
                self._observe((*path, field.name), inner, numbers, row_places)
        else:
            sizes = pc.min_max(pc.list_value_length(values)).as_py()
            self._add_evidence(path, LIST, ClassEvidence(len(values), first, (), sizes["min"], sizes["max"]))
            parents = numbers.take(pc.list_parent_indices(values))
            self._observe((*path, ELEMENT), values.flatten(), parents, row_places)

    def _add_evidence(self, path: Path, name: str, evidence: ClassEvidence) -> None:
        classes = self.evidence.setdefault(path, {})
        classes[name] = merge_classes(classes[name], evidence) if name in classes else evidence


@dataclass(frozen=True, slots=True)
class _RowPlaces:
    file: str
    first: int

    def first_of(self, numbers: pa.Array) -> Position:
        """Return the place of the first of some rows; a place may be too large a number for Arrow."""
        return Position(self.file, self.first + numbers[0].as_py())


def _scalar_evidence(values: pa.Array, evidence: ClassEvidence) -> ClassEvidence:
    """Return evidence with the range of numbers (ignoring NaN), or of the lengths of texts, and whether values differ.

    Any parts of a column give the same answer, merged. Values whose examples may be equal although they are not count
    as different.
    """
    of = values.type
    if pa.types.is_integer(of) or pa.types.is_floating(of) or pa.types.is_decimal(of):
        span = pc.min_max(values.filter(pc.invert(pc.is_nan(values))) if pa.types.is_floating(of) else values).as_py()
        least, greatest = (None if bound is None else float(bound) for bound in (span["min"], span["max"]))
        return replace(evidence, least=least, greatest=greatest)
    is_exact = pa.types.is_boolean(of) or pa.types.is_date(of)
    if pa.types.is_time(of) or pa.types.is_timestamp(of):
        is_exact = of.unit != "ns"
    elif pa.types.is_string(of) or pa.types.is_large_string(of):
        lengths = pc.min_max(pc.utf8_length(values)).as_py()
        evidence = replace(evidence, shortest=lengths["min"], longest=lengths["max"])
        is_exact = evidence.shortest == evidence.longest
        values = pc.utf8_slice_codeunits(values, 0, MAX_EXAMPLE_LENGTH) if is_exact else values
    varies = not is_exact or (len(values) > 1 and (values[0] != values[1] or len(pc.unique(values)) > 1))
    return replace(evidence, varies=varies)


def _first_value_text(values: pa.Array, path: Path) -> str:
    """Return the first value as a text of a line's length."""
    (value,) = to_python(values.slice(0, 1), None, path, frozenset())
    match value:
        case bool() | int() | float() | str():
            text = example_of(value)
        case bytes():
            text = f"0x{value[:MAX_EXAMPLE_LENGTH].hex().upper()}"
        case dict() | list():
            text = json.dumps(value, default=text_of, ensure_ascii=False, separators=(",", ":"))
        case _:
            text = text_of(value)
    return text[:MAX_EXAMPLE_LENGTH]


def to_python(array: pa.Array, structure: NestedType | None, path: Path, json_paths: frozenset[Path]) -> list[Any]:
    """Return Arrow's values as Python's: maps as objects with keys that are texts, moments in UTC."""
    array_type = array.type
    if path in json_paths:
        return [None if text is None else json.loads(text) for text in array.to_pylist()]
    if pa.types.is_struct(array_type):
        return _objects(array, structure, path, json_paths)
    if pa.types.is_map(array_type):
        value = structure.value if isinstance(structure, MapOf) else None
        keys = [key if isinstance(key, str) else text_of(key) for key in _inner_values(array, array.keys).to_pylist()]
        # values in maps are kept with them: no path leads to them
        items = to_python(_inner_values(array, array.items), value, (*path, ""), frozenset())
        maps = [dict(zip(keys[bounds], items[bounds], strict=True)) for bounds in _inner_slices(array)]
        return _with_nulls(maps, array)
    if pa.types.is_list(array_type) or pa.types.is_large_list(array_type):
        element = structure.element if isinstance(structure, ListOf) else None
        inner = to_python(_inner_values(array, array.values), element, (*path, ELEMENT), json_paths)
        return _with_nulls([inner[bounds] for bounds in _inner_slices(array)], array)
    return python_values(array)


def _objects(array: pa.Array, structure: NestedType | None, path: Path, json_paths: frozenset[Path]) -> list[Any]:
    field_types = dict(structure.fields) if isinstance(structure, Struct) else {}
    inner = structure.value if isinstance(structure, MapOf) else None
    names = [item.name for item in array.type]
    children = [
        to_python(child, field_types.get(name, inner), (*path, name), json_paths)
        for name, child in zip(names, array.flatten(), strict=True)
    ]
    rows = zip(*children, strict=True) if children else [()] * len(array)
    objects = [dict(zip(names, values, strict=True)) for values in rows]
    if isinstance(structure, MapOf):
        # A null field cannot be told from a missing field.
        objects = [{key: value for key, value in item.items() if value is not None} for item in objects]
    return _with_nulls(objects, array)


def _with_nulls(values: list[Any], array: pa.Array) -> list[Any]:
    """Return the values of an array with None for its nulls."""
    if not array.null_count:
        return values
    return [value if is_valid else None for value, is_valid in zip(values, array.is_valid().to_pylist(), strict=True)]


def _inner_values(array: pa.Array, values: pa.Array) -> pa.Array:
    """Return the values in an array of lists or maps, which may be a slice of one with more values."""
    first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
    return values.slice(first, last - first)


def _inner_slices(array: pa.Array) -> Iterator[slice]:
    """Yield the part that each list or map has of the inner values of an array (``_inner_values``)."""
    return starmap(slice, pairwise(pc.subtract(array.offsets, array.offsets[0]).to_pylist()))

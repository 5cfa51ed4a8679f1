"""Rows whose source states their types: from Arrow's columns to what the row maker takes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import pyarrow as pa

from schemactl.inference.paths import ELEMENT, Path
from schemactl.kernel.coercion import text_of
from schemactl.kernel.kinds import natural_kind
from schemactl.kernel.rows import Chunk
from schemactl.kernel.stored import INSTANT, NAIVE
from schemactl.schema.nested_types import ListOf, MapOf, NestedType, Struct

_AT_ONCE: Final = 1_000
_EMPTY: Final[dict[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class TypedSource:
    """Rows of a source that states their types.

    Attributes:
        names: of the columns.
        structures: what the plan keeps columns in, by name.
        whole: paths whose values are JSON texts.
    """

    names: tuple[str, ...]
    structures: Mapping[str, NestedType] = field(default_factory=dict)
    whole: frozenset[Path] = frozenset()


def chunks_of(batch: pa.RecordBatch, source: TypedSource) -> Iterator[Chunk]:
    """Yield the rows of a batch as documents.

    Args:
        batch: the columns in their order, whatever they are called there, and after them the file as people are shown
            it and the number of the row in it.
        source: what the rows are.
    """
    names, structures, whole = source.names, source.structures, source.whole
    files, numbers = (batch.column(at).to_pylist() for at in (-2, -1))
    ends = [at for at in range(1, len(files)) if files[at] != files[at - 1]]
    for start, end in pairwise([0, *ends, len(files)]):
        for first in range(start, end, _AT_ONCE):
            part = batch.slice(first, min(_AT_ONCE, end - first))
            columns = dict(zip(names, part.columns, strict=False))
            scalars = {
                name: column
                for name, column in columns.items()
                if natural_kind(column.type) is not None and (name,) not in whole
            }
            nested = {
                name: to_python(column, structures.get(name), (name,), whole)
                for name, column in columns.items()
                if name not in scalars
            }
            documents: list[Any] = [_EMPTY] * len(part)
            if nested:
                rows = zip(*nested.values(), strict=True)
                documents = [dict(zip(nested, values, strict=True)) for values in rows]
            yield Chunk(files[first], numbers[first : first + len(part)], documents, scalars, names, whole)


def to_python(array: pa.Array, structure: NestedType | None, path: Path, whole: frozenset[Path]) -> list[Any]:
    """Return Arrow's values as Python's: maps as objects with keys that are texts, moments in UTC."""
    of = array.type
    if path in whole:
        return [None if text is None else json.loads(text) for text in array.to_pylist()]
    if pa.types.is_struct(of):
        return _objects(array, structure, path, whole)
    if pa.types.is_map(of):
        value = structure.value if isinstance(structure, MapOf) else None
        keys = [_key_text(key) for key in array.keys.to_pylist()]
        # what stands in maps is kept whole with them: no path leads there
        items = to_python(array.items, value, (*path, ""), frozenset())
        return [
            None if bounds is None else dict(zip(keys[slice(*bounds)], items[slice(*bounds)], strict=True))
            for bounds in _bounds(array)
        ]
    if pa.types.is_list(of) or pa.types.is_large_list(of):
        element = structure.element if isinstance(structure, ListOf) else None
        inner = to_python(array.values, element, (*path, ELEMENT), whole)
        return [None if bounds is None else inner[slice(*bounds)] for bounds in _bounds(array)]
    if pa.types.is_timestamp(of):
        array = array.cast(NAIVE if of.tz is None else INSTANT, safe=False)
    listed: list[Any] = array.to_pylist()
    return listed


def _objects(array: pa.Array, structure: NestedType | None, path: Path, whole: frozenset[Path]) -> list[Any]:
    known = dict(structure.fields) if isinstance(structure, Struct) else {}
    inner = structure.value if isinstance(structure, MapOf) else None
    names = [each.name for each in array.type]
    children = [
        to_python(child, known.get(name, inner), (*path, name), whole)
        for name, child in zip(names, array.flatten(), strict=True)
    ]
    rows = zip(*children, strict=True) if children else [()] * len(array)
    objects = [dict(zip(names, values, strict=True)) for values in rows]
    if isinstance(structure, MapOf):
        # A field that is null may as well be one that its row lacks.
        objects = [{key: value for key, value in each.items() if value is not None} for each in objects]
    if array.null_count:
        return [each if there else None for each, there in zip(objects, array.is_valid().to_pylist(), strict=True)]
    return objects


def _bounds(array: pa.Array) -> list[tuple[int, int] | None]:
    """Return where the elements of each list or map begin and end among all values of the array."""
    offsets = pairwise(array.offsets.to_pylist())
    if not array.null_count:
        return list(offsets)
    return [each if there else None for each, there in zip(offsets, array.is_valid().to_pylist(), strict=True)]


def _key_text(key: Any) -> str:
    return key if isinstance(key, str) else text_of(key)

"""Reads from Arrow and Parquet files which columns may hold nulls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow
from pyarrow.types import is_struct

from schemactl.schema.paths import ELEMENT, Path
from schemactl.type_systems.arrow_types import is_list


def declared_nulls(schema: pyarrow.Schema) -> dict[Path, bool]:
    """Return whether each column may be null, also inside of structs and lists; maps have no columns.

    A column inside of a list is null in the rows of its elements. All columns inside of a null struct are null.
    """
    return {path: may_be_null for field in schema for path, may_be_null in _walk(field, (), False)}


def _walk(field: pyarrow.Field, above: Path, is_above_null: bool) -> Iterator[tuple[Path, bool]]:
    path, may_be_null = (*above, field.name), is_above_null or field.nullable
    yield path, may_be_null
    of = field.type
    if is_struct(of):
        for inner in of:
            yield from _walk(inner, path, may_be_null)
    elif is_list(of):
        element = of.value_field
        yield (*path, ELEMENT), element.nullable
        if is_struct(element.type):
            for inner in element.type:
                yield from _walk(inner, (*path, ELEMENT), element.nullable)


def merge_nulls(files: Sequence[Mapping[Path, bool]]) -> dict[Path, bool]:
    """Return the nullability of several files together.

    A column that a file lacks is null in its rows, which is not a declaration: the column is left out, unless another
    file declares that it may be null.
    """
    paths = dict.fromkeys(path for file in files for path in file)
    may_be_null = {path: any(file.get(path, False) for file in files) for path in paths}
    return {path: nulls for path, nulls in may_be_null.items() if nulls or all(path in file for file in files)}

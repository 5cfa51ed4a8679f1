"""Columns that keep nested data whole: the type that their ``x-spark-type`` states.

A column of JSON texts states ``string``, or nothing.
"""

from __future__ import annotations

from typing import Final

from schemactl.errors import InputError
from schemactl.schema.nested_ddl import read_type
from schemactl.schema.nested_types import STRING, Json, Leaf, NestedType
from schemactl.schema.types import Column, DataType, Properties

SPARK_TYPE: Final = "x-spark-type"
"""The property of a ``json`` column that states the type it is stored as."""

NORMALIZER: Final = "nested"
"""The normalizer that keeps structure; a schema names its module."""


def keeps_structure(normalizers: Properties) -> bool:
    """Return whether a schema's ``normalizers`` section names the normalizer that keeps structure."""
    module = str((normalizers.get("json") or {}).get("module") or "")
    return module.rpartition(".")[2] == NORMALIZER


def structure_of(column: Column) -> NestedType | None:
    """Return the type that a column keeps its objects or lists in, None where it keeps JSON texts or scalars.

    Raises:
        InputError: what the column states is no such type.
    """
    stated = stated_type(column)
    return None if stated is None or isinstance(stated, Json) else stated


def stated_type(column: Column, *, keeps_sizes: bool = False) -> NestedType | None:
    """Return what a column of JSON states as its Spark type, None where it states none.

    Args:
        column: the column.
        keeps_sizes: as in ``read_type``.

    Raises:
        InputError: it is no such type.
    """
    stated = column.properties.get(SPARK_TYPE)
    if stated is None or column.data_type not in (DataType.JSON, None):
        return None
    if not isinstance(stated, str):
        raise _wrong(str(stated), column.name)
    try:
        found = read_type(stated, keeps_sizes=keeps_sizes)
    except ValueError as error:
        raise _wrong(stated, column.name, str(error)) from error
    if found == Leaf(STRING):
        return Json()
    if isinstance(found, Leaf):
        raise _wrong(stated, column.name)
    return found


def _wrong(stated: str, column: str, reason: str = "") -> InputError:
    message = f"the column `{column}` states `{SPARK_TYPE}: {stated}`, which is no type of objects or lists"
    hint = "like `struct<id:bigint,tags:array<string>>`; leave it out to keep JSON texts"
    return InputError(f"{message}: {reason}" if reason else message, hint=hint)

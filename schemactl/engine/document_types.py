"""The types that documents are read with, made from the shape that they can have."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    VariantType,
)

from schemactl.engine.shapes import Shape

_OWN_TYPES: Final[Mapping[str, DataType]] = {"STRING": StringType(), "BIGINT": LongType(), "BOOLEAN": BooleanType()}
"""Scalar types which, met alone at a path, are the type of every value there; ``DOUBLE`` may stand for a mix."""


def is_sure(shape: Shape) -> bool:
    """Return whether all values but nulls are scalars of one type, which is known."""
    return len(shape.scalars) == 1 and shape.scalars <= _OWN_TYPES.keys() and not (shape.is_nested or shape.is_mixed)


def with_own_types(shape: Shape, null_keys: Set[str]) -> Shape:
    """Return the shape with ``is_typed`` where values can be read as what they are: a null would be taken for absence.

    Args:
        shape: as it is read, folded and cut.
        null_keys: keys with a null somewhere.
    """

    def own(shape: Shape, may_be_null: bool) -> Shape:
        if shape.is_object and shape.children:
            inner = {key: own(child, key in null_keys) for key, child in shape.children.items()}
            return replace(shape, children=inner)
        if shape.is_object and shape.entry is not None:
            return replace(shape, entry=own(shape.entry, may_be_null=True))
        if shape.is_list and shape.element is not None:
            # An element is never absent.
            return replace(shape, element=own(shape.element, may_be_null=False))
        return replace(shape, is_typed=is_sure(shape) and not may_be_null)

    return own(shape, may_be_null=True)


def document_type(shape: Shape) -> DataType:
    """Return the type that documents of ``shape`` are read with."""
    if shape.is_object and shape.children:
        return StructType([StructField(key, document_type(child)) for key, child in shape.children.items()])
    if shape.is_object and shape.entry is not None:
        return MapType(StringType(), document_type(shape.entry))
    if shape.is_list and shape.element is not None:
        return ArrayType(document_type(shape.element))
    return _OWN_TYPES[next(iter(shape.scalars))] if shape.is_typed else VariantType()

"""How JSON documents are staged, whose values have to be looked at: by what was seen of them (``shapes``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import types as T

from schemactl.engine.items import Form, Item, list_item, object_item
from schemactl.engine.nested_types import read_type
from schemactl.engine.shapes import Shape
from schemactl.engine.uses import Use
from schemactl.inference.paths import ELEMENT
from schemactl.schema.types import DataType

_SCALARS: Final[Mapping[str, tuple[DataType, T.DataType]]] = {
    "STRING": (DataType.TEXT, T.StringType()),
    "BIGINT": (DataType.BIGINT, T.LongType()),
    "BOOLEAN": (DataType.BOOL, T.BooleanType()),
}


def document_item(shape: Shape, use: Use, is_marked: bool) -> Item:
    """Return how documents of ``shape`` are staged.

    Args:
        shape: everything that stands there.
        use: what the plan takes from there.
        is_marked: whether large integers are marked.
    """
    if shape.is_nested and not shape.scalars:
        is_kept = use.takes(DataType.JSON)
        structure = use.structure
        if structure is not None and (not use.is_row or shape.is_list):
            staged = read_type(structure)
            return Item(Form.NESTED, staged, staged, is_marked=is_marked, structure=structure)
        if is_kept and (not use.is_row or shape.is_list):
            return Item(Form.JSON, T.StringType(), T.StringType(), is_kept=True, is_marked=is_marked)
        if shape.is_object:
            found = {
                key: document_item(child, use.below[key], is_marked)
                for key, child in shape.children.items()
                if key in use.below
            }
            return object_item(found) if found else _PRESENCE
        if shape.is_list:
            element, inner = shape.element, use.below.get(ELEMENT)
            if element is None or inner is None:
                return _PRESENCE
            return list_item(document_item(element, inner, is_marked))
    return _variant(shape, use, is_marked) if shape.is_nested else _scalar(shape, use, is_marked)


def _scalar(shape: Shape, use: Use, is_marked: bool) -> Item:
    scalars = _scalar_types(shape, use)
    if scalars == {"DOUBLE"} or (scalars == {"DOUBLE", "BIGINT"} and use.is_double):
        return Item(Form.SCALAR, T.DoubleType(), T.DoubleType(), DataType.DOUBLE)
    if len(scalars) > 1 or not scalars <= _SCALARS.keys():
        return _variant(shape, use, is_marked)
    # Where nothing but nulls were met, any type will do.
    kind, spark_type = _SCALARS[next(iter(scalars), "STRING")]
    return Item(Form.SCALAR, spark_type, spark_type, kind, is_marked=is_marked and kind is DataType.TEXT)


_PRESENCE: Final = Item(Form.JSON, T.StringType(), T.StringType())
_TEXTS: Final = Item(Form.JSON, T.StringType(), T.StringType(), is_kept=True)


def _variant(shape: Shape, use: Use, is_marked: bool) -> Item:
    """Return values that each tell their kind, with all that is in them."""
    fields = {
        key: _variant(child, use.below[key], is_marked) for key, child in shape.children.items() if key in use.below
    }
    inner = use.below.get(ELEMENT)
    element = _variant(shape.element, inner, is_marked) if shape.element is not None and inner is not None else None
    is_kept = shape.is_nested and use.takes(DataType.JSON) and use.structure is None
    has_texts = is_kept or any(each.texts for each in (*fields.values(), element) if each is not None)
    return Item(
        Form.VARIANT,
        T.VariantType(),
        T.VariantType(),
        fields=fields,
        element=element,
        scalars=_scalar_types(shape, use),
        is_nested=shape.is_nested,
        is_kept=is_kept,
        is_row=use.is_row,
        is_marked=is_marked,
        texts=_TEXTS if has_texts else None,
    )


def _scalar_types(shape: Shape, use: Use) -> frozenset[str]:
    found = frozenset("DOUBLE" if name.startswith("DECIMAL") else name for name in shape.scalars)
    # Of integers among other numbers Spark's shapes tell nothing.
    return found | {"BIGINT"} if "DOUBLE" in found and use.takes(DataType.BIGINT) else found

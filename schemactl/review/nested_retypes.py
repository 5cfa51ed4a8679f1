"""What becomes of the values of a field inside a column when its type changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from schemactl.schema.conversions import Conversion, conversion
from schemactl.schema.full_types import FullType, full_type, holds_all
from schemactl.schema.nested_types import Json, Leaf, NestedType
from schemactl.schema.types import DataType

_TYPES: Final[Mapping[str, DataType]] = {
    "bigint": DataType.BIGINT,
    "double": DataType.DOUBLE,
    "boolean": DataType.BOOL,
    "string": DataType.TEXT,
    "binary": DataType.BINARY,
    "date": DataType.DATE,
    "time": DataType.TIME,
    "decimal": DataType.DECIMAL,
    "timestamp": DataType.TIMESTAMP,
    "timestamp_ntz": DataType.TIMESTAMP,
}


def fate(before: NestedType, after: NestedType) -> Conversion:
    """Return what becomes of values of one type in a field of another.

    Objects and lists all fit JSON texts, and so do scalars; which of the texts fit another type nobody knows.

    >>> fate(Leaf("bigint"), Leaf("decimal(10,0)"))
    <Conversion.DEPENDS: 'v'>
    """
    old, new = _full(before), _full(after)
    if isinstance(after, Json) or (old is None and new is not None and new.data_type is DataType.TEXT):
        return Conversion.WHOLE
    if isinstance(before, Json):
        return Conversion.DEPENDS
    if old is None or new is None:
        # Types that only a database has are leaves as well.
        is_scalar = isinstance(before, Leaf) and isinstance(after, Leaf)
        return Conversion.DEPENDS if is_scalar else Conversion.REFUSED
    if old.data_type == new.data_type:
        return _resized(old, new)
    found = conversion(old.data_type, new.data_type)
    return Conversion.DEPENDS if found is Conversion.WHOLE and not holds_all(old, new) else found


def _resized(old: FullType, new: FullType) -> Conversion:
    if old.timezone != new.timezone:
        return Conversion.LOSES
    if old.data_type is DataType.TIME:
        return Conversion.WHOLE if (new.precision or 0) >= (old.precision or 0) else Conversion.LOSES
    is_wider = (new.integer_digits or 0) >= (old.integer_digits or 0) and (new.scale or 0) >= (old.scale or 0)
    return Conversion.WHOLE if is_wider else Conversion.DEPENDS


def _full(of: NestedType) -> FullType | None:
    """Return a scalar's type with its sizes; None for others, and for types that only a database has."""
    if not isinstance(of, Leaf):
        return None
    name, _, sizes = of.name.rstrip(")").partition("(")
    if name not in _TYPES:
        return None
    stated = dict(zip(("precision", "scale"), map(int, sizes.split(",")), strict=False)) if sizes else {}
    zone = {"timezone": False} if name == "timestamp_ntz" else {}
    return full_type({"data_type": _TYPES[name], **stated, **zone})

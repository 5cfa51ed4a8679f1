"""Widens types: finds the type that takes the values of two sources, or of a schema and a source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schemactl.schema.full_types import MAX_DIGITS, FullType, full_type
from schemactl.schema.types import DataType, Properties

_NEXT_WIDER: Final[Mapping[DataType, DataType]] = {
    DataType.BIGINT: DataType.WEI,
    DataType.WEI: DataType.DECIMAL,
    DataType.DECIMAL: DataType.DOUBLE,
    DataType.DATE: DataType.TIMESTAMP,
}
"""The next wider type of other types is ``text``, which takes everything."""

MAPS: Final = "maps"
"""Property of a source's ``json`` column that holds maps: a sorted list of their types as Spark DDL.

It has one entry for each type that sources declare. No column of a schema has it.
"""


def widen(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return properties of a column that takes the values of both ``left`` and ``right``.

    Associative and commutative. A property that only one side sets is dropped: without it a column is widest.
    """
    if first["data_type"] != second["data_type"]:
        above = _and_above(DataType(second["data_type"]))
        return {
            "data_type": str(
                next(wider_type for wider_type in _and_above(DataType(first["data_type"])) if wider_type in above)
            )
        }
    same = {key: value for key, value in first.items() if second.get(key) == value}
    if MAPS in first and MAPS in second:
        return {**same, MAPS: sorted({*first[MAPS], *second[MAPS]})}
    if "precision" not in first or "precision" not in second:
        return {key: value for key, value in same.items() if key != "scale"}
    if "scale" not in first or "scale" not in second:
        return {**same, "precision": max(first["precision"], second["precision"])}
    scale = max(first["scale"], second["scale"])
    integer_digits = max(first["precision"] - first["scale"], second["precision"] - second["scale"])
    return {**same, "precision": integer_digits + scale, "scale": scale}


def _and_above(data_type: DataType) -> list[DataType]:
    chain = [data_type]
    while chain[-1] is not DataType.TEXT:
        chain.append(_NEXT_WIDER.get(chain[-1], DataType.TEXT))
    return chain


def with_room(column: Properties, source_properties: Properties) -> dict[str, Any]:
    """Return a column's properties, widened for the values of a source.

    The column does not change if the source declares no size or another data type, or if no decimal has enough digits.
    A timestamp takes timestamps of any time zone or without one, as UTC.
    """
    old, new = full_type(column), full_type(source_properties)
    if old is None or new is None or old.data_type is not new.data_type:
        return dict(column)
    sizes = _sizes(old, new) if source_properties.get("precision") is not None else {}
    unchanged = {key: value for key, value in column.items() if sizes.get(key, value) is not None or key not in sizes}
    return {**unchanged, **{key: value for key, value in sizes.items() if value is not None}}


def _sizes(old: FullType, new: FullType) -> dict[str, int | None]:
    """Return the properties that have to grow, with None for properties to remove."""
    match old.data_type:
        case DataType.BIGINT if (new.precision or 0) > (old.precision or 0):
            return {"precision": None if (new.precision or 0) >= 64 else new.precision}
        case DataType.TEXT | DataType.BINARY if old.precision is not None and (new.precision or 0) > old.precision:
            return {"precision": new.precision}
        case DataType.WEI if old.precision is not None:
            digits = (new.integer_digits or 0) + (old.scale or 0)
            return {"precision": digits} if old.precision < digits <= MAX_DIGITS else {}
        case DataType.DECIMAL:
            scale = max(old.scale or 0, new.scale or 0)
            digits = max(old.integer_digits or 0, new.integer_digits or 0) + scale
            is_larger = (digits, scale) != (old.precision, old.scale)
            return {"precision": digits, "scale": scale} if is_larger and digits <= MAX_DIGITS else {}
        case _:
            return {}

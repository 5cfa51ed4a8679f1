"""Of two stated types of one column the one that takes the values of both, where sources do not agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from schemactl.schema.types import DataType

_NEXT_WIDER: Final[Mapping[DataType, DataType]] = {
    DataType.BIGINT: DataType.WEI,
    DataType.WEI: DataType.DECIMAL,
    DataType.DECIMAL: DataType.DOUBLE,
    DataType.DATE: DataType.TIMESTAMP,
}
"""Types that are not here are next to ``text``, which takes everything."""

MAPS: Final = "maps"
"""What a source states of a ``json`` column beside dlt's properties: that it holds maps, of which types.

A sorted list of Spark's DDL, one for each type that sources state. No column of a schema has it.
"""


def widen(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    """Return properties of a column that takes what ``left`` and ``right`` take.

    Associative and commutative. A property that only one of them states is dropped: without it a column is widest.
    """
    data_type = _wider(DataType(left["data_type"]), DataType(right["data_type"]))
    if left["data_type"] != right["data_type"]:
        return {"data_type": str(data_type)}
    same = {key: value for key, value in left.items() if right.get(key) == value}
    if MAPS in left and MAPS in right:
        return {**same, MAPS: sorted({*left[MAPS], *right[MAPS]})}
    if "precision" in left and "precision" in right:
        return {**same, **_wider_numbers(left, right)}
    return {key: value for key, value in same.items() if key != "scale"}


def _wider(left: DataType, right: DataType) -> DataType:
    above = _and_above(right)
    return next(data_type for data_type in _and_above(left) if data_type in above)


def _and_above(data_type: DataType) -> list[DataType]:
    chain = [data_type]
    while chain[-1] is not DataType.TEXT:
        chain.append(_NEXT_WIDER.get(chain[-1], DataType.TEXT))
    return chain


def _wider_numbers(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, int]:
    if "scale" not in left or "scale" not in right:
        return {"precision": max(left["precision"], right["precision"])}
    scale = max(left["scale"], right["scale"])
    whole = max(left["precision"] - left["scale"], right["precision"] - right["scale"])
    return {"precision": whole + scale, "scale": scale}

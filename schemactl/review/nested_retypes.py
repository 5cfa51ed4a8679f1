"""Judge a changed type of a field inside a column, as rules D301 to D312 judge that of a whole column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from schemactl.review.retypes import grows, is_finer, keeps_integer_digits
from schemactl.review.severity import Impact, Severity
from schemactl.schema.conversions import SPELLED_DIFFERENTLY, Conversion, crosses_families
from schemactl.schema.full_types import FullType, conversion_between, full_type
from schemactl.schema.nested_types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    LARGE,
    STRING,
    Json,
    Leaf,
    ListOf,
    MapOf,
    NestedType,
    Struct,
    leaf_properties,
)
from schemactl.schema.types import DataType


@dataclass(frozen=True, slots=True)
class _Consequence:
    phrase: str
    impact: Impact


class ValueEffect(Enum):
    """The fate of the values; each with the impact of the rule about columns (tests compare them)."""

    WIDENED = _Consequence("every value survives", Impact(readers=Severity.WARN, writers=Severity.INFO))
    """D301, D307"""
    DEPENDS = _Consequence("some values may not survive", Impact(Severity.WARN, Severity.ERROR, Severity.DEPENDS))
    """D302, D308"""
    LOSES = _Consequence("values lose digits or their meaning", Impact(Severity.WARN, Severity.ERROR, Severity.ERROR))
    """D303, D309"""
    REFUSED = _Consequence("no value survives", Impact(Severity.ERROR, Severity.ERROR, Severity.ERROR))
    """D304"""
    GROWS = _Consequence("every value fits", Impact(readers=Severity.INFO, writers=Severity.INFO))
    """D305, D311"""
    SHRINKS = _Consequence("some values may not fit", Impact(Severity.INFO, Severity.ERROR, Severity.DEPENDS))
    """D306"""
    NARROWED = _Consequence(
        "integers may not fit, and files that hold the wider ones cannot be read",
        Impact(Severity.ERROR, Severity.ERROR, Severity.ERROR),
    )
    """Worse than D306: no migration narrows a type inside stored files."""
    REZONED = _Consequence("comparisons mean something else", Impact(Severity.ERROR, Severity.WARN, Severity.WARN))
    """D310"""
    COARSER = _Consequence("digits of a second are lost", Impact(Severity.INFO, Severity.INFO, Severity.WARN))
    """D311"""
    SPELLED = _Consequence("stored texts are spelled otherwise", Impact(Severity.WARN, Severity.INFO, Severity.WARN))
    """D312, and JSON texts: these have quotes."""
    TEXTS = _Consequence("every value survives, as text", Impact(readers=Severity.ERROR, writers=Severity.INFO))
    """Objects and lists: queries name fields and elements that texts do not have."""

    @property
    def phrase(self) -> str:
        return self.value.phrase

    @property
    def is_open(self) -> bool:
        """Return whether the values decide."""
        return self.value.impact.data is Severity.DEPENDS


def impact_of(before: NestedType, after: NestedType) -> Impact:
    """Return how bad another type of a field is; readers are broken by one of another family, as with columns."""
    found: Impact = value_effect(before, after).value.impact
    return replace(found, readers=Severity.ERROR) if _crosses_families(before, after) else found


def _crosses_families(before: NestedType, after: NestedType) -> bool:
    """Return whether queries on one type fail on the other; False for types that only a database has.

    Spark and DuckDB access a field of a struct as they access a key of a map.
    """
    if isinstance(before, Struct | MapOf) and isinstance(after, Struct | MapOf):
        return False
    if not (isinstance(before, Leaf | Json) and isinstance(after, Leaf | Json)):
        return type(before) is not type(after)
    json = FullType(DataType.JSON)
    old, new = (json if isinstance(of, Json) else leaf_full_type(of) for of in (before, after))
    return old is not None and new is not None and crosses_families(old.data_type, new.data_type)


def value_effect(before: NestedType, after: NestedType) -> ValueEffect:
    """Return what happens to values of one type in a field of another.

    Every value fits a JSON text; which JSON texts fit another type depends on the data.

    >>> value_effect(Leaf("bigint"), Leaf("decimal(10,0)")).phrase
    'some values may not survive'
    """
    old, new = leaf_full_type(before), leaf_full_type(after)
    if isinstance(after, Json) or after == Leaf(STRING):
        return _as_text(before, after)
    if isinstance(before, Json):
        return ValueEffect.DEPENDS
    if old is None or new is None:
        are_objects = {type(before), type(after)} == {Struct, MapOf}
        is_foreign = isinstance(before, Leaf) and isinstance(after, Leaf)  # a type that only a database has
        return ValueEffect.DEPENDS if are_objects or is_foreign else ValueEffect.REFUSED
    if old == new:
        # A float and a double, which have no sizes for dlt.
        return ValueEffect.WIDENED if after == Leaf(DOUBLE) else ValueEffect.LOSES
    if old.data_type == new.data_type:
        return _resized(old, new)
    return _EFFECTS[conversion_between(old, new)]


_EFFECTS: Final[Mapping[Conversion, ValueEffect]] = {
    Conversion.WHOLE: ValueEffect.WIDENED,
    Conversion.DEPENDS: ValueEffect.DEPENDS,
    Conversion.LOSES: ValueEffect.LOSES,
    Conversion.REFUSED: ValueEffect.REFUSED,
}


def _as_text(before: NestedType, after: NestedType) -> ValueEffect:
    """Return what happens to values in a field of texts, JSON or not."""
    match before:
        case Struct() | ListOf() | MapOf():
            return ValueEffect.TEXTS
        case Json():
            return ValueEffect.SPELLED
        case _ if isinstance(after, Json):
            return ValueEffect.WIDENED if before in _SPELLED_AS_JSON else ValueEffect.SPELLED
    full = leaf_full_type(before)
    return ValueEffect.SPELLED if full is not None and full.data_type in SPELLED_DIFFERENTLY else ValueEffect.WIDENED


_SPELLED_AS_JSON: Final = (Leaf(BIGINT), Leaf(DOUBLE), Leaf(BOOLEAN))


def accepts_values(before: NestedType, after: NestedType) -> bool:
    """Return whether loads accept values of one type in a field of another without changing the field's type.

    JSON texts accept any value, doubles and large integers accept integers.
    """
    if isinstance(after, Json) or (before == Leaf(BIGINT) and after in (Leaf(DOUBLE), Leaf(LARGE))):
        return True
    old, new = leaf_full_type(before), leaf_full_type(after)
    # Integers and floats are stored in one size each.
    kinds = (DataType.BIGINT, DataType.DOUBLE)
    return old is not None and new is not None and old.data_type == new.data_type and new.data_type in kinds


def _resized(old: FullType, new: FullType) -> ValueEffect:
    if old.timezone != new.timezone:
        return ValueEffect.REZONED
    if old.data_type is DataType.TIME:
        return ValueEffect.GROWS if (new.precision or 0) > (old.precision or 0) else ValueEffect.COARSER
    if is_finer(old, new):
        return ValueEffect.WIDENED if keeps_integer_digits(old, new) else ValueEffect.DEPENDS
    if is_finer(new, old):
        return ValueEffect.LOSES
    if grows(old, new):
        return ValueEffect.GROWS
    return ValueEffect.NARROWED if old.data_type is DataType.BIGINT else ValueEffect.SHRINKS


def leaf_full_type(of: NestedType) -> FullType | None:
    """Return a scalar's type with its sizes; None for others, and for types that only a database has."""
    properties = leaf_properties(of.name) if isinstance(of, Leaf) else None
    return None if properties is None else full_type(properties)

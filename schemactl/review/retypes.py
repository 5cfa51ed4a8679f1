"""Judge changed types: of columns, for rules D301 to D312, and of fields inside them, for rule D313."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, Literal

from schemactl.review.comparison import Comparison
from schemactl.review.rule import Finder, Match
from schemactl.review.severity import Impact, Severity
from schemactl.review.wording import full_name
from schemactl.schema.changes import ColumnRetyped, VariantFolded
from schemactl.schema.contract import Promotion, promotion_for
from schemactl.schema.conversions import (
    EPOCH_UNIT,
    SPELLED_DIFFERENTLY,
    Conversion,
    consequence,
    conversion,
    crosses_families,
)
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
)
from schemactl.schema.nested_widening import leaf_full_type
from schemactl.schema.types import DataType
from schemactl.schema.widening import is_wider


class Effect(Enum):
    """The fate of the values of a column or a field, as a phrase about a field, with the impact of its rules."""

    phrase: str
    impact: Impact

    WIDENED = ("every value survives", Impact(readers=Severity.WARN, writers=Severity.INFO))
    """D301, D307"""
    DEPENDS = ("some values may not survive", Impact(Severity.WARN, Severity.ERROR, Severity.DEPENDS))
    """D302, D308"""
    LOSES = ("values lose digits or their meaning", Impact(Severity.WARN, Severity.ERROR, Severity.ERROR))
    """D303, D309"""
    REFUSED = ("no value survives", Impact(Severity.ERROR, Severity.ERROR, Severity.ERROR))
    """D304"""
    GROWS = ("every value fits", Impact(readers=Severity.INFO, writers=Severity.INFO))
    """D305, D311"""
    SHRINKS = ("some values may not fit", Impact(Severity.INFO, Severity.ERROR, Severity.DEPENDS))
    """D306"""
    NARROWED = (
        "integers may not fit, and files that hold the wider ones cannot be read",
        Impact(Severity.ERROR, Severity.ERROR, Severity.ERROR),
    )
    """Worse than D306: no migration narrows a type inside stored files."""
    REZONED = ("comparisons change meaning", Impact(Severity.ERROR, Severity.WARN, Severity.WARN))
    """D310"""
    COARSER = ("digits of a second are lost", Impact(Severity.INFO, Severity.INFO, Severity.WARN))
    """D311"""
    SPELLED = ("existing strings are in another text format", Impact(Severity.WARN, Severity.INFO, Severity.WARN))
    """D312, and JSON texts: these have quotes."""
    TEXTS = ("every value survives, as text", Impact(readers=Severity.ERROR, writers=Severity.INFO))
    """Objects and lists: queries name fields and elements that texts do not have."""

    def __init__(self, phrase: str, impact: Impact) -> None:
        self.phrase = phrase
        self.impact = impact

    @property
    def is_open(self) -> bool:
        """Return whether the values decide."""
        return self.impact.data is Severity.DEPENDS


_EFFECTS: Final[Mapping[Conversion, Effect]] = {
    Conversion.WHOLE: Effect.WIDENED,
    Conversion.DEPENDS: Effect.DEPENDS,
    Conversion.LOSES: Effect.LOSES,
    Conversion.REFUSED: Effect.REFUSED,
}


def size_effect(before: FullType, after: FullType) -> Effect | None:
    """Return the effect of another size of one data type on its values.

    None if it has the same one: time zones and fractions of seconds are no size.
    """
    if before.scale is not None and after.scale is not None and before.scale != after.scale:
        if after.scale < before.scale:
            return Effect.LOSES
        digits_after, digits_before = after.integer_digits, before.integer_digits
        has_room = digits_after is None or (digits_before is not None and digits_after >= digits_before)
        return Effect.WIDENED if has_room else Effect.DEPENDS
    is_moment = after.data_type in (DataType.TIMESTAMP, DataType.TIME)
    if is_moment or before.scale != after.scale or before.precision == after.precision:
        return None
    is_longer = after.precision is None or (before.precision is not None and after.precision > before.precision)
    return Effect.GROWS if is_longer else Effect.SHRINKS


# --- of columns ---


@dataclass(frozen=True, slots=True)
class Retype:
    """A column whose type changed, with both types in full."""

    change: ColumnRetyped
    before: FullType
    after: FullType

    def match(self, sentence: str, *, impact: Impact | None = None, is_open: bool = False) -> Match:
        """Return a match whose sentence is the column's name and then ``sentence``.

        ``is_open``: whether the values decide.
        """
        question: Literal["type"] | None = "type" if is_open else None
        where = full_name(self.change.table, self.change.column)
        return Match.of(self.change, f"{where} {sentence}", impact=impact, question=question)


def resized(comparison: Comparison) -> Iterator[Retype]:
    """Yield the columns that kept their data type and changed its size or time zone, defaults applied."""
    return (retype for retype in _retypes(comparison) if retype.before.data_type == retype.after.data_type)


def size_rule(effect: Effect, sentence: str) -> Finder:
    """Return the finder of columns of another size with an effect; the sentence has ``{before}`` and ``{after}``."""

    def find(comparison: Comparison) -> Iterator[Match]:
        for retype in resized(comparison):
            if size_effect(retype.before, retype.after) is effect:
                phrase = sentence.format(before=retype.before, after=retype.after)
                yield retype.match(phrase, is_open=effect.is_open)

    return find


def converted(comparison: Comparison) -> Iterator[tuple[Retype, Effect, str]]:
    """Yield the columns of another data type with the effect on their values, and the losses.

    A pair that loses nothing, but whose new type has a size that may be too small, ``DEPENDS``.
    """
    for retype in _retypes(comparison):
        before, after = retype.before, retype.after
        if before.data_type == after.data_type:
            continue
        column_path = retype.change.table, retype.change.column
        columns = (find(*column_path) for find in (comparison.base_column, comparison.head_column))
        # One side sets the unit, which a timestamp does not need.
        is_epoch = any(column is not None and column.properties.get("x-unit") == EPOCH_UNIT for column in columns)
        counts_seconds = after.data_type == DataType.TIMESTAMP and is_epoch
        outcome = conversion_between(before, after, counts_seconds=counts_seconds)
        family_outcome = conversion(before.data_type, after.data_type, counts_seconds=counts_seconds)
        if outcome is Conversion.DEPENDS and family_outcome is Conversion.WHOLE:
            lost = f"`{after}` may be too small for its values"
        elif outcome in (Conversion.DEPENDS, Conversion.LOSES):
            lost = consequence(before.data_type, after.data_type, counts_seconds=counts_seconds)
        elif outcome is Conversion.REFUSED:
            lost = "dlt converts no value"
        else:
            lost = "every value survives"
            lost += ", queries on it do not" if crosses_families(before.data_type, after.data_type) else ""
        yield retype, _EFFECTS[outcome], lost


def conversion_rule(effect: Effect) -> Finder:
    """Return the finder of columns of another data type with an effect; one of another family breaks its readers."""

    def find(comparison: Comparison) -> Iterator[Match]:
        for retype, retype_effect, lost in converted(comparison):
            if retype_effect is effect:
                crosses = crosses_families(retype.before.data_type, retype.after.data_type)
                impact = replace(effect.impact, readers=Severity.ERROR) if crosses else None
                sentence = f"changes from `{retype.before}` to `{retype.after}`: {lost}"
                yield retype.match(sentence, impact=impact, is_open=effect.is_open)

    return find


def promoted(comparison: Comparison) -> Iterator[Retype]:
    """Yield the columns that the contract of the head schema lets data widen, and whose type is wider in it."""
    retypes = _all_retypes(comparison)
    return (of for of in retypes if _is_promoted(comparison, of) and not _is_folded(comparison, of))


def _is_promoted(comparison: Comparison, retype: Retype) -> bool:
    mode = promotion_for(comparison.head.schema, retype.change.table, retype.change.column)
    if mode is Promotion.VARIANT:
        return False
    return is_wider(retype.before, retype.after, allow_text=mode is Promotion.PROMOTE_TEXT)


def _is_folded(comparison: Comparison, retype: Retype) -> bool:
    """Return whether a column became wider to hold a variant, which rule C221 reports with its values."""
    change = retype.change
    if not any((fold.table, fold.into) == (change.table, change.column) for fold in comparison.of(VariantFolded)):
        return False
    return is_wider(retype.before, retype.after)


def _retypes(comparison: Comparison) -> Iterator[Retype]:
    retypes = _all_retypes(comparison)
    return (of for of in retypes if not (_is_promoted(comparison, of) or _is_folded(comparison, of)))


def _all_retypes(comparison: Comparison) -> Iterator[Retype]:
    for change in comparison.of(ColumnRetyped):
        before, after = full_type(change.before), full_type(change.after)
        if before and after and before != after:
            yield Retype(change, before, after)


# --- of fields ---


FullTypes = tuple[FullType | None, FullType | None]
"""The types of scalars before and after, with their sizes; None for other types."""


def impact_of(before: NestedType, after: NestedType, sizes: FullTypes | None = None) -> Impact:
    """Return how bad another type of a field is; readers are broken by one of another family, as with columns."""
    impact = value_effect(before, after, sizes).impact
    return replace(impact, readers=Severity.ERROR) if _crosses_families(before, after) else impact


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


def value_effect(before: NestedType, after: NestedType, sizes: FullTypes | None = None) -> Effect:
    """Return the effect on values of one type in a field of another; without ``sizes`` types have their default sizes.

    Every value fits a JSON text; which JSON texts fit another type depends on the data.

    >>> value_effect(Leaf("bigint"), Leaf("decimal(10,0)")).phrase
    'some values may not survive'
    """
    old, new = sizes or (leaf_full_type(before), leaf_full_type(after))
    if before == after and old is not None and new is not None and old.data_type == new.data_type:
        return _resized(old, new)
    if isinstance(after, Json) or after == Leaf(STRING):
        return _as_text(before, after)
    if isinstance(before, Json):
        return Effect.DEPENDS
    if old is None or new is None:
        are_objects = {type(before), type(after)} == {Struct, MapOf}
        is_foreign = isinstance(before, Leaf) and isinstance(after, Leaf)  # a type that only a database has
        return Effect.DEPENDS if are_objects or is_foreign else Effect.REFUSED
    if old == new:
        # A float and a double, which have no sizes for dlt.
        return Effect.WIDENED if after == Leaf(DOUBLE) else Effect.LOSES
    if old.data_type == new.data_type:
        return _resized(old, new)
    return _EFFECTS[conversion_between(old, new)]


def _as_text(before: NestedType, after: NestedType) -> Effect:
    """Return the effect on values in a field of texts, JSON or not."""
    match before:
        case Struct() | ListOf() | MapOf():
            return Effect.TEXTS
        case Json():
            return Effect.SPELLED
        case _ if isinstance(after, Json):
            return Effect.WIDENED if before in _SPELLED_AS_JSON else Effect.SPELLED
    full = leaf_full_type(before)
    return Effect.SPELLED if full is not None and full.data_type in SPELLED_DIFFERENTLY else Effect.WIDENED


_SPELLED_AS_JSON: Final = (Leaf(BIGINT), Leaf(DOUBLE), Leaf(BOOLEAN))


def accepts_values(before: NestedType, after: NestedType) -> bool:
    """Return whether loads accept values of one type in a field of another without changing the field's type.

    JSON texts accept any value, doubles and large integers accept integers.
    """
    if isinstance(after, Json) or before == after or (before == Leaf(BIGINT) and after in (Leaf(DOUBLE), Leaf(LARGE))):
        return True
    old, new = leaf_full_type(before), leaf_full_type(after)
    # Integers and floats are stored in one size each.
    kinds = (DataType.BIGINT, DataType.DOUBLE)
    return old is not None and new is not None and old.data_type == new.data_type and new.data_type in kinds


def _resized(old: FullType, new: FullType) -> Effect:
    if old.timezone != new.timezone:
        return Effect.REZONED
    if old.data_type is DataType.TIME:
        return Effect.GROWS if (new.precision or 0) > (old.precision or 0) else Effect.COARSER
    effect = size_effect(old, new) or Effect.SHRINKS
    return Effect.NARROWED if effect is Effect.SHRINKS and old.data_type is DataType.BIGINT else effect

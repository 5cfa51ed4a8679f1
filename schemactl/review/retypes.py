"""Find columns whose type changed, compare sizes of one data type, and make the matches that report them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from schemactl.review.comparison import Comparison
from schemactl.review.rule import Match
from schemactl.review.severity import Impact, Severity
from schemactl.review.wording import place
from schemactl.schema.changes import ColumnRetyped
from schemactl.schema.conversions import EPOCH_UNIT, Conversion, consequence, conversion, crosses_families
from schemactl.schema.full_types import FullType, conversion_between, full_type
from schemactl.schema.types import DataType


def grows(before: FullType, after: FullType) -> bool | None:
    """Return whether one data type's values may be longer now; None where neither longer nor shorter ones fit.

    Other digits after the point are another matter, and so are fractions of seconds.
    """
    is_moment = after.data_type in (DataType.TIMESTAMP, DataType.TIME)
    if is_moment or before.scale != after.scale or before.precision == after.precision:
        return None
    return after.precision is None or (before.precision is not None and after.precision > before.precision)


def is_finer(before: FullType, after: FullType) -> bool:
    """Return whether a decimal or wei has more digits after the point."""
    return before.scale is not None and after.scale is not None and after.scale > before.scale


def keeps_integer_digits(before: FullType, after: FullType) -> bool:
    """Return whether a decimal or wei has as many digits before the point, or more."""
    if after.integer_digits is None:
        return True
    return before.integer_digits is not None and after.integer_digits >= before.integer_digits


@dataclass(frozen=True, slots=True)
class Retype:
    """A column whose type changed, with both types in full."""

    change: ColumnRetyped
    before: FullType
    after: FullType

    @property
    def where(self) -> str:
        """The column's full name in backquotes."""
        return place(self.change.table, self.change.column)

    @property
    def crosses_families(self) -> bool:
        """Return whether queries on the old type are refused on the new one."""
        return crosses_families(self.before.data_type, self.after.data_type)

    def impact(self, within: Impact) -> Impact:
        """Return the impact of a type within the same family, with readers broken by one of another family."""
        return replace(within, readers=Severity.ERROR) if self.crosses_families else within

    def match(self, sentence: str, *, impact: Impact | None = None, question: Literal["type"] | None = None) -> Match:
        """Return the match with a sentence."""
        return Match.of(self.change, sentence, impact=impact, question=question)


def resized(comparison: Comparison) -> Iterator[Retype]:
    """Yield the columns that kept their data type and changed its size or time zone, defaults applied."""
    for retype in _retypes(comparison):
        if retype.before.data_type == retype.after.data_type and retype.before != retype.after:
            yield retype


def converted(comparison: Comparison, *kinds: Conversion) -> Iterator[tuple[Retype, str]]:
    """Yield the columns of another data type whose values fare as one of ``kinds`` says, each with what is lost.

    A pair that loses nothing, but whose new type states a size that may be too small, ``DEPENDS``.
    """
    origins = comparison.base_columns
    for retype in _retypes(comparison):
        before, after = retype.before, retype.after
        if before.data_type == after.data_type:
            continue
        origin = origins.get((retype.change.table, retype.change.column), retype.change.column)
        counts_seconds = after.data_type == DataType.TIMESTAMP and _counts_seconds(comparison, retype.change, origin)
        found = conversion_between(before, after, counts_seconds=counts_seconds)
        alone = conversion(before.data_type, after.data_type, counts_seconds=counts_seconds)
        if found is Conversion.DEPENDS and alone is Conversion.WHOLE:
            lost = f"`{after}` may be too small for its values"
        elif found in (Conversion.DEPENDS, Conversion.LOSES):
            lost = consequence(before.data_type, after.data_type, counts_seconds=counts_seconds)
        else:
            lost = ""
        if found in kinds:
            yield retype, lost


def _retypes(comparison: Comparison) -> Iterator[Retype]:
    for change in comparison.of(ColumnRetyped):
        before, after = full_type(change.before), full_type(change.after)
        if before and after:
            yield Retype(change, before, after)


def _counts_seconds(comparison: Comparison, change: ColumnRetyped, origin: str) -> bool:
    """Return whether one side states the unit; a point in time needs none any more."""
    table = comparison.base_table(change.table)
    columns = (table.columns.get(origin) if table else None, comparison.head_column(change.table, change.column))
    return any(column is not None and column.properties.get("x-unit") == EPOCH_UNIT for column in columns)

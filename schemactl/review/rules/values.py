"""Rules about the values that a column may have: Q95x."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from schemactl.review.hints import (
    BOUNDS,
    ENUM,
    LIMITS,
    canonical,
    column_hints,
    extra_hints,
    hint_match,
    limit_match,
    permitted_values,
    values,
    without,
)
from schemactl.review.rule import BREAKS_ALL, Comparison, Direction, Impact, Matches, Rule, Severity
from schemactl.review.wording import quote_value
from schemactl.schema.changes import ColumnPropertyChanged
from schemactl.schema.types import DataType


def find_enum_value_added(comparison: Comparison) -> Matches:
    """Yield each column whose list of permitted values (``x-enum``) is longer, or gone."""
    for change in column_hints(comparison, "x-enum"):
        before, after = permitted_values(change.before), permitted_values(change.after)
        if before is None:
            continue
        if after is None:
            yield hint_match(change, f"may have any value now; it was one of {values(before)}")
        elif added := without(after, before):
            is_replaced = bool(without(before, after))
            impact = replace(Q951.impact, readers=Severity.ERROR) if is_replaced else None
            yield hint_match(change, f"may be {values(added)} now", impact)


Q951 = Rule(
    title="permitted value added",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Readers that distinguish the values (`CASE`, a `match`, an enum in a typed client) meet one that they do not "
    "know. `x-enum` is the list of all values that a column may have; dlt keeps it and checks nothing by it. "
    "Where others are gone at the same time, values may have been renamed: queries that ask for the old ones find no "
    "new row.",
    fix="Inform the readers, and let them handle values that they do not know, before a pipeline sends the new one.",
    find=find_enum_value_added,
)


def find_enum_value_removed(comparison: Comparison) -> Matches:
    """Yield each column whose list of permitted values (``x-enum``) is shorter, or new."""
    for change in column_hints(comparison, "x-enum"):
        before, after = permitted_values(change.before), permitted_values(change.after)
        if after is None:
            continue
        if before is None:
            yield hint_match(change, f"must be one of {values(after)} now; before it could have any value")
        elif removed := without(before, after):
            yield hint_match(change, f"must not be {values(removed)} any more")


Q952 = Rule(
    title="permitted value removed",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.TIGHTENS,
    why="Pipelines still send the value, and stored rows may hold it. `x-enum` is the list of all values that a column "
    "may have; dlt keeps it and checks nothing by it, so a broken promise is noticed only by the readers.",
    fix="Stop sending the value first, and replace it in the stored rows. Shorten the list when none is left.",
    find=find_enum_value_removed,
)


def find_range_or_pattern_changed(comparison: Comparison) -> Matches:
    """Yield each column with another ``x-minimum``, ``x-maximum`` or ``x-pattern``."""
    for change in column_hints(comparison, *BOUNDS):
        yield limit_match(change, BOUNDS[change.name])


Q953 = Rule(
    title="range or pattern changed",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.UNDETERMINED,
    why="`x-minimum` and `x-maximum` are the least and the greatest value that a column may have, both permitted; "
    "`x-pattern` is a regular expression that is found in its texts. dlt keeps them and checks nothing by them. With "
    "narrower ones pipelines still send what is excluded; with wider ones readers meet values they do not expect.",
    fix="To narrow, stop sending such values and repair the stored rows first. To widen, inform the readers first.",
    find=find_range_or_pattern_changed,
)


def find_enum_meaning_changed(comparison: Comparison) -> Matches:
    """Yield each column where a code has another label, or names have other numbers."""
    for change in column_hints(comparison, ENUM):
        if isinstance(change.before, Mapping) and isinstance(change.after, Mapping):
            for code in change.before:
                old, new = change.before[code], change.after.get(code)
                if new is not None and new != old:
                    phrase = (
                        f"says that {quote_value(code)} stands for {quote_value(new)}, no longer for {quote_value(old)}"
                    )
                    yield hint_match(change, phrase, aspect=str(code))
            continue
        column = comparison.head_column(change.table, change.column)
        before, after = permitted_values(change.before) or [], permitted_values(change.after) or []
        is_number = column is not None and column.data_type is DataType.BIGINT
        # Where a column holds numbers and names are permitted, the place of a name is its number.
        are_names = all(isinstance(name, str) and not name.lstrip("-").isdigit() for name in (*before, *after))
        if is_number and (before or after) and are_names:
            kept = [name for name in before if not without([name], after)]
            if moved := [name for name in kept if before.index(name) != after.index(name)]:
                yield hint_match(change, f"gives other numbers to {values(moved)}")


Q954 = Rule(
    title="permitted value means something else",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="`x-enum` says what the codes of a column stand for: by a mapping of codes to labels, or by the place of a "
    "name where the column holds numbers. Readers distinguish the codes by it; stored rows, and pipelines that do not "
    "know of the change, go on with the old meaning.",
    fix="Give a new meaning a new code: add it at the end, and leave codes that are no longer used where they are.",
    find=find_enum_meaning_changed,
)


def find_limit_changed(comparison: Comparison) -> Matches:
    """Yield each column with another limit of that kind."""
    for change in extra_hints(comparison):
        name = LIMITS.get(canonical(change.name))
        if name is not None and isinstance(change, ColumnPropertyChanged):
            yield limit_match(change, name)


Q955 = Rule(
    title="length, exclusive bound, step or number of items changed",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.UNDETERMINED,
    why="`x-min-length`, `x-max-length`, `x-exclusive-minimum`, `x-exclusive-maximum`, `x-multiple-of`, `x-min-items`, "
    "`x-max-items` and `x-unique-items` are JSON Schema's keywords for what values may be. dlt keeps them and checks "
    "nothing by them. With narrower ones pipelines still send what is excluded; with wider ones readers meet values "
    "they do not expect.",
    fix="To narrow, stop sending such values and repair the stored rows first. To widen, inform the readers first.",
    find=find_limit_changed,
)

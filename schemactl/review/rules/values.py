"""Rules about the values that a column may have: Q95x."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from schemactl.review.hints import BOUNDS, ENUM, LIMITS, hint_match, is_unset, values, without
from schemactl.review.nested_fields import properties_of, value_hints
from schemactl.review.permitted_values import (
    BOUND_HINTS,
    LIMITS_BY_HINT,
    Bound,
    Limit,
    PermittedValues,
    canonical,
    listed_values,
)
from schemactl.review.rule import (
    BREAKS_ALL,
    Comparison,
    Direction,
    Impact,
    Match,
    Matches,
    ReaderEffect,
    Rule,
    Severity,
)
from schemactl.review.wording import plain, quote_value
from schemactl.schema.changes import ColumnPropertyChanged
from schemactl.schema.types import DataType, Properties

_LOOSENED: Final = Impact(readers=Severity.WARN, writers=Severity.INFO)
_INCOMPARABLE: Final = Impact(readers=Severity.WARN, writers=Severity.ERROR, data=Severity.DEPENDS)


def _permitted_values(comparison: Comparison, change: ColumnPropertyChanged) -> tuple[PermittedValues, PermittedValues]:
    """Return the values that a column permits before and after, by all of its hints."""
    before, after = map(PermittedValues.of, properties_of(comparison, change))
    return before, after


def find_enum_value_added(comparison: Comparison) -> Matches:
    """Yield each column whose list of permitted values (``x-enum``) is longer, or gone."""
    for change in value_hints(comparison, ENUM):
        before, after = listed_values(change.before), listed_values(change.after)
        if before is None:
            continue
        base, head = _permitted_values(comparison, change)
        if after is None:
            if head.is_within(base, Limit.ENUM):
                yield _same_values(change, f"no longer has a list of values; it was {values(before)}")
            else:
                yield hint_match(change, f"can now have any value; before, it was one of {values(before)}")
        elif added := without(after, before):
            impact = replace(Q951.impact, readers=Severity.ERROR) if without(before, after) else None
            if any(head.admits_but_for(value, Limit.ENUM) for value in added):
                yield hint_match(change, f"can now be {values(added)}", impact)
            else:
                yield _same_values(change, f"now lists {values(added)}")


def _same_values(change: ColumnPropertyChanged, phrase: str) -> Match:
    """Return the match of a changed list of values whose column permits the same values by all of its hints."""
    return hint_match(change, f"{phrase}, but permits the same values", Impact())


Q951 = Rule(
    title="permitted value added",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Readers that distinguish the values (`CASE`, a `match`, an enum in a typed client) get a value that they do "
    "not know. `x-enum` lists all values that a column may have; dlt keeps the list but does not check values against "
    "it. If other values are removed at the same time, values may have been renamed: queries for the old values find "
    "no new rows.",
    fix="Warn readers, and let them handle unknown values, before a pipeline sends the new one.",
    find=find_enum_value_added,
    effect=ReaderEffect.NONE,
)


def find_enum_value_removed(comparison: Comparison) -> Matches:
    """Yield each column whose list of permitted values (``x-enum``) is shorter, or new."""
    for change in value_hints(comparison, ENUM):
        before, after = listed_values(change.before), listed_values(change.after)
        if after is None:
            continue
        base, head = _permitted_values(comparison, change)
        if before is None:
            if base.is_within(head, Limit.ENUM):
                yield _same_values(change, f"now has a list of values: {values(after)}")
            else:
                yield hint_match(change, f"must now be one of {values(after)}; before, it could have any value")
        elif removed := without(before, after):
            if any(base.admits_but_for(value, Limit.ENUM) for value in removed):
                yield hint_match(change, f"must no longer be {values(removed)}")
            else:
                yield _same_values(change, f"no longer lists {values(removed)}")


Q952 = Rule(
    title="permitted value removed",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.TIGHTENS,
    why="Pipelines may still send the value, and existing rows may hold it. `x-enum` lists all values that a column "
    "may have; dlt keeps the list but does not check values against it, so only readers notice a violation.",
    fix="Stop sending the value first, and replace it in existing rows. Shorten the list once no row holds it.",
    find=find_enum_value_removed,
)


def find_range_or_pattern_changed(comparison: Comparison) -> Matches:
    """Yield each column with another ``x-minimum``, ``x-maximum`` or ``x-pattern``."""
    for change in value_hints(comparison, *BOUNDS):
        yield _limit_match(comparison, change, BOUNDS[change.name])


def _limit_match(comparison: Comparison, change: ColumnPropertyChanged, name: str) -> Match:
    """Return the match of a changed limit, called ``name``; the impact of its rule is that of a tighter limit."""
    limit = LIMITS_BY_HINT[canonical(change.name)]
    base, head = _permitted_values(comparison, change)
    is_tighter, is_looser = not base.is_within(head, limit), not head.is_within(base, limit)
    sides: tuple[Any, ...] = (change.before, change.after)
    words = tuple(None if is_unset(side) else quote_value(side) for side in sides)
    if change.name in BOUNDS and (exclusive := _other_bound(comparison, change)):
        sides = tuple({change.name: plain(side), **other} for side, other in zip(sides, exclusive, strict=True))
        words = tuple(_bound_words(permitted.bounds.get(limit), limit) for permitted in (base, head))
    match words:
        case (None, after):
            phrase = f"sets its {name} to {after}"
        case (before, None):
            phrase = f"removes its {name}, which was {before}"
        case (before, after):
            phrase = f"changes its {name} from {before} to {after}"
    impact = _INCOMPARABLE if is_tighter and is_looser else _LOOSENED if is_looser else None if is_tighter else Impact()
    same = "" if is_tighter or is_looser else ", but permits the same values"
    return hint_match(change, f"{phrase}{same}", impact, before=sides[0], after=sides[1])


def _bound_words(bound: Bound | None, limit: Limit) -> str | None:
    if bound is None:
        return None
    word = "" if bound.is_inclusive else "less than " if limit is Limit.UPPER else "more than "
    return f"{word}{quote_value(bound.hint_value)}"


def _other_bound(comparison: Comparison, change: ColumnPropertyChanged) -> tuple[Properties, Properties] | None:
    """Return the hint of the other bound of the same side before and after, None if it did not change.

    To that of an inclusive bound it is the exclusive one: both together are one bound.
    """
    hint = canonical(change.name)
    other_names = {*BOUND_HINTS.get(LIMITS_BY_HINT[hint], ())} - {hint}
    before, after = (
        {name: value for name, value in properties.items() if canonical(name) in other_names and not is_unset(value)}
        for properties in properties_of(comparison, change)
    )
    return None if before == after else (before, after)


Q953 = Rule(
    title="range or pattern changed",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.UNDETERMINED,
    why="`x-minimum` and `x-maximum` are the smallest and largest values that a column may have, both included; "
    "`x-pattern` is a regular expression that must match somewhere in its strings. dlt keeps them but does not check "
    "values against them. If they become narrower, pipelines still send excluded values; if they become wider, "
    "readers get values they do not expect. Bounds, steps and lists of values are compared by the values that they "
    "permit together: for integers, more than 0 (`x-exclusive-minimum: 0`) is at least 1 (`x-minimum: 1`), and breaks "
    "no one. Patterns are only compared for equality.",
    fix="To narrow, first stop sending such values and fix existing rows. To widen, warn readers first.",
    find=find_range_or_pattern_changed,
)


def find_enum_meaning_changed(comparison: Comparison) -> Matches:
    """Yield each column whose codes have other labels, or whose names have other numbers."""
    for change in value_hints(comparison, ENUM):
        if isinstance(change.before, Mapping) and isinstance(change.after, Mapping):
            for code in change.before:
                old, new = change.before[code], change.after.get(code)
                if new is not None and new != old:
                    phrase = f"now defines {quote_value(code)} as {quote_value(new)} instead of {quote_value(old)}"
                    yield hint_match(change, phrase, aspect=str(code))
            continue
        _, properties = properties_of(comparison, change)
        before, after = listed_values(change.before) or [], listed_values(change.after) or []
        is_number = properties.get("data_type") == DataType.BIGINT
        # If a column contains numbers and names are permitted, a name's number is its place in the list.
        are_names = all(isinstance(name, str) and not name.lstrip("-").isdigit() for name in (*before, *after))
        if is_number and (before or after) and are_names:
            common_names = [name for name in before if not without([name], after)]
            if moved_names := [name for name in common_names if before.index(name) != after.index(name)]:
                yield hint_match(change, f"gives other numbers to {values(moved_names)}")


Q954 = Rule(
    title="meaning of a permitted value changed",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="`x-enum` defines the meaning of a column's codes: by a mapping of codes to labels, or by the position of a "
    "name if the column holds numbers. Readers interpret codes by it; existing rows, and pipelines that have not "
    "changed, keep the old meaning.",
    fix="Give a new meaning a new code: add it at the end, and leave unused codes in place.",
    find=find_enum_meaning_changed,
    effect=ReaderEffect.MEANING,
)


def find_limit_changed(comparison: Comparison) -> Matches:
    """Yield each column with another limit of that kind."""
    for change in value_hints(comparison):
        name = LIMITS.get(canonical(change.name))
        if name is not None and _other_bound(comparison, change) is None:  # else Q953 reports both bounds as one
            yield _limit_match(comparison, change, name)


Q955 = Rule(
    title="length, exclusive bound, step or number of items changed",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.UNDETERMINED,
    why="`x-min-length`, `x-max-length`, `x-exclusive-minimum`, `x-exclusive-maximum`, `x-multiple-of`, "
    "`x-min-items`, `x-max-items` and `x-unique-items` are JSON Schema keywords that restrict values. dlt keeps them "
    "but does not check values against them. If they become narrower, pipelines still send excluded values; if they "
    "become wider, readers get values they do not expect.",
    fix="To narrow, first stop sending such values and fix existing rows. To widen, warn readers first.",
    find=find_limit_changed,
)

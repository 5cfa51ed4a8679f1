"""Find changed hints (all properties except type, nullability and description) and compare their values."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from schemactl.review.comparison import Comparison
from schemactl.review.field_changes import FieldPropertyChanged
from schemactl.review.permitted_values import canonical, value_key
from schemactl.review.rule import Finder, Match
from schemactl.review.severity import Impact
from schemactl.review.wording import full_name, listed, plain
from schemactl.schema.changes import ABSENT, ColumnPropertyChanged, TablePropertyChanged
from schemactl.schema.folds import FOLDED_FROM
from schemactl.schema.nested_types import path_text
from schemactl.schema.renames import ID

UNITS: Final = frozenset(("x-unit", "x-units", "x-format", "x-currency", "x-encoding", "x-timezone", "x-time-zone"))
"""Hints about the meaning of a column's values."""

BOUNDS: Final[Mapping[str, str]] = {"x-minimum": "smallest value", "x-maximum": "largest value", "x-pattern": "pattern"}
"""Reported by rule Q953."""

LIMITS: Final[Mapping[str, str]] = {
    "x-min-length": "smallest length",
    "x-max-length": "largest length",
    "x-exclusive-minimum": "exclusive lower bound",
    "x-exclusive-maximum": "exclusive upper bound",
    "x-multiple-of": "step",
    "x-min-items": "smallest number of items",
    "x-max-items": "largest number of items",
    "x-unique-items": "rule that items are unique",
}
"""Reported by rule Q955: JSON Schema's other keywords, also in its own spelling (`x-maxLength`)."""

ENUM: Final = "x-enum"
STABILITY: Final = "x-stability"
DEPRECATED: Final = "x-deprecated"

PROTO_TYPE: Final = "x-proto-type"
PROTO_KEY: Final = "x-proto-key"
PROTO_ENUM: Final = "x-proto-enum"
"""Hints of Protocol Buffers messages: reported by rule C220."""

_PROCESSING: Final = frozenset(("x-normalizer", "x-loader", "x-extractor", "x-merge-strategy"))
_CHANGES: Final = frozenset(
    ("x-backfill", "x-renamed-from", FOLDED_FROM, "x-removed-columns", "x-removed-tables", "x-source-names", DEPRECATED)
)


def max_nesting(options: Any) -> Any:
    """Return the one hint in ``x-normalizer`` that a person sets: the depth to which keys become tables."""
    return options.get("max_nesting") if isinstance(options, Mapping) else None


def constrains_values(name: str) -> bool:
    """Return whether a hint restricts the values of a column, or gives them a meaning."""
    return name in UNITS or name in BOUNDS or name == ENUM or canonical(name) in LIMITS


def has_rule(name: str) -> bool:
    """Return whether another rule than H603 reports a hint."""
    return constrains_values(name) or name in _HINTS_WITH_RULES


_HINTS_WITH_RULES: Final = _PROCESSING | _CHANGES | {STABILITY, ID, PROTO_TYPE, PROTO_KEY, PROTO_ENUM}

HintChange = ColumnPropertyChanged | TablePropertyChanged
_Change = TypeVar("_Change", ColumnPropertyChanged, TablePropertyChanged)


def property_rule(kind: type[_Change], *names: str, says: Callable[[_Change], str | None]) -> Finder:
    """Return the finder of changed properties of columns or of tables; null is the same as absent.

    ``says`` makes the sentence, and returns None if the rule does not apply.
    """

    def find(comparison: Comparison) -> Iterator[Match]:
        for change in comparison.of(kind, *names):
            if plain(change.before) != plain(change.after) and (sentence := says(change)) is not None:
                yield Match.of(change, sentence)

    return find


def hint_rule(*names: str, says: Callable[[ColumnPropertyChanged], str | None]) -> Finder:
    """Return the finder of columns whose hints changed; absent, null and false are the same.

    ``says`` makes the phrase about the column, and returns None if the rule does not apply.
    """

    def find(comparison: Comparison) -> Iterator[Match]:
        for change in column_hints(comparison, *names):
            if (phrase := says(change)) is not None:
                yield hint_match(change, phrase)

    return find


def column_hints(comparison: Comparison, *names: str) -> Iterator[ColumnPropertyChanged]:
    """Yield the columns of which one of these hints changed; absent, null and false are the same (docs/dlt.md §1.3)."""
    yield from (change for change in comparison.of(ColumnPropertyChanged, *names) if not is_restated(change))


def hint_changes(comparison: Comparison, *names: str) -> Iterator[HintChange]:
    """Yield the changed properties of tables, then of columns; without names, all of them."""
    yield from comparison.of(TablePropertyChanged, *names)
    yield from comparison.of(ColumnPropertyChanged, *names)


def extra_hints(comparison: Comparison, *names: str) -> Iterator[HintChange]:
    """Yield the tables, then the columns, where an ``x-`` hint changed; absent, null and false are the same."""
    for change in hint_changes(comparison, *names):
        if change.name.startswith("x-") and not is_restated(change):
            yield change


def is_unset(value: Any) -> bool:
    """Return whether a hint counts as not given: absent, null or false."""
    return value is ABSENT or value is None or value is False


def is_restated(change: HintChange) -> bool:
    """Return whether a hint is unset before and after (docs/dlt.md §1.3).

    Null counts as set for the end of a validity, and for a table's contract, where it overrides the schema's (X705).
    """
    null_counts = change.name in ("x-active-record-timestamp", "schema_contract")
    return is_unset(change.before) and is_unset(change.after) and not null_counts


def hint_match(
    change: HintChange,
    phrase: str,
    impact: Impact | None = None,
    aspect: str = "",
    *,
    before: Any = ABSENT,
    after: Any = ABSENT,
) -> Match:
    """Return a match whose sentence is the name of the column or table and then ``phrase``."""
    match change:
        case FieldPropertyChanged():
            where = full_name(change.table, f"{change.column}{path_text(change.path)}")
        case ColumnPropertyChanged():
            where = full_name(change.table, change.column)
        case _:
            where = full_name(change.table)
    return Match.of(change, f"{where} {phrase}", impact=impact, aspect=aspect, before=before, after=after)


def without(values: Sequence[Any], excluded_values: Sequence[Any]) -> list[Any]:
    """Return the values that are not among ``excluded_values``; unlike ``in``, ``true`` is not 1."""
    excluded_keys = set(map(value_key, excluded_values))
    return [value for value in values if value_key(value) not in excluded_keys]


def values(some: Sequence[Any]) -> str:
    """Return values in backquotes, the first few and how many more there are."""
    phrase = [value if isinstance(value, str) else json.dumps(value, default=str) for value in some]
    return listed(phrase) if phrase else "no value"

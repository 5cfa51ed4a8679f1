"""Find changed hints (properties beside type, nullability and description) and compare their values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final, TypeVar

from schemactl.review.comparison import Comparison
from schemactl.review.rule import Finder, Match
from schemactl.review.severity import Impact, Severity
from schemactl.review.wording import from_to, listed, place, plain, quote_value
from schemactl.schema.changes import ABSENT, ColumnPropertyChanged, TablePropertyChanged

UNITS: Final = frozenset(("x-unit", "x-units", "x-format", "x-currency", "x-encoding", "x-timezone", "x-time-zone"))
"""What the values of a column mean."""

BOUNDS: Final[Mapping[str, str]] = {
    "x-minimum": "smallest value",
    "x-maximum": "largest value",
    "x-pattern": "pattern",
}
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

_PROCESSING: Final = frozenset(("x-normalizer", "x-loader", "x-extractor", "x-merge-strategy"))
_CHANGES: Final = frozenset(
    ("x-backfill", "x-renamed-from", "x-removed-columns", "x-removed-tables", "x-source-names", DEPRECATED)
)
_HUMP: Final = re.compile("(?<=[a-z])(?=[A-Z])")


def max_nesting(stated: Any) -> Any:
    """Return the one hint in ``x-normalizer`` that a person sets: it decides what becomes a table."""
    return stated.get("max_nesting") if isinstance(stated, Mapping) else None


def canonical(name: str) -> str:
    """Return a hint's name in kebab case: ``x-max-length`` for ``x-maxLength``."""
    return _HUMP.sub("-", name).lower() if name.startswith("x-") else name


def constrains_values(name: str) -> bool:
    """Return whether a hint restricts the values of a column, or gives them a meaning."""
    return name in UNITS or name in BOUNDS or name == ENUM or canonical(name) in LIMITS


def has_rule(name: str) -> bool:
    """Return whether another rule than H603 reports a hint."""
    return constrains_values(name) or name in _PROCESSING or name in _CHANGES or name == STABILITY


HintChange = ColumnPropertyChanged | TablePropertyChanged
_Change = TypeVar("_Change", ColumnPropertyChanged, TablePropertyChanged)


def property_rule(kind: type[_Change], *names: str, says: Callable[[_Change], str | None]) -> Finder:
    """Return the finder of changed properties of columns or of tables; null is the same as absent.

    ``says`` makes the sentence, and returns None where the rule does not apply.
    """

    def find(comparison: Comparison) -> Iterator[Match]:
        for change in comparison.of(kind, *names):
            if plain(change.before) != plain(change.after) and (sentence := says(change)) is not None:
                yield Match.of(change, sentence)

    return find


def hint_rule(*names: str, says: Callable[[ColumnPropertyChanged], str | None]) -> Finder:
    """Return the finder of columns whose hints changed; absent, null and false are the same.

    ``says`` says what happened to the column, and returns None where the rule does not apply.
    """

    def find(comparison: Comparison) -> Iterator[Match]:
        for change in column_hints(comparison, *names):
            if (phrase := says(change)) is not None:
                yield hint_match(change, phrase)

    return find


def column_hints(comparison: Comparison, *names: str) -> Iterator[ColumnPropertyChanged]:
    """Yield the columns where one of these hints changed; absent, null and false are the same (docs/dlt.md §1.3)."""
    yield from (change for change in comparison.of(ColumnPropertyChanged, *names) if not is_restated(change))


def hint_changes(comparison: Comparison, *names: str) -> Iterator[HintChange]:
    """Yield the changed properties of tables, then of columns; those of these names, or all."""
    yield from comparison.of(TablePropertyChanged, *names)
    yield from comparison.of(ColumnPropertyChanged, *names)


def extra_hints(comparison: Comparison, *names: str) -> Iterator[HintChange]:
    """Yield the tables, then the columns, where an ``x-`` hint changed; absent, null and false are the same."""
    for change in hint_changes(comparison, *names):
        if change.name.startswith("x-") and not is_restated(change):
            yield change


def is_unset(stated: Any) -> bool:
    """Return whether a hint counts as not given: absent, null or false."""
    return stated is ABSENT or stated is None or stated is False


def is_restated(change: HintChange) -> bool:
    """Return whether a hint is unset before and after (docs/dlt.md §1.3).

    Null counts as set for the end of a validity, and for a table's contract, where it overrides the schema's (X705).
    """
    null_counts = change.name in ("x-active-record-timestamp", "schema_contract")
    return is_unset(change.before) and is_unset(change.after) and not null_counts


def hint_match(change: HintChange, phrase: str, impact: Impact | None = None, aspect: str = "") -> Match:
    """Return the match whose sentence is the name of the column or table and what happened to it."""
    where = place(change.table, change.column if isinstance(change, ColumnPropertyChanged) else None)
    return Match.of(change, f"{where} {phrase}", impact=impact, aspect=aspect)


def permitted_values(stated: Any) -> list[Any] | None:
    """Return the values of an ``x-enum``, the codes where it maps them to labels; None where there is no limit."""
    return list(stated) if isinstance(stated, list | tuple | Mapping) else None


def without(some: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """Return the values that are not among others; unlike ``in``, ``true`` is not 1."""
    known = [(isinstance(other, bool), other) for other in others]
    return [value for value in some if (isinstance(value, bool), value) not in known]


def values(some: Sequence[Any]) -> str:
    """Return values in backquotes, the first few and how many more there are."""
    phrase = [value if isinstance(value, str) else json.dumps(value, default=str) for value in some]
    return listed(phrase) if phrase else "no value"


_LOOSENED: Final = Impact(readers=Severity.WARN, writers=Severity.INFO)
_INCOMPARABLE: Final = Impact(readers=Severity.WARN, writers=Severity.ERROR, data=Severity.DEPENDS)


def limit_match(change: ColumnPropertyChanged, name: str) -> Match:
    """Return the match of a changed limit, called ``name``; the impact of its rule is that of a tighter limit."""
    before, after = change.before, change.after
    if is_unset(after):
        return hint_match(change, f"has no {name} any more; it was {quote_value(before)}", _LOOSENED)
    if is_unset(before):
        return hint_match(change, f"has a {name} now: {quote_value(after)}")
    impact = {True: _LOOSENED, False: None, None: _INCOMPARABLE}[_is_looser(canonical(change.name), before, after)]
    return hint_match(change, f"changes its {name} {from_to(before, after)}", impact)


def _is_looser(limit: str, before: Any, after: Any) -> bool | None:
    """Return whether a limit admits more values than before; None where the two cannot be compared."""
    if limit == "x-multiple-of":
        return True if _is_multiple(before, after) else (False if _is_multiple(after, before) else None)
    are_numbers = isinstance(before, int | float) and isinstance(after, int | float)
    # Texts of one length are dates or times.
    are_dates = isinstance(before, str) and isinstance(after, str) and len(before) == len(after)
    if limit == "x-pattern" or not (are_numbers or are_dates):
        return None
    return bool(after > before) is ("max" in limit)


def _is_multiple(number: Any, of: Any) -> bool:
    """Return whether one number is a multiple of another; through texts, since 0.3 is 3 times 0.1 as decimals."""
    try:
        return Decimal(str(number)) % Decimal(str(of)) == 0
    except (InvalidOperation, ZeroDivisionError):
        return False

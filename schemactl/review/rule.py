"""The form of a rule, and of its findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from schemactl.review.comparison import Comparison
from schemactl.review.severity import Direction, Impact
from schemactl.schema.nested_types import FieldPath


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """A place where a rule applies.

    Attributes:
        sentence: what a person reads: what happened, names in backquotes, no advice, no full stop.
        table, column: names in the head schema, or in the base schema where the thing is gone.
        keys: where it is stated in the stored schema: ``("tables", "orders", "columns", "note", "data_type")``; by
            default the column, or the table. Keys may be missing on one side: messages point to what would hold them.
        before, after: what it was and is, as plain JSON data.
        aspect: what distinguishes it from other matches of the rule with the same keys; no two have one fingerprint.
        impact: in place of the rule's own.
        question: what has to be counted in the data, where the impact on stored data ``DEPENDS``: the values that do
            not survive the new type (``type``), or the nulls (``null``) of this column, or the values at ``field``
            inside of it that do not survive (``field``).
        field: where the field of the question is.
        advice: where the match is a guess, how to state it or to refuse it; a full sentence.
    """

    sentence: str
    table: str | None = None
    column: str | None = None
    keys: tuple[str | int, ...] = ()
    before: Any = None
    after: Any = None
    aspect: str = ""
    impact: Impact | None = None
    question: Literal["type", "null", "field"] | None = None
    field: FieldPath = ()
    advice: str = ""

    def __post_init__(self) -> None:
        if self.table is not None and not self.keys:
            column = () if self.column is None else ("columns", self.column)
            object.__setattr__(self, "keys", ("tables", self.table, *column))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A kind of change that matters to somebody.

    Attributes:
        id: a letter and three digits; never used again for anything else.
        title: what happened, in a few words, lower case: ``column removed``.
        impact: how bad it is, unless a match says otherwise.
        direction: what it does to the set of data that fits.
        why: whom it breaks and how, for ``schemactl rules ID``; full sentences.
        fix: what to do instead; full sentences.
        find: yields the places where the rule applies.
        is_contract: whether a match breaks the base schema's own contract: it counts in every mode.
        is_cosmetic: whether matches are shown only when asked for.
        is_gate: whether a match changes the review itself: it is an error in every mode, whoever is broken.
        is_about_file: whether it is about the file and its history, which older versions of it say nothing about.
    """

    id: str
    title: str
    impact: Impact
    direction: Direction
    why: str
    fix: str
    find: Callable[[Comparison], Iterator[Match]]
    is_contract: bool = False
    is_cosmetic: bool = False
    is_gate: bool = False
    is_about_file: bool = False


class RuleModule(Protocol):
    """A module in ``schemactl.review.rules``."""

    @property
    def RULE(self) -> Rule: ...

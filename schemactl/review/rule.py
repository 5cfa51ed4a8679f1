"""The form of a rule and of its findings; a rule imports from here all that its declaration needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, assert_never

from schemactl.review.comparison import Comparison
from schemactl.review.field_changes import FieldPropertyChanged
from schemactl.review.severity import BREAKS_ALL, BREAKS_NOBODY, Direction, Impact, Severity
from schemactl.review.wording import plain
from schemactl.schema import changes
from schemactl.schema.nested_types import FieldPath
from schemactl.schema.reader_effects import ReaderEffect

__all__ = ["BREAKS_ALL", "BREAKS_NOBODY", "Comparison", "Direction", "Finder", "Impact", "Match", "Matches"]
__all__ += ["ReaderEffect", "Rule", "Severity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One part of a schema to which a rule applies.

    Attributes:
        sentence: the message for a person: what happened, names in backquotes, no advice, no full stop.
        table, column: names in the head schema, or in the base schema if the head lacks them.
        keys: the path in the stored schema: ``("tables", "orders", "columns", "note", "data_type")``; by default the
            column, or the table. If keys are missing on one side, messages point to the nearest key above.
        before, after: both sides, as plain JSON data.
        aspect: distinguishes it from other matches of the rule with the same keys, so that fingerprints are unique.
        impact: overrides the rule's impact.
        question: the values to count in the data if the impact on stored data ``DEPENDS``: values that do not survive
            the new type (``type``), nulls of this column (``null``), or values at ``field`` inside of it that do not
            survive (``field``).
        field: the path of the question's field.
        advice: if the match is a guess, how to confirm or reject it; a full sentence.
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

    @classmethod
    def of(  # noqa: PLR0913
        cls,
        change: changes.Change,
        sentence: str,
        *,
        before: Any = changes.ABSENT,
        after: Any = changes.ABSENT,
        impact: Impact | None = None,
        question: Literal["type", "null"] | None = None,
        aspect: str = "",
        advice: str = "",
    ) -> Match:
        """Return the match of a change, with the change's place, and by default with its sides."""
        table, column = place_of(change)
        was, becomes = _sides(change)
        return cls(
            sentence=sentence,
            table=table,
            column=column,
            keys=_keys_of(change, table, column),
            before=was if before is changes.ABSENT else before,
            after=becomes if after is changes.ABSENT else after,
            aspect=aspect,
            impact=impact,
            question=question,
            advice=advice,
        )


Matches: TypeAlias = Iterator[Match]
Finder: TypeAlias = Callable[[Comparison], Matches]


def place_of(change: changes.Change) -> tuple[str | None, str | None]:
    """Return the table and the column of a change; None for the schema itself, and for a whole table.

    Names are the head's, or the base's if the head lacks them.
    """
    match change:
        case changes.HeaderChanged() | changes.SettingChanged() | changes.NormalizerChanged():
            return None, None
        case changes.TableAdded() | changes.TableRemoved():
            return change.table.name, None
        case changes.TableRenamed():
            return change.after, None
        case changes.TablePropertyChanged() | changes.ColumnsReordered():
            return change.table, None
        case changes.ColumnAdded() | changes.ColumnRemoved():
            return change.table, change.column.name
        case changes.ColumnRenamed():
            return change.table, change.after
        case changes.ColumnRetyped() | changes.NullabilityChanged() | changes.ColumnPropertyChanged():
            return change.table, change.column
        case _:
            assert_never(change)


def _keys_of(change: changes.Change, table: str | None, column: str | None) -> tuple[str, ...]:
    """Return the path of a change in the stored schema; for a type, the path of the first property that differs."""
    thing = (*(("tables", table) if table is not None else ()), *(("columns", column) if column is not None else ()))
    match change:
        case changes.SettingChanged():
            return "settings", change.name
        case changes.NormalizerChanged():
            return "normalizers", change.name
        case FieldPropertyChanged():
            return *thing, *change.keys
        case changes.HeaderChanged() | changes.TablePropertyChanged() | changes.ColumnPropertyChanged():
            return *thing, change.name
        case changes.NullabilityChanged():
            return *thing, "nullable"
        case changes.ColumnsReordered():
            return *thing, "columns"
        case changes.ColumnRetyped(before=before, after=after):
            names, unset = changes.TYPE_PROPERTIES, changes.ABSENT
            differing = (name for name in names if before.get(name, unset) != after.get(name, unset))
            return *thing, next(differing, "data_type")
        case _:
            return thing


def _sides(change: changes.Change) -> tuple[Any, Any]:
    """Return the values before and after, as plain JSON data."""
    match change:
        case changes.TableAdded():
            return None, change.table.to_dict()
        case changes.TableRemoved():
            return change.table.to_dict(), None
        case changes.ColumnAdded():
            return None, change.column.to_dict()
        case changes.ColumnRemoved():
            return change.column.to_dict(), None
        case changes.ColumnRetyped():
            return dict(change.before), dict(change.after)
        case _:
            return plain(change.before), plain(change.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A kind of change that a review reports.

    Attributes:
        id: a letter and three digits; never used again for anything else. By default the name of the rule's variable,
            of an installed one the beginning of the name of its entry point, in capitals.
        title: what happened, in a few words, lower case: ``column removed``.
        impact: how bad it is, unless a match says otherwise.
        severity: of all its matches; by default it follows from the impact and the mode.
        direction: whether more or fewer data fits afterwards.
        why: who it breaks and how, for ``schemactl rules ID``; full sentences.
        fix: what to do instead; full sentences.
        count: how to count the values that decide, which comes before the fix until they are counted; full sentences.
        fix_if_all_survive: what to do if the counted data loses nothing; full sentences.
        find: yields the places of the rule; empty for schemas that the rule does not concern.
        effect: which uses by readers break; None for all uses if the impact on readers is at least a warning.
        is_contract: whether a match breaks the base schema's own contract: it counts in every mode.
        is_cosmetic: whether matches are shown only on request.
        is_gate: whether a match changes the review itself: it is an error in every mode.
        is_about_file: whether it is about the file and its history, which older versions do not have.
    """

    id: str = ""
    title: str
    impact: Impact
    severity: Severity | None = None
    direction: Direction = Direction.NONE
    why: str
    fix: str
    count: str = ""
    fix_if_all_survive: str = ""
    find: Finder = lambda _: iter(())
    effect: ReaderEffect | None = None
    is_contract: bool = False
    is_cosmetic: bool = False
    is_gate: bool = False
    is_about_file: bool = False

    def effect_with(self, impact: Impact) -> ReaderEffect:
        """Return the effect on readers of a match with this impact."""
        if self.effect is not None:
            return self.effect
        return ReaderEffect.REMOVED if impact.readers.rank >= Severity.WARN.rank else ReaderEffect.NONE

    @property
    def full_fix(self) -> str:
        """The advice before any data was counted."""
        return f"{self.count} {self.fix}" if self.count else self.fix

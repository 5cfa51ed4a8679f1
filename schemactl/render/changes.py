"""Changes of a schema in plain words, for every output that a person reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, assert_never

from schemactl.errors import backquoted
from schemactl.review.rule import place_of
from schemactl.schema import changes
from schemactl.schema.arrow_hint import NESTED_TYPE
from schemactl.schema.arrow_hint import describe as describe_nested
from schemactl.schema.diff import details
from schemactl.schema.wording import counted, describe_column, describe_type, show_value

_MOST_NAMES: Final = 12
_MOST_LEAVES: Final = 6


def full_name(change: changes.Change) -> str:
    """Return ``orders.note``, ``orders``, or nothing for a change of the schema itself."""
    return ".".join(filter(None, place_of(change)))


def describe(change: changes.Change) -> str:  # noqa: C901, PLR0911, PLR0912 - a case for each kind
    """Return the text of a change without its place, names in backquotes, not yet escaped for any output."""
    match change:
        case changes.TableAdded():
            return f"new table, {counted(len(change.table.columns), 'column')}"
        case changes.TableRemoved():
            return f"table removed, {counted(len(change.table.columns), 'column')}"
        case changes.TableRenamed(follows_parent=True):
            return f"table renamed from `{change.before}`, as its parent was"
        case changes.TableRenamed():
            return f"table renamed from `{change.before}` ({_source(change.is_stated)})"
        case changes.ColumnAdded():
            return f"new column, {describe_column(change.column)}"
        case changes.VariantFolded():
            return f"variant folded into `{change.into}`, was {describe_column(change.column)}"
        case changes.ColumnRemoved():
            return f"column removed, was {describe_column(change.column)}"
        case changes.ColumnRenamed():
            return f"column renamed from `{change.before}` ({_source(change.is_stated)})"
        case changes.ColumnRetyped():
            before, after = describe_type(change.before), describe_type(change.after)
            if before != after:
                return f"type {before} -> {after}"
            return f"type rewritten: {show_value(change.before)} -> {show_value(change.after)}"
        case changes.NullabilityChanged() if change.is_restated:
            return _restated_nullable(change)
        case changes.NullabilityChanged():
            return "now required" if change.after is False else "now nullable"
        case changes.ColumnsReordered():
            omitted_count = len(change.after) - _MOST_NAMES
            names = backquoted(change.after[:_MOST_NAMES])
            return f"columns reordered: {names}" + (f" and {omitted_count} more" if omitted_count > 0 else "")
        case changes.SettingChanged():
            return f"setting {_hint_phrase(change.name, change.before, change.after)}"
        case changes.NormalizerChanged():
            return f"normalizer {_hint_phrase(change.name, change.before, change.after)}"
        case changes.HeaderChanged() | changes.TablePropertyChanged() | changes.ColumnPropertyChanged():
            return _hint_phrase(change.name, change.before, change.after)
        case _:
            assert_never(change)


def what_changed(change: changes.Change) -> str:
    """Return the key or the order that a cosmetic change is about, for a list of them."""
    match change:
        case changes.NullabilityChanged():
            return "the wording of `nullable`"
        case changes.ColumnsReordered():
            return "the order of columns"
        case (
            changes.HeaderChanged()
            | changes.SettingChanged()
            | changes.NormalizerChanged()
            | changes.TablePropertyChanged()
            | changes.ColumnPropertyChanged()
        ):
            return f"`{change.name}`"
        case _:
            return describe(change)


def _restated_nullable(change: changes.NullabilityChanged) -> str:
    """Return that a column still accepts or still refuses nulls, and how the file now says so."""
    meaning = "nullable" if change.after is changes.ABSENT or change.after is None or change.after else "required"
    match change.before, change.after:
        case _, after if after is changes.ABSENT:
            rewording = f"`nullable: {show_value(change.before)}` removed"
        case before, _ if before is changes.ABSENT:
            rewording = f"`nullable: {show_value(change.after)}` added"
        case _:
            rewording = _hint_phrase("nullable", change.before, change.after)
    return f"still {meaning} ({rewording})"


def _hint_phrase(name: str, before: Any, after: Any) -> str:
    if name == NESTED_TYPE:
        before, after = (describe_nested(side) if isinstance(side, str) else side for side in (before, after))
    if before is changes.ABSENT:
        return f"`{name}` added: {show_value(after)}"
    if after is changes.ABSENT:
        return f"`{name}` removed (was {show_value(before)})"
    if isinstance(before, Mapping | list) and isinstance(after, Mapping | list):
        return f"`{name}`: {_inside(before, after)}"
    return f"`{name}`: {show_value(before)} -> {show_value(after)}"


def _inside(before: Any, after: Any) -> str:
    """Return the leaves that differ: of a large value little does, as a rule."""
    leaves = details(before, after)
    parts = []
    for leaf in leaves[:_MOST_LEAVES]:
        path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in leaf.path)  # `.not_null[2]`
        parts += [_hint_phrase(path.removeprefix("."), leaf.before, leaf.after)] if leaf.path else []
    if not parts:
        return f"{show_value(before)} -> {show_value(after)}"
    omitted_count = len(leaves) - len(parts)
    return "; ".join(parts) + (f"; and {omitted_count} more" if omitted_count else "")


def _source(is_stated: bool) -> str:
    return "declared" if is_stated else "a guess"

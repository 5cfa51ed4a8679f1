"""Rules about hints of tables and columns: H6xx."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from itertools import chain
from typing import Final

from schemactl.review.announcements import deprecated_until, notices
from schemactl.review.field_changes import STRUCTURE_HINTS, FieldPropertyChanged
from schemactl.review.hints import (
    DEPRECATED,
    STABILITY,
    UNITS,
    HintChange,
    extra_hints,
    has_rule,
    hint_changes,
    hint_match,
    hint_rule,
    is_restated,
    is_unset,
)
from schemactl.review.nested_fields import field_hints, value_hints
from schemactl.review.rule import (
    BREAKS_ALL,
    BREAKS_NOBODY,
    Comparison,
    Direction,
    Impact,
    Match,
    Matches,
    ReaderEffect,
    Rule,
    Severity,
)
from schemactl.review.stability import Stability, stability
from schemactl.review.wording import from_to, full_name, quote_value
from schemactl.schema.arrow_hint import NESTED_TYPE, describe
from schemactl.schema.changes import ColumnPropertyChanged, ColumnRetyped, NullabilityChanged
from schemactl.schema.full_types import full_type
from schemactl.schema.personal import is_protective

H601 = Rule(
    title="partition changed",
    impact=BREAKS_NOBODY,
    why="The rows stay the same but are stored in other partitions: queries may become faster or slower, and may cost "
    "more. dlt partitions only tables that it creates; an existing table keeps its partitions.",
    fix="Reload the table if the partitions matter. Iceberg can change them for new rows only.",
    find=hint_rule(
        "partition",
        says=lambda change: "no longer partitions the table" if is_unset(change.after) else "now partitions the table",
    ),
)


H602 = Rule(
    title="cluster or sort changed",
    impact=BREAKS_NOBODY,
    why="The rows stay the same but are stored in another order: queries may become faster or slower. dlt clusters "
    "and sorts only tables that it creates.",
    fix="Reload the table if the order matters, or alter it at the destination.",
    find=hint_rule(
        "cluster",
        "sort",
        says=lambda change: (
            f"no longer {change.name}s the table" if is_unset(change.after) else f"now {change.name}s the table"
        ),
    ),
)


def find_hint_changed(comparison: Comparison) -> Matches:
    """Yield each new, removed or changed hint of a table, column or field that no other rule covers."""
    for change in extra_hints(comparison):
        has_field_findings = (
            isinstance(change, ColumnPropertyChanged)
            and change.name in STRUCTURE_HINTS
            and comparison.fields.get((change.table, change.column))
        )
        if has_rule(change.name) or is_protective(change.name) or has_field_findings:
            continue
        if change.name == NESTED_TYPE:
            sides = (change.before, change.after)
            before, after = (describe(side) if isinstance(side, str) else side for side in sides)
            change = replace(change, before=before, after=after)
        yield hint_match(change, _hint_phrase(change))
    for change in field_hints(comparison):
        if not (has_rule(change.name) or is_protective(change.name) or change.name in ("nullable", "description")):
            yield hint_match(change, _hint_phrase(change))


def _hint_phrase(change: HintChange) -> str:
    if is_unset(change.after):
        return f"no longer has the hint `{change.name}`, which was {quote_value(change.before)}"
    if is_unset(change.before):
        return f"has a new hint `{change.name}`: {quote_value(change.after)}"
    if change.before == change.after:
        return f"declares the same type {quote_value(change.after)} with another `{change.name}`"
    return f"changes the hint `{change.name}` {from_to(change.before, change.after)}"


H603 = Rule(
    title="hint changed",
    impact=BREAKS_NOBODY,
    why="dlt keeps hints that start with `x-` and includes them in the hash. Their effect depends on who reads them: "
    "a destination (`x-bigquery-…`), a tool, or a person.",
    fix="Ask the owner of the hint. If no one reads it, no action is needed.",
    find=find_hint_changed,
)


def find_classification_removed(comparison: Comparison) -> Matches:
    """Yield each protective hint of a table, column or field that was removed or has another value."""
    for change in chain(extra_hints(comparison), field_hints(comparison)):
        if not is_protective(change.name) or is_unset(change.before):
            continue
        if is_unset(change.after):
            yield hint_match(change, f"is no longer marked `{change.name}`; it was {quote_value(change.before)}")
        else:
            yield hint_match(change, f"changes `{change.name}` {from_to(change.before, change.after)}")


H604 = Rule(
    title="classification removed or changed",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Masking, access rules and deletion requests rely on such hints (names with pii, classification, sensitiv, "
    "gdpr or confidential). Without them, the column is treated like any other, although its values are the same.",
    fix="Keep the hint unless the data owner agrees to the change. If the hint has a new name, set both names for a "
    "while.",
    find=find_classification_removed,
    effect=ReaderEffect.NONE,
)


_NOTES: Final = ("x-normalizer", "x-loader", "x-extractor")


def find_processing_note_changed(comparison: Comparison) -> Matches:
    """Yield each changed processing note of dlt on a table or column, except the nesting."""
    for change in extra_hints(comparison, *_NOTES):
        sides = (side if isinstance(side, Mapping) else {} for side in (change.before, change.after))
        before, after = ({name: note for name, note in side.items() if name != "max_nesting"} for side in sides)
        if before != after:
            yield hint_match(change, f"has other dlt processing notes in `{change.name}`")


H605 = Rule(
    title="processing notes changed",
    impact=Impact(),
    why="dlt notes here that a table has received data (`seen-data`), that a column has only had nulls so far "
    "(`seen-null-first`), or that columns may evolve once. The notes change the hash, but no stored data and no query "
    "results.",
    fix="No action needed. Keep reviewed schemas in dlt's import folder, where dlt leaves these notes out.",
    find=find_processing_note_changed,
    is_cosmetic=True,
)


_SAME: Final = "which means the same"


def find_restated(comparison: Comparison) -> Matches:
    """Yield each property that is added, removed or written differently with the same meaning."""
    for retyped in comparison.of(ColumnRetyped):
        before, after = full_type(retyped.before), full_type(retyped.after)
        if before == after:
            where, phrase = full_name(retyped.table, retyped.column), f"the type `{after}`" if after else "no type"
            yield Match.of(retyped, f"{where} declares its type in another way, but still has {phrase}")
    for change in comparison.of(NullabilityChanged):
        if change.is_restated:
            phrase = f"sets `nullable` to {quote_value(change.after)} instead of {quote_value(change.before)}, {_SAME}"
            yield Match.of(change, f"{full_name(change.table, change.column)} {phrase}")
    for hint in hint_changes(comparison):
        if is_restated(hint) and hint.name != "description":
            phrase = f"sets `{hint.name}` to {quote_value(hint.after)} instead of {quote_value(hint.before)}, {_SAME}"
            yield hint_match(hint, phrase)


H606 = Rule(
    title="same meaning, written differently",
    impact=Impact(),
    why="To dlt, a property that is absent, null or set to its default means the same: `nullable: true`, `unique: "
    "false`, `precision: 64` of a bigint. The hash covers the properties as written, so it changes anyway.",
    fix="No action needed: only the hash changes.",
    find=find_restated,
    is_cosmetic=True,
)


def find_unit_or_format_changed(comparison: Comparison) -> Matches:
    """Yield each column with another unit, format, currency, encoding or time zone of its values.

    A unit that is removed together with its type is reported by the rule about types.
    """
    retyped = {
        (change.table, change.column)
        for change in comparison.of(ColumnRetyped)
        if change.before.get("data_type") != change.after.get("data_type")
    }
    for change in value_hints(comparison, *UNITS):
        before, after = quote_value(change.before), quote_value(change.after)
        if is_unset(change.before):
            yield hint_match(change, f"now sets `{change.name}`: {after}", BREAKS_NOBODY)
        elif not is_unset(change.after):
            phrase = f"changes `{change.name}` from {before} to {after}: the meaning of its values changes"
            yield hint_match(change, phrase)
        elif isinstance(change, FieldPropertyChanged) or (change.table, change.column) not in retyped:
            impact = Impact(readers=Severity.WARN, writers=Severity.INFO)
            yield hint_match(change, f"no longer sets `{change.name}`; it was {before}", impact)


H607 = Rule(
    title="unit or format changed",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="Readers calculate with the unit: a sum over seconds and milliseconds is meaningless. Pipelines that have not "
    "changed send the old unit, and existing rows keep it; neither engines nor loads convert them. The hints are "
    "`x-unit`, `x-format`, `x-currency`, `x-encoding` and `x-timezone`.",
    fix="Add a column with another name and the new unit (`duration_ms` next to `duration`), update every pipeline to "
    "fill both, and remove the old column after a notice (rule C205).",
    find=find_unit_or_format_changed,
    effect=ReaderEffect.MEANING,
)


_PROMISES: Final = (Stability.DRAFT, Stability.BETA, Stability.STABLE)


def find_stability_lowered(comparison: Comparison) -> Matches:
    """Yield each table and column that is less stable now; the default is ``stable``."""
    for change in extra_hints(comparison, STABILITY):
        before, after = stability(change.before or None), stability(change.after or None)
        if _PROMISES.index(after) < _PROMISES.index(before):
            is_draft = after is Stability.DRAFT
            effect = "from then on, its changes break no one" if is_draft else "readers are promised less"
            yield hint_match(change, f"changes from `{before}` to `{after}`: {effect}")


H608 = Rule(
    title="stability lowered",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    direction=Direction.LOOSENS,
    why="`x-stability` sets how serious later changes are: under `draft`, no change fails a review; under `beta`, a "
    "change that breaks only readers does not. Lowering it withdraws a promise to readers and pipelines, and turns "
    "off this protection from the next review on.",
    fix="Keep the stability of data that people use. If you must lower it, agree with the readers, and silence this "
    "finding with the reason.",
    find=find_stability_lowered,
    is_gate=True,
    effect=ReaderEffect.NONE,
)


def find_classification_added(comparison: Comparison) -> Matches:
    """Yield each existing table, column and field that gets a protective hint."""
    for change in chain(extra_hints(comparison), field_hints(comparison)):
        if is_protective(change.name) and is_unset(change.before):
            yield hint_match(change, f"is now marked `{change.name}`: {quote_value(change.after)}")


H609 = Rule(
    title="classification added",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO, data=Severity.WARN),
    direction=Direction.TIGHTENS,
    why="Masking and access rules rely on such hints (names with pii, classification, sensitiv, gdpr or "
    "confidential): readers may now get masked values or none. Existing values, including copies and backups, were "
    "not protected until now.",
    fix="Warn readers, and treat existing values as the hint requires: mask them, or restrict who can read them.",
    find=find_classification_added,
    effect=ReaderEffect.NONE,
)


def find_removal_announced(comparison: Comparison) -> Matches:
    """Yield each notice that is new or later, and each mark without a day, new or gone."""
    for notice in notices(comparison):
        if notice.after and notice.before is None:
            yield notice.match(f"{notice.where} is announced for removal; its last day is {notice.after}")
        elif notice.after and notice.before and notice.after > notice.before:
            yield notice.match(f"the last day of {notice.where} moves from {notice.before} to {notice.after}")
    for change in extra_hints(comparison, DEPRECATED):
        mark = change.after
        if any(deprecated_until({DEPRECATED: side}) is not None for side in (change.before, mark)):
            continue
        if is_unset(mark):
            yield hint_match(change, "is no longer deprecated")
        elif isinstance(mark, Mapping) and mark.get("use"):
            yield hint_match(change, f"is deprecated; use `{mark['use']}`")
        else:
            yield hint_match(change, f"is deprecated: {mark}" if isinstance(mark, str) else "is deprecated")


H610 = Rule(
    title="deprecated, or removal announced",
    impact=BREAKS_NOBODY,
    why="`x-deprecated: DATE` on a table or column, `x-removed-columns` and `x-removed-tables` tell readers the last "
    "day on which they can rely on it. After that day, its removal is rule C205 or T103 and breaks no one.",
    fix="Move the queries that use it. `x-deprecated: {until: DATE, reason: TEXT, use: OTHER}` gives the reason and "
    "the replacement.",
    find=find_removal_announced,
)


LEAST_DAYS: Final = 30
"""From the day of a review to the last day that it announces."""


def find_notice_shortened(comparison: Comparison) -> Matches:
    """Yield each notice of less than 30 days, and each notice that was moved earlier or removed."""
    earliest = comparison.today + timedelta(days=LEAST_DAYS)
    for notice in notices(comparison):
        before, after = notice.before, notice.after
        if after is None:
            phrase = "is no longer announced for removal" if notice.exists else "is no longer a retired name"
            yield notice.match(f"{notice.where} {phrase}; its last day was {before}", Impact(readers=Severity.WARN))
        elif before is None and after < earliest and notice.exists:
            phrase = f"is announced for removal after {after}, less than {LEAST_DAYS} days away"
            yield notice.match(f"{notice.where} {phrase}")
        elif before is not None and after < before:
            yield notice.match(f"the last day of {notice.where} moves earlier, from {before} to {after}")


H611 = Rule(
    title="notice too short, moved earlier or withdrawn",
    impact=Impact(readers=Severity.ERROR),
    direction=Direction.TIGHTENS,
    why="After the announced last day, a removal does not fail a review (C205, T103). A day that is near or past "
    "leaves readers no time, and a day that is moved earlier breaks the announcement. If a notice is withdrawn, "
    "readers moved for nothing, and a retired name may be reused.",
    fix="Announce a removal at least 30 days ahead, and never move it earlier. Silence this finding if all readers "
    "have agreed.",
    find=find_notice_shortened,
    effect=ReaderEffect.NONE,
)

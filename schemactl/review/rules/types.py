"""Rules about other types of columns and of the fields inside them: D3xx."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from schemactl.review.field_changes import FieldEvent
from schemactl.review.nested_fields import field_changes, field_match, freezes_fields, had_fields, type_label
from schemactl.review.retypes import (
    Effect,
    accepts_values,
    conversion_rule,
    converted,
    impact_of,
    resized,
    size_rule,
    value_effect,
)
from schemactl.review.rule import BREAKS_ALL, Comparison, Direction, Impact, Match, Matches, Rule, Severity
from schemactl.review.wording import full_name
from schemactl.schema.changes import ColumnRetyped
from schemactl.schema.conversions import SPELLED_DIFFERENTLY
from schemactl.schema.full_types import full_type
from schemactl.schema.types import DataType

D301 = Rule(
    title="type widened",
    impact=Effect.WIDENED.impact,
    direction=Direction.LOOSENS,
    why="dlt converts every value of the old type, so pipelines go on. Queries and programs see another type: sums and "
    "comparisons may work differently, and typed clients have to be generated anew. Where the new type is of another "
    "family (numbers, times, texts, bools, JSON, binaries), PostgreSQL and DuckDB refuse most queries: `sum(total)` or "
    "`total > 10` on a text. dlt never alters the type of a column that a destination has already: it stays there as "
    "it was until it is migrated.",
    fix="Inform the readers, and migrate the column in the destination in the same release. If readers cannot follow, "
    "add a new column of the new type and keep the old one for a while.",
    find=conversion_rule(Effect.WIDENED),
)


D302 = Rule(
    title="type conversion depends on the values",
    impact=Effect.DEPENDS.impact,
    direction=Direction.UNDETERMINED,
    why="dlt converts the values that fit the new type. Each one that does not fit goes into a variant column such as "
    "`total__v_double` at the next load, or fails the load where the contract freezes data types; a number that is "
    "larger than the new type fails in the destination. Rows that are stored already cannot be converted while one of "
    "them does not fit. Readers are broken where the new type is of another family (numbers, times, texts, bools, "
    "JSON, binaries): engines refuse most queries then, whatever the values.",
    count="Count the values that do not fit by giving the data (`--data`).",
    fix="Repair values that do not fit at the source. Or add a new column of the new type, fill it where the value "
    "fits, and remove the old one later.",
    fix_if_all_survive="Every value in the data fits the new type. Let every pipeline send such values only, inform "
    "the readers, and migrate the column in the destination in the same release.",
    find=conversion_rule(Effect.DEPENDS),
)


D303 = Rule(
    title="type conversion loses information",
    impact=Effect.LOSES.impact,
    direction=Direction.BOTH,
    why="dlt converts such values silently: there is no error, no variant column, and no way back to the value that "
    "was loaded. Values that are stored already lose the same when the column is converted. Readers are broken where "
    "the new type is of another family (numbers, times, texts, bools, JSON, binaries): engines refuse most queries "
    "then.",
    fix="Add a new column of the new type beside the old one. Where integers are points in time, state `x-unit: "
    "epoch_s` on the column if they count seconds since 1970; the change is then rule D302.",
    find=conversion_rule(Effect.LOSES),
)


_find_refused = conversion_rule(Effect.REFUSED)


def find_type_refused(comparison: Comparison) -> Matches:
    """Yield each column whose new type takes no value of the old one, and each that has no type any more."""
    yield from _find_refused(comparison)
    for change in comparison.of(ColumnRetyped):
        before = full_type(change.before)
        if before and full_type(change.after) is None:
            where = full_name(change.table, change.column)
            sentence = f"{where} loses its type `{before}`: the next load would infer one anew"
            yield Match.of(
                change, sentence, impact=Impact(readers=Severity.ERROR, writers=Severity.INFO, data=Severity.WARN)
            )


D304 = Rule(
    title="type conversion refused",
    impact=Effect.REFUSED.impact,
    direction=Direction.BOTH,
    why="dlt converts no value of the old type to the new one. A pipeline that still sends the old type fills a "
    "variant column such as `total__v_bool`, or fails where the contract freezes data types; stored values cannot be "
    "taken over. A column without a type is not created in a new destination at all, until data gives it one.",
    fix="Add a new column of the new type, and keep the old one until nobody reads it. Where the values can be "
    "converted by your own rule, do so in the pipeline before dlt sees them.",
    find=find_type_refused,
)


D305 = Rule(
    title="size increased",
    impact=Effect.GROWS.impact,
    direction=Direction.LOOSENS,
    why="Every value still fits. Readers that reserved room for the old size may meet longer values. dlt checks no "
    "value against a size: it creates new columns by it, and never alters those that a destination has.",
    fix="Nothing has to be done for new destinations. Alter the column in those that have it, or longer values are "
    "refused there.",
    find=size_rule(Effect.GROWS, "grows from {before.size} to {after.size}"),
)


D306 = Rule(
    title="size decreased",
    impact=Effect.SHRINKS.impact,
    direction=Direction.TIGHTENS,
    why="Longer values do not fit any more. dlt checks no value against a size and makes no variant column: the load "
    "fails, in the destination or while dlt writes a Parquet file, or the destination ignores the size (DuckDB "
    "does so for texts). Stored rows cannot be taken over while one of them is too long.",
    count="Count the values that are too long by giving the data (`--data`).",
    fix="Shorten the values at the source first, or keep the old size.",
    fix_if_all_survive="Every value in the data fits. Let no pipeline send longer ones, then migrate the column.",
    find=size_rule(Effect.SHRINKS, "shrinks from {before.size} to {after.size}"),
)


D307 = Rule(
    title="scale increased",
    impact=Effect.WIDENED.impact,
    direction=Direction.LOOSENS,
    why="Every value still fits. Readers that round to the old scale, or compare texts such as `1.50`, see others. dlt "
    "never alters a column that a destination has, and Iceberg knows no way to change a scale in place.",
    fix="Inform the readers, and migrate the column in the destinations that have it; in Iceberg by a new column.",
    find=size_rule(Effect.WIDENED, "changes from `{before}` to `{after}`: more digits after the point"),
)


D308 = Rule(
    title="scale increased at the cost of integer digits",
    impact=Effect.DEPENDS.impact,
    direction=Direction.BOTH,
    why="Large numbers do not fit any more: a `decimal(10, 2)` holds 99999999.99, a `decimal(10, 4)` only 999999.9999."
    " dlt checks no value against precision and scale, so the load fails: in the destination, or while dlt writes "
    "a Parquet file.",
    count="Count the numbers that are too large by giving the data (`--data`).",
    fix="Raise the precision by as many digits as the scale.",
    fix_if_all_survive="Every number in the data fits. Let no pipeline send larger ones, or raise the precision by as "
    "many digits as the scale.",
    find=size_rule(
        Effect.DEPENDS, "changes from `{before}` to `{after}`: only {after.integer_digits} digits before the point"
    ),
)


D309 = Rule(
    title="scale decreased",
    impact=Effect.LOSES.impact,
    direction=Direction.TIGHTENS,
    why="DuckDB and Postgres round what does not fit, without an error: sums change, and there is no way back. dlt "
    "leaves it to the destination; only where it writes Parquet files its load fails instead.",
    fix="Keep the scale, or add a new column with the smaller one beside it. Where amounts are to be rounded, round "
    "them in the pipeline by a rule of your own.",
    find=size_rule(Effect.LOSES, "changes from `{before}` to `{after}`: digits after the point are rounded away"),
)


def find_timezone_changed(comparison: Comparison) -> Matches:
    """Yield each timestamp with another time zone property; absent means true, as in dlt."""
    for retype in resized(comparison):
        if retype.before.timezone == retype.after.timezone:
            continue
        if retype.after.timezone:
            yield retype.match("is a point in time now; before it was local, without a time zone")
        else:
            yield retype.match("has no time zone any more; before it was a point in time")


D310 = Rule(
    title="time zone changed",
    impact=Effect.REZONED.impact,
    direction=Direction.BOTH,
    why="Comparisons and conversions in queries mean something else: a column with a time zone is shown in the "
    "session's zone, one without is not. dlt writes UTC in both cases, and leaves the column in the destination as it "
    "is, so old and new destinations disagree.",
    fix="Add a new column, or migrate the column in a session whose time zone is UTC, and inform the readers.",
    find=find_timezone_changed,
)


def find_fraction_digits_changed(comparison: Comparison) -> Matches:
    """Yield each timestamp and time of another precision; absent means six digits."""
    for retype in resized(comparison):
        before, after = retype.before.precision, retype.after.precision
        if retype.after.data_type not in (DataType.TIMESTAMP, DataType.TIME) or before is None or after is None:
            continue
        if before != after:
            impact = Effect.GROWS.impact if after > before else None
            yield retype.match(f"keeps {after} instead of {before} digits of a second", impact=impact)


D311 = Rule(
    title="fraction of seconds changed",
    impact=Effect.COARSER.impact,
    direction=Direction.BOTH,
    why="With fewer digits the rest is cut or rounded away: rows that differed only there become equal, and an "
    "incremental cursor may load rows twice or skip some. dlt cuts them in Parquet files, and leaves it to the "
    "destination in others.",
    fix="Keep the precision of columns that order rows or serve as a cursor. State the same precision in every "
    "destination that is compared.",
    find=find_fraction_digits_changed,
)


_SPELLINGS: Final[Mapping[DataType, str]] = {
    DataType.BOOL: "dlt writes `True`, engines write `true`",
    DataType.DOUBLE: "dlt writes `1.0`, PostgreSQL writes `1`",
    DataType.DECIMAL: "dlt writes `{came}` as it came, engines write it with the digits of the scale: `{filled}`",
    DataType.TIMESTAMP: "dlt writes `2024-01-02T03:04:05+00:00`, engines write `2024-01-02 03:04:05+00`",
    DataType.TIME: "dlt writes `04:05:06.120000`, engines write `04:05:06.12`",
    DataType.BINARY: "dlt writes Base64, engines write `\\x` and hexadecimal digits",
    DataType.JSON: "dlt writes it without blanks, engines may order keys anew",
}


def find_text_spelling(comparison: Comparison) -> Matches:
    """Yield each column that becomes text and was of a type without one common spelling."""
    for retype, effect, _ in converted(comparison):
        becomes_text = effect in (Effect.WIDENED, Effect.DEPENDS) and retype.after.data_type == DataType.TEXT
        if becomes_text and retype.before.data_type in SPELLED_DIFFERENTLY:
            is_nested = had_fields(comparison, retype.change.table, retype.change.column)
            lost = ", and its fields or elements are gone" if is_nested else ""
            scale = retype.before.scale or 0
            came = ("1.0", "1")[scale] if scale < 2 else "1.5"
            spelled = _SPELLINGS[retype.before.data_type].format(came=came, filled=f"{float(came):.{scale}f}")
            sentence = f"becomes text{lost}: {spelled}"
            # Queries name fields and elements, which texts do not have: the impact of D313.
            yield retype.match(sentence, impact=replace(D312.impact, readers=Severity.ERROR) if is_nested else None)


D312 = Rule(
    title="text of an engine's own spelling",
    impact=Effect.SPELLED.impact,
    why="Rows that are loaded from now on hold dlt's spelling. Rows that the destination converted hold the engine's: "
    "the same value stands there as two texts, and filters and joins miss one of them.",
    fix="Convert the stored rows to dlt's spelling by an expression of your own, not by a bare change of type. Or load "
    "the table anew.",
    find=find_text_spelling,
)


def find_field_retyped(comparison: Comparison) -> Matches:
    """Yield each field that exists before and after, of another type or size."""
    for change in field_changes(comparison, FieldEvent.RETYPED):
        before, after, sizes = change.before, change.after, change.full_types
        assert before is not None
        assert after is not None
        effect, impact = value_effect(before, after, sizes), impact_of(before, after, sizes)
        if freezes_fields(comparison.head.schema, change.table) and not accepts_values(before, after):
            impact = replace(impact, writers=Severity.ERROR)
        is_resized = before == after  # the size is not part of what Spark calls the type
        labels = sizes if is_resized else (type_label(before), type_label(after))
        where = full_name(change.table, change.name)
        sentence = f"{where} changes from `{labels[0]}` to `{labels[1]}`: {effect.phrase}"
        yield field_match(change, sentence, impact, "field" if effect.is_open and not is_resized else None)


D313 = Rule(
    title="field retyped inside a column",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="Queries and programs see another type. No step of a migration changes a type inside a column: where the "
    "destination has the old one, loads are refused that do not fit it. How bad it is for the values is as with a "
    "column of its own that changes so (D301 to D311). Where the contract freezes `data_type`, pipelines fail that "
    "still send the old type.",
    count="Where the values decide, count those that do not fit by giving the data (`--data`).",
    fix="Add a field of another name with the new type, and keep the old one until nobody reads it. Or load the "
    "table anew.",
    fix_if_all_survive="Every value in the data fits the new type. Load the table anew, as no step of a migration "
    "changes a type inside a column.",
    find=find_field_retyped,
)

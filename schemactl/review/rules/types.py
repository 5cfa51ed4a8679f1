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
    promoted,
    resized,
    size_rule,
    value_effect,
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
from schemactl.review.wording import full_name
from schemactl.schema.changes import ColumnRetyped
from schemactl.schema.conversions import SPELLED_DIFFERENTLY, crosses_families
from schemactl.schema.full_types import full_type
from schemactl.schema.types import DataType
from schemactl.schema.widening import holds_all

D301 = Rule(
    title="type widened",
    impact=Effect.WIDENED.impact,
    direction=Direction.LOOSENS,
    why="dlt converts every value of the old type, so pipelines keep working. Queries and programs get another type: "
    "sums and comparisons may work differently, and typed clients must be regenerated. If the new type belongs to "
    "another family (numbers, times, text, booleans, JSON, binary), PostgreSQL and DuckDB reject most queries, such "
    "as `sum(total)` or `total > 10` on text. dlt never alters the type of a column that a destination already has: "
    "the column keeps the old type until it is migrated.",
    fix="Warn readers, and migrate the column at the destination in the same release. If readers cannot follow, add a "
    "column of the new type and keep the old one for a while.",
    find=conversion_rule(Effect.WIDENED),
    effect=ReaderEffect.RETYPED,
)


D302 = Rule(
    title="type conversion depends on the values",
    impact=Effect.DEPENDS.impact,
    direction=Direction.UNDETERMINED,
    why="dlt converts the values that fit the new type. At the next load, a value that does not fit goes to a variant "
    "column such as `total__v_double`, or fails the load if the contract freezes data types; a number too large for "
    "the new type fails at the destination. Existing rows cannot be converted while any value does not fit. If the "
    "new type belongs to another family (numbers, times, text, booleans, JSON, binary), the change breaks readers: "
    "engines reject most queries, whatever the values.",
    count="To count the values that do not fit, add `--data FILE`, or run `schemactl migrate plan` on a database.",
    fix="Fix values that do not fit at the source. Or add a column of the new type, fill it with the values that fit, "
    "and remove the old column later.",
    fix_if_all_survive="Every value in the data fits the new type. Make every pipeline send only such values, warn "
    "readers, and migrate the column at the destination in the same release.",
    find=conversion_rule(Effect.DEPENDS),
    effect=ReaderEffect.RETYPED,
)


D303 = Rule(
    title="type conversion loses information",
    impact=Effect.LOSES.impact,
    direction=Direction.BOTH,
    why="dlt converts such values silently: it reports no error, adds no variant column, and the original value "
    "cannot be recovered. Existing values lose the same information when the column is converted. If the new type "
    "belongs to another family (numbers, times, text, booleans, JSON, binary), the change breaks readers: engines "
    "reject most queries.",
    fix="Add a column of the new type and keep the old one. If the integers are seconds since 1970, set `x-unit: "
    "epoch_s` on the column; the change is then rule D302.",
    find=conversion_rule(Effect.LOSES),
    effect=ReaderEffect.RETYPED,
)


_find_refused = conversion_rule(Effect.REFUSED)


def find_type_refused(comparison: Comparison) -> Matches:
    """Yield each column whose new type accepts no value of the old type, and each column that lost its type."""
    yield from _find_refused(comparison)
    for change in comparison.of(ColumnRetyped):
        before = full_type(change.before)
        if before and full_type(change.after) is None:
            where = full_name(change.table, change.column)
            sentence = f"{where} loses its type `{before}`: the next load would infer it again"
            impact = Impact(readers=Severity.ERROR, writers=Severity.INFO, data=Severity.WARN)
            yield Match.of(change, sentence, impact=impact)


D304 = Rule(
    title="type conversion not supported",
    impact=Effect.REFUSED.impact,
    direction=Direction.BOTH,
    why="dlt cannot convert values of the old type to the new one. A pipeline that still sends the old type fills a "
    "variant column such as `total__v_bool`, or fails if the contract freezes data types. Existing values cannot be "
    "converted. A column without a data type is not created at a new destination until data gives it one.",
    fix="Add a column of the new type, and keep the old one until no one reads it. If you can convert the values by "
    "your own rule, do so in the pipeline before dlt reads them.",
    find=find_type_refused,
    effect=ReaderEffect.RETYPED,
)


D305 = Rule(
    title="size increased",
    impact=Effect.GROWS.impact,
    direction=Direction.LOOSENS,
    why="Every value still fits. Readers that reserved space for the old size may get longer values. dlt does not "
    "check values against a size: it creates new columns with the size and never alters existing ones.",
    fix="No action needed for new destinations. Alter the column at existing destinations, or they reject longer "
    "values.",
    find=size_rule(Effect.GROWS, "grows from {before.size} to {after.size}"),
    effect=ReaderEffect.RETYPED,
)


D306 = Rule(
    title="size decreased",
    impact=Effect.SHRINKS.impact,
    direction=Direction.TIGHTENS,
    why="Longer values no longer fit. dlt does not check values against a size and adds no variant column: the load "
    "fails at the destination or while dlt writes a Parquet file, or the destination ignores the size (as DuckDB does "
    "for text). Existing rows cannot be converted while any value is too long.",
    count="To count the values that are too long, add `--data FILE`, or run `schemactl migrate plan` on a database.",
    fix="Shorten the values at the source first, or keep the old size.",
    fix_if_all_survive="Every value in the data fits. Make sure that no pipeline sends longer values, then migrate "
    "the column.",
    find=size_rule(Effect.SHRINKS, "shrinks from {before.size} to {after.size}"),
    effect=ReaderEffect.RETYPED,
)


D307 = Rule(
    title="scale increased",
    impact=Effect.WIDENED.impact,
    direction=Direction.LOOSENS,
    why="Every value still fits. Readers that round to the old scale, or compare strings such as `1.50`, get "
    "different values. dlt never alters an existing column, and Iceberg cannot change a scale in place.",
    fix="Warn readers, and migrate the column at existing destinations. In Iceberg, add a new column instead.",
    find=size_rule(Effect.WIDENED, "changes from `{before}` to `{after}`: more digits after the point"),
    effect=ReaderEffect.RETYPED,
)


D308 = Rule(
    title="scale increased at the cost of integer digits",
    impact=Effect.DEPENDS.impact,
    direction=Direction.BOTH,
    why="Large numbers no longer fit: a `decimal(10, 2)` holds up to 99999999.99, a `decimal(10, 4)` only up to "
    "999999.9999. dlt does not check values against precision and scale, so the load fails at the destination or "
    "while dlt writes a Parquet file.",
    count="To count the numbers that are too large, add `--data FILE`, or run `schemactl migrate plan` on a database.",
    fix="Raise the precision by the same number of digits as the scale.",
    fix_if_all_survive="Every number in the data fits. Make sure that no pipeline sends larger numbers, or raise the "
    "precision by the same number of digits as the scale.",
    find=size_rule(
        Effect.DEPENDS, "changes from `{before}` to `{after}`: only {after.integer_digits} digits before the point"
    ),
    effect=ReaderEffect.RETYPED,
)


D309 = Rule(
    title="scale decreased",
    impact=Effect.LOSES.impact,
    direction=Direction.TIGHTENS,
    why="DuckDB and PostgreSQL round values that do not fit, without an error: sums change, and the original values "
    "cannot be recovered. dlt leaves this to the destination; only a load that writes Parquet files fails instead.",
    fix="Keep the scale, or add a second column with the smaller scale. To round amounts, round them in the pipeline "
    "by your own rule.",
    find=size_rule(Effect.LOSES, "changes from `{before}` to `{after}`: digits after the point are rounded away"),
    effect=ReaderEffect.RETYPED,
)


def find_timezone_changed(comparison: Comparison) -> Matches:
    """Yield each timestamp with another time zone property; absent means true, as in dlt."""
    for retype in resized(comparison):
        if retype.after.timezone and not retype.before.timezone:
            yield retype.match("is now a point in time; before, it was local time without a time zone")
        elif retype.before.timezone and not retype.after.timezone:
            yield retype.match("no longer has a time zone; before, it was a point in time")


D310 = Rule(
    title="time zone changed",
    impact=Effect.REZONED.impact,
    direction=Direction.BOTH,
    why="Comparisons and conversions in queries change meaning: a column with a time zone is shown in the session's "
    "time zone, a column without one is not. dlt writes UTC in both cases and never alters the column at the "
    "destination, so old and new destinations disagree.",
    fix="Add a new column, or migrate the column in a session whose time zone is UTC, and warn readers.",
    find=find_timezone_changed,
    effect=ReaderEffect.MEANING,
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
    title="fractional seconds changed",
    impact=Effect.COARSER.impact,
    direction=Direction.BOTH,
    why="With fewer digits, the other digits are cut or rounded: rows that differed only in them become equal, and an "
    "incremental cursor may load rows twice or skip some. dlt cuts the digits in Parquet files; in other files, it "
    "leaves them to the destination.",
    fix="Keep the precision of columns that order rows or serve as a cursor. Set the same precision at every "
    "destination that you compare.",
    find=find_fraction_digits_changed,
    effect=ReaderEffect.RETYPED,
)


_SPELLINGS: Final[Mapping[DataType, str]] = {
    DataType.BOOL: "dlt writes `True`, engines write `true`",
    DataType.DOUBLE: "dlt writes `1.0`, PostgreSQL writes `1`",
    DataType.DECIMAL: "dlt writes `{came}` as it came, engines write it with the digits of the scale: `{filled}`",
    DataType.TIMESTAMP: "dlt writes `2024-01-02T03:04:05+00:00`, engines write `2024-01-02 03:04:05+00`",
    DataType.TIME: "dlt writes `04:05:06.120000`, engines write `04:05:06.12`",
    DataType.BINARY: "dlt writes Base64, engines write `\\x` and hexadecimal digits",
    DataType.JSON: "dlt writes it without spaces, engines may reorder keys",
}


def find_text_spelling(comparison: Comparison) -> Matches:
    """Yield each column that becomes text and was of a type without one common spelling."""
    for retype, effect, _ in converted(comparison):
        becomes_text = effect in (Effect.WIDENED, Effect.DEPENDS) and retype.after.data_type == DataType.TEXT
        if becomes_text and retype.before.data_type in SPELLED_DIFFERENTLY:
            is_nested = had_fields(comparison, retype.change.table, retype.change.column)
            lost = ", and loses its fields or elements" if is_nested else ""
            scale = retype.before.scale or 0
            came = ("1.0", "1")[scale] if scale < 2 else "1.5"
            spelled = _SPELLINGS[retype.before.data_type].format(came=came, filled=f"{float(came):.{scale}f}")
            sentence = f"becomes text{lost}: {spelled}"
            # Queries name fields and elements, which texts do not have: the impact of D313.
            yield retype.match(sentence, impact=replace(D312.impact, readers=Severity.ERROR) if is_nested else None)


D312 = Rule(
    title="engine-specific text format",
    impact=Effect.SPELLED.impact,
    why="New rows hold values in dlt's text format. Rows that the destination converted hold them in the engine's "
    "format: the same value exists as two strings, and filters and joins miss one of them.",
    fix="Convert existing rows to dlt's text format with your own expression, not with a plain type change. Or reload "
    "the table.",
    find=find_text_spelling,
    effect=ReaderEffect.RETYPED,
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
        is_resized = before == after  # Spark's type does not contain the size
        labels = sizes if is_resized else (type_label(before), type_label(after))
        where = full_name(change.table, change.name)
        sentence = f"{where} changes from `{labels[0]}` to `{labels[1]}`: {effect.phrase}"
        yield field_match(change, sentence, impact, "field" if effect.is_open and not is_resized else None)


D313 = Rule(
    title="field retyped inside a column",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="Queries and programs get another type. No migration step changes a type inside a column: if the destination "
    "has the old type, it rejects loads that do not fit it. The risk for values is the same as when the type of a "
    "column changes in this way (D301 to D311). If the contract freezes `data_type`, pipelines that still send the "
    "old type fail.",
    count="If the conversion depends on the values, run again with `--data` to count the values that do not fit.",
    fix="Add a field with another name and the new type, and keep the old field until no one reads it. Or reload the "
    "table.",
    fix_if_all_survive="Every value in the data fits the new type. Reload the table, because no migration step "
    "changes a type inside a column.",
    find=find_field_retyped,
    effect=ReaderEffect.RETYPED,
)


def find_column_widened(comparison: Comparison) -> Matches:
    """Yield each column that data made wider under a contract with ``promote``."""
    for retype in promoted(comparison):
        is_open = not holds_all(retype.before, retype.after)
        impact = Effect.WIDENED.impact
        if is_open:
            impact = replace(impact, data=Severity.DEPENDS)
        if crosses_families(retype.before.data_type, retype.after.data_type):
            impact = replace(impact, readers=Severity.ERROR)
        sentence = f"is widened from `{retype.before}` to `{retype.after}` by data (`promote`)"
        yield retype.match(sentence, impact=impact, is_open=is_open)


D314 = Rule(
    title="column widened by data",
    impact=replace(Effect.WIDENED.impact, data=Severity.DEPENDS),
    direction=Direction.LOOSENS,
    why="The contract `data_type: promote` (`x-schemactl-contract`) widens a column if all values of a load survive "
    "exactly. Queries and programs get another type. Stored values become wider with the next load or migration, "
    "which count them first: if one does not survive, they change nothing.",
    count="To count the values that do not survive, add `--data FILE`, or run `schemactl migrate plan` on a database.",
    fix="Warn readers, and widen the column at each destination: `schemactl migrate apply`, or a load with the same "
    "contract. To keep the type, set `x-schemactl-contract: evolve` on the column, and later data goes to a variant "
    "column.",
    fix_if_all_survive="Every value in the data survives. Warn readers, and widen the column at each destination: "
    "`schemactl migrate apply`, or a load with the same contract.",
    find=find_column_widened,
    effect=ReaderEffect.RETYPED,
)

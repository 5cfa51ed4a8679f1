"""Rules about columns, and the fields inside them, that come, go or are renamed, and about their nulls: C2xx, N4xx."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from schemactl.grouping import group_by
from schemactl.review.added_removed import Addition, Removal, added_columns, added_tables, removed_columns, variant_of
from schemactl.review.announcements import column_last_day, is_expired, own_last_day
from schemactl.review.field_changes import FieldChange, FieldEvent
from schemactl.review.hints import hint_match, is_unset, property_rule
from schemactl.review.nested_fields import (
    field_changes,
    field_hints,
    field_match,
    freezes_fields,
    type_label,
    value_hints,
)
from schemactl.review.reshapes import Form, reshapes
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
from schemactl.review.wording import advice, full_name, listed, plain, quote_value, with_type
from schemactl.schema import changes
from schemactl.schema.backfill import BACKFILL, backfill_fault
from schemactl.schema.contract import Mode, contract_for
from schemactl.schema.conversions import crosses_families
from schemactl.schema.nested_types import path_text
from schemactl.schema.presence import has_implicit_fields, has_implicit_presence
from schemactl.schema.renames import ID
from schemactl.schema.structure import has_type
from schemactl.schema.types import Column


def find_column_added(comparison: Comparison) -> Matches:
    """Yield each added column that is nullable, has no type yet, or is in a table without rows."""
    for change in added_columns(comparison, Addition.PLAIN):
        column = change.column
        waits = "" if has_type(column) else ", without a data type yet"
        yield Match.of(change, f"column {with_type(column)} is new in `{change.table}`{waits}")


C201 = Rule(
    title="column added",
    impact=BREAKS_NOBODY,
    direction=Direction.LOOSENS,
    why="Existing rows get null, and pipelines that do not send the column leave it null. dlt adds the column with "
    "the next load; a column without a data type is not added until data gives it one.",
    fix="No action needed. `SELECT *` returns one more column.",
    find=find_column_added,
    effect=ReaderEffect.ADDED,
)


def find_required_column_added(comparison: Comparison) -> Matches:
    """Yield each new column that cannot be null, in a table of the base."""
    for change in added_columns(comparison, Addition.REQUIRED):
        fault = backfill_fault(change.column)
        odd = f"; its `{BACKFILL}` cannot fill existing rows: {fault}" if fault else ""
        yield Match.of(change, f"required column {with_type(change.column)} is new in `{change.table}`{odd}")


C202 = Rule(
    title="required column added",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.ERROR),
    direction=Direction.TIGHTENS,
    why="Existing rows have no value for the column. dlt adds it with `NOT NULL`, which most databases reject for a "
    "table that has rows, so the load fails. Pipelines that do not send the column fail too.",
    fix="Make the column nullable. Fill the existing rows, update every pipeline to send the column, then make it "
    "required. Or set `x-backfill: VALUE` on the column to give existing rows a value (rule C203).",
    find=find_required_column_added,
    effect=ReaderEffect.ADDED,
)


def find_backfilled_column_added(comparison: Comparison) -> Matches:
    """Yield each added column that cannot be null and has ``x-backfill``."""
    for change in added_columns(comparison, Addition.BACKFILLED):
        value = quote_value(change.column.properties[BACKFILL])
        new_column = f"required column {with_type(change.column)} is new in `{change.table}`"
        yield Match.of(change, f"{new_column}; existing rows get {value}")


C203 = Rule(
    title="required column added with a backfill",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.WARN),
    direction=Direction.TIGHTENS,
    why="Existing rows get the value of `x-backfill`, so they stay valid if that value is correct for them. Pipelines "
    "that do not send the column fail. dlt does not support `x-backfill`: its own load adds the column with `NOT "
    "NULL`, which most databases reject for a table that has rows.",
    fix="Before the next load, add the column and fill the existing rows at the destination, and update every "
    "pipeline to send it. Or make the column nullable.",
    find=find_backfilled_column_added,
    effect=ReaderEffect.ADDED,
)


def find_column_removed(comparison: Comparison) -> Matches:
    """Yield each column that was removed without notice, or before the end of its notice.

    No destination has a column without a data type, and a contract treats it as new when data brings it, with or
    without its declaration.
    """
    for change in removed_columns(comparison, Removal.PLAIN):
        name, table = change.column.name, change.table
        announced = column_last_day(comparison.base_table(table), name)
        until = f" before its last day, {announced}" if announced else ""
        is_frozen = contract_for(comparison.head.schema, table).columns is Mode.FREEZE
        has_rows = has_type(change.column)
        untyped = "" if has_rows else ", but never had a data type"
        impact = (BREAKS_ALL if is_frozen else None) if has_rows else BREAKS_NOBODY
        yield Match.of(change, f"column `{name}` was removed from `{table}`{until}{untyped}", impact=impact)


C204 = Rule(
    title="column removed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.WARN, data=Severity.ERROR),
    direction=Direction.TIGHTENS,
    why="A query that selects the column fails once it is dropped, and its values are lost. A pipeline that still "
    "sends the column re-creates it, or fails if the contract freezes `columns`. dlt never drops a column: until "
    "someone drops it, it stays at the destination and is null in new rows.",
    fix="Keep the column, as nullable, until no one reads it. Announce its end with `x-removed-columns: {COLUMN: "
    "DATE}` on the table, with DATE as its last day. After that day, its removal is rule C205.",
    find=find_column_removed,
)


def find_announced_column_removed(comparison: Comparison) -> Matches:
    """Yield each column that was removed after the end of its notice."""
    for change in removed_columns(comparison, Removal.ANNOUNCED):
        name, table = change.column.name, change.table
        until = column_last_day(comparison.base_table(table), name)
        yield Match.of(change, f"column `{name}` was removed from `{table}`, as announced: its last day was {until}")


C205 = Rule(
    title="announced column removed",
    impact=Impact(readers=Severity.INFO, writers=Severity.INFO, data=Severity.WARN),
    direction=Direction.TIGHTENS,
    why="`x-removed-columns` in the base schema announced the column's last day, which has passed. Readers were "
    "warned, but the values are still lost when the column is dropped.",
    fix="Confirm that no one needs the values. Keep the name in `x-removed-columns` so that it is not reused.",
    find=find_announced_column_removed,
)


def find_column_renamed(comparison: Comparison) -> Matches:
    """Yield each renamed column."""
    for change in comparison.of(changes.ColumnRenamed):
        verb = "was" if change.is_stated else "was probably"
        base = comparison.base_table(change.table)
        is_taken = base is not None and change.after in base.columns
        ending = ", which was another column: queries on it read other values" if is_taken else ""
        yield Match.of(
            change,
            f"column `{change.before}` of `{change.table}` {verb} renamed to `{change.after}`{ending}",
            impact=BREAKS_ALL if is_taken else None,
            advice="" if change.is_stated else advice(change.before, change.after),
        )


C206 = Rule(
    title="column renamed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    direction=Direction.BOTH,
    why="dlt does not support renames: it adds a column with the new name, null in existing rows, and leaves the old "
    "column, null in new rows. Queries on either name see only some of the values, and pipelines that still send the "
    "old name fill the old column. If columns swap names, or a column takes another column's name, no query fails but "
    "all of them read the wrong values. An undeclared rename is a guess; its finding explains how to confirm or "
    "reject it.",
    fix="Rename the column at the destination before the next load, and give readers a view or a generated column "
    "with the old name.",
    find=find_column_renamed,
)


def find_retired_name_reused(comparison: Comparison) -> Matches:
    """Yield each new column or table whose name the base schema has retired."""
    for added in added_tables(comparison, Addition.REVIVED):
        name = added.table.name
        since = own_last_day(comparison.base.schema, name)
        yield Match.of(added, f"table `{name}` is new, but the name was retired after {since}")
    for change in added_columns(comparison, Addition.REVIVED):
        column, table = with_type(change.column), change.table
        since = column_last_day(comparison.base_table(table), change.column.name)
        yield Match.of(change, f"column {column} is new in `{table}`, but the name was retired after {since}")


C207 = Rule(
    title="retired name reused",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="`x-removed-columns` or `x-removed-tables` in the base schema lists the name. If the old data was never "
    "dropped at the destination, dlt adds to it: old values, with another meaning and perhaps another type, are mixed "
    "with the new ones. Old queries and pipelines mistake the new data for the old.",
    fix="Choose another name. If the old column or table really returns, first remove its name from "
    "`x-removed-columns` or `x-removed-tables` in a separate change.",
    find=find_retired_name_reused,
)


def find_variant_added(comparison: Comparison) -> Matches:
    """Yield each added variant, by its mark or by its name."""
    for change in added_columns(comparison, Addition.VARIANT):
        base_name, variant_type = variant_of(comparison, change), change.column.data_type
        base = comparison.head_column(change.table, base_name) if base_name else None
        sentence, impact = f"variant column {with_type(change.column)} is new in `{change.table}`", None
        if base is not None:
            sentence += f" next to `{base.name}` ({quote_value(base.properties.get('data_type'))})"
            if variant_type and base.data_type and not crosses_families(base.data_type, variant_type):
                impact = replace(C208.impact, readers=Severity.ERROR)
        yield Match.of(change, sentence, impact=impact)


C208 = Rule(
    title="variant column added",
    impact=Impact(readers=Severity.WARN, writers=Severity.INFO, data=Severity.WARN),
    direction=Direction.LOOSENS,
    why="Some values do not fit the column's type. dlt writes them to a variant column and leaves the column null "
    "there, so queries on the column miss them without an error. The change breaks readers if both types belong "
    "to one family (numbers or times): of 1, 2 and 1.5, only the integers are in the column, so its sums and averages "
    "are wrong from then on.",
    fix="Check the values. Fix the source, or give the column a type that holds all of them and merge the variant "
    "column into it. With `schema_contract: {data_type: freeze}`, such a load fails instead.",
    find=find_variant_added,
    effect=ReaderEffect.ADDED,
)


def find_variant_folded(comparison: Comparison) -> Matches:
    """Yield each removed variant at the column that must hold its values."""
    for change in removed_columns(comparison, Removal.FOLDED):
        of = variant_of(comparison, change)
        column = comparison.head_column(change.table, of) if of else None
        if column is not None:
            holder = f"`{of}` ({quote_value(column.properties.get('data_type'))})"
            phrase = f"was removed from `{change.table}`: {holder} must hold its values"
            yield _variant_match(change, column, phrase)


def _variant_match(change: changes.ColumnRemoved | changes.VariantFolded, column: Column, phrase: str) -> Match:
    """Return the match of a variant that is gone, at the column that holds its values."""
    return Match(
        sentence=f"variant column {with_type(change.column)} {phrase}",
        table=change.table,
        column=column.name,
        before=change.column.to_dict(),
        after=column.to_dict(),
        question="type",
    )


C209 = Rule(
    title="variant column merged into its column",
    impact=Impact(readers=Severity.ERROR, writers=Severity.INFO, data=Severity.DEPENDS),
    direction=Direction.UNDETERMINED,
    why="Queries that read the variant column, for example with `coalesce`, fail once it is dropped. Its values are "
    "lost unless they are copied into the column first, which works only for values that fit the column's type. A "
    "pipeline that gets such a value again re-creates the variant column.",
    count="To count the values that do not fit the column's type, add `--data FILE`.",
    fix="Fold it with `schemactl edit NAME --fold TABLE.VARIANT`: then `schemactl migrate` moves the values.",
    fix_if_all_survive="Every value in the data fits the column. Let `schemactl migrate` move the values: "
    "`schemactl edit NAME --fold TABLE.VARIANT`.",
    find=find_variant_folded,
)


def find_declared_fold(comparison: Comparison) -> Matches:
    """Yield each variant whose values a column holds by ``x-folded-from``, at that column."""
    for change in comparison.of(changes.VariantFolded):
        column = comparison.head_column(change.table, change.into)
        if column is not None:
            into = f"`{change.into}` ({quote_value(column.properties.get('data_type'))})"
            yield _variant_match(change, column, f"of `{change.table}` was folded into {into}")


C221 = Rule(
    title="variant folded into its column",
    impact=Impact(readers=Severity.ERROR, writers=Severity.INFO, data=Severity.DEPENDS),
    direction=Direction.UNDETERMINED,
    why="`x-folded-from` says that the column holds the values of the variant column, which is gone. `schemactl "
    "migrate` moves the stored values, and refuses if a value would change or a row has values in both columns. "
    "Queries that read the variant column fail; queries on the column get the values that they missed.",
    count="To count the values that do not fit, add `--data FILE`, or run `schemactl migrate plan` on a database.",
    fix="Give the column a type that holds all values, and let readers use the column.",
    fix_if_all_survive="All values survive. Migrate before the next load, and let readers use the column.",
    find=find_declared_fold,
)


def find_value_became_list(comparison: Comparison) -> Matches:
    """Yield each column of single values whose name a new nested table has."""
    for reshape in reshapes(comparison):
        if reshape.form is not Form.LISTED:
            continue
        where = f"`{reshape.column}` of `{reshape.table}`"
        tables = listed(reshape.tables)
        gone = f"{where} now holds lists: the column was removed, and the values are in {tables}"
        both = f"{where} now also holds lists: rows with a list have it in {tables}, and null in the column"
        yield Match(
            sentence=both if reshape.keeps_column else gone,
            table=reshape.table,
            column=reshape.column,
            before={"column": reshape.column},
            after={"tables": list(reshape.tables)},
            impact=Impact(readers=Severity.WARN, writers=Severity.INFO) if reshape.keeps_column else None,
        )


C210 = Rule(
    title="value became a list",
    impact=Impact(readers=Severity.ERROR, writers=Severity.WARN, data=Severity.ERROR),
    direction=Direction.BOTH,
    why="dlt stores a list in a nested table, one row per item. Queries on the column miss the values of new rows: "
    "with an error if the column is gone, silently if it stays. Existing values are not moved.",
    fix="If the source sends lists by mistake, fix it. Otherwise keep the column until readers join the nested table, "
    "and copy the existing values there. A `data_type: json` hint keeps lists in one column.",
    find=find_value_became_list,
)


def find_column_completed(comparison: Comparison) -> Matches:
    """Yield each column that got its first data type; dlt adds it to the table now, so it may be required."""
    for change in comparison.of(changes.ColumnRetyped):
        data_type = plain(change.after.get("data_type"))
        if plain(change.before.get("data_type")) is not None or data_type is None:
            continue
        impact = _required_impact(comparison, change)
        required = " and is required" if impact else ""
        sentence = f"column `{change.column}` of `{change.table}` now has the data type `{data_type}`{required}"
        yield Match.of(change, sentence, impact=impact)


def _required_impact(comparison: Comparison, change: changes.ColumnRetyped) -> Impact | None:
    """Return the effect of a required column on a table that has rows."""
    column = comparison.head.schema.tables[change.table].columns[change.column]
    if column.nullable or not comparison.has_stored_rows(change.table):
        return None
    is_filled = column.properties.get(BACKFILL) is not None and backfill_fault(column) is None
    data = Severity.WARN if is_filled else Severity.ERROR
    return Impact(readers=Severity.INFO, writers=Severity.ERROR, data=data)


C211 = Rule(
    title="column given a data type",
    impact=BREAKS_NOBODY,
    direction=Direction.LOOSENS,
    why="dlt creates a column at the destination only once it has a data type. The next load adds it: existing rows "
    "get null, and if the column is required, most databases reject it for a table that has rows.",
    fix="No action needed for a nullable column. Make a required column nullable first, and make it required again "
    "once all rows have a value.",
    find=find_column_completed,
    effect=ReaderEffect.ADDED,
)


_find_column_description_changed = property_rule(
    changes.ColumnPropertyChanged,
    "description",
    says=lambda change: f"the description of column `{change.column}` of `{change.table}` changed",
)


def find_description_changed(comparison: Comparison) -> Matches:
    """Yield each column, and each field inside a column, with another description."""
    yield from _find_column_description_changed(comparison)
    for change in field_hints(comparison, "description"):
        field = f"{change.column}{path_text(change.path)}"
        yield Match.of(change, f"the description of field `{field}` of `{change.table}` changed")


C212 = Rule(
    title="column description changed",
    impact=BREAKS_NOBODY,
    why="The description is for people, but it is part of dlt's hash, so the version increases. A new description may "
    "mean that the values have a new meaning, which no rule can detect.",
    fix="No action needed if the values still mean the same. Otherwise use a new column.",
    find=find_description_changed,
)


def find_keys_merged(comparison: Comparison) -> Matches:
    """Yield each key that ``x-source-names`` kept apart from another key, and does so no longer."""
    for change in comparison.of(changes.TablePropertyChanged, "x-source-names"):
        sides, ending = (change.before, change.after), f"in `{change.table}`"
        before, after = (side if isinstance(side, Mapping) else {} for side in sides)
        for path, name in before.items():
            if path not in after:
                phrase = f"the key `{path}` no longer has its own name `{name}`, and shares a name with another key"
                yield Match.of(change, f"{phrase} {ending}", before={path: name}, after=None)
        shared_before = _shared_names(before)
        for (level, name), paths in _shared_names(after).items():
            if set(shared_before.get((level, name), ())) != set(paths):
                old, new = {path: before.get(path) for path in paths}, dict.fromkeys(paths, name)
                phrase = f"the keys {listed(paths)} share the name `{name}`"
                yield Match.of(change, f"{phrase} {ending}", before=old, after=new)


def _shared_names(names: Mapping[str, str]) -> Mapping[tuple[str, str], list[str]]:
    """Return the levels and names that several keys have, with these keys."""
    paths_by_name = group_by(names, lambda path: (path.rpartition(".")[0], names[path]))
    return {level_and_name: paths for level_and_name, paths in paths_by_name.items() if len(paths) > 1}


C213 = Rule(
    title="keys merged",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="Several keys in the data, such as `userId` and `user_id`, are normalized to the same name. dlt writes them "
    "to one column and only logs a line: the later key of a row overwrites the earlier one.",
    fix="Keep the entry in `x-source-names` that gives the key its own name, as `schemactl infer` wrote it.",
    find=find_keys_merged,
)


def find_field_added(comparison: Comparison) -> Matches:
    """Yield each new field that can be null, or whose name is retired, without the fields inside of it."""
    for change in field_changes(comparison, FieldEvent.ADDED):
        since = column_last_day(comparison.base_table(change.table), change.name)
        if since:
            yield field_match(change, f"{_new_field(change)}, but the name was retired after {since}", BREAKS_ALL)
        elif not _is_required(comparison, change):
            yield field_match(change, _new_field(change))


def _new_field(change: FieldChange) -> str:
    assert change.after is not None
    return f"field {full_name(change.table, change.name)} (`{type_label(change.after)}`) is new"


def _is_required(comparison: Comparison, change: FieldChange) -> bool:
    """Return whether records that lack a new field are no records of the head schema."""
    return change.after_properties.get("nullable") is False and not has_implicit_fields(comparison.head.schema)


C214 = Rule(
    title="field added inside a column",
    impact=BREAKS_NOBODY,
    direction=Direction.LOOSENS,
    why="Existing rows have null in the field, and pipelines that do not send the field leave it null. The next load "
    "adds the field if struct columns at the destination can take new fields. For contracts, this changes the "
    "column's `data_type`: if the contract does not let that evolve, rule X703 reports it too. If the base schema "
    "announced the name as removed, such as `buyer.name` in `x-removed-columns`, reusing it is as serious as for a "
    "column (C207).",
    fix="No action needed. Programs that expect exactly the previous fields get one more.",
    find=find_field_added,
)


def find_field_removed(comparison: Comparison) -> Matches:
    """Yield each removed field, without the fields inside of it."""
    for change in field_changes(comparison, FieldEvent.REMOVED):
        assert change.before is not None
        until = column_last_day(comparison.base_table(change.table), change.name)
        if is_expired(until, comparison.today):
            notice = f", as announced: its last day was {until}"
            impact: Impact | None = Impact(readers=Severity.INFO, writers=Severity.INFO, data=Severity.WARN)  # of C205
        else:
            notice = f" before its last day, {until}" if until else ""
            impact = BREAKS_ALL if freezes_fields(comparison.head.schema, change.table) else None
        sentence = f"field {full_name(change.table, change.name)} (`{type_label(change.before)}`) was removed{notice}"
        yield field_match(change, sentence, impact)


C215 = Rule(
    title="field removed inside a column",
    impact=Impact(readers=Severity.ERROR, writers=Severity.WARN, data=Severity.ERROR),
    direction=Direction.TIGHTENS,
    why="A query that selects the field fails once it is dropped, and its values are lost. A pipeline that still "
    "sends the field re-creates it, or fails if the contract freezes `data_type`, which covers fields. Neither loads "
    "nor migration steps drop a field: until someone drops it, it stays at the destination and is null in new rows.",
    fix="Keep the field in `x-spark-type` (or in the data, if dlt sets `x-nested-type`) until no one reads it. "
    "Announce its end with `x-removed-columns: {COLUMN.FIELD: DATE}` on the table (`lines[].price` in a list), with "
    "DATE as its last day.",
    find=find_field_removed,
)


def find_field_renamed(comparison: Comparison) -> Matches:
    """Yield each field with another name, by the same ``x-id``, or by a guess that is made as with columns."""
    for change in field_changes(comparison, FieldEvent.RENAMED):
        verb = "was" if change.is_stated else "was probably"
        where = full_name(change.table, change.old_name)
        yield field_match(change, f"field {where} {verb} renamed to `{change.path[-1]}`")


C216 = Rule(
    title="field renamed inside a column",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    direction=Direction.BOTH,
    why="Neither loads nor migration steps can rename a field: the new field is added, null in existing rows, and the "
    "old field stays, null in new rows. Queries on either name see only some of the values, and pipelines that still "
    "send the old name re-create the old field. Two fields count as renamed if they share an `x-id` in `x-fields`, or "
    "have the same type and similar names. If they are different fields, one was removed (C215) and the other added "
    "(C214).",
    fix="Keep both fields until no one reads the old one, or reload the table. Give readers a view that returns "
    "whichever field is not null.",
    find=find_field_renamed,
)


def find_id_changed(comparison: Comparison) -> Matches:
    """Yield each column and field whose ``x-id`` is new, removed or changed."""
    for change in value_hints(comparison, ID):
        before, after = quote_value(change.before), quote_value(change.after)
        numbers = [type(value) is int for value in (change.before, change.after)]
        changed = f"has the ID {after} instead of {before}"
        if is_unset(change.before):
            yield hint_match(change, f"now has the ID {after}", BREAKS_NOBODY)
        elif is_unset(change.after):
            impact = Impact(readers=Severity.WARN, writers=Severity.WARN) if numbers[0] else BREAKS_NOBODY
            yield hint_match(change, f"no longer has an ID; it was {before}", impact)
        elif any(numbers):
            yield hint_match(change, f"{changed}: files and messages identify it by its ID")
        else:
            impact = Impact(readers=Severity.WARN, writers=Severity.INFO)
            yield hint_match(change, f"{changed}, which declares a different column", impact)


C217 = Rule(
    title="column id changed",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="A number in `x-id` is an Iceberg field ID or a Protocol Buffers field number. Iceberg finds a column's "
    "values in its files by ID, not by name: with another ID, existing values read as null. A message carries "
    "numbers, not names: readers and pipelines with the other number lose the field, or mistake another field for it. "
    "Without a number, an export numbers the field by its position. A string ID, as in data contracts and Arc, "
    "identifies a column: another ID means another column.",
    fix="Keep the ID as long as the column keeps its name. Give a different column a different name, and never reuse "
    "an ID.",
    find=find_id_changed,
)


def find_fields_reordered(comparison: Comparison) -> Matches:
    """Yield each object whose fields changed their order; new fields do not count."""
    for change in field_changes(comparison, FieldEvent.REORDERED):
        yield field_match(change, f"the fields of {full_name(change.table, change.name)} are reordered")


C218 = Rule(
    title="fields reordered inside a column",
    impact=BREAKS_NOBODY,
    why="Queries name fields, and Avro, Parquet, Iceberg and Protocol Buffers find them by name or number. Only code "
    "that reads an object by field position gets other fields: for example `INSERT ... SELECT` of structs in Spark, "
    "or a tuple.",
    fix="No action needed. If rows are inserted by position, keep the order and add new fields at the end.",
    find=find_fields_reordered,
)


def find_required_field_added(comparison: Comparison) -> Matches:
    """Yield each new field that cannot be null, without the fields inside of it."""
    for change in field_changes(comparison, FieldEvent.ADDED):
        if _is_required(comparison, change) and not column_last_day(comparison.base_table(change.table), change.name):
            yield field_match(change, f"required {_new_field(change)}")


C219 = Rule(
    title="required field added inside a column",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.ERROR),
    direction=Direction.TIGHTENS,
    why="Existing objects have no value for the field, and pipelines that do not know the field do not send it: "
    "programs that validate records against the schema (Avro, JSON Schema) reject them. Loads and databases do not "
    "enforce this constraint inside a column.",
    fix="Make the field nullable. Update every pipeline to send it, fill the existing objects, then make it required "
    "(rule N404).",
    find=find_required_field_added,
)


def find_null_forbidden(comparison: Comparison) -> Matches:
    """Yield each column that may not be null any more; one without a data type has no rows yet (rule C211)."""
    for change in comparison.of(changes.NullabilityChanged):
        if not change.is_restated and change.after is False:
            column = comparison.base_column(change.table, change.column)
            is_implicit = column is not None and has_implicit_presence(comparison.head.schema, column.properties)
            sentence = f"{full_name(change.table, change.column)} is now required"
            if is_implicit or (column is not None and not has_type(column)):
                yield Match.of(change, sentence, impact=BREAKS_NOBODY)
            else:
                yield Match.of(change, sentence, question="null")


N401 = Rule(
    title="nullable column made required",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.TIGHTENS,
    why="A pipeline that sends a null fails with `CannotCoerceNullException`. dlt does not check a pipeline that "
    "leaves the key out, and never alters a destination's column: nulls keep arriving there until it is migrated. "
    "Existing rows with nulls block that migration.",
    count="To count the nulls, add `--data FILE`, or run `schemactl migrate plan` on a database.",
    fix="Fill the nulls and update every pipeline to send a value. Only then make the column required.",
    fix_if_all_survive="Every row in the data has a value. Update every pipeline to send one before you make the "
    "column required.",
    find=find_null_forbidden,
)


def find_null_allowed(comparison: Comparison) -> Matches:
    """Yield each column that can be null now and could not before; a column without a data type has no readers yet."""
    for change in comparison.of(changes.NullabilityChanged):
        if not change.is_restated and change.before is False:
            column = comparison.base_column(change.table, change.column)
            is_implicit = column is not None and has_implicit_presence(comparison.head.schema, column.properties)
            impact = BREAKS_NOBODY if is_implicit or (column is not None and not has_type(column)) else None
            yield Match.of(change, f"{full_name(change.table, change.column)} is now nullable", impact=impact)


N402 = Rule(
    title="required column made nullable",
    impact=Impact(readers=Severity.ERROR, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Readers relied on a value in every row: joins drop rows with null, `count(column)` and averages change, and "
    "typed clients fail on the first null. dlt does not drop the `NOT NULL` of a destination's column, so loads of "
    "nulls fail there until it is migrated.",
    fix="Keep the column required, and send a value such as `unknown` from the pipeline. Or warn readers, let them "
    "handle nulls, and only then make it nullable.",
    find=find_null_allowed,
    effect=ReaderEffect.COMPARED,
)


def _impact_of_null(comparison: Comparison) -> Impact | None:
    """Return the impact of another nullability of a field, None for the rule's: in proto3 a missing field is read."""
    return BREAKS_NOBODY if has_implicit_fields(comparison.head.schema) else None


def find_field_null_forbidden(comparison: Comparison) -> Matches:
    """Yield each field inside a column that may not be null any more."""
    for change in field_hints(comparison, "nullable"):
        if change.after is False:
            yield hint_match(change, "is now required", _impact_of_null(comparison))


N404 = Rule(
    title="nullable field made required",
    impact=Impact(readers=Severity.INFO, writers=Severity.ERROR, data=Severity.DEPENDS),
    direction=Direction.TIGHTENS,
    why="Pipelines that send null in the field, or objects without it, violate the schema, and programs that validate "
    "records against it (Avro, JSON Schema, Protocol Buffers) reject them. Loads and databases do not enforce this "
    "constraint inside a column, so existing rows may have nulls.",
    fix="Update every pipeline to send a value, and fill the existing rows. Only then make the field required.",
    find=find_field_null_forbidden,
)


def find_field_null_allowed(comparison: Comparison) -> Matches:
    """Yield each field inside a column that may be null, and might not before."""
    for change in field_hints(comparison, "nullable"):
        if change.before is False:
            yield hint_match(change, "is now nullable", _impact_of_null(comparison))


N405 = Rule(
    title="required field made nullable",
    impact=Impact(readers=Severity.ERROR, writers=Severity.INFO),
    direction=Direction.LOOSENS,
    why="Readers relied on a value in every object: typed clients fail on the first null, and joins and filters drop "
    "rows. An Avro reader whose schema does not allow null in the field cannot read the new records.",
    fix="Keep the field required, and send a value such as `unknown` from the pipeline. Or warn readers, let them "
    "handle nulls, and only then make it nullable.",
    find=find_field_null_allowed,
    effect=ReaderEffect.COMPARED,
)


def find_required_without_field(comparison: Comparison) -> Matches:
    """Yield each column that cannot be null and has no field in the head's model."""
    for table, column in comparison.head.unfilled:
        if (table, column) not in comparison.base.unfilled:
            sentence = f"{full_name(table, column)} is required, but no field of the model fills it"
            yield Match(sentence=sentence, table=table, column=column)


N403 = Rule(
    title="required column without a field",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    direction=Direction.BOTH,
    why="A load with a model fills only the model's fields, so the column gets no value. Databases reject its nulls, "
    "so every load fails. Files accept the nulls, so readers get nulls that the schema forbids.",
    fix="Keep the field. If it must go, first make the column nullable (`nullable: true`) in a separate change that "
    "readers can object to (rule N402).",
    find=find_required_without_field,
)

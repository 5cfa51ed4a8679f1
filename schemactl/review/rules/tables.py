"""Rules about tables: T1xx."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from schemactl.review.added_removed import Addition, Removal, added_tables, removed_tables
from schemactl.review.announcements import table_last_day
from schemactl.review.hints import property_rule
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
from schemactl.review.wording import advice, from_to, listed, plain, quote_value
from schemactl.schema.changes import ColumnAdded, ColumnsReordered, TablePropertyChanged, TableRenamed
from schemactl.schema.contract import system_prefix
from schemactl.schema.dispositions import Strategy
from schemactl.schema.naming import naming_of
from schemactl.schema.structure import typed_columns
from schemactl.schema.types import Properties, Table, chain_of, root_of
from schemactl.schema.wording import counted


def find_table_added(comparison: Comparison) -> Matches:
    """Yield each added table; its columns are not reported one by one."""
    for change in added_tables(comparison, Addition.PLAIN):
        table = change.table
        nested = f", nested in `{table.parent}`" if table.parent else ""
        yield Match.of(change, f"table `{table.name}` is new, with {counted(len(table.columns), 'column')}{nested}")


T101 = Rule(
    title="table added",
    impact=BREAKS_NOBODY,
    direction=Direction.LOOSENS,
    why="No one reads or writes the new table yet. dlt creates it with the next load. If the schema's contract "
    "freezes `tables`, rule X703 reports the table too.",
    fix="No action needed: existing tables do not change.",
    find=find_table_added,
)


def find_table_removed(comparison: Comparison) -> Matches:
    """Yield each table that was removed without notice, or before the end of its notice.

    No destination has a table whose columns lack data types. dlt's own tables belong to the dataset: if a whole schema
    is removed, the dataset's other schemas keep them.
    """
    for change in removed_tables(comparison, Removal.PLAIN):
        table = change.table
        last_day = table_last_day(comparison.base.schema, table.name)
        until = f" before its last day, {last_day}" if last_day else ""
        sentence = f"table `{table.name}` with {counted(len(table.columns), 'column')} was removed{until}"
        prefix = system_prefix(naming_of(comparison.base.schema))
        is_of_dlt = not comparison.head.schema.tables and table.name.startswith(prefix)
        yield Match.of(change, sentence, impact=BREAKS_NOBODY if is_of_dlt or not typed_columns(table) else None)


T102 = Rule(
    title="table removed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.WARN, data=Severity.ERROR),
    direction=Direction.TIGHTENS,
    why="Queries that select from the table fail once it is dropped, and its rows are lost. A pipeline that still "
    "sends the data re-creates the table. dlt never drops a table: until someone drops it, the table stays at the "
    "destination and gets no new rows.",
    fix="Keep the table until no one reads it. Announce its end with `x-removed-tables: {TABLE: DATE}` at the top of "
    "the schema, with DATE as its last day. After that day, its removal is rule T103. (dlt omits `x-` keys at the top "
    "when it exports a schema: keep the announcement in the import file.)",
    find=find_table_removed,
)


def find_announced_table_removed(comparison: Comparison) -> Matches:
    """Yield each table that was removed after the end of its notice."""
    for change in removed_tables(comparison, Removal.ANNOUNCED):
        name = change.table.name
        last_day = table_last_day(comparison.base.schema, name)
        yield Match.of(change, f"table `{name}` was removed, as announced: its last day was {last_day}")


T103 = Rule(
    title="announced table removed",
    impact=Impact(readers=Severity.INFO, writers=Severity.INFO, data=Severity.WARN),
    direction=Direction.TIGHTENS,
    why="`x-removed-tables` in the base schema announced the last day of the table, or of the table that it is nested "
    "in, and that day has passed. Readers were warned, but the rows are still lost when the table is dropped.",
    fix="Confirm that no one needs the rows. Keep the name in `x-removed-tables` so that it is not reused.",
    find=find_announced_table_removed,
)


def find_table_renamed(comparison: Comparison) -> Matches:
    """Yield each renamed table; tables nested in it that only follow are counted."""
    followers = _nested_followers(comparison)
    for change in comparison.of(TableRenamed):
        if change.follows_parent:
            continue
        verb = "was" if change.is_stated else "was probably"
        number = followers[change.after]
        nested = f"; {counted(number, 'nested table')} with it" if number else ""
        is_taken = change.after in comparison.base.schema.tables
        ending = ", which was another table: queries on it read other rows" if is_taken else ""
        yield Match.of(
            change,
            f"table `{change.before}` {verb} renamed to `{change.after}`{ending}{nested}",
            impact=BREAKS_ALL if is_taken else None,
            advice="" if change.is_stated else advice(change.before, change.after),
        )


def _nested_followers(comparison: Comparison) -> Counter[str]:
    """Return how many nested tables follow each table that was renamed on its own account."""
    renames = list(comparison.of(TableRenamed))
    leaders = {change.after for change in renames if not change.follows_parent}
    follower_counts: Counter[str] = Counter()
    for change in renames:
        chain = chain_of(comparison.head.schema, change.after) if change.follows_parent else ()
        leader = next((name for name in chain if name in leaders), None)
        if leader is not None:
            follower_counts[leader] += 1
    return follower_counts


T104 = Rule(
    title="table renamed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.ERROR),
    direction=Direction.BOTH,
    why="dlt does not support renames: it creates a new, empty table and leaves the old one unchanged. Queries on the "
    "old name see no new rows or fail, queries on the new name miss the history, and pipelines that still send the "
    "old name fill the old table. If tables swap names, or a table takes another table's name, no query fails but all "
    "of them read the wrong rows. An undeclared rename is a guess; its finding explains how to confirm or reject it.",
    fix="Rename the table at the destination before the next load, and leave a view with the old name for readers.",
    find=find_table_renamed,
)


def find_table_moved(comparison: Comparison) -> Matches:
    """Yield each table with another parent; a new name of the same parent does not count."""
    for change in comparison.of(TablePropertyChanged, "parent"):
        before, after = plain(change.before) or None, plain(change.after) or None
        if before != after:
            was, becomes = (f"nested in `{parent}`" if parent else "a root table" for parent in (before, after))
            sentence = f"table `{change.table}` is now {becomes}; before, it was {was}"
            yield Match.of(change, sentence, before=before, after=after)


T105 = Rule(
    title="table moved",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="`_dlt_parent_id` of existing rows points to the old parent, so joins with the new parent find no rows. A "
    "pipeline whose schema has the old parent stops with `TablePropertiesConflictException`.",
    fix="Create a table with another name at the new position, load it from the source again, and remove the old "
    "table once no one reads it.",
    find=find_table_moved,
)


def find_nesting_changed(comparison: Comparison) -> Matches:
    """Yield each ``json`` column whose data is in tables or columns on the other side."""
    for reshape in reshapes(comparison):
        if reshape.form is Form.LISTED:
            continue
        names = (("column", reshape.columns), ("table", reshape.tables))
        phrases = [f"in {noun}{'s' if len(of) > 1 else ''} {listed(of)}" for noun, of in names if of]
        json_phrase = f"in one `json` column `{reshape.column}` of `{reshape.table}`"
        # Each with its data.
        json_column = json_phrase, {"column": reshape.column, "data_type": "json"}
        spread = " and ".join(phrases), {"tables": list(reshape.tables), "columns": list(reshape.columns)}
        old, new = (spread, json_column) if reshape.form is Form.COLLAPSED else (json_column, spread)
        sentence = f"nested data that was {old[0]} is now {new[0]}"
        yield Match(sentence=sentence, table=reshape.table, column=reshape.column, before=old[1], after=new[1])


T106 = Rule(
    title="nesting changed",
    impact=Impact(readers=Severity.ERROR, writers=Severity.WARN, data=Severity.ERROR),
    direction=Direction.BOTH,
    why="Readers find the data in other tables and columns, so their queries fail or see no new rows. dlt does not "
    "move existing rows: the history stays in the old layout next to the new one.",
    fix="Keep `max_table_nesting` and the column's `data_type: json` hint unchanged. If the layout must change, load "
    "the data from the source again, and give readers a view with the old layout meanwhile.",
    find=find_nesting_changed,
)


T107 = Rule(
    title="table sealed",
    impact=Impact(writers=Severity.WARN),
    direction=Direction.TIGHTENS,
    why="`table_sealed` asks for no new columns in the table. It comes from old schemas: dlt accepts it but ignores "
    "it, so a team that relies on it is not protected, and another tool may reject new columns.",
    fix="Set `schema_contract: {columns: freeze}` on the table instead, which dlt enforces.",
    find=property_rule(
        TablePropertyChanged,
        "table_sealed",
        says=lambda change: f"table `{change.table}` is now sealed" if change.after is True else None,
    ),
)


STRATEGY: Final = "x-merge-strategy"


def _merge_strategy(table: Table | None) -> str | None:
    """Return the merge strategy of a table, None if its rows are not merged."""
    if table is None or table.properties.get("write_disposition") != "merge":
        return None
    return str(table.properties.get(STRATEGY) or Strategy.DELETE_INSERT)


_DEFAULT_DISPOSITION: Final = "append"

_TRUNCATES: Final = Impact(readers=Severity.ERROR, data=Severity.ERROR)
_DUPLICATES: Final = Impact(readers=Severity.ERROR, data=Severity.WARN)
_REPLACES_ROWS: Final = Impact(readers=Severity.WARN, data=Severity.WARN)
_LACKS_ROOT_KEYS: Final = Impact(readers=Severity.WARN, writers=Severity.ERROR, data=Severity.ERROR)
_PILES_UP: Final = Impact(readers=Severity.ERROR)
_IS_APART: Final = Impact(readers=Severity.WARN)
_STOPS: Final = Impact(readers=Severity.WARN, writers=Severity.WARN)


def find_write_disposition_changed(comparison: Comparison) -> Matches:
    """Yield each table whose ``write_disposition`` changed; a root table appends by default."""
    for change in comparison.of(TablePropertyChanged, "write_disposition"):
        table = comparison.head.schema.tables.get(change.table)
        is_root = table is None or not table.is_nested
        before, after = _effective_disposition(change.before, is_root), _effective_disposition(change.after, is_root)
        if before == after:
            continue
        without_root_key = tuple(_without_root_key(comparison, table)) if table and after == "merge" else ()
        effect, impact = _disposition_effect(before, after, _merge_strategy(table), without_root_key)
        sentence = f"`write_disposition` of `{change.table}` changes {from_to(before, after)}: {effect}"
        yield Match.of(change, sentence, before=before, after=after, impact=impact)


def _effective_disposition(disposition: Any, is_root: bool) -> str | None:
    """Return the effective disposition; a nested table without one does as its parent."""
    return plain(disposition) or (_DEFAULT_DISPOSITION if is_root else None)


def _without_root_key(comparison: Comparison, table: Table) -> Iterator[str]:
    """Yield the nested tables with rows, but without the root key that later merges need; scd2 needs no root key."""
    if _merge_strategy(table) == Strategy.SCD2:
        return
    head = comparison.head.schema
    for name in head.tables:
        base = comparison.base_table(name)
        if name == table.name or base is None or base.is_new or root_of(head, name) != table.name:
            continue
        if not any(column.properties.get("root_key") for column in base.columns.values()):
            yield name


def _disposition_effect(
    before: str | None, after: str | None, strategy: str | None, without_root_key: tuple[str, ...]
) -> tuple[str, Impact]:
    """Return the effect of a changed write disposition on later loads, as a clause, and its impact."""
    match before, after:
        case _, "replace":
            return "the next load deletes the existing rows", _TRUNCATES
        case _, "skip":
            return "loads no longer write the table", _STOPS
        case _, "merge" if without_root_key:
            lack = f"the existing rows of {listed(without_root_key)} have no `_dlt_root_id`"
            return f"{lack}, so the next load fails", _LACKS_ROOT_KEYS
        case "skip", _:
            return "loads now write the table", BREAKS_NOBODY
        case _, "merge" if strategy == Strategy.SCD2:
            return "each changed row is stored as another version", _PILES_UP
        case _, "merge" if strategy == Strategy.INSERT_ONLY:
            return "rows with a new key are added, and other rows stay unchanged", _REPLACES_ROWS
        case _, "merge":
            return "new rows replace stored rows with the same key", _REPLACES_ROWS
        case "merge", "append":
            return "rows with an existing key are added a second time", _DUPLICATES
        case "replace", _:
            return "rows of earlier loads now stay", _PILES_UP
        case _:
            return "the table and its parent are written in different ways, or no longer are", _IS_APART


T108 = Rule(
    title="write disposition changed",
    impact=_TRUNCATES,
    why="The next load uses the new disposition, and queries that count or sum all rows get other numbers. `replace` "
    "empties the table first, so the history is lost. From `merge` or `replace` to `append`, rows that were loaded "
    "before are stored again. With `merge`, dlt adds the required column `_dlt_root_id` to nested tables, which fails "
    "if they hold rows.",
    fix="If the history matters, save the table before the next load. If readers rely on one row per key, or on all "
    "rows ever loaded, load with the new disposition into a new table. Give nested tables their root key before the "
    "next load: `ALTER TABLE orders__items ADD COLUMN _dlt_root_id varchar`, then `UPDATE orders__items SET "
    "_dlt_root_id = _dlt_parent_id` in tables nested directly in the root table, and the `_dlt_root_id` of the parent "
    "row in deeper tables. Or reload the table (`refresh`).",
    find=find_write_disposition_changed,
    effect=ReaderEffect.MEANING,
)


_OF_SCD2: Final = Impact(readers=Severity.ERROR, writers=Severity.WARN, data=Severity.WARN)
_LACKS_KEY: Final = Impact(readers=Severity.WARN, writers=Severity.ERROR, data=Severity.WARN)


def find_merge_strategy_changed(comparison: Comparison) -> Matches:
    """Yield each table that merges by another strategy; to merge at all or no more is T108, unless by another one."""
    changed = (change.table for change in comparison.of(TablePropertyChanged, "write_disposition", STRATEGY))
    for name in dict.fromkeys(changed):
        head = comparison.head.schema.tables.get(name)
        before, after = _merge_strategy(comparison.base_table(name)), _merge_strategy(head)
        is_special = Strategy.SCD2 in (before, after) or after in (Strategy.INSERT_ONLY, Strategy.UPSERT)
        if before == after or (None in (before, after) and not is_special):
            continue
        phrase, impact = _strategy_effect(before, after, head)
        was, becomes = (quote_value(strategy) if strategy else "no strategy" for strategy in (before, after))
        yield Match(
            sentence=f"rows of `{name}` are now merged by {becomes}, before by {was}{phrase}",
            table=name,
            keys=("tables", name, STRATEGY),
            before=before,
            after=after,
            impact=impact,
        )


def _strategy_effect(before: str | None, after: str | None, head: Table | None) -> tuple[str, Impact | None]:
    has_key = head is None or any(column.properties.get("primary_key") for column in head.columns.values())
    if after in (Strategy.INSERT_ONLY, Strategy.UPSERT) and not has_key:
        return ", which needs a primary key, and the table lacks it", _LACKS_KEY
    if Strategy.SCD2 in (before, after):
        return "", _OF_SCD2
    if after == Strategy.INSERT_ONLY:
        return ": rows that changed keep their old values", _OF_SCD2
    return "", None


T109 = Rule(
    title="merge strategy changed",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN, data=Severity.WARN),
    why="The strategy decides which stored rows the next load replaces, keeps or deletes. `scd2` keeps every version "
    "of a row, with the columns `_dlt_valid_from` and `_dlt_valid_to`: queries that expect one row per key count some "
    "rows several times. Without it, the old versions stay among the current rows. `insert-only` leaves stored rows "
    "unchanged, so readers see old values. `upsert` and `insert-only` fail without a primary key.",
    fix="Try the new strategy on a copy of the table. For `scd2`, give readers a view of the current rows (rows "
    "whose `_dlt_valid_to` is null) under the old name.",
    find=find_merge_strategy_changed,
    effect=ReaderEffect.MEANING,
)


T110 = Rule(
    title="table format changed",
    impact=Impact(readers=Severity.WARN, writers=Severity.ERROR),
    why="dlt does not convert an existing table. The next load finds a table in the old format and fails, or starts a "
    "new table without the old rows and snapshots. Readers may need another engine or connector.",
    fix="Copy the table to the new format under a new name, move readers there, then change the schema.",
    find=property_rule(
        TablePropertyChanged,
        "table_format",
        says=lambda change: f"`table_format` of `{change.table}` changes {from_to(change.before, change.after)}",
    ),
)


T111 = Rule(
    title="description or file format changed",
    impact=BREAKS_NOBODY,
    why="The description is for people, and the file format is that of the files between dlt and the destination. The "
    "table itself does not change.",
    fix="No action needed: the table itself does not change.",
    find=property_rule(
        TablePropertyChanged,
        "description",
        "file_format",
        says=lambda change: (
            f"`{change.name}` of `{change.table}` changed"
            + ("" if change.name == "description" else f", {from_to(change.before, change.after)}")
        ),
    ),
)


def find_filters_changed(comparison: Comparison) -> Matches:
    """Yield each table whose ``filters`` changed."""
    for change in comparison.of(TablePropertyChanged, "filters"):
        before, after = plain(change.before) or {}, plain(change.after) or {}
        phrases = [*_filter_phrases("excludes", before, after), *_filter_phrases("includes", before, after)]
        if phrases:
            sentence = f"`filters` of `{change.table}` changed: {'; '.join(phrases)}"
            yield Match.of(change, sentence, before=before, after=after)


def _filter_phrases(kind: str, before: Properties, after: Properties) -> Iterator[str]:
    old, new = before.get(kind) or [], after.get(kind) or []
    if added := [pattern for pattern in new if pattern not in old]:
        yield f"it now {kind.removesuffix('s')}s {listed(added)}"
    if gone := [pattern for pattern in old if pattern not in new]:
        yield f"it no longer {kind.removesuffix('s')}s {listed(gone)}"


T112 = Rule(
    title="filters changed",
    impact=Impact(readers=Severity.WARN, data=Severity.DEPENDS),
    direction=Direction.UNDETERMINED,
    why="dlt leaves out the fields that match `excludes` but not `includes`, also in nested tables, and whole rows "
    "that have no field left. Columns that are now filtered out stay, and are null in new rows.",
    fix="Check whether readers use the filtered columns. If they do, keep the old filter, or announce the removal of "
    "the columns (rule C205).",
    find=find_filters_changed,
    effect=ReaderEffect.NONE,
)


def find_columns_reordered(comparison: Comparison) -> Matches:
    """Yield each table whose shared columns have another order; the places of new columns do not matter."""
    added = {(change.table, change.column.name) for change in comparison.of(ColumnAdded)}
    for change in comparison.of(ColumnsReordered):
        orders = (change.before, change.after)
        before, after = ([name for name in order if (change.table, name) not in added] for order in orders)
        if before != after:
            pairs = enumerate(zip(before, after, strict=True), 1)
            position, old, new = next((position, old, new) for position, (old, new) in pairs if old != new)
            moved = f"column {position} is now `{new}` instead of `{old}`"
            sentence = f"the columns of `{change.table}` are reordered: {moved}"
            yield Match.of(change, sentence, before=before, after=after)


T113 = Rule(
    title="columns reordered",
    impact=BREAKS_NOBODY,
    why="The column order is part of dlt's hash, so the version increases. Queries that name their columns do not "
    "change. An existing table keeps its order, but a re-created table has the new one: then `SELECT *` and `INSERT "
    "... SELECT *` by position use other columns.",
    fix="Name the columns in queries that depend on their order.",
    find=find_columns_reordered,
)


def find_resource_renamed(comparison: Comparison) -> Matches:
    """Yield each root table with another ``resource``; the default is the table's name."""
    for change in comparison.of(TablePropertyChanged, "resource"):
        base, head = comparison.base_table(change.table), comparison.head.schema.tables.get(change.table)
        if base is None or head is None or head.is_nested:
            continue
        before, after = plain(change.before) or base.name, plain(change.after) or head.name
        follows_table = base.name != head.name and (before, after) == (base.name, head.name)
        if before == after or follows_table:
            continue
        has_cursor = any(column.properties.get("incremental") for column in base.columns.values())
        loses_cursor = has_cursor and head.properties.get("write_disposition") != "replace"
        now = f"was renamed {from_to(before, after)}"
        phrase = ": its cursor starts over, and rows are loaded twice" if loses_cursor else ""
        impact = Impact(readers=Severity.ERROR, writers=Severity.WARN, data=Severity.WARN) if loses_cursor else None
        sentence = f"the resource of `{change.table}` {now}{phrase}"
        yield Match.of(change, sentence, before=before, after=after, impact=impact)


T114 = Rule(
    title="resource renamed",
    impact=Impact(readers=Severity.WARN, writers=Severity.WARN),
    why="dlt stores a pipeline's state under the names of its resources. Under another name, an incremental cursor "
    "starts from the beginning: all rows are loaded again, and a table that is appended to holds them twice. "
    "Pipelines that select resources by name (`with_resources`, `refresh`) no longer find it.",
    fix="Keep the name: `@dlt.resource(name=OLD, table_name=NEW)` gives the table another one. If the resource name "
    "must change, reload the table (`refresh`), or set the cursor's `initial_value`.",
    find=find_resource_renamed,
)


_VALIDITY_ROLES: Final = {"x-valid-from": "beginning", "x-valid-to": "end"}


def find_validity_column_renamed(comparison: Comparison) -> Matches:
    """Yield each validity column of ``scd2`` that has another name now; dlt may keep the old column, too."""
    for name, head in comparison.head.schema.tables.items():
        base = comparison.base_table(name)
        for hint, role in _VALIDITY_ROLES.items():
            before = base.hinted(hint) if base else ()
            for column in head.hinted(hint):
                if before and column not in before:
                    phrase = f"the {role} of a row's validity in `{name}` is now `{column}` instead of `{before[0]}`"
                    keys = ("tables", name, "columns", column, hint)
                    yield Match(sentence=phrase, table=name, column=column, keys=keys, before=before[0], after=column)


T115 = Rule(
    title="validity column renamed",
    impact=BREAKS_ALL,
    direction=Direction.BOTH,
    why="dlt adds the new columns, null in existing rows, and treats rows with no end of validity as current: all old "
    "versions become current again, next to the new ones, and no load ever closes them. Queries on the old columns no "
    "longer see changes.",
    fix="Keep `validity_column_names`. If they must change, rename the columns at the destination before the next "
    "load, and give readers a view with the old names.",
    find=find_validity_column_renamed,
)

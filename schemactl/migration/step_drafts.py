"""From changes to steps, in an order that works on a real database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TypeAlias

from schemactl.errors import InputError
from schemactl.migration.abilities import Abilities
from schemactl.migration.comparison import Comparison, bare, bare_table, is_bookkeeping, was_declared, without_origin
from schemactl.migration.conflicting_renames import free_name, in_order, is_kept
from schemactl.migration.effects import apply_to_model
from schemactl.migration.options import PlanOptions
from schemactl.migration.retyping import (
    Retyping,
    is_swapped,
    is_synced,
    prepared_steps,
    retype_steps,
    sync_steps,
    variant_column,
)
from schemactl.migration.steps import (
    KEPT_PREFIX,
    AddColumn,
    AddPrimaryKey,
    AddUnique,
    CreateTable,
    DescribeTable,
    DropColumn,
    DropNotNull,
    DropPrimaryKey,
    DropTable,
    DropUnique,
    FillColumn,
    FoldVariant,
    RenameColumn,
    RenameTable,
    SetNotNull,
    Step,
)
from schemactl.migration.table_model import with_description, with_property
from schemactl.migration.ways import Way
from schemactl.schema import changes
from schemactl.schema.backfill import BACKFILL, backfill_fault, has_backfill
from schemactl.schema.dispositions import named
from schemactl.schema.fit import fit
from schemactl.schema.renames import is_dlts_own
from schemactl.schema.structure import DATABASE_TYPE, NameLimits, description_of, has_type, typed_columns
from schemactl.schema.types import Column, Table, ancestors


class _Phase(IntEnum):
    """The order of steps: no step blocks a later one, and drops come last, after all other steps have succeeded.

    If a destination copies a table with a key to drop a column, and a transaction can restore dropped columns, columns
    are dropped before keys are added.
    """

    RENAME_TABLES = 0
    CREATE_TABLES = 1
    DROP_KEYS = 2
    RENAME_COLUMNS = 3
    ALLOW_NULLS = 4
    ADD_COLUMNS = 5
    RETYPE = 6
    FORBID_NULLS = 7
    DROP_COLUMNS_FIRST = 8
    ADD_KEYS = 9
    DROP_COLUMNS = 10
    DROP_TABLES = 11
    DESCRIBE = 12


@dataclass(frozen=True, slots=True)
class Draft:
    """A step with its place in the order, and the change that it is for."""

    phase: _Phase
    step: Step
    reason: changes.Change
    depth: int = 0


def draft_steps(comparison: Comparison, abilities: Abilities, options: PlanOptions) -> list[Draft]:
    """Return the steps for all changes, in the order in which they run."""
    empty = frozenset(map(abilities.names.fold, options.empty_tables))
    drafter = _Drafter(comparison, abilities, options, empty, {}, {})
    if options.compares_primary_keys:
        drafter = replace(drafter, keys=planned_keys(comparison, drafter.is_empty))
    drafter = replace(drafter, moved=dict(drafter.moved_keys()))
    drafts = sorted(drafter.steps(), key=lambda draft: (draft.phase, draft.depth))
    described = _describe(comparison, [draft.step for draft in drafts], abilities)
    drafts += [Draft(_Phase.DESCRIBE, step, reason) for step, reason in described]
    if not options.is_online:
        return drafts
    return [replace(draft, step=step) for draft in drafts for step in drafter.prepared(draft.step)]


@dataclass(frozen=True, slots=True)
class _Drafter:
    comparison: Comparison
    abilities: Abilities
    options: PlanOptions
    empty_tables: frozenset[str]
    keys: Mapping[str, KeyChange]
    moved: Mapping[str, KeyChange]

    def moved_keys(self) -> Iterator[tuple[str, KeyChange]]:
        """Yield the primary keys that stay, and move with a column to another one, with their tables' new names."""
        for change in self.comparison.changes:
            if not isinstance(change, changes.ColumnRetyped) or change.table in self.keys:
                continue
            retyping = self._retyping(change)
            is_key = retyping.before.properties.get("primary_key")
            if is_key and is_swapped(retyping, self.options.on_unfit, self.abilities):
                yield change.table, self._moved_key(change)

    def _moved_key(self, change: changes.ColumnRetyped) -> KeyChange:
        table = change.table
        before = self.comparison.found_table(table).hinted("primary_key")
        new_names = {old: new for new, old in self.comparison.renamed_columns.get(table, {}).items()}
        after = tuple(new_names.get(name, name) for name in before)
        # With a column of the key that is dropped the whole key goes.
        is_kept = not any(self._was_removed(table, name) for name in after)
        return KeyChange(before, after if is_kept else (), change)

    def steps(self) -> Iterator[Draft]:
        """Yield all steps, grouped by phase and depth, and in their order within a group."""
        for table in self.comparison.missing:
            yield Draft(_Phase.CREATE_TABLES, CreateTable(bare_table(table)), without_origin(changes.TableAdded(table)))
        limits = self.abilities.names
        yield from (Draft(_Phase.RENAME_TABLES, *pair) for pair in _rename_tables(self.comparison, limits))
        for step, reason in _rename_columns(self.comparison, limits):
            phase = _Phase.RENAME_COLUMNS if isinstance(step, RenameColumn) else _Phase.ALLOW_NULLS
            yield Draft(phase, step, without_origin(reason))
        for change in self.comparison.changes:
            for draft in self._of(change):
                yield replace(draft, reason=self._reason(change))
        if self.options.compares_unique:
            yield from (_of_key(*pair) for pair in unique_steps(self.comparison))
        for name, key in {**self.moved, **self.keys}.items():
            yield from (_of_key(*pair) for pair in primary_key_steps(name, key))

    def _reason(self, change: changes.Change) -> changes.Change:
        """Return a change in the destination's words: a type that dlt lacks has the destination's name."""
        if not isinstance(change, changes.ColumnRetyped):
            return without_origin(change)
        current_type = self.comparison.found_column(change.table, change.column).properties.get(DATABASE_TYPE)
        new_type = self.comparison.own_types.get((change.table, change.column))
        before, after = (
            side if own_type is None or "data_type" in side else {**side, DATABASE_TYPE: own_type}
            for side, own_type in ((change.before, current_type), (change.after, new_type))
        )
        return replace(change, before=before, after=after)

    def prepared(self, step: Step) -> Iterator[Step]:
        """Yield a step and the steps that prepare it; a table without rows needs no preparation."""
        yield from (step,) if self.is_empty(step.table_name) else prepared_steps(step)

    def _of(self, change: changes.Change) -> Iterator[Draft]:
        match change:
            case changes.TableAdded():
                table = bare_table(self.comparison.schema.tables[change.table.name])
                depth = len(ancestors(self.comparison.schema, table.name))
                yield Draft(_Phase.CREATE_TABLES, CreateTable(table), change, depth)
            case changes.TableRemoved():
                yield from self._remove_table(change)
            case changes.ColumnAdded():
                yield from self._add_column(change)
            case changes.VariantFolded():
                yield from self._fold(change)
            case changes.ColumnRemoved():
                yield from self._remove_column(change)
            case changes.ColumnRetyped():
                yield from self._retype(change)
            case changes.NullabilityChanged():
                yield from self._change_nullability(change)
            case _:
                pass  # renames are drafted all together before; a catalog has no other changes

    def _remove_table(self, change: changes.TableRemoved) -> Iterator[Draft]:
        name = change.table.name
        if self.options.keeps_removed or name in self.comparison.schema.tables:
            return
        # A table that this plan sets aside, or that follows another, stays.
        if self.comparison.old_table(name) == name and was_declared(self.comparison, name, None, self.options):
            depth = -len(ancestors(self.comparison.catalogue, name))
            # No table of another version has this name.
            kept_name = f"{KEPT_PREFIX}{self.comparison.schema.version}_{name}" if self.abilities.keeps_dropped else ""
            kept_name = kept_name.encode()[: self.abilities.names.max_bytes].decode(errors="ignore")
            yield Draft(_Phase.DROP_TABLES, DropTable(self.comparison.catalogue.tables[name], kept_name), change, depth)

    def _remove_column(self, change: changes.ColumnRemoved) -> Iterator[Draft]:
        table, name = change.table, change.column.name
        schema_table = self.comparison.schema.tables[table]
        is_there = self.comparison.old_column(table, name) == name  # one that this plan sets aside stays for now
        is_outdated = self.options.drops_kept and is_there and is_kept(name, schema_table)
        if (is_outdated and name not in schema_table.columns) or self._was_removed(table, name):
            is_first = self.abilities.copies_keyed and self.abilities.transactional_ddl
            phase = _Phase.DROP_COLUMNS_FIRST if is_first else _Phase.DROP_COLUMNS
            yield Draft(phase, DropColumn(table, self.comparison.found_column(table, name)), change)

    def _fold(self, change: changes.VariantFolded) -> Iterator[Draft]:
        """Yield the steps that move the values of a variant, and keep it under another name for the undo."""
        table, schema_table = change.table, self.comparison.schema.tables[change.table]
        variant = self.comparison.found_column(table, change.column.name)
        column = bare(schema_table.columns[change.into])
        yield Draft(_Phase.RETYPE, FoldVariant(table, variant, column, fit(variant, column).conversion), change)
        taken_names = {*self.comparison.found_table(table).columns, *schema_table.columns}
        kept_name = free_name(variant.name, "before", taken_names, self.abilities.names)
        yield Draft(_Phase.RETYPE, RenameColumn(table, variant.name, kept_name), change)

    def _was_removed(self, table: str, column: str) -> bool:
        """Return whether a column is dropped: only the last schema had it, and it is not dlt's."""
        ledger_schema = self.comparison.ledger_schema
        if self.options.keeps_removed or is_dlts_own(column) or column in self.comparison.schema.tables[table].columns:
            return False
        if was_declared(self.comparison, table, column, self.options):
            return True
        if ledger_schema is None or self.comparison.old_table(table) in ledger_schema.tables:
            return False
        last_table = None if table in self.comparison.catalogue.tables else ledger_schema.tables.get(table)
        return last_table is not None and column in last_table.columns

    def _add_column(self, change: changes.ColumnAdded) -> Iterator[Draft]:
        table, schema_column = change.table, self.comparison.schema.tables[change.table].columns[change.column.name]
        column = bare(schema_column)
        nullable = with_property(column, "nullable", None)
        forbids, is_empty = not change.column.nullable, self.is_empty(table)
        # The schema decides which rows get the value: not every destination can forbid nulls.
        fills = forbids or not schema_column.nullable
        if fills and (fault := backfill_fault(schema_column)):
            message = f"`{BACKFILL}` of `{table}.{schema_column.name}` cannot fill stored rows: {fault}"
            raise InputError(message, hint="set a value that fits the column, or remove `x-backfill`")
        if forbids and is_empty and self.abilities.adds_not_null:
            yield Draft(_Phase.ADD_COLUMNS, AddColumn(table, column), change)
            return
        has_value = fills and has_backfill(schema_column)
        if has_value and not is_empty and self.abilities.adds_filled:
            filled = AddColumn(table, column if forbids else nullable, schema_column.properties[BACKFILL])
            yield Draft(_Phase.ADD_COLUMNS, filled, change)
            return
        yield Draft(_Phase.ADD_COLUMNS, AddColumn(table, nullable), change)
        if has_value and not is_empty:
            yield Draft(_Phase.ADD_COLUMNS, FillColumn(table, nullable, schema_column.properties[BACKFILL]), change)
        if forbids and (has_value or is_empty):
            yield Draft(_Phase.FORBID_NULLS, SetNotNull(table, nullable, needs_check=False), change)

    def _change_nullability(self, change: changes.NullabilityChanged) -> Iterator[Draft]:
        table, name = change.table, change.column
        if change.is_restated:
            return
        current_column = self._without_dropped_key(table, self.comparison.found_column(table, name))
        if change.after is False:
            is_retyped = (table, name) in self.comparison.retyped
            column = bare(self.comparison.schema.tables[table].columns[name]) if is_retyped else current_column
            yield Draft(_Phase.FORBID_NULLS, SetNotNull(table, with_property(column, "nullable", None)), change)
        elif not current_column.properties.get("primary_key"):  # no key lets nulls in
            yield Draft(_Phase.ALLOW_NULLS, DropNotNull(table, current_column), change)

    def _retype(self, change: changes.ColumnRetyped) -> Iterator[Draft]:
        retyping = self._retyping(change)
        if change.table in self.moved:
            retyping = replace(retyping, before=with_property(retyping.before, "primary_key", None))
        is_online = self.options.is_online and not self.is_empty(change.table)
        if is_online and is_synced(retyping, self.abilities):
            # The old column's other dependents would be lost, so a destination refuses this if there are any.
            text = self.comparison.schema.tables[change.table].columns[change.column].properties.get("description")
            after = replace(retyping.after, properties=with_description(retyping.after.properties, text))
            steps = sync_steps(replace(retyping, after=after), self.options.on_unfit, self.abilities)
        else:
            steps = retype_steps(retyping, self.options.on_unfit, self.abilities)
        for step in steps:
            # After drops, and with the table's other steps: on some destinations each such step copies the table.
            yield Draft(_Phase.ADD_KEYS if isinstance(step, AddUnique) else _Phase.RETYPE, step, change)

    def _retyping(self, change: changes.ColumnRetyped) -> Retyping:
        table, name = change.table, change.column
        schema_table = self.comparison.schema.tables[table]
        current_column = self._without_dropped_key(table, self.comparison.found_column(table, name))
        after = bare(schema_table.columns[name])
        if (table, name) in self.comparison.freed and not current_column.properties.get("primary_key"):
            current_column = with_property(current_column, "nullable", None)
        if self.options.compares_unique and not schema_table.columns[name].properties.get("unique"):
            current_column = with_property(current_column, "unique", None)  # dropped before
        existing_names = {*self.comparison.found_table(table).columns}
        data_type = current_column.data_type
        variant = variant_column(after, data_type, self.comparison.naming) if data_type else None
        return Retyping(
            table=table,
            before=current_column,
            after=after,
            own_type=None if "data_type" in change.after else self.comparison.own_types.get((table, name)),
            stays_required=not current_column.nullable,
            taken_names={*existing_names, *schema_table.columns, *self.comparison.renamed_columns.get(table, {})},
            variant=variant,
            has_variant=variant is not None
            and variant.name in {*existing_names, *(column.name for column in typed_columns(schema_table))},
        )

    def _without_dropped_key(self, table: str, column: Column) -> Column:
        is_dropped = table in self.keys or (table in self.moved and not self.moved[table].after)
        return with_property(column, "primary_key", None) if is_dropped else column

    def is_empty(self, table: str) -> bool:
        """Return whether a table of the destination, by its new name, holds no rows."""
        return self.abilities.names.fold(self.comparison.old_table(table)) in self.empty_tables


def _of_key(step: KeyStep, reason: changes.Change) -> Draft:
    is_new = isinstance(step, AddPrimaryKey | AddUnique)
    return Draft(_Phase.ADD_KEYS if is_new else _Phase.DROP_KEYS, step, reason)


def _rename_tables(comparison: Comparison, limits: NameLimits) -> Iterator[tuple[RenameTable, changes.TableRenamed]]:
    """Yield the renames of tables, each with its reason, so that each new name is free when its turn comes."""
    reasons = {change.before: change for change in comparison.changes if isinstance(change, changes.TableRenamed)}
    pairs = {old: change.after for old, change in reasons.items()}
    for old, new in in_order(pairs, {*comparison.catalogue.tables, *comparison.schema.tables}, limits):
        reason = reasons.get(old) or next(change for change in reasons.values() if change.after == new)
        yield RenameTable(old, new), reason


def _rename_columns(
    comparison: Comparison, limits: NameLimits
) -> Iterator[tuple[RenameColumn | DropNotNull, changes.ColumnRenamed]]:
    """Yield the renames of all tables, each with its reason, so that each new name is free when its turn comes.

    A column that only makes room may be null from then on: loads leave it empty.
    """
    renames = [change for change in comparison.changes if isinstance(change, changes.ColumnRenamed)]
    for table in dict.fromkeys(change.table for change in renames):
        reasons = {change.before: change for change in renames if change.table == table}
        pairs = {old: change.after for old, change in reasons.items()}
        schema_columns = comparison.schema.tables[table].columns
        for old, new in in_order(pairs, {*comparison.found_table(table).columns, *schema_columns}, limits):
            reason = reasons.get(old) or next(change for change in reasons.values() if change.after == new)
            yield RenameColumn(table, old, new), reason
        for change in reasons.values():
            column = comparison.found_column(table, change.after)
            if change.after not in schema_columns and not column.nullable and not column.properties.get("primary_key"):
                yield DropNotNull(table, column), change


# --- descriptions ---


def _describe(
    comparison: Comparison, steps: Sequence[Step], abilities: Abilities
) -> Iterator[tuple[DescribeTable, changes.Change]]:
    """Yield the steps that describe tables as the schema does, each with the first text that changes as its reason.

    A description that the schema lacks is removed only if the last schema had it, since people may have written other
    descriptions in the destination. dlt describes its own tables and columns, and variants.
    """
    if abilities.describe_table is Way.NONE:
        return
    tables = dict(comparison.described)
    apply_to_model(tables, steps)
    ledger_tables = comparison.ledger_schema.tables if comparison.ledger_schema is not None else {}
    for name, schema_table in comparison.schema.tables.items():
        if name not in tables or is_bookkeeping(name):
            continue
        last = ledger_tables.get(comparison.old_table(name))
        before: dict[str, str | None] = {}
        after: dict[str, str | None] = {}
        current_columns = tables[name].columns
        described_parts: list[tuple[str, Column | Table, Column | Table]] = [("", tables[name], schema_table)]
        described_parts += [
            (key, current_columns[key], column)
            for key, column in schema_table.columns.items()
            if key in current_columns and has_type(column) and not (is_dlts_own(key) or column.is_variant)
        ]
        for column_name, current, described in described_parts:
            old, new = description_of(current), _kept_text(described, abilities)
            if old == new:
                continue
            former: Table | Column | None = last
            if last is not None and column_name:
                former = last.columns.get(comparison.old_column(name, column_name))
            if new is not None or old == _kept_text(former, abilities):
                before[column_name], after[column_name] = old, new
        if after:
            yield DescribeTable(name, before, after), _description_changed(name, before, after)


def _kept_text(of: Column | Table | None, abilities: Abilities) -> str | None:
    """Return the description as a destination keeps it."""
    text = description_of(of) if of is not None else None
    return None if text is None else abilities.kept_description(text, isinstance(of, Table)) or None


def _description_changed(
    table: str, before: Mapping[str, str | None], after: Mapping[str, str | None]
) -> changes.Change:
    column = next(iter(after))
    old, new = (changes.ABSENT if texts[column] is None else texts[column] for texts in (before, after))
    if column:
        return changes.ColumnPropertyChanged(table, column, "description", old, new)
    return changes.TablePropertyChanged(table, "description", old, new)


# --- keys and unique columns: add or drop constraints that differ from the schema's hints ---

KeyStep: TypeAlias = AddPrimaryKey | DropPrimaryKey | AddUnique | DropUnique


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A table whose primary key differs between the schema and the destination.

    Attributes:
        before: names of its columns in the destination; empty without a key.
        after: names of its columns in the schema; empty without a key.
        reason: the change for which the key moves to new columns of the same names; None if the key itself changes.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    reason: changes.Change | None = None


def changed_keys(comparison: Comparison) -> Iterator[tuple[str, KeyChange]]:
    """Yield all changes of primary keys with the tables' new names."""
    for name, table in comparison.schema.tables.items():
        if not comparison.has_table(name):
            continue
        before, after = comparison.found_table(name).hinted("primary_key"), named(table, "primary_key")
        if set(before) != {comparison.old_column(name, column) for column in after}:
            yield name, KeyChange(before, after)


def planned_keys(comparison: Comparison, is_empty: Callable[[str], bool]) -> Mapping[str, KeyChange]:
    """Return the changes that can be planned, by the tables' new names: no column of a new key may be null."""
    added = {
        (change.table, change.column.name) for change in comparison.changes if isinstance(change, changes.ColumnAdded)
    }

    def is_required(name: str, table: Table, column: str) -> bool:
        schema_column = table.columns[column]
        has_values = (name, column) not in added or has_backfill(schema_column) or is_empty(name)
        return not schema_column.nullable and has_values

    tables = comparison.schema.tables
    return {
        name: change
        for name, change in changed_keys(comparison)
        if all(is_required(name, tables[name], column) for column in change.after)
    }


def primary_key_steps(table: str, key: KeyChange) -> Iterator[tuple[KeyStep, changes.Change]]:
    """Yield the steps of one key, each with the hint of a column that is in one of both keys as its reason."""
    if key.before:
        gone = next((name for name in key.before if name not in key.after), key.before[0])
        reason = key.reason or changes.ColumnPropertyChanged(table, gone, "primary_key", True, changes.ABSENT)
        yield DropPrimaryKey(table, key.before), reason
    if key.after:
        new = next((name for name in key.after if name not in key.before), key.after[0])
        reason = key.reason or changes.ColumnPropertyChanged(table, new, "primary_key", changes.ABSENT, True)
        yield AddPrimaryKey(table, key.after), reason


def unique_steps(comparison: Comparison) -> Iterator[tuple[KeyStep, changes.Change]]:
    """Yield the constraints of single columns that the schema has and the destination has not, or the reverse."""
    for name, table in comparison.schema.tables.items():
        for column in typed_columns(table) if comparison.has_table(name) else ():
            old = comparison.old_column(name, column.name)
            current_column = comparison.found_table(name).columns.get(old)
            is_unique = current_column is not None and bool(current_column.properties.get("unique"))
            becomes_unique = bool(column.properties.get("unique"))
            if becomes_unique is not is_unique:
                sides = (changes.ABSENT, True) if becomes_unique else (True, changes.ABSENT)
                step = AddUnique(name, column.name) if becomes_unique else DropUnique(name, old)
                yield step, changes.ColumnPropertyChanged(name, column.name, "unique", *sides)

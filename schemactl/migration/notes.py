"""The notes of a plan: parts of the destination that it does not change, and remaining differences from the schema."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from shlex import quote

from schemactl.errors import backquoted
from schemactl.migration.abilities import Abilities
from schemactl.migration.comparison import Comparison, was_declared
from schemactl.migration.conflicting_renames import is_kept, kept_origin, kept_table_origin
from schemactl.migration.options import PlanOptions
from schemactl.migration.retyping import variant_origin
from schemactl.migration.step_drafts import changed_keys
from schemactl.migration.steps import AddColumn, AddPrimaryKey, DropColumn, DropNotNull, DropTable, SetNotNull, Step
from schemactl.schema import changes
from schemactl.schema.backfill import has_backfill
from schemactl.schema.full_types import full_type
from schemactl.schema.renames import is_dlts_own, is_newly_declared, origins
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, Table


class NoteKind(StrEnum):
    """The subject of a note."""

    DRIFT = "drift"
    """A table or column that only the destination has, and no known schema; the plan does not change it."""
    LEFT_OUT = "left out"
    """A table or column that the schema has lost; dropping it loses data, and the options do not allow that."""
    KEPT = "kept"
    """An old column that an earlier plan kept under another name."""
    STAYS = "stays"
    """Dependents of a column stay with it when another column takes its name."""
    WAITS = "waits"
    """A table or column of the schema that dlt, and schemactl, creates with the first data."""
    RENAME = "rename"
    """A table or column is gone and a similar one is new; the schema does not declare a rename."""
    NULLABLE = "nullable"
    """A column is added as nullable, although the schema requires it: existing rows have no value."""
    PRIMARY_KEY = "primary key"
    """A primary key, or nulls in its columns, are not planned: a column of a key cannot be null."""
    TYPE = "type"
    """A column gets the nearest type to a type that the destination lacks."""
    VARIANT = "variant"
    """A variant column that the schema lacks so far takes values."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something to report in addition to the steps.

    Attributes:
        table, column: the subject; no column for a whole table.
        message: names in backquotes.
        hint: a way out; may be empty.
    """

    kind: NoteKind
    table: str
    column: str | None
    message: str
    hint: str = ""


_LEFT = "is not in the schema and stays unchanged"
_ALLOW = "`--allow-destructive` drops it"
_RENAME_FIRST = "rename one of them first and apply the rename, or remove `x-renamed-from` if the rename is done"


def remarks(
    comparison: Comparison, steps: Sequence[Step], abilities: Abilities, options: PlanOptions
) -> Iterator[Note]:
    """Yield the notes of a comparison that led to these steps."""
    for change in comparison.guesses:
        message = f"is possibly `{change.before}` under a new name; not declared, so it is planned as new"
        hint = f'set `x-renamed-from: "{change.before}"` if it is, or `x-renamed-from: []` if it is not'
        table, column = (
            (change.after, None) if isinstance(change, changes.TableRenamed) else (change.table, change.after)
        )
        yield Note(NoteKind.RENAME, table, column, message, hint)
    yield from _unheeded(comparison)
    yield from _left_alone(comparison, steps, options)
    yield from _added(comparison, steps)
    yield from _of_types(comparison, steps)
    yield from _of_structure(comparison, abilities)
    yield from _of_keys(comparison, steps)
    if options.compares_primary_keys:
        yield from _without_key(comparison, steps)
    for name in comparison.absent:
        yield Note(NoteKind.WAITS, name, None, "has no data yet; the first load creates it")


def _unheeded(comparison: Comparison) -> Iterator[Note]:
    """Yield a note for each newly declared old name that is not used: another table or column has it."""
    last_tables = comparison.ledger_schema.tables if comparison.ledger_schema else {}
    catalogue_tables = comparison.catalogue.tables
    for name, table in comparison.schema.tables.items():
        stays = [old for old in origins(table.properties) if old in catalogue_tables and old != name]
        is_kept = name in catalogue_tables and comparison.old_table(name) == name
        if stays and is_kept and is_newly_declared(table, last_tables.get(name)):
            message = f"is not renamed from `{stays[0]}`: both exist, so its rows are ambiguous"
            yield Note(NoteKind.RENAME, name, None, message, _RENAME_FIRST)
    for name, table in comparison.schema.tables.items():
        current_columns = comparison.found_table(name).columns
        last = last_tables.get(comparison.old_table(name), Table(name))
        for column in table.columns.values() if current_columns else ():
            stays = [old for old in origins(column.properties) if old in current_columns and old != column.name]
            is_kept = bool(stays) and comparison.old_column(name, column.name) == column.name
            if is_kept and is_newly_declared(column, last.columns.get(column.name)):
                message = f"is not renamed from `{stays[0]}`: both exist, so its values are ambiguous"
                yield Note(NoteKind.RENAME, name, column.name, message, _RENAME_FIRST)


def _left_alone(comparison: Comparison, steps: Sequence[Step], options: PlanOptions) -> Iterator[Note]:
    """Yield the tables and columns that the schema lacks and no step drops."""
    tables = {step.table.name for step in steps if isinstance(step, DropTable)}
    columns = {(step.table, step.column.name) for step in steps if isinstance(step, DropColumn)}
    of_schema = comparison.schema.tables
    for change in comparison.changes:
        if isinstance(change, changes.TableRemoved) and change.table.name not in {*tables, *of_schema}:
            yield _table_left(change.table.name, of_schema, was_declared(comparison, change.table.name, None, options))
        if isinstance(change, changes.VariantFolded):
            continue
        if isinstance(change, changes.ColumnRemoved) and (change.table, change.column.name) not in columns:
            table = of_schema[change.table]
            if change.column.name in table.columns or is_dlts_own(change.column.name):
                continue
            if origin := variant_origin(change.column.name, table.columns, comparison.naming):
                message = f"is a variant column of `{origin}` that is not in the schema"
                hint = _take_over_hint(comparison, change)
                yield Note(NoteKind.VARIANT, change.table, change.column.name, message, hint)
            elif was_declared(comparison, change.table, change.column.name, options):
                yield _left_out(change.table, change.column)
            else:
                yield _column_left(change.table, change.column, is_kept(change.column.name, table))


def _left_out(table: str, column: Column | None) -> Note:
    is_required = column is not None and not column.nullable
    hint = f"{_ALLOW}; until then loads by the schema will fail: allow nulls there" if is_required else _ALLOW
    name = column.name if column else None
    return Note(NoteKind.LEFT_OUT, table, name, "is not dropped: its values would be lost", hint)


def _table_left(name: str, of_schema: Collection[str], is_known: bool) -> Note:
    origin = kept_table_origin(name)
    if origin not in of_schema:
        return _left_out(name, None) if is_known else Note(NoteKind.DRIFT, name, None, _LEFT)
    message = f"contains rows of `{origin}` from before another table took its name"
    return Note(NoteKind.KEPT, name, None, message, "drop it by hand when no one needs it")


def _column_left(table: str, column: Column, is_outdated: bool) -> Note:
    if is_outdated:
        message = f"contains the values of `{kept_origin(column.name)}` from before it changed"
        hint = "drop it with `--allow-destructive` when no one needs it"
        return Note(NoteKind.KEPT, table, column.name, message, hint)
    if column.nullable:
        return Note(NoteKind.DRIFT, table, column.name, _LEFT)
    hint = "loads by the schema will fail: allow nulls there, or add the column to the schema"
    return Note(NoteKind.DRIFT, table, column.name, f"{_LEFT}; it is required", hint)


def _take_over_hint(comparison: Comparison, variant: changes.ColumnRemoved | AddColumn) -> str:
    """Return the command that adds a variant column of the destination to the schema."""
    full_name, kind = f"{variant.table}.{variant.column.name}", variant.column.data_type
    option = f"--column {quote(f'{full_name}:{kind},variant=true')}"
    return f"add it to the schema: `schemactl edit {comparison.schema.name} {option}`"


def _added(comparison: Comparison, steps: Sequence[Step]) -> Iterator[Note]:
    required = {(step.table, step.column.name) for step in steps if isinstance(step, SetNotNull)}
    for step in steps:
        if not isinstance(step, AddColumn):
            continue
        table, name = step.table, step.column.name
        schema_column = comparison.schema.tables[table].columns.get(name)
        is_free = step.column.nullable and (table, name) not in required
        if schema_column is None and step.column.is_variant:
            message = "is a variant column that is not in the schema"
            yield Note(NoteKind.VARIANT, table, name, message, _take_over_hint(comparison, step))
        elif schema_column and not (schema_column.nullable or has_backfill(schema_column)) and is_free:
            message = "is added as nullable, although the schema requires it: existing rows have no value"
            yield Note(NoteKind.NULLABLE, table, name, message, "set a value first: `x-backfill: VALUE`")


def _of_types(comparison: Comparison, steps: Sequence[Step]) -> Iterator[Note]:
    """Yield the columns that steps create with another type than the schema declares."""
    for step in steps:
        table = step.table_name
        declared = comparison.declared.tables.get(table, Table(table)).columns
        for column in step.typed_columns:
            foreign_type = declared.get(column.name, column).properties.get(DATABASE_TYPE)
            if foreign_type is not None and DATABASE_TYPE not in column.properties:
                message = f"is created as `{full_type(column.properties)}`, the type nearest to `{foreign_type}`"
                hint = "set `data_type` to choose another type"
                yield Note(NoteKind.TYPE, table, column.name, message, hint)


def _of_structure(comparison: Comparison, abilities: Abilities) -> Iterator[Note]:
    """Yield the columns of types that only the destination has, and that no step makes the schema's."""
    for change in comparison.changes:
        if not isinstance(change, changes.ColumnPropertyChanged) or change.name != DATABASE_TYPE:
            continue
        if (change.table, change.column) in comparison.retyped:
            continue  # there is a step, which data may block
        gained = abilities.gains(str(change.before), str(change.after))
        if gained is None:
            message = "keeps its type in the destination, which differs from the schema: no step can convert it"
            hint = "reload the table, or set its current type in the schema"
            yield Note(NoteKind.DRIFT, change.table, change.column, message, hint)
        elif gained:
            message = f"gets new fields with the next load: {backquoted(gained)}"
            yield Note(NoteKind.WAITS, change.table, change.column, message)


def _of_keys(comparison: Comparison, steps: Sequence[Step]) -> Iterator[Note]:
    """Yield the columns that stay as they are because of a primary key that the destination has."""
    freed = {(step.table, step.column.name) for step in steps if isinstance(step, DropNotNull)}
    for change in comparison.changes:
        if not isinstance(change, changes.NullabilityChanged) or change.after is False or change.is_restated:
            continue
        if (change.table, change.column) not in freed:
            message = "stays required, although the schema allows nulls: it is in the table's primary key"
            hint = "drop the key, or set `nullable: false`"
            yield Note(NoteKind.PRIMARY_KEY, change.table, change.column, message, hint)


def _without_key(comparison: Comparison, steps: Sequence[Step]) -> Iterator[Note]:
    """Yield the tables whose primary key cannot be planned."""
    planned = {(step.table, step.columns) for step in steps if isinstance(step, AddPrimaryKey)}
    for name, change in changed_keys(comparison):
        if change.after and (name, change.after) not in planned:
            columns = comparison.schema.tables[name].columns
            why, hint = "existing rows have no value in its new column", "set a value first: `x-backfill: VALUE`"
            if nullable_columns := [column for column in change.after if columns[column].nullable]:
                why, hint = f"the schema allows nulls in {backquoted(nullable_columns)}", "set `nullable: false`"
            yield Note(NoteKind.PRIMARY_KEY, name, None, f"gets no primary key: {why}", hint)

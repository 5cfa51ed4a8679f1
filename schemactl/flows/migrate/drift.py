"""Find drift (changes to existing tables not made by schemactl or dlt), and values under wrong names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from schemactl.flows.migrate.state import DestinationState, earlier_names
from schemactl.flows.migrate.stored_plans import plan_of
from schemactl.flows.references import Referred, comparable
from schemactl.flows.target import MigrationTarget
from schemactl.migration.comparison import is_bookkeeping, spelled_as
from schemactl.migration.conflicting_renames import is_kept, kept_table_origin
from schemactl.migration.effects import ColumnPlace, place_before
from schemactl.migration.notes import NoteKind
from schemactl.migration.records import RunState
from schemactl.migration.reports import Misplaced
from schemactl.migration.retyping import variant_origin
from schemactl.migration.steps import Step
from schemactl.review.rule import place_of
from schemactl.schema.changes import (
    Change,
    ColumnAdded,
    ColumnPropertyChanged,
    ColumnsReordered,
    NullabilityChanged,
    TableAdded,
)
from schemactl.schema.diff import diff
from schemactl.schema.naming import naming_of
from schemactl.schema.renames import RENAMED_FROM, column_claims, table_claims
from schemactl.schema.structure import DATABASE_TYPE, typed_columns
from schemactl.schema.types import Schema, Table


@dataclass(frozen=True, slots=True)
class Drift:
    """The differences of the tables from a schema.

    Attributes:
        changes: the changes from the schema to the tables, made by hand or by other tools.
        variants: variant columns, created by a plan or by dlt, that the schema does not have yet.
    """

    changes: tuple[Change, ...] = ()
    variants: tuple[ColumnAdded, ...] = ()


def find_drift(state: DestinationState, schema: Schema) -> Drift:
    """Return the changes from a schema to a destination's tables, both in terms that the destination keeps.

    Left out are tables of other schemas in the same dataset, tables that wait for their first data, fields inside
    columns that wait for the next load, and old tables and columns that a migration has kept or left out.
    """
    target = state.target
    names = target.destination.NAMES
    last_hashes = {version.schema_name: version.version_hash for version in reversed(state.session.versions())}
    other_hashes = (version_hash for name, version_hash in last_hashes.items() if name != schema.name)
    other_schemas = filter(None, map(state.session.schema_of, other_hashes))
    foreign_tables = {names.fold(name) for other in other_schemas for name in other.tables}
    spelled = spelled_as(state.catalogue.schema, schema, names)
    tables = {
        name: table
        for name, table in spelled.tables.items()
        if not is_bookkeeping(name) and (names.fold(name) not in foreign_tables or name in schema.tables)
    }
    user_catalogue = replace(spelled, tables=tables)
    own_tables = {name: table for name, table in schema.tables.items() if not is_bookkeeping(name)}
    referred_schema = Referred(replace(schema, tables=own_tables), schema.name)
    catalogue = Referred(user_catalogue, state.catalogue.origin, destination=target.destination)
    changes = diff(*comparable(referred_schema, catalogue), guess_renames=False)
    left_out = earlier_names(state)
    allowed = [change for change in changes if isinstance(change, NullabilityChanged) and change.after is not False]
    plans = [plan_of(run) for run in state.runs if run.plan and allowed]
    # Runs have added these as nullable, as stored rows have no value, whatever the schema says.
    nullable = {(note.table, note.column) for plan in plans for note in plan.notes if note.kind is NoteKind.NULLABLE}
    naming = naming_of(schema)
    by_hand: list[Change] = []
    variants: list[ColumnAdded] = []
    for change in changes:
        if (
            isinstance(change, ColumnAdded)
            and change.table in schema.tables
            and variant_origin(change.column.name, schema.tables[change.table].columns, naming) is not None
        ):
            variants.append(change)
        elif isinstance(change, NullabilityChanged) and change in allowed:
            by_hand += [] if (change.table, change.column) in nullable else [change]
        elif not _is_harmless(change, schema, target):
            # A table or column may remain because no plan was allowed to drop it.
            was_left_out = isinstance(change, TableAdded | ColumnAdded) and place_of(change) in left_out
            by_hand += [] if was_left_out else [change]
    return Drift(tuple(by_hand), tuple(variants))


def _is_harmless(change: Change, schema: Schema, target: MigrationTarget) -> bool:
    match change:
        case ColumnsReordered():
            return True
        case TableAdded():
            return kept_table_origin(change.table.name) in schema.tables
        case ColumnAdded():
            table = schema.tables.get(change.table)
            return table is not None and is_kept(change.column.name, table)
        case ColumnPropertyChanged(name=property_name) if property_name == DATABASE_TYPE:
            return target.destination.ABILITIES.gains(str(change.after), str(change.before)) is not None
        case _:
            return False


def complete_tables(schema: Schema) -> tuple[Table, ...]:
    """Return a schema's own tables that have columns with a type."""
    return tuple(table for name, table in schema.tables.items() if not is_bookkeeping(name) and typed_columns(table))


# --- values of renamed columns in places that contradict `x-renamed-from` ---


def misplaced_values(state: DestinationState) -> tuple[Misplaced, ...]:
    """Return the values that runs since the last baseline have left under wrong names; a baseline resets them."""
    misplaced: dict[ColumnPlace, Misplaced] = {}
    for run in state.runs:
        if not run.plan:
            misplaced = {}
        elif run.state is RunState.DONE and run.from_hash is not None and (misplaced or RENAMED_FROM in run.plan):
            plan, before = plan_of(run), state.session.schema_of(run.from_hash)
            if before is not None:
                after = plan.target
                before = spelled_as(before, after, state.target.destination.NAMES)
                misplaced = misplaced_after(misplaced, before, after, [planned.step for planned in plan.steps])
    return tuple(misplaced.values())


def misplaced_after(
    earlier: Mapping[ColumnPlace, Misplaced], before: Schema, after: Schema, steps: Sequence[Step]
) -> dict[ColumnPlace, Misplaced]:
    """Return the values that are misplaced after a run, by their place."""
    tables = {new: old for old, new in table_claims(before, after, before).items()}
    misplaced: dict[ColumnPlace, Misplaced] = {}
    for name, table in after.tables.items():
        if is_bookkeeping(name):
            continue
        source = origin_of((name, ""), steps)
        sources: dict[str, ColumnPlace] = {"": (tables[name], "")} if name in tables else {}
        if source is not None and (last := before.tables.get(source[0])) is not None:
            columns = {column.name: column for column in typed_columns(last)}
            claims = column_claims(table, replace(last, columns=columns), last)
            sources |= {new: (source[0], old) for old, new in claims.items()}
        for column in ("", *table.columns):
            origin, expected = origin_of((name, column), steps), sources.get(column)
            if expected is not None and expected != origin:
                # Some tables of the schema wait for their first data, and had no rows.
                was_filled = bool(before.tables[expected[0]].normalizer_hint("seen-data")) or any(
                    origin_of((step.table_name, ""), steps[:index]) == (expected[0], "")
                    for index, step in enumerate(steps)
                )
                if was_filled:
                    misplaced[name, column] = Misplaced(name, column or None, expected[1] or expected[0])
            elif origin is not None and origin in earlier:
                # It may contain by now the values that an earlier run did not move.
                before_run = earlier.get((name, column))
                if before_run is not None and before_run.origin == (origin[1] or origin[0]):
                    continue
                misplaced[name, column] = replace(earlier[origin], table=name, column=column or None)
    return misplaced


def origin_of(column_place: ColumnPlace, steps: Sequence[Step]) -> ColumnPlace | None:
    """Return the place of a column's values before some steps; None if the steps created the values."""
    return place_before(column_place, steps, heeds_backfills=True)

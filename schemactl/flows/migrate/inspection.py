"""``schemactl migrate status``, ``verify`` and ``compare``: inspect destinations without writing.

``status`` reports the current schema, pending steps and drift. ``verify`` compares tables and values with a schema.
``compare`` shows the differences between two destinations, such as staging and production.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from schemactl.destinations import MigrationSession, name_limits
from schemactl.errors import InputError
from schemactl.flows.migrate.counting import example_texts
from schemactl.flows.migrate.drift import Drift, complete_tables, find_drift, misplaced_values
from schemactl.flows.migrate.ledger_schemas import restore_lost
from schemactl.flows.migrate.plan import Goal, plan_from_state
from schemactl.flows.migrate.state import DestinationState, find_goal_schema, find_name, read_state
from schemactl.flows.migrate.stored_plans import plan_of
from schemactl.flows.references import Referred, comparable, reported
from schemactl.flows.rejects import count_waiting
from schemactl.flows.target import migratable
from schemactl.inference.identifiers import SystemNames
from schemactl.inference.sample import Sample
from schemactl.migration.comparison import is_bookkeeping, spelled_as
from schemactl.migration.options import PlanOptions
from schemactl.migration.plan_documents import mark_in
from schemactl.migration.records import Fill, ParentLink, Run, RunState, StepState, Version
from schemactl.migration.reports import (
    Compared,
    CompareReport,
    Disagreement,
    OddValues,
    PastRun,
    PlanReport,
    StatusReport,
    StoredVariant,
    VerifyReport,
)
from schemactl.migration.steps import AddPrimaryKey, AddUnique, ChangeType, SetNotNull, Step
from schemactl.migration.table_model import with_property
from schemactl.progress import Progress, no_progress
from schemactl.schema.diff import diff
from schemactl.schema.dispositions import named
from schemactl.schema.hash import bump
from schemactl.schema.naming import naming_of
from schemactl.schema.structure import typed_columns
from schemactl.schema.templates import new_schema
from schemactl.schema.types import VARIANT_ENDINGS, Schema, Table, ancestors
from schemactl.schema.variants import folded_type, home_of
from schemactl.store.folder import SchemasPlace


def find_status(
    reference: str | None,
    to: str | None,
    schemas: SchemasPlace,
    options: PlanOptions,
    *,
    looks_at_rows: bool = True,
) -> StatusReport:
    """Return the state of a destination; nothing is written.

    ``reference`` is a REF; None for the schema of an unfinished run, or else of the ledger. The options decide how
    pending steps are planned. ``looks_at_rows``: whether the values of variant columns are counted.
    """
    target = migratable(to)
    goal_schema = find_goal_schema(reference, schemas) if reference else None
    name = goal_schema.name if goal_schema else find_name(target)
    with target.open_for_reading(name) as session:
        state = read_state(session, target, name)
        goal_schema = bump(restore_lost(goal_schema, state)) if goal_schema else None
        begun = plan_of(state.unfinished).target if state.unfinished is not None else None
        schema = goal_schema or begun or state.ledger_schema
        planned: PlanReport | None = None
        if schema is not None:
            planned = plan_from_state(Goal(target, schema, options), state, resumes_any=True)
        # Within an unfinished run, differences come from the run.
        is_settled = state.ledger_schema is not None and state.unfinished is None
        drift = find_drift(state, state.ledger_schema) if is_settled and state.ledger_schema else Drift()
        tables = schema.tables if schema else {}
        report = StatusReport(
            place=state.place,
            there=state.ledger_version,
            target=stated(schema) if schema else None,
            planned=planned,
            drift=drift.changes,
            variants=tuple(
                variant
                for variant in drift.variants
                if variant.table not in tables or variant.column.name not in tables[variant.table].columns
            ),
            runs=tuple(past_run(session, run) for run in reversed(state.runs)),
            is_of_ledger=goal_schema is None and begun is None,
            stored_variants=tuple(stored_variants(state, schema, looks_at_rows=looks_at_rows)),
        )
    return replace(report, waiting_records=count_waiting(target, schema or new_schema(name)))


def stored_variants(state: DestinationState, schema: Schema | None, *, looks_at_rows: bool) -> Iterator[StoredVariant]:
    """Yield the variant columns of a destination by table, if a schema sets their naming convention."""
    known_schemas = [candidate for candidate in (state.ledger_schema, schema) if candidate is not None]
    if not known_schemas:
        return
    naming = naming_of(known_schemas[-1])
    catalogue = spelled_as(
        state.catalogue.schema, known_schemas[0], name_limits(state.target.destination, state.target.url)
    )
    for name, table in catalogue.tables.items():
        marked = {
            column.name
            for candidate in known_schemas
            if name in candidate.tables
            for column in candidate.tables[name].columns.values()
            if column.is_variant
        }
        variants = [
            (column, home)
            for column in table.columns.values()
            if (column.name in marked or column.name.lower().endswith(VARIANT_ENDINGS))
            and (home := home_of(column, table, naming)) is not None
        ]
        if not variants or is_bookkeeping(name):
            continue
        names = [column.name for column, _ in variants]
        fills = _fills(state, catalogue, known_schemas[-1], name, names) if looks_at_rows else [None] * len(names)
        for (column, home), fill in zip(variants, fills, strict=True):
            is_stated = known_schemas[-1].column(name, column.name) is not None
            is_foldable = is_stated and folded_type(home, [column]) is not None
            yield StoredVariant(name, column.name, home.name, fill, is_foldable)


def _fills(
    state: DestinationState, catalogue: Schema, schema: Schema, table: str, columns: Sequence[str]
) -> Iterator[Fill]:
    """Yield the fills of some columns of a table; nested rows have the load of their root rows."""
    load_id = SystemNames(naming_of(schema)).load_id
    load_column = _column_named(catalogue.tables[table], load_id)
    links = () if load_column is not None else _links_to_root(catalogue, schema, table)
    root_load_column = _column_named(catalogue.tables[links[-1].parent], load_id) if links else None
    for column, fill in zip(columns, state.session.fills(table, columns, load_column), strict=True):
        if root_load_column is None or not fill.values:
            yield fill
        else:
            yield replace(fill, first_load=state.session.first_load(table, column, links, root_load_column))


def _links_to_root(catalogue: Schema, schema: Schema, table: str) -> tuple[ParentLink, ...]:
    """Return the way from the rows of a nested table to their root rows; empty if a table of the way is missing."""
    names, links = SystemNames(naming_of(schema)), list[ParentLink]()
    for parent in ancestors(schema, table):
        if parent not in catalogue.tables:
            return ()
        column = _column_named(catalogue.tables[table], names.parent_id)
        key = _column_named(catalogue.tables[parent], names.row_id)
        if column is None or key is None:
            return ()
        links.append(ParentLink(column, parent, key))
        table = parent
    return tuple(links)


def _column_named(table: Table, name: str) -> str | None:
    """Return a column of a table by its name, in any case."""
    return next((column for column in table.columns if column.lower() == name.lower()), None)


def stated(schema: Schema) -> Version:
    """Return the version, hash and name of a schema."""
    return Version(schema.name, schema.version, schema.version_hash, None)


def past_run(session: MigrationSession, run: Run) -> PastRun:
    """Return a run with its progress."""
    records = session.steps(run.run_id)
    return PastRun(run, sum(record.state is StepState.DONE for record in records), len(records))


def compare_destinations(base: str, head: str) -> CompareReport:
    """Return how the tables and the ledgers of two destinations differ; nothing is written."""
    targets = migratable(base), migratable(head)
    names = [find_name(target) for target in targets]
    sides, referred = [], []
    with ExitStack() as open_sessions:
        for target, name in zip(targets, names, strict=True):
            session = open_sessions.enter_context(target.open_for_reading(name))
            state = read_state(session, target, name)
            marks = [mark_in(run.plan) for run in reversed(state.runs) if run.state is RunState.DONE]
            last_migration = next((mark.name for mark in marks if mark is not None), None)
            sides.append(Compared(state.place, state.ledger_version, last_migration))
            catalogue = state.catalogue.schema
            tables = {key: table for key, table in catalogue.tables.items() if not is_bookkeeping(key)}
            user_schema = replace(catalogue, name=name, tables=tables)
            referred.append(Referred(user_schema, state.catalogue.origin, destination=target.destination))
    changes = reported(diff(*comparable(*referred), guess_renames=False))
    return CompareReport(sides[0], sides[1], changes)


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """A call of ``schemactl migrate verify``.

    Attributes:
        reference: a REF; None for the last schema of the ledger.
        looks_at_rows: whether to check values, or only tables and columns.
        unique: whether to find duplicate values in columns that only the schema declares unique.
        primary_keys: whether to find nulls and duplicates in primary keys that only the schema declares.
    """

    reference: str | None
    to: str | None
    schemas: SchemasPlace
    looks_at_rows: bool = True
    sample: Sample = field(default_factory=Sample)
    unique: bool = False
    primary_keys: bool = False

    @property
    def looks_for_twins(self) -> bool:
        """Return whether all rows are read: two that are alike are rarely in one sample."""
        return self.sample.is_full


def verify(request: VerifyRequest, progress: Progress | None = None) -> VerifyReport:
    """Compare tables and values with a schema; nothing is written."""
    notify = progress or no_progress
    target = migratable(request.to)
    goal_schema = find_goal_schema(request.reference, request.schemas) if request.reference else None
    name = goal_schema.name if goal_schema else find_name(target)
    with target.open_for_reading(name) as session:
        notify("reading the catalog", None)
        state = read_state(session, target, name)
        goal_schema = bump(restore_lost(goal_schema, state)) if goal_schema else None
        schema = goal_schema or state.ledger_schema
        if schema is None:
            raise InputError(
                f"the ledger does not name a schema `{name}`", hint="name a schema: `verify REF --to DEST`"
            )
        drift = find_drift(state, schema)
        disagreements = []
        checked_names = {target.destination.NAMES.fold(table.name) for table in complete_tables(schema)}
        for table in state.catalogue.schema.tables:
            # The files of a table may contradict each other, which their catalog does not show.
            disagreement = (
                session.disagreement(table) if target.destination.NAMES.fold(table) in checked_names else None
            )
            if disagreement is not None:
                disagreements.append(Disagreement(table, disagreement.message, disagreement.hint or ""))
        # Rows of files that disagree cannot be read as one table's.
        unread = {disagreement.table for disagreement in disagreements}
        checks = list(_checks(state, schema, request)) if request.looks_at_rows else []
        checks = [check for check in checks if check[0].table not in unread]
        odd, rows, all_rows = _look_at_rows(session, schema, checks, request.sample, notify)
        return VerifyReport(
            place=state.place,
            schema=stated(schema),
            drift=drift.changes,
            variants=drift.variants,
            odd=odd,
            tables=len(complete_tables(schema)),
            columns=len({(step.table, column) for step, _ in checks for column in _columns(step)}),
            rows=rows,
            all_rows=all_rows,
            disagreements=tuple(disagreements),
            misplaced=misplaced_values(state),
            unfinished=past_run(session, state.unfinished) if state.unfinished else None,
        )


_Check = tuple[ChangeType | SetNotNull | AddUnique | AddPrimaryKey, str]
"""A query that counts the values of a column that do not follow the schema, and the problem."""


def _columns(step: Step) -> tuple[str, ...]:
    return step.columns if isinstance(step, AddPrimaryKey) else (step.column_name or "",)


def _checks(state: DestinationState, schema: Schema, request: VerifyRequest) -> Iterator[_Check]:
    """Yield the checks of rules that the engine does not enforce."""
    destination = state.target.destination
    names, enforces = destination.NAMES, destination.ABILITIES.enforces_types
    tables = {names.fold(name): table for name, table in state.tables_for(schema).items()}
    for table in complete_tables(schema):
        current_table = tables.get(names.fold(table.name))
        if current_table is None:
            continue
        columns = {names.fold(name): column for name, column in current_table.columns.items()}
        for column in typed_columns(table):
            column_there = columns.get(names.fold(column.name))
            if column_there is None:
                continue
            if not column.nullable and column_there.nullable:
                step = SetNotNull(current_table.name, with_property(column_there, "nullable", None))
                yield step, "null, which the schema forbids"
            if not enforces and column.data_type is not None:
                # A conversion from a type to itself takes the values that are of this type.
                current_type = replace(with_property(column, "nullable", None), name=column_there.name)
                yield ChangeType(current_table.name, current_type, current_type), f"not of type {column.data_type}"
            is_kept = column_there.properties.get("unique") or current_table.hinted("primary_key") == (
                column_there.name,
            )
            if request.looks_for_twins and request.unique and column.properties.get("unique") and not is_kept:
                yield AddUnique(current_table.name, column_there.name), "in more than one row, though `unique`"
        if request.looks_for_twins and request.primary_keys:
            parts = [columns.get(names.fold(name)) for name in named(table, "primary_key")]
            key = tuple(column.name for column in parts if column is not None)
            if key and len(key) == len(parts) and set(key) != set(current_table.hinted("primary_key")):
                yield AddPrimaryKey(current_table.name, key), "null or in more than one row, though `primary_key`"


def _look_at_rows(
    session: MigrationSession,
    schema: Schema,
    checks: Sequence[_Check],
    sample: Sample,
    notify: Progress,
) -> tuple[tuple[OddValues, ...], int, int]:
    """Return the odd values, the number of rows that were read, and that of all rows."""
    # Counted before: a sample's share is the same for all columns of a table.
    sampled = () if sample.is_full else {step.table: None for step, _ in checks}
    counts = {table: session.row_count(table) for table in sampled}
    rows: dict[str, int] = {}
    odd: list[OddValues] = []
    for number, (step, message) in enumerate(checks):
        columns = ", ".join(_columns(step))
        notify(f"looking at {step.table}.{columns}", number / len(checks))
        unfit = session.unfit(step, sample.share_of(counts.get(step.table, 0)))
        rows[step.table] = unfit.rows
        if unfit.count:
            examples = example_texts(unfit, schema, step.table, step.column_name)
            odd.append(OddValues(step.table, columns, message, unfit.count, unfit.rows, examples))
    return tuple(odd), sum(rows.values()), sum((counts or rows).values())

"""Widens stored columns for a load (contract mode ``promote``): counts their values, then converts them.

The steps come from ``schemactl migrate``, whose code plans, counts, runs and records them, so that ``rollback`` can
undo them. A destination that can change tables in a transaction widens columns within the load's transaction; any other
destination widens them before the load, each column at once, and the next load resumes a killed run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from schemactl.destinations import MigrationSession, is_migrator
from schemactl.errors import DestinationError, InputError, LockNotAvailable, Problem
from schemactl.flows.migrate.counting import count_unfit, find_blockers
from schemactl.flows.migrate.forward_run import ForwardRun
from schemactl.flows.migrate.runner import LockRetry, StepBlocked, new_run
from schemactl.flows.migrate.schema_plans import propose, render_plan
from schemactl.flows.migrate.state import DestinationState, read_state
from schemactl.flows.migrate.stored_plans import plan_of, resume_plan
from schemactl.flows.target import LoadTarget, MigrationTarget
from schemactl.inference.promotion import StoredValues
from schemactl.migration.migration_plan import MigrationPlan
from schemactl.migration.options import PlanOptions
from schemactl.migration.records import Patience, RunState
from schemactl.migration.ways import Way
from schemactl.progress import Progress, no_progress
from schemactl.schema.changes import TYPE_PROPERTIES, ColumnRetyped
from schemactl.schema.full_types import FullType, full_type
from schemactl.schema.hash import bump
from schemactl.schema.nested_types import SPARK_TYPE, NestedType, structure_of, write_type
from schemactl.schema.nested_widening import has_json_of_scalars, has_wider_fields, widened_structure
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, Schema, Table, root_of
from schemactl.schema.widening import is_wider, type_properties, widened_column
from schemactl.schema.wording import counted, describe_type

DEFAULT_MAX_ROWS: Final = 10_000_000
"""The maximum number of rows of a table that a load rewrites by default."""

Columns = Collection[tuple[str, str]]
"""Columns by table and name."""


class ValuesDoNotSurvive(DestinationError):
    """Stored values would not survive in the wider columns of a load; no column was changed."""


class PromoteLocks(StrEnum):
    """The treatment of other sessions that use a table that a load has to widen."""

    WAIT = "wait"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class PromotionOptions:
    """The limits for changes of stored columns by a load.

    Attributes:
        max_rows: rows of a table above which the load leaves a rewrite to ``schemactl migrate``.
        locks: whether to wait for other sessions that use the table.
    """

    max_rows: int = DEFAULT_MAX_ROWS
    locks: PromoteLocks = PromoteLocks.WAIT

    @property
    def patience(self) -> Patience:
        """How long the steps wait for other sessions."""
        if self.locks is PromoteLocks.FAIL:
            return Patience(lock_seconds=0.1, lock_retries=0)
        return Patience(seconds=LOAD_SECONDS, lock_seconds=_LOCK_SECONDS, lock_retries=0)


LOAD_SECONDS: Final = 600.0
_LOCK_SECONDS: Final = 60.0
"""As loads wait for each other and for other sessions."""


@dataclass(frozen=True)
class StoredColumns:
    """The columns of a destination that a load may widen.

    Attributes:
        schema_name: the schema name of the load.
        widened: the tables and columns that the load has made wider in the destination.
        counted: the answers of ``count``: rows of a load are made several times if they do not fit at first.
        row_counts: the number of rows of tables, as first counted: it decides only whether a load rewrites them.
    """

    target: LoadTarget
    schema_name: str
    options: PromotionOptions = field(default_factory=PromotionOptions)
    progress: Progress = no_progress
    counted: dict[tuple[str, str, FullType | NestedType], StoredValues] = field(default_factory=dict)
    row_counts: dict[str, int] = field(default_factory=dict)
    widened: list[tuple[str, Column]] = field(default_factory=list)

    @property
    def migration_target(self) -> MigrationTarget:
        """The destination as migrations see it."""
        destination = self.target.destination
        if not is_migrator(destination):
            message = f"`{self.target.kind}` cannot widen columns"
            raise InputError(message, hint="use the contract `data_type=evolve` there, which adds variant columns")
        return MigrationTarget(self.target.kind, destination, self.target.url)

    @property
    def widens_ahead(self) -> bool:
        """Whether columns become wider before a load, because no transaction of the destination holds both."""
        destination = self.target.destination
        return is_migrator(destination) and not destination.ABILITIES.transactional_ddl

    def count(self, schema: Schema, table: str, column: str, wider: FullType | NestedType) -> StoredValues:
        """Return the stored values of a column of a schema that would not survive a wider type.

        Raises:
            InputError: the table has more rows than a load rewrites.
            DestinationError: it cannot be read.
        """
        if schema.column(table, column) is None:
            return StoredValues()  # the destination lacks the column
        key = (table, column, wider)
        if key not in self.counted:
            with self._read_state() as state:
                self.counted[key] = self._count(state, _with_type(schema, table, column, wider), table, column)
        return self.counted[key]

    def _count(self, state: DestinationState, schema: Schema, table: str, column: str) -> StoredValues:
        plan = plan_promotion(state, schema, [(table, column)])
        if not plan.steps:
            is_narrow = bool(find_goals(state, schema, [(table, column)]))
            blocker = f"`{self.target.kind}` cannot change the types of fields" if is_narrow else ""
            return StoredValues(blocker=blocker)
        steps = [planned.step for planned in plan.steps]
        blockers = list(find_blockers(state.session, steps))
        if blockers:
            return StoredValues(blocker=blockers[0].message)
        if not plan.is_applicable:
            wider = schema.tables[table].columns[column].properties
            return StoredValues(blocker=f"`{self.target.kind}` cannot change its type to {describe_type(wider)}")
        is_replaced = schema.tables[root_of(schema, table)].properties.get("write_disposition") == "replace"
        if is_replaced and not self.widens_ahead:
            return StoredValues()  # the load removes them before it widens the column
        counts = count_unfit(state.session, plan, 0)
        rows = self._row_count(state.session, steps[0].table_name)  # which the session may have counted as well
        self._check_rows(plan, schema, rows)
        examples = tuple(text for counted_step in counts for text in counted_step.examples)
        return StoredValues(rows, sum(counted_step.count for counted_step in counts), examples)

    def _row_count(self, session: MigrationSession, table: str) -> int:
        if table not in self.row_counts:
            self.row_counts[table] = session.row_count(table)
        return self.row_counts[table]

    def _check_rows(self, plan: MigrationPlan, schema: Schema, rows: int) -> None:
        rewrites = [planned for planned in plan.steps if planned.way in (Way.REWRITE, Way.COPY)]
        if rows <= self.options.max_rows or not rewrites:
            return
        step = rewrites[0].step
        message = (
            f"`{step.full_name}` must become wider, which rewrites {counted(rows, 'row')}; a load rewrites "
            f"{self.options.max_rows:,} at most"
        )
        column = schema.tables[step.table_name].columns.get(step.column_name or "")
        declared = "" if column is None else f":{str(full_type(column.properties)).replace(', ', ',')}"
        hint = (
            f"`schemactl edit {schema.name} --column '{step.full_name}{declared}'`, "
            f"`schemactl sync {schema.name}` and `schemactl migrate apply {schema.name} --to DEST` widen it, "
            "or raise `--promote-max-rows`"
        )
        raise InputError(message, hint=hint)

    @contextmanager
    def _read_state(self) -> Iterator[DestinationState]:
        target = self.migration_target
        with target.open_for_reading(self.schema_name, may_be_new=True, patience=_READING) as session:
            yield read_state(session, target, self.schema_name)

    def has_pipelines(self) -> bool:
        """Return whether dlt pipelines load into the dataset."""
        with self._read_state() as state:
            tables = state.catalogue.schema.tables
        return any(name.lower() == _PIPELINE_STATE for name in tables)

    def without_narrow(self, schema: Schema, columns: Columns) -> Schema:
        """Return a schema without the columns that the destination has narrower, so that a load widens them."""
        with self._read_state() as state:
            goals = find_goals(state, schema, columns)
        for table, goal in goals.items():
            wide = {name: column for name, column in schema.tables[table].columns.items() if name not in goal.columns}
            schema = schema.with_table(replace(schema.tables[table], columns=wide))
        return schema

    def widen(self, session: MigrationSession, schema: Schema, columns: Columns) -> None:
        """Widen columns to their types in a schema, in the open transaction of a load.

        Raises:
            ValuesDoNotSurvive: stored values would not survive.
            DestinationError: something else blocks the change.
            InputError: a table has more rows than a load rewrites.
        """
        forward = self._forward_run(session, schema, columns, is_recorded=False)
        if forward is not None:
            self._run(forward, forward.run_in_transaction)

    def widen_ahead(self, schema: Schema, columns: Columns) -> bool:
        """Widen columns to their types in a schema before a load; return whether there were any to widen.

        Raises:
            ValuesDoNotSurvive, DestinationError, InputError: as ``widen``.
        """
        with self.migration_target.open_for_writing(self.schema_name, self.options.patience) as session:
            forward = self._forward_run(session, schema, columns, is_recorded=True)
            if forward is None:
                return False
            self._run(forward, forward.run_one_by_one)
            return True

    def finish_killed(self, schema: Schema) -> None:
        """Finish the widening of a load that was killed before the ledger had its end; see ``widen_ahead``."""
        if not self.widens_ahead:
            return
        target = self.migration_target
        with target.open_for_reading(self.schema_name, may_be_new=True, patience=_READING) as session:
            unfinished = [run for run in session.runs() if run.state is RunState.RUNNING]
        if unfinished and unfinished[0].plan and _is_promotion(plan_of(unfinished[0])):
            self.widen_ahead(schema, ())

    def _forward_run(
        self, session: MigrationSession, schema: Schema, columns: Columns, *, is_recorded: bool
    ) -> ForwardRun | None:
        """Return the run that widens columns, or resumes the run of a killed load; None if all columns are wide enough.

        ``is_recorded``: whether the ledger has the widened schema afterwards, and not the schema of the load.
        """
        target = self.migration_target
        state = read_state(session, target, self.schema_name)
        retry = LockRetry(0, self.progress)
        if (unfinished := state.unfinished) is not None:
            plan, finished_count = resume_plan(state, unfinished)
            if not _is_promotion(plan):
                hint = "`schemactl migrate apply` resumes it, and `schemactl migrate rollback` undoes it"
                raise DestinationError(f"`{session.origin}` has an unfinished migration", hint=hint)
            return ForwardRun(session, target.destination, plan, unfinished, finished_count, retry)
        plan = plan_promotion(state, schema, columns, is_recorded=is_recorded)
        if not plan.steps:
            return None
        steps = [planned.step for planned in plan.steps]
        blockers = [Problem(blocker.message, hint=blocker.hint) for blocker in find_blockers(session, steps)]
        if blockers or not plan.is_applicable:
            message = f"columns of `{session.origin}` cannot become wider"
            hint = f"`schemactl migrate plan {schema.name} --to DEST` shows why"
            raise DestinationError(message, problems=tuple(blockers), hint=hint)
        for name in {step.table_name for step in steps}:
            self._check_rows(plan, schema, self._row_count(session, name))
        run = new_run(plan, state.ledger_hash)
        tables = state.tables_for(plan.target)
        return ForwardRun(session, target.destination, plan, run, 0, retry, tables=tables, records_version=is_recorded)

    def _run(self, forward: ForwardRun, run: Callable[[], None]) -> None:
        names = dict.fromkeys(f"`{planned.step.full_name}`" for planned in forward.plan.steps)
        self.progress(f"widening {', '.join(names)}", None)
        try:
            run()
            reasons = [planned.reason for planned in forward.plan.steps]
            retyped = {(reason.table, reason.column): None for reason in reasons if isinstance(reason, ColumnRetyped)}
            tables = forward.plan.target.tables
            self.widened.extend((table, tables[table].columns[column]) for table, column in retyped)
        except DestinationError as error:
            cause = error if isinstance(error, LockNotAvailable) else error.__cause__
            if not isinstance(cause, LockNotAvailable):
                raise
            is_impatient = self.options.locks is PromoteLocks.FAIL
            ways_on = ", or wait for it: `--promote-locks wait`" if is_impatient else ", and run the load again"
            raise LockNotAvailable(error.message, hint=f"end the session that uses the table{ways_on}") from error
        except StepBlocked as blocked:
            problems = tuple(Problem(blocker.message, hint=blocker.hint) for blocker in blocked.blockers)
            hint = (
                f"fix them (`schemactl migrate plan {self.schema_name} --to DEST` shows them), or give the columns "
                f"other types: `schemactl edit {self.schema_name} --column TABLE.COLUMN:TYPE`"
            )
            message = "stored values would not survive in wider columns"
            raise ValuesDoNotSurvive(message, problems=problems, hint=hint) from blocked


_PIPELINE_STATE: Final = "_dlt_pipeline_state"
_READING: Final = Patience(seconds=5.0)


def plan_promotion(
    state: DestinationState, schema: Schema, columns: Columns, *, is_recorded: bool = False
) -> MigrationPlan:
    """Return the plan that widens columns to their types in a schema, and changes nothing else.

    Columns that the destination lacks, or that already have this or a wider type, are left out. The plan
    leads to the schema, or, if it is recorded by itself, to the last schema of the ledger with wider columns.
    """
    goals = find_goals(state, schema, columns)
    recorded = schema
    if is_recorded:
        recorded = state.ledger_schema or schema
        for goal in goals.values():
            table = recorded.tables.get(goal.name) or schema.tables[goal.name]
            columns_after = {name: schema.tables[goal.name].columns[name] for name in goal.columns}
            recorded = recorded.with_table(replace(table, columns={**table.columns, **columns_after}))
        recorded = bump(recorded)
    without_ledger = replace(state, ledger_schema=None)
    goal_schema = replace(recorded, tables=goals)
    proposal = propose(without_ledger, goal_schema, PlanOptions(keeps_removed=True))
    steps = tuple(planned for planned in proposal.steps if planned.step.table_name in goals)
    return render_plan(state, recorded, replace(proposal, steps=steps, notes=()))


def find_goals(state: DestinationState, schema: Schema, columns: Columns) -> dict[str, Table]:
    """Return the tables with the columns that the destination has narrower than a schema, as they should become."""
    fold = state.target.destination.NAMES.fold
    stored_tables = {fold(name): table for name, table in state.catalogue.schema.tables.items()}
    goals: dict[str, Table] = {}
    for table, name in columns:
        stored_table = stored_tables.get(fold(table))
        stored_names = {} if stored_table is None else {fold(stored): stored for stored in stored_table.columns}
        if stored_table is None or fold(name) not in stored_names:
            continue
        stored_column = stored_table.columns[stored_names[fold(name)]]
        declared_column = state.ledger_schema.column(table, name) if state.ledger_schema else None
        before = stored_column
        if declared_column is not None and _stores_alike(state, declared_column, stored_column):
            before = declared_column  # such as a wei, which lakes store as text
        goal = _goal(state.target, stored_column, before, schema.tables[table].columns[name])
        if goal is not None and not _stores_alike(state, goal, stored_column):
            table_goal = goals.get(table) or Table(table, {}, schema.tables[table].properties)
            goals[table] = replace(table_goal, columns={**table_goal.columns, goal.name: goal})
    return goals


def _stores_alike(state: DestinationState, first: Column, second: Column) -> bool:
    stored = state.target.destination.stored
    return stored(first) == stored(second)


def _goal(target: MigrationTarget, stored_column: Column, before: Column, column: Column) -> Column | None:
    """Return a stored column with the type of a schema's column; None if that is not wider than the type before."""
    abilities = target.destination.ABILITIES
    stored_structure = abilities.structure_of(stored_column.properties)
    structure = abilities.structure_of(target.destination.stored(column))
    if stored_structure is not None:
        # A column or field that became JSON text in the schema is no wider one: the load is refused.
        declared_structure = structure_of(column)
        if structure is None or declared_structure is None or has_json_of_scalars(stored_structure, declared_structure):
            return None
        return _structure_goal(stored_column, stored_structure, structure)
    settle = target.settle_decimal
    type_before, wider = full_type(settle(before).properties), full_type(settle(column).properties)
    if type_before is None or wider is None or not (type_before == wider or is_wider(type_before, wider)):
        return None
    type_keys = (*TYPE_PROPERTIES, DATABASE_TYPE)
    hints = {key: value for key, value in stored_column.properties.items() if key not in type_keys}
    return Column(column.name, {**hints, **type_properties(wider)})


def _structure_goal(stored_column: Column, stored_type: NestedType, declared_type: NestedType) -> Column | None:
    """Return a stored column of structs, lists or maps with wider fields; None if loads need no wider ones."""
    widened = widened_structure(stored_type, declared_type)
    if widened is None or not has_wider_fields(stored_type, widened):
        return None
    hints = {key: value for key, value in stored_column.properties.items() if key != DATABASE_TYPE}
    return Column(stored_column.name, {**hints, "data_type": "json", SPARK_TYPE: write_type(widened)})


def _with_type(schema: Schema, table: str, column: str, wider: FullType | NestedType) -> Schema:
    columns = schema.tables[table].columns
    if isinstance(wider, FullType):
        widened = widened_column(columns[column], wider)
    else:
        widened = Column(column, {**columns[column].properties, SPARK_TYPE: write_type(wider)})
    return schema.with_table(replace(schema.tables[table], columns={**columns, column: widened}))


def _is_promotion(plan: MigrationPlan) -> bool:
    return all(isinstance(planned.reason, ColumnRetyped) for planned in plan.steps)

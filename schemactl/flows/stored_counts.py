"""Counts the values of a destination that a schema change breaks, by the steps of the migration to the schema."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from schemactl.destinations import MigrationSession
from schemactl.errors import InputError
from schemactl.examples import mask_examples
from schemactl.flows.migrate.counting import find_blockers
from schemactl.flows.migrate.schema_plans import plan_to_schema
from schemactl.flows.migrate.state import read_state
from schemactl.flows.survival import Question
from schemactl.flows.target import migratable
from schemactl.migration.effects import traced
from schemactl.migration.migration_plan import MigrationPlan
from schemactl.migration.options import PlanOptions
from schemactl.migration.steps import Backfill, ChangeType
from schemactl.review.report import Counted
from schemactl.schema.changes import ColumnRetyped
from schemactl.schema.personal import is_personal
from schemactl.schema.types import Schema


def count_stored(address: str, head: Schema, questions: Iterable[Question]) -> Mapping[Question, Counted]:
    """Return the answers of a destination's stored values to questions about the new types of columns.

    Columns of tables that block their step are left out, since their rows may not be readable, and so are columns that
    no migration can change.

    Args:
        address: the address of a destination that migrates.
        head: the schema whose types the columns get.
        questions: the questions; only questions about types are answered.

    Raises:
        DestinationError: the destination cannot be read.
    """
    questions_by_column = {
        (question.table, question.column): question for question in questions if question.kind == "type"
    }
    if not questions_by_column:
        return {}
    target = migratable(address)
    with target.open_for_reading(head.name, may_be_new=True) as session:
        state = read_state(session, target, head.name)
        try:
            plan = plan_to_schema(state, head, PlanOptions(keeps_removed=True), False)
        except InputError:
            return {}  # no migration leads to the schema, so no step can count; `migrate plan` says why
        counts = _count_columns(session, plan, questions_by_column)
    return {questions_by_column[column]: counted for column, counted in counts.items()}


def _count_columns(
    session: MigrationSession, plan: MigrationPlan, columns: Collection[tuple[str, str]]
) -> dict[tuple[str, str], Counted]:
    """Return the values of columns whose type a plan changes, and the values that would not survive."""
    steps = [planned.step for planned in plan.steps]
    blocked = {index for indexes in find_blockers(session, steps).values() for index in indexes}
    counts: dict[tuple[str, str], Counted] = {}
    for index, planned in enumerate(plan.steps):
        reason, step = planned.reason, planned.step
        if not (isinstance(reason, ColumnRetyped) and isinstance(step, ChangeType | Backfill)) or index in blocked:
            continue
        column = reason.table, reason.column
        traced_step = traced(steps, index)
        if column not in columns or traced_step is None or traced_step.column_before is None:
            continue
        (fill,) = session.fills(traced_step.table_name, [traced_step.column_before], None)
        unfit = session.unfit(traced_step)
        values = dict.fromkeys(example.value for example in unfit.examples if example.value is not None)
        examples = mask_examples(values, is_personal(plan.target, *column))
        counts[column] = Counted(fill.values, unfit.count, examples)
    return counts

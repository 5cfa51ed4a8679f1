"""The declared readers that the steps of a migration plan break."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from schemactl.flows.reader_sources import ReaderSource
from schemactl.flows.readers import read_readers
from schemactl.migration.effects import in_first_names
from schemactl.migration.migration_plan import MigrationPlan
from schemactl.migration.steps import ChangeType, RenameTable, RestoreColumn, Step, SwapColumns
from schemactl.review.readers import Broken, Reader, Readership, StepReaders, Use
from schemactl.schema.casts import TypeChange, type_change_between
from schemactl.schema.reader_effects import ReaderEffect
from schemactl.schema.types import Column, Schema, Table


def find_step_readers(sources: Sequence[ReaderSource], plan: MigrationPlan) -> tuple[StepReaders, ...]:
    """Return the readers that a plan breaks, by step; omit the steps that break no reader.

    The tables are in the plan's dataset, unless a source or the settings name another one.
    """
    target, steps = plan.target, [planned.step for planned in plan.steps]
    # Queries use the names from before the plan.
    breaking_steps = {
        number: traced_step
        for number, traced_step in enumerate(in_first_names(steps), 1)
        if traced_step is not None and traced_step.reader_effect is not ReaderEffect.NONE
    }
    old_schema = _old_schema(target, steps, breaking_steps.values())
    located = [replace(item, datasets={target.name: plan.place.dataset, **item.datasets}) for item in sources]
    readership = read_readers(located, target.name, (target, old_schema))
    readers = {number: _broken_by(readership, step) for number, step in breaking_steps.items()}
    return tuple(StepReaders(number, broken) for number, broken in readers.items() if broken)


def _old_schema(target: Schema, steps: Sequence[Step], breaking_steps: Iterable[Step]) -> Schema:
    """Return the tables before a plan that the target lacks, and their columns as far as they are known.

    ``breaking_steps`` have the names from before the plan.
    """
    old_names: dict[str, str] = {}
    for step in steps:
        if isinstance(step, RenameTable):
            old_names[step.after] = old_names.pop(step.before, step.before)
    columns: dict[str, dict[str, Column]] = {}
    for new_name, old_name in old_names.items():
        if new_name in target.tables:
            columns.setdefault(old_name, {}).update(target.tables[new_name].columns)
    for step in breaking_steps:
        table_columns = columns.setdefault(step.table_name, {})
        table_columns.update({name: Column(name) for name in step.read_columns if name is not None})
    return replace(target, tables={name: Table(name, table_columns) for name, table_columns in columns.items()})


def _broken_by(readership: Readership, step: Step) -> tuple[Broken, ...]:
    """Return the readers that a step breaks, each once."""
    type_change: TypeChange | None = None
    match step:
        case ChangeType():
            type_change = type_change_between(step.before, step.after)
        case SwapColumns():
            type_change = type_change_between(step.backfill.source, step.backfill.target)
        case RestoreColumn():
            type_change = type_change_between(step.swap.backfill.target, step.swap.backfill.source)
        case _:
            pass
    uses: dict[Reader, list[Use]] = {}
    broken_readers = [
        broken
        for column in step.read_columns
        for broken in readership.broken_by(step.reader_effect, step.table_name, column, type_change)
    ]
    for broken in broken_readers:
        uses.setdefault(broken.reader, []).extend(broken.uses)
    downstream = {broken.reader: broken.downstream for broken in broken_readers}
    return tuple(Broken(reader, tuple(reader_uses), downstream[reader]) for reader, reader_uses in uses.items())

"""Looks at the data before a step runs: what stands in its way, and what that means."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from schemactl.destinations import MigrationSession
from schemactl.destinations._migration.records import Example, Unfit
from schemactl.flows.migrate.tracing import traced
from schemactl.migration.cautions import needs_count
from schemactl.migration.planner import PlannedStep
from schemactl.migration.reports import Counted, Obstacle, Refusal
from schemactl.migration.steps import (
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    SetNotNull,
    Step,
    column_of,
    table_of,
)
from schemactl.schema.conversions import Conversion

_TAKE_BACK: Final = "take back the run that stands half done: `schemactl migrate rollback`"


def count_unfit(session: MigrationSession, steps: Sequence[Step], barred: Collection[int] = ()) -> tuple[Counted, ...]:
    """Return what stands in the way of steps, before the first of them has run; nothing of those that are free.

    Args:
        session: where.
        steps: in their order.
        barred: places of steps whose tables do not take them: their rows may not be readable, either.
    """
    found = []
    for place, step in enumerate(steps):
        is_asked = place not in barred and (needs_count(step) or _is_lossy_fill(step))
        looked_at = traced(steps, place) if is_asked else None
        if looked_at is not None and (unfit := session.unfit(looked_at)).count:
            found.append(counted(place + 1, unfit))
    return tuple(found)


def count_late(session: MigrationSession, steps: Sequence[Step], place: int) -> tuple[Counted, ...]:
    """Return what stands in the way of the step that is about to run, where it could not be seen before the first."""
    if not is_counted_late(steps, place):
        return ()
    unfit = session.unfit(steps[place])
    return (counted(place + 1, unfit),) if unfit.count else ()


def is_counted_late(steps: Sequence[Step], place: int) -> bool:
    """Return whether what stands in the way of a step cannot be seen before the first of them has run."""
    is_seen = traced(steps, place) is not None and not _is_of_converted(steps, place)
    return needs_count(steps[place]) and not is_seen


def counted(number: int, unfit: Unfit) -> Counted:
    """Return what was counted for step ``number``."""
    return Counted(number, unfit.count, tuple(map(example_text, unfit.examples)))


def example_text(example: Example) -> str:
    """Return a value and the row that holds it, as text.

    >>> example_text(Example({"_dlt_id": "x1"}, "abc"))
    '"abc" (_dlt_id x1)'
    """
    value = "null" if example.value is None else f'"{example.value}"'
    row = ", ".join(f"{name} {key}" for name, key in example.row.items())
    return f"{value} ({row})" if row else value


def refuse_unfit(
    steps: Sequence[PlannedStep], counts: Sequence[Counted], *, is_begun: bool = False
) -> Iterator[Refusal]:
    """Yield what speaks against steps by what was counted.

    Args:
        steps: of the whole plan.
        counts: by the numbers of the steps.
        is_begun: whether the ledger has the run: then neither its schema nor its plan can be another one.
    """
    for each in counts:
        step = steps[each.number - 1].step
        if not needs_count(step):
            continue
        name = f"`{table_of(step)}.{column_of(step)}`"
        rows = "value" if each.count == 1 else "values"
        match step:
            case SetNotNull():
                message = f"{name} holds {each.count:,} null{'' if each.count == 1 else 's'}"
                mend, instead = "fill them", "allow nulls in the schema"
            case AddUnique():
                message = f"{each.count:,} rows of {name} share their value with another row"
                mend, instead = "remove what is there twice", "leave `unique` out of the schema"
            case AddPrimaryKey():
                listed = ", ".join(f"`{column}`" for column in step.columns)
                message = f"{each.count:,} rows of `{step.table}` have in {listed} a null, or what another row has"
                mend, instead = "mend or remove them", "leave `primary_key` out of the schema"
            case _:
                message = f"{each.count:,} {rows} of {name} would not survive"
                mend = "mend them"
                instead = "keep the old column beside the new one: `--on-unfit expand` (or `variant`)"
        hint = f"{mend}, or {_TAKE_BACK if is_begun else instead}"
        yield Refusal(Obstacle.UNFIT, message, hint, (each.number,))


def _is_of_converted(steps: Sequence[Step], place: int) -> bool:
    """Return whether values that differ may be equal when the step forbids that: `1` and `01` are one number."""
    step = steps[place]
    if not isinstance(step, AddUnique | AddPrimaryKey):
        return False
    columns = (step.column,) if isinstance(step, AddUnique) else step.columns
    return any(
        isinstance(each, ChangeType) and each.table == step.table and each.after.name in columns
        for each in steps[:place]
    )


def _is_lossy_fill(step: Step) -> bool:
    return isinstance(step, Backfill) and step.conversion is not Conversion.WHOLE

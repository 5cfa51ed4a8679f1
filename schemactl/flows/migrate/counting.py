"""Looks at the data before a step runs: what stands in its way, and what that means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schemactl.destinations import MigrationSession
from schemactl.destinations._migration.records import Example, Unfit
from schemactl.flows.migrate.tracing import traced
from schemactl.migration.cautions import needs_count
from schemactl.migration.planner import PlannedStep
from schemactl.migration.reports import Counted, Obstacle, Refusal
from schemactl.migration.steps import AddUnique, Backfill, SetNotNull, Step, column_of, table_of
from schemactl.schema.conversions import Conversion


def count_unfit(session: MigrationSession, steps: Sequence[Step]) -> tuple[Counted, ...]:
    """Return what stands in the way of steps, before the first of them has run; nothing of those that are free."""
    found = []
    for place, step in enumerate(steps):
        looked_at = traced(steps, place) if needs_count(step) or _is_lossy_fill(step) else None
        if looked_at is not None and (unfit := session.unfit(looked_at)).count:
            found.append(counted(place + 1, unfit))
    return tuple(found)


def count_late(session: MigrationSession, steps: Sequence[Step], place: int) -> tuple[Counted, ...]:
    """Return what stands in the way of the step that is about to run, where it could not be seen before the first."""
    if not needs_count(steps[place]) or traced(steps, place) is not None:
        return ()
    unfit = session.unfit(steps[place])
    return (counted(place + 1, unfit),) if unfit.count else ()


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


def refuse_unfit(steps: Sequence[PlannedStep], counts: Sequence[Counted]) -> Iterator[Refusal]:
    """Yield what speaks against steps by what was counted."""
    for each in counts:
        step = steps[each.number - 1].step
        if not needs_count(step):
            continue
        name = f"`{table_of(step)}.{column_of(step)}`"
        rows = "value" if each.count == 1 else "values"
        match step:
            case SetNotNull():
                message = f"{name} holds {each.count:,} null{'' if each.count == 1 else 's'}"
                hint = "fill them, or allow nulls in the schema"
            case AddUnique():
                message = f"{each.count:,} rows of {name} share their value with another row"
                hint = "remove what is there twice, or leave `unique` out of the schema"
            case _:
                message = f"{each.count:,} {rows} of {name} would not survive"
                hint = "mend them, or keep the old column beside the new one: `--on-unfit expand` (or `variant`)"
        yield Refusal(Obstacle.UNFIT, message, hint, (each.number,))


def _is_lossy_fill(step: Step) -> bool:
    return isinstance(step, Backfill) and step.conversion is not Conversion.WHOLE

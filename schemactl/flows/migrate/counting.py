"""Inspects tables and data before a step runs: finds the values and tables that block it, and the way out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from shlex import quote
from typing import Final

from schemactl.destinations import MigrationSession
from schemactl.errors import backquoted
from schemactl.examples import Examples, examples_of, mask_examples
from schemactl.migration.effects import in_first_names, traced, widening_of
from schemactl.migration.migration_plan import MigrationPlan
from schemactl.migration.records import Blocker, Example, Unfit
from schemactl.migration.reports import BlockerKind, Counted, PlanBlocker
from schemactl.migration.steps import (
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    FoldVariant,
    Phase,
    Prepare,
    RenameColumn,
    SetNotNull,
    Step,
    Taken,
)
from schemactl.schema.conversions import Conversion
from schemactl.schema.personal import is_personal
from schemactl.schema.renames import is_dlts_own
from schemactl.schema.types import Column, Schema
from schemactl.schema.wording import counted as count_of


def find_blockers(session: MigrationSession, steps: Sequence[Step]) -> dict[Blocker, tuple[int, ...]]:
    """Return why steps cannot be done, before the first of them has run, each reason with the places of its steps."""
    indexes_by_blocker: dict[Blocker, tuple[int, ...]] = {}
    for index, traced_step in enumerate(in_first_names(steps)):
        blocker = session.find_blocker(traced_step) if traced_step is not None else None
        if blocker is not None:
            indexes_by_blocker[blocker] = (*indexes_by_blocker.get(blocker, ()), index)
    return indexes_by_blocker


def count_unfit(
    session: MigrationSession,
    plan: MigrationPlan,
    finished_count: int,
    barred: Collection[int] = (),
    *,
    is_resumed: bool = False,
) -> tuple[Counted, ...]:
    """Return the values that block steps, before the first step has run.

    An earlier run has done the first ``finished_count`` steps, and may have begun another if ``is_resumed``. Steps at
    the ``barred`` indexes among the remaining ones are not counted: if a table does not take its step, its rows may not
    be readable either.
    """
    counts, steps = [], [planned.step for planned in plan.steps[finished_count:]]
    for index, step in enumerate(steps):
        is_asked = index not in barred and (
            step.needs_count or (isinstance(step, Backfill) and step.conversion is not Conversion.WHOLE)
        )
        looked_at = traced(steps, index) if is_asked else None
        if looked_at is not None and (unfit := session.unfit(looked_at)).count:
            counts.append(counted(finished_count + index + 1, unfit, plan.target, step))
        # A run that was killed in the step has filled both columns itself.
        if isinstance(looked_at, FoldVariant) and not (is_resumed and index == 0):
            counts += _overlaps(session, plan, finished_count + index + 1, looked_at)
    return tuple(counts)


def _overlaps(session: MigrationSession, plan: MigrationPlan, number: int, step: FoldVariant) -> tuple[Counted, ...]:
    """Return the rows that hold values in both columns of a fold, which is step ``number`` of a plan."""
    overlaps = session.overlaps(step)
    if not overlaps.count:
        return ()
    return (replace(counted(number, overlaps, plan.target, step), is_overlap=True),)


def count_surviving(
    session: MigrationSession, plan: MigrationPlan, finished_count: int, barred: Collection[int] = ()
) -> tuple[list[Counted], list[Counted], list[Counted]]:
    """Count values that block no step; arguments as in ``count_unfit``.

    Returns:
        The values that undoing steps would restore in another spelling, the values that folds of variants move, and
            the values of columns that get a wider type.
    """
    not_undone, folded, widened = list[Counted](), list[Counted](), list[Counted]()
    steps = [planned.step for planned in plan.steps[finished_count:]]
    for index, step in enumerate(steps):
        is_widened = widening_of(step) is not None
        is_asked = index not in barred and (is_widened or isinstance(step, ChangeType | FoldVariant))
        looked_at = traced(steps, index) if is_asked else None
        number = finished_count + index + 1
        if isinstance(looked_at, ChangeType) and (respelled := session.not_undone(looked_at)).count:
            not_undone.append(counted(number, respelled, plan.target, step))
        if isinstance(looked_at, FoldVariant):
            (fill,) = session.fills(looked_at.table, [looked_at.source.name], None)
            folded.append(Counted(number, fill.values))
        elif looked_at is not None and looked_at.column_before is not None and is_widened:
            (fill,) = session.fills(looked_at.table_name, [looked_at.column_before], None)
            widened.append(Counted(number, fill.values))
    return not_undone, folded, widened


def count_late(session: MigrationSession, plan: MigrationPlan, number: int) -> tuple[Counted, ...]:
    """Return the values that block the next step of a plan, which earlier steps or custom SQL may have written."""
    step = plan.steps[number - 1].step
    if not step.needs_count:
        return ()
    unfit = session.unfit(step)
    counts = (counted(number, unfit, plan.target, step),) if unfit.count else ()
    return (*counts, *_overlaps(session, plan, number, step)) if isinstance(step, FoldVariant) else counts


def counted(number: int, unfit: Unfit, schema: Schema, step: Step) -> Counted:
    """Return the count and examples of step ``number``; ``schema`` marks personal columns."""
    values_of = step.source.name if isinstance(step, Backfill) else step.column_name
    return Counted(number, unfit.count, example_texts(unfit, schema, step.table_name, values_of))


def example_texts(unfit: Unfit, schema: Schema, table: str, column: str | None) -> tuple[str, ...]:
    """Return examples as texts, as far as they may be shown: a value of a column, and the row that holds it."""

    def show(value: str | None, name: str | None) -> str | None:
        return next(iter(mask_examples((value,), is_personal(schema, table, name))))

    if examples_of(is_personal(schema, table, column)) is Examples.NONE:
        return ()
    return tuple(
        dict.fromkeys(
            example_text(
                Example(
                    {name: key if is_dlts_own(name) else str(show(key, name)) for name, key in example.row.items()},
                    show(example.value, column),
                    show(example.becomes, column),
                )
            )
            for example in unfit.examples
        )
    )


def example_text(example: Example) -> str:
    """Return a value and the row that holds it, as text.

    >>> example_text(Example({"_dlt_id": "x1"}, "abc"))
    '"abc" (_dlt_id x1)'
    """
    value = "null" if example.value is None else f'"{example.value}"'
    value += "" if example.becomes is None else f' -> "{example.becomes}"'
    row = ", ".join(f"{name} {key}" for name, key in example.row.items())
    return f"{value} ({row})" if row else value


def refuse_unfit(plan: MigrationPlan, counts: Sequence[Counted], *, is_begun: bool = False) -> Iterator[PlanBlocker]:
    """Yield the blockers of a plan's steps that the counts show.

    ``is_begun``: whether the ledger has the run; in this case, neither its schema nor its plan can change.
    """
    all_steps = [planned.step for planned in plan.steps]
    for counted_values in counts:
        words = _blocked_words(all_steps, counted_values)
        if words is None:
            continue
        message, mend, instead = words
        if is_begun:
            instead = "undo the unfinished run: `schemactl migrate rollback`"
        elif plan.migration is not None:
            # Its files contain how it was planned.
            plan_again = (
                f"delete the files of `{plan.migration.name}`, run `schemactl migrate hash DIR`, and plan it again"
            )
            instead = f"{instead}: {plan_again}"
        hint = f"{mend}, or {instead}"
        yield PlanBlocker(BlockerKind.UNFIT, message, hint, (counted_values.number,))


def _blocked_words(all_steps: Sequence[Step], counted_values: Counted) -> tuple[str, str, str] | None:
    """Return the values that block a step, and two ways out; None if they do not block it."""
    index, count = counted_values.number - 1, counted_values.count
    step = all_steps[index]
    if counted_values.is_overlap and isinstance(step, FoldVariant):
        rows, holds = count_of(count, "row"), "holds" if count == 1 else "hold"
        message = f"{rows} of `{step.table}` {holds} values in both `{step.target.name}` and `{step.source.name}`"
        return message, "remove one of both values in each row", _UNFOLDED
    if step.needs_count:
        message, mend, instead = _words(step, count)
        if isinstance(step, ChangeType) and _folds_into(all_steps, step.table, step.after.name):
            instead = _other_type(step.table, step.after.name)
        return message, mend, instead
    if not isinstance(step, Backfill):
        return None
    lost = f"{count_of(count, 'value')} of `{step.table}.{step.source.name}` would not survive"
    if _folds_into(all_steps, step.table, step.source.name):
        return lost, "fix them", _other_type(step.table, step.source.name)
    proven = [other.step for other in all_steps if isinstance(other, Prepare) and other.phase is Phase.VALIDATE_CHECK]
    if step in proven or any(
        isinstance(other, SetNotNull) and (other.table, other.column) == (step.table, step.target) for other in proven
    ):  # an online plan proves that the step copies each value
        return lost, "fix them", _way_round(step.source)
    barrier = null_barrier(all_steps, index)
    if barrier is None:
        return None
    forbids, column = barrier
    message = f"{count_of(count, 'value')} of `{forbids.table}.{column}` would not survive"
    if isinstance(forbids, AddPrimaryKey):
        instead = "remove `primary_key` from the schema, allow nulls in the column, and plan with `--primary-keys`"
        return f"{message}, and a primary key cannot contain nulls instead", "fix them", instead
    return f"{message}, and it cannot contain nulls instead", "fix them", "allow nulls in the schema"


def _words(step: Step, count: int) -> tuple[str, str, str]:
    """Return the values that block a step, and two ways out."""
    name = f"`{step.table_name}.{step.column_name}`"
    match step:
        case SetNotNull():
            message = f"{name} contains {count_of(count, 'null')}"
            return message, "fill them", "allow nulls in the schema"
        case AddUnique():
            message = f"{count:,} rows of {name} share their value with another row"
            return message, "remove the duplicates", "remove `unique` from the schema"
        case AddPrimaryKey():
            column_list = backquoted(step.columns)
            message = f"{count:,} rows of `{step.table}` have a null or a duplicate value in {column_list}"
            return message, "fix or remove them", "remove `primary_key` from the schema"
        case FoldVariant():
            source, target = step.source.name, step.target
            values = count_of(count, "value")
            message = f"{values} of `{step.table}.{source}` would change as `{target.data_type}` in `{target.name}`"
            return message, _other_type(step.table, target.name), _UNFOLDED
        case _:
            before = step.before if isinstance(step, ChangeType) else None
            return f"{count_of(count, 'value')} of {name} would not survive", "fix them", _way_round(before)


def _folds_into(steps: Sequence[Step], table: str, column: str) -> bool:
    return any(isinstance(step, FoldVariant) and (step.table, step.target.name) == (table, column) for step in steps)


def _other_type(table: str, column: str) -> str:
    return f"give `{column}` another type: `schemactl edit NAME --column {quote(f'{table}.{column}:TYPE')}`"


_UNFOLDED: Final = "remove `x-folded-from` and keep the variant"


def _way_round(before: Column | None) -> str:
    """Return the way out if values of a column do not survive in their place."""
    if before is not None and before.properties.get("primary_key"):
        return "drop the key first: remove `primary_key` from the schema, and plan with `--primary-keys`"
    is_required = before is not None and not before.nullable
    allowed = "allow nulls in the schema and " if is_required else ""
    return f"{allowed}keep the old column next to the new one: `--on-unfit expand` (or `variant`)"


def null_barrier(steps: Sequence[Step], index: int) -> tuple[SetNotNull | AddPrimaryKey, str] | None:
    """Return the last step that forbids the nulls which a backfill leaves, and the column's name then, if any does."""
    fill = steps[index]
    if not isinstance(fill, Backfill) or fill.taken is not Taken.FITTING:
        return None
    name = fill.target.name
    barrier: tuple[SetNotNull | AddPrimaryKey, str] | None = None
    for step in steps[index + 1 :]:
        if step.table_name != fill.table:
            continue
        match step:
            case RenameColumn() if step.before == name:
                name = step.after
            case SetNotNull() if step.column.name == name:
                barrier = (step, name)
            case AddPrimaryKey() if name in step.columns:
                barrier = (step, name)
            case _:
                pass
    return barrier

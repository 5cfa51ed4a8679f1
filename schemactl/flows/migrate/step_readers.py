"""The declared readers that the steps of a migration plan break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from schemactl.flows.reader_sources import ReaderSource
from schemactl.flows.readers import read_readers
from schemactl.migration.migration_plan import MigrationPlan
from schemactl.migration.steps import (
    AddColumn,
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    CreateTable,
    DescribeTable,
    DropColumn,
    DropNotNull,
    DropPrimaryKey,
    DropTable,
    DropUnique,
    FillColumn,
    Prepare,
    RenameColumn,
    RenameTable,
    RestoreColumn,
    SetNotNull,
    Step,
    SwapColumns,
)
from schemactl.review.readers import Broken, Reader, ReaderEffect, Readership, StepReaders, Use
from schemactl.schema.types import Column, Schema, Table


def find_step_readers(sources: Sequence[ReaderSource], plan: MigrationPlan) -> tuple[StepReaders, ...]:
    """Return the readers that a plan breaks, by step; omit the steps that break no reader.

    The tables are in the plan's dataset, unless a source or the settings name another one.

    Raises:
        InputError: a source cannot be read.
        DestinationError: a database cannot be reached.
    """
    target = plan.target
    names = _OldNames()
    effects_by_step = [list(_effects(planned.step, names)) for planned in plan.steps]
    old_schema = names.old_schema(target, [effect for effects in effects_by_step for effect in effects])
    located = [replace(item, datasets={target.name: plan.place.dataset, **item.datasets}) for item in sources]
    readership = read_readers(located, target.name, (target, old_schema))
    readers = (_broken_by(readership, effects) for effects in effects_by_step)
    return tuple(StepReaders(number, broken) for number, broken in enumerate(readers, 1) if broken)


@dataclass(frozen=True, slots=True)
class _Effect:
    """An effect of a step on a table, or on a column of it, by their names before the plan."""

    effect: ReaderEffect
    table: str
    column: str | None = None


@dataclass(frozen=True, slots=True)
class _OldNames:
    """The names before the plan, which queries use for tables and columns.

    Attributes:
        tables: the old names of renamed tables, by their names after the steps so far.
        columns: the old names of renamed columns, by the old name of the table and their names after the steps so far.
    """

    tables: dict[str, str] = field(default_factory=dict)
    columns: dict[tuple[str, str], str] = field(default_factory=dict)

    def table(self, name: str) -> str:
        """Return the old name of a table."""
        return self.tables.get(name, name)

    def column(self, table: str, name: str) -> str:
        """Return the old name of a column, of a table's current name."""
        return self.columns.get((self.table(table), name), name)

    def old_schema(self, target: Schema, effects: Iterable[_Effect]) -> Schema:
        """Return the tables before the plan that the target lacks, and their columns as far as they are known."""
        columns: dict[str, dict[str, Column]] = {}
        for new_name, old_name in self.tables.items():
            if new_name in target.tables:
                columns.setdefault(old_name, {}).update(target.tables[new_name].columns)
        for effect in effects:
            table_columns = columns.setdefault(effect.table, {})
            if effect.column is not None:
                table_columns[effect.column] = Column(effect.column)
        return replace(target, tables={name: Table(name, table_columns) for name, table_columns in columns.items()})


def _effects(step: Step, names: _OldNames) -> Iterator[_Effect]:  # noqa: C901, PLR0912 - a case for each step
    """Yield the effects of a step on readers, and note the names that it changes."""
    match step:
        case DropTable():
            yield _Effect(ReaderEffect.REMOVED, names.table(step.table_name))
        case RenameTable():
            yield _Effect(ReaderEffect.REMOVED, names.table(step.before))
            names.tables[step.after] = names.tables.pop(step.before, step.before)
        case DropColumn():
            yield _Effect(ReaderEffect.REMOVED, names.table(step.table), names.column(step.table, step.column.name))
        case RenameColumn():
            old_name = names.column(step.table, step.before)
            yield _Effect(ReaderEffect.REMOVED, names.table(step.table), old_name)
            names.columns[names.table(step.table), step.after] = old_name
        case AddColumn():
            yield _Effect(ReaderEffect.ADDED, names.table(step.table))
        case ChangeType():
            yield _Effect(ReaderEffect.RETYPED, names.table(step.table), names.column(step.table, step.before.name))
        case SwapColumns() | RestoreColumn():
            backfill = step.swap.backfill if isinstance(step, RestoreColumn) else step.backfill
            column = names.column(backfill.table, backfill.source.name)
            yield _Effect(ReaderEffect.RETYPED, names.table(backfill.table), column)
        case DropNotNull():
            yield _Effect(ReaderEffect.COMPARED, names.table(step.table), names.column(step.table, step.column.name))
        case DropUnique():
            yield _Effect(ReaderEffect.COMPARED, names.table(step.table), names.column(step.table, step.column))
        case DropPrimaryKey():
            for key_column in step.columns:
                yield _Effect(ReaderEffect.COMPARED, names.table(step.table), names.column(step.table, key_column))
        case CreateTable() | DescribeTable() | Backfill() | FillColumn() | Prepare():
            pass  # readers see the same columns
        case SetNotNull() | AddUnique() | AddPrimaryKey():
            pass  # readers see fewer kinds of rows
        case _:
            assert_never(step)


def _broken_by(readership: Readership, effects: Iterable[_Effect]) -> tuple[Broken, ...]:
    """Return the readers that a step with these effects breaks, each once."""
    uses: dict[Reader, list[Use]] = {}
    broken_readers = [
        broken for effect in effects for broken in readership.broken_by(effect.effect, effect.table, effect.column)
    ]
    for broken in broken_readers:
        uses.setdefault(broken.reader, []).extend(broken.uses)
    downstream = {broken.reader: broken.downstream for broken in broken_readers}
    return tuple(Broken(reader, tuple(reader_uses), downstream[reader]) for reader, reader_uses in uses.items())

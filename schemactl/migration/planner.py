"""From a destination's catalog and a schema to the steps between them, with way, risk, caution and undo of each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from schemactl.migration.abilities import Abilities
from schemactl.migration.comparison import compare
from schemactl.migration.notes import Note, remarks
from schemactl.migration.options import PlanOptions
from schemactl.migration.step_drafts import draft_steps
from schemactl.migration.steps import LATER, Step, Undo
from schemactl.migration.ways import Lock, Risk, Way
from schemactl.schema.changes import Change, TableRenamed
from schemactl.schema.structure import Stored
from schemactl.schema.types import Schema


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step with the facts about it before it runs.

    Attributes:
        way: how the destination runs it; ``Way.NONE``: the destination cannot, so the plan cannot be applied.
        statements: in the destination's language; empty until they are rendered.
        undo_statements: the statements that undo this step, by itself.
        done_with: the number, from 1, of the last of the adjacent steps that one ``RewriteTable`` does; None if it is
            done by itself. The last step has the statements of all.
        lock: the lock that it takes on its table; None if it needs no lock.
    """

    step: Step
    reason: Change
    way: Way
    risk: Risk
    undo: Undo
    statements: tuple[str, ...] = ()
    undo_statements: tuple[str, ...] = ()
    done_with: int | None = field(default=None, metadata=LATER)
    lock: Lock | None = field(default=None, metadata=LATER)

    @property
    def is_destructive(self) -> bool:
        """Whether it loses data that no check can save: it runs only with the user's permission."""
        return self.risk is Risk.LOSES_DATA

    @property
    def is_possible(self) -> bool:
        """Whether the destination can take the step."""
        return self.way is not Way.NONE


@dataclass(frozen=True, slots=True)
class Proposal:
    """The steps before rendering.

    Attributes:
        tables: names of the tables that the planner read; a plan is out of date when one of them has changed or
            appeared.
        catalogue: the destination's tables, as the steps spell them.
    """

    steps: tuple[PlannedStep, ...]
    notes: tuple[Note, ...]
    tables: tuple[str, ...]
    catalogue: Schema


def plan_steps(
    catalogue: Schema,
    schema: Schema,
    ledger_schema: Schema | None,
    *,
    stored: Stored,
    abilities: Abilities,
    options: PlanOptions | None = None,
) -> Proposal:
    """Return the steps that make a destination match a schema.

    Tables and columns that ``ledger_schema``, the last schema of the destination's ledger, has and ``schema`` lacks are
    dropped. Other tables and columns are reported and not changed. dlt creates tables that wait for their first data,
    and columns without a type.
    """
    chosen = options or PlanOptions()
    comparison = compare(catalogue, schema, ledger_schema, stored, abilities, chosen)
    drafts = draft_steps(comparison, abilities, chosen)
    renames = (change for change in comparison.changes if isinstance(change, TableRenamed))
    renamed = (name for change in renames for name in (change.before, change.after))
    before = comparison.ledger_schema.tables if comparison.ledger_schema else ()
    missing = (table.name for table in comparison.missing)
    return Proposal(
        steps=tuple(plan_step(draft.step, draft.reason, abilities) for draft in drafts),
        notes=tuple(remarks(comparison, [draft.step for draft in drafts], abilities, chosen)),
        tables=tuple(sorted({*comparison.schema.tables, *before, *renamed, *missing})),
        catalogue=comparison.catalogue,
    )


def planned_as(planned: PlannedStep, abilities: Abilities) -> PlannedStep:
    """Return a planned step with the way, the risk, the undo and the lock that its step has at a destination."""
    derived = plan_step(planned.step, planned.reason, abilities)
    return replace(planned, way=derived.way, risk=derived.risk, undo=derived.undo, lock=derived.lock)


def plan_step(step: Step, reason: Change, abilities: Abilities) -> PlannedStep:
    """Return a step with the facts about it at a destination, not yet rendered."""
    way, lock = step.way(abilities), abilities.lock(step)
    return PlannedStep(step, reason, way, step.risk(way, lock), step.undo_at(abilities), lock=lock)

"""From a destination's catalog and a schema to the steps between them, with way, risk and undo of each."""

from __future__ import annotations

from dataclasses import dataclass, replace

from schemactl.migration.abilities import Abilities, Lock, Way, way_of
from schemactl.migration.comparison import Comparison, compare
from schemactl.migration.drafting import Draft, draft_steps
from schemactl.migration.notes import Note
from schemactl.migration.options import PlanOptions
from schemactl.migration.remarks import remarks
from schemactl.migration.risk import Risk, risk_of
from schemactl.migration.steps import Step
from schemactl.migration.undo import Undo, undo_of
from schemactl.schema.changes import Change, TableRenamed
from schemactl.schema.structure import Stored
from schemactl.schema.types import Schema


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step with what is to be known of it before it runs.

    Attributes:
        reason: the change that it is for.
        way: how the destination takes it; ``Way.NONE``: the destination cannot, so the plan cannot be applied.
        undo: how it is undone.
        statements: what is run, in the destination's language; none before they are rendered.
        undo_statements: what undoes it, by itself.
        done_with: the number, from 1, of the last of the steps next to each other that one ``RewriteTable`` does; None
            where it is done by itself. The last has the statements of all.
        lock: the one that it takes on its table; None where it takes none, or the engine locks no tables.
    """

    step: Step
    reason: Change
    way: Way
    risk: Risk
    undo: Undo
    statements: tuple[str, ...] = ()
    undo_statements: tuple[str, ...] = ()
    done_with: int | None = None
    lock: Lock | None = None

    @property
    def is_destructive(self) -> bool:
        """Whether data is lost that no check can save: it runs only where that is allowed."""
        return self.risk is Risk.LOSES_DATA

    @property
    def is_possible(self) -> bool:
        """Whether the destination can take the step."""
        return self.way is not Way.NONE


@dataclass(frozen=True, slots=True)
class Proposal:
    """The steps, not yet rendered.

    Attributes:
        tables: names of the tables that were looked at: a plan is out of date when one of them is another than it
            was, or is there now.
        catalogue: what the destination has, as the steps spell it.
    """

    steps: tuple[PlannedStep, ...]
    notes: tuple[Note, ...]
    tables: tuple[str, ...]
    catalogue: Schema


def plan_steps(
    catalogue: Schema,
    schema: Schema,
    known: Schema | None,
    *,
    stored: Stored,
    abilities: Abilities,
    options: PlanOptions | None = None,
) -> Proposal:
    """Return the steps that bring a destination to a schema.

    Only what ``known`` has and ``schema`` has not was removed on purpose, and is dropped. What neither knows is left
    alone and reported. Tables that wait for their first data are dlt's to make, as are columns without a type.

    Args:
        catalogue: what the destination has; no tables where it is not there yet.
        schema: what it shall have.
        known: the last schema in the destination's ledger, None where there is none: then nothing is dropped.
        stored: what a catalog of the destination says of a column.
        abilities: what the destination can do.
        options: what the user decides.

    Raises:
        InputError: the destination cannot hold the schema's names.
    """
    chosen = options or PlanOptions()
    comparison = compare(catalogue, schema, known, stored, abilities, chosen)
    drafts = draft_steps(comparison, abilities, chosen)
    return Proposal(
        steps=tuple(_planned(draft, abilities) for draft in drafts),
        notes=tuple(remarks(comparison, [draft.step for draft in drafts], abilities, chosen)),
        tables=_looked_at(comparison),
        catalogue=comparison.catalogue,
    )


def _looked_at(comparison: Comparison) -> tuple[str, ...]:
    renames = (change for change in comparison.changes if isinstance(change, TableRenamed))
    renamed = (name for change in renames for name in (change.before, change.after))
    known = comparison.known.tables if comparison.known else ()
    missing = (table.name for table in comparison.missing)
    return tuple(sorted({*comparison.schema.tables, *known, *renamed, *missing}))


def planned_as(planned: PlannedStep, abilities: Abilities) -> PlannedStep:
    """Return a planned step with the way, the risk, the undo and the lock that its step has at a destination."""
    step, way = planned.step, way_of(planned.step, abilities)
    undo, lock = undo_of(step, abilities), abilities.lock(step)
    return replace(planned, way=way, risk=risk_of(step, way, lock), undo=undo, lock=lock)


def _planned(draft: Draft, abilities: Abilities) -> PlannedStep:
    step, way, lock = draft.step, way_of(draft.step, abilities), abilities.lock(draft.step)
    return PlannedStep(step, draft.reason, way, risk_of(step, way, lock), undo_of(step, abilities), lock=lock)

"""A plan: the steps with their statements, made for one state of one destination."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from schemactl.errors import InputError
from schemactl.migration.custom_sql import OwnSql, When
from schemactl.migration.effects import apply_to_model
from schemactl.migration.notes import Note
from schemactl.migration.planner import PlannedStep, Proposal
from schemactl.migration.steps import LATER, Step
from schemactl.migration.table_model import with_description
from schemactl.schema.types import Properties, Schema, Table, schema_from_dict

Render = Callable[[Step, Table | None], Sequence[str]]
"""Returns the statements of a step, in a destination's language.

Its second argument is the table before the step, with all its columns: an engine without an ALTER for the step makes a
copy of the table by it. None for a missing table.
"""


@dataclass(frozen=True, slots=True)
class Place:
    """The destination of a plan.

    Attributes:
        kind: the scheme of the destination's addresses.
        origin: its address, without a password.
        dataset: the database schema, the folder ... that holds the tables.
    """

    kind: str
    origin: str
    dataset: str

    @property
    def shown(self) -> str:
        """The place for people."""
        return f"{self.origin}, dataset {self.dataset}"


@dataclass(frozen=True, slots=True)
class MigrationMark:
    """A migration of a folder, as the ledger and the next one remember it.

    Attributes:
        name: its number and title: ``0007_add_amount``.
        hash: of its content.
    """

    name: str
    hash: str


@dataclass(frozen=True, slots=True)
class MigrationPlan:
    """The steps that change one destination from its current state to one schema.

    Attributes:
        schema: the whole stored form of the schema, which goes into the ledger.
        tables: names of the tables that the planner read.
        fingerprint: of ``tables``, at planning time.
        migration: its mark in a folder of migrations; None for a plan without a folder.
        own: the folder's custom SQL for the steps; ``with_own`` gives it to a plan.
    """

    place: Place
    schema: Properties
    tables: tuple[str, ...]
    fingerprint: str
    steps: tuple[PlannedStep, ...]
    notes: tuple[Note, ...] = ()
    migration: MigrationMark | None = field(default=None, metadata=LATER)
    own: tuple[OwnSql, ...] = field(default=(), metadata=LATER)

    @property
    def target(self) -> Schema:
        """The schema that the destination has afterwards."""
        return schema_from_dict(self.schema)

    @property
    def target_hash(self) -> str:
        """The hash of the schema that the destination has afterwards; to build the schema for it takes far longer."""
        return str(self.schema["version_hash"])

    @property
    def impossible(self) -> tuple[int, ...]:
        """The numbers of the steps that the destination cannot take, from 1."""
        return tuple(number for number, step in enumerate(self.steps, 1) if not step.is_possible)

    @property
    def is_applicable(self) -> bool:
        """Whether the destination can take every step."""
        return not self.impossible

    @property
    def is_destructive(self) -> bool:
        """Whether a step loses data."""
        return any(step.is_destructive for step in self.steps)

    @property
    def is_online(self) -> bool:
        """Whether a step cannot share a transaction with other steps: then each step is committed when it is done."""
        return any(planned.step.is_outside_transaction for planned in self.steps)

    @property
    def groups(self) -> tuple[range, ...]:
        """The indexes of the steps, grouped by the steps that run at once."""
        groups: list[range] = []
        while (start := groups[-1].stop if groups else 0) < len(self.steps):
            groups.append(range(start, self.steps[start].done_with or start + 1))
        return tuple(groups)

    @property
    def has_groups(self) -> bool:
        """Whether some steps are done at once; not so in plans of versions that did not state it."""
        return any(planned.done_with is not None for planned in self.steps)

    def own_of(self, number: int) -> tuple[OwnSql, ...]:
        """Return the custom SQL of the step with a number, in the order in which it runs."""
        own_by_when = {own_sql.when: own_sql for own_sql in self.own if own_sql.number == number}
        return tuple(own_by_when[when] for when in When if when in own_by_when)

    def changed_from(self, done: int = 0) -> int:
        """Return the index of the first step before which custom SQL runs; later steps may see other values than now.

        If no more custom SQL runs before a step, it is the number of steps.
        """
        places = (own_sql.number - (own_sql.when is not When.AFTER) for own_sql in self.own if own_sql.number > done)
        return min(places, default=len(self.steps))

    @property
    def cuts(self) -> frozenset[int]:
        """The places before which custom SQL runs, or values are counted again: no copy does steps on both sides."""
        own_places = {own_sql.number - (own_sql.when is not When.AFTER) for own_sql in self.own}
        behind = {own_sql.number for own_sql in self.own if own_sql.when is When.INSTEAD}
        later_places = range(self.changed_from(), len(self.steps))
        recounted = {index for index in later_places if self.steps[index].step.needs_count}
        return frozenset(own_places | behind | recounted)

    def tables_in(self, catalogue: Schema) -> tuple[str, ...]:
        """Return the names of the tables that the planner read, also as a catalog spells them."""
        read_names = {name.casefold() for name in self.tables}
        return (*self.tables, *(name for name in catalogue.tables if name.casefold() in read_names))

    def is_current(self, catalogue: Schema) -> bool:
        """Return whether the tables that the planner read are unchanged."""
        return fingerprint_of(catalogue, self.tables) == self.fingerprint


def make_plan(
    proposal: Proposal, catalogue: Schema, schema: Schema, plan_place: Place, render: Render
) -> MigrationPlan:
    """Render the steps of a proposal."""
    tables = dict(proposal.catalogue.tables)
    steps = []
    for planned in proposal.steps:
        statements = render_step(planned.step, tables, render, is_possible=planned.is_possible)
        undone = dict(tables)
        undo_statements = (statement for step in planned.undo.steps for statement in render_step(step, undone, render))
        steps.append(replace(planned, statements=statements, undo_statements=tuple(undo_statements)))
    fingerprint = fingerprint_of(catalogue, proposal.tables)
    return MigrationPlan(plan_place, plain_schema(schema), proposal.tables, fingerprint, tuple(steps), proposal.notes)


def with_own(plan: MigrationPlan, own_scripts: Sequence[OwnSql]) -> MigrationPlan:
    """Return a plan with custom SQL, except empty files; a step cannot be undone if its custom SQL cannot."""
    steps, own_scripts = list(plan.steps), [own_sql for own_sql in own_scripts if not own_sql.is_empty]
    for own_sql in own_scripts:
        undo = steps[own_sql.number - 1].undo
        if undo.is_possible and not own_sql.is_undoable:
            undo = replace(undo, is_possible=False, note=f"`{own_sql.file}` does not declare its undo")
            steps[own_sql.number - 1] = replace(steps[own_sql.number - 1], undo=undo)
    return replace(plan, steps=tuple(steps), own=tuple(own_scripts))


def render_step(step: Step, tables: dict[str, Table], render: Render, *, is_possible: bool = True) -> tuple[str, ...]:
    """Return the statements of a step for its table before the step; applies the step to ``tables``."""
    table = tables.get(step.table_name)
    apply_to_model(tables, (step,))
    return tuple(render(step, table)) if is_possible else ()


def fingerprint_of(catalogue: Schema, tables: Collection[str]) -> str:
    """Return the fingerprint of a state of some tables of a destination.

    Their columns' order does not count, nor do descriptions, nor the case of the tables' names, which some destinations
    choose. It is the SHA-256 in hex of the tables as canonical JSON.
    """
    looked_at = {name.casefold() for name in tables}
    columns_by_table = {
        name: {column.name: dict(with_description(column.properties, None)) for column in table.columns.values()}
        for name, table in catalogue.tables.items()
        if name.casefold() in looked_at
    }
    return hashlib.sha256(json.dumps(columns_by_table, sort_keys=True).encode()).hexdigest()


def plain_schema(schema: Schema) -> Properties:
    """Return a schema's stored form as JSON data whose ``version_hash`` is the same."""
    import orjson

    try:
        written = orjson.dumps(schema.to_dict(), default=_encode, option=orjson.OPT_NON_STR_KEYS)
    except TypeError as error:
        raise InputError(f"the schema cannot be written as JSON: {error}") from error
    return dict(orjson.loads(written))


def _encode(value: Any) -> Any:
    match value:
        case Mapping():
            return dict(value)
        case bytes():
            return b64encode(value).decode("ascii")
        case _:
            return str(value)

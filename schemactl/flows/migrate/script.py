"""``schemactl migrate plan --dialect D``: a script for an engine that is not connected."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from schemactl.errors import InputError
from schemactl.flows.migrate.dialects import abilities_of, render_for, stated
from schemactl.flows.migrate.target import find_wanted, wanted
from schemactl.flows.references import find_schemas
from schemactl.migration.options import PlanOptions
from schemactl.migration.plan import Place, make_plan
from schemactl.migration.planner import plan_steps
from schemactl.migration.reports import BlockerKind, PlanBlocker, PlanReport
from schemactl.schema.ddl import check_dialect
from schemactl.schema.hash import bump
from schemactl.schema.structure import structure_of, with_descriptions
from schemactl.schema.types import Column, Schema
from schemactl.store.folder import SchemasFolder


@dataclass(frozen=True, slots=True)
class ScriptRequest:
    """A call of ``schemactl migrate plan --dialect``.

    Attributes:
        reference: a REF, or the schema itself that the engine shall have.
        start: a REF, or the schema itself that it has; None for no tables.
        dialect: sqlglot's name for its SQL.
        schemas: the folder of ``import/`` and ``export/``.
        options: what the user decides.
    """

    reference: str | Schema
    start: str | Schema | None
    dialect: str
    schemas: Path
    options: PlanOptions


def write_script(request: ScriptRequest) -> PlanReport:
    """Return the plan from one schema to another, with the statements of a dialect; no data is looked at.

    Raises:
        InputError: there is no such dialect, or a schema cannot be read.
    """
    check_dialect(request.dialect)
    schema = find_wanted(request.reference, request.schemas)
    start = _find_start(request.start, schema.name, SchemasFolder.at(request.schemas)) if request.start else None
    empty = Schema(name=schema.name, tables={})
    catalogue = with_descriptions(structure_of(start, start, stated), start) if start else empty
    catalogue = replace(catalogue, name=schema.name)
    if start is not None:
        catalogue = _with_keys(catalogue, start, request.options)
    abilities = abilities_of(request.dialect)
    # Tables of the schema that the engine has are those that had data; the others wait for theirs.
    proposal = plan_steps(catalogue, schema, start, stored=stated, abilities=abilities, options=request.options)
    if start is not None:  # some engines take a description away unless it is stated again
        proposal = replace(proposal, catalogue=with_descriptions(proposal.catalogue, start))
    render = render_for(request.dialect)
    plan = make_plan(proposal, catalogue, schema, Place(request.dialect, "", ""), render)
    impossible = tuple(number for number, step in enumerate(plan.steps, 1) if not step.is_possible)
    blockers = (
        (PlanBlocker(BlockerKind.IMPOSSIBLE, f"{request.dialect} cannot take each step", "", impossible),)
        if impossible
        else ()
    )
    return PlanReport(plan, blockers=blockers)


def _find_start(reference: str | Schema, name: str, folder: SchemasFolder) -> Schema:
    """Return the schema that the engine has; of a REF of several the one of the same name.

    Raises:
        InputError: there is none, or the REF names tables.
    """
    if isinstance(reference, Schema):
        return bump(reference)
    found = find_schemas(reference, folder)
    chosen = next((each for each in found if each.schema.name == name), None) if len(found) > 1 else found[0]
    if chosen is None:
        known = ", ".join(f"`{each.schema.name}`" for each in found)
        raise InputError(f"`{reference}` has no schema `{name}`", hint=f"it has {known}")
    return wanted(chosen, reference)


def _with_keys(catalogue: Schema, start: Schema, options: PlanOptions) -> Schema:
    """Return the tables with the keys of their schema that are asked for: its own script has made them."""
    asked = [
        *(["unique"] if options.compares_unique else ()),
        *(["primary_key"] if options.compares_primary_keys else ()),
    ]

    def keyed(column: Column, stated: Column) -> Column:
        keys = {name: True for name in asked if stated.properties.get(name)}
        return replace(column, properties={**column.properties, **keys})

    tables = {
        name: replace(
            table,
            columns={key: keyed(column, start.tables[name].columns[key]) for key, column in table.columns.items()},
        )
        for name, table in catalogue.tables.items()
    }
    return replace(catalogue, tables=tables)

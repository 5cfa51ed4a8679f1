"""Makes the rows that data has under a schema, saves the schema, and hands the rows over to the destination.

All of it is done again where another command has changed the schema meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from schemactl.destinations._package import LoadPackage
from schemactl.flows.evolution import Evolution, Unfilled, evolve_schema
from schemactl.flows.infer import MOST_ATTEMPTS, try_save, unsteady
from schemactl.flows.lineage import save_lineage, told_lineage
from schemactl.flows.normalize_call import Call
from schemactl.flows.own_files import check_root
from schemactl.flows.packing import Made, check_balance, kept_rejects, package_of, report_of
from schemactl.flows.progress import Progress
from schemactl.flows.refusals import as_discarded, is_refused_by_size, with_unfit_counted
from schemactl.flows.schemas import Opened, open_schemas
from schemactl.flows.unfilled import find_unfilled
from schemactl.inference.evidence import Evidence, merge
from schemactl.normalization.choose import make_plan
from schemactl.normalization.plan import Plan
from schemactl.normalization.report import NormalizeReport, Outcome
from schemactl.normalization.request import PlanRequest

MakeRows = Callable[[Plan, Path], Made]
"""Writes the rows of a plan to a folder."""


@dataclass(frozen=True, slots=True)
class _Basis:
    """What rows are made by.

    Attributes:
        opened: the schema as it was.
        evolution: what becomes of it.
        evidence: of all the data.
        unfilled: what only rejected rows ask for, which the evolution is without.
    """

    opened: Opened
    evolution: Evolution
    evidence: Evidence
    unfilled: Unfilled = frozenset()


def load(call: Call, evidence: Evidence, make: MakeRows, staging: Path, progress: Progress) -> NormalizeReport:
    """Make the rows under the schema as it is now, save the schema, and load.

    Raises:
        InputError: the schema cannot be read or written.
        DestinationError: the destination failed.
    """
    request = call.request.inference
    for attempt in range(MOST_ATTEMPTS):
        opened = open_schemas(call.folder, request.name)
        evolution = evolve_schema(request, opened, evidence, is_loaded=True)
        basis = _Basis(opened, evolution, evidence)
        if (report := _try_load(call, basis, make, staging / str(attempt), progress)) is not None:
            return report
    raise unsteady(request.name)


def _try_load(call: Call, basis: _Basis, make: MakeRows, staging: Path, progress: Progress) -> NormalizeReport | None:
    """Load once; return None where the schema has changed meanwhile."""
    evolution = basis.evolution
    found = replace(call.report(Outcome.STOPPED), inference=evolution.report)
    if found.stops:
        return _with_unfit_counted(call, basis, found, make, staging) if is_refused_by_size(evolution) else found
    check_root(evolution.report.table)
    call.target.destination.check_tables(call.target.url, evolution.stored)
    plan = make_plan(PlanRequest(basis.evidence, evolution.resolution, evolution.judgement))
    made = make(plan, staging)
    report = report_of(found, evolution, plan, made)
    if report.stops:
        roomier = _with_room(call, basis, made)
        return report if roomier is None else _try_load(call, roomier, make, staging / "room", progress)
    if unfilled := find_unfilled(evolution, made) - basis.unfilled:
        return _try_load(call, _without(call, basis, unfilled), make, staging / "filled", progress)
    check_balance(report)
    package = package_of(evolution, plan, made, call.load, call.files, call.request.rejects is None)
    # Where another command was quicker: rows are made anew under the schema that it has saved.
    written = try_save(call.folder, basis.opened, evolution.schema, evolution.hints)
    return None if written is None else _deliver(call, _with_written(report, written), plan, made, package, progress)


def _with_room(call: Call, basis: _Basis, made: Made) -> _Basis | None:
    """Return the basis with room for the numbers that had none; None where nothing becomes of that."""
    if not made.room:
        return None
    evidence = merge(basis.evidence, Evidence(room=made.room))
    evolution = evolve_schema(call.request.inference, basis.opened, evidence, is_loaded=True, unfilled=basis.unfilled)
    is_new = evolution.resolution.schema != basis.evolution.resolution.schema
    return replace(basis, evolution=evolution, evidence=evidence) if is_new else None


def _without(call: Call, basis: _Basis, unfilled: Unfilled) -> _Basis:
    """Return the basis without what only rejected rows ask for."""
    found = basis.unfilled | unfilled
    evolution = evolve_schema(call.request.inference, basis.opened, basis.evidence, is_loaded=True, unfilled=found)
    return replace(basis, evolution=evolution, unfilled=found)


def _with_unfit_counted(
    call: Call, basis: _Basis, found: NormalizeReport, make: MakeRows, staging: Path
) -> NormalizeReport:
    """Tell of columns that a contract keeps small which numbers they have no room for: rows are made, none is loaded.

    Evidence knows how large numbers are, and not where each of them stands.
    """
    evolution = basis.evolution
    made = make(
        make_plan(PlanRequest(basis.evidence, evolution.resolution, as_discarded(evolution.judgement))), staging
    )
    if (roomier := _with_room(call, basis, made)) is not None:
        report = replace(found, inference=roomier.evolution.report)
        return _with_unfit_counted(call, roomier, report, make, staging / "room")
    return with_unfit_counted(found, evolution, made)


def _deliver(
    call: Call, report: NormalizeReport, plan: Plan, made: Made, package: LoadPackage, progress: Progress
) -> NormalizeReport:
    """Hand the rows over to the destination."""
    lineage, files = save_lineage(call.folder, report.name, plan)
    with kept_rejects(call.request.rejects, made.rejects, call.load.id):
        progress(f"loading into {call.target.shown}", None)
        call.target.destination.load(call.target.url, package, progress)
    place = f"table `{package.rejects.table.name}`" if package.rejects else str(call.request.rejects)
    return replace(
        _with_written(report, files),
        outcome=Outcome.LOADED,
        lineage=told_lineage(lineage) if call.request.lineage else None,
        rejects=place if made.rejects else None,
    )


def _with_written(report: NormalizeReport, files: tuple[str, ...]) -> NormalizeReport:
    assert report.inference is not None
    written = (*report.inference.written, *files)
    return replace(report, inference=replace(report.inference, saved=bool(written), written=written))

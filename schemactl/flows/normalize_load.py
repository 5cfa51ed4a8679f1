"""Makes the rows that data has under a schema, saves the schema, and hands the rows over to the destination.

All of it is done again where another command has changed the schema meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from schemactl.destinations import LoadPackage
from schemactl.flows.evolution import Evolution, Unfilled, evolve_schema
from schemactl.flows.infer import MOST_ATTEMPTS, try_save, unsteady
from schemactl.flows.lineage import describe_lineage, save_lineage
from schemactl.flows.normalize_call import Call
from schemactl.flows.own_files import check_root
from schemactl.flows.packing import Made, check_balance, kept_rejects, package_of, rejects_together, report_of
from schemactl.flows.progress import Progress
from schemactl.flows.refusals import as_discarded, is_refused_by_size, with_unfit_counted
from schemactl.flows.request import InferRequest
from schemactl.flows.schemas import Opened, open_schemas
from schemactl.flows.unfilled import find_unfilled
from schemactl.inference.evidence import Evidence, merge
from schemactl.inference.report import TypingFinding
from schemactl.normalization.normalizers import make_plan
from schemactl.normalization.plan import Plan
from schemactl.normalization.report import NormalizeReport, Outcome, merge_reports
from schemactl.normalization.request import PlanRequest

if TYPE_CHECKING:
    from schemactl.engine.package import WrittenRejects

MakeRows = Callable[[Plan, Path], Made]
"""Writes the rows of a plan to a folder."""


@dataclass(frozen=True, slots=True)
class Data:
    """The data of one root table.

    Attributes:
        request: the call, as far as it is about this data.
        evidence: of all of it.
        make: makes its rows.
        typing: what is wrong with texts that are typed.
    """

    request: InferRequest
    evidence: Evidence
    make: MakeRows
    typing: tuple[TypingFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class _Basis:
    """What rows are made by.

    Attributes:
        data: what they are made of.
        opened: the schema as it was.
        evolution: what becomes of it.
        after: what the data of other root tables has made of it before; None for the first.
        unfilled: what only rejected rows ask for, which the evolution is without.
    """

    data: Data
    opened: Opened
    evolution: Evolution
    after: Evolution | None
    unfilled: Unfilled = frozenset()


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of one root table's data, ready to be loaded."""

    report: NormalizeReport
    evolution: Evolution
    plan: Plan
    made: Made


def load(call: Call, found: Sequence[Data], staging: Path, progress: Progress) -> NormalizeReport:
    """Make the rows under the schema as it is now, save the schema, and load all of them or nothing.

    Raises:
        InputError: the schema cannot be read or written.
        DestinationError: the destination failed.
    """
    for attempt in range(MOST_ATTEMPTS):
        opened = open_schemas(call.folder, call.request.inference.name)
        rows: list[_Rows] = []
        for at, data in enumerate(found):
            after = rows[-1].evolution if rows else None
            basis = _Basis(data, opened, _evolve(data, opened, after), after)
            made = _try_make(call, basis, staging / str(attempt) / str(at))
            if isinstance(made, NormalizeReport):
                return _stopped(merge_reports([*(each.report for each in rows), made]))
            rows.append(made)
        last = rows[-1].evolution
        folder = staging / str(attempt) / "rejects"
        rejects = rejects_together([each.made.rejects for each in rows if each.made.rejects], folder)
        kept = rejects if call.request.rejects is None else None
        package = package_of(last.stored, [(each.plan, each.made) for each in rows], kept, call.load, call.files)
        # Where another command was quicker: rows are made anew under the schema that it has saved.
        if (written := try_save(call.folder, opened, last.schema, last.hints)) is not None:
            report = _with_written(merge_reports([each.report for each in rows]), written)
            return _deliver(call, report, [each.plan for each in rows], package, rejects, progress)
    raise unsteady(call.request.inference.name)


def _stopped(report: NormalizeReport) -> NormalizeReport:
    """Return a report by which nothing is loaded: the rows that were made are none that were taken."""
    return replace(report, tables=tuple(replace(table, loaded=0) for table in report.tables))


def _evolve(data: Data, opened: Opened, after: Evolution | None, unfilled: Unfilled = frozenset()) -> Evolution:
    evolution = evolve_schema(data.request, opened, data.evidence, is_loaded=True, unfilled=unfilled, after=after)
    return evolution.with_typing(data.typing)


def _try_make(call: Call, basis: _Basis, staging: Path) -> _Rows | NormalizeReport:
    """Make the rows; return the report where something in the data stops the load."""
    evolution, make = basis.evolution, basis.data.make
    found = replace(call.report(Outcome.STOPPED), inference=evolution.report)
    if found.stops:
        return _with_unfit_counted(call, basis, found, staging) if is_refused_by_size(evolution) else found
    check_root(evolution.resolution.root)
    call.target.destination.check_tables(call.target.url, evolution.stored)
    plan = make_plan(PlanRequest(basis.data.evidence, evolution.resolution, evolution.judgement))
    made = make(plan, staging)
    report = report_of(found, evolution, plan, made)
    if report.stops:
        roomier = _with_room(basis, made)
        return report if roomier is None else _try_make(call, roomier, staging / "room")
    if unfilled := find_unfilled(evolution, made.rows) - basis.unfilled:
        return _try_make(call, _without(basis, unfilled), staging / "filled")
    check_balance(report)
    return _Rows(report, evolution, plan, made)


def _with_room(basis: _Basis, made: Made) -> _Basis | None:
    """Return the basis with room for the numbers that had none; None where nothing becomes of that."""
    if not made.room:
        return None
    data = replace(basis.data, evidence=merge(basis.data.evidence, Evidence(room=made.room)))
    evolution = _evolve(data, basis.opened, basis.after, basis.unfilled)
    is_new = evolution.resolution.schema != basis.evolution.resolution.schema
    return replace(basis, evolution=evolution, data=data) if is_new else None


def _without(basis: _Basis, unfilled: Unfilled) -> _Basis:
    """Return the basis without what only rejected rows ask for."""
    found = basis.unfilled | unfilled
    return replace(basis, evolution=_evolve(basis.data, basis.opened, basis.after, found), unfilled=found)


def _with_unfit_counted(call: Call, basis: _Basis, found: NormalizeReport, staging: Path) -> NormalizeReport:
    """Report columns that a contract keeps small which numbers they have no room for: rows are made, none is loaded.

    Evidence knows how large numbers are, and not where each of them stands.
    """
    evolution = basis.evolution
    request = PlanRequest(basis.data.evidence, evolution.resolution, as_discarded(evolution.judgement))
    made = basis.data.make(make_plan(request), staging)
    if (roomier := _with_room(basis, made)) is not None:
        report = replace(found, inference=roomier.evolution.report)
        return _with_unfit_counted(call, roomier, report, staging / "room")
    return with_unfit_counted(found, evolution, made)


def _deliver(
    call: Call,
    report: NormalizeReport,
    plans: Sequence[Plan],
    package: LoadPackage,
    rejects: WrittenRejects | None,
    progress: Progress,
) -> NormalizeReport:
    """Hand the rows over to the destination."""
    for plan in plans:
        lineage, files = save_lineage(call.folder, report.name, plan)
        report = _with_written(report, files)
    with kept_rejects(call.request.rejects, rejects, call.load.id):
        progress(f"loading into {call.target.shown}", None)
        call.target.destination.load(call.target.url, package, progress)
    place = f"table `{package.rejects.table.name}`" if package.rejects else str(call.request.rejects)
    return replace(
        report,
        outcome=Outcome.LOADED,
        lineage=describe_lineage(lineage) if call.request.lineage else None,
        rejects=place if rejects else None,
    )


def _with_written(report: NormalizeReport, files: tuple[str, ...]) -> NormalizeReport:
    assert report.inference is not None
    written = tuple(dict.fromkeys((*report.inference.written, *files)))
    return replace(report, inference=replace(report.inference, saved=bool(written), written=written))

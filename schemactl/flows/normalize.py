"""``schemactl normalize``: sources -> (infer's walk) -> plan -> tables -> destination.

``normalize_call`` checks what was asked for; this makes the rows that data has under a schema, saves the schema, and
hands the rows over to the destination. All of it is done again where another command has changed the schema meanwhile.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from schemactl.destinations import find_address
from schemactl.errors import InputError
from schemactl.flows.evidence import with_records
from schemactl.flows.evolution import Evolution, Unfilled, find_unfilled
from schemactl.flows.infer import MOST_ATTEMPTS, collected, noted_warnings, try_save, unsteady
from schemactl.flows.lineage import save_lineage
from schemactl.flows.migrate.ledger import check_swaps
from schemactl.flows.normalize_call import ROWS, Call, NormalizeRequest, check_root, check_types, prepare
from schemactl.flows.packing import (
    check_balance,
    counted,
    kept_rejects,
    package_of,
    rejects_together,
    report_of,
)
from schemactl.flows.scanned import ScanReader
from schemactl.flows.schemas import Opened, open_schemas
from schemactl.flows.tables import TableData
from schemactl.inference.evidence import Evidence, merge
from schemactl.inference.lineage import Lineage
from schemactl.inference.report import ViolationFinding
from schemactl.inference.sample import parse_sample
from schemactl.inference.values import DECLARED
from schemactl.kernel.dispatch import Tables
from schemactl.normalization.overwrites import find_certain_overwrites
from schemactl.normalization.package import LoadPackage
from schemactl.normalization.plan import Plan
from schemactl.normalization.report import NormalizeReport, Outcome, merge_reports
from schemactl.progress import Progress, no_progress
from schemactl.schema.contract import Entity, Mode
from schemactl.store.links import check_link
from schemactl.store.own_folder import own_folder

if TYPE_CHECKING:
    from schemactl.engine.choice import EngineOptions, OpenEngine
    from schemactl.engine.package import WrittenRejects, WrittenRows


@dataclass(frozen=True, slots=True)
class _Basis:
    """The data of one root table, and the functions that make its rows.

    Attributes:
        unfilled: what only rejected rows ask for, which the evolution is without.
    """

    data: TableData
    evolution: Evolution
    unfilled: Unfilled


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of one root table's data, ready to be loaded."""

    report: NormalizeReport
    evolution: Evolution
    plan: Plan
    made: WrittenRows


def load(call: Call, found: Sequence[TableData], staging: Path, progress: Progress) -> NormalizeReport:
    """Make the rows under the schema as it is now, save the schema, and load all of them or nothing.

    Raises:
        InputError: the schema cannot be read or written.
        DestinationError: the destination failed.
    """
    for attempt in range(MOST_ATTEMPTS):
        opened = open_schemas(call.folder, call.request.inference.name)
        rows = _make_rows(call, opened, found, staging / str(attempt))
        if isinstance(rows, NormalizeReport):
            return rows
        last = rows[-1].evolution
        folder = staging / str(attempt) / "rejects"
        rejects = rejects_together([each.made.rejects for each in rows if each.made.rejects], folder)
        kept = rejects if call.request.rejects is None else None
        package = package_of(last.stored, [(each.plan, each.made) for each in rows], kept, call.load, call.files)
        # Where another command was quicker: rows are made anew under the schema that it has saved.
        if (written := try_save(call.folder, opened, last.schema, last.hints)) is not None:
            report = _with_written(merge_reports([each.report for each in rows]), written)
            lineage, files = save_lineage(call.folder, report.name, [each.evolution.lineage for each in rows])
            return _deliver(call, _with_written(report, files), lineage, package, rejects, progress)
    raise unsteady(call.request.inference.name)


def _make_rows(call: Call, opened: Opened, found: Sequence[TableData], staging: Path) -> list[_Rows] | NormalizeReport:
    """Make the rows of all root tables; return the report where something in the data stops the load.

    Rows may show that the schema is to be another one: with room for their numbers, without columns that only rejected
    rows fill. Then those that this changes are made again.
    """
    asked: list[tuple[TableData, Unfilled]] = [(data, frozenset()) for data in found]
    made: dict[int, tuple[Plan, WrittenRows]] = {}
    for number in count():
        bases = _evolve_all(opened, asked)
        reports: list[NormalizeReport] = []
        for at, basis in enumerate(bases):
            report = replace(call.report(Outcome.STOPPED), inference=basis.evolution.report)
            if report.stops and _is_refused_by_size(basis.evolution):
                report = _with_unfit_counted(call, opened, bases[: at + 1], report, staging / f"unfit-{at}")
            if report.stops and report.inference is not None:
                schema = basis.evolution.resolution.schema
                report = replace(report, inference=with_records(report.inference, basis.data.reader, schema))
            else:
                check_root(basis.evolution.resolution.root)
            reports.append(report)
        if any(report.stops for report in reports):
            return _stopped(merge_reports(reports))
        plans = [basis.evolution.plan(basis.data.evidence) for basis in bases]
        met = [find_certain_overwrites(plan, basis.data.evidence) for plan, basis in zip(plans, bases, strict=True)]
        if any(met):
            found_met = zip(reports, met, strict=True)
            return merge_reports([replace(report, overwrites=each) for report, each in found_met])
        check_types(call.target, [table for plan in plans for table in plan.tables.values()])
        call.check_tables(bases[-1].evolution.stored)
        check_swaps(bases[-1].evolution.stored, call.target)
        _make_new(call, bases, plans, made, staging / str(number))
        reports = [report_of(report, bases[at].evolution, *made[at]) for at, report in enumerate(reports)]
        further = [_look_at_rows(opened, bases[: at + 1], made[at][1], report) for at, report in enumerate(reports)]
        if None in further:
            return _stopped(merge_reports(reports[: further.index(None) + 1]))
        again = [each for each in further if each is not None]
        if again == [(basis.data, basis.unfilled) for basis in bases]:
            for at, report in enumerate(reports):
                check_balance(report, made[at][1].tally)
            return [_Rows(report, bases[at].evolution, *made[at]) for at, report in enumerate(reports)]
        asked = again
    raise AssertionError


def _look_at_rows(
    opened: Opened, bases: Sequence[_Basis], made: WrittenRows, report: NormalizeReport
) -> tuple[TableData, Unfilled] | None:
    """Return what the rows of the last of some root tables ask the schema for; None where they stop the load."""
    basis = bases[-1]
    if not report.stops:
        return basis.data, basis.unfilled | find_unfilled(basis.evolution, made)
    roomier = _with_room(opened, bases, made)
    return None if roomier is None else (roomier.data, roomier.unfilled)


def _write(
    call: Call, reader: ScanReader | None, plans: Mapping[Tables, Plan], staging: Path
) -> dict[Tables, WrittenRows]:
    assert reader is not None  # a load reads all of its data
    return reader.write(plans, staging, call.load, call.target.destination.stored)


def _make_new(
    call: Call, bases: Sequence[_Basis], plans: Sequence[Plan], made: dict[int, tuple[Plan, WrittenRows]], staging: Path
) -> None:
    """Make the rows of plans that are new, those of data that is read together in one go."""
    new = [at for at, plan in enumerate(plans) if at not in made or made[at][0] != plan]
    for number, reader in enumerate(dict.fromkeys(bases[at].data.reader for at in new)):
        together = [at for at in new if bases[at].data.reader is reader]
        asked = {bases[at].data.tables: plans[at] for at in together}
        rows = _write(call, reader, asked, staging / str(number))
        made.update({at: (plans[at], rows[bases[at].data.tables]) for at in together})


def _stopped(report: NormalizeReport) -> NormalizeReport:
    """Return a report by which nothing is loaded: the rows that were made are none that were taken."""
    return replace(report, tables=tuple(replace(table, loaded=0, superseded=0) for table in report.tables))


def _evolve_all(opened: Opened, asked: Sequence[tuple[TableData, Unfilled]]) -> list[_Basis]:
    """Return what becomes of the schema by the data of each root table in turn."""
    bases: list[_Basis] = []
    for data, unfilled in asked:
        bases.append(_evolve(opened, data, unfilled, bases[-1].evolution if bases else None))
    return bases


def _evolve(opened: Opened, data: TableData, unfilled: Unfilled, after: Evolution | None) -> _Basis:
    return _Basis(data, data.evolve(opened, after, unfilled, is_loaded=True), unfilled)


def _with_room(opened: Opened, bases: Sequence[_Basis], made: WrittenRows) -> _Basis | None:
    """Return the last basis with room for the numbers that had none; None where nothing becomes of that."""
    if not made.room:
        return None
    basis, after = bases[-1], bases[-2].evolution if len(bases) > 1 else None
    data = replace(basis.data, evidence=merge(basis.data.evidence, Evidence(room=made.room)))
    roomier = _evolve(opened, data, basis.unfilled, after)
    return roomier if roomier.evolution.resolution.schema != basis.evolution.resolution.schema else None


def _is_refused_by_size(evolution: Evolution) -> bool:
    """Return whether a frozen column would have to grow for documents, and no null stops the load anyway."""
    frozen = (each for each in evolution.report.violations if each.mode == Mode.FREEZE)
    return not evolution.report.nulls and any(_is_by_size(each, evolution) for each in frozen)


def _is_by_size(finding: ViolationFinding, evolution: Evolution) -> bool:
    """Return whether a column would have to grow for documents: they state no sizes, their values have them."""
    if finding.entity != Entity.DATA_TYPE or finding.variant_of is not None or finding.column is None:
        return False
    classes = {name for _, name in evolution.resolution.taken.get((finding.table, finding.column), ())}
    return bool(classes) and DECLARED not in classes


def _with_unfit_counted(
    call: Call, opened: Opened, bases: Sequence[_Basis], found: NormalizeReport, staging: Path
) -> NormalizeReport:
    """Report columns that a contract keeps small which numbers they have no room for: rows are made, none is loaded.

    Evidence knows how large numbers are, and not where each of them stands.
    """
    data, evolution = bases[-1].data, bases[-1].evolution
    # Each refused value is found by itself, also in rows that others are refused in.
    violations = tuple(
        replace(each, mode=Mode.DISCARD_VALUE) if each.column is not None else each
        for each in evolution.judgment.violations
    )
    judgment = replace(evolution.judgment, violations=violations)
    plan = replace(evolution, judgment=judgment).plan(data.evidence)
    made = _write(call, data.reader, {data.tables: plan}, staging)[data.tables]
    if (roomier := _with_room(opened, bases, made)) is not None:
        report = replace(found, inference=roomier.evolution.report)
        return _with_unfit_counted(call, opened, [*bases[:-1], roomier], report, staging / "room")
    assert found.inference is not None
    findings = found.inference.violations
    described = tuple(
        exact if _is_by_size(finding, evolution) else finding
        for finding, exact in zip(findings, counted(findings, made.rejected, evolution.resolution.schema), strict=True)
    )
    return replace(found, inference=replace(found.inference, violations=described))


def _deliver(
    call: Call,
    report: NormalizeReport,
    lineage: Lineage,
    package: LoadPackage,
    rejects: WrittenRejects | None,
    progress: Progress,
) -> NormalizeReport:
    """Hand the rows over to the destination."""
    with kept_rejects(call.request.rejects, rejects, call.load.id):
        progress(f"loading into {call.target.shown}", None)
        call.target.destination.load(call.target.url, package, progress)
    tables = lineage.tables.items() if call.request.lineage else ()
    sources = {name: {column: tuple(kinds) for column, kinds in table.columns.items()} for name, table in tables}
    place = f"table `{package.rejects.table.name}`" if package.rejects else str(call.request.rejects)
    return replace(
        report,
        outcome=Outcome.LOADED,
        lineage=sources if call.request.lineage else None,
        rejects=place if rejects else None,
    )


def _with_written(report: NormalizeReport, files: tuple[str, ...]) -> NormalizeReport:
    assert report.inference is not None
    written = tuple(dict.fromkeys((*report.inference.written, *files)))
    return replace(report, inference=replace(report.inference, saved=bool(written), written=written))


def normalize(
    request: NormalizeRequest, progress: Progress | None = None, open_engine: OpenEngine | None = None
) -> NormalizeReport:
    """Load the sources' rows, or say what speaks against it.

    Raises:
        InputError: the call is wrong, or a source or the schema cannot be read.
        EngineError: the engine failed.
        DestinationError: the destination failed; ``Loader.load`` says what it holds then.
    """
    with noted_warnings() as noted:
        report = _normalize(request, progress or no_progress, open_engine)
    return replace(report, warnings=tuple(noted.values()))


def _normalize(request: NormalizeRequest, progress: Progress, open_engine: OpenEngine | None) -> NormalizeReport:
    call = prepare(request)
    if isinstance(call, NormalizeReport):
        return call
    from schemactl.engine.choice import EngineOptions

    options = request.inference.engine or EngineOptions()
    if (address := find_address(request.to)) is not None and address[0] == "spark":
        options = replace(options, needs_spark=f"--to {call.target.shown}")
    with _staging(request.staging, options) as staging:
        if request.staging is not None:
            # Documents wait in the engine's own files to be rows.
            options = options.with_temporary_files(staging)
        parts = [replace(part, request=replace(part.request, engine=options)) for part in call.parts]
        with collected(parts, call.before, parse_sample("full"), progress, open_engine, is_load=True) as data:
            report = load(call, data.tables, staging, progress)
    return report if report.inference is None else replace(report, inference=data.complete(report.inference))


@contextmanager
def _staging(folder: Path | None, options: EngineOptions) -> Iterator[Path]:
    """Hand out a folder for rows while they are made; it is removed at the end, after a kill by the next command.

    Raises:
        InputError: it cannot be made, a link leads it out of its repository, or a cluster would not reach it.
    """
    if folder is None and not options.reaches_this_machine():
        hint = "name a folder that all its machines reach: `--staging DIR`"
        raise InputError("a cluster does not reach this machine's temporary folder", hint=hint)
    try:
        if folder is not None:
            check_link(folder)
            folder.mkdir(parents=True, exist_ok=True)
        with_folder = ExitStack()
        # A driver that was started before holds the lock of its own folder alone: after a kill it may still write rows.
        parent = options.temporary_folder if folder is None else folder
        own = with_folder.enter_context(own_folder(ROWS, parent))
    except OSError as error:
        raise InputError(f"cannot write to `{folder or tempfile.gettempdir()}`: {error.strerror or error}") from error
    with with_folder:
        yield own

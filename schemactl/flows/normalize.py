"""``schemactl normalize``: sources -> (infer's walk) -> plan -> tables -> destination.

Where the first documents tell enough, the walk is left out (``surmised``).
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._package import LoadedInput, LoadPackage
from schemactl.errors import InputError
from schemactl.flows.evidence import (
    check_bad_records,
    check_documents,
    find_sources,
)
from schemactl.flows.evolution import Evolution, evolve_schema, schema_before
from schemactl.flows.infer import MOST_ATTEMPTS, InferRequest, check_request, try_save, unsteady
from schemactl.flows.lineage import read_lineage, save_lineage, told_lineage
from schemactl.flows.loading import Target, choose_load_id, find_target, remember, without_seen
from schemactl.flows.own_files import check_root, folder_of, without_own
from schemactl.flows.packing import (
    Load,
    Made,
    check_balance,
    check_rejects_folder,
    kept_rejects,
    make_rows,
    package_of,
    report_of,
)
from schemactl.flows.progress import Progress
from schemactl.flows.refusals import as_discarded, is_refused_by_size, with_unfit_counted
from schemactl.flows.schemas import Opened, open_schemas
from schemactl.flows.surmised import did_fit, evolve_by_first, recounted
from schemactl.inference.evidence import Evidence, merge
from schemactl.inference.sample import parse_sample
from schemactl.normalization.choose import goes_by_kinds, make_plan
from schemactl.normalization.plan import Plan
from schemactl.normalization.report import NormalizeReport, Outcome
from schemactl.normalization.request import PlanRequest
from schemactl.store.folder import SchemasFolder

if TYPE_CHECKING:
    from schemactl.engine.input import Input
    from schemactl.engine.settings import SparkOptions
    from schemactl.engine.survey import Survey

_STAGING_PREFIX: Final = "schemactl-rows-"


@dataclass(frozen=True, slots=True)
class NormalizeRequest:
    """What ``schemactl normalize`` was asked for.

    Attributes:
        inference: what it shares with ``infer``; the sample is the whole data, and nothing is a check.
        to: the destination's address.
        rejects: a folder for what contracts refuse; None for a table beside the others.
        load_id: None for the time as dlt has it.
        new_only: whether to leave out files that were loaded before.
        lineage: whether the report is to tell where each column comes from.
        staging: a folder for rows while they are made; None for the system's.
    """

    inference: InferRequest
    to: str
    rejects: Path | None = None
    load_id: str | None = None
    new_only: bool = False
    lineage: bool = False
    staging: Path | None = None


@dataclass(frozen=True, slots=True)
class _Call:
    """A request, checked before Spark is started."""

    request: NormalizeRequest
    folder: SchemasFolder
    target: Target
    load: Load
    inputs: tuple[Input, ...]
    files: tuple[LoadedInput, ...]
    seen: tuple[str, ...]

    def report(self, outcome: Outcome) -> NormalizeReport:
        """Return a report of which nothing more is known."""
        name = self.request.inference.name
        return NormalizeReport(name, self.load.id, self.target.shown, outcome, seen=self.seen)


MakeRows = Callable[[Plan, Path], Made]
"""Writes the rows of a plan to a folder."""


OpenSession = Callable[["SparkOptions"], AbstractContextManager[Any]]
"""Opens a Spark session; it is passed on to the engine only, where pyspark's types are known."""


def normalize(
    request: NormalizeRequest, progress: Progress | None = None, open_session: OpenSession | None = None
) -> NormalizeReport:
    """Load the sources' rows, or tell what speaks against it.

    Args:
        request: what was asked for.
        progress: told each phase.
        open_session: for those who have a session already; None to open one.

    Raises:
        InputError: the call is wrong, or a source or the schema cannot be read.
        EngineError: Spark failed.
        DestinationError: the destination failed; it is as it was before.
    """
    progress = progress or (lambda *_: None)
    call = _prepare(request)
    if isinstance(call, NormalizeReport):
        return call
    from schemactl.engine import session
    from schemactl.engine.settings import SparkOptions
    from schemactl.engine.survey import survey_inputs

    options = request.inference.spark or SparkOptions()
    with _staging(request.staging, options) as staging:
        progress("starting Spark", None)
        with (open_session or session.open_session)(options) as spark:
            survey = survey_inputs(spark, call.inputs, parse_sample("full"), progress)
            check_bad_records(survey, request.inference.on_bad_record)
            check_documents(request.inference.sources, survey.files)

            def make(plan: Plan, folder: Path) -> Made:
                return make_rows(spark, survey, plan, call.load, folder, progress)

            if (report := _load_surmised(call, survey, make, staging / "surmised", progress)) is not None:
                return report
            return _load(call, _evidence(call, survey, progress), make, staging, progress)


def _evidence(call: _Call, survey: Survey, progress: Progress) -> Evidence:
    """Return the evidence of all data; where a schema may speak against it, also what stands in typed columns."""
    from schemactl.engine.scan import collect_evidence
    from schemactl.engine.typed_evidence import count_typed

    evidence = collect_evidence(survey, progress)
    is_known = open_schemas(call.folder, call.request.inference.name).schema is not None
    return merge(evidence, count_typed(survey, progress)) if survey.typed and is_known else evidence


def _goes_by_kinds(call: _Call) -> bool:
    """Return whether the schema's normaliser asks no more than what kinds of values there are."""
    request = call.request.inference
    return goes_by_kinds(schema_before(open_schemas(call.folder, request.name), request.naming, request.normalizer))


def _prepare(request: NormalizeRequest) -> _Call | NormalizeReport:
    """Return the call, or the report where there is nothing to do; what is wrong with it is told at once."""
    inference = request.inference
    folder = SchemasFolder.at(inference.schemas)
    before = check_request(inference, folder)
    read_lineage(folder, inference.name)
    check_rejects_folder(request.rejects)
    load_id = choose_load_id(request.load_id)
    target = find_target(request.to)
    past = target.destination.read_past_loads(target.url, inference.name)
    if load_id in past.load_ids:
        return NormalizeReport(inference.name, load_id, target.shown, Outcome.LOADED_BEFORE)
    inputs = without_own(_find_data(inference), inference.sources, _own_folders(request, target), request.rejects)
    files = remember(inputs)
    seen: tuple[str, ...] = ()
    if request.new_only:
        inputs, seen = without_seen(inputs, files, past)
        files = remember(inputs)
    call = _Call(request, folder, target, Load(load_id, datetime.now(UTC)), inputs, files, seen)
    if not inputs:
        return call.report(Outcome.NOTHING_NEW)
    target.destination.check_tables(target.url, before)
    return call


def _own_folders(request: NormalizeRequest, target: Target) -> list[Path]:
    """Return the folders that this load and others write to."""
    left = request.staging.glob(f"{_STAGING_PREFIX}*") if request.staging else ()
    found = (folder_of(target.url), request.inference.schemas, *left)
    return [folder for folder in found if folder is not None]


def _find_data(request: InferRequest) -> tuple[Input, ...]:
    saved, inputs = find_sources(request.sources, request.input_format)
    if saved:
        raise InputError(f"`{saved[0]}` is saved evidence, which holds no rows", hint="name the data itself")
    return inputs


@contextmanager
def _staging(stated: Path | None, spark: SparkOptions) -> Iterator[Path]:
    """Hand out a folder for rows while they are made; it is removed at the end, however that comes.

    Raises:
        InputError: it cannot be made, or a cluster would not reach it.
    """
    if stated is None and _is_far(spark):
        hint = "name a folder that all its machines reach: `--staging DIR`"
        raise InputError("a cluster does not reach this machine's temporary folder", hint=hint)
    try:
        if stated is not None:
            stated.mkdir(parents=True, exist_ok=True)
        made = tempfile.TemporaryDirectory(prefix=_STAGING_PREFIX, dir=stated, ignore_cleanup_errors=True)
    except OSError as error:
        raise InputError(f"cannot write to `{stated or tempfile.gettempdir()}`: {error.strerror or error}") from error
    with made as folder:
        yield Path(folder).absolute()


def _is_far(spark: SparkOptions) -> bool:
    from schemactl.engine.settings import DEFAULT_MASTER, local_cores

    master = spark.conf.get("spark.master") or spark.master or DEFAULT_MASTER
    return spark.remote is not None or local_cores(master) is None


@dataclass(frozen=True, slots=True)
class _Basis:
    """What rows are made by.

    Attributes:
        opened: the schema as it was.
        evolution: what becomes of it.
        evidence: of all the data.
        is_surmised: whether the evidence is a surmise.
    """

    opened: Opened
    evolution: Evolution
    evidence: Evidence
    is_surmised: bool = False


def _load_surmised(
    call: _Call, survey: Survey, make: MakeRows, staging: Path, progress: Progress
) -> NormalizeReport | None:
    """Load as ``_load`` does without a count of values; return None where that cannot be."""
    if not _goes_by_kinds(call):
        return None
    opened = open_schemas(call.folder, call.request.inference.name)
    limit = call.target.max_identifier_length
    settled = evolve_by_first(call.request.inference, call.folder, opened, survey, limit, progress)
    return None if settled is None else _try_load(call, _Basis(opened, *settled, True), make, staging, progress)


def _load(call: _Call, evidence: Evidence, make: MakeRows, staging: Path, progress: Progress) -> NormalizeReport:
    """Make the rows under the schema as it is now, save the schema, and load.

    Raises:
        InputError: the schema cannot be read or written.
        DestinationError: the destination failed.
    """
    request, limit = call.request.inference, call.target.max_identifier_length
    for attempt in range(MOST_ATTEMPTS):
        opened = open_schemas(call.folder, request.name)
        evolution = evolve_schema(request, call.folder, opened, evidence, limit, is_loaded=True)
        basis = _Basis(opened, evolution, evidence)
        if (report := _try_load(call, basis, make, staging / str(attempt), progress)) is not None:
            return report
    raise unsteady(request.name)


def _try_load(call: _Call, basis: _Basis, make: MakeRows, staging: Path, progress: Progress) -> NormalizeReport | None:
    """Do what ``_load`` does; return None where the data is not as surmised, or the schema has changed meanwhile."""
    evolution = basis.evolution
    found = replace(call.report(Outcome.STOPPED), inference=evolution.report)
    if found.stops:
        return _with_unfit_counted(call, basis, found, make, staging) if is_refused_by_size(evolution) else found
    check_root(evolution.report.table)
    call.target.destination.check_tables(call.target.url, evolution.stored)
    try:
        plan = make_plan(PlanRequest(basis.evidence, evolution.resolution, evolution.judgement))
    except InputError:
        if basis.is_surmised:
            return None  # what was surmised may never stand together
        raise
    made = make(plan, staging)
    if basis.is_surmised and not did_fit(plan, made):
        shutil.rmtree(staging, ignore_errors=True)
        return None
    if basis.is_surmised:
        evolution = replace(evolution, report=recounted(evolution, basis.evidence, made))
    report = report_of(found, evolution, plan, made)
    if report.stops:
        roomier = _with_room(call, basis, made)
        return report if roomier is None else _try_load(call, roomier, make, staging / "room", progress)
    check_balance(report)
    package = package_of(evolution, plan, made, call.load, call.files, call.request.rejects is None)
    # Where another command was quicker: rows are made anew under the schema that it has saved.
    written = try_save(call.folder, basis.opened, evolution.schema)
    return None if written is None else _deliver(call, _with_written(report, written), plan, made, package, progress)


def _with_room(call: _Call, basis: _Basis, made: Made) -> _Basis | None:
    """Return the basis with room for the numbers that had none; None where nothing becomes of that."""
    if basis.is_surmised or not made.room:
        return None
    evidence = merge(basis.evidence, Evidence(room=made.room))
    request, limit = call.request.inference, call.target.max_identifier_length
    evolution = evolve_schema(request, call.folder, basis.opened, evidence, limit, is_loaded=True)
    is_new = evolution.resolution.schema != basis.evolution.resolution.schema
    return _Basis(basis.opened, evolution, evidence) if is_new else None


def _with_unfit_counted(
    call: _Call, basis: _Basis, found: NormalizeReport, make: MakeRows, staging: Path
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
    call: _Call, report: NormalizeReport, plan: Plan, made: Made, package: LoadPackage, progress: Progress
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

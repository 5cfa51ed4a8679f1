"""``schemactl normalize``: check the call, evolve the schema like ``infer``, make the rows, load them.

A record's way: ``prepare`` finds the files and asks the destination, ``_make_rows`` evolves the schema and makes rows
until both fit, ``_load`` saves the schema, and ``_deliver`` passes the package to the destination. ``_load`` repeats
this if another command changes the schema meanwhile.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemactl.destinations import MigrationSession, find_address, folder_of, is_migrator
from schemactl.engine.written_files import without_written_files
from schemactl.errors import DestinationError, InputError, Location, Problem
from schemactl.flows.backlog import LoadLimits, cut_backlog, keep_inputs
from schemactl.flows.evidence import table_of, with_records
from schemactl.flows.evolution import Evolution, Unfilled, find_unfilled
from schemactl.flows.infer import MOST_ATTEMPTS, check_request, collected, noted_warnings, try_save, unsteady
from schemactl.flows.lineage import lineage_in, save_lineage
from schemactl.flows.loaded_files import (
    MOST_SEEN,
    Changed,
    find_changed,
    find_new,
    is_listed,
    open_ledger,
    remember,
)
from schemactl.flows.migrate.ledger_schemas import check_swaps, with_lost
from schemactl.flows.promotion import LOAD_SECONDS, PromotionOptions, StoredColumns, ValuesDoNotSurvive
from schemactl.flows.rejects import rejects_table
from schemactl.flows.request import InferRequest
from schemactl.flows.root_tables import TableData, TableInput, inputs_by_table, warn_of_unlike
from schemactl.flows.schemas import Opened, open_schemas, put_back
from schemactl.flows.target import LoadTarget, MigrationTarget, loadable
from schemactl.inference.advice import suggest_sync
from schemactl.inference.evidence import Evidence, merge
from schemactl.inference.fitting import without_long_names
from schemactl.inference.lineage import Lineage
from schemactl.inference.promotion import StoredValues
from schemactl.inference.report import ViolationFinding
from schemactl.inference.sample import parse_sample
from schemactl.inference.source_names import OTHER_TABLE, root_table
from schemactl.inference.values import DECLARED
from schemactl.migration.records import Patience
from schemactl.normalization.overwrites import find_certain_overwrites
from schemactl.normalization.package import (
    INPUTS_TABLE,
    ConcurrentLoadError,
    LoadedInput,
    LoadPackage,
    PastLoads,
    RejectsEdit,
    StagedTable,
)
from schemactl.normalization.plan import Plan
from schemactl.normalization.report import (
    LoadSummary,
    NormalizeReport,
    Outcome,
    describe_rejected,
    join_loads,
    merge_reports,
    report_rows,
)
from schemactl.normalization.tally import REJECTS_TABLE, LoadTime, RecordOrigin
from schemactl.progress import Progress, no_progress
from schemactl.schema.contract import Entity, Mode, Promotion, may_promote, promotion_for
from schemactl.schema.dispositions import appends, complete, first
from schemactl.schema.full_types import MAX_DIGITS, FullType, check_scale, full_type
from schemactl.schema.hints import with_hints
from schemactl.schema.nested_types import NestedType, structure_of
from schemactl.schema.nested_widening import has_wider_fields
from schemactl.schema.types import Column, DataType, Schema, Table, ancestors, root_of
from schemactl.store.folder import SchemasFolder
from schemactl.store.links import check_link
from schemactl.store.rejects import check_rejects_folder, stored_rejects
from schemactl.store.temporary_folders import PREFIX, temporary_folder

if TYPE_CHECKING:
    from schemactl.engine.choice import EngineOptions, OpenEngine
    from schemactl.engine.input import Input
    from schemactl.engine.package import WrittenRejects, WrittenRows
    from schemactl.engine.protocol import Engine

ROWS: Final = "rows"
"""The purpose in the names of folders that hold rows while they are made."""


@dataclass(frozen=True, slots=True)
class Replay:
    """The additional work of a load whose sources are the records of rejects.

    Attributes:
        origins: the origins of the records, by the file that they are read from.
        edit: returns the change of the stored rejects, given the id of the load and the new rejects.
        is_dry_run: whether nothing is saved and loaded.
    """

    origins: Mapping[str, RecordOrigin]
    edit: Callable[[str, WrittenRejects | None], RejectsEdit]
    is_dry_run: bool = False


@dataclass(frozen=True, slots=True)
class NormalizeRequest:
    """The request of ``schemactl normalize``.

    Attributes:
        inference: the part shared with ``infer``; without sampling and without check.
        rejects: a folder for rejected rows and values; None for a table in the destination.
        load_id: None for an ID made from the time, as in dlt.
        new_only: whether to leave out files that were loaded before; limits do so, too.
        changed: what to do with loaded files that have changed; None to load them into tables that merge by a key, and
            to fail for other tables.
        limits: the limits of one load; the remaining files go into further loads.
        lineage: whether the report has the source paths of each column.
        staging: a folder for rows before the load; None for the system's temporary folder.
        replay: the replay whose records are the sources; None for data.
    """

    inference: InferRequest
    to: str
    rejects: Path | None = None
    load_id: str | None = None
    new_only: bool = False
    changed: Changed | None = None
    limits: LoadLimits = field(default_factory=LoadLimits)
    lineage: bool = False
    staging: Path | None = None
    replay: Replay | None = None
    promotion: PromotionOptions = field(default_factory=PromotionOptions)


@dataclass(frozen=True, slots=True)
class Call:
    """A request, checked before an engine starts.

    Attributes:
        before: the schema when the call was checked.
        checked: the schema whose tables the destination has checked.
        table_inputs: the data of each root table; empty if nothing is new.
        seen: paths of files that were left out, ``MOST_SEEN`` at most.
        skipped: the number of files that were left out.
        compared_loads: the loads whose files were left out; None if files may be loaded again.
        files: as the ledger remembers them, by their paths in reports; empty until the load begins.
        stored_columns: the columns of the destination, which the load may widen.
    """

    request: NormalizeRequest
    folder: SchemasFolder
    target: LoadTarget
    load: LoadTime
    before: Schema
    checked: Schema
    table_inputs: tuple[TableInput, ...]
    seen: tuple[str, ...] = ()
    skipped: int = 0
    compared_loads: frozenset[str] | None = None
    files: Mapping[str, LoadedInput] = field(default_factory=dict)
    stored_columns: StoredColumns = field(kw_only=True)

    @property
    def destination_schema(self) -> Schema:
        """The schema with the tables and columns that only the destination still has."""
        return self.request.inference.destination_schema or self.before

    def report(self, outcome: Outcome) -> NormalizeReport:
        """Return a report with nothing but the call and an outcome."""
        name = self.request.inference.name
        return NormalizeReport(
            name, self.load.id, self.target.shown, outcome, seen=self.seen, unlisted=self.skipped - len(self.seen)
        )

    def with_files(self) -> Call:
        """Return the call with the current state of its files; a file that changes later counts as another file."""
        inputs = tuple(filter(is_listed, _inputs_of(self.table_inputs)))
        return replace(self, files=dict(zip((file.path for file in inputs), remember(inputs), strict=True)))

    def find_new_files(self) -> Call:
        """Return the call without files that loads into the destination have loaded by now."""
        name = self.request.inference.name
        past = self.target.destination.read_past_loads(self.target.url, name)
        with open_ledger(self.target.destination.read_ledger(self.target.url, name)) as ledger:
            new = find_new(self.table_inputs, ledger, self.destination_schema, self.request.changed)
        skipped = self.skipped + len(new.skipped)
        seen_paths = (*self.seen, *new.skipped)[:MOST_SEEN]
        return replace(
            self, table_inputs=new.table_inputs, seen=seen_paths, skipped=skipped, compared_loads=past.load_ids
        )

    def with_saved(self, schema: Schema) -> Call:
        """Return the call with the schema that another command has saved since the call was checked."""
        only_stored = {
            name: replace(table, columns=columns)
            for name, table in self.destination_schema.tables.items()
            if (columns := {key: table.columns[key] for key in table.columns if self.before.column(name, key) is None})
        }
        destination_schema = schema.with_missing_from(replace(self.destination_schema, tables=only_stored))
        inference = replace(self.request.inference, destination_schema=destination_schema)
        return replace(self, before=schema, request=replace(self.request, inference=inference))

    def count_stored(self, table: str, column: str, wider: FullType | NestedType) -> StoredValues:
        """Return the stored values of a column that would not survive a wider type."""
        return self.stored_columns.count(self.destination_schema, table, column, wider)

    def check_tables(self, schema: Schema) -> None:
        """Let the destination check the tables of a schema, unless it has; see ``Loader``."""
        if schema.tables != self.checked.tables:
            _check_tables(self, schema)


def normalize(
    request: NormalizeRequest,
    progress: Progress | None = None,
    open_engine: OpenEngine | None = None,
    is_ended: Callable[[], bool] | None = None,
) -> NormalizeReport:
    """Load the sources, or report why not.

    A request with limits may need several loads. A failed load is the last; before each further load, ``is_ended``
    tells whether to leave the remaining files to the next call.
    """
    with noted_warnings() as noted:
        report = _normalize(request, progress or no_progress, open_engine, is_ended or (lambda: False))
    return replace(report, warnings=tuple(noted.values()))


def _normalize(
    request: NormalizeRequest, progress: Progress, open_engine: OpenEngine | None, is_ended: Callable[[], bool]
) -> NormalizeReport:
    call = prepare(request)
    if isinstance(call, NormalizeReport):
        return call
    cuts = cut_backlog(call.table_inputs, request.limits, call.destination_schema)
    if len(cuts) == 1:
        return _load_files(call, progress, open_engine)
    waiting = sum(len(table_input.inputs) for table_input in call.table_inputs)
    total = waiting
    reports: list[NormalizeReport] = []
    from schemactl.engine.choice import open_engine as open_chosen_engine

    # All loads of a backlog share one engine.
    with (open_engine or open_chosen_engine)(_engine_options(call), _inputs_of(call.table_inputs), progress) as engine:

        def open_shared(*_: object) -> AbstractContextManager[Engine]:
            return nullcontext(engine)

        for number, table_inputs in enumerate(cuts, start=1):
            load = LoadTime(choose_load_id(None), datetime.now(UTC))
            stage = f"load {number:,} of {len(cuts):,}, {total - waiting:,} of {total:,} files loaded"
            load_progress = _named_stage(progress, stage, 1 - waiting / total)
            report = _load_files(replace(call, load=load, table_inputs=table_inputs), load_progress, open_shared)
            reports.append(report)
            if report.outcome is Outcome.STOPPED:
                break
            waiting -= sum(len(table_input.inputs) for table_input in table_inputs)
            if is_ended():
                break
    return replace(join_loads(reports), waiting=waiting)


def _named_stage(progress: Progress, name: str, done: float) -> Progress:
    """Return the progress of one load of a backlog; the fraction `done` of the backlog is loaded."""
    return lambda stage, _share: progress(f"{name}: {stage}" if stage else "", done)


def _load_files(call: Call, progress: Progress, open_engine: OpenEngine | None) -> NormalizeReport:
    """Load the files of a call; if another process loads some of them meanwhile, load the remaining files."""
    for _ in range(MOST_ATTEMPTS):
        try:
            return _load_call(call.with_files(), progress, open_engine)
        except ConcurrentLoadError:
            call = call.find_new_files()
            if not call.table_inputs:
                return call.report(Outcome.NOTHING_NEW)
    raise unsteady(call.request.inference.name)


def _engine_options(call: Call) -> EngineOptions:
    from schemactl.engine.choice import EngineOptions

    options = call.request.inference.engine or EngineOptions()
    if (address := find_address(call.request.to)) is not None and address[0] == "spark":
        options = replace(options, needs_spark=f"--to {call.target.shown}")
    return options


def _load_call(call: Call, progress: Progress, open_engine: OpenEngine | None) -> NormalizeReport:
    request, options = call.request, _engine_options(call)
    with _staging(request.staging, options) as staging:
        if request.staging is not None:
            # The engine keeps documents in files until they become rows.
            options = options.with_temporary_files(staging)
        table_inputs = [
            replace(table_input, request=replace(table_input.request, engine=options))
            for table_input in call.table_inputs
        ]
        with collected(table_inputs, call.before, parse_sample("full"), progress, open_engine, is_load=True) as data:
            report = _load(call, data.tables, staging, progress)
    return report if report.inference is None else replace(report, inference=data.complete(report.inference))


# --- the call ---


def prepare(request: NormalizeRequest) -> Call | NormalizeReport:
    """Check a request; return the call, or the report if there is nothing to do."""
    inference = request.inference
    folder = SchemasFolder.at(inference.schemas)
    before = check_request(inference, folder)
    lineage_in(folder.exports, inference.name)
    check_rejects_folder(request.rejects)
    if request.limits.is_set and request.load_id is not None:
        message = "`--load-id` names one load, and `--max-files` and `--max-bytes` make several"
        raise InputError(message, hint="leave `--load-id` out: `--new-only` loads each file once")
    load_id = choose_load_id(request.load_id)
    target = loadable(request.to)
    past = target.destination.read_past_loads(target.url, inference.name)
    if load_id in past.load_ids:
        _finish_interrupted(past, target, inference.name)
        return NormalizeReport(inference.name, load_id, target.shown, Outcome.LOADED_BEFORE)
    destination_schema = with_lost(before, target)
    limit = target.max_identifier_length
    is_same = destination_schema == before
    inference = replace(
        inference,
        max_identifier_length=limit,
        destination_schema=None if is_same else destination_schema,
        settle_decimal=target.settle_decimal,
    )
    request = replace(request, inference=inference)
    # Longer names are checked later, because their short forms depend on the data.
    checked = without_long_names(destination_schema, limit)
    load = LoadTime(load_id, datetime.now(UTC), request.replay.origins if request.replay else {})
    stored_columns = StoredColumns(target, inference.name, request.promotion)
    call = Call(request, folder, target, load, before, checked, table_inputs=(), stored_columns=stored_columns)
    if past.load_ids and may_promote(destination_schema, inference.contract):
        stored_columns.finish_killed(destination_schema)
    if request.new_only or request.limits.is_set or request.changed is not None:
        call = _find_new_data(call, past.load_ids)
        if not call.table_inputs:
            _finish_interrupted(past, target, inference.name)
            return call.report(Outcome.NOTHING_NEW)
    else:
        call = replace(call, table_inputs=_find_data(call))
    _check_hinted_types(target, destination_schema, call.table_inputs)
    _check_tables(call, checked)
    return call


def _finish_interrupted(past: PastLoads, target: LoadTarget, schema_name: str) -> None:
    """Finish a killed load that counts, so that other programs see its rows, too."""
    destination = target.destination
    if past.is_interrupted and is_migrator(destination):
        migration_target = MigrationTarget(target.kind, destination, target.url)
        with migration_target.open_for_writing(schema_name, Patience(seconds=LOAD_SECONDS)):
            pass  # a session that writes finishes it as it begins


def _check_tables(call: Call, schema: Schema) -> None:
    """Let the destination check tables, without columns that a load is going to widen.

    An earlier command may have made columns wider only in the schema, or was killed before it widened them. If no load
    widens them in its transaction, they become wider now.
    """
    target, stored_columns = call.target, call.stored_columns
    try:
        target.destination.check_tables(target.url, schema)
    except DestinationError:
        widening = _widening(call, schema, schema.tables.values())
        if widening is None:
            raise
        checked = schema
        if not stored_columns.widens_ahead:
            checked = stored_columns.without_narrow(schema, widening.columns)
        elif not stored_columns.widen_ahead(schema, widening.columns):
            raise
        target.destination.check_tables(target.url, checked)


def _find_new_data(call: Call, load_ids: frozenset[str]) -> Call:
    """Return a call with the data of files whose current version no load in the destination has loaded.

    The listing leaves these files out one by one, so a million of them take no memory.
    """
    inference, destination = call.request.inference, call.target.destination
    with open_ledger(destination.read_ledger(call.target.url, inference.name)) as ledger:
        # A replaced table gets all of its files if a file is new.
        is_wanted = None if _may_replace(call) else ledger.is_new
        listing = replace(call, request=replace(call.request, inference=replace(inference, is_wanted=is_wanted)))
        table_inputs = _find_data(listing, are_others_loaded=lambda: bool(ledger.skipped))
        new = find_new(table_inputs, ledger, call.destination_schema, call.request.changed)
        seen_paths = (*ledger.seen, *new.skipped)[:MOST_SEEN]
        skipped = ledger.skipped + len(new.skipped)
    return replace(call, table_inputs=new.table_inputs, seen=seen_paths, skipped=skipped, compared_loads=load_ids)


def _may_replace(call: Call) -> bool:
    """Return whether a load may replace the rows of a table."""
    hints = call.request.inference.hints
    schemas = [call.destination_schema, *([hints.schema] if hints is not None and hints.schema is not None else [])]
    dispositions = {table.properties.get("write_disposition") for schema in schemas for table in schema.tables.values()}
    return "replace" in dispositions or (hints is not None and hints.write_disposition == "replace")


def _find_data(call: Call, are_others_loaded: Callable[[], bool] = lambda: False) -> tuple[TableInput, ...]:
    """Return the data by root table, without the files that schemactl itself writes.

    ``are_others_loaded`` answers after the listing whether it has left out files that were loaded before.
    """
    request, folder = call.request, call.folder
    table_inputs = inputs_by_table(request.inference, call.before)
    for table_input in table_inputs:
        if table_input.saved:
            raise InputError(
                f"`{table_input.saved[0]}` is saved evidence, which contains no rows", hint="name the data itself"
            )
    leftovers = request.staging.glob(f"{PREFIX}{ROWS}-*") if request.staging else ()
    folders = (folder_of(call.target.url), folder.root if folder.is_usual else None, *leftovers)
    inputs = without_written_files(
        _inputs_of(table_inputs),
        request.inference.all_sources,
        [path for path in folders if path is not None],
        request.rejects,
        () if folder.is_usual else (folder.imports, folder.exports),
        may_be_empty=are_others_loaded(),
    )
    paths = {file.path for file in inputs}
    table_inputs = keep_inputs(table_inputs, paths)
    warn_of_unlike(table_inputs)
    return table_inputs


def _inputs_of(table_inputs: Iterable[TableInput]) -> tuple[Input, ...]:
    return tuple(file for table_input in table_inputs for file in table_input.inputs)


def _check_types(target: LoadTarget, tables: Iterable[Table]) -> None:
    """Raise an error for tables with columns whose types the destination cannot store or no load can fill."""
    columns = ((table.name, column) for table in tables for column in complete(table))
    problems = tuple(problem for table, column in columns if (problem := _type_problem(target, table, column)))
    if problems:
        raise InputError(f"columns of such types cannot be loaded into `{target.kind}`", problems=problems)


def _type_problem(target: LoadTarget, table: str, column: Column) -> Problem | None:
    from schemactl.kernel.stored import decimal_size

    name = f"`{table}.{column.name}`"
    try:
        if column.data_type in (DataType.DECIMAL, DataType.WEI):
            digits, scale = decimal_size(column)
            if digits > MAX_DIGITS:
                message = f"{name} has {digits} digits; a load into `{target.kind}` supports up to {MAX_DIGITS}"
                return Problem(message, hint="lower the precision in the schema, or keep the column as `text`")
            check_scale(column.name, digits, scale, "a load")
        target.destination.stored(column)
    except InputError as error:
        return Problem(f"{name}: {error.message}", hint=error.hint)
    return None


def _check_hinted_types(target: LoadTarget, before: Schema, table_inputs: Iterable[TableInput]) -> None:
    """Check the types of the tables that the data goes to, with the hints of the call."""
    for request in (table_input.request for table_input in table_inputs):
        if request.dispatch is not None:
            continue  # only the records show which tables exist
        root = root_table(before, table_of(request.table, request.sources, Evidence(), request.name))
        hinted = before if request.hints is None else with_hints(before, request.hints, root)
        _check_types(target, [table for name, table in hinted.tables.items() if root_of(hinted, name) == root])


def check_root(table: str) -> None:
    """Refuse a root table with the name of a table that schemactl keeps in each dataset."""
    if table.lower() in (REJECTS_TABLE, INPUTS_TABLE):
        raise InputError(f"`{table}` is a table of schemactl's own", hint=OTHER_TABLE)


_LOAD_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Part of file names, and as long as dlt's column for it allows."""


def choose_load_id(load_id: str | None) -> str:
    """Return the id of a load: the user's, or dlt's, which is the seconds since 1970."""
    if load_id is None:
        return str(time.time())
    if not _LOAD_ID.fullmatch(load_id):
        hint = "at most 64 letters, digits, `.`, `_` and `-`, a letter or digit first"
        raise InputError(f"`{load_id}` cannot be the id of a load", hint=hint)
    return load_id


@contextmanager
def _staging(folder: Path | None, options: EngineOptions) -> Iterator[Path]:
    """Yield a folder for rows while they are made; it is removed at the end, after a kill by the next command."""
    if folder is None and not options.reaches_this_machine():
        hint = "name a folder that all its machines reach: `--staging DIR`"
        raise InputError("a cluster does not reach this machine's temporary folder", hint=hint)
    try:
        if folder is not None:
            check_link(folder)
            folder.mkdir(parents=True, exist_ok=True)
        stack = ExitStack()
        # An earlier driver locks only its own folder: after a kill it may still write rows.
        staging = stack.enter_context(temporary_folder(ROWS, options.temporary_folder if folder is None else folder))
    except OSError as error:
        raise InputError(f"cannot write to `{folder or tempfile.gettempdir()}`: {error.strerror or error}") from error
    with stack:
        yield staging


# --- the rows ---


@dataclass(frozen=True)
class _TableAttempt:
    """The data of one root table under the schema that it evolves.

    Attributes:
        unfilled: tables and columns that only rejected rows need; the evolution is without them.
        after: the evolution by the root table before it.
    """

    call: Call
    opened: Opened
    data: TableData
    unfilled: Unfilled
    after: Evolution | None

    @cached_property
    def evolution(self) -> Evolution:
        count_stored = self.call.count_stored
        return self.data.evolve(self.opened, self.after, self.unfilled, is_loaded=True, count_stored=count_stored)

    @cached_property
    def plan(self) -> Plan:
        return self.evolution.plan(self.data.evidence)

    @property
    def report(self) -> NormalizeReport:
        return replace(self.call.report(Outcome.STOPPED), inference=self.evolution.report)

    def check(self, staging: Path) -> NormalizeReport:
        """Return the report of the evolution; if it stops the load, with the values and records that do."""
        report = self.report
        if report.stops and not self.evolution.report.nulls:  # which stop the load anyway
            violations = self.evolution.report.violations
            frozen = (violation for violation in violations if violation.mode == Mode.FREEZE)
            if any(_is_by_size(violation, self.evolution) for violation in frozen):
                report = self._count_oversized(report, staging)
        if report.stops and report.inference is not None:
            schema = self.evolution.resolution.schema
            return replace(report, inference=with_records(report.inference, self.data.reader, schema))
        check_root(self.evolution.resolution.root)
        return report

    def with_room(self, rows: WrittenRows) -> _TableAttempt | None:
        """Return the attempt with room for numbers beyond their columns; None if the schema does not change."""
        if not rows.room:
            return None
        roomier = replace(self, data=replace(self.data, evidence=merge(self.data.evidence, Evidence(room=rows.room))))
        is_changed = roomier.evolution.resolution.schema != self.evolution.resolution.schema
        return roomier if is_changed else None

    def _count_oversized(self, report: NormalizeReport, staging: Path) -> NormalizeReport:
        """Report the numbers beyond columns that a contract keeps small: make the rows, and load none.

        Evidence has the range of numbers, but not the position of each.
        """
        evolution = self.evolution
        # Each refused value is counted by itself, even if its row is refused for another.
        violations = tuple(
            violation if violation.column is None else replace(violation, mode=Mode.DISCARD_VALUE)
            for violation in evolution.judgment.violations
        )
        judgment = replace(evolution.judgment, violations=violations)
        plan = replace(evolution, judgment=judgment).plan(self.data.evidence)
        rows = _write(self.call, [(self.data, plan)], staging)[0]
        if (roomier := self.with_room(rows)) is not None:
            return roomier._count_oversized(replace(report, inference=roomier.evolution.report), staging / "room")
        assert report.inference is not None
        findings = report.inference.violations
        exact = describe_rejected(findings, rows.rejected, evolution.resolution.schema)
        described = tuple(
            counted if _is_by_size(finding, evolution) else finding
            for finding, counted in zip(findings, exact, strict=True)
        )
        return replace(report, inference=replace(report.inference, violations=described))


@dataclass(frozen=True)
class _TableRows:
    """The rows of an attempt."""

    attempt: _TableAttempt
    rows: WrittenRows

    @cached_property
    def report(self) -> NormalizeReport:
        attempt, rows = self.attempt, self.rows
        schema = attempt.evolution.resolution.schema
        return report_rows(attempt.report, schema, attempt.plan, rows.tally, rows.rejected)

    def revise(self) -> _TableAttempt | None:
        """Return the attempt that the rows require: the same if they fit the schema, None if they stop the load.

        Rows may need room for their numbers, or no columns that only rejected rows fill.
        """
        attempt = self.attempt
        if self.report.stops:
            return attempt.with_room(self.rows)
        unfilled = attempt.unfilled | find_unfilled(attempt.evolution, self.rows)
        return attempt if unfilled == attempt.unfilled else replace(attempt, unfilled=unfilled)

    def check_balance(self) -> None:
        """Refuse more or fewer rows of documents than documents: the sources have changed meanwhile."""
        documents = sum(file.documents for file in self.attempt.evolution.report.files if file.table)
        made_rows = self.rows.tally.documents
        if made_rows != documents:
            message = f"a source changed while being read: {documents:,} documents, then {made_rows:,}"
            hint = "run the command again when no one writes to the sources"
            changed_file = find_changed(self.attempt.call.files.values())
            raise InputError(message, at=None if changed_file is None else Location(changed_file), hint=hint)


def _is_by_size(finding: ViolationFinding, evolution: Evolution) -> bool:
    """Return whether a column would have to grow for documents: these declare no sizes, only values have them."""
    if finding.entity != Entity.DATA_TYPE or finding.variant_of is not None or finding.column is None:
        return False
    classes = {name for _, name in evolution.resolution.taken.get((finding.table, finding.column), ())}
    return bool(classes) and DECLARED not in classes


def _write(call: Call, plans: Sequence[tuple[TableData, Plan]], staging: Path) -> list[WrittenRows]:
    """Write the rows of root tables that one reader has read, in one pass."""
    reader = plans[0][0].reader
    assert reader is not None  # a load reads all of its data
    plans_by_table = {data.tables: plan for data, plan in plans}
    rows = reader.write(plans_by_table, staging, call.load, call.target.destination.stored)
    return [rows[data.tables] for data, _ in plans]


def _make_rows(
    call: Call, opened: Opened, data: Sequence[TableData], staging: Path
) -> list[_TableRows] | NormalizeReport:
    """Make the rows of all root tables until they fit the schema; return a report if the data stops the load."""
    attempts = [_TableAttempt(call, opened, table, frozenset(), None) for table in data]
    rows: list[_TableRows] = []
    for number in count():
        attempts = _in_turn(attempts)
        reports = [attempt.check(staging / f"unfit-{index}") for index, attempt in enumerate(attempts)]
        if any(report.stops for report in reports):
            return _stopped(merge_reports(reports))
        overwrites = [find_certain_overwrites(attempt.plan, attempt.data.evidence) for attempt in attempts]
        if any(overwrites):
            pairs = zip(reports, overwrites, strict=True)
            return merge_reports([replace(report, overwrites=findings) for report, findings in pairs])
        _check_types(call.target, [table for attempt in attempts for table in attempt.plan.tables.values()])
        schema = attempts[-1].evolution.stored
        call.check_tables(_before_widening(call, schema))
        check_swaps(schema, call.target)
        rows = _write_changed(call, attempts, rows, staging / str(number))
        revised: list[_TableAttempt] = []
        for index, table_rows in enumerate(rows):
            revision = table_rows.revise()
            if revision is None:
                return _stopped(merge_reports([stopped_rows.report for stopped_rows in rows[: index + 1]]))
            revised.append(revision)
        if all(revision is attempt for revision, attempt in zip(revised, attempts, strict=True)):
            for table_rows in rows:
                table_rows.check_balance()
            return rows
        attempts = revised
    raise AssertionError


def _before_widening(call: Call, schema: Schema) -> Schema:
    """Return a schema with the columns that the load is going to widen as the destination still has them."""
    for table_name, column_name in _widened_columns(call, schema):
        column, table = call.destination_schema.column(table_name, column_name), schema.tables[table_name]
        if column is not None:
            schema = schema.with_table(replace(table, columns={**table.columns, column.name: column}))
    return schema


def _widened_columns(call: Call, schema: Schema) -> frozenset[tuple[str, str]]:
    """Return the columns that got another type by the data of a load whose contract widens them."""
    widening = _widening(call, schema, schema.tables.values())
    columns = frozenset[tuple[str, str]]() if widening is None else widening.columns
    held_columns = {origin: call.destination_schema.column(*origin) for origin in columns}
    return frozenset(
        origin
        for origin, held_column in held_columns.items()
        if held_column is not None
        and held_column.is_complete
        and _is_other_type(held_column, schema.tables[origin[0]].columns[origin[1]])
    )


def _is_other_type(stored_column: Column, column: Column) -> bool:
    """Return whether a column has another type, or wider fields; a load adds fields by itself."""
    if full_type(stored_column.properties) != full_type(column.properties):
        return True
    stored_structure, structure = structure_of(stored_column), structure_of(column)
    return stored_structure is not None and structure is not None and has_wider_fields(stored_structure, structure)


def _in_turn(attempts: Sequence[_TableAttempt]) -> list[_TableAttempt]:
    """Return the attempts such that each root table evolves the schema of the one before it."""
    chained: list[_TableAttempt] = []
    for attempt in attempts:
        after = chained[-1].evolution if chained else None
        chained.append(attempt if attempt.after is after else replace(attempt, after=after))
    return chained


def _write_changed(
    call: Call, attempts: Sequence[_TableAttempt], earlier: Sequence[_TableRows], staging: Path
) -> list[_TableRows]:
    """Write the rows of new or changed plans, for each reader in one pass; reuse the ``earlier`` rows otherwise."""
    rows_by_index = {
        index: table_rows.rows
        for index, table_rows in enumerate(earlier)
        if table_rows.attempt.plan == attempts[index].plan
    }
    changed = [index for index in range(len(attempts)) if index not in rows_by_index]
    for number, reader in enumerate(dict.fromkeys(attempts[index].data.reader for index in changed)):
        together = [index for index in changed if attempts[index].data.reader is reader]
        plans = [(attempts[index].data, attempts[index].plan) for index in together]
        rows_by_index.update(zip(together, _write(call, plans, staging / str(number)), strict=True))
    return [_TableRows(attempt, rows_by_index[index]) for index, attempt in enumerate(attempts)]


def _stopped(report: NormalizeReport) -> NormalizeReport:
    """Return a report in which no row counts as loaded."""
    return replace(report, tables=tuple(replace(table, loaded=0, superseded=0) for table in report.tables))


# --- the load ---


def _load(call: Call, data: Sequence[TableData], staging: Path, progress: Progress) -> NormalizeReport:
    """Make the rows under the stored schema, save the evolved schema, and load all rows or none."""
    name = call.request.inference.name
    for number in range(MOST_ATTEMPTS):
        opened = open_schemas(call.folder, name)
        if opened.schema is not None and opened.schema != call.before:
            call = call.with_saved(opened.schema)
        tables = _make_rows(call, opened, data, staging / str(number))
        if isinstance(tables, NormalizeReport):
            return tables
        evolution = tables[-1].attempt.evolution
        rejects = _join_rejects([table.rows.rejects for table in tables], staging / str(number) / "rejects")
        package = _package(call, tables, rejects)
        if call.request.replay is not None and call.request.replay.is_dry_run:
            return merge_reports([table.report for table in tables])
        # None if another command has saved the schema meanwhile: rows are made again under that schema.
        written = try_save(call.folder, opened, evolution.schema, evolution.hints)
        if written is not None:
            report = merge_reports([table.report for table in tables])
            lineage, files = save_lineage(call.folder, name, [table.attempt.evolution.lineage for table in tables])
            assert report.inference is not None
            all_written = tuple(dict.fromkeys((*written, *files)))
            inference = replace(report.inference, saved=bool(all_written), written=all_written)
            report = replace(report, inference=inference)
            try:
                return _deliver(call, report, lineage, package, rejects, progress)
            except ConcurrentLoadError:
                raise
            except DestinationError as error:
                if isinstance(error, ValuesDoNotSurvive) and written and _widened_columns(call, package.schema):
                    # Stored values changed after they were counted, so columns that this load widens keep their types.
                    put_back(call.folder, opened, package.schema.version_hash)
                elif not _is_schema_changed(call, package.schema):
                    raise
            call.stored_columns.counted.clear()
    raise unsteady(name)


def _is_schema_changed(call: Call, saved_schema: Schema) -> bool:
    """Return whether another command has changed the schema since, and may have migrated the destination."""
    stored_schema = open_schemas(call.folder, saved_schema.name).stored
    return stored_schema is not None and stored_schema.version_hash != saved_schema.version_hash


def _package(call: Call, root_tables: Sequence[_TableRows], rejects: WrittenRejects | None) -> LoadPackage:
    """Return the load for the destination."""
    schema = root_tables[-1].attempt.evolution.stored
    tables = [
        StagedTable(plan.tables[name], table_rows.rows.folders[name], counts.written)
        for table_rows in root_tables
        for plan in (table_rows.attempt.plan,)
        for name, counts in table_rows.rows.tally.tables.items()
        # A root table without rows is included: with `replace` the destination's rows have to go. So is a table whose
        # rows were all superseded, because the schema that is stored with the load has it.
        if name in plan.tables and (counts.written or counts.superseded or name == plan.rows.table)
    ]
    replay = call.request.replay
    if replay is not None:
        tables = [replace(staged, table=_replayed(staged.table)) for staged in tables]
    is_in_table = rejects is not None and call.request.rejects is None and replay is None
    rejects_in_table = (
        StagedTable(rejects_table(schema, "append"), rejects.folder, rejects.rows) if rejects and is_in_table else None
    )
    return LoadPackage(
        load_id=call.load.id,
        schema=schema,
        tables=tuple(sorted(tables, key=lambda staged: len(ancestors(schema, staged.table.name)))),
        inserted_at=call.load.inserted_at,
        rejects=rejects_in_table,
        inputs=() if replay else _ledger_files(call, root_tables, rejects),
        compared_loads=call.compared_loads,
        rejects_edit=replay.edit(call.load.id, rejects) if replay else None,
        widening=_widening(call, schema, [staged.table for staged in tables]),
    )


@dataclass(frozen=True, slots=True)
class _Widening:
    """See ``package.Widening``."""

    stored_columns: StoredColumns
    schema: Schema
    columns: frozenset[tuple[str, str]]

    @property
    def lock_seconds(self) -> float:
        return self.stored_columns.options.patience.lock_seconds

    def widen(self, session: MigrationSession, columns: Collection[tuple[str, str]]) -> None:
        self.stored_columns.widen(session, self.schema, columns)


def _widening(call: Call, schema: Schema, tables: Iterable[Table]) -> _Widening | None:
    """Return the columns that a load may widen by its contract; None without any."""
    contract = call.request.inference.contract
    if not may_promote(schema, contract):
        return None
    columns = frozenset(
        (table.name, column.name)
        for table in tables
        for column in complete(table)
        if promotion_for(schema, table.name, column.name, contract) is not Promotion.VARIANT
    )
    return _Widening(call.stored_columns, schema, columns) if columns else None


def _ledger_files(
    call: Call, root_tables: Sequence[_TableRows], rejects: WrittenRejects | None
) -> tuple[LoadedInput, ...]:
    """Return the files of a load with the number of their documents that it writes, and of their rejects."""
    reports = [table_rows.attempt.evolution.report for table_rows in root_tables]
    documents = Counter({file.path: file.documents for report in reports for file in report.files if file.table})
    roots = {table_rows.attempt.evolution.resolution.root for table_rows in root_tables}
    rejects_by_file: Counter[str] = Counter()
    rejected_documents: Counter[str] = Counter()
    if rejects is not None:
        from schemactl.engine.package import count_rejects

        rejects_by_file, rejected_documents = count_rejects(rejects, roots)
    return tuple(
        replace(file, rows=documents[path] - rejected_documents[path], rejects=rejects_by_file[path])
        for path, file in call.files.items()
    )


def _replayed(table: Table) -> Table:
    """Return a root table into which rows of replayed records are merged, so that no row occurs twice.

    Appended rows have only the key ``_dlt_id``, which derives from the record's origin: a row that was loaded without a
    value, or without nested rows, is replaced. Tables with the disposition ``replace`` are merged, too, because a
    replay must not replace the whole table.
    """
    key = first(table, "row_key")
    is_merged = table.properties.get("write_disposition") == "merge" and not appends(table)
    if table.parent is not None or table.properties.get("write_disposition") == "skip" or is_merged or key is None:
        return table
    columns = {
        name: replace(
            column,
            properties={
                **{hint: value for hint, value in column.properties.items() if hint not in _MERGE_HINTS},
                **({"primary_key": True} if name == key else {}),
            },
        )
        for name, column in table.columns.items()
    }
    properties = {**table.properties, "write_disposition": "merge", "x-merge-strategy": "upsert"}
    return replace(table, columns=columns, properties=properties)


_MERGE_HINTS: Final = ("primary_key", "merge_key", "hard_delete", "dedup_sort")


def _join_rejects(rejects_by_table: Iterable[WrittenRejects | None], folder: Path) -> WrittenRejects | None:
    """Return the rejects of all root tables in one folder; None without any."""
    rejects = [of_table for of_table in rejects_by_table if of_table]
    if len(rejects) < 2:
        return rejects[0] if rejects else None
    folder.mkdir(parents=True)
    files = (file for of_table in rejects for file in sorted(of_table.folder.glob("*.parquet")))
    for number, file in enumerate(files):
        file.rename(folder / f"part-{number:05}.parquet")
    return replace(rejects[0], folder=folder, rows=sum(of_table.rows for of_table in rejects))


def _deliver(
    call: Call,
    report: NormalizeReport,
    lineage: Lineage,
    package: LoadPackage,
    rejects: WrittenRejects | None,
    progress: Progress,
) -> NormalizeReport:
    """Pass the package to the destination and the rejects to their folder."""
    folder = call.request.rejects
    files = sorted(rejects.folder.glob("*.parquet")) if rejects else []
    with stored_rejects(folder, files, call.load.id) if folder and rejects else nullcontext():
        progress(f"loading into {call.target.shown}", None)
        _load_widened(call, package, progress)
    sources = {
        name: {column: tuple(kinds) for column, kinds in table.columns.items()}
        for name, table in lineage.tables.items()
    }
    rejects_location = f"table `{package.rejects.table.name}`" if package.rejects else str(folder)
    summary = LoadSummary(
        call.load.id,
        len(package.inputs),
        sum(file.bytes for file in package.inputs),
        report.documents,
        report.rows_loaded,
        report.rows_rejected,
    )
    return replace(
        _with_sync_hint(call, report),
        outcome=Outcome.LOADED,
        loads=(summary,),
        lineage=sources if call.request.lineage else None,
        rejects=rejects_location if rejects else None,
    )


def _with_sync_hint(call: Call, report: NormalizeReport) -> NormalizeReport:
    """Return a report with the commands for dlt pipelines that load into columns that the load made wider."""
    # Columns that keep structure are JSON to dlt, which writes no variants of their fields.
    widened = [(table, column) for table, column in call.stored_columns.widened if structure_of(column) is None]
    if report.inference is None or not widened or not call.stored_columns.has_pipelines():
        return report
    hint = suggest_sync(call.request.inference.name, widened)
    return replace(report, inference=replace(report.inference, hints=(*report.inference.hints, hint)))


def _load_widened(call: Call, package: LoadPackage, progress: Progress) -> None:
    """Load a package; before it, widen columns if the destination cannot change tables in a transaction.

    Only columns that this data widens are checked before the load. If the load does not fit, columns that an earlier
    command has widened only in the schema are checked, too.
    """
    load, stored_columns = call.target.destination.load, call.stored_columns
    widening = package.widening
    if widening is None or not stored_columns.widens_ahead:
        load(call.target.url, package, progress)
        return
    if widened := _widened_columns(call, package.schema):
        stored_columns.widen_ahead(package.schema, widened)
    try:
        load(call.target.url, package, progress)
    except ConcurrentLoadError:
        raise
    except DestinationError:
        if not stored_columns.widen_ahead(package.schema, widening.columns):
            raise
        load(call.target.url, package, progress)

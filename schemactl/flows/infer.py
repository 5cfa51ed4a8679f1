"""``schemactl infer``: sources -> evidence -> schema -> contract -> folder."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from schemactl.engine.scan_reader import ScanReader
from schemactl.errors import InputError, backquoted
from schemactl.flows.evidence import check_bad_records, check_context_keys, check_documents, read_saved, with_records
from schemactl.flows.evolution import Evolution, schema_before
from schemactl.flows.lineage import save_lineage
from schemactl.flows.normalizers import check_normalizers
from schemactl.flows.request import InferRequest
from schemactl.flows.root_tables import (
    TableData,
    TableInput,
    inputs_by_table,
    split_by_table,
    warn_of_unlike,
    with_empty,
)
from schemactl.flows.schemas import Opened, open_schemas, save
from schemactl.inference.advice import suggest_folds
from schemactl.inference.evidence import FileEvidence, Position, merge, observe
from schemactl.inference.identifiers import SystemNames
from schemactl.inference.masking import hide_values
from schemactl.inference.report import DataReading, InferenceReport, SourceWarning, merge_reports
from schemactl.inference.sample import Sample, parse_sample
from schemactl.inference.saved_evidence import ENDING, is_evidence_file, write_evidence
from schemactl.inference.source_names import root_table
from schemactl.progress import Progress, no_progress
from schemactl.schema.contract import Contract
from schemactl.schema.naming import naming_of
from schemactl.schema.record_selection import stored_selection
from schemactl.schema.settings import Settings
from schemactl.schema.templates import check_name
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder
from schemactl.store.sources import LeftOutWarning
from schemactl.store.text import PRIVATE_MODE, replace_file

if TYPE_CHECKING:
    from schemactl.engine.choice import OpenEngine

MOST_ATTEMPTS = 10
"""The number of attempts of a command if other commands save the schema meanwhile."""


def infer(
    request: InferRequest, progress: Progress | None = None, open_engine: OpenEngine | None = None
) -> InferenceReport:
    """Infer the schema of the sources and save it."""
    sample = parse_sample(request.sample)
    folder = SchemasFolder.at(request.schemas)
    if (file := request.evidence_file) is not None:
        if not is_evidence_file(str(file)):
            hint = f"`{file.with_suffix('')}{ENDING}` can be named as a source later"
            raise InputError(f"the name of saved evidence ends in `{ENDING}`, not like `{file.name}`", hint=hint)
        if file.is_dir():
            raise InputError(f"`{file}` is a folder, not a file")
    with noted_warnings() as warnings_by_text:
        stored_schema = check_request(request, folder)
        if request.to is not None:
            from schemactl.flows.migrate.ledger_schemas import with_lost
            from schemactl.flows.target import find_destination

            target = find_destination(request.to)
            destination_schema = with_lost(stored_schema, target)
            request = replace(
                request,
                max_identifier_length=target.max_identifier_length,
                destination_schema=destination_schema,
                settle_decimal=target.settle_decimal,
            )
        table_inputs = inputs_by_table(request, stored_schema)
        warn_of_unlike(table_inputs)
        if request.evidence_file and len(table_inputs) > 1:
            raise InputError("evidence can be saved for one table only", hint="run `--evidence` once for each table")
        with collected(table_inputs, stored_schema, sample, progress or no_progress, open_engine) as data:
            report = data.complete(evolve_all(data.tables, folder))
    return replace(report, warnings=tuple(warnings_by_text.values()))


def infer_documents(request: InferRequest, documents: Iterable[tuple[Position, Any]]) -> InferenceReport:
    """Infer the schema of documents in memory, of all of them, and save it."""
    parse_sample(request.sample)
    folder = SchemasFolder.at(request.schemas)
    with noted_warnings() as noted:
        check_request(request, folder)
        evidence = observe(documents)
        check_documents(request.sources, evidence.files)
        report = evolve_all((TableData(request, evidence),), folder)
    return replace(report, warnings=tuple(noted.values()))


def check_request(request: InferRequest, folder: SchemasFolder) -> Schema:
    """Report errors of the call or a schema file before data is read.

    Returns:
        The existing schema, or a new one.
    """
    check_name(request.name)
    if request.contract:
        Contract.of(request.contract)
    opened = open_schemas(folder, request.name)
    check_normalizers(opened)
    _warn_of_own_columns(opened)
    before = schema_before(opened, request.naming, request.normalizer)
    if request.table is not None:
        root_table(before, request.table)
    return before


def _warn_of_own_columns(opened: Opened) -> None:
    if opened.schema is None:
        return
    settings = Settings.of(opened.schema.settings)
    own_columns = sorted(name for name in SystemNames(naming_of(opened.schema)).all() if settings.preferred_type(name))
    if own_columns:
        names = backquoted(own_columns)
        message = f"`preferred_types` of schema `{opened.name}` match dlt's own columns {names}, whose types are fixed"
        warnings.warn(LeftOutWarning(message), stacklevel=2)


def evolve_all(data: Sequence[TableData], folder: SchemasFolder) -> InferenceReport:
    """Evolve the stored schema by the evidence of each root table's data, and save it once."""
    request = data[0].request
    for _ in range(MOST_ATTEMPTS):
        opened = open_schemas(folder, request.name)
        evolutions: list[Evolution] = []
        for table_data in data:
            evolutions.append(table_data.evolve_by_accepted(opened, evolutions[-1] if evolutions else None))
        report = merge_reports(
            [
                with_records(evolution.report, table_data.reader, evolution.resolution.schema)
                for table_data, evolution in zip(data, evolutions, strict=True)
            ]
        )
        if request.is_check or report.is_refused:
            return report
        last_evolution = evolutions[-1]
        # If another command was quicker, build on its schema rather than read the data again.
        if (written := try_save(folder, opened, last_evolution.schema, last_evolution.hints)) is not None:
            table_evolutions = zip(data, evolutions, strict=True)
            evidence = (
                hide_values(table_data.evidence, evolution.resolution) for table_data, evolution in table_evolutions
            )
            merged_evidence = merge(*evidence)
            _, lineage = save_lineage(folder, request.name, [evolution.lineage for evolution in evolutions])
            evidence_files = () if request.evidence_file is None else (str(request.evidence_file),)
            if request.evidence_file is not None:
                replace_file(request.evidence_file, write_evidence(merged_evidence), PRIVATE_MODE)
            return replace(report, saved=bool(written), written=(*written, *lineage, *evidence_files))
    raise unsteady(request.name)


def try_save(folder: SchemasFolder, opened: Opened, schema: Schema, hints: Schema | None) -> tuple[str, ...] | None:
    """Save as ``save`` does, and return the written files; None if another command has saved meanwhile."""
    try:
        return save(folder, opened, schema, hints)
    except InputError:
        now = open_schemas(folder, opened.name)
        if (now.import_file, now.export_file) == (opened.import_file, opened.export_file):
            raise
        return None


def unsteady(name: str) -> InputError:
    """Return the error for a schema that other processes keep changing."""
    return InputError(f"the schema `{name}` changes all the time", hint="run the command again")


@dataclass(frozen=True, slots=True)
class CollectedData:
    """The evidence of each root table, and how it was read.

    Attributes:
        reading: None for saved evidence.
        hint: the engine that would have read the data sooner, if any.
    """

    tables: list[TableData]
    reading: DataReading | None = None
    hint: str = ""

    def complete(self, report: InferenceReport) -> InferenceReport:
        """Return a report with how the data was read, and with the hints about the whole schema."""
        folds = suggest_folds(report.schema) if report.schema is not None else ()
        hints = (*report.hints, *folds, *((self.hint,) if self.hint else ()))
        return replace(report, reading=self.reading, hints=hints)


@contextmanager
def collected(
    table_inputs: Sequence[TableInput],
    before: Schema,
    sample: Sample,
    progress: Progress,
    open_engine: OpenEngine | None,
    *,
    is_load: bool = False,
) -> Iterator[CollectedData]:
    """Yield the evidence of each root table, saved evidence included; an engine is opened once, if there is data.

    A load counts the values of columnar rows only if the schema is known, and warns of nanoseconds later.
    """
    saved_evidences = [
        read_saved(table_input.saved, {file.path for file in table_input.inputs}) for table_input in table_inputs
    ]
    if not any(table_input.inputs for table_input in table_inputs):
        for table_input, saved_evidence in zip(table_inputs, saved_evidences, strict=True):
            check_documents(table_input.request.sources, saved_evidence.files)
        requests = (table_input.request for table_input in table_inputs)
        yield CollectedData(list(map(TableData, requests, saved_evidences)))
        return
    from schemactl.engine.choice import EngineOptions, describe_reading, hint_at_engine
    from schemactl.engine.choice import open_engine as open_chosen_engine

    request = table_inputs[0].request
    inputs = [file for table_input in table_inputs for file in table_input.inputs]
    engine_options = request.engine or EngineOptions()
    begin = time.monotonic()
    with (open_engine or open_chosen_engine)(engine_options, inputs, progress) as engine:
        start_seconds = time.monotonic() - begin
        # It needs packages that the engine, if it is not installed, reports.
        from schemactl.engine.scan import scan_inputs

        is_known = open_schemas(SchemasFolder.at(request.schemas), request.name).schema is not None if is_load else True
        table_data: list[TableData] = []
        empty_files: dict[str, FileEvidence] = {}
        for table_input, saved_evidence in zip(table_inputs, saved_evidences, strict=True):
            with engine.explaining(table_input.inputs):
                options = table_input.request.reading
                scan = scan_inputs(
                    engine, table_input.inputs, sample, progress, counts_values=is_known, options=options
                )
            if not is_load:
                scan.warn_of_nanoseconds()
            check_bad_records(scan, table_input.request.on_bad_record)
            if request.selection is not None and request.selection != stored_selection(before.settings):
                check_context_keys(scan, request.selection)
            if table_input.is_skipped(scan):
                empty_files.update(scan.files)
                continue
            check_documents(table_input.request.sources, {**saved_evidence.files, **scan.files})
            reader = ScanReader(engine, scan, progress) if sample.is_full and not table_input.saved else None
            for split_data in split_by_table(table_input.request, scan, before, reader):
                table_data.append(replace(split_data, evidence=merge(saved_evidence, split_data.evidence)))
        reading = describe_reading(engine, engine_options, inputs, start_seconds, time.monotonic() - begin)
        hint = "" if engine.session_origin else hint_at_engine(reading, engine_options, inputs)
        yield CollectedData(with_empty(table_data, empty_files), reading, hint)


@contextmanager
def noted_warnings() -> Iterator[dict[str, SourceWarning]]:
    """Yield a dict that collects the warnings of the block by their text, in order."""
    noted: dict[str, SourceWarning] = {}
    show = warnings.showwarning

    def note(message: Warning | str, category: type[Warning], *position: Any, **more: Any) -> None:
        if isinstance(message, LeftOutWarning):
            noted.setdefault(str(message), SourceWarning(str(message), message.files))
        show(message, category, *position, **more)

    with warnings.catch_warnings():
        warnings.simplefilter("always", LeftOutWarning)
        warnings.showwarning = note
        yield noted

"""``schemactl infer``: sources -> evidence -> schema -> contract -> folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from schemactl.errors import InputError, Location, Problem
from schemactl.flows.resolution import resolve_data, root_table
from schemactl.flows.schemas import Opened, open_schemas, save, to_save
from schemactl.inference.evidence import Evidence, FileEvidence, merge
from schemactl.inference.findings import (
    find_collisions,
    find_files,
    find_nulls,
    find_tables,
    find_violations,
)
from schemactl.inference.report import InferenceReport
from schemactl.inference.resolve import Resolution
from schemactl.inference.sample import Sample, parse_sample
from schemactl.inference.saved import ENDING, is_evidence_file, read_evidence, write_evidence
from schemactl.normalization.choose import module_of
from schemactl.schema.contract import Contract, Judgement, judge
from schemactl.schema.hash import bump
from schemactl.schema.templates import RELATIONAL_NORMALIZER, new_schema
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder, check_name
from schemactl.store.replace import replace_text
from schemactl.store.sources import table_name
from schemactl.store.text import read_text

if TYPE_CHECKING:
    from schemactl.engine.input import Input
    from schemactl.engine.settings import SparkOptions
    from schemactl.engine.survey import BadRecord, Survey

Progress = Callable[[str, float | None], None]

MOST_ATTEMPTS = 10
"""How often a command begins anew because another one has saved the schema meanwhile."""


@dataclass(frozen=True, slots=True)
class InferRequest:
    """What ``schemactl infer`` was asked for.

    Attributes:
        sources: data, or saved evidence (``*.evidence.json``).
        name: the schema's name.
        table: the root table; None to name it after the source.
        schemas: the folder of ``import/`` and ``export/``.
        sample: ``full``, ``10%`` or a number of records.
        contract: goes before the schema's own.
        evidence_file: where to save what was seen.
        resolve_collisions: whether keys that become one column get a column each.
        normalizer: of a new schema; None for dlt's relational one.
    """

    sources: tuple[str, ...]
    name: str
    table: str | None
    schemas: Path
    sample: str = "full"
    contract: str | None = None
    is_check: bool = False
    evidence_file: Path | None = None
    on_bad_record: Literal["stop", "skip"] = "stop"
    input_format: str | None = None
    resolve_collisions: bool = False
    spark: SparkOptions | None = field(default=None)
    normalizer: str | None = None


def infer(request: InferRequest, progress: Progress | None = None) -> InferenceReport:
    """Infer the schema of the sources and save it.

    Raises:
        InputError: a source or the schema cannot be read, or holds no records.
        EngineError: Spark failed.
    """
    sample = parse_sample(request.sample)
    folder = SchemasFolder.at(request.schemas)
    _check_evidence_file(request.evidence_file)
    check_request(request, folder)
    evidence = collect(request, sample, progress or (lambda *_: None))
    return evolve(request, folder, evidence)


def check_request(request: InferRequest, folder: SchemasFolder) -> Schema:
    """Tell what is wrong with the call or a schema file at once, before Spark is started.

    Returns:
        The schema as it is, a new one where there is none.

    Raises:
        InputError: something is wrong.
    """
    check_name(request.name)
    if request.contract:
        Contract.of(request.contract)
    before = schema_before(open_schemas(folder, request.name), request.normalizer)
    if request.table is not None:
        root_table(before, request.table)
    return before


def evolve(request: InferRequest, folder: SchemasFolder, evidence: Evidence) -> InferenceReport:
    """Evolve the stored schema by the evidence and save it, where the contract and the request allow it.

    Raises:
        InputError: the schema cannot be read or written.
    """
    for _ in range(MOST_ATTEMPTS):
        opened = open_schemas(folder, request.name)
        evolution = evolve_schema(request, folder, opened, evidence)
        report = evolution.report
        if request.is_check or report.is_refused:
            return report
        # Where another command was quicker: build on what it has saved rather than read the data again.
        if (written := try_save(folder, opened, evolution.schema)) is not None:
            return replace(report, saved=bool(written), written=(*written, *_save_evidence(request, evidence)))
    raise unsteady(request.name)


def try_save(folder: SchemasFolder, opened: Opened, schema: Schema) -> tuple[str, ...] | None:
    """Save as ``save`` does, and return the files written; None where another command has saved meanwhile.

    Raises:
        InputError: the folder is in use or cannot be written.
    """
    try:
        return save(folder, opened, schema)
    except InputError:
        now = open_schemas(folder, opened.name)
        if (now.import_file, now.export_file) == (opened.import_file, opened.export_file):
            raise
        return None


def unsteady(name: str) -> InputError:
    """Return the error for a schema that others change again and again."""
    return InputError(f"the schema `{name}` changes all the time", hint="run the command again")


def _check_evidence_file(path: Path | None) -> None:
    if path is None:
        return
    if not is_evidence_file(str(path)):
        hint = f"`{path.with_suffix('')}{ENDING}` can be named as a source later"
        raise InputError(f"the name of saved evidence ends in `{ENDING}`, not like `{path.name}`", hint=hint)
    if path.is_dir():
        raise InputError(f"`{path}` is a folder, not a file")


def _save_evidence(request: InferRequest, evidence: Evidence) -> tuple[str, ...]:
    if request.evidence_file is None:
        return ()
    replace_text(request.evidence_file, write_evidence(evidence))
    return (str(request.evidence_file),)


def collect(request: InferRequest, sample: Sample, progress: Progress) -> Evidence:
    """Return the evidence of all sources, saved evidence among them.

    Raises:
        InputError: a source cannot be read, a file is met twice, or there are no records at all.
    """
    saved, inputs = find_sources(request)
    evidence = read_saved(saved, {each.path for each in inputs})
    if inputs:
        evidence = merge(evidence, _scan(request, inputs, sample, progress))
    check_documents(request.sources, evidence.files)
    return evidence


def check_documents(sources: Iterable[str], files: Mapping[str, FileEvidence]) -> None:
    """Refuse sources in which nothing was found.

    Raises:
        InputError: there is no document.
    """
    if not any(file.documents for file in files.values()):
        names = ", ".join(f"`{source}`" for source in sources)
        bad = sum(file.bad for file in files.values())
        raise InputError(
            f"none of the {bad:,} records in {names} can be read" if bad else f"there are no records in {names}"
        )


def find_sources(request: InferRequest) -> tuple[list[str], tuple[Input, ...]]:
    """Return the files of saved evidence, and the data."""
    saved = [source for source in request.sources if is_evidence_file(source) and not has_magic(source)]
    others = tuple(source for source in request.sources if source not in saved)
    if not others:
        return list(dict.fromkeys(saved)), ()
    from schemactl.engine.inputs import find_inputs

    inputs = find_inputs(others, request.input_format)
    saved += [each.path for each in inputs if is_evidence_file(each.path)]
    return list(dict.fromkeys(saved)), tuple(each for each in inputs if not is_evidence_file(each.path))


def read_saved(paths: Iterable[str], to_read: set[str]) -> Evidence:
    """Return the saved evidence, none of it of files that are to be read as well."""
    evidence = Evidence()
    for path in paths:
        known = read_evidence(read_text(Path(path)), path)
        if twice := sorted(known.files.keys() & (evidence.files.keys() | to_read)):
            message = f"`{twice[0]}` is in this evidence, and is read or in other evidence as well"
            raise InputError(message, at=Location(path), hint="each file counts once: leave one of them out")
        evidence = merge(evidence, known)
    return evidence


def _scan(request: InferRequest, inputs: tuple[Input, ...], sample: Sample, progress: Progress) -> Evidence:
    from schemactl.engine.scan import scan_inputs
    from schemactl.engine.session import SparkOptions, open_session

    progress("starting Spark", None)
    with open_session(request.spark or SparkOptions()) as spark:
        scan = scan_inputs(spark, inputs, sample, progress)
    check_bad_records(request, scan.survey)
    return scan.evidence


def check_bad_records(request: InferRequest, survey: Survey) -> None:
    """Refuse records that cannot be read, unless they are to be skipped.

    Raises:
        InputError: there are such records.
    """
    if survey.bad_records and request.on_bad_record == "stop":
        raise bad_records_error(survey.bad_records, survey.files)


def bad_records_error(bad: tuple[BadRecord, ...], files: Mapping[str, FileEvidence]) -> InputError:
    """Return the error for records that cannot be read, with their places."""
    count = sum(file.bad for file in files.values())
    problems = [
        Problem(f"this cannot be read: {record.text}", Location(record.position.file, record.position.number))
        for record in bad
    ]
    if count > len(bad):
        problems.append(Problem(f"and {count - len(bad):,} more"))
    what = "1 record cannot be read" if count == 1 else f"{count:,} records cannot be read"
    hint = "mend the data, or leave them out with `--on-bad-record skip`"
    return InputError(what, hint=hint, problems=tuple(problems))


@dataclass(frozen=True, slots=True)
class Evolution:
    """What becomes of a schema by evidence.

    Attributes:
        report: what is found; nothing is saved so far.
        schema: for ``save``.
        stored: the schema as ``save`` would store it, with its version and hash.
        resolution: all that the data asks for.
        judgement: what the contract says of it.
    """

    report: InferenceReport
    schema: Schema
    stored: Schema
    resolution: Resolution
    judgement: Judgement


def evolve_schema(
    request: InferRequest,
    folder: SchemasFolder,
    opened: Opened,
    evidence: Evidence,
    max_identifier_length: int | None = None,
    is_loaded: bool = False,
) -> Evolution:
    """Return what the evidence makes of a schema; nothing is written.

    Args:
        request: what was asked for.
        folder: what ``opened`` was read from.
        opened: the schema.
        evidence: what the data holds.
        max_identifier_length: of the destination; None for no limit.
        is_loaded: whether the data is loaded there.

    Raises:
        InputError: the schema does not allow such data.
    """
    before = schema_before(opened, request.normalizer)
    table = table_of(request, evidence)
    separates = request.resolve_collisions
    resolution = resolve_data(evidence, before, table, separates, max_identifier_length, is_loaded)
    judgement = judge(before, resolution.schema, request.contract)
    evolved = before if judgement.is_refused else judgement.schema
    after = to_save(folder, opened, evolved)
    stored = bump(opened.export_document.schema) if opened.export_document else opened.schema
    report = InferenceReport(
        name=request.name,
        table=root_table(before, table, max_identifier_length),
        sample=request.sample,
        files=find_files(evidence),
        tables=find_tables(before, judgement.schema, resolution, evidence),
        collisions=find_collisions(resolution),
        nulls=find_nulls(resolution, evidence),
        violations=find_violations(judgement.violations, resolution, evidence),
        before_hash=stored.version_hash if stored else None,
        before_version=stored.version if stored else None,
        after_hash=after.version_hash,
        after_version=after.version,
        is_check=request.is_check,
        saved=False,
        import_adopted=opened.import_adopted,
    )
    return Evolution(report, evolved, after, resolution, judgement)


def schema_before(opened: Opened, normalizer: str | None = None) -> Schema:
    """Return the schema as it was, a new one where there was none.

    Args:
        opened: what is stored.
        normalizer: of a new schema.

    Raises:
        InputError: there is no such normaliser, or the schema has another one.
    """
    if normalizer is None:
        return opened.schema or new_schema(opened.name)
    module = module_of(normalizer)
    if opened.schema is None:
        return new_schema(opened.name, normalizer=module)
    stated = str((opened.schema.normalizers.get("json") or {}).get("module") or RELATIONAL_NORMALIZER)
    if module_of(stated) != module:
        hint = "a schema keeps the normalizer that it began with: leave `--normalizer` out, or use another name"
        raise InputError(f"the schema `{opened.name}` has the normalizer `{stated}`", hint=hint)
    return opened.schema


def table_of(request: InferRequest, evidence: Evidence) -> str:
    """Return what the user names the root table, or what the data is named: saved evidence stands for its files."""
    if request.table is not None:
        return request.table
    has_saved = any(is_evidence_file(source) for source in request.sources)
    return table_name(sorted(evidence.files) if has_saved else request.sources, default=request.name)

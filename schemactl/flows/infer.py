"""``schemactl infer``: sources -> evidence -> schema -> contract -> folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from schemactl.errors import InputError, Location, Problem
from schemactl.flows.schemas import Opened, open_schemas, save, to_save
from schemactl.inference import paths
from schemactl.inference.evidence import Evidence, merge
from schemactl.inference.findings import (
    find_collisions,
    find_files,
    find_nulls,
    find_tables,
    find_violations,
    separate,
)
from schemactl.inference.report import InferenceReport
from schemactl.inference.resolve import Resolution, resolve
from schemactl.inference.sample import Sample, parse_sample
from schemactl.inference.saved import is_evidence_file, read_evidence, write_evidence
from schemactl.schema.contract import judge
from schemactl.schema.naming import load_naming
from schemactl.schema.settings import NormalizerConfig
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder, check_name
from schemactl.store.lock import locked
from schemactl.store.replace import replace_text
from schemactl.store.sources import table_name
from schemactl.store.text import read_text

if TYPE_CHECKING:
    from schemactl.engine.scan import BadRecord
    from schemactl.engine.settings import SparkOptions

Progress = Callable[[str, float | None], None]

SOURCE_NAMES = "x-source-names"
"""Property of a root table: names that colliding source keys were given, by JSONPath."""

_MOST_ROUNDS = 20


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


def infer(request: InferRequest, progress: Progress | None = None) -> InferenceReport:
    """Infer the schema of the sources and save it.

    Raises:
        InputError: a source or the schema cannot be read, or holds no records.
        EngineError: Spark failed.
    """
    check_name(request.name)
    sample = parse_sample(request.sample)
    folder = SchemasFolder.at(request.schemas)
    # Read before Spark is started: what is wrong with a schema file is told at once.
    opened = open_schemas(folder, request.name)
    evidence = collect(request, sample, progress or (lambda *_: None))
    if request.evidence_file is not None and not request.is_check:
        replace_text(request.evidence_file, write_evidence(evidence))
    if request.is_check:
        return _evolve(request, folder, opened, evidence)
    with locked(folder.root):
        return _evolve(request, folder, open_schemas(folder, request.name), evidence)


def collect(request: InferRequest, sample: Sample, progress: Progress) -> Evidence:
    """Return the evidence of all sources, saved evidence among them.

    Raises:
        InputError: a source cannot be read, a file is met twice, or there are no records at all.
    """
    saved = [source for source in request.sources if is_evidence_file(source)]
    data = tuple(source for source in request.sources if not is_evidence_file(source))
    evidence = _scan(request, data, sample, progress) if data else Evidence()
    for path in saved:
        known = read_evidence(read_text(Path(path)), path)
        if twice := sorted(known.files.keys() & evidence.files.keys()):
            hint = "each file counts once: leave one of them out"
            raise InputError(f"`{twice[0]}` is read here and in other evidence too", at=Location(path), hint=hint)
        evidence = merge(evidence, known)
    if not evidence.documents:
        raise InputError(f"there are no records in {', '.join(f'`{source}`' for source in request.sources)}")
    return evidence


def _scan(request: InferRequest, sources: tuple[str, ...], sample: Sample, progress: Progress) -> Evidence:
    from schemactl.engine.inputs import find_inputs
    from schemactl.engine.scan import scan_inputs
    from schemactl.engine.session import SparkOptions, open_session

    inputs = find_inputs(sources, request.input_format)
    progress("starting Spark", None)
    with open_session(request.spark or SparkOptions()) as spark:
        scan = scan_inputs(spark, inputs, sample, progress)
    if scan.bad_records and request.on_bad_record == "stop":
        raise _bad_records_error(scan.bad_records, scan.evidence)
    return scan.evidence


def _bad_records_error(bad: tuple[BadRecord, ...], evidence: Evidence) -> InputError:
    count = sum(file.bad for file in evidence.files.values())
    problems = [
        Problem(f"this is no JSON: {record.text}", Location(record.position.file, record.position.number))
        for record in bad
    ]
    if count > len(bad):
        problems.append(Problem(f"and {count - len(bad):,} more"))
    what = "1 record cannot be read" if count == 1 else f"{count:,} records cannot be read"
    hint = "mend the data, or leave them out with `--on-bad-record skip`"
    return InputError(what, hint=hint, problems=tuple(problems))


def _evolve(request: InferRequest, folder: SchemasFolder, opened: Opened, evidence: Evidence) -> InferenceReport:
    before = opened.schema or new_schema(request.name)
    table = request.table or _default_table(request)
    resolution = _resolve(evidence, before, table, request.resolve_collisions)
    judgement = judge(before, resolution.schema, request.contract)
    after = to_save(folder, opened, before if judgement.is_refused else judgement.schema)
    is_saved = not request.is_check and not judgement.is_refused
    written = save(folder, opened, after) if is_saved else ()
    root = load_naming(NormalizerConfig.of(before.normalizers).naming).normalize_table_identifier(table)
    return InferenceReport(
        name=request.name,
        table=root,
        sample=request.sample,
        files=find_files(evidence),
        tables=find_tables(before, judgement.schema, resolution, evidence),
        collisions=find_collisions(resolution),
        nulls=find_nulls(resolution),
        violations=find_violations(judgement.violations, resolution, evidence),
        before_hash=opened.schema.version_hash if opened.schema else None,
        before_version=opened.schema.version if opened.schema else None,
        after_hash=after.version_hash,
        after_version=after.version,
        is_check=request.is_check,
        saved=is_saved,
        written=written,
        import_adopted=opened.import_adopted,
    )


def _default_table(request: InferRequest) -> str:
    data = [source for source in request.sources if not is_evidence_file(source)]
    return table_name(data, default=request.name)


def _resolve(evidence: Evidence, before: Schema, table: str, separates: bool) -> Resolution:
    """Resolve under the names that colliding keys have got before; give further ones where that is asked for."""
    naming = load_naming(NormalizerConfig.of(before.normalizers).naming)
    root = naming.normalize_table_identifier(table)
    known = before.tables[root].properties.get(SOURCE_NAMES) if root in before.tables else None
    names = {path: known[text] for path, text in _formatted(evidence) if text in known} if known else {}
    resolution = resolve(evidence, before, table, renamed=names)
    for _ in range(_MOST_ROUNDS if separates else 0):
        further = separate(resolution, names, naming)
        if further == names:
            break
        names = further
        resolution = resolve(evidence, before, table, renamed=names)
    return _with_names(resolution, root, {**(known or {}), **_stored(names)})


def _formatted(evidence: Evidence) -> list[tuple[paths.Path, str]]:
    return [(path, paths.format_path(path)) for path in evidence.paths]


def _stored(names: Mapping[paths.Path, str]) -> dict[str, str]:
    return {paths.format_path(path): name for path, name in names.items()}


def _with_names(resolution: Resolution, root: str, names: Mapping[str, str]) -> Resolution:
    if not names:
        return resolution
    table = resolution.schema.tables[root]
    named = replace(table, properties={**table.properties, SOURCE_NAMES: dict(names)})
    return replace(resolution, schema=resolution.schema.with_table(named))

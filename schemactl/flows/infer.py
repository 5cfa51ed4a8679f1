"""``schemactl infer``: sources -> evidence -> schema -> contract -> folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from glob import has_magic
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
from schemactl.inference.saved import ENDING, is_evidence_file, read_evidence, write_evidence
from schemactl.schema.contract import Contract, judge
from schemactl.schema.hash import bump
from schemactl.schema.naming import Naming, load_naming
from schemactl.schema.settings import NormalizerConfig
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder, check_name
from schemactl.store.replace import replace_text
from schemactl.store.sources import table_name
from schemactl.store.text import read_text

if TYPE_CHECKING:
    from schemactl.engine.input import Input
    from schemactl.engine.scan import BadRecord
    from schemactl.engine.settings import SparkOptions

Progress = Callable[[str, float | None], None]

SOURCE_NAMES = "x-source-names"
"""Property of a root table: names that colliding source keys were given, by JSONPath."""

_MOST_ROUNDS = 20
_MOST_ATTEMPTS = 10


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
    # Before Spark is started: what is wrong with the call or a schema file is told at once.
    _check_contract(request.contract)
    _check_evidence_file(request.evidence_file)
    before = _before(open_schemas(folder, request.name), request.name)
    if request.table is not None:
        root_table(before, request.table)
    evidence = collect(request, sample, progress or (lambda *_: None))
    return evolve(request, folder, evidence)


def evolve(request: InferRequest, folder: SchemasFolder, evidence: Evidence) -> InferenceReport:
    """Evolve the stored schema by the evidence and save it, where the contract and the request allow it.

    Raises:
        InputError: the schema cannot be read or written.
    """
    for _ in range(_MOST_ATTEMPTS):
        opened = open_schemas(folder, request.name)
        report, evolved = _evolve(request, folder, opened, evidence)
        if request.is_check or report.is_refused:
            return report
        try:
            written = save(folder, opened, evolved)
        except InputError:
            now = open_schemas(folder, request.name)
            if (now.import_file, now.export_file) == (opened.import_file, opened.export_file):
                raise
            # Another command was quicker: build on what it has saved rather than read the data again.
            continue
        return replace(report, saved=bool(written), written=(*written, *_save_evidence(request, evidence)))
    raise InputError(f"the schema `{request.name}` changes all the time", hint="run the command again")


def _check_contract(stated: str | None) -> None:
    if stated:
        Contract.of(stated)


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
    if not evidence.documents:
        names = ", ".join(f"`{source}`" for source in request.sources)
        bad = sum(file.bad for file in evidence.files.values())
        raise InputError(
            f"none of the {bad:,} records in {names} can be read" if bad else f"there are no records in {names}"
        )
    return evidence


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
    if scan.bad_records and request.on_bad_record == "stop":
        raise bad_records_error(scan.bad_records, scan.evidence)
    return scan.evidence


def bad_records_error(bad: tuple[BadRecord, ...], evidence: Evidence) -> InputError:
    """Return the error for records that cannot be read, with their places."""
    count = sum(file.bad for file in evidence.files.values())
    problems = [
        Problem(f"this cannot be read: {record.text}", Location(record.position.file, record.position.number))
        for record in bad
    ]
    if count > len(bad):
        problems.append(Problem(f"and {count - len(bad):,} more"))
    what = "1 record cannot be read" if count == 1 else f"{count:,} records cannot be read"
    hint = "mend the data, or leave them out with `--on-bad-record skip`"
    return InputError(what, hint=hint, problems=tuple(problems))


def _evolve(
    request: InferRequest, folder: SchemasFolder, opened: Opened, evidence: Evidence
) -> tuple[InferenceReport, Schema]:
    """Return what is found, and the schema for ``save``."""
    before = _before(opened, request.name)
    table = table_of(request, evidence)
    resolution = resolve_data(evidence, before, table, request.resolve_collisions)
    judgement = judge(before, resolution.schema, request.contract)
    evolved = before if judgement.is_refused else judgement.schema
    after = to_save(folder, opened, evolved)
    stored = bump(opened.export_document.schema) if opened.export_document else opened.schema
    report = InferenceReport(
        name=request.name,
        table=root_table(before, table),
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
    return report, evolved


def _before(opened: Opened, name: str) -> Schema:
    return opened.schema or new_schema(name)


def table_of(request: InferRequest, evidence: Evidence) -> str:
    """Return what the user names the root table, or what the data is named: saved evidence stands for its files."""
    if request.table is not None:
        return request.table
    has_saved = any(is_evidence_file(source) for source in request.sources)
    return table_name(sorted(evidence.files) if has_saved else request.sources, default=request.name)


def root_table(schema: Schema, table: str) -> str:
    """Return the root table of data that the user names ``table``.

    Raises:
        InputError: it is no name, or the schema has a nested table of that name.
    """
    config = NormalizerConfig.of(schema.normalizers)
    naming = load_naming(config.naming)
    breaks_path = config.use_break_path_on_normalize
    root = (naming.normalize_tables_path if breaks_path else naming.normalize_table_identifier)(table)
    if not root:
        raise InputError(f"`{table}` is no name for a table")
    known = schema.tables.get(root)
    if known is not None and known.is_nested:
        hint = "name another table with `--table`"
        raise InputError(f"`{root}` is nested in `{known.parent}` and cannot be a root table", hint=hint)
    return root


def resolve_data(evidence: Evidence, before: Schema, table: str, separates: bool) -> Resolution:
    """Resolve under the names that colliding keys have got before; give further ones where that is asked for."""
    naming = load_naming(NormalizerConfig.of(before.normalizers).naming)
    root = root_table(before, table)
    known = _known_names(before, root)
    names = {
        path: known[text]
        for path in (_all_paths(evidence) if known else ())
        if (text := paths.format_path(path)) in known
    }
    resolution = resolve(evidence, before, table, renamed=names)
    reserved = {*known.values(), *_name_parts(before, naming)}
    for _ in range(_MOST_ROUNDS if separates else 0):
        further = separate(resolution, names, naming, reserved)
        if further == names:
            break
        names = further
        resolution = resolve(evidence, before, table, renamed=names)
    return _with_names(resolution, root, {**known, **{paths.format_path(path): name for path, name in names.items()}})


def _name_parts(schema: Schema, naming: Naming) -> Iterator[str]:
    """Yield the parts of the names of all tables and columns."""
    for table in schema.tables.values():
        for name in (table.name, *table.columns):
            yield from naming.break_path(name)


def _known_names(schema: Schema, root: str) -> Mapping[str, str]:
    stated = schema.tables[root].properties.get(SOURCE_NAMES) if root in schema.tables else None
    if stated is None:
        return {}
    if not isinstance(stated, Mapping) or not all(isinstance(name, str) and name for name in stated.values()):
        raise InputError(f"`{SOURCE_NAMES}` of table `{root}` must give names by path, like `$.userId: user_id_2`")
    return stated


def _all_paths(evidence: Evidence) -> Iterator[paths.Path]:
    """Return the paths of all values, and of what typed columns stand in."""
    yield from evidence.paths
    yield from {path[:end] for path in evidence.typed for end in range(1, len(path) + 1)} - evidence.paths.keys()


def _with_names(resolution: Resolution, root: str, names: Mapping[str, str]) -> Resolution:
    if not names:
        return resolution
    table = resolution.schema.tables[root]
    named = replace(table, properties={**table.properties, SOURCE_NAMES: dict(names)})
    return replace(resolution, schema=resolution.schema.with_table(named))

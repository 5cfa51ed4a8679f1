"""Divides the sources of a call into data and saved evidence, and reports records that cannot be read.

Sources are scanned elsewhere (``engine.scan``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from glob import has_magic
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final, Literal

from schemactl.destinations import find_address
from schemactl.errors import InputError, Location, Problem, backquoted
from schemactl.inference.evidence import Evidence, FileEvidence, merge
from schemactl.inference.findings import mask_records
from schemactl.inference.report import InferenceReport
from schemactl.inference.saved_evidence import is_evidence_file, read_evidence
from schemactl.schema.record_selection import RecordSelection
from schemactl.schema.types import Schema
from schemactl.store.sources import table_name
from schemactl.store.text import read_text

if TYPE_CHECKING:
    from schemactl.engine.choice import EngineOptions
    from schemactl.engine.input import Input
    from schemactl.engine.inputs import IsWanted
    from schemactl.engine.scan import Scan
    from schemactl.engine.scan_reader import ScanReader


JSON_FORMATS: Final = ("json", "ndjson")
"""The input formats whose documents may have records inside."""


def check_documents(sources: Iterable[str], files: Mapping[str, FileEvidence]) -> None:
    """Refuse sources without any document."""
    if not any(file.documents for file in files.values()):
        names = backquoted(sources)
        bad = sum(file.bad for file in files.values())
        raise InputError(
            f"all {bad:,} records in {names} are unreadable" if bad else f"there are no records in {names}"
        )


def find_sources(
    sources: Iterable[str],
    input_format: str | None = None,
    has_header: bool | None = None,
    engine: EngineOptions | None = None,
    selection: RecordSelection | None = None,
    is_wanted: IsWanted | None = None,
) -> tuple[tuple[str, ...], tuple[Input, ...]]:
    """Return the files of saved evidence, and the data; arguments as in ``find_inputs`` and ``Input``.

    Object stores are listed unless ``engine`` is Spark. ``selection`` is of JSON documents; other formats ignore it.
    """
    sources = tuple(sources)
    saved = [source for source in sources if is_evidence_file(source) and not has_magic(source)]
    data_sources = tuple(source for source in sources if source not in saved)
    if not data_sources:
        return tuple(dict.fromkeys(saved)), ()
    for source in data_sources:
        _refuse_destination(source)
    from schemactl.engine.choice import EngineOptions, find_engine_inputs

    files = find_engine_inputs(engine or EngineOptions(), data_sources, input_format, is_wanted)
    selection = None if selection is None or selection.is_whole else selection
    inputs = [
        replace(file, has_header=has_header, selection=selection if file.format in JSON_FORMATS else None)
        for file in files
    ]
    saved += [file.path for file in inputs if is_evidence_file(file.path)]
    return tuple(dict.fromkeys(saved)), tuple(file for file in inputs if not is_evidence_file(file.path))


def _refuse_destination(source: str) -> None:
    """Refuse the address of a destination as a source of data, unless a file has that name."""
    destination = find_address(source)
    if destination is None or Path(source).exists():
        return
    raise InputError(
        f"`{source}` is a destination, not data",
        hint=f"`schemactl migrate plan NAME --to {quote(source)}` counts stored values that do not fit a schema, and "
        f"`schemactl import {quote(source)} --name NAME` reads its schema",
    )


def read_saved(paths: Iterable[str], to_read: set[str]) -> Evidence:
    """Return the saved evidence."""
    evidence = Evidence()
    for path in paths:
        saved = read_evidence(read_text(Path(path)), path)
        if twice := sorted(saved.files.keys() & (evidence.files.keys() | to_read)):
            message = f"`{twice[0]}` is in this evidence file and in another source"
            raise InputError(message, at=Location(path), hint="read each file once: remove one of the two sources")
        evidence = merge(evidence, saved)
    return evidence


def check_bad_records(
    scan: Scan,
    on_bad_record: Literal["stop", "skip"] = "stop",
    hint: str = "fix the data, or skip them with `--on-bad-record skip`",
) -> None:
    """Refuse records that cannot be read, unless they are to be skipped."""
    check_selected(scan)
    if not scan.bad_records or on_bad_record == "skip":
        return
    from schemactl.engine.bad_records import explain_bad_records

    count, described = sum(file.bad for file in scan.files.values()), len(scan.bad_records)
    problems = explain_bad_records(scan.bad_records, scan.inputs)
    if count > described:
        problems.append(Problem(f"and {count - described:,} more"))
    if any("is not UTF-8" in problem.message for problem in problems):
        hint = f"convert the file, if it is in another encoding: `iconv -f latin1 -t utf-8 OLD > NEW`; or {hint}"
    subject = "1 record cannot be read" if count == 1 else f"{count:,} records cannot be read"
    raise InputError(subject, hint=hint, problems=tuple(problems))


def check_selected(scan: Scan) -> None:
    """Refuse a path of records (``--records``) that no document has."""
    from schemactl.kernel.selection import FAULT, read_selection_fault

    selection = next((file.selection for file in scan.inputs if file.selection is not None), None)
    first = next((record for record in scan.bad_records if record.text.startswith(FAULT.decode())), None)
    if selection is None or first is None or any(file.documents for file in scan.files.values()):
        return
    reason, hint = read_selection_fault(first.text) or (first.text, None)
    hint = hint or "name the list that has the records, or read whole documents with `--records '$'`"
    message = f"`--records {selection.text}` matches nothing: {reason}"
    raise InputError(message, at=Location(first.position.file), hint=hint)


def check_context_keys(scan: Scan, selection: RecordSelection) -> None:
    """Refuse keys to keep (``--keep``) that no document has."""
    paths = {path for evidence in scan.tables.values() for path in evidence.paths}
    for key in selection.context_keys:
        if paths and key.target not in paths:
            hint = f"pass `--keep` keys of the document next to `{selection.text}`, such as `page` or `meta.page`"
            raise InputError(f"`--keep {key.text}` matches nothing", hint=hint)


def with_records(report: InferenceReport, reader: ScanReader | None, schema: Schema) -> InferenceReport:
    """Return a report with the records that violate a contract, for violations without one.

    ``reader`` is None if not all records are at hand. Records are masked if the schema marks a column as personal.
    """
    lacking = {
        violation.first
        for violation in report.violations
        if violation.data_item is None and violation.first is not None
    }
    if reader is None or not lacking:
        return report
    records = mask_records(reader.find(lacking), schema)
    violations = tuple(
        replace(violation, data_item=records[violation.first])
        if violation.first is not None and violation.first in records
        else violation
        for violation in report.violations
    )
    return replace(report, violations=violations)


def table_of(requested: str | None, sources: Sequence[str], evidence: Evidence, default: str) -> str:
    """Return the user's name of the root table, or the name of the data; saved evidence has the names of its files."""
    if requested is not None:
        return requested
    has_saved = any(is_evidence_file(source) for source in sources)
    return table_name(sorted(evidence.files) if has_saved else sources, default=default)

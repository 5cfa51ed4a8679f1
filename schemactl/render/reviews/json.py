"""A review as one JSON document; ``schemas/diff.schema.json`` describes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from datetime import date
from typing import Any, Final

from schemactl.errors import Location
from schemactl.render.json import render_document
from schemactl.review.report import Counted, Finding, Report, Review, Silence, Version
from schemactl.review.review import explain
from schemactl.review.rule import place_of
from schemactl.review.severity import Severity
from schemactl.schema.changes import ABSENT, Change, TableAdded, TableRemoved
from schemactl.schema.types import Column, Table

_STATED: Final = (
    *("rule", "title", "severity", "direction", "message", "why", "fix", "schema", "table", "column"),
    *("before", "after", "is_violation", "is_cosmetic", "fingerprint", "against"),
)
"""What is printed of a finding as it stands."""


def render(report: Report) -> str:
    """Return the document that ``schemactl diff --format json`` prints."""
    findings = [finding for review in report.reviews for finding in review.findings]
    severities = [finding.severity for finding in report.findings]
    return render_document(
        {
            "compatibility": report.compatibility.value,
            "confluent": explain(report.compatibility, report.is_transitive),
            "is_transitive": report.is_transitive,
            "data": list(report.data),
            "counts": {
                "error": severities.count(Severity.ERROR),
                "warn": severities.count(Severity.WARN),
                "info": severities.count(Severity.INFO),
                "violations": sum(finding.is_violation for finding in report.findings),
                "silenced": sum(finding.silence is not None for finding in findings),
                "cosmetic": sum(finding.is_cosmetic for finding in findings),
                "changes": sum(len(review.changes) for review in report.reviews),
            },
            "reviews": [
                {
                    "name": review.name,
                    "base": _version(review.base),
                    "head": _version(review.head),
                    "is_cosmetic": review.is_cosmetic,
                    "changes": [change_document(change) for change in review.changes],
                    "findings": [_finding(finding) for finding in review.findings],
                    "sources": [
                        {"table": table, "column": column, "paths": list(paths)}
                        for table, column in _places(review)
                        if table is not None and (paths := review.sources.get((table, column)))
                    ],
                }
                for review in report.reviews
            ],
            "unmatched": [_silence(silence) for silence in report.unmatched],
        }
    )


def to_plain(value: Any) -> Any:
    """Return a value of a schema as plain JSON data; tables and columns take their stored form."""
    match value:
        case Table() | Column():
            return to_plain(value.to_dict())
        case Mapping():
            return {str(key): to_plain(item) for key, item in value.items()}
        case list() | tuple():
            return [to_plain(item) for item in value]
        case date():
            return value.isoformat()
        case _:
            return value


def counted_document(counted: Counted | None) -> dict[str, Any] | None:
    """Return what the data said as JSON data, None where it was not asked."""
    if counted is None:
        return None
    return {
        "values": counted.values,
        "bad": counted.bad,
        "examples": to_plain(counted.examples),
        "first": location_document(counted.first),
    }


def _places(review: Review) -> Iterable[tuple[str | None, str | None]]:
    """Return the tables and columns that the review is about, each once; with a table that is new its columns."""
    found: dict[tuple[str | None, str | None], None] = {}
    for change in review.changes:
        found.setdefault(place_of(change))
        if isinstance(change, TableAdded | TableRemoved):
            found |= {(change.table.name, column): None for column in change.table.columns}
    return found | {(finding.table, finding.column): None for finding in review.findings}


def _version(version: Version | None) -> dict[str, Any] | None:
    return asdict(version) if version else None


def change_document(change: Change) -> dict[str, Any]:
    """Return a change with its kind; what is not stated on a side is left out, a stated null is null."""
    stated = {field.name: getattr(change, field.name) for field in fields(change)}
    plain = {name: to_plain(value) for name, value in stated.items() if value is not ABSENT}
    return {"kind": type(change).__name__, **plain}


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        **{name: to_plain(getattr(finding, name)) for name in _STATED},
        "impact": asdict(finding.impact),
        "location": location_document(finding.location),
        "base_location": location_document(finding.base_location),
        "counted": counted_document(finding.counted),
        "silence": _silence(finding.silence) if finding.silence else None,
        "advice": finding.advice or None,
    }


def _silence(silence: Silence) -> dict[str, Any]:
    stated = {name: to_plain(getattr(silence, name)) for name in ("rule", "table", "column", "fingerprint", "reason")}
    return {**stated, "until": to_plain(silence.until), "at": location_document(silence.at)}


def location_document(at: Location | None) -> dict[str, Any] | None:
    """Return a place in a file as JSON data."""
    return {key: value for key, value in asdict(at).items() if key != "row" or value is not None} if at else None

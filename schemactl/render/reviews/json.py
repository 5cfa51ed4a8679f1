"""A review as one JSON document; ``schemas/diff.schema.json`` describes it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from schemactl.render import readers
from schemactl.render.json import Shown, document, render_document
from schemactl.review.report import Report, Review
from schemactl.review.review import explain
from schemactl.review.rule import place_of
from schemactl.review.severity import Severity
from schemactl.schema.changes import TableAdded, TableRemoved

_SHOWN: Final[Shown] = {
    **readers.SHOWN,
    "Finding": "rule title severity direction message why fix schema table column before after is_violation "
    "is_cosmetic fingerprint against impact location base_location counted silence advice answer readers "
    "cannot_tell=blind repaired",
    "Silence": "rule table column fingerprint reason until at",
    "Review": "name base head is_cosmetic changes findings",
}


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
                "changes": sum(len(review.content_changes) for review in report.reviews),
            },
            "reviews": [_review(review) for review in report.reviews],
            "unmatched": document((*report.unmatched, *report.expired), _SHOWN),
        }
    )


def _review(review: Review) -> dict[str, Any]:
    fields: dict[str, Any] = document(replace(review, changes=review.content_changes), _SHOWN)
    for finding in fields["findings"]:
        finding["advice"] = finding["advice"] or None
    sources = [
        {"table": table, "column": column, "paths": list(paths)}
        for table, column in _places(review)
        if table is not None and (paths := review.sources.get((table, column)))
    ]
    return {**fields, "sources": sources}


def _places(review: Review) -> Iterable[tuple[str | None, str | None]]:
    """Return the tables and columns that the review is about, each once; with a table that is new its columns."""
    columns: dict[tuple[str | None, str | None], None] = {}
    for change in review.changes:
        columns.setdefault(place_of(change))
        if isinstance(change, TableAdded | TableRemoved):
            columns |= {(change.table.name, column): None for column in change.table.columns}
    return columns | {(finding.table, finding.column): None for finding in review.findings}

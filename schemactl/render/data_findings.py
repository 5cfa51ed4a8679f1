"""Renders findings of ``infer`` and ``normalize`` in the formats of a review, without values of the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from schemactl.inference.report import InferenceReport
from schemactl.render.migration_findings import render_findings
from schemactl.review.judgment import EVOLVES, UNREAD, VIOLATES, finding_of
from schemactl.review.report import Compatibility, Finding, Report, Review
from schemactl.review.severity import Severity
from schemactl.review.wording import counted


def render_data_findings(report: InferenceReport | None, name: str, command: str) -> str:
    """Return what was found in data in a format of CI systems."""
    findings = tuple(_findings(report)) if report is not None else ()
    review = Review(name=report.name if report is not None else command, base=None, head=None, findings=findings)
    found = Report(compatibility=Compatibility.FULL, reviews=(review,), command=command)
    return render_findings(found, (), name, "Data and schema")


def _findings(report: InferenceReport) -> Iterator[Finding]:
    name = report.name
    for violation in report.violations:
        column = f".{violation.column}" if violation.column else ""
        first = f", first at {violation.first}" if violation.first is not None else ""
        message = (
            f"`{violation.table}{column}`: {violation.found}, expected {violation.expected} "
            f"({violation.entity}={violation.mode}; {counted(violation.values, 'value')}{first})"
        )
        found = finding_of(VIOLATES, message, name, table=violation.table, column=violation.column)
        # What a contract discards is left out as it was asked for.
        yield found if violation.mode == "freeze" else replace(found, severity=Severity.WARN)
    for table in report.tables:
        if table.is_new:
            message = f"new table `{table.name}` with {counted(len(table.columns), 'column')}"
            yield finding_of(EVOLVES, message, name, table=table.name)
            continue
        for each in table.columns:
            what = (
                f"new column, {each.data_type}"
                if each.is_new
                else f"{each.before or 'no type yet'} -> {each.data_type}"
            )
            message = f"`{table.name}.{each.name}`: {what}"
            yield finding_of(EVOLVES, message, name, table=table.name, column=each.name)
    for null in report.nulls:
        message = f"`{null.table}.{null.column}`: {counted(null.count, 'null')}, first at {null.first}"
        yield finding_of(UNREAD, message, name, table=null.table, column=null.column)
    for file in report.files:
        if file.bad:
            message = f"`{file.path}`: {counted(file.bad, 'record')} cannot be read, the first in line {file.first_bad}"
            yield finding_of(UNREAD, message, name)
    for typing in report.typing:
        message = f"`{typing.column}`: {counted(typing.count, 'value')} cannot be typed, first at {typing.first}"
        found = finding_of(UNREAD, message, name, column=typing.column)
        yield replace(found, severity=Severity.ERROR) if typing.stops else found

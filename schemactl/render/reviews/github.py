"""A review as workflow commands of GitHub Actions: each finding becomes an annotation of the pull request.

GitHub shows ten annotations of each kind for a step and drops the others without a word: the worst come first, and a
last one says how many there are beyond them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from schemactl.render.harmless import escape
from schemactl.render.review_words import finding_details, finding_title, stated_place, summary
from schemactl.review.report import Finding, Report
from schemactl.review.severity import Severity
from schemactl.review.wording import counted

LIMIT: Final = 10
"""Annotations of a kind that GitHub shows for a step (https://docs.github.com/actions, "Limits")."""

_COMMANDS: Final[Mapping[Severity, str]] = {
    Severity.ERROR: "error",
    Severity.WARN: "warning",
    Severity.INFO: "notice",
}


def render(report: Report) -> str:
    """Return a workflow command for each finding, worst first, a line each, as many as GitHub shows.

    What is silenced is a notice that says why.

    Findings without a file stand without one; the empty text means that there is nothing to say.
    """
    findings: dict[str, list[Finding]] = {"error": [], "warning": [], "notice": []}
    for finding in report.findings:
        if finding.severity in _COMMANDS:
            findings[_COMMANDS[finding.severity]].append(finding)
    every = (finding for review in report.reviews for finding in review.findings if not finding.is_cosmetic)
    findings["notice"].extend(finding for finding in every if finding.silence and finding.severity in _COMMANDS)
    shown = {kind: some[:LIMIT] for kind, some in findings.items()}
    if shown == findings:
        last = ""
    else:
        # The last one is a notice as well.
        shown["notice"] = shown["notice"][: LIMIT - 1]
        left = {kind: len(some) - len(shown[kind]) for kind, some in findings.items()}
        more = ", ".join(counted(number, kind) for kind, number in left.items() if number)
        message = f"{summary(report)}\n{more} beyond what GitHub shows for a step; `{report.command}` prints all"
        last = f"::notice title={report.command}::{_escape_message(escape(message))}\n"
    return "".join(_command(finding) + "\n" for some in shown.values() for finding in some) + last


def _command(finding: Finding) -> str:
    properties: dict[str, str] = {}
    if place := stated_place(finding):
        numbers = {"line": place.line, "col": place.column if place.line else None}
        properties = {"file": place.path, **{key: str(value) for key, value in numbers.items() if value}}
    properties["title"] = finding_title(finding)
    escaped = {key: _escape_message(escape(value)) for key, value in properties.items()}
    stated = ",".join(f"{key}={value.replace(':', '%3A').replace(',', '%2C')}" for key, value in escaped.items())
    command = "notice" if finding.silence else _COMMANDS[finding.severity]
    message = "\n".join(finding_details(finding))
    return f"::{command} {stated}::{_escape_message(message)}"


def _escape_message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

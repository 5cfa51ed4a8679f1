"""A review as workflow commands of GitHub Actions: each finding becomes an annotation of the pull request.

GitHub shows ten annotations of each kind for a step and drops the others without a word: the worst come first, and a
last one says how many there are beyond them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from schemactl.errors import Location
from schemactl.render.harmless import escape
from schemactl.render.review_words import (
    file_place,
    finding_details,
    finding_title,
    stated_place,
    summary,
    unused_silences,
)
from schemactl.review.report import Report
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

    What is silenced is a notice that says why, a silence that covers nothing a warning.

    Findings without a file stand without one; the empty text means that there is nothing to say.
    """
    found: dict[str, list[str]] = {"error": [], "warning": [], "notice": []}
    every = (finding for review in report.reviews for finding in review.findings if not finding.is_cosmetic)
    for finding in (*report.findings, *(finding for finding in every if finding.silence)):
        if finding.severity in _COMMANDS:
            kind = "notice" if finding.silence else _COMMANDS[finding.severity]
            message = "\n".join(finding_details(finding))
            found[kind].append(_command(kind, stated_place(finding), finding_title(finding), message))
    for silence, message in unused_silences(report):
        found["warning"].append(_command("warning", file_place(silence.at), "unused silence", escape(message)))
    shown = {kind: some[:LIMIT] for kind, some in found.items()}
    if shown == found:
        last = ""
    else:
        # The last one is a notice as well.
        shown["notice"] = shown["notice"][: LIMIT - 1]
        left = {kind: len(some) - len(shown[kind]) for kind, some in found.items()}
        more = ", ".join(counted(number, kind) for kind, number in left.items() if number)
        message = f"{summary(report)}\n{more} beyond what GitHub shows for a step; `{report.command}` prints all"
        last = f"::notice title={report.command}::{_escape_message(escape(message))}\n"
    return "".join(f"{command}\n" for some in shown.values() for command in some) + last


def _command(kind: str, place: Location | None, title: str, message: str) -> str:
    properties: dict[str, str] = {}
    if place:
        numbers = {"line": place.line, "col": place.column if place.line else None}
        properties = {"file": place.path, **{key: str(value) for key, value in numbers.items() if value}}
    properties["title"] = title
    escaped = {key: _escape_message(escape(value)) for key, value in properties.items()}
    stated = ",".join(f"{key}={value.replace(':', '%3A').replace(',', '%2C')}" for key, value in escaped.items())
    return f"::{kind} {stated}::{_escape_message(message)}"


def _escape_message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

"""A review as workflow commands of GitHub Actions: each finding becomes an annotation of the pull request.

GitHub shows ten annotations of each kind for a step: the worst come first. The log holds them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from schemactl.render.finding_prose import tell_details, tell_title
from schemactl.render.harmless import escape
from schemactl.render.places import stated_place
from schemactl.review.report import Finding, Report
from schemactl.review.severity import Severity

_COMMANDS: Final[Mapping[Severity, str]] = {
    Severity.ERROR: "error",
    Severity.WARN: "warning",
    Severity.DEPENDS: "warning",
    Severity.INFO: "notice",
}


def render(report: Report) -> str:
    """Return a workflow command for each finding that counts, worst first, a line each.

    Findings without a file stand without one; the empty text means that there is nothing to say.
    """
    findings = sorted(report.findings, key=lambda finding: -finding.severity.rank)
    return "".join(_command(finding) + "\n" for finding in findings if finding.severity in _COMMANDS)


def _command(finding: Finding) -> str:
    properties = {**_position(finding), "title": tell_title(finding)}
    stated = ",".join(f"{key}={_escape_property(escape(value))}" for key, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {stated}::{_escape_message(_message(finding))}"


def _message(finding: Finding) -> str:
    return "\n".join(tell_details(finding))


def _position(finding: Finding) -> dict[str, str]:
    place = stated_place(finding)
    if not place:
        return {}
    counted = {"line": place.line, "col": place.column if place.line else None}
    return {"file": place.file, **{key: str(value) for key, value in counted.items() if value}}


def _escape_message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_message(text).replace(":", "%3A").replace(",", "%2C")

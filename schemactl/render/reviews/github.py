"""A review as workflow commands of GitHub Actions: each finding becomes an annotation of the pull request.

GitHub shows ten annotations of each kind for a step and silently drops the rest: the first of each rule and severity
come first, and a last annotation counts the dropped findings by rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Final

from schemactl.errors import Location
from schemactl.render import review_words as words
from schemactl.render.escaping import escape
from schemactl.render.selection import count_labels, first_of_each_kind, label
from schemactl.review.report import Finding, Report
from schemactl.review.severity import Severity
from schemactl.schema.wording import counted

LIMIT: Final = 10
"""Annotations of a kind that GitHub shows for a step (https://docs.github.com/actions, "Limits")."""

_COMMANDS: Final[Mapping[Severity, str]] = {Severity.ERROR: "error", Severity.WARN: "warning", Severity.INFO: "notice"}


def render(report: Report) -> str:
    """Return a workflow command for each finding, worst first, a line each, as many as GitHub shows.

    A silenced finding is a notice with its reason, a silence that covers nothing a warning. If a kind has more than
    ``LIMIT`` annotations, the first of each rule and severity come first.

    Findings without a file have no ``file`` property; the text is empty without findings.
    """
    annotations: dict[str, list[_Annotation]] = {"error": [], "warning": [], "notice": []}
    silenced = (finding for review in report.reviews for finding in review.findings if finding.silence)
    for finding in (*report.findings, *silenced):
        if finding.severity in _COMMANDS and not finding.is_cosmetic:
            command = "notice" if finding.silence else _COMMANDS[finding.severity]
            kind = f"silenced {label(finding)}" if finding.silence else label(finding)
            annotations[command].append(_Annotation(kind, partial(_of_finding, command, finding)))
    for silence, message in words.unused_silences(report):
        show = partial(_command, "warning", words.file_place(silence.at), "unused silence", escape(message))
        annotations["warning"].append(_Annotation("unused silence", show))
    limits = dict.fromkeys(annotations, LIMIT)
    if any(len(kind_annotations) > LIMIT for kind_annotations in annotations.values()):
        limits["notice"] -= 1  # the last annotation is a notice
    shown_annotations, hidden_annotations, numbers = list[_Annotation](), list[_Annotation](), []
    for command, limit in limits.items():
        command_annotations = annotations[command]
        if len(command_annotations) > limit:
            command_annotations = list(chain(*first_of_each_kind(command_annotations, attrgetter("kind"))))
            numbers.append(counted(len(command_annotations) - limit, command))
        shown_annotations += command_annotations[:limit]
        hidden_annotations += command_annotations[limit:]
    lines = [annotation.show() for annotation in shown_annotations]
    if hidden_annotations:
        rules = count_labels(annotation.kind for annotation in hidden_annotations)
        message = f"{words.summary(report)}\n{', '.join(numbers)} more than GitHub shows for a step: {rules}"
        text = _escape_message(escape(f"{message}; `{report.command}` prints all"))
        lines.append(f"::notice title={report.command}::{text}")
    return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True, slots=True)
class _Annotation:
    """An annotation with the words for its kind; its text is rendered only if it is shown."""

    kind: str
    show: Callable[[], str]


def _of_finding(command: str, finding: Finding) -> str:
    title, text = words.finding_title(finding), "\n".join(words.finding_details(finding))
    return _command(command, words.stated_place(finding), title, text)


def _command(kind: str, location: Location | None, title: str, message: str) -> str:
    properties: dict[str, str] = {}
    if location:
        numbers = {"line": location.line, "col": location.column if location.line else None}
        properties = {"file": location.path, **{key: str(value) for key, value in numbers.items() if value}}
    properties["title"] = title
    escaped = {key: _escape_message(escape(value)) for key, value in properties.items()}
    property_list = ",".join(f"{key}={value.replace(':', '%3A').replace(',', '%2C')}" for key, value in escaped.items())
    return f"::{kind} {property_list}::{_escape_message(message)}"


def _escape_message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")

"""A review as SARIF 2.1.0, for GitHub's code scanning and other systems that gather findings of tools."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import schemactl
from schemactl.errors import Location
from schemactl.grouping import group_by
from schemactl.render import review_words as words
from schemactl.render.escaping import escape
from schemactl.render.json import document, render_document
from schemactl.render.selection import count_labels, first_of_each_kind, kind_of, label, worst_first
from schemactl.review.report import Finding, Report, Review
from schemactl.review.severity import Severity
from schemactl.schema.wording import counted

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT: Final = "SRCROOT"
LIMIT: Final = 5_000
"""Results that GitHub shows of a run; it refuses files of more than 25,000."""

_LEVELS: Final[Mapping[Severity, str]] = {
    Severity.ERROR: "error",
    Severity.WARN: "warning",
    Severity.INFO: "note",
    Severity.NONE: "none",
}


def render(report: Report) -> str:
    """Return a SARIF log with one run: the rules that occur, and a result for each finding except cosmetic ones.

    Silenced findings are results with a suppression. Of more than ``LIMIT`` the log has the first of each rule and
    severity, then the worst, and a notification counts the remaining findings by rule. Silences that cover nothing are
    notifications of the configuration.
    """
    pairs = [(review, finding) for review in report.reviews for finding in review.findings if not finding.is_cosmetic]
    worst_first_pairs = sorted(pairs, key=lambda pair: (pair[1].silence is not None, worst_first(pair[1])))
    selected = list(chain(*first_of_each_kind(worst_first_pairs, lambda pair: kind_of(pair[1]))))
    omitted_pairs = selected[LIMIT:]
    listed_pairs = sorted(selected[:LIMIT], key=lambda pair: worst_first(pair[1])) if omitted_pairs else pairs
    rules = _worst_by_rule(finding for _, finding in listed_pairs)
    numbers = {rule: number for number, rule in enumerate(rules)}
    driver = {"name": "schemactl", "version": schemactl.__version__, "rules": list(map(_rule, rules.values()))}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The top of the repository."}}},
        "results": [_result(finding, review, numbers[finding.rule]) for review, finding in listed_pairs],
        **_invocations([finding for _, finding in omitted_pairs], report),
    }
    return render_document({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _invocations(left_out: Sequence[Finding], report: Report) -> dict[str, Any]:
    """Return the notifications of the run, if there are any."""
    notifications: dict[str, list[dict[str, Any]]] = {}
    if left_out:
        command = f"`{report.command} --format json`"
        rules = escape(count_labels(map(label, left_out)))
        message = f"{counted(len(left_out), 'result')} omitted: {rules}; GitHub shows {LIMIT:,}, {command} prints all"
        notifications["toolExecutionNotifications"] = [{"level": "warning", "message": {"text": message}}]
    if unused := words.unused_silences(report):
        notifications["toolConfigurationNotifications"] = [
            {
                "level": "warning",
                "message": {"text": escape(message)},
                "locations": [{"physicalLocation": _physical(words.silence_place(silence))}],
            }
            for silence, message in unused
        ]
    return {"invocations": [{"executionSuccessful": True, **notifications}]} if notifications else {}


def _worst_by_rule(findings: Iterable[Finding]) -> dict[str, Finding]:
    groups = group_by(findings, lambda finding: finding.rule)
    return {rule: max(of_rule, key=lambda finding: finding.severity.rank) for rule, of_rule in groups.items()}


def _rule(finding: Finding) -> dict[str, Any]:
    why, fix = escape(finding.why), escape(finding.fix)
    return {
        "id": finding.rule,
        "name": "".join(word.capitalize() for word in re.findall(r"[A-Za-z0-9]+", finding.title)),
        "shortDescription": {"text": finding.title[:1].upper() + finding.title[1:]},
        "fullDescription": {"text": why},
        "help": {"text": f"{why}\n\nFix: {fix}", "markdown": f"{why}\n\n**Fix:** {fix}"},
        "defaultConfiguration": {"level": _LEVELS[finding.severity]},
    }


def _result(finding: Finding, review: Review, rule_index: int) -> dict[str, Any]:
    # A level of ``none`` is for results that are no failure.
    kind = {"kind": "informational"} if finding.severity is Severity.NONE else {}
    suppressions = []
    if finding.silence:
        justification = words.silence_text(finding.silence)
        suppressions.append({"kind": "external", "status": "accepted", "justification": justification})
    message = _without_links("\n".join(words.finding_details(finding)))
    return {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        **kind,
        "level": _LEVELS[finding.severity],
        "message": {"text": message},
        "locations": [{"physicalLocation": _physical(words.nearest_place(finding, review))}],
        **_related(finding),
        "partialFingerprints": {"schemactl/v1": finding.fingerprint},
        # SARIF requires that either all results have the list, or no result has it.
        "suppressions": suppressions,
        "properties": _properties(finding),
    }


def _without_links(message: str) -> str:
    """Return a message without links, ``[text](target)``: our messages contain none, so they come from names."""
    return message.replace("[", r"\[").replace("]", r"\]") if "](" in message else message


def _related(finding: Finding) -> dict[str, Any]:
    """Return the uses by readers that break, as related locations; only the message names uses outside of files."""
    locations = {
        location: use
        for broken in finding.readers
        for use in broken.uses
        if use.reader.location and (location := words.file_place(use.location))
    }
    related = [
        {
            "id": number,
            "physicalLocation": _physical(location),
            "message": {"text": _without_links(escape(f"{use.reader.name}: {use.clause.value}"))},
        }
        for number, (location, use) in enumerate(locations.items(), 1)
    ]
    return {"relatedLocations": related} if related else {}


def _physical(location: Location) -> dict[str, Any]:
    # GitHub refuses a file in which a result has no line.
    region = {"startLine": location.line or 1}
    if location.line and location.column:
        region["startColumn"] = location.column
    if Path(location.path).is_absolute():
        artifact = {"uri": "file:///" + quote(location.path.lstrip("/"), safe="/:", errors="replace")}
    else:
        artifact = {"uri": quote(location.path, errors="replace"), "uriBaseId": _ROOT}
    return {"artifactLocation": artifact, "region": region}


def _properties(finding: Finding) -> dict[str, Any]:
    properties = {
        "impact": asdict(finding.impact),
        "direction": finding.direction,
        "schema": finding.schema,
        "table": finding.table,
        "column": finding.column,
        "before": document(finding.before, {}),
        "after": document(finding.after, {}),
        "isViolation": finding.is_violation,
        "counted": document(finding.counted, {}),
        "against": finding.against,
    }
    return {key: value for key, value in properties.items() if value is not None}

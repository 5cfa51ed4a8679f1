"""A review as GitLab's Code Quality report, which a merge request shows next to the lines."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from typing import Final

from schemactl.errors import Location
from schemactl.render.escaping import escape
from schemactl.render.review_words import finding_facts, nearest_place, silence_place, silence_text, unused_silences
from schemactl.review.report import Report
from schemactl.review.severity import Severity

_SEVERITIES: Final[Mapping[Severity, str]] = {Severity.ERROR: "critical", Severity.WARN: "major", Severity.INFO: "info"}


def render(report: Report) -> str:
    """Return a JSON list with an issue for each finding and, minor, for each silence that covers nothing.

    Contract violations are blockers, silenced findings are info.
    """
    fingerprint_counts: Counter[str] = Counter()
    issues = []

    def add(rule: str, fingerprint: str, severity: str, description: str, location: Location) -> None:
        twins = fingerprint_counts[fingerprint]
        text = f"{fingerprint}\x1f{twins}" if twins else fingerprint
        issues.append(
            {
                "description": description,
                "check_name": rule,
                "fingerprint": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32],
                "severity": severity,
                # GitLab takes relative paths only, and demands a line.
                "location": {"path": escape(location.path.lstrip("/")), "lines": {"begin": location.line or 1}},
            }
        )
        fingerprint_counts[fingerprint] += 1

    for review in report.reviews:
        for finding in review.findings:
            if finding.is_cosmetic or finding.severity not in _SEVERITIES:
                continue
            prefix = "contract violation: " if finding.is_violation else ""
            reason = [silence_text(finding.silence)] if finding.silence else []
            description = prefix + "; ".join([*finding_facts(finding), *reason])
            is_blocker = finding.is_violation and finding.severity is Severity.ERROR
            severity = "info" if finding.silence else "blocker" if is_blocker else _SEVERITIES[finding.severity]
            add(finding.rule, finding.fingerprint, severity, description, nearest_place(finding, review))
    for silence, message in unused_silences(report):
        add(silence.rule, message, "minor", escape(message), silence_place(silence))
    return json.dumps(issues, indent=2, ensure_ascii=False) + "\n"

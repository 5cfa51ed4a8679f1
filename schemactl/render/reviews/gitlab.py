"""A review as GitLab's Code Quality report, which a merge request shows beside the lines."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from typing import Final

from schemactl.render.harmless import escape
from schemactl.render.review_words import finding_facts, nearest_place, silence_text
from schemactl.review.report import Finding, Report
from schemactl.review.severity import Severity

_SEVERITIES: Final[Mapping[Severity, str]] = {
    Severity.ERROR: "critical",
    Severity.WARN: "major",
    Severity.INFO: "info",
}


def render(report: Report) -> str:
    """Return a JSON list with an issue for each finding; contract violations are blockers, what is silenced is info."""
    seen: Counter[str] = Counter()
    issues = []
    for review in report.reviews:
        for finding in review.findings:
            if finding.is_cosmetic or finding.severity not in _SEVERITIES:
                continue
            place = nearest_place(finding, review)
            prefix = "contract violation: " if finding.is_violation else ""
            reason = [silence_text(finding.silence)] if finding.silence else []
            twins = seen[finding.fingerprint]
            text = f"{finding.fingerprint}\x1f{twins}" if twins else finding.fingerprint
            issues.append(
                {
                    "description": (prefix + "; ".join([*finding_facts(finding), *reason])),
                    "check_name": finding.rule,
                    "fingerprint": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32],
                    "severity": _severity(finding),
                    # GitLab takes relative paths only, and demands a line.
                    "location": {"path": escape(place.path.lstrip("/")), "lines": {"begin": place.line or 1}},
                }
            )
            seen[finding.fingerprint] += 1
    return json.dumps(issues, indent=2, ensure_ascii=False) + "\n"


def _severity(finding: Finding) -> str:
    if finding.silence:
        return "info"
    is_blocker = finding.is_violation and finding.severity is Severity.ERROR
    return "blocker" if is_blocker else _SEVERITIES[finding.severity]

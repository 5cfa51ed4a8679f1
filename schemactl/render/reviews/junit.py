"""A review as JUnit XML: a suite a schema, a case a finding; errors fail."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree

from schemactl.render import review_words as words
from schemactl.render.escaping import escape
from schemactl.review.report import Finding, Report, Review, Silence
from schemactl.review.severity import Severity

_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML 1.0 document may hold, not even as references."""


def render(report: Report) -> str:
    """Return an XML document: errors are failures, warnings and notes pass with their text as output.

    Silenced findings are skipped with their reason, cosmetic findings are left out; a schema without any finding has
    one case that passes. Silences that cover nothing are a suite of warnings.
    """
    root = ElementTree.Element("testsuites", {"name": report.command})
    root.extend(_suite(review) for review in report.reviews)
    if unused := words.unused_silences(report):
        root.append(_silences(unused))
    _count(root, root)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _suite(review: Review) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", {"name": _clean(review.name)})
    names: Counter[str] = Counter()
    for finding in review.findings:
        if not finding.is_cosmetic:
            name = f"{words.finding_title(finding)}: {words.finding_sentence(finding)}"
            suite.append(_case(finding, _unique_name(name, names)))
    if not len(suite):
        attributes = {"classname": _clean(review.name), "name": "no breaking change", "time": "0"}
        ElementTree.SubElement(suite, "testcase", attributes)
    _count(suite, suite)
    return suite


def _silences(unused: Sequence[tuple[Silence, str]]) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", {"name": "silences"})
    names: Counter[str] = Counter()
    for silence, message in unused:
        location = words.silence_place(silence)
        position = {"time": "0", "file": _clean(location.path), "line": str(location.line or 1)}
        attributes = {"classname": "silences", "name": _unique_name(message, names), **position}
        case = ElementTree.SubElement(suite, "testcase", attributes)
        ElementTree.SubElement(case, "system-out").text = _clean(f"warning: {message}")
    _count(suite, suite)
    return suite


def _unique_name(text: str, names: Counter[str]) -> str:
    """Return a unique name of a case; some readers keep only one of several cases with the same name."""
    name = _clean(text)
    names[name] += 1
    return name if names[name] == 1 else f"{name} ({names[name]})"


def _count(element: ElementTree.Element, container: ElementTree.Element) -> None:
    tags_by_count = {"tests": "testcase", "failures": "failure", "skipped": "skipped"}
    element.attrib.update({key: str(sum(1 for _ in container.iter(tag))) for key, tag in tags_by_count.items()})
    element.attrib.update({"errors": "0", "time": "0"})


def _case(finding: Finding, name: str) -> ElementTree.Element:
    location = words.stated_place(finding)
    position = {"file": location.path, "line": str(location.line or 1)} if location else {}
    class_name = ".".join(filter(None, (finding.schema, finding.table)))
    attributes = {"classname": class_name, "name": name, "time": "0", **position}
    case = ElementTree.Element("testcase", {key: _clean(value) for key, value in attributes.items()})
    text = "\n".join((*words.finding_details(finding), f"why: {escape(finding.why)}"))
    if finding.silence:
        ElementTree.SubElement(case, "skipped", {"message": _allowed(words.silence_text(finding.silence))})
    elif finding.severity is Severity.ERROR:
        failure = {"type": finding.rule, "message": _clean(words.finding_sentence(finding))}
        ElementTree.SubElement(case, "failure", failure).text = _allowed(text)
    else:
        word = "warning" if finding.severity.rank == Severity.WARN.rank else "note"
        ElementTree.SubElement(case, "system-out").text = _allowed(f"{word}: {text}")
    return case


def _clean(text: str) -> str:
    return _allowed(escape(text))


def _allowed(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)

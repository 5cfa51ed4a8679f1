"""What the code cites of docs/dlt.md is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "dlt.md"
SECTION = re.compile(r"§(\d+(?:\.\d+)?)")
PARITY_TEST = re.compile(r"`(tests/[\w/]+\.py)`")


def cited() -> dict[str, str]:
    """Return the cited sections, each with a place that cites it."""
    modules = (path for folder in ("schemactl", "tests", "docs") for path in sorted((ROOT / folder).rglob("*.py")))
    pages = sorted((ROOT / "docs").glob("*.md"))
    return {
        number: str(path.relative_to(ROOT))
        for path in (*modules, *pages)
        for number in SECTION.findall(path.read_text())
    }


def test_every_cited_section_is_a_heading_of_the_page() -> None:
    headings = set(re.findall(r"^#+ (\d+(?:\.\d+)?) ", PAGE.read_text(), re.MULTILINE))
    found = cited()
    assert {number: place for number, place in found.items() if number not in headings} == {}
    assert len(found) > 20


def test_sections_are_cited_with_the_page_where_they_stand() -> None:
    lost = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((ROOT / "schemactl").rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if "§" in line and "docs/dlt.md §" not in line
    ]
    assert lost == []


def test_the_tests_that_the_page_names_are_there() -> None:
    named = PARITY_TEST.findall(PAGE.read_text())
    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []

"""Prints which tests were passed over and why, from the JUnit files of runs: those that none of the runs has run.

Usage: python .ci/skipped.py FILE.xml...
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree


def test_cases(paths: list[str]) -> Iterator[tuple[str, str, str | None]]:
    """Yield the module and the name of each test, and why it was passed over; None where it ran."""
    for path in paths:
        if Path(path).exists():
            for case in ElementTree.parse(path).iter("testcase"):
                skipped = case.find("skipped[@type='pytest.skip']")
                reason = None if skipped is None else skipped.get("message") or "no reason"
                yield case.get("classname", ""), case.get("name", ""), reason


def main(paths: list[str]) -> None:
    """Print how many tests were passed over, by reason, and the modules that they are in."""
    reasons: dict[tuple[str, str], str] = {}
    ran = set[tuple[str, str]]()
    for module, name, reason in test_cases(paths):
        if reason is None:
            ran.add((module, name))
        else:
            reasons[module, name] = reason
    tests_by_reason: dict[str, list[str]] = {}
    for test, reason in reasons.items():
        if test not in ran:
            tests_by_reason.setdefault(" ".join(reason.split()), []).append(test[0] or test[1])
    number = sum(map(len, tests_by_reason.values()))
    print(f"{number} test{'s were' if number != 1 else ' was'} passed over{':' if number else ''}")
    for reason, modules in sorted(tests_by_reason.items(), key=lambda each: -len(each[1])):
        print(f"{len(modules):>5}  {reason} ({', '.join(sorted(set(modules)))})")


if __name__ == "__main__":
    main(sys.argv[1:])

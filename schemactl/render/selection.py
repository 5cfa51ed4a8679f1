"""Selects the findings for an output of limited size, so that no finding hides behind many of another kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from schemactl.render.review_words import WORDS
from schemactl.review.report import Finding
from schemactl.review.severity import Severity

Item = TypeVar("Item")


def first_of_each_kind(items: Iterable[Item], kind: Callable[[Item], Hashable]) -> tuple[list[Item], list[Item]]:
    """Return the first item of each kind, and all other items; both in the order of the items."""
    kinds = set[Hashable]()
    firsts, followers = list[Item](), list[Item]()
    for item in items:
        (followers if kind(item) in kinds else firsts).append(item)
        kinds.add(kind(item))
    return firsts, followers


def kind_of(finding: Finding) -> tuple[str, Severity, bool]:
    """Return the key of similar findings: rule, severity, and whether they are silenced."""
    return finding.rule, finding.severity, finding.silence is not None


def label(finding: Finding) -> str:
    """Return the words for a finding's kind, for example ``C204 error``."""
    return f"{finding.rule} {WORDS.get(finding.severity, 'note')}"


def worst_first(finding: Finding) -> tuple[int, bool]:
    """Return the key that sorts findings by severity; of one severity contract violations come first."""
    return -finding.severity.rank, not finding.is_violation


def count_labels(labels: Iterable[str]) -> str:
    """Return labels with their counts: ``C204 error (12), T101 note (3)``."""
    return ", ".join(f"{text} ({number:,})" for text, number in Counter(labels).items())

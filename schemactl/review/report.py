"""The report of a review: findings, silences, hashes; plain data for every output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any

from schemactl.errors import Location
from schemactl.review.cosmetic import is_content
from schemactl.review.readers import Answer, Blindness, Broken, Reader
from schemactl.review.severity import Direction, Impact, Severity
from schemactl.schema.changes import Change


class Compatibility(StrEnum):
    """Whom a change must not break. Stored data counts in every mode but ``NONE``."""

    READERS = "readers"
    WRITERS = "writers"
    FULL = "full"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Silence:
    """A rule that a team accepts for a while.

    Attributes:
        table, column: names; None for all. ``*`` and ``?`` match any text and any character.
        reason: why; every silence has one.
        until: the last day on which it holds; None for good.
        fingerprint: of the one finding that it covers; None for all at that place.
        severity: of that finding when it was accepted; it does not cover a worse one.
    """

    rule: str
    reason: str
    table: str | None = None
    column: str | None = None
    until: date | None = None
    at: Location | None = None
    fingerprint: str | None = None
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Counted:
    """The answer of the data to a question of a rule.

    Attributes:
        values: how many values were checked.
        bad: how many of them do not survive the change.
        examples: some bad values, as JSON.
        first: the place of the first bad value: file and line.
    """

    values: int
    bad: int
    examples: tuple[Any, ...] = ()
    first: Location | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A rule's result for one part of a schema.

    Attributes:
        severity: the worst ``impact`` on the axes that the mode asks for, or the configured severity; never
            ``DEPENDS``.
        direction, impact: of this match; data that was counted has replaced ``DEPENDS``.
        table, column, before, after: as in ``rule.Match``.
        is_violation: whether the base schema's own contract forbids the change.
        is_cosmetic: whether it is shown only on request.
        is_gate: whether it changes the review itself.
        location: in the head's file, or of the nearest key above it; None if the head is no file.
        base_location: the same in the base's file.
        fingerprint: twelve hexadecimal digits of the change and its place, independent of lines and prose.
        counted: the counts from the data, None if nothing was counted.
        silence: the silence that covers it; such a finding does not fail the review.
        advice: if it rests on a guess, how to confirm or reject the guess.
        readers: the declared readers that the change breaks.
        repaired: the declared readers that it would break without their own change.
        answer: whether a declared reader reads the table or column; None without declared readers, and for other
            findings.
        blind: why the answer is unknown.
        against: the older version that it breaks, if it does not break the base (``--transitive``).
    """

    rule: str
    title: str
    severity: Severity
    direction: Direction
    impact: Impact
    message: str
    why: str
    fix: str
    schema: str
    fingerprint: str
    table: str | None = None
    column: str | None = None
    before: Any = None
    after: Any = None
    is_violation: bool = False
    is_cosmetic: bool = False
    is_gate: bool = False
    location: Location | None = None
    base_location: Location | None = None
    counted: Counted | None = None
    silence: Silence | None = None
    against: str | None = None
    advice: str = ""
    readers: tuple[Broken, ...] = ()
    repaired: tuple[Reader, ...] = ()
    answer: Answer | None = None
    blind: tuple[Blindness, ...] = ()

    @property
    def is_acceptable(self) -> bool:
        """Whether a silence by its fingerprint has an effect: it fails reviews, and does not change them."""
        return not (self.is_cosmetic or self.is_gate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One side of a comparison, for a person.

    Attributes:
        origin: file or revision that it was read from.
        hash: the hash of its content; differs from ``stated_hash`` if a person edited the file.
    """

    origin: str
    number: int
    stated_hash: str | None
    hash: str
    is_edited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The changes and findings of one schema, or of the settings that decide reviews.

    Attributes:
        base, head: None if the schema is only on the other side; both None for settings, which are in no schema.
        changes: all changes; only some of them have findings.
        findings: by severity, worst first, then in the schema's order; with silenced and cosmetic findings.
        is_cosmetic: whether only hints, wording and order changed the hash.
        sources: the paths in data that feed its tables (under no column) and columns, as far as lineage knows them.
    """

    name: str
    base: Version | None
    head: Version | None
    changes: tuple[Change, ...] = ()
    findings: tuple[Finding, ...] = ()
    is_cosmetic: bool = False
    sources: Mapping[tuple[str, str | None], tuple[str, ...]] = field(default_factory=dict)

    @property
    def content_changes(self) -> tuple[Change, ...]:
        """The changes to show, without versions and hashes, which dlt and schemactl write themselves."""
        return tuple(filter(is_content, self.changes))

    @property
    def is_of_settings(self) -> bool:
        """Return whether it is about settings, not about a schema."""
        return self.base is None and self.head is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The report of a review.

    Attributes:
        is_transitive: whether older versions were checked, too.
        unmatched: silences that hold and match nothing.
        expired: silences whose last day is over.
        data: the sources whose values were counted.
        command: the command that made the report.
    """

    compatibility: Compatibility
    reviews: tuple[Review, ...] = ()
    unmatched: tuple[Silence, ...] = ()
    expired: tuple[Silence, ...] = ()
    is_transitive: bool = False
    data: tuple[str, ...] = ()
    command: str = "schemactl diff"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings that count: not silenced, not cosmetic."""
        return tuple(
            finding
            for review in self.reviews
            for finding in review.findings
            if finding.silence is None and not finding.is_cosmetic
        )

"""Make findings from two schemas: run all rules, set the severities of the mode, apply silences."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from hashlib import sha256
from typing import Any, Final

from schemactl.errors import Location
from schemactl.review.comparison import Comparison, Side
from schemactl.review.readers import Answer, Readership
from schemactl.review.report import Compatibility, Counted, Finding, Silence
from schemactl.review.rule import Match, Rule
from schemactl.review.rules import all_rules
from schemactl.review.severity import Impact, Severity
from schemactl.review.silences import silence_for
from schemactl.review.stability import Stability, promise_of, softened
from schemactl.schema.casts import TypeChange, type_change_between
from schemactl.schema.diff import diff
from schemactl.schema.nested_types import FieldPath
from schemactl.schema.reader_effects import ReaderEffect

Keys = tuple[str | int, ...]
Locate = Callable[[Keys], Location | None]
CountKey = tuple[str, str, str, FieldPath]

_AXES: Final = {
    Compatibility.READERS: ("readers", "data"),
    Compatibility.WRITERS: ("writers", "data"),
    Compatibility.FULL: ("readers", "writers", "data"),
    Compatibility.NONE: (),
}

_CONFLUENT: Final = {
    Compatibility.READERS: "FORWARD",
    Compatibility.WRITERS: "BACKWARD",
    Compatibility.FULL: "FULL",
    Compatibility.NONE: "NONE",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSettings:
    """The settings by which a comparison is judged.

    Attributes:
        compatibility: the axes that the changes must not break.
        severities: of single rules, by id, instead of computed severities; ``NONE`` drops a rule's findings. Violations
            of contracts stay errors.
        counted: the counts from the data, by table, column, question and field.
        has_data: whether data was counted, which may leave questions open.
        readership: the readers of the base's tables; None if no readers are declared.
        locate_head, locate_base: return the place of keys in the file of the head and of the base.
    """

    compatibility: Compatibility = Compatibility.FULL
    severities: Mapping[str, Severity] = field(default_factory=dict)
    silences: tuple[Silence, ...] = ()
    counted: Mapping[CountKey, Counted] = field(default_factory=dict)
    has_data: bool = False
    readership: Readership | None = None
    locate_head: Locate = lambda _: None
    locate_base: Locate = lambda _: None


def compare(base: Side, head: Side, today: date) -> Comparison:
    """Return two schemas with the changes between them, to be judged on a day."""
    # A catalog does not contain former names of columns.
    has_statements = base.destination is None and head.destination is None
    return Comparison(base, head, diff(base.schema, head.schema, heeds_moves=has_statements), today)


def review(comparison: Comparison, settings: ReviewSettings) -> tuple[Finding, ...]:
    """Return the findings of all rules, worst first, then in the order of the head schema.

    They include silenced and cosmetic findings; ``Review`` and ``Report`` decide which findings count.
    """
    judge = _Judge(comparison, settings)
    findings = [
        judge.finding(rule, match)
        for rule in all_rules()
        if rule.is_contract or settings.severities.get(rule.id) is not Severity.NONE
        for match in rule.find(comparison)
    ]
    return tuple(sorted(findings, key=_order(comparison)))


def explain(compatibility: Compatibility, is_transitive: bool) -> str:
    """Return the name of the mode in Confluent's schema registry, such as ``FORWARD_TRANSITIVE``."""
    name = _CONFLUENT[compatibility]
    return f"{name}_TRANSITIVE" if is_transitive and compatibility is not Compatibility.NONE else name


def fingerprint(rule: str, schema: str, match: Match) -> str:
    """Return twelve hexadecimal digits of the change and its place, independent of lines and prose."""
    where = (match.table or "", match.column or "", *(key for key in match.keys if isinstance(key, str)))
    aspect = (match.aspect,) if match.aspect else ()
    parts = (rule, schema, *where, *aspect, _canonical(match.before), _canonical(match.after))
    return sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)


@dataclass(frozen=True, slots=True)
class _Judge:
    """Makes findings of matches."""

    comparison: Comparison
    settings: ReviewSettings

    def finding(self, rule: Rule, match: Match) -> Finding:
        settings, schema = self.settings, self.comparison.head.schema.name
        count_key = (match.table or "", match.column or "", match.question or "", match.field)
        counted = settings.counted.get(count_key) if match.question is not None else None
        impact = match.impact or rule.impact
        # Data without a single value of the column proves nothing.
        if counted is not None and counted.values and impact.data is Severity.DEPENDS:
            impact = replace(impact, data=Severity.ERROR if counted.bad else Severity.NONE)
        effect = rule.effect_with(impact)
        impact, reading = self._with_readers(effect, match, impact)
        finding = Finding(
            rule=rule.id,
            title=rule.title,
            severity=self._severity(rule, match, impact),
            direction=rule.direction,
            impact=impact,
            message=match.sentence,
            why=rule.why,
            fix=self._fix(rule, match, counted),
            schema=schema,
            fingerprint=fingerprint(rule.id, schema, match),
            table=match.table,
            column=match.column,
            before=match.before,
            after=match.after,
            is_violation=rule.is_contract,
            is_cosmetic=rule.is_cosmetic,
            is_gate=rule.is_gate,
            location=settings.locate_head(match.keys),
            base_location=settings.locate_base(self._base_keys(match.keys)),
            counted=counted,
            advice=match.advice,
            **reading,
        )
        # A silence by fingerprint can be added in the change that it accepts, so it cannot accept a change of the
        # settings that decide reviews.
        silences = [silence for silence in settings.silences if silence.fingerprint is None or not rule.is_gate]
        silence = silence_for(silences, finding, self.comparison.today)
        return finding if silence is None else replace(finding, silence=silence)

    def _with_readers(self, effect: ReaderEffect, match: Match, impact: Impact) -> tuple[Impact, dict[str, Any]]:
        """Return the impact on the declared readers, and the fields of the finding that name them.

        If all readers are declared and no reader reads the column, the impact on readers is at most a note.
        """
        readership = self.settings.readership
        if readership is None or match.table is None or effect is ReaderEffect.NONE:
            return impact, {}
        base_table = self.comparison.base_tables.get(match.table, match.table)
        column = match.column
        base_column = None if column is None else self.comparison.base_columns.get((match.table, column), column)
        if effect is ReaderEffect.ADDED:
            base_column = None
        answer = readership.answer(base_table, base_column)
        type_change = self._type_change(match.table, column) if effect is ReaderEffect.RETYPED else None
        if readership.is_complete and answer is Answer.NOT_READ and impact.readers.rank > Severity.INFO.rank:
            impact = replace(impact, readers=Severity.INFO)
        return impact, {
            "readers": readership.broken_by(effect, base_table, base_column, type_change),
            "repaired": readership.repaired_for(effect, base_table, base_column, type_change),
            "answer": answer,
            "blind": readership.doubts(base_table, base_column),
        }

    def _type_change(self, table: str, column: str | None) -> TypeChange | None:
        """Return the types of a column in both schemas; None if a side has no such column, or no type."""
        if column is None:
            return None
        base, head = self.comparison.base_column(table, column), self.comparison.head_column(table, column)
        return type_change_between(base, head) if base is not None and head is not None else None

    def _fix(self, rule: Rule, match: Match, counted: Counted | None) -> str:
        if counted is None:
            is_open = match.question is not None and not self.settings.has_data
            return rule.full_fix if is_open else rule.fix
        return rule.fix if counted.bad or not counted.values else rule.fix_if_all_survive or rule.fix

    def _severity(self, rule: Rule, match: Match, impact: Impact) -> Severity:
        configured = self.settings.severities.get(rule.id)
        if configured is not None and not rule.is_contract:
            return configured
        if rule.is_contract or rule.is_gate:
            return Severity.ERROR
        if rule.severity is not None:
            return rule.severity
        stability = promise_of(self.comparison, match.table, match.column)
        if stability is Stability.DRAFT:
            return Severity.INFO
        softened_impact = softened(impact, stability)
        severities = [softened_impact.by_axis[axis] for axis in _AXES[self.settings.compatibility]]
        worst = max(severities, key=lambda severity: severity.rank, default=Severity.NONE)
        if worst is Severity.DEPENDS:
            return Severity.WARN
        # A finding that does not concern the axes of the mode still concerns other readers or writers.
        return Severity.INFO if worst is Severity.NONE else worst

    def _base_keys(self, keys: Keys) -> Keys:
        """Return the keys with the names that tables and columns have in the base schema."""
        match keys:
            case ("tables", str(table), "columns", str(column), *inner_keys):
                old_column = self.comparison.base_columns.get((table, column), column)
                return ("tables", self.comparison.base_tables.get(table, table), "columns", old_column, *inner_keys)
            case ("tables", str(table), *inner_keys):
                return ("tables", self.comparison.base_tables.get(table, table), *inner_keys)
            case _:
                return keys


def _order(comparison: Comparison) -> Callable[[Finding], tuple[int, int, int, str]]:
    """Return the order of findings: severity, table, column, rule; the schema itself first, removed names last."""
    head = comparison.head.schema
    tables = _places(head.tables, comparison.base.schema.tables)

    @cache
    def columns_of(table: str) -> Mapping[str, int]:
        head_table, base_table = head.tables.get(table), comparison.base_table(table)
        return _places(head_table.columns if head_table else {}, base_table.columns if base_table else {})

    def key(finding: Finding) -> tuple[int, int, int, str]:
        table = column = -1
        if finding.table is not None:
            table = tables.get(finding.table, len(tables))
            if finding.column is not None:
                places = columns_of(finding.table)
                column = places.get(finding.column, len(places))
        return -finding.severity.rank, table, column, finding.rule

    return key


def _places(head: Mapping[str, Any], base: Mapping[str, Any]) -> Mapping[str, int]:
    return {name: position for position, name in enumerate(dict.fromkeys((*head, *base)))}

"""Silences: rules that a team accepts for a while, with a reason."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from fnmatch import fnmatchcase
from typing import Any, Final

from schemactl.errors import InputError, Location, Problem, did_you_mean, nearest_or_all
from schemactl.review.announcements import is_expired, read_last_day
from schemactl.review.report import Finding, Silence
from schemactl.review.rules import rule_ids
from schemactl.review.severity import Severity

_KEYS: Final = ("rule", "table", "column", "fingerprint", "severity", "reason", "until")
_SEVERITIES: Final = (Severity.INFO.value, Severity.WARN.value, Severity.ERROR.value)

SILENCE_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        **{key: {"type": "string"} for key in _KEYS},
        "severity": {"enum": list(_SEVERITIES)},
        "until": {"description": "The last day on which it holds: `2026-03-31`."},
    },
    "required": ["rule", "reason"],
    "additionalProperties": False,
}
"""The JSON Schema of a silence in a settings file."""


def silence_for(silences: Iterable[Silence], finding: Finding, today: date) -> Silence | None:
    """Return the first silence that covers a finding today; a table's silence covers only findings about this table."""
    holding = (silence for silence in silences if not is_expired(silence.until, today))
    return next((silence for silence in holding if _covers(silence, finding)), None)


def unmatched(
    silences: Iterable[Silence], findings: Sequence[Finding], today: date, changed: Collection[str]
) -> tuple[Silence, ...]:
    """Return the silences that are valid today and cover no finding: they can be deleted.

    ``changed`` are the tables of all schemas that were compared and differ. A silence of another table may cover a
    finding of another comparison.
    """
    return tuple(
        silence
        for silence in silences
        if not is_expired(silence.until, today)
        and (silence.table is None or any(_fits(silence.table, table) for table in changed))
        and not any(_covers(silence, finding) for finding in findings)
    )


def expired(silences: Iterable[Silence], today: date) -> tuple[Silence, ...]:
    """Return the silences whose last day is before today."""
    return tuple(silence for silence in silences if is_expired(silence.until, today))


def parse_silences(items: Sequence[tuple[Mapping[str, Any], Location | None]]) -> tuple[Silence, ...]:
    """Read silences from tables of settings with their places: ``{"rule": "C204", "reason": "...", ...}``."""
    problems = [problem for number, item in enumerate(items, 1) for problem in _problems(item[0], number, item[1])]
    if len(problems) == 1:
        raise InputError(problems[0].message, at=problems[0].at, hint=problems[0].hint)
    if problems:
        raise InputError("the silences cannot be read", problems=tuple(problems))
    return tuple(
        Silence(
            rule=table["rule"],
            reason=table["reason"].strip(),
            table=table.get("table"),
            column=table.get("column"),
            until=_until(table.get("until")),
            at=location,
            fingerprint=table.get("fingerprint"),
            severity=Severity(table["severity"]) if table.get("severity") else None,
        )
        for table, location in items
    )


def _covers(silence: Silence, finding: Finding) -> bool:
    if silence.rule != finding.rule:
        return False
    if silence.severity is not None and finding.severity.rank > silence.severity.rank:
        return False
    if silence.fingerprint is not None:
        # The fingerprint includes the place; names may hold characters that mean something in patterns.
        return silence.fingerprint == finding.fingerprint
    return _fits(silence.table, finding.table) and _fits(silence.column, finding.column)


def _fits(pattern: str | None, name: str | None) -> bool:
    return pattern is None or (name is not None and fnmatchcase(name, pattern))


def _problems(item: Mapping[str, Any], number: int, location: Location | None) -> Iterator[Problem]:
    where = f"silence {number}"
    if not isinstance(item, Mapping):
        yield Problem(f"{where} is not a table", location, f"keys: {', '.join(_KEYS)}")
        return
    for key in item:
        if key not in _KEYS:
            yield Problem(f"{where} has an unknown key `{key}`", location, nearest_or_all(str(key), _KEYS))
    for key in ("rule", "table", "column", "fingerprint", "severity", "reason"):
        if item.get(key) is not None and not isinstance(item[key], str):
            yield Problem(f"{where}: `{key}` is `{item[key]}`, not text", location)
    yield from _rule_problems(item.get("rule"), where, location)
    if not str(item.get("reason") or "").strip():
        yield Problem(f"{where} has no `reason`", location, "add a reason for the silence")
    if isinstance(item.get("severity"), str) and item["severity"] not in _SEVERITIES:
        yield Problem(f"{where}: `{item['severity']}` is not a severity", location, f"known: {', '.join(_SEVERITIES)}")
    if item.get("until") is not None and _until(item["until"]) is None:
        yield Problem(f"{where}: `until` is `{item['until']}`, not a date", location, "write a date like `2030-06-30`")


def _rule_problems(rule: Any, where: str, location: Location | None) -> Iterator[Problem]:
    known_ids = rule_ids()
    if not rule:
        yield Problem(f"{where} has no `rule`", location, "the id of a rule, such as `C204`")
    elif isinstance(rule, str) and rule not in known_ids:
        near = f"did you mean `{rule.upper()}`?" if rule.upper() in known_ids else did_you_mean(rule, known_ids)
        yield Problem(f"{where}: there is no rule `{rule}`", location, near or "ids look like `C204`")


def _until(day: Any) -> date | None:
    return read_last_day(day) if isinstance(day, date | str) else None


def write_silence(finding: Finding, until: date, reason: str, table: str) -> str:
    """Return the TOML of a silence that covers exactly one finding, with its severity."""
    entries = {
        "rule": finding.rule,
        "table": finding.table,
        "column": finding.column,
        "fingerprint": finding.fingerprint,
        "severity": finding.severity.value,
        "reason": reason,
    }
    # JSON strings are TOML strings, except for the character DEL.
    texts = {key: json.dumps(value, ensure_ascii=False) for key, value in entries.items() if value is not None}
    lines = (f"{key} = {text}\n" for key, text in texts.items())
    return f"[[{table}]]\n{''.join(lines)}until = {until.isoformat()}\n".replace("\x7f", "\\u007f")

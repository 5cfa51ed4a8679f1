"""Reads the severities that a call sets for single rules, which override the rules' severities."""

from __future__ import annotations

from schemactl.errors import InputError, backquoted, did_you_mean, nearest_or_all
from schemactl.review.rules import rule_ids
from schemactl.review.severity import Severity


def parse_severity(rule: str, level: str) -> Severity:
    """Return the severity of a level's name, for a rule."""
    levels = {severity.value: severity for severity in Severity if severity is not Severity.DEPENDS}
    if rule not in rule_ids():
        suggestion = did_you_mean(rule.upper(), rule_ids()) or "`schemactl rules` lists them"
        raise InputError(f"there is no rule `{rule}`", hint=suggestion)
    if not level:
        raise InputError(f"`{rule}` has no level", hint=f"write `{rule}=LEVEL`; levels: {backquoted(levels)}")
    if level not in levels:
        raise InputError(f"`{level}` is not a severity for `{rule}`", hint=nearest_or_all(level, levels))
    return levels[level]

"""Reads the severities that a call states for single rules, in place of their own."""

from __future__ import annotations

from schemactl.errors import InputError, did_you_mean, nearest_or_all
from schemactl.review.rules import rule_ids
from schemactl.review.severity import Severity


def parse_severity(rule: str, level: str) -> Severity:
    """Return the severity that is stated for a rule.

    Raises:
        InputError: there is no such rule or level.
    """
    levels = {each.value: each for each in Severity if each is not Severity.DEPENDS}
    if rule not in rule_ids():
        near = did_you_mean(rule.upper(), rule_ids()) or "`schemactl rules` lists them"
        raise InputError(f"there is no rule `{rule}`", hint=near)
    if level not in levels:
        if not level:
            known = ", ".join(f"`{each}`" for each in levels)
            raise InputError(f"`{rule}` states no level", hint=f"`{rule}=LEVEL`, a level is {known}")
        raise InputError(f"`{level}` is not a severity for `{rule}`", hint=nearest_or_all(level, levels))
    return levels[level]

"""All rules, by their ids."""

from __future__ import annotations

from functools import cache

from schemactl.review.rule import Rule
from schemactl.review.rules import RULES


def rule_ids() -> tuple[str, ...]:
    """Return the ids of all rules, without importing any: a file's name starts with its rule's id."""
    return tuple(name.partition("_")[0].upper() for name in RULES)


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return all rules, installed ones last."""
    return tuple(RULES[name].RULE for name in RULES)

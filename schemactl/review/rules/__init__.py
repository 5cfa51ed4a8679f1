"""The rules, one a file: ``c204_column_removed.py`` holds ``RULE``, whose id is C204.

To add one, write such a file and a fixture ``tests/review/rules/c204.yaml``. Third parties use the entry-point group
``schemactl.rule`` and ids that begin with ``Z``, which none here does.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from schemactl.errors import InputError
from schemactl.registry import Registry
from schemactl.review.rule import Rule, RuleModule

RULES: Registry[RuleModule] = Registry("rule", "schemactl.review.rules")
"""All rules by the names of their files."""


def rule_ids() -> tuple[str, ...]:
    """Return the ids of all rules, without importing any: a file's name starts with its rule's id."""
    return tuple(name.partition("_")[0].upper() for name in RULES)


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return all rules, installed ones last.

    Raises:
        InputError: an installed one states another id than its name does, by which it is silenced and configured.
    """
    rules = []
    for name, known in zip(RULES, rule_ids(), strict=True):
        rule = RULES[name].RULE
        if rule.id not in ("", known):
            hint = "let the name of the entry point begin with the rule's id, or leave `id` out"
            raise InputError(f"the rule that is installed as `{name}` states the id `{rule.id}`", hint=hint)
        rules.append(replace(rule, id=known))
    return tuple(rules)

"""The rules, in a module for each subject (``C204`` in ``columns.py``); a rule's name is its id.

To add one, add a function that finds matches and a ``Rule`` to the module of its subject, and a fixture
``tests/review/rules/c204.yaml``; an id is never used again. Third parties use the entry-point group ``schemactl.rule``:
a module for each rule, which is called ``RULE`` there, under a name that begins with its id; such ids begin with ``Z``,
unlike the built-in ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from types import ModuleType

from schemactl.errors import InputError
from schemactl.registry import Registry, optional_attribute
from schemactl.review.rule import Rule

RULES: Registry[ModuleType] = Registry("rule", "schemactl.review.rules")
"""The modules that hold rules."""


def rule_ids() -> tuple[str, ...]:
    """Return the ids of all rules."""
    return tuple(rule.id for rule in all_rules())


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return all rules, by id."""
    return tuple(sorted((rule for name in RULES for rule in _rules_of(name)), key=lambda rule: rule.id))


def _rules_of(name: str) -> Iterator[Rule]:
    module = RULES[name]
    if module.__name__ == f"{__name__}.{name}":
        yield from (replace(rule, id=variable) for variable, rule in vars(module).items() if isinstance(rule, Rule))
        return
    rule_id, rule = name.partition("_")[0].upper(), optional_attribute(module, "RULE")
    if rule is None:
        raise InputError(f"the module that is installed as the rule `{name}` has no `RULE`")
    if rule.id not in ("", rule_id):
        hint = "let the name of the entry point begin with the rule's id, or leave `id` out"
        raise InputError(f"the rule installed as `{name}` has the id `{rule.id}`", hint=hint)
    yield replace(rule, id=rule_id)

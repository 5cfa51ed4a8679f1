"""The rules, one a file: ``c204_column_removed.py`` holds ``RULE``, whose id is the first part of the file's name.

To add one, write such a file and a fixture ``tests/review/rules/c204.yaml``. Third parties use the entry-point group
``schemactl.rule`` and ids that begin with ``Z``, which none here does.
"""

from __future__ import annotations

from schemactl.registry import Registry
from schemactl.review.rule import RuleModule

RULES: Registry[RuleModule] = Registry("rule", "schemactl.review.rules")
"""All rules by the names of their files."""

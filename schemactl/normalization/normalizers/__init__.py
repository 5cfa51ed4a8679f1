"""JSON normalizers: one module each, named as in a schema's ``normalizers.json.module`` (docs/dlt.md §5).

To add one, add a module ``NAME.py`` with a function ``plan(request) -> Plan``. One of your own may live anywhere:
name its module in the schema and admit it (`schemactl.registry`), or make it known as an entry point of the group
``schemactl.normalizer``.
"""

from __future__ import annotations

from typing import Protocol

from schemactl.normalization.plan import Plan
from schemactl.normalization.request import PlanRequest
from schemactl.registry import Registry


class Normalizer(Protocol):
    """What the module of a normalizer offers."""

    def plan(self, request: PlanRequest, /) -> Plan:
        """Return what the load makes of its documents."""


NORMALIZERS: Registry[Normalizer] = Registry("normalizer", "schemactl.normalization.normalizers")

"""dlt's normalizer without coercion: values of another type than their column go to a variant (docs/dlt.md §6.3)."""

from __future__ import annotations

from schemactl.normalization.plan import Plan
from schemactl.normalization.planner import plan_relational
from schemactl.normalization.request import PlanRequest


def plan(request: PlanRequest) -> Plan:
    """Return the plan of a load."""
    return plan_relational(request, coerces=False)

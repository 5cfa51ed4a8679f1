"""dlt's normalizer: nested objects become columns, lists become tables; values are coerced (docs/dlt.md §5, §6.3)."""

from __future__ import annotations

from schemactl.normalization.plan import Plan
from schemactl.normalization.planner import plan_relational
from schemactl.normalization.request import PlanRequest


def plan(request: PlanRequest) -> Plan:
    """Return the plan of a load."""
    return plan_relational(request, coerces=True)

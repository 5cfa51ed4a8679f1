"""dlt's normaliser: nested objects become columns, lists become tables; values are coerced (docs/dlt.md §5, §6.3)."""

from __future__ import annotations

from typing import Final

from schemactl.normalization.plan import Plan
from schemactl.normalization.planner import plan_relational
from schemactl.normalization.request import PlanRequest

GOES_BY_KINDS: Final = True
"""Plans depend on which kinds of values stand where, not on the values."""


def plan(request: PlanRequest) -> Plan:
    """Return the plan of a load.

    Raises:
        InputError: rows are to be found by a primary key, and a table has none.
    """
    return plan_relational(request, coerces=True)

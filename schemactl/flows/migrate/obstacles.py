"""Blockers of steps that do not depend on values: reported before the first step runs."""

from __future__ import annotations

from collections.abc import Sequence

from schemactl.destinations import Hindrance, MigrationSession
from schemactl.migration.steps import Step
from schemactl.migration.tracing import in_first_names


def find_obstacles(session: MigrationSession, steps: Sequence[Step]) -> dict[Hindrance, tuple[int, ...]]:
    """Return why steps cannot be done, before the first of them has run, each reason with the places of its steps."""
    found: dict[Hindrance, tuple[int, ...]] = {}
    for place, seen in enumerate(in_first_names(steps)):
        obstacle = session.obstacle(seen) if seen is not None else None
        if obstacle is not None:
            found[obstacle] = (*found.get(obstacle, ()), place)
    return found

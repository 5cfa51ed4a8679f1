"""What a step costs those who use the destination meanwhile, and whether it loses data."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from schemactl.migration.abilities import Lock, Way
from schemactl.migration.steps import DropColumn, DropTable, OnlineStep, Step, is_outside_transaction


class Risk(StrEnum):
    """What a step does to stored data and to others; from harmless to grave."""

    SAFE = "safe"
    BLOCKS = "blocks"
    """Writers wait while the rows are read."""
    REWRITES = "rewrites the table"
    """The rows are written anew; writers wait, on most engines readers too."""
    LOSES_DATA = "loses data"
    """Values are gone afterwards; only where it is allowed (``--allow-destructive``)."""


_OF_WAY: Final = {
    Way.IN_PLACE: Risk.SAFE,
    Way.NONE: Risk.SAFE,
    Way.SCAN: Risk.BLOCKS,
    Way.REWRITE: Risk.REWRITES,
    Way.COPY: Risk.REWRITES,
}


def risk_of(step: Step, way: Way, lock: Lock | None) -> Risk:
    """Return the risk of a step.

    A retype that may lose values is not destructive: it runs only where the data holds no such value. A step of an
    online plan that no reader or writer waits for is safe, however long it takes.
    """
    if isinstance(step, DropTable | DropColumn):
        return Risk.LOSES_DATA
    is_online = isinstance(step, OnlineStep) or is_outside_transaction(step)
    return Risk.SAFE if is_online and lock is not None and not lock.writers_wait else _OF_WAY[way]

"""Renders what a format, or a schema, cannot hold, in lines for a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from schemactl.formats import Loss
from schemactl.formats._losses import describe_loss
from schemactl.render.harmless import escape

_SHOWN: Final = 3


def print_losses(losses: Sequence[Loss], holder: str) -> str:
    """Return what is lost, nothing where nothing is."""
    by_property: dict[str, list[Loss]] = {}
    for loss in losses:
        by_property.setdefault(loss.what, []).append(loss)
    lines = []
    for found in by_property.values():
        shown, more = ", ".join(map(describe_loss, found[:_SHOWN])), len(found) - _SHOWN
        lines.append(f"not in {holder}: {escape(f'{shown} and {more} more' if more > 0 else shown)}\n")
    return "".join(lines)

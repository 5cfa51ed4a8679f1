"""Renders what a format, or a schema, cannot hold, in lines for a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from schemactl.formats import Loss
from schemactl.formats._losses import describe_loss
from schemactl.render.harmless import escape

_SHOWN: Final = 3


def print_losses(losses: Sequence[Loss], holder: str, *, is_verbose: bool = False) -> str:
    """Return what is lost, nothing where nothing is; of each kind the first ones, unless ``is_verbose``."""
    by_property: dict[str, list[Loss]] = {}
    for loss in losses:
        by_property.setdefault(loss.what, []).append(loss)
    lines = []
    for found in by_property.values():
        listed = found if is_verbose else found[:_SHOWN]
        shown, left = escape(", ".join(map(describe_loss, listed))), len(found) - len(listed)
        lines.append(f"not in {holder}: {shown}{f' and {left} more (--verbose lists all)' if left else ''}\n")
    return "".join(lines)

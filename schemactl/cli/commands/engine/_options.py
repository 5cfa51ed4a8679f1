"""Options of the commands about kept drivers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemactl.cli.options import CommonOptions, TextOrJson
from schemactl.cli.terminal import Terminal

if TYPE_CHECKING:
    from schemactl.engine.session.kept import KeptDriver
    from schemactl.render.console import Look


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions(CommonOptions):
    """The options of all of them."""

    format: TextOrJson = "text"


def print_drivers(
    drivers: tuple[KeptDriver, ...],
    render: Callable[[tuple[KeptDriver, ...], Look], str],
    options: EngineOptions,
    terminal: Terminal,
) -> None:
    """Print drivers in the form that the options ask for; ``render`` makes the text."""
    from schemactl.render.console import Look
    from schemactl.render.engine import drivers_document
    from schemactl.render.json import render_document

    if options.format == "json":
        terminal.write(render_document(drivers_document(drivers)))
    else:
        terminal.write(render(drivers, Look(terminal.width, terminal.color, is_quiet=options.quiet)))

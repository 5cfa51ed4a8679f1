"""Show the Spark processes that `--keep-spark` has left, and how long each still waits for a command.

Examples:
    # Show the processes
    schemactl engine status

    # Show them for a script
    schemactl engine status --format json
"""

from __future__ import annotations

from dataclasses import dataclass

from schemactl.cli.commands.engine._options import EngineOptions
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(EngineOptions):
    """Options of ``schemactl engine status``."""


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Print the drivers."""
    from schemactl.engine.session.kept import kept_drivers
    from schemactl.render.engine import drivers_document, print_status

    drivers = kept_drivers()
    write_report(terminal, options, lambda: drivers_document(drivers), lambda look: print_status(drivers, look))
    return ExitCode.DONE

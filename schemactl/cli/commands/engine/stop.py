"""End the Spark processes that `--keep-spark` has left; one that a command uses ends with that command.

Examples:
    # End the processes
    schemactl engine stop

    # End them without a word
    schemactl engine stop --quiet
"""

from __future__ import annotations

from dataclasses import dataclass

from schemactl.cli.commands.engine._options import EngineOptions
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(EngineOptions):
    """Options of ``schemactl engine stop``."""


def run(options: Options, terminal: Terminal) -> ExitCode:
    """End the drivers and print which."""
    from schemactl.engine.session.kept import stop_drivers
    from schemactl.render.engine import drivers_document, print_stopped

    drivers = stop_drivers()
    write_report(terminal, options, lambda: drivers_document(drivers), lambda look: print_stopped(drivers, look))
    return ExitCode.DONE

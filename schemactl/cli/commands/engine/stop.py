"""End the Spark processes that `--keep-spark` has left; one that a command uses ends with that command.

Examples:
    # End the processes
    schemactl engine stop

    # End them without a word
    schemactl engine stop --quiet
"""

from __future__ import annotations

from dataclasses import dataclass

from schemactl.cli.commands.engine._options import EngineOptions, print_drivers
from schemactl.cli.terminal import Terminal
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(EngineOptions):
    """Options of ``schemactl engine stop``."""


def run(options: Options, terminal: Terminal) -> ExitCode:
    """End the drivers and print which."""
    from schemactl.engine.session.kept import stop_drivers
    from schemactl.render.engine import print_stopped

    print_drivers(stop_drivers(), print_stopped, options, terminal)
    return ExitCode.DONE

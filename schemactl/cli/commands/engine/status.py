"""Show the Spark processes that `--keep-spark` has left, and how long each still waits for a command.

Examples:
    # Show the processes
    schemactl engine status

    # Show them for a script
    schemactl engine status --format json
"""

from __future__ import annotations

from dataclasses import dataclass

from schemactl.cli.commands.engine._options import EngineOptions, print_drivers
from schemactl.cli.terminal import Terminal
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(EngineOptions):
    """Options of ``schemactl engine status``."""


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Print the drivers."""
    from schemactl.engine.session.kept import kept_drivers
    from schemactl.render.engine import print_status

    print_drivers(kept_drivers(), print_status, options, terminal)
    return ExitCode.DONE

"""End the Spark processes that `--keep-spark` has left; one that a command uses ends with that command.

Examples:
    # End the processes
    schemactl engine stop

    # End them without a word
    schemactl engine stop --quiet
"""

from __future__ import annotations

from schemactl.cli.commands.engine import Options
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


def run(options: Options, terminal: Terminal) -> ExitCode:
    """End the drivers and print which."""
    from schemactl.engine.session.kept import stop_drivers
    from schemactl.render.engine import drivers_document, print_stopped

    drivers = stop_drivers()
    return write_report(terminal, options, drivers, drivers_document, print_stopped)

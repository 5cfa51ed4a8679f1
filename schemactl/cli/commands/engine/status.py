"""Show the Spark processes that `--keep-spark` has left, and how long each still waits for a command.

Examples:
    # Show the processes
    schemactl engine status

    # Show them for a script
    schemactl engine status --format json
"""

from __future__ import annotations

from schemactl.cli.commands.engine import Options
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Print the drivers."""
    from schemactl.engine.session.kept import kept_drivers
    from schemactl.render.engine import drivers_document, print_status

    drivers = kept_drivers()
    return write_report(terminal, options, drivers, drivers_document, print_status)

"""Opens Spark as the options say, for a command whose destination is a schema of a Spark catalog."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import TypeVar

from schemactl.cli.commands.migrate._options import MigrateOptions
from schemactl.cli.terminal import Terminal
from schemactl.errors import ExitCode

O = TypeVar("O", bound=MigrateOptions)  # noqa: E741 - it stands for options


def with_spark(run: Callable[[O, Terminal], ExitCode]) -> Callable[[O, Terminal], ExitCode]:
    """Return a command that runs in a session of Spark where its destination needs one: with the user's settings."""

    @wraps(run)
    def opened(options: O, terminal: Terminal) -> ExitCode:
        from schemactl.destinations import find_address

        address = find_address(options.to or "")
        if address is None or address[0] != "spark":
            return run(options, terminal)
        from schemactl.destinations.spark.address import read_address
        from schemactl.engine.session import open_session
        from schemactl.render.progress import show_progress

        if options.to is not None:
            read_address(options.to)  # a wrong one is reported before Spark starts
        with ExitStack() as shown:

            def notify(stage: str, fraction: float | None) -> None:
                # Only with a stage to report: the command has a line of progress of its own, which counts its steps.
                if not stage:
                    return
                report = shown.enter_context(show_progress(terminal.progress))
                if report is not None:
                    report(stage, fraction)

            with open_session(options.spark(), notify):
                return run(options, terminal)

    return opened

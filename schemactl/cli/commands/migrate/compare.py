r"""Compare two destinations: the schemas that their ledgers name, and their tables.

BASE and HEAD are addresses, or names that settings give them: `[destinations.staging]`. Nothing is written. The exit
code is 1 where they differ.

Examples:
    # Compare two databases
    schemactl migrate compare duckdb:///crm.duckdb duckdb:///crm.duckdb

    # Print how they differ for a script
    schemactl migrate compare duckdb:///crm.duckdb duckdb:///crm.duckdb \
        --format json
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from schemactl.cli.options import CommonOptions, Dest, TextOrJson
from schemactl.cli.terminal import Terminal
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    """Options of ``schemactl migrate compare``."""

    base: Annotated[str, typer.Argument(metavar="BASE", help="A destination, or its name."), Dest()]
    head: Annotated[str, typer.Argument(metavar="HEAD", help="The other one."), Dest()]
    format: TextOrJson = "text"


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Compare, and return 1 where they differ."""
    from schemactl.flows.migrate.compare import compare_destinations

    report = compare_destinations(options.base, options.head)
    if options.format == "json":
        from schemactl.render.json import render_document
        from schemactl.render.migrations import compared_document

        terminal.write(render_document(compared_document(report)))
    else:
        from schemactl.render.console import Look
        from schemactl.render.migrations import print_compared

        terminal.write(print_compared(report, Look(terminal.width, terminal.color, is_quiet=options.quiet)))
    return ExitCode.DONE if report.is_same else ExitCode.FINDINGS

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
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    """Options of ``schemactl migrate compare``."""

    base: Annotated[str, typer.Argument(metavar="BASE", help="A destination, or its name."), Dest()]
    head: Annotated[str, typer.Argument(metavar="HEAD", help="The other one."), Dest()]
    format: TextOrJson = "text"


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Compare, and return 1 where they differ."""
    from schemactl.flows.migrate.inspection import compare_destinations

    report = compare_destinations(options.base, options.head)
    from schemactl.render.migrate import print_compared
    from schemactl.render.migrate_json import document

    write_report(terminal, options, report, document, print_compared)
    return ExitCode.DONE if report.is_same else ExitCode.FINDINGS

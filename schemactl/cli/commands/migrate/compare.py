r"""Compare the ledger schemas and tables of two destinations.

BASE and HEAD are addresses, or names from the settings: `[destinations.staging]`. Writes nothing. Exits with 1 if the
destinations differ.

Examples:
    # Compare two databases
    schemactl migrate compare duckdb:///data.duckdb duckdb:///data.duckdb

    # Print the differences as JSON
    schemactl migrate compare duckdb:///data.duckdb duckdb:///data.duckdb \
        --format json
"""

from __future__ import annotations

from dataclasses import dataclass

from schemactl.cli.declarations import argument
from schemactl.cli.options import CommonOptions, text_or_json
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    base: str = argument("BASE", "A destination, or its name.", is_destination=True)
    head: str = argument("HEAD", "Another destination, or its name.", is_destination=True)
    format: str = text_or_json()


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Compare two destinations, and return 1 if they differ."""
    from schemactl.flows.migrate.inspection import compare_destinations

    report = compare_destinations(options.base, options.head)
    from schemactl.render.migrate import print_compared
    from schemactl.render.migrate_json import document

    return write_report(terminal, options, report, document, print_compared, fails=not report.is_same)

"""Show rejected records with file, line, reasons and repair.

Values are masked like all values (`--examples`).

Examples:
    # Show the first waiting records
    schemactl rejects show crm --to duckdb:///data.duckdb

    # Show the records of one file, as they are
    schemactl rejects show crm --file 'orders*.jsonl' --examples plain
"""

from __future__ import annotations

from dataclasses import dataclass

from schemactl.cli.commands.rejects._options import StateOptions, schema_name, with_spark
from schemactl.cli.declarations import option
from schemactl.cli.options import read_count
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(StateOptions):
    name: str = schema_name()
    limit: str = option("The maximum number of records to show.", metavar="N", default="20")


@with_spark
def run(options: Options, terminal: Terminal) -> ExitCode:
    """Print the records."""
    from schemactl.flows.rejects import show_rejects
    from schemactl.render.rejects import print_records, records_document

    limit = read_count(options.limit, "--limit")
    report = show_rejects(options.open_store(options.name), options.selection(), limit)
    return write_report(terminal, options, report, records_document, print_records)

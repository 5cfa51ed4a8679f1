"""List rejects by reason, table, column, load and file.

Each line counts the rejects of one reason, with the times of the first and the last reject and an example, masked
like all values (`--examples`). The list also counts records that cannot be replayed because they were not saved.

Examples:
    # List the waiting rejects of a database
    schemactl rejects list crm --to duckdb:///data.duckdb

    # List the typing rejects of this week as JSON
    schemactl rejects list crm --reason typing --since 7d --format json
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from schemactl.cli.commands.rejects._options import StateOptions, schema_name, with_spark
from schemactl.cli.options import text_or_json
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(StateOptions):
    name: str = schema_name()
    format: str = text_or_json(annotation=Literal["text", "json", "csv"])


@with_spark
def run(options: Options, terminal: Terminal) -> ExitCode:
    """Print the rejects by reason."""
    from schemactl.flows.rejects import list_rejects
    from schemactl.render.rejects import print_list, print_table, summary_document

    report = list_rejects(options.open_store(options.name), options.selection())
    return write_report(terminal, options, report, summary_document, print_list, lambda _: print_table(report))

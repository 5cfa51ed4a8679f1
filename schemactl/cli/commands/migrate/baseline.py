"""Take over a database that existed before: record that it has a schema, and change none of its tables.

REF is the schema that it has; where its tables are otherwise nothing is recorded, and the exit code is 1. Afterwards
`plan` knows what was removed from the schema on purpose, and a dlt pipeline finds the schema there.

Examples:
    # Record that a database has the schema `crm`
    schemactl migrate baseline crm --to duckdb:///data.duckdb

    # Record it without a question
    schemactl migrate baseline crm --to duckdb:///data.duckdb --yes
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemactl.cli.commands.migrate._options import WritingOptions, with_spark
from schemactl.cli.declarations import flag
from schemactl.cli.options import ref, text_or_json
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode

if TYPE_CHECKING:
    from schemactl.migration.reports import BaselineReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(WritingOptions):
    format: str = text_or_json()
    reference: str = ref("REF", "The schema that the database has.")
    force: bool = flag("Record it although the tables are otherwise.")


@with_spark
def run(options: Options, terminal: Terminal) -> ExitCode:
    """Record, print the outcome, and return 1 where the tables are otherwise."""
    from schemactl.flows.migrate.baseline import record_baseline
    from schemactl.render.migrate import print_baseline, print_recorded
    from schemactl.render.migrate_json import document

    def agree(report: BaselineReport) -> bool:
        return options.agree(terminal, "record this", print_baseline(report, terminal.look(options)))

    report = record_baseline(
        options.reference, options.to, options.schemas_folder, options.patience(), agree, is_forced=options.force
    )
    return write_report(terminal, options, report, document, print_recorded, fails=report.is_refused)

"""Record that an existing database already has this schema.

Changes no tables. If the tables do not match the schema REF, records nothing and exits with 1. Afterwards, `plan`
knows which tables and columns were removed from the schema on purpose, and dlt pipelines can keep loading.

Examples:
    # Record that a database has the schema `crm`
    schemactl migrate baseline crm --to duckdb:///data.duckdb

    # Record it without asking
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
    force: bool = flag("Record the schema even if the tables do not match.")


@with_spark
def run(options: Options, terminal: Terminal) -> ExitCode:
    """Record the schema, print the outcome, and return 1 if the tables differ from the schema."""
    from schemactl.flows.migrate.baseline import record_baseline
    from schemactl.render.migrate import print_baseline, print_recorded
    from schemactl.render.migrate_json import document

    def agree(report: BaselineReport) -> bool:
        return options.agree(terminal, "record this", print_baseline(report, terminal.look(options)))

    report = record_baseline(
        options.reference, options.to, options.schemas_folder, options.patience(), agree, is_forced=options.force
    )
    return write_report(terminal, options, report, document, print_recorded, fails=report.is_refused)

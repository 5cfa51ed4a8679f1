"""Delete the backups that destructive plans kept.

On PostgreSQL, a plan renames the tables that it drops to `_schemactl_old_VERSION_NAME`, so `rollback` can restore
them. A DuckDB or SQLite file is copied before a plan that loses data. `clean` lists these backups, asks, and deletes
them.

Examples:
    # List the backups, ask, and delete them
    schemactl migrate clean --to duckdb:///data.duckdb

    # Delete the backups without asking
    schemactl migrate clean --to duckdb:///data.duckdb --yes
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemactl.cli.commands.migrate._options import WritingOptions, with_spark
from schemactl.cli.options import text_or_json
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode

if TYPE_CHECKING:
    from schemactl.migration.reports import CleanReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(WritingOptions):
    format: str = text_or_json()


@with_spark
def run(options: Options, terminal: Terminal) -> ExitCode:
    """Drop the backups, and print them."""
    from schemactl.flows.migrate.clean import clean
    from schemactl.render.migrate import print_clean, print_kept
    from schemactl.render.migrate_json import document

    def agree(report: CleanReport) -> bool:
        return options.agree(terminal, "drop this for good", print_kept(report, terminal.look(options)))

    report = clean(options.to, options.patience(), agree)
    return write_report(terminal, options, report, document, print_clean, fails=report.is_refused)

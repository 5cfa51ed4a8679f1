"""Undo the last run, the last N steps, or every run after a schema.

Shows the undo steps from the ledger, and the steps that cannot be undone, before it asks. An interrupted run is
undone as far as it ran. Afterwards the ledger names the previous schema, so a dlt pipeline with the newer schema
makes its changes again. With --dir, the undo of custom SQL comes from the migration's folder; without --dir, a
migration with custom SQL is not undone.

Examples:
    # Undo the last run
    schemactl migrate rollback --to duckdb:///data.duckdb

    # Undo only the last step, without asking
    schemactl migrate rollback --to duckdb:///data.duckdb --steps 1 --yes
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from schemactl.cli.commands.migrate._options import FolderOptions, WritingOptions, with_spark
from schemactl.cli.declarations import argument, flag, option
from schemactl.cli.options import read_count, text_or_json
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode, InputError

if TYPE_CHECKING:
    from schemactl.migration.reports import RollbackReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(WritingOptions, FolderOptions):
    format: str = text_or_json()
    name: str | None = argument("[NAME]", "The schema's name, if the ledger has several.")
    steps: str | None = option("Undo the last N completed steps.", metavar="N")
    to_hash: str | None = option("Undo all runs after the schema with this hash or hash prefix.", metavar="HASH")
    allow_destructive: bool = flag("Allow undo steps that lose data loaded since the run.")


@with_spark
def run(options: Options, terminal: Terminal) -> ExitCode:
    """Undo, print the outcome, and return 1 if a blocker stops it."""
    from schemactl.flows.migrate.rollback import RollbackRequest, rollback
    from schemactl.render.migrate import print_rollback, print_rolled_back
    from schemactl.render.migrate_json import document
    from schemactl.render.progress import show_progress

    if options.steps is not None and options.to_hash is not None:
        raise InputError("`--steps` and `--to-hash` cannot be used together")
    request = RollbackRequest(
        name=options.name,
        to=options.to,
        steps=read_count(options.steps, "--steps") if options.steps is not None else None,
        to_hash=options.to_hash,
        allows_destructive=options.allow_destructive,
        patience=options.patience(),
        folder=Path(options.dir) if options.dir is not None else None,
        schemas=options.schemas_folder,
    )

    def agree(report: RollbackReport) -> bool:
        text = print_rollback(report, terminal.look(options))
        return options.agree(terminal, "undo these steps", text, loses_data=True)

    report = rollback(request, agree, lambda: show_progress(terminal.progress))
    return write_report(terminal, options, report, document, print_rolled_back, fails=report.is_refused)

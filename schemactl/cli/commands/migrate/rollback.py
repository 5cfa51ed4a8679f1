"""Undo the last run, the last steps, or all that came after a schema, by the undo steps of the ledger.

What is undone is shown before, with what cannot be. A run that was killed half-way is undone as far as it came.
Afterwards the schema from before is the ledger's again, so a dlt pipeline with the newer one makes its changes anew.
With --dir, what undoes a migration's own SQL is taken from its folder; without, such a migration is not undone.

Examples:
    # Undo the last run
    schemactl migrate rollback --to duckdb:///data.duckdb

    # Undo the last step alone, without a question
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
    name: str | None = argument("[NAME]", "The schema's name, where there are several.")
    steps: str | None = option("Undo the last N steps that are done.", metavar="N")
    to_hash: str | None = option("Undo all runs after this schema; the hash's beginning will do.", metavar="HASH")
    allow_destructive: bool = flag("Allow undo steps that lose what was loaded since.")


@with_spark
def run(options: Options, terminal: Terminal) -> ExitCode:
    """Undo, print the outcome, and return 1 if a blocker stops it."""
    from schemactl.flows.migrate.rollback import RollbackRequest, rollback
    from schemactl.render.migrate import print_rollback, print_rolled_back
    from schemactl.render.migrate_json import document
    from schemactl.render.progress import show_progress

    if options.steps is not None and options.to_hash is not None:
        raise InputError("`--steps` and `--to-hash` say two things", hint="use one of them")
    request = RollbackRequest(
        name=options.name,
        to=options.to,
        steps=read_count(options.steps, "--steps") if options.steps is not None else None,
        to_hash=options.to_hash,
        allows_destructive=options.allow_destructive,
        patience=options.patience(),
        folder=Path(options.dir) if options.dir is not None else None,
    )

    def agree(report: RollbackReport) -> bool:
        shown = print_rollback(report, terminal.look(options))
        return options.agree(terminal, "undo these steps", shown, loses_data=True)

    report = rollback(request, agree, lambda: show_progress(terminal.progress))
    return write_report(terminal, options, report, document, print_rolled_back, fails=report.is_refused)

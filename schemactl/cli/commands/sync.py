"""Take edited import files over, without data: what they state wins, what data brought stays.

Shows what changes and what goes, and asks before a column or table is dropped that data brought. Where only data can
say what becomes of a column nothing is written, and the exit code is 1: `schemactl infer` takes the edit over. With
--check nothing is written at all, and the exit code is 1 where an import file was edited and not taken over.

Examples:
    # Check in CI that no edit is pending
    schemactl sync --check

    # Take the edits of one schema over without a question
    schemactl sync crm --yes
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemactl.cli.declarations import argument, flag, option
from schemactl.cli.options import CommonOptions, complete_names, text_or_json
from schemactl.cli.terminal import Terminal, ask, write_report
from schemactl.errors import ExitCode

if TYPE_CHECKING:
    from schemactl.schema.import_merge import Synced


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    names: Sequence[str] = argument("[NAME...]", "Schemas; by default all.", completes=complete_names, default=[])
    check: bool = flag("Write nothing; exit with 1 where an edit is not taken over.")
    to: str | None = option(
        "Take back what this destination holds, and a dlt pipeline has lost in the export file.", metavar="DEST"
    )
    yes: bool = flag("Drop what the edit drops without asking.", short="-y")
    format: str = text_or_json()


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Apply edits, print the changes, and return 1 if one is not applied."""
    from schemactl.flows.sync import sync_schemas
    from schemactl.render.files import print_sync, question, sync_document

    def agree(planned: Sequence[Synced]) -> bool:
        shown = "" if options.yes else print_sync(planned, terminal.look(options))
        return ask(question(planned), shown, terminal, options, yes=options.yes)

    names, folder = tuple(options.names), options.schemas_folder
    synced = sync_schemas(names, folder, agree, is_check=options.check, to=options.to)
    is_pending = any(schema.is_pending and not schema.written for schema in synced)
    return write_report(terminal, options, synced, sync_document, print_sync, fails=is_pending)

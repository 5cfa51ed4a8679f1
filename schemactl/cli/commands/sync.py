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
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from schemactl.cli.completing import complete_names
from schemactl.cli.options import CommonOptions, TextOrJson
from schemactl.cli.terminal import Terminal, ask, write_report
from schemactl.errors import ExitCode

if TYPE_CHECKING:
    from schemactl.schema.import_merge import Synced


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    """Options of ``schemactl sync``."""

    names: Annotated[
        list[str],
        typer.Argument(metavar="[NAME...]", help="Schemas; by default all.", autocompletion=complete_names),
    ] = field(default_factory=list)
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 where an edit is not taken over.")
    ] = False
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="DEST",
            help="Take back what this destination holds, and a dlt pipeline has lost in the export file.",
        ),
    ] = None
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Drop what the edit drops without asking.")] = False
    format: TextOrJson = "text"


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Take edits over, print what changed, and return 1 where one is not taken over."""
    from schemactl.flows.sync import SyncRequest, sync_schemas
    from schemactl.render.files import print_sync, question, sync_document

    def agree(planned: Sequence[Synced]) -> bool:
        shown = "" if options.yes else print_sync(planned, terminal.look(options))
        return ask(question(planned), shown, terminal, options)

    request = SyncRequest(tuple(options.names), Path(options.schemas), options.check, options.to)
    found = sync_schemas(request, agree)
    write_report(terminal, options, found, sync_document, print_sync)
    is_pending = any(each.is_pending and not each.written for each in found)
    return ExitCode.FINDINGS if is_pending else ExitCode.DONE

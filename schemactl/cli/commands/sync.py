"""Apply import file edits without reading data.

Hints in the import file override the schema; columns and tables that come from data stay. Shows all changes, and asks
before it drops a column or table that came from data. If only data can decide the result for a column, writes nothing
and exits with 1; `schemactl infer` applies such an edit. With --check, writes nothing and exits with 1 if an import
file has unapplied edits.

Examples:
    # Check in CI that all edits are applied
    schemactl sync --check

    # Apply the edits of one schema without asking
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
    names: Sequence[str] = argument("[NAME...]", "Schemas. Default: all.", completes=complete_names, default=[])
    check: bool = flag("Write nothing; exit with 1 if an import file has unapplied edits.")
    to: str | None = option(
        "Restore tables and columns in this destination that a dlt pipeline dropped from the export file.",
        metavar="DEST",
    )
    yes: bool = flag("Drop columns and tables that the edit removes, without asking.", short="-y")
    format: str = text_or_json()


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Apply edits, print the changes, and return 1 if an edit is not applied."""
    from schemactl.flows.sync import sync_schemas
    from schemactl.render.files import print_sync, question, sync_document

    def agree(planned: Sequence[Synced]) -> bool:
        text = "" if options.yes else print_sync(planned, terminal.look(options))
        return ask(question(planned), text, terminal, options, yes=options.yes)

    names, folder = tuple(options.names), options.schemas_folder
    synced = sync_schemas(names, folder, agree, is_check=options.check, to=options.to)
    is_pending = any(schema.is_pending and not schema.written for schema in synced)
    return write_report(terminal, options, synced, sync_document, print_sync, fails=is_pending)

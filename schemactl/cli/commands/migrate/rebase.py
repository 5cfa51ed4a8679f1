"""Give migrations of a folder new numbers, where another branch was faster.

After a merge two migrations may have one number, or follow the same one. Those that are named move behind all others,
and are planned again from the schema that is before them now: their steps must stay what was reviewed. Without a name
those move that no other one follows. Migrations that were applied somewhere stay where they are: move the others.

Examples:
    # Move the migration of this branch behind those of the other
    schemactl migrate rebase migrations 0002_add_phone

    # Move those that no other one follows
    schemactl migrate rebase migrations
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from schemactl.cli.declarations import argument
from schemactl.cli.options import CommonOptions, migration_folder, text_or_json
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    dir: str = migration_folder()
    names: Sequence[str] = argument("[MIGRATION...]", "Those that move: `0007_add_amount`.", default=[])
    format: str = text_or_json()


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Renumber, and print the new numbers."""
    from schemactl.flows.migrate.migration_folder import rebase_folder

    report = rebase_folder(Path(options.dir), options.names)
    from schemactl.render.migrate import print_rebased
    from schemactl.render.migrate_json import rebased_document

    return write_report(terminal, options, report, rebased_document, print_rebased)

"""Renumber your migrations after another branch merged first.

After a merge, two migrations can have the same number or follow the same migration. `rebase` moves each MIGRATION to
the end and plans it again from the new previous schema; its steps must not change. Without names, it moves the
migrations that no other migration follows. Do not move migrations that are applied to a destination.

Examples:
    # Move one migration to the end
    schemactl migrate rebase migrations 0002_add_phone

    # Move the migrations that no other migration follows
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
    names: Sequence[str] = argument("[MIGRATION...]", "Migrations to move: `0007_add_amount`.", default=[])
    format: str = text_or_json()


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Renumber, and print the new numbers."""
    from schemactl.flows.migrate.migration_folder import rebase_folder

    report = rebase_folder(Path(options.dir), options.names)
    from schemactl.render.migrate import print_rebased
    from schemactl.render.migrate_json import rebased_document

    return write_report(terminal, options, report, rebased_document, print_rebased)

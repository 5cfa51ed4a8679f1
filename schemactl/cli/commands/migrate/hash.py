"""Rewrite a migrations folder's checksum file.

Use it after a merge, or after you delete the last migration. If a migration file was changed, writes nothing and
exits with 1.

Examples:
    # Rewrite the checksums after deleting the last migration
    schemactl migrate hash migrations

    # Rewrite the checksums and print problems as JSON
    schemactl migrate hash migrations --format json
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from schemactl.cli.options import CommonOptions, migration_folder, text_or_json
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    dir: str = migration_folder()
    format: str = text_or_json()


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Write the sum file; return 1 if a migration was changed."""
    from schemactl.flows.migrate.migration_folder import hash_folder

    report = hash_folder(Path(options.dir))
    from schemactl.render.migrate import print_checked
    from schemactl.render.migrate_json import document

    text = partial(print_checked, success="and their sums are written")
    return write_report(terminal, options, report, document, text, fails=report.problems)

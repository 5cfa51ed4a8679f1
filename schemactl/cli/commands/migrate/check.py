"""Check a migrations folder for changed, missing or misordered files.

Exits with 1 if a migration file was changed or is missing, if two migrations have the same number, or if a migration
does not follow the one before it. With --schema REF, the last migration must also produce that schema, so `check`
detects a schema change without a migration. Runs no migration and needs no destination.

Examples:
    # Check the files and their order
    schemactl migrate check migrations

    # Check in CI that the migrations also produce the schema `crm`
    schemactl migrate check migrations --schema crm
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from schemactl.cli.declarations import option
from schemactl.cli.options import ReviewOptions, complete_references, migration_folder, text_or_json
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(ReviewOptions):
    dir: str = migration_folder()
    schema: str | None = option(
        "The schema that the last migration must produce.",
        metavar="REF",
        completes=complete_references,
        is_reference=True,
    )
    format: str = text_or_json()


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Print the problems, and return 1 if there are any."""
    from schemactl.flows.migrate.migration_folder import check_folder

    report = check_folder(Path(options.dir), options.schema, options.schemas_folder)
    from schemactl.render.migrate import print_checked
    from schemactl.render.migrate_json import document

    return write_report(terminal, options, report, document, print_checked, fails=report.problems)

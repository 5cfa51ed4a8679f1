"""Check a folder of migrations: no file changed or missing, each follows the one before it, no number twice.

With --schema REF also that the last migration leads to that schema: a change of the schema without a migration is
found. Nothing of the folder is run, and no destination is needed. The exit code is 1 where something is wrong.

Examples:
    # Check that no file was changed, and no number is there twice
    schemactl migrate check migrations

    # Check in CI that the folder is sound and up to date
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
        "The schema that the last migration must lead to.",
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

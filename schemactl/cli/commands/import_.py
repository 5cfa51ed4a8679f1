"""Take schemas of other formats in: files, or the tables of a database, become the content of the schema NAME.

The next version of the schema is saved in the export folder (and in the import folder where there is none yet).
Where the stored schema's own contract forbids a change nothing is written, and the exit code is 1. With --check
nothing is written at all, and the exit code is 1 where the schema would change; with --dry-run it is 0.

Examples:
    # Make a schema of a JSON Schema
    schemactl import crm.json --from jsonschema --name contacts

    # Show what a data contract would change
    schemactl import crm.odcs.yaml --name crm --merge --dry-run
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from schemactl.cli.completing import complete_formats
from schemactl.cli.declarations import Setting, argument, flag, option
from schemactl.cli.options import CommonOptions, complete_names, sql_dialect, text_or_json
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    files: Sequence[str] = argument(
        "FILE...",
        "Files, `-` for standard input, or addresses of destinations; each brings tables of its own.",
        is_reference=True,
        default=[],
    )
    name: str = option("The schema's name.", metavar="NAME", completes=complete_names, is_required=True)
    model: str | None = option(
        "A Pydantic model that brings its table, or the tables of a union's variants. The module is imported: "
        "its code runs.",
        setting=Setting(in_file=False),
        metavar="MODULE:CLASS",
    )
    table: str | None = option("The model's table; by default named after its class.", metavar="TABLE")
    source: str | None = option(
        "The format to read; by default that of the file's name or content.",
        metavar="FORMAT",
        completes=complete_formats,
        word="--from",
    )
    dialect: str | None = sql_dialect(
        "Of SQL files, and of the types in dbt files", "`postgresql`; for dbt that of no one engine"
    )
    versions: Literal["latest", "all"] | None = option(
        "The versions of dbt models that become tables: the latest one, or each (`orders_v1`). By default the latest.",
    )
    check: bool = flag("Write nothing; exit with 1 where the schema would change.")
    dry_run: bool = flag("Write nothing; show what would change.")
    merge: bool = flag(
        "Whether tables and columns that no file brings stay. By default the files replace the schema.",
        word="--merge/--replace",
    )
    strict: bool = flag("Fail where a file says what a schema cannot.")
    format: str = text_or_json()


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Import, print the changes, and return 1 if they are forbidden or pending."""
    from schemactl.flows.import_ import ImportRequest, import_files
    from schemactl.render.losses import print_losses, print_names

    request = ImportRequest(
        files=tuple(options.files),
        source=options.source,
        name=options.name,
        schemas=options.schemas_folder,
        is_check=options.check or options.dry_run,
        is_merged=options.merge,
        is_strict=options.strict,
        model=options.model,
        table=options.table,
        dialect=options.dialect,
        versions=options.versions,
    )
    imported = import_files(request)
    if not options.quiet:
        terminal.report(print_losses(imported.losses, "the schema", is_verbose=options.verbose))
        terminal.report(print_names(imported.names, is_verbose=options.verbose))
    from schemactl.render.files import print_import, report_document

    return write_report(
        terminal,
        options,
        imported,
        report_document,
        lambda of, look: print_import(of.before, of.after, of.changes, of.violations, of.written, look),
        fails=imported.violations or (options.check and imported.changes_schema),
    )

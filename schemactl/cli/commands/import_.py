"""Import a schema from another format or a database.

Saves the next version of the schema NAME in the export folder, and in the import folder if it has no import file. If
the contract of the stored schema forbids a change, writes nothing and exits with 1. With --check, writes nothing and
exits with 1 if the schema would change; with --dry-run, exits with 0.

Examples:
    # Import a JSON Schema
    schemactl import crm.json --from jsonschema --name contacts

    # Preview the changes from a data contract
    schemactl import crm.odcs.yaml --name crm --merge --dry-run
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from schemactl.cli.completing import complete_formats, complete_namings
from schemactl.cli.declarations import Setting, argument, flag, option
from schemactl.cli.options import CommonOptions, complete_names, sql_dialect, text_or_json
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    files: Sequence[str] = argument(
        "FILE...",
        "Files, `-` for standard input, or addresses of destinations. Their tables become one schema.",
        is_reference=True,
        default=[],
    )
    name: str = option("The schema's name.", metavar="NAME", completes=complete_names, is_required=True)
    model: str | None = option(
        "A Pydantic model whose table to import, or the tables of its union variants. Importing the module "
        "runs its code.",
        setting=Setting(in_file=False),
        metavar="MODULE:CLASS",
    )
    table: str | None = option("The table of the model. Default: named after its class.", metavar="TABLE")
    source: str | None = option(
        "The format to read. Default: detected from file name and content.",
        metavar="FORMAT",
        completes=complete_formats,
        word="--from",
    )
    dialect: str | None = sql_dialect(
        "For SQL files and types in dbt files", "`postgresql`, or a generic dialect for dbt"
    )
    naming: str | None = option(
        "The naming convention of a new schema from a database: `direct` keeps the names of its tables and columns. "
        "Default: `snake_case`.",
        metavar="NAME",
        completes=complete_namings,
    )
    versions: Literal["latest", "all"] | None = option(
        "Which versions of dbt models become tables: the latest, or all (`orders_v1` ...). Default: latest."
    )
    check: bool = flag("Write nothing; exit with 1 if the schema would change.")
    dry_run: bool = flag("Write nothing; show what would change.")
    merge: bool = flag(
        "Keep tables and columns that the files do not contain, or remove them. Default: `--replace`.",
        word="--merge/--replace",
    )
    strict: bool = flag("Stop if a schema cannot express the whole file.")
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
        naming=options.naming,
    )
    imported = import_files(request)
    if not options.quiet:
        terminal.report(print_losses(imported.losses, "the schema", is_verbose=options.verbose))
        terminal.report(print_names(imported.names, imported.kept_by, is_verbose=options.verbose))
    from schemactl.render.files import print_import, report_document

    return write_report(
        terminal,
        options,
        imported,
        report_document,
        lambda of, look: print_import(of.before, of.after, of.changes, of.violations, of.written, look),
        fails=imported.violations or (options.check and imported.changes_schema),
    )

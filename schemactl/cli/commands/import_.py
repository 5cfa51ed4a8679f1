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

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from schemactl.cli.completing import complete_dialects, complete_formats, complete_names
from schemactl.cli.options import CommonOptions, Ref, Setting, TextOrJson
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    """Options of ``schemactl import``."""

    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Files, or addresses of destinations; each brings tables of its own."),
        Ref(),
    ] = field(default_factory=list)
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="The schema's name.", autocompletion=complete_names)
    ]
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="MODULE:CLASS",
            help="A Pydantic model that brings its table, or the tables of a union's variants. The module is imported: "
            "its code runs.",
        ),
        Setting(in_file=False),
    ] = None
    table: Annotated[
        str | None,
        typer.Option("--table", metavar="TABLE", help="The model's table; by default named after its class."),
    ] = None
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help="The format to read; by default that of the file's name or content.",
            autocompletion=complete_formats,
        ),
    ] = None
    dialect: Annotated[
        str | None,
        typer.Option(
            "--dialect",
            metavar="DIALECT",
            help="Of files of SQL: sqlglot's name for the engine, as `snowflake`; by default `postgres`.",
            autocompletion=complete_dialects,
        ),
    ] = None
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 where the schema would change.")
    ] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing; show what would change.")] = False
    merge: Annotated[
        bool,
        typer.Option(
            "--merge/--replace",
            help="Whether tables and columns that no file brings stay. By default the files replace the schema.",
        ),
    ] = False
    strict: Annotated[bool, typer.Option("--strict", help="Fail where a file says what a schema cannot.")] = False
    format: TextOrJson = "text"


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Import, print what changed, and return 1 where that is forbidden or pending."""
    from schemactl.flows.import_ import ImportRequest, import_files
    from schemactl.render.losses import print_losses

    request = ImportRequest(
        files=tuple(options.files),
        source=options.source,
        name=options.name,
        schemas=Path(options.schemas),
        is_check=options.check or options.dry_run,
        is_merged=options.merge,
        is_strict=options.strict,
        model=options.model,
        table=options.table,
        dialect=options.dialect,
    )
    imported = import_files(request)
    if not options.quiet:
        terminal.report(print_losses(imported.losses, "the schema"))
    from schemactl.render.files import import_document, print_import

    write_report(
        terminal,
        options,
        (imported.before, imported.after, imported.changes, imported.violations, imported.written),
        lambda shown: import_document(*shown),
        lambda shown, look: print_import(*shown, look),
    )
    is_pending = options.check and imported.changes_schema
    return ExitCode.FINDINGS if imported.violations or is_pending else ExitCode.DONE

"""Write a schema in another format, to standard output or to a file.

REF is NAME (the export folder's), import:NAME, export:NAME, a file, a folder, git:REV, git:REV:PATH, - for standard
input, or a destination: then the last schema that its ledger names, or the one of --hash. Files of older engine
versions are brought up to date, and the hash is that of the content.

Examples:
    # Print an Avro schema
    schemactl export crm --to avro

    # Write a data dictionary
    schemactl export crm --to html --output crm.html
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from schemactl.cli.completing import complete_dialects, complete_formats, complete_references
from schemactl.cli.options import CommonOptions, Group, Ref
from schemactl.cli.terminal import Terminal
from schemactl.errors import ExitCode, InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    """Options of ``schemactl export``."""

    reference: Annotated[
        str,
        typer.Argument(
            metavar="REF",
            help="The schema; a folder or revision of several with `--output DIR`.",
            autocompletion=complete_references,
        ),
        Ref(),
    ]
    to: Annotated[
        str, typer.Option("--to", metavar="FORMAT", help="The format to write.", autocompletion=complete_formats)
    ] = "dlt"
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE|DIR",
            help="Where to write; in a folder each schema gets a file of its name. A name that ends in `.json` asks "
            "for dlt's JSON.",
        ),
        Group.OUTPUT,
    ] = None
    version_hash: Annotated[
        str | None,
        typer.Option(
            "--hash", metavar="HASH", help="Of a destination: the schema of this hash; its beginning will do."
        ),
    ] = None
    tables: Annotated[
        bool,
        typer.Option("--tables", help="Of a destination: its tables as they are, not the schema of its ledger."),
    ] = False
    table: Annotated[
        str | None,
        typer.Option("--table", metavar="TABLE", help="This table alone, with the tables nested in it."),
    ] = None
    nested: Annotated[
        bool, typer.Option("--nested", help="Fold nested tables and columns `a__b` back into documents.")
    ] = False
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail where the format cannot say all that the schema does.")
    ] = False
    dialect: Annotated[
        str | None,
        typer.Option(
            "--dialect",
            metavar="DIALECT",
            help="With `--to sql`: sqlglot's name for the engine, as `snowflake`; by default `postgres`.",
            autocompletion=complete_dialects,
        ),
    ] = None
    foreign_keys: Annotated[
        bool, typer.Option("--foreign-keys", help="With `--to sql`: state references as foreign keys.")
    ] = False
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="FILE",
            help="With `--to arc`: CSV or TSV whose texts say which types and formatters columns have.",
        ),
    ] = None
    format: Annotated[
        Literal["text", "json"],
        typer.Option("--format", help="Changes nothing here: what is printed is the schema, as `--to` says."),
        Group.OUTPUT,
    ] = "text"


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Export; print the text where no file is named."""
    from schemactl.flows.export import ExportRequest, export
    from schemactl.render.losses import print_losses

    if options.version_hash is not None and options.tables:
        raise InputError("`--hash` and `--tables` say two things", hint="use one of them")
    request = ExportRequest(
        reference=options.reference,
        to=options.to,
        output=options.output or None,
        schemas=Path(options.schemas),
        version_hash=options.version_hash,
        takes_tables=options.tables,
        table=options.table,
        is_nested=options.nested,
        is_strict=options.strict,
        data=Path(options.data) if options.data else None,
        dialect=options.dialect,
        has_foreign_keys=options.foreign_keys,
    )
    for exported in export(request):
        if not options.quiet:
            terminal.report(print_losses(exported.losses, options.to))
        if exported.path is None:
            terminal.write(exported.text)
        elif not options.quiet:
            terminal.report(f"wrote {exported.path}\n")
    return ExitCode.DONE

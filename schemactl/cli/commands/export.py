"""Convert a schema to another format.

REF is NAME (from the export folder), import:NAME, export:NAME, a file, a folder, git:REV, git:REV:PATH, - for
standard input, or a destination: the latest schema in its ledger, or the schema with --hash. Files of older engine
versions are upgraded, and the version hash is recomputed from the content.

Examples:
    # Print an Avro schema
    schemactl export crm --to avro

    # Write a data dictionary
    schemactl export crm --to html --output crm.html
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from schemactl.cli.completing import complete_formats
from schemactl.cli.declarations import Group, flag, option
from schemactl.cli.options import STDOUT, ShownReadersOptions, ref, sql_dialect
from schemactl.cli.terminal import Terminal
from schemactl.errors import ExitCode, InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(ShownReadersOptions):
    reference: str = ref("REF", "The schema. A folder or a revision with several schemas needs `--output DIR`.")
    to: str = option("The format to write.", metavar="FORMAT", completes=complete_formats, default="dlt")
    output: str | None = option(
        "The output file, or a folder for one file per schema. A name that ends in `.json` selects JSON for "
        "`--to dlt`.",
        Group.OUTPUT,
        metavar="FILE|DIR",
        short="-o",
    )
    version_hash: str | None = option(
        "Of a destination: export the schema with this hash or hash prefix.", metavar="HASH", word="--hash"
    )
    tables: bool = flag("Of a destination: export the schema of its tables, not the schema in its ledger.")
    table: str | None = option("Export only this table and its nested tables.", metavar="TABLE")
    nested: bool = flag("Fold nested tables and `a__b` columns back into documents.")
    strict: bool = flag("Stop if the format cannot express the whole schema.")
    dialect: str | None = sql_dialect("With `--to sql` or `dbt`", "`postgresql`, or standard SQL for dbt")
    foreign_keys: bool = flag("With `--to sql`: write references as foreign keys.")
    data: str | None = option(
        "With `--to arc`: a CSV or TSV file whose values select types and formatters.", metavar="FILE"
    )
    format: Literal["text", "json"] = option(
        "Has no effect: the output is the schema in the format of `--to`.", Group.OUTPUT, default="text"
    )


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Export the schema; print it unless a file is named."""
    from schemactl.flows.export import ExportRequest, export
    from schemactl.render.losses import print_losses

    if options.version_hash is not None and options.tables:
        raise InputError("`--hash` and `--tables` cannot be used together")
    request = ExportRequest(
        reference=options.reference,
        to=options.to,
        output=None if options.output in ("", STDOUT) else options.output,
        schemas=options.schemas_folder,
        version_hash=options.version_hash,
        takes_tables=options.tables,
        table=options.table,
        is_nested=options.nested,
        is_strict=options.strict,
        data=Path(options.data) if options.data else None,
        dialect=options.dialect,
        has_foreign_keys=options.foreign_keys,
        readers=options.reader_sources(),
    )
    for exported in export(request):
        if not options.quiet:
            terminal.report(print_losses(exported.losses, options.to, is_verbose=options.verbose))
        if exported.path is None:
            terminal.write(exported.text)
        elif not options.quiet:
            terminal.report(f"wrote {exported.path}\n")
    return ExitCode.DONE

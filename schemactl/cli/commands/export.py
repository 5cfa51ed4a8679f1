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
from typing import Literal

from schemactl.cli.completing import complete_formats
from schemactl.cli.declarations import Group, flag, option
from schemactl.cli.options import STDOUT, CommonOptions, ref, sql_dialect
from schemactl.cli.terminal import Terminal
from schemactl.errors import ExitCode, InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    reference: str = ref("REF", "The schema; a folder or revision of several with `--output DIR`.")
    to: str = option("The format to write.", metavar="FORMAT", completes=complete_formats, default="dlt")
    output: str | None = option(
        "Where to write; in a folder each schema gets a file of its name. A name that ends in `.json` asks "
        "for dlt's JSON.",
        Group.OUTPUT,
        metavar="FILE|DIR",
        short="-o",
    )
    version_hash: str | None = option(
        "Of a destination: the schema of this hash; its beginning will do.", metavar="HASH", word="--hash"
    )
    tables: bool = flag("Of a destination: its tables as they are, not the schema of its ledger.")
    table: str | None = option("This table alone, with the tables nested in it.", metavar="TABLE")
    nested: bool = flag("Fold nested tables and columns `a__b` back into documents.")
    strict: bool = flag("Fail where the format cannot say all that the schema does.")
    dialect: str | None = sql_dialect("With `--to sql` or `dbt`", "`postgresql`; for dbt standard SQL")
    foreign_keys: bool = flag("With `--to sql`: state references as foreign keys.")
    data: str | None = option(
        "With `--to arc`: CSV or TSV whose texts say which types and formatters columns have.", metavar="FILE"
    )
    format: Literal["text", "json"] = option(
        "Changes nothing here: what is printed is the schema, as `--to` says.", Group.OUTPUT, default="text"
    )


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Export; print the text where no file is named."""
    from schemactl.flows.export import ExportRequest, export
    from schemactl.render.losses import print_losses

    if options.version_hash is not None and options.tables:
        raise InputError("`--hash` and `--tables` say two things", hint="use one of them")
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
    )
    for exported in export(request):
        if not options.quiet:
            terminal.report(print_losses(exported.losses, options.to, is_verbose=options.verbose))
        if exported.path is None:
            terminal.write(exported.text)
        elif not options.quiet:
            terminal.report(f"wrote {exported.path}\n")
    return ExitCode.DONE

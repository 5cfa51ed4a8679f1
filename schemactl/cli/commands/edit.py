"""Set hints in a schema's import file, keeping its comments.

If the schema has no import file, `edit` creates one from the export file. Next, `schemactl diff NAME` previews the
edit, and `schemactl sync NAME` applies it without data. `--naming` applies at once, to both files and the lineage;
`schemactl migrate` then renames tables and columns.

Examples:
    # Set the type of a column
    schemactl edit crm --column vip:text

    # Rename all tables and columns by another naming convention
    schemactl edit crm --naming direct
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from schemactl.cli.completing import complete_namings
from schemactl.cli.declarations import argument, option
from schemactl.cli.options import CommonOptions, complete_names, text_or_json
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode, InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    format: str = text_or_json()
    name: str = argument("NAME", "The schema to edit.", completes=complete_names)
    column: Sequence[str] = option(
        "Set a column's type and hints: `id:bigint,primary_key`, `lines.price:decimal(10,2)`. A type without "
        "a size removes the size. Repeatable.",
        metavar="NAME:TYPE,HINT",
        default=[],
    )
    table: str | None = option(
        "The table of columns without a table name. Default: the only root table.", metavar="TABLE"
    )
    write_disposition: Literal["append", "replace", "merge", "skip"] | None = option(
        "What a load does with existing rows."
    )
    contract: str | None = option(
        "Which schema changes data can make: a mode, or `tables=M,columns=M ...`.", metavar="C", is_joined=True
    )
    naming: str | None = option(
        "Rename tables and columns by another naming convention. Later data goes to the renamed tables and columns.",
        metavar="CONVENTION",
        completes=complete_namings,
    )


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Edit the import file, and print the changes."""
    from schemactl.flows.edit import edit_import
    from schemactl.render.files import print_edit, report_document
    from schemactl.schema.hints import Hints, parse_column

    has_hints = options.column or options.write_disposition or options.contract
    if not (has_hints or options.naming):
        raise InputError("nothing is stated", hint="`--column`, `--write-disposition`, `--contract` or `--naming`")
    if has_hints and options.naming:
        raise InputError("`--naming` stands alone", hint="state the rest in another call")
    edited = edit_import(
        options.name,
        options.schemas_folder,
        Hints(tuple(map(parse_column, options.column)), options.write_disposition),
        table=options.table,
        contract=options.contract,
        naming=options.naming,
    )
    return write_report(terminal, options, edited, report_document, print_edit)

"""State hints in the import file of the schema NAME, whose comments and form stay.

Where there is no import file yet, it begins as the schema of the export file. `schemactl diff NAME` then says what the
edit will do, and `schemactl sync NAME` takes it over without data. `--naming` is taken over at once, in both files and
in the lineage; `schemactl migrate` then renames tables and columns.

Examples:
    # State the type of a column, whatever the data says
    schemactl edit crm --column vip:text

    # Make all names anew by another convention, from where in the data they come
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
    name: str = argument("NAME", "The schema.", completes=complete_names)
    column: Sequence[str] = option(
        "What a column is: `id:bigint,primary_key`, `lines.price:decimal(10,2)`; a type without a size takes a size "
        "away. May be given more than once.",
        metavar="NAME:TYPE,HINT",
        default=[],
    )
    table: str | None = option("The table of hints that name none; by default the only root.", metavar="TABLE")
    write_disposition: Literal["append", "replace", "merge", "skip"] | None = option(
        "What a load does with the rows that are there."
    )
    contract: str | None = option(
        "What data may change: a mode, or `tables=M,columns=M ...`.", metavar="C", is_joined=True
    )
    naming: str | None = option(
        "Name tables and columns by another naming convention; what data comes later goes to the same ones.",
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

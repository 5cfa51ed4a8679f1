"""Edit a schema's import file, keeping its comments.

If the schema has no import file, `edit` creates one from the export file. Next, `schemactl diff NAME` previews the
edit, and `schemactl sync NAME` applies it without data. `--naming` applies at once, to both files and the lineage;
`schemactl migrate` then renames tables and columns.

All options but `--naming` combine: tables are added first, then hints unset, columns dropped, variants folded, tables
and columns renamed, hints set, and descriptions set. `TABLE.` can be left out if the schema has one root table. If a
name is unknown, `edit` suggests a similar one and, on a terminal, asks whether to use it.

Examples:
    # Set the type of a column
    schemactl edit crm --column vip:text

    # Rename a column, and drop another one that data added
    schemactl edit crm --rename full_name=name --drop balance
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from schemactl.cli.completing import complete_namings
from schemactl.cli.declarations import argument, flag, option
from schemactl.cli.options import CommonOptions, complete_names, text_or_json
from schemactl.cli.terminal import Terminal, agreeing, write_report
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
    rename: Sequence[str] = option(
        "Rename a column, or a table (`orders=sales`). Loads and migrations keep its values. Repeatable.",
        metavar="TABLE.OLD=NEW",
        default=[],
    )
    drop: Sequence[str] = option(
        "Drop a column, and exclude its key from later data. Repeatable.", metavar="TABLE.COLUMN", default=[]
    )
    fold: Sequence[str] = option(
        "Fold a variant column into its column, which gets a type that holds both; `schemactl migrate` moves the "
        "values. Repeatable.",
        metavar="TABLE.VARIANT",
        default=[],
    )
    fold_all: bool = flag(
        "Fold all variant columns of the schema, or of `--table`, unless only text would hold their values."
    )
    describe: Sequence[str] = option("Describe a column or table. Repeatable.", metavar="TABLE.COLUMN=TEXT", default=[])
    add_table: Sequence[str] = option(
        "Add a table; give its columns with `--column TABLE.NAME:TYPE`. Repeatable.", metavar="TABLE", default=[]
    )
    unset: Sequence[str] = option(
        "Remove hints of a column or table that the import file sets: `orders.amount:unique,description`; "
        "`schema_contract` removes what `--contract` set. Repeatable.",
        metavar="TABLE.COLUMN:HINT",
        default=[],
    )
    table: str | None = option(
        "The table of columns without a table name. Default: the only root table.", metavar="TABLE"
    )
    write_disposition: Literal["append", "replace", "merge", "skip"] | None = option(
        "What a load does with existing rows."
    )
    contract: str | None = option(
        "Which schema changes data can make: a mode, or `tables=M,columns=M ...`. `data_type=promote` makes columns "
        "wider instead of adding variant columns.",
        metavar="C",
        is_joined=True,
    )
    naming: str | None = option(
        "Rename tables and columns by another naming convention. Later data goes to the renamed tables and columns.",
        metavar="CONVENTION",
        completes=complete_namings,
    )


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Edit the import file, and print the changes."""
    from schemactl.flows.edit import edit_import, rename_by_convention
    from schemactl.render.files import print_edit, report_document
    from schemactl.schema.edits import Edits, split_description, split_rename, split_unset
    from schemactl.schema.hints import Hints, parse_column

    edits = Edits(
        tables=tuple(options.add_table),
        renames=tuple(map(split_rename, options.rename)),
        drops=tuple(options.drop),
        folds=tuple(options.fold),
        folds_all=options.fold_all,
        unset=tuple(map(split_unset, options.unset)),
        descriptions=tuple(map(split_description, options.describe)),
        hints=Hints(tuple(map(parse_column, options.column)), options.write_disposition),
        table=options.table,
        contract=options.contract,
    )
    has_edits = edits != Edits(table=options.table)
    if not (has_edits or options.naming):
        raise InputError("no changes given", hint="for example `--column`, `--rename`, `--drop` or `--describe`")
    if has_edits and options.naming:
        raise InputError("`--naming` cannot be combined with other changes", hint="make them in another call")
    if options.naming:
        edited = rename_by_convention(options.name, options.schemas_folder, options.naming)
    else:
        edited = edit_import(options.name, options.schemas_folder, edits, agreeing(terminal))
    return write_report(terminal, options, edited, report_document, print_edit)

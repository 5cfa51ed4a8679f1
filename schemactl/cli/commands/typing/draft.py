"""Draft types for the text columns of a source, and apply them to a schema.

For each text column, detects a type and patterns that fit all of its values: dates, timestamps, Booleans, numbers,
percentages, and money as decimals. Prints the types in the Arc format, or writes them to --output. --apply saves them
in the schema NAME, so `infer` and `normalize` type its text columns.

If day and month are ambiguous in all dates of a column, `draft` asks. Without a terminal it stops: set the order with
--dates.

Examples:
    # Write a draft to a file, to edit it and pass it to `--typing`
    schemactl typing draft fixtures/customers.csv --name crm -o crm.arc.json

    # Draft types for dates that begin with the day
    schemactl typing draft fixtures/customers.csv --name crm --dates day-first
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from schemactl.cli.declarations import argument, flag, option
from schemactl.cli.options import CommonOptions, complete_names, output_file, text_or_json
from schemactl.cli.terminal import Terminal, can_ask, choose, write_report
from schemactl.errors import ExitCode, InputError

if TYPE_CHECKING:
    from schemactl.arc.proposal import DateOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    source: str = argument("SOURCE", "A file, a folder or a pattern of CSV, TSV or JSON on this machine.")
    name: str = option("The schema's name.", metavar="NAME", completes=complete_names, is_required=True)
    table: str | None = option(
        "The table of the data. Default: the schema's only root table, or a table named after the source.",
        metavar="TABLE",
    )
    dates: Literal["day-first", "month-first"] | None = option("The order of day and month in dates.")
    apply: bool = flag("Save the types in the schema.")
    output: str | None = output_file()
    format: str = text_or_json()


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Draft, print or apply the types, and return 1 if the schema's contract forbids them."""
    from schemactl.arc.fields import Typing
    from schemactl.arc.proposal import DateOrder
    from schemactl.flows.typing import apply_typing, draft_typing
    from schemactl.render.typing import DraftReport, draft_document, print_draft
    from schemactl.schema.templates import check_name

    check_name(options.name)
    if options.apply and options.output:
        raise InputError("`--apply` and `--output` cannot be used together", hint="remove `--apply` to write a file")
    order = DateOrder(options.dates) if options.dates else None

    def ask_for_order(question: str) -> DateOrder:
        return DateOrder(choose(f"{question}: which comes first?", tuple(DateOrder), DateOrder.DAY_FIRST, terminal))

    drafted = draft_typing(options.source, order, ask_for_order if can_ask() else None)
    typing = Typing(tuple(column.field for column in drafted))
    imported = None
    if options.apply:
        imported = apply_typing(typing, options.source, options.name, options.table, options.schemas_folder)
    report = DraftReport(options.name, options.source, drafted, imported, options.output)
    if not options.quiet:
        terminal.report(report.exceptions + ("" if imported else report.next_step))
    violations = imported.violations if imported else ()
    return write_report(terminal, options, report, draft_document, print_draft, fails=violations, output=options.output)

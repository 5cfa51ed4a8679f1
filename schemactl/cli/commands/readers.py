"""List who reads each column: dbt models, SQL files, views.

A column is read, not read, or unknown, for example if a query has `select *` or cannot be parsed. The settings
declare sources as tables: `[[readers]]` with `kind = "sql"` and `where = "queries/**/*.sql"`.

Examples:
    # List the readers of a column
    schemactl readers customers.vip --readers 'sql:queries/*.sql?dialect=duckdb'

    # List the columns without readers
    schemactl readers --unread --readers sql:queries --format csv
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from schemactl.cli.declarations import CommandGroup, argument, flag, option
from schemactl.cli.options import ReadersOptions, text_or_json
from schemactl.cli.terminal import Terminal, write_in_formats
from schemactl.errors import ExitCode


@dataclass(frozen=True, kw_only=True)
class Options(ReadersOptions):
    command_group: ClassVar[CommandGroup] = CommandGroup.REVIEW

    name: str | None = argument("[TABLE[.COLUMN]]", "The table or column. Default: all.")
    reference: str = option(
        "The schemas. Default: all of the folder.", metavar="REF", word="--schema", default="import:", is_reference=True
    )
    unread: bool = flag("List only the columns without readers.")
    unknown: bool = flag("List only the columns with unknown readers.")
    format: str = text_or_json(annotation=Literal["text", "json", "csv"])


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Print the readers."""
    from schemactl.garbage_collection import paused_collector

    # The uses of a thousand files are gone before the collector would walk through them.
    with paused_collector():
        _print_readers(options, terminal)
    return ExitCode.DONE


def _print_readers(options: Options, terminal: Terminal) -> None:
    from schemactl.flows.readers import ReadersRequest, list_readers
    from schemactl.render.readers import print_readers, readers_csv, readers_document
    from schemactl.review.readers import Answer

    answers = [Answer.NOT_READ] if options.unread else []
    answers += [Answer.UNKNOWN] if options.unknown else []
    reports = list_readers(
        ReadersRequest(
            reference=options.reference,
            schemas=options.schemas_folder,
            sources=options.reader_sources(),
            name=options.name,
            answers=tuple(answers),
        )
    )

    def render(name: str, terminal: Terminal) -> str:
        if name == "json":
            from schemactl.render.json import render_document

            return render_document(readers_document(reports))
        return readers_csv(reports) if name == "csv" else print_readers(reports, terminal.look(options))

    write_in_formats(terminal, options, render)

"""Write a schema in another format, to standard output or to a file.

REF is NAME (the export folder's), import:NAME, export:NAME, a file, a folder, git:REV, git:REV:PATH, or - for
standard input. Files of older engine versions are brought up to date, and the hash is that of the content.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from schemactl.cli.options import CommonOptions
from schemactl.cli.terminal import Terminal
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    """What ``schemactl export`` can be told."""

    reference: Annotated[str, typer.Argument(metavar="REF", help="The schema, or several with `--output DIR`.")]
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help="The format: `dlt`.")] = "dlt"
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE|DIR",
            help="Where to write; in a folder each schema gets a file of its name. A name that ends in `.json` asks "
            "for dlt's JSON.",
        ),
    ] = None


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Export; print the text where no file is named."""
    from schemactl.flows.export import ExportRequest, export

    request = ExportRequest(options.reference, options.to, options.output or None, Path(options.schemas))
    for exported in export(request):
        if exported.path is None:
            terminal.write(exported.text)
        elif not options.quiet:
            terminal.tell(f"wrote {exported.path}\n")
    return ExitCode.DONE

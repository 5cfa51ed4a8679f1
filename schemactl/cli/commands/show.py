"""Show schemas at a glance: their tables as a tree of nesting, with columns, types and keys.

REF is NAME, a file, a folder, git:REV ... or a destination; by default all schemas of the folder, edited import files
taken over. dlt's own tables and columns are shown with --verbose.

Examples:
    # Show all schemas of the folder
    schemactl show

    # Show what a database has
    schemactl show duckdb:///crm.duckdb
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from schemactl.cli.completing import complete_references
from schemactl.cli.options import CommonOptions, Ref, TextOrJson
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    """Options of ``schemactl show``."""

    reference: Annotated[
        str | None,
        typer.Argument(metavar="[REF]", help="What to show.", autocompletion=complete_references),
        Ref(),
    ] = None
    lineage: Annotated[
        bool, typer.Option("--lineage", help="Show where in the data each table and column comes from.")
    ] = False
    format: TextOrJson = "text"


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Print the schemas."""
    from schemactl.flows.lineage import sources_beside
    from schemactl.flows.references import find_schemas
    from schemactl.render.schema_text import print_schemas, schemas_document
    from schemactl.schema.hash import bump
    from schemactl.store.folder import SchemasFolder

    referred = find_schemas(options.reference or "import:", SchemasFolder.at(Path(options.schemas)))
    found = [
        (bump(each.schema), each.origin, sources_beside(each.history, each.schema.name) if options.lineage else {})
        for each in referred
    ]
    write_report(terminal, options, found, schemas_document, print_schemas)
    return ExitCode.DONE

"""Show tables, columns, types and keys as a tree.

REF is NAME, a file, a folder, git:REV ... or a destination. The default is all schemas of the folder, with unapplied
import edits. --verbose adds dlt's own tables and columns.

Examples:
    # Show all schemas of the folder
    schemactl show

    # Show the tables of a database
    schemactl show duckdb:///data.duckdb
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from schemactl.cli.declarations import flag
from schemactl.cli.options import ShownReadersOptions, ref, text_or_json
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(ShownReadersOptions):
    reference: str | None = ref("[REF]", "The schema to show.")
    lineage: bool = flag("Show where in the data each table and column comes from.")
    format: str = text_or_json()


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Print the schemas."""
    from schemactl.flows.show import find_shown
    from schemactl.render.schema_text import print_schemas, schemas_document

    schemas = find_shown(options.reference or "import:", options.schemas_folder, has_lineage=options.lineage)
    readers = None
    if sources := options.reader_sources():
        from schemactl.flows.readers import show_readers

        readers = {schema.name: show_readers(sources, schema) for schema, _, _ in schemas}
    document = partial(schemas_document, readers=readers)
    return write_report(terminal, options, schemas, document, partial(print_schemas, readers=readers))

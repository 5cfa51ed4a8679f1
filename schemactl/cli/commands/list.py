"""List schemas and flag unapplied import edits.

Examples:
    # List the schemas of the folder
    schemactl list

    # Print the list as JSON
    schemactl list --format json
"""

from __future__ import annotations

from dataclasses import dataclass

from schemactl.cli.options import CommonOptions, text_or_json
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    format: str = text_or_json()


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Print a line for each schema."""
    from schemactl.flows.files import list_schemas
    from schemactl.render.schema_text import list_document, print_list

    listed_schemas = [(opened.schema, opened.is_pending) for opened in list_schemas(options.schemas_folder)]
    return write_report(terminal, options, listed_schemas, list_document, print_list)

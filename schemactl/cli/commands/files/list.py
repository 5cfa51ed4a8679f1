"""List the files that loads read.

Each line is a file in a load: the load ID and time, the file size, and the numbers of loaded documents and of rejects
in `_rejects`. A file is `reloaded` if a later load read it again, and `forgotten` after `schemactl files forget`.

Examples:
    # List all loaded files
    schemactl files list crm --to duckdb:///data.duckdb

    # List the files in a folder as JSON
    schemactl files list crm landing --to duckdb:///data.duckdb --format json
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schemactl.cli.commands.migrate._options import with_spark
from schemactl.cli.declarations import argument, option
from schemactl.cli.options import PastLoadsOptions, schema_name
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(PastLoadsOptions):
    name: str = schema_name()
    files: Sequence[str] = argument(
        "[GLOB...]", "Files, folders or patterns, like the sources of `normalize`. Default: all files.", default=[]
    )
    load_id: str | None = option("Only the files of this load.", metavar="ID")


@with_spark
def run(options: Options, terminal: Terminal) -> ExitCode:
    """Print the files."""
    from schemactl.flows.file_ledger import list_files
    from schemactl.render.loaded_files import print_files

    report = list_files(options.name, options.to, options.files, options.load_id)
    return write_report(terminal, options, report, lambda files: files.to_dict(), print_files)

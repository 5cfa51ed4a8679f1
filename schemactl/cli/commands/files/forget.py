"""Mark loaded files as new, so the next `normalize --new-only` loads them.

The rows of the files stay in the destination: delete them first, or load the files into a table with a key and
`write_disposition: merge`. `forget` shows the files and asks. `files list` shows them as `forgotten`.

Examples:
    # Load files again with the next `normalize --new-only`
    schemactl files forget crm 'landing/*' --to duckdb:///data.duckdb

    # Forget the files of a folder without asking
    schemactl files forget crm landing --to duckdb:///data.duckdb --yes
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schemactl.cli.commands.migrate._options import with_spark
from schemactl.cli.declarations import argument, flag
from schemactl.cli.options import PastLoadsOptions, schema_name
from schemactl.cli.terminal import Terminal, ask, write_report
from schemactl.errors import ExitCode
from schemactl.normalization.loaded_files import FilesReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(PastLoadsOptions):
    name: str = schema_name()
    files: Sequence[str] = argument("GLOB...", "Files, folders or patterns, like the sources of `normalize`.")
    yes: bool = flag("Do not ask.", short="-y")


@with_spark
def run(options: Options, terminal: Terminal) -> ExitCode:
    """Show the files, ask, and forget them; return 1 if the user does not agree."""
    from schemactl.flows.file_ledger import forget_files
    from schemactl.render.loaded_files import print_files, print_forgotten

    def agrees(report: FilesReport) -> bool:
        text = print_files(report, terminal.look(options))
        return ask("load these files again with the next `--new-only`", text, terminal, options, yes=options.yes)

    report = forget_files(options.name, options.to, options.files, agrees)
    return write_report(terminal, options, report, FilesReport.to_dict, print_forgotten, fails=report.is_declined)

"""Format schema files for dlt, keeping comments.

Adds missing keys and updates the engine version and the hash, so dlt can read a partial file that you wrote by hand.
With --check, writes nothing and exits with 1 if a file would change.

Examples:
    # Format all schemas of the folder
    schemactl fmt

    # Check one file and write nothing
    schemactl fmt --check schemas/import/crm.schema.yaml
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from schemactl.cli.declarations import argument, flag
from schemactl.cli.options import CommonOptions, text_or_json
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    files: Sequence[str] = argument("[FILE...]", "Schema files. Default: all files of the folder.", default=[])
    check: bool = flag("Write nothing; exit with 1 if a file would change.")
    format: str = text_or_json()


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Write the files; with ``--check``, return 1 if a file would change."""
    from schemactl.flows.files import format_files

    formatted_files = format_files(tuple(map(Path, options.files)), options.schemas_folder, is_check=options.check)
    from schemactl.render.files import format_document, print_format

    text = partial(print_format, is_check=options.check)
    fails = options.check and any(is_changed for _, is_changed in formatted_files)
    return write_report(terminal, options, formatted_files, format_document, text, fails=fails)

"""Check schema files: valid, their naming convention and normalizer known, no export file edited by hand.

The exit code is 1 where something is wrong. Reads no data and starts no Spark; a pre-commit hook runs it.

Examples:
    # Check all schemas of the folder
    schemactl check

    # Check the files of a commit, as the pre-commit hook does
    schemactl check schemas/import/crm.schema.yaml
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from schemactl.cli.declarations import argument
from schemactl.cli.options import ReviewOptions, text_or_json
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(ReviewOptions):
    files: Sequence[str] = argument("[FILE...]", "Schema files; by default all of the folder.", default=[])
    format: str = text_or_json()


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Print the problems, and return 1 if there are any."""
    from schemactl.flows.files import check_files

    checked_files = check_files(tuple(map(Path, options.files)), options.schemas_folder)
    from schemactl.render.files import check_document, print_check

    fails = any(problems for _, problems in checked_files)
    return write_report(terminal, options, checked_files, check_document, print_check, fails=fails)

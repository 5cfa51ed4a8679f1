"""Validate schema files, and detect hand-edited exports.

Checks the content, the naming convention and the normalizer of each file. Exits with 1 if a file has problems. Reads
no data and does not start Spark, so it can run as a pre-commit hook.

Examples:
    # Check all schemas of the folder
    schemactl check

    # Check one file, as the pre-commit hook does
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
    files: Sequence[str] = argument("[FILE...]", "Schema files. Default: all files of the folder.", default=[])
    format: str = text_or_json()


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Print the problems, and return 1 if there are any."""
    from schemactl.flows.files import check_files

    checked_files = check_files(tuple(map(Path, options.files)), options.schemas_folder)
    from schemactl.render.files import check_document, print_check

    fails = any(problems for _, problems in checked_files)
    return write_report(terminal, options, checked_files, check_document, print_check, fails=fails)

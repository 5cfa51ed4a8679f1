r"""Merge schema files of two branches by table and column.

Adds the changes of THEIRS since BASE to OURS, and keeps the comments of both. Recomputes the version and the hash;
`previous_hashes` contains the hashes of both branches. If both branches changed the same content, the output contains
both versions between conflict markers, and `merge` exits with 1.

Each of BASE, OURS and THEIRS is a file, `git:REV:PATH`, or a folder or `git:REV` with all its schema files. Prints
the merged text of a single file.

Examples:
    # Check in CI whether the branch merges with main
    schemactl merge git:main... git:HEAD git:main

    # Merge three versions of a file
    schemactl merge base.schema.yaml ours.schema.yaml theirs.schema.yaml \
      --output crm.schema.yaml
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from schemactl.cli.declarations import CommandGroup, Group, argument, option
from schemactl.cli.options import CommonOptions, complete_references, text_or_json
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    command_group: ClassVar[CommandGroup] = CommandGroup.SCHEMAS

    base: str = argument("BASE", "The version that both branches started from.", completes=complete_references)
    ours: str = argument("OURS", "Our version, to merge into.", completes=complete_references)
    theirs: str = argument("THEIRS", "The version of the other branch.", completes=complete_references)
    output: str | None = option(
        "Write the merged file to PATH, several files below the folder PATH.", Group.OUTPUT, metavar="PATH", short="-o"
    )
    format: str = text_or_json()


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Merge, write the texts, print changes and conflicts, and return 1 if anything conflicts."""
    from schemactl.flows.merge import merge_references, write_files
    from schemactl.render.merge import merge_document, print_merge

    merged, is_folder = merge_references(options.base, options.ours, options.theirs, options.schemas_folder)
    fails = not all(file.is_clean for file in merged)
    if options.output is not None:
        merged = write_files(merged, Path(options.output), is_folder=is_folder)
    elif not is_folder and options.format == "text":
        terminal.write(merged[0].text or "")
        terminal.report(print_merge(merged, terminal.look(options)))
        return ExitCode.FINDINGS if fails else ExitCode.DONE
    return write_report(terminal, options, merged, merge_document, print_merge, fails=fails)

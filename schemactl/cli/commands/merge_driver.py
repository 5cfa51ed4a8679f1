r"""Merge a schema file for git (its merge driver).

Git runs this command for schema files on `git merge`, `git rebase` and `git cherry-pick`.

`--install` sets it up: it adds lines to `.gitattributes`, which you commit, and configures this clone. Run it once
per clone, because git does not read commands from a repository. `schemactl init --git` does the same.

Git passes the files of the common ancestor and of both versions, the size of conflict markers, and the path (`%O %A
%B %L %P`). The result replaces OURS. Exits with 1 if the result contains conflict markers. A file that is not a
schema is merged line by line and counts as a conflict.

Examples:
    # Let git merge schema files by column in this clone
    schemactl merge-driver --install

    # Merge as git does: the result replaces ours.schema.yaml
    schemactl merge-driver base.schema.yaml ours.schema.yaml theirs.schema.yaml \
      7 schemas/import/crm.schema.yaml
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from schemactl.cli.declarations import CommandGroup, argument, flag
from schemactl.cli.options import CommonOptions, text_or_json
from schemactl.cli.terminal import Terminal, write_report
from schemactl.errors import ExitCode, InputError

LONGEST_MARKER: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(CommonOptions):
    command_group: ClassVar[CommandGroup | None] = None

    base: str | None = argument("[BASE]", "The common ancestor (`%O`); an empty file for a new schema.")
    ours: str | None = argument("[OURS]", "Our version (`%A`), which the result replaces.")
    theirs: str | None = argument("[THEIRS]", "Their version (`%B`).")
    marker_size: str | None = argument("[SIZE]", "The number of characters of a conflict marker (`%L`).")
    path: str | None = argument("[PATH]", "The path of the file in the repository (`%P`).")
    install: bool = flag("Set up git in this clone to call the driver.")
    format: str = text_or_json()


def run(options: Options, terminal: Terminal) -> ExitCode:
    """Merge a file in place and return 1 if conflicts are left, or set up git."""
    from schemactl.render.merge import driver_document, print_install, print_merge

    arguments = (options.base, options.ours, options.theirs, options.marker_size, options.path)
    if options.install:
        from schemactl.store.merge_driver import install_merge_driver

        if any(argument is not None for argument in arguments):
            raise InputError("`--install` takes no files", hint="`schemactl merge-driver --install`")
        written = tuple(map(os.path.relpath, install_merge_driver(options.schemas_folder)))
        return write_report(terminal, options, written, partial(driver_document, ()), print_install)
    base, ours, theirs, marker_size, path = arguments
    if base is None or ours is None or theirs is None or marker_size is None or path is None:
        message = "git passes five arguments: BASE OURS THEIRS SIZE PATH"
        raise InputError(message, hint="`schemactl merge-driver --install` sets up git to pass them")
    from schemactl.flows.merge import merge_for_git

    if not (marker_size.isascii() and marker_size.isdigit() and 0 < int(marker_size) <= LONGEST_MARKER):
        raise InputError(f"`{marker_size}` is not the size of a conflict marker", hint="git passes 7 by default (`%L`)")
    merged = (merge_for_git(Path(base), Path(ours), Path(theirs), int(marker_size), path, options.schemas_folder),)
    document = partial(driver_document, written=[ours])
    return write_report(terminal, options, merged, document, print_merge, fails=not merged[0].is_clean)

"""Register schemactl as git's merge driver and diff driver for the files of a schemas folder.

``.gitattributes``, which is committed, lists the files that the driver handles; the configuration of each clone, which
is not committed, has the command that runs it (gitattributes(5), "Defining a custom merge driver").
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from schemactl.errors import InputError
from schemactl.store.folder import ENDINGS, SchemasFolder
from schemactl.store.git import checked_output, find_repository, path_inside, run_git
from schemactl.store.text import read_text, replace_file

DRIVER: Final = "schemactl"
"""The driver's name in ``.gitattributes`` and in ``merge.NAME.driver``."""

ATTRIBUTES: Final = ".gitattributes"

_PLACEHOLDERS: Final = "%O %A %B %L %P"

_SPECIAL: Final = re.compile(r"[*?\[\]\\]")


def install_merge_driver(folder: SchemasFolder) -> tuple[str, ...]:
    """Let git merge the schema files and lineage files of a folder with ``schemactl merge-driver``.

    Adds lines to ``.gitattributes`` at the top of the repository, and the driver to the clone's configuration. Existing
    entries are kept.

    Returns:
        The files that changed: ``.gitattributes`` and git's configuration; empty if both were complete.
    """
    top = find_repository(folder.exports)
    for directory in dict.fromkeys((folder.imports, folder.exports)):
        path = path_inside(top, directory / "name.schema.yaml")
        driver = _git_output(top, "check-attr", "merge", "--", path).rpartition(": ")[2]
        if driver not in ("unspecified", DRIVER):
            message = f"git merges the schema files in `{directory}` with another driver: `merge={driver}`"
            raise InputError(message, hint=f"remove `merge` for these files from `{ATTRIBUTES}`")
    written = _add_attributes(top, _attribute_lines(top, folder))
    if _configure(top):
        written += (_configuration_file(top),)
    return written


def install_diff_driver(folder: SchemasFolder) -> tuple[str, ...]:
    """Let ``git diff`` show columns and types of schema files in place of lines, with ``schemactl diff --git``.

    Returns:
        The files that changed: ``.gitattributes`` and git's configuration; empty if both were complete.
    """
    top = find_repository(folder.exports)
    written = _add_attributes(top, [f"*.schema.{ending} diff={DRIVER}" for ending in ENDINGS])
    if not run_git(top, "config", "--get", f"diff.{DRIVER}.command").returncode:
        return written  # the user may have set it up for all repositories
    _git_output(top, "config", "--local", f"diff.{DRIVER}.command", "schemactl diff --git")
    return (*written, _configuration_file(top))


def _add_attributes(top: Path, lines: Sequence[str]) -> tuple[str, ...]:
    """Add lines to ``.gitattributes`` unless it has them, and return the file if it changed."""
    attributes = top / ATTRIBUTES
    text = read_text(attributes) if attributes.exists() else ""
    missing_lines = [line for line in lines if line not in text.splitlines()]
    if not missing_lines:
        return ()
    start = text if not text or text.endswith("\n") else f"{text}\n"
    replace_file(attributes, start + "".join(f"{line}\n" for line in missing_lines))
    return (str(attributes),)


def _attribute_lines(top: Path, folder: SchemasFolder) -> list[str]:
    """Return a line for each kind of file; patterns that begin with `/` match at the top of the repository."""
    kinds = ((folder.imports, "*.schema.*"), (folder.exports, "*.schema.*"), (folder.exports, "*.lineage.json"))
    patterns = (_pattern(path_inside(top, directory), files) for directory, files in kinds)
    return [f"{pattern} merge={DRIVER}" for pattern in dict.fromkeys(patterns)]


def _pattern(directory: str, files: str) -> str:
    literal = "" if directory == "." else _SPECIAL.sub(r"\\\g<0>", directory) + "/"
    pattern = f"/{literal}{files}"
    if not any(character.isspace() or character == '"' for character in pattern):
        return pattern
    # In quotes, git reads backslashes as C does.
    return '"' + pattern.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _configure(top: Path) -> bool:
    """Set the driver in the configuration of the clone, and return whether that changed it."""
    settings = {
        "name": "schemactl: merge schemas by table and column",
        "driver": _driver_command(),
        # Of several common ancestors git merges one first: a conflict there must not end up within a schema.
        "recursive": "binary",
    }
    has_changed = False
    for key, value in settings.items():
        name = f"merge.{DRIVER}.{key}"
        configured = run_git(top, "config", "--local", "--get", name).stdout
        if os.fsdecode(configured).removesuffix("\n") != value:
            _git_output(top, "config", "--local", "--replace-all", name, value)
            has_changed = True
    return has_changed


def _driver_command() -> str:
    """Return the shell command that git runs.

    Codes above 1 mean that schemactl is not installed any more or wrote nothing: for git a conflict, and the file would
    contain only our side. In this case git's own merge of lines writes the file.
    """
    # `-P`: modules in the working folder belong to the repository and are not imported.
    schemactl = f"{shlex.quote(sys.executable)} -P -m schemactl merge-driver {_PLACEHOLDERS}"
    git = "git merge-file -q --marker-size=%L -L ours -L base -L theirs %A %O %B"
    return f"{schemactl}; code=$?; if test $code -lt 2; then exit $code; fi; {git}"


def _configuration_file(top: Path) -> str:
    return str(top / _git_output(top, "rev-parse", "--git-path", "config"))


def _git_output(top: Path, *arguments: str) -> str:
    output = checked_output(f"git cannot set up the merge driver in `{top}`", top, *arguments)
    return os.fsdecode(output).removesuffix("\n")

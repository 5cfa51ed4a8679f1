"""Finds the settings that decide a review: the settings of the base or of a policy, never of the head.

A pull request that could set its own rules would pass every review. So with a git base the settings file comes from
that revision. A change to the file is reported (rule P001) and takes effect after the merge. The user's own file
belongs to no head: it fills in the settings that the repository leaves open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from schemactl.cli import settings
from schemactl.errors import InputError
from schemactl.store.git import find_repository, revision_of
from schemactl.store.links import real_path
from schemactl.store.revision import files_at

JUDGING: Final = ("compat", "fail-on", "readers", "severity", "silence", "transitive")
"""The settings of ``diff`` that a policy decides; the repository may decide the remaining settings."""


def files_for(base: str | None, policy: str | None = None) -> tuple[settings.SettingsFile, ...]:
    """Return the settings files that decide a review, strongest first; with a git base, no file of the head.

    ``base`` is the REF of the base, ``policy`` a file or ``git:REV``; None if the call leaves them out.
    """
    files = files_of(base)
    if policy is None:
        return files
    revision = revision_of(policy)
    if revision is None and not Path(policy).is_file():
        raise InputError(f"there is no file `{policy}` (`--policy`)")
    policy_files = (
        _files_at(revision) if revision is not None else tuple(filter(None, [settings.read_file(Path(policy))]))
    )
    if not policy_files:
        hint = "pass a settings file, or `git:REV` of a revision with a settings file"
        raise InputError(f"`{policy}` contains no settings (`--policy`)", hint=hint)
    return (*policy_files, *(replace(file, table=_without_judging(file.table)) for file in files))


def files_of(reference: str | None) -> tuple[settings.SettingsFile, ...]:
    """Return the settings files that hold with a REF: of git's revisions theirs, else the working folder's."""
    revision = revision_of(reference)
    return settings.find_files(Path.cwd()) if revision is None else (*_files_at(revision), *_own_files())


def _files_at(revision: str) -> tuple[settings.SettingsFile, ...]:
    """Return the settings file at a revision for the working folder; a file above the repository belongs to no head."""
    folder = Path.cwd()
    try:
        top = find_repository(folder)
    except InputError:
        # The schemas may lie in a repository below; then no file here is part of it.
        return tuple(filter(None, [settings.find_file(folder)]))
    candidate_paths = list(takewhile(lambda path: path.is_relative_to(top), settings.file_paths(folder)))
    folders = {path.relative_to(top).as_posix(): path.parent for path in candidate_paths}
    for text_file in files_at(revision, candidate_paths, settings.MAX_BYTES):
        path = str(text_file.path)
        text = text_file.text.removeprefix("\ufeff")
        file = settings.parse_file(text, text_file.path, folders[path.removeprefix(f"{revision}:")])
        if file is not None:
            return (file,)
    return tuple(filter(None, [settings.find_file(top.parent)]))


def _own_files() -> tuple[settings.SettingsFile, ...]:
    """Return the user's own settings file, unless it lies in the repository, where a head can change it."""
    file = settings.find_own_file()
    try:
        is_of_head = file is not None and real_path(file.path).is_relative_to(find_repository(Path.cwd()))
    except InputError:
        is_of_head = False
    return (file,) if file and not is_of_head else ()


def _without_judging(table: Mapping[str, Any]) -> dict[str, Any]:
    other_settings = {key: value for key, value in table.items() if key.replace("_", "-") not in JUDGING}
    return {key: _without_judging(value) if key == "diff" else value for key, value in other_settings.items()}

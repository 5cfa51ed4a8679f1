"""Names the place of a finding as CI systems know files: relative to the top of the repository, absolute outside."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from schemactl.errors import Location
from schemactl.review.report import Finding, Review

_REVISION: Final = re.compile(r"(?!\.)(?:[^:{]|\{[^}]*\})*:(?:[0-3]:)?(?P<path>.*)", re.DOTALL)
"""git's ``REV:PATH``, ``:PATH`` and ``:STAGE:PATH``; a revision may hold colons in braces: ``main@{10:00}``."""


def file_name(path: str) -> str | None:
    """Return a ``Location.path`` as CI systems name the file, None where it is no file.

    The top is the nearest folder above the working folder that holds ``.git``, else the working folder.

    Args:
        path: absolute, relative to the working folder, ``REV:PATH`` of git, ``<stdin>`` or a URL.
    """
    if path == "-" or (path.startswith("<") and path.endswith(">")):
        return None
    folder = Path.cwd()
    top = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)
    if not Path(path).is_absolute() and (revision := _REVISION.fullmatch(path)):
        path = revision["path"].replace("\\", "/")
        if not path or path.startswith("/"):
            return None
        # git takes paths of a revision from the top, unless they begin with a dot.
        folder = folder if path.startswith(("./", "../")) else top
    whole = Path(os.path.normpath(folder / path))
    return (whole.relative_to(top) if whole.is_relative_to(top) else whole).as_posix()


def stated_place(finding: Finding) -> Location | None:
    """Return where a finding stands in the head's file, None where the head is no file."""
    at = finding.location
    file = file_name(at.path) if at else None
    return Location(file, at.line, at.column) if at and file else None


def nearest_place(finding: Finding, review: Review) -> Location:
    """Return where a finding stands, for systems that demand a file for each.

    Without a place in the head's file it is the one in the base's, then the file of either side, then the name that
    dlt would give to the schema's file.
    """
    if place := stated_place(finding):
        return place
    at = finding.base_location
    if at and (file := file_name(at.path)):
        return Location(file, at.line, at.column)
    for version in (review.head, review.base):
        if version and (file := file_name(version.origin)):
            return Location(file)
    return Location(re.sub(r"[^\w.-]", "_", finding.schema) + ".schema.yaml")

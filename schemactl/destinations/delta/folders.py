"""Makes and removes the folders of Delta tables, whole or not at all, also where the process is killed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow
    from deltalake import CommitProperties

WORKSHOP: Final = ".schemactl-workshop"
"""A hidden folder of the dataset: tables are made there before they get their place, and go there to be removed."""


def make_table(place: Path, fields: Sequence[pyarrow.Field], mark: CommitProperties) -> None:
    """Make a table without rows, whole or not at all: a log that has no commit yet would be a broken table.

    Raises:
        OSError: its folder is there and not empty, or cannot be made.
        deltalake.exceptions.DeltaError: Delta cannot have such a table.
    """
    import pyarrow
    from deltalake import DeltaTable, Schema

    made = place.parent / WORKSHOP / place.name
    clear(made.parent)
    DeltaTable.create(str(made), Schema.from_arrow(pyarrow.schema(fields)), commit_properties=mark)
    os.replace(made, place)  # noqa: PTH105 - in one step, as files are replaced
    clear(made.parent)


def remove_table(place: Path) -> None:
    """Remove a table with its files; for readers it is gone at once.

    Raises:
        OSError: it cannot be removed.
    """
    going = place.parent / WORKSHOP / place.name
    clear(going.parent)
    going.parent.mkdir()
    os.replace(place, going)  # noqa: PTH105 - in one step, as files are replaced
    clear(going.parent)


def clear(folder: Path) -> None:
    """Remove a folder, if it is there."""
    if folder.exists():
        shutil.rmtree(folder)

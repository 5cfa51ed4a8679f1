"""Keeps the lineage of a schema beside its export file, across loads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from schemactl.normalization.lineage import ENDING, Lineage, from_json, lineage_of, merge, to_json
from schemactl.normalization.plan import Plan
from schemactl.store.folder import SchemasFolder
from schemactl.store.lock import locked_schemas
from schemactl.store.text import read_text, replace_file


def read_lineage(folder: SchemasFolder, name: str) -> Lineage:
    """Return the lineage of schema ``name``; nothing where there is no file.

    Raises:
        InputError: the file cannot be read, or is no lineage.
    """
    path = _path(folder, name)
    return from_json(read_text(path), str(path)) if path.exists() else Lineage()


def save_lineage(folder: SchemasFolder, name: str, plan: Plan) -> tuple[Lineage, tuple[str, ...]]:
    """Add what a plan says to the lineage of schema ``name``.

    Returns:
        The lineage of all loads so far, and the file where that is new.

    Raises:
        InputError: the file is no lineage, the folder is in use, or it cannot be written.
    """
    path = _path(folder, name)
    with locked_schemas(folder.root):
        earlier = read_lineage(folder, name)
        lineage = merge(earlier, lineage_of(plan))
        if lineage == earlier and path.exists():
            return lineage, ()
        replace_file(path, to_json(lineage))
    return lineage, (str(path),)


def _path(folder: SchemasFolder, name: str) -> Path:
    return folder.exports / f"{name}{ENDING}"


def describe_lineage(lineage: Lineage) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Return the source paths by table and column, for people."""
    return {
        name: {column: tuple(kinds) for column, kinds in table.columns.items()}
        for name, table in lineage.tables.items()
    }

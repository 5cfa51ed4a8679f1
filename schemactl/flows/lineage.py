"""Saves the lineage of a schema next to its export file, so that later commands can use it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from pathlib import Path

from schemactl.inference.lineage import ENDING, Lineage, Sources, from_json, merge, to_json
from schemactl.store.folder import SchemasFolder
from schemactl.store.lock import locked_schemas
from schemactl.store.text import PRIVATE_MODE, read_text, remove_leftovers, replace_file


def lineage_in(folder: Path, name: str) -> Lineage:
    """Return the lineage of schema ``name`` in a folder, empty if it has no file."""
    path = folder / f"{name}{ENDING}"
    return from_json(read_text(path), str(path)) if path.exists() else Lineage()


def sources_beside(file: Path | None, name: str) -> Sources:
    """Return the source paths of a schema's tables and columns from the lineage next to its file, if it exists."""
    return lineage_in(file.parent, name).sources if file else {}


def save_lineage(folder: SchemasFolder, name: str, lineages: Iterable[Lineage]) -> tuple[Lineage, tuple[str, ...]]:
    """Add the lineage of each root table's data to the lineage of schema ``name``.

    Returns:
        All lineage so far, and the file if it is new.
    """
    path, added = folder.exports / f"{name}{ENDING}", reduce(merge, lineages, Lineage())
    earlier = lineage_in(folder.exports, name)
    if path.exists() and merge(earlier, added) == earlier:
        return earlier, ()
    with locked_schemas(folder.root):
        remove_leftovers(folder.exports)
        lineage = merge(lineage_in(folder.exports, name), added)
        return lineage, write_lineage(folder, name, lineage)


def write_lineage(folder: SchemasFolder, name: str, lineage: Lineage) -> tuple[str, ...]:
    """Write the lineage of schema ``name``, and return the file, if there is any lineage."""
    if not lineage.tables:
        return ()
    path = folder.exports / f"{name}{ENDING}"
    replace_file(path, to_json(lineage), PRIVATE_MODE)
    return (str(path),)

"""Finds distinct names in the data that become one identifier, and numbers identifiers apart."""

from __future__ import annotations

from collections.abc import Iterable

from schemactl.errors import InputError
from schemactl.grouping import group_by
from schemactl.schema.naming import Naming

BLANK = "_empty"
"""The identifier of all blank names, whatever the convention (docs/dlt.md §4.3)."""


def find_collisions(names: Iterable[str], naming: Naming) -> dict[str, tuple[str, ...]]:
    """Return the identifiers that several names become, each with these names, in order of first appearance."""
    groups = group_by(dict.fromkeys(names), lambda name: naming.normalize_path(name) if name.strip() else BLANK)
    return {identifier: tuple(same) for identifier, same in groups.items() if len(same) > 1}


def numbered(identifier: str, number: int, naming: Naming) -> str:
    """Return ``identifier`` with a number at its end, within the longest identifier."""
    suffix = f"_{number}"
    room = (naming.max_length or len(identifier) + len(suffix)) - len(suffix)
    if room < 0:
        message = f"no unused identifier of {naming.max_length} characters for `{identifier}`"
        raise InputError(message, hint="allow longer identifiers, or rename the keys in the data")
    # `a_` and `_2` must not make a path of two parts
    return identifier[:room].rstrip("_") + suffix

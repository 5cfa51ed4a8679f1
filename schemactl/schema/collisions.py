"""Finds distinct names in the data that become one identifier, and gives each its own.

Scheme: the first name keeps the identifier ``id``; those after it get ``id_2``, ``id_3`` ..., in the order of
the names. An identifier that is taken already is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from schemactl.errors import InputError
from schemactl.schema.naming import Naming

BLANK = "_empty"
"""The identifier of all blank names, whatever the convention (docs/dlt.md §4.3)."""


def find_collisions(names: Iterable[str], naming: Naming, *, breaks_paths: bool = True) -> dict[str, tuple[str, ...]]:
    """Return the identifiers that several names become, each with these names, in order of first appearance.

    ``breaks_paths`` says whether ``__`` in a name is a path separator (``use_break_path_on_normalize``).
    """
    return {
        identifier: tuple(same)
        for identifier, same in _by_identifier(names, naming, breaks_paths).items()
        if len(same) > 1
    }


def resolve_collisions(names: Iterable[str], naming: Naming, *, breaks_paths: bool = True) -> dict[str, str]:
    """Return an identifier of its own for each name that collides with an earlier one.

    The order of the names decides who keeps the identifier; else it is all as in ``find_collisions``.

    Returns:
        New identifiers by source name, within the longest identifier.

    Raises:
        InputError: if a name cannot be shortened, or the longest identifier leaves no room for a number.
    """
    groups = _by_identifier(names, naming, breaks_paths)
    taken = set(groups)
    resolved: dict[str, str] = {}
    for identifier, same in groups.items():
        candidates = (numbered(identifier, number, naming) for number in count(2))
        for name in same[1:]:
            resolved[name] = next(candidate for candidate in candidates if candidate not in taken)
            taken.add(resolved[name])
    return resolved


def _by_identifier(names: Iterable[str], naming: Naming, breaks_paths: bool) -> dict[str, list[str]]:
    normalize = naming.normalize_path if breaks_paths else naming.normalize_identifier
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(normalize(name) if name.strip() else BLANK, []).append(name)
    return groups


def numbered(identifier: str, number: int, naming: Naming) -> str:
    """Return ``identifier`` with a number at its end, within the longest identifier.

    Raises:
        InputError: if the longest identifier leaves no room for the number.
    """
    suffix = f"_{number}"
    room = (naming.max_length or len(identifier) + len(suffix)) - len(suffix)
    if room < 0:
        raise InputError(
            f"no identifier of {naming.max_length} characters is free beside `{identifier}`",
            hint="allow longer identifiers, or rename the keys in the data",
        )
    # `a_` and `_2` must not make a path of two parts
    return identifier[:room].rstrip("_") + suffix

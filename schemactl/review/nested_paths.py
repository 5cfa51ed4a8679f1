"""Places inside columns: the names of fields, and a mark for what lists and maps hold."""

from __future__ import annotations

import json
import re
from typing import Final, TypeAlias

from schemactl.schema.nested_types import ListOf, MapOf, NestedType, Struct

INSIDE: Final = None
"""The step from a list to its elements, or from a map to its values; names are strings, so none is taken for it."""

FieldPath: TypeAlias = tuple[str | None, ...]
"""For example ``("lines", INSIDE, "price")``; the empty path is the column itself."""


def told_path(path: FieldPath) -> str:
    """Return a path as what follows a column's name; names that would be taken for paths stand in quotes.

    >>> told_path(("lines", INSIDE, "price"))
    '.lines[].price'
    >>> told_path(("lines.price",))
    '."lines.price"'
    """
    return "".join("[]" if step is INSIDE else f".{_told_name(step)}" for step in path)


_PATH_LIKE: Final = re.compile(r"""[.\[\]"]""")


def _told_name(name: str) -> str:
    return json.dumps(name, ensure_ascii=False) if _PATH_LIKE.search(name) or not name else name


def type_at(of: NestedType, path: FieldPath) -> NestedType | None:
    """Return the type at a path, None where there is none."""
    if not path:
        return of
    step, rest = path[0], path[1:]
    match of:
        case Struct(fields) if step is not INSIDE:
            inner = dict(fields).get(step)
        case ListOf(inner) | MapOf(inner) if step is INSIDE:
            pass
        case _:
            inner = None
    return None if inner is None else type_at(inner, rest)

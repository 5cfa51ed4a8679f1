"""Paths into nested data: the keys from the root of a document to a value, and a mark for "each element of a list"."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from schemactl.errors import InputError
from schemactl.schema.path_patterns import Path, parse_path

__all__ = ["ELEMENT", "Path", "format_path", "parse_keys", "row_path", "values_at"]

ELEMENT: Final = None
"""The step from a list to any of its elements; keys are strings, so no key can be taken for it."""

_PLAIN_KEY = re.compile(r"[^\W\d]\w*")


def format_path(path: Path) -> str:
    """Return ``path`` in the notation of JSONPath, for example ``$.payload.commits[*].sha`` or ``$['a.b']``.

    Source: RFC 9535 (JSONPath), the subset of child and wildcard segments.

    >>> format_path(("payload", "commits", ELEMENT, "a.b"))
    "$.payload.commits[*]['a.b']"
    """
    return "$" + "".join(_format_step(step) for step in path)


def _format_step(step: str | None) -> str:
    if step is ELEMENT:
        return "[*]"
    if _PLAIN_KEY.fullmatch(step):
        return f".{step}"
    # JSON's escapes are JSONPath's; only the quote differs.
    inner = json.dumps(step, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'")
    return f"['{inner}']"


def parse_keys(text: str) -> tuple[str, ...]:
    """Return the keys of a path without lists, in ``format_path``'s notation; ``$.`` may be left out.

    >>> parse_keys("meta.type"), parse_keys("$['a.b'].c")
    (('meta', 'type'), ('a.b', 'c'))

    Raises:
        InputError: it is no such path.
    """
    try:
        path = parse_path(text if text.startswith(("$.", "$[")) else f"$.{text}")
    except InputError:
        path = (ELEMENT,)
    keys = tuple(key for key in path if key is not ELEMENT)
    if len(keys) < len(path):
        raise InputError(f"`{text}` is no path to a field", hint="for example `type`, `meta.type` or `$['a.b']`")
    return keys


def row_path(path: Path) -> Path:
    """Return the part of ``path`` up to the innermost list, whose elements are rows; the document's where none is.

    >>> row_path(("orders", ELEMENT, "customer", "name"))
    ('orders', None)
    """
    ends = (end for end in range(len(path), 0, -1) if path[end - 1] is ELEMENT)
    return path[: next(ends, 0)]


def values_at(document: Any, path: Path) -> Iterator[Any]:
    """Yield the values at ``path`` of a document, in order."""
    if not path:
        yield document
        return
    step, rest = path[0], path[1:]
    if step is ELEMENT and isinstance(document, list):
        for element in document:
            yield from values_at(element, rest)
    elif step is not ELEMENT and isinstance(document, dict) and step in document:
        yield from values_at(document[step], rest)

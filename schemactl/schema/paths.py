"""Paths into nested data: the keys from the root of a document to a value; and patterns of paths, ``path:$.a[*].id``.

dlt treats such a pattern as the whole name of a column. No column has it, so dlt reads the file, and nothing follows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, Final

from schemactl.errors import InputError

PREFIX: Final = "path:"

Path = tuple[str | None, ...]
"""Keys from the root of a document to a value; ``ELEMENT`` is each element of a list."""

ELEMENT: Final = None
"""The step from a list to any of its elements; it cannot be confused with a key, because keys are strings."""


class _Any(Enum):
    KEY = ".*"


_PLAIN_KEY = re.compile(r"[^\W\d]\w*")
_QUOTES = re.compile(r'\\.|"')
_AS_JSON = {r"\'": "'", '"': r"\""}
_STEP = re.compile(r"\[\*\]|\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]")


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A compiled pattern of paths; ``text`` is its form in the schema."""

    text: str
    _steps: tuple[str | _Any | None, ...]

    def is_at(self, path: Path) -> bool:
        """Return whether it names this very path."""
        return len(path) == len(self._steps) and self.is_at_or_above(path)

    def is_at_or_above(self, path: Path) -> bool:
        """Return whether it names this path, or an object or a list around it."""
        return len(path) >= len(self._steps) and self._begins_as(path)

    def is_below(self, path: Path) -> bool:
        """Return whether the pattern matches values inside the object or list at a path."""
        return len(path) < len(self._steps) and self._begins_as(path)

    def _begins_as(self, path: Path) -> bool:
        return all(
            step == path_step or (step is _Any.KEY and path_step is not None)
            for step, path_step in zip(self._steps, path, strict=False)
        )


@lru_cache(maxsize=4096)
def compile_path(pattern: str) -> PathPattern:
    """Compile a pattern of paths: JSONPath with keys, ``[*]`` for the elements of a list, and ``.*`` for any key."""
    steps = _steps(pattern.removeprefix(PREFIX))
    return PathPattern(pattern, tuple(_Any.KEY if step == _Any.KEY.value else _key(step) for step in steps))


def parse_path(text: str) -> Path:
    """Return the path that ``format_path`` has written.

    >>> parse_path("$.orders[*]['a.b']")
    ('orders', None, 'a.b')
    """
    return tuple(_key(step) for step in _steps(text))


def _steps(text: str) -> list[str]:
    steps: list[str] = []
    end = 1
    while end < len(text) and (match := _STEP.match(text, end)):
        steps.append(match[0])
        end = match.end()
    if not text.startswith("$") or end < len(text):
        hint = "for example `$.orders[*].id`, `$.meta.*` or `$['a.b']`"
        raise InputError(f"`{text}` is not a path in the data", hint=hint)
    return steps


def _key(step: str) -> str | None:
    if step == "[*]":
        return None
    if step.startswith("."):
        return step[1:]
    # JSON's escapes are JSONPath's; only the quote differs.
    inner = _QUOTES.sub(lambda match: _AS_JSON.get(match[0], match[0]), step[2:-2])
    try:
        key: str = json.loads(f'"{inner}"', strict=False)
    except ValueError as error:
        raise InputError(f"`{step}` is not a key of a path: {error}") from error
    return key


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
    """
    try:
        path = parse_path(text if text.startswith(("$.", "$[")) else f"$.{text}")
    except InputError:
        path = (ELEMENT,)
    keys = tuple(key for key in path if key is not ELEMENT)
    if len(keys) < len(path):
        raise InputError(f"`{text}` is not a path to a field", hint="for example `type`, `meta.type` or `$['a.b']`")
    return keys


def row_path(path: Path) -> Path:
    """Return the part of ``path`` up to the innermost list, whose elements are rows; empty without a list.

    >>> row_path(("orders", ELEMENT, "customer", "name"))
    ('orders', None)
    """
    return path[: next((end for end in range(len(path), 0, -1) if path[end - 1] is ELEMENT), 0)]


def values_at(document: Any, path: Path) -> Iterator[Any]:
    """Yield the values at ``path`` of a document, in order."""
    if not path:
        yield document
        return
    step, remainder = path[0], path[1:]
    if step is ELEMENT and isinstance(document, list):
        for element in document:
            yield from values_at(element, remainder)
    elif step is not ELEMENT and isinstance(document, dict) and step in document:
        yield from values_at(document[step], remainder)

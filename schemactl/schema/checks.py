"""What a value of a stored schema must be: the checks that ``schema.validation`` puts its sections together from.

A check yields what is wrong and where; it neither raises nor repairs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from schemactl.errors import InputError, did_you_mean
from schemactl.schema.coercion import INT64, UINT64_LIMIT
from schemactl.schema.path_patterns import PREFIX, compile_path
from schemactl.schema.templates import MAX_NAME_LENGTH

Keys = tuple[str | int, ...]
"""The way from the top of a document to a value: keys of mappings, positions (from 0) in lists."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong in a stored schema.

    Attributes:
        keys: where; of a key that is missing, the mapping that misses it.
    """

    keys: Keys
    message: str
    hint: str | None = None


Check = Callable[[Any, Keys], Iterator[Finding]]

_MAPPING = (dict, Mapping)
"""Asking the abstract class alone is slow, and nearly all mappings are dicts."""


def text(value: Any, keys: Keys) -> Iterator[Finding]:
    """Check that a value is text."""
    if not isinstance(value, str):
        hint = None if isinstance(value, (Mapping, list)) or value is None else "put it in quotes"
        yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not text", hint)


def integer(value: Any, keys: Keys) -> Iterator[Finding]:
    """Check that a value is an integer to Python, bools among them: dlt asks no more."""
    if not isinstance(value, int):
        unquoted = isinstance(value, str) and re.fullmatch(r"[-+]?\d+", value)
        hint = f"write `{value}` without quotes" if unquoted else None
        yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not a whole number", hint)


def count(value: Any, keys: Keys) -> Iterator[Finding]:
    """Check that a value is a whole number and no bool."""
    # To Python, and so to dlt, a bool is an int; as a version it would be nonsense.
    if isinstance(value, bool):
        yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not a whole number")
    else:
        yield from integer(value, keys)


def size(value: Any, keys: Keys) -> Iterator[Finding]:
    """Check a number of bits, digits or characters."""
    if isinstance(value, int) and not isinstance(value, bool) and value < 0:
        yield Finding(keys, f"{_named(keys)} is {_shown(value)}, and no size is less than 0")
    else:
        yield from integer(value, keys)


def boolean(value: Any, keys: Keys) -> Iterator[Finding]:
    """Check that a value is true or false."""
    if not isinstance(value, bool):
        yield Finding(
            keys, f"{_named(keys)} is {_shown(value)}, not true or false", "write `true` or `false`, no quotes"
        )


def anything(_value: Any, _keys: Keys) -> Iterator[Finding]:
    """Let any value through."""
    return iter(())


def schema_name(value: Any, keys: Keys) -> Iterator[Finding]:
    """Check a schema's name: an identifier of limited length."""
    if isinstance(value, str) and not (value.isidentifier() and len(value) <= MAX_NAME_LENGTH):
        hint = f"letters, digits and `_`, no digit first, at most {MAX_NAME_LENGTH} characters"
        yield Finding(keys, f"{_shown(value)} cannot name a schema", hint)
    else:
        yield from text(value, keys)


def pattern(value: Any, keys: Keys) -> Iterator[Finding]:
    """Check dlt's SimpleRegex, a name, or ``re:`` and a regular expression; or ``path:`` and a path in the data."""
    if isinstance(value, str) and value.startswith(("re:", PREFIX)):
        yield from prefixed(value, keys)
    elif isinstance(value, str) and re.match(r"[^a-zA-Z\d_]", value):
        yield Finding(keys, f"{_shown(value)} looks like a regular expression", f"write `re:{value}`")
    else:
        yield from text(value, keys)


def prefixed(value: str, keys: Keys) -> Iterator[Finding]:
    """Check the regular expression after ``re:``, and the path after ``path:``; any other text is a name."""
    try:
        if value.startswith(PREFIX):
            compile_path(value)
        elif value.startswith("re:"):
            re.compile(value.removeprefix("re:"))
    except InputError as error:
        yield Finding(keys, error.message, error.hint)
    except (re.error, OverflowError, RecursionError) as error:
        yield Finding(keys, f"{_shown(value)} is no regular expression: {error}")


def one_of(*known: str, synonyms: Mapping[str, str] | None = None) -> Check:
    """Make the check of a value that is one of a few words; ``synonyms`` are words of others for the known ones."""

    def checked(value: Any, keys: Keys) -> Iterator[Finding]:
        if isinstance(value, str) and value in known:
            return
        name = value.lower() if isinstance(value, str) else ""
        meant = name if name in known else (synonyms or {}).get(name)
        near = f"did you mean `{meant}`?" if meant else did_you_mean(name, known)
        yield Finding(keys, f"{_named(keys)} is {_shown(value)}", near or "one of " + ", ".join(known))

    return checked


def or_null(inner: Check) -> Check:
    """Make the check that also lets null through."""
    return lambda value, keys: iter(()) if value is None else inner(value, keys)


def list_of(item: Check) -> Check:
    """Make the check of a list of such items."""

    def checked(value: Any, keys: Keys) -> Iterator[Finding]:
        if not isinstance(value, list):
            yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not a list")
            return
        for position, element in enumerate(value):
            yield from item(element, (*keys, position))

    return checked


def map_of(item: Check, key: Check | None = None) -> Check:
    """Make the check of a mapping to such items, whose own keys ``key`` checks."""

    def checked(value: Any, keys: Keys) -> Iterator[Finding]:
        if not isinstance(value, _MAPPING):
            yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not a mapping")
            return
        yield from _keys_are_text(value, keys)
        for name, element in value.items():
            if key and isinstance(name, str):
                yield from key(name, (*keys, name))
            yield from item(element, (*keys, name))

    return checked


def _keys_are_text(value: Mapping[Any, Any], keys: Keys) -> Iterator[Finding]:
    for name in value:
        if not isinstance(name, str):
            hint = "put it in quotes: YAML reads it as something else than text"
            yield Finding((*keys, name), f"the key {_shown(name)} in {_named(keys)} is not text", hint)


def record(
    fields: Mapping[str, Check],
    required: Mapping[str, str] | None = None,
    gone: Mapping[str, str] | None = None,
    own_keys: bool = True,
) -> Check:
    """Make the check of a mapping with known keys.

    Args:
        fields: known keys and the checks of their values.
        required: keys that must be there, each with a hint of what to write.
        gone: keys of older engine versions, each with a hint of what stands in their place.
        own_keys: whether keys that start with ``x-`` are let through.
    """

    def checked(value: Any, keys: Keys) -> Iterator[Finding]:
        if not isinstance(value, _MAPPING):
            yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not a mapping")
            return
        for missing in (name for name in required or {} if name not in value):
            yield Finding(keys, f"`{missing}` is missing in {_named(keys)}", (required or {})[missing])
        yield from _keys_are_text(value, keys)
        for name, element in value.items():
            if name in fields:
                yield from fields[name](element, (*keys, name))
            elif isinstance(name, str) and not (own_keys and name.startswith("x-")):
                own = "keys of your own start with `x-`" if own_keys else None
                hint = (gone or {}).get(name) or did_you_mean(name, fields) or own
                yield Finding((*keys, name), f"unknown key `{name}` in {_named(keys)}", hint)

    return checked


def storable(value: Any, keys: Keys) -> Iterator[Finding]:
    """Find what neither dlt's hash nor a file can hold."""
    match value:
        case str():
            if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
                yield Finding(keys, f"{_named(keys)} holds half a surrogate pair, which is no character")
        case bool():
            return
        case int():
            if not INT64.start <= value < UINT64_LIMIT:
                yield Finding(keys, f"{_named(keys)} does not fit 64 bits", "put it in quotes")
        case dict() | Mapping():
            yield from _storable_parts(value, keys)
        case list():
            for position, element in enumerate(value):
                yield from storable(element, (*keys, position))


def _storable_parts(value: Mapping[Any, Any], keys: Keys) -> Iterator[Finding]:
    for name, element in value.items():
        # Texts in ASCII and booleans are nearly all of a schema; a generator for each would take most of the time.
        if not (isinstance(name, str) and name.isascii()):
            yield from storable(name, (*keys, name))
        if not (isinstance(element, bool) or (isinstance(element, str) and element.isascii())):
            yield from storable(element, (*keys, name))


def _named(keys: Keys) -> str:
    """Return how a message calls the place: its key, with what it belongs to where that helps."""
    match keys:
        case ():
            return "the schema"
        case ("tables", table):
            return f"the table `{_clean(table)}`"
        case ("tables", table, "columns", column):
            return f"the column `{_clean(table)}.{_clean(column)}`"
        case (*_, str(owner), int(position)):
            return f"`{_clean(owner)}[{position}]`"
        case _:
            return f"`{_clean(keys[-1])}`"


def _shown(value: Any) -> str:
    match value:
        case None:
            return "null"
        case Mapping():
            return "a mapping"
        case list():
            return "a list"
        case "":
            return "empty"
        case bool():
            return f"`{str(value).lower()}`"
        case int() if not INT64.start <= value < UINT64_LIMIT:
            return "a number beyond 64 bits"
        case _:
            return f"`{_clean(value)}`"


_SHOWN_CHARACTERS = 60


def _clean(value: Any) -> str:
    """Return a value as a message can hold it: short, on one line, printable."""
    full = str(value)
    cut = full if len(full) <= _SHOWN_CHARACTERS else full[: _SHOWN_CHARACTERS - 1] + "…"
    return "".join(character if character.isprintable() else "�" for character in cut)

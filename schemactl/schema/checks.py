"""Checks of the values of a stored schema, which ``schema.validation`` puts its sections together from.

A check yields what is wrong and where; it neither raises nor repairs. Beside it stands the JSON Schema of what it lets
through, for editors.
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


Find = Callable[[Any, Keys], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Check:
    """A condition on values.

    Attributes:
        find: yields what is wrong with a value, given where it stands.
        shape: the JSON Schema of the values that it finds nothing wrong with, or of more.
    """

    find: Find
    shape: Mapping[str, Any]


_MAPPING = (dict, Mapping)
"""Asking the abstract class alone is slow, and nearly all mappings are dicts."""


def _find_text(value: Any, keys: Keys) -> Iterator[Finding]:
    if not isinstance(value, str):
        hint = None if isinstance(value, (Mapping, list)) or value is None else "put it in quotes"
        yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not text", hint)


def _find_integer(value: Any, keys: Keys) -> Iterator[Finding]:
    # Bools are integers to Python, and dlt asks no more.
    if not isinstance(value, int):
        unquoted = isinstance(value, str) and re.fullmatch(r"[-+]?\d+", value)
        hint = f"write `{value}` without quotes" if unquoted else None
        yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not a whole number", hint)


def _find_count(value: Any, keys: Keys) -> Iterator[Finding]:
    # To Python, and so to dlt, a bool is an int; as a version it would be nonsense.
    if isinstance(value, bool):
        yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not a whole number")
    else:
        yield from _find_integer(value, keys)


def _find_size(value: Any, keys: Keys) -> Iterator[Finding]:
    if isinstance(value, int) and not isinstance(value, bool) and value < 0:
        yield Finding(keys, f"{_named(keys)} is {_shown(value)}, and no size is less than 0")
    else:
        yield from _find_integer(value, keys)


def _find_boolean(value: Any, keys: Keys) -> Iterator[Finding]:
    if not isinstance(value, bool):
        yield Finding(
            keys, f"{_named(keys)} is {_shown(value)}, not true or false", "write `true` or `false`, no quotes"
        )


def _find_schema_name(value: Any, keys: Keys) -> Iterator[Finding]:
    if isinstance(value, str) and not (value.isidentifier() and len(value) <= MAX_NAME_LENGTH):
        hint = f"letters, digits and `_`, no digit first, at most {MAX_NAME_LENGTH} characters"
        yield Finding(keys, f"{_shown(value)} cannot name a schema", hint)
    else:
        yield from _find_text(value, keys)


def _find_pattern(value: Any, keys: Keys) -> Iterator[Finding]:
    if isinstance(value, str) and value.startswith(("re:", PREFIX)):
        yield from prefixed(value, keys)
    elif isinstance(value, str) and re.match(r"[^a-zA-Z\d_]", value):
        yield Finding(keys, f"{_shown(value)} looks like a regular expression", f"write `re:{value}`")
    else:
        yield from _find_text(value, keys)


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


text = Check(_find_text, {"type": "string"})
integer = Check(_find_integer, {"type": "integer"})
count = Check(_find_count, {"type": "integer"})
size = Check(_find_size, {"type": "integer", "minimum": 0})
"""A number of bits, digits or characters."""
boolean = Check(_find_boolean, {"type": "boolean"})
anything = Check(lambda _value, _keys: iter(()), {})
schema_name = Check(_find_schema_name, {"type": "string", "maxLength": MAX_NAME_LENGTH})
"""An identifier of limited length."""
pattern = Check(_find_pattern, {"type": "string"})
"""dlt's SimpleRegex, a name, or ``re:`` and a regular expression; or ``path:`` and a path in the data."""


def one_of(*known: str, synonyms: Mapping[str, str] | None = None) -> Check:
    """Make the check of a value that is one of a few words; ``synonyms`` are words of others for the known ones."""

    def checked(value: Any, keys: Keys) -> Iterator[Finding]:
        if isinstance(value, str) and value in known:
            return
        name = value.lower() if isinstance(value, str) else ""
        meant = name if name in known else (synonyms or {}).get(name)
        near = f"did you mean `{meant}`?" if meant else did_you_mean(name, known)
        yield Finding(keys, f"{_named(keys)} is {_shown(value)}", near or "one of " + ", ".join(known))

    return Check(checked, {"enum": list(known)})


def or_null(inner: Check) -> Check:
    """Make the check that also lets null through."""
    find = inner.find
    shape = dict(inner.shape)
    if "enum" in shape:
        shape["enum"] = [*shape["enum"], None]
    elif "type" in shape:
        shape["type"] = [shape["type"], "null"]
    elif shape:
        shape = {"anyOf": [shape, {"type": "null"}]}
    return Check(lambda value, keys: iter(()) if value is None else find(value, keys), shape)


def list_of(item: Check) -> Check:
    """Make the check of a list of such items."""
    find = item.find

    def checked(value: Any, keys: Keys) -> Iterator[Finding]:
        if not isinstance(value, list):
            yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not a list")
            return
        for position, element in enumerate(value):
            yield from find(element, (*keys, position))

    return Check(checked, {"type": "array", "items": item.shape})


def map_of(item: Check, key: Find | None = None) -> Check:
    """Make the check of a mapping to such items, whose own keys ``key`` checks."""
    find = item.find

    def checked(value: Any, keys: Keys) -> Iterator[Finding]:
        if not isinstance(value, _MAPPING):
            yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not a mapping")
            return
        yield from _keys_are_text(value, keys)
        for name, element in value.items():
            if key and isinstance(name, str):
                yield from key(name, (*keys, name))
            yield from find(element, (*keys, name))

    return Check(checked, {"type": "object", "additionalProperties": item.shape})


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
        gone: keys of older engine versions or of another place, each with a hint of what is right.
        own_keys: whether keys that start with ``x-`` are let through.
    """
    finds = {name: check.find for name, check in fields.items()}
    shape = {
        "type": "object",
        "properties": {name: check.shape for name, check in fields.items()},
        **({"patternProperties": {"^x-": {}}} if own_keys else {}),
        "additionalProperties": False,
    }

    def checked(value: Any, keys: Keys) -> Iterator[Finding]:
        if not isinstance(value, _MAPPING):
            yield Finding(keys, f"{_named(keys)} is {_shown(value)}, not a mapping")
            return
        for missing in (name for name in required or {} if name not in value):
            yield Finding(keys, f"`{missing}` is missing in {_named(keys)}", (required or {})[missing])
        yield from _keys_are_text(value, keys)
        for name, element in value.items():
            if name in finds:
                yield from finds[name](element, (*keys, name))
            elif isinstance(name, str) and not (own_keys and name.startswith("x-")):
                own = "keys of your own start with `x-`" if own_keys else None
                hint = (gone or {}).get(name) or did_you_mean(name, fields) or own
                yield Finding((*keys, name), f"unknown key `{name}` in {_named(keys)}", hint)

    return Check(checked, shape)


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

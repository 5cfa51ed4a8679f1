"""Reports as JSON documents; their JSON Schemas are in ``schemas/`` next to this module."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, is_dataclass
from datetime import date
from enum import Enum
from importlib.resources import files
from operator import attrgetter
from typing import Any, get_args

from schemactl.errors import Location
from schemactl.field_values import field_values
from schemactl.render.escaping import is_unsafe
from schemactl.schema.changes import ABSENT, Change
from schemactl.schema.types import Column, Table


def render_document(document: dict[str, Any]) -> str:
    r"""Return a document as indented JSON with a line break at its end.

    Characters that would steer a terminal are escaped.

    >>> print(render_document({"é": "\x9b"}), end="")
    {
      "é": "\u009b"
    }
    """
    text = json.dumps(_without_infinity(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if text.isascii():
        return text
    # Outside of JSON strings the encoder's own line breaks are the only such characters.
    characters = (json.dumps(of)[1:-1] if of != "\n" and is_unsafe(of) else of for of in text)
    return "".join(characters)


def read_schema(command: str) -> dict[str, Any]:
    """Return the JSON Schema of a command's ``--format json`` output."""
    path = files("schemactl.render") / "schemas" / f"{command}.schema.json"
    schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return schema


Shown = Mapping[str, str | Callable[[Any], Any]]
"""The printed form of a value, by the name of its type, or of a type that this extends.

It is a function of the value, or the names of fields and properties in their order, NAME=PATH if the document uses
another name.
"""


def document(value: Any, forms: Shown) -> Any:
    """Return a value as JSON data; all fields of a dataclass that ``forms`` does not have."""
    type_names = (base.__name__ for base in type(value).__mro__)
    declaration = next((forms[name] for name in type_names if name in forms), None)
    if callable(declaration):
        return declaration(value)
    match value:
        case Enum():
            return value.value
        case Table() | Column():
            return document(value.to_dict(), forms)
        case Mapping():
            return {str(key): document(item, forms) for key, item in value.items()}
        case list() | tuple():
            return [document(item, forms) for item in value]
        case date():
            return value.isoformat()
        case Location():
            return {key: item for key, item in asdict(value).items() if key != "row" or item is not None}
    if not is_dataclass(value):
        return value
    if isinstance(value, get_args(Change)):
        # An absent side has no key; null is a value.
        plain = {name: document(side, {}) for name, side in field_values(value).items() if side is not ABSENT}
        return {"kind": type(value).__name__, **plain}
    field_names = declaration.split() if declaration is not None else [field.name for field in fields(value)]
    assignments = (name.partition("=") for name in field_names)
    return {name: document(attrgetter(path or name)(value), forms) for name, _, path in assignments}


def _without_infinity(value: Any) -> Any:
    """JSON has no infinity: a number beyond a double's range is null."""
    match value:
        case float() if not math.isfinite(value):
            return None
        case dict():
            return {key: _without_infinity(item) for key, item in value.items()}
        case list() | tuple():
            return [_without_infinity(item) for item in value]
        case _:
            return value

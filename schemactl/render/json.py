"""Reports as JSON documents; their JSON Schemas stand in ``schemas/`` beside this module."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from typing import Any

from schemactl.render.harmless import is_unsafe


def render_document(document: dict[str, Any]) -> str:
    r"""Return a document as indented JSON with a line break at its end.

    Characters that would steer a terminal are escaped, the others stand as they are.

    >>> print(render_document({"é": "\x9b"}), end="")
    {
      "é": "\u009b"
    }
    """
    text = json.dumps(_without_infinity(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if text.isascii():
        return text
    # Outside of JSON strings the encoder's own line breaks are the only such characters.
    return "".join(json.dumps(each)[1:-1] if each != "\n" and is_unsafe(each) else each for each in text)


def read_schema(command: str) -> dict[str, Any]:
    """Return the JSON Schema of what a command prints with ``--format json``."""
    path = files("schemactl.render") / "schemas" / f"{command}.schema.json"
    schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return schema


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

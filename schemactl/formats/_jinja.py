"""Writes texts that Jinja renders as they are, for formats whose readers evaluate templates, and reads them again.

https://jinja.palletsprojects.com/en/stable/templates/: ``{{`` begins an expression, ``{%`` a statement, ``{#`` a
comment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

OPENING: Final = re.compile(r"\{(?=[{%#])")
"""A brace that begins Jinja syntax because of the character after it."""

_BRACE: Final = "{{ '{' }}"
_LITERAL: Final = re.compile(r'\{\{ ("(?:[^"\\]|\\.)*") \}\}', re.DOTALL)


def escape_jinja(text: str) -> str:
    """Return a template that renders to a text."""
    return OPENING.sub(_BRACE, text)


def jinja_expression(text: str) -> str:
    """Return a template of one expression that renders to any text."""
    return f"{{{{ {json.dumps(text, ensure_ascii=False)} }}}}"


def unescape_jinja(template: str) -> str:
    """Return the text behind a template of the functions above; other templates unchanged."""
    if literal := _LITERAL.fullmatch(template):
        text: str = json.loads(literal[1], strict=False)
        return text
    return template.replace(_BRACE, "{")


def jinja_string(text: str) -> str:
    """Return a string literal for a Jinja expression, without braces."""
    return "'" + re.sub(r"[^ -~]|[\\'{}%#]", lambda match: _escape_sequence(ord(match[0])), text) + "'"


def read_jinja_string(literal: str) -> str:
    """Return the text of a literal without its quotes, as Jinja reads it."""
    return literal.encode("ascii", "backslashreplace").decode("unicode-escape")


def _escape_sequence(code: int) -> str:
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65_536 else f"\\U{code:08x}"


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a document with all texts in it changed, but for keys."""
    match value:
        case str():
            return change(value)
        case dict():
            return {key: map_texts(inner, change) for key, inner in value.items()}
        case list():
            return [map_texts(inner, change) for inner in value]
    return value

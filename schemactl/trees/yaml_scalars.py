"""YAML scalars, read as dlt's YAML library does: by YAML 1.1, where ``on`` is true and ``012`` is ten."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any


class Kind(Enum):
    """The kind of a scalar; the values are the short forms of YAML's tags."""

    TEXT = "str"
    NULL = "null"
    BOOLEAN = "bool"
    INTEGER = "int"
    FLOAT = "float"
    TIMESTAMP = "timestamp"
    BINARY = "binary"
    MERGE = "merge"

    # An enum's own hash is computed in Python, and each mapping is asked for the key MERGE.
    __hash__ = object.__hash__


MERGE = Kind.MERGE
"""The key ``<<``, which includes the keys of another mapping."""

_INTEGER = r"[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+)"
_FLOAT = (
    r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_DECIMAL = re.compile("-?(?:0|[1-9][0-9]*)")
_TIMESTAMP = (
    r"\d{4}-\d\d-\d\d|\d{4}-\d\d?-\d\d?(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?"
    r"(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?"
)
_WORDS = {Kind.NULL: ("~", "null", ""), Kind.BOOLEAN: ("yes", "no", "true", "false", "on", "off")}
_LONGEST = 1000
"""Characters in a number or another short value: the time to read a value grows with the square of its length."""

_BY_WORD = {
    form: kind for kind, words in _WORDS.items() for word in words for form in (word, word.title(), word.upper())
}
_BY_PATTERN = tuple(
    (kind, re.compile(pattern, re.ASCII))
    for kind, pattern in ((Kind.FLOAT, _FLOAT), (Kind.INTEGER, _INTEGER), (Kind.TIMESTAMP, _TIMESTAMP))
)


def kind_of(plain: str) -> Kind:
    """Return the kind of a scalar without quotes and tag."""
    if plain in _BY_WORD:
        return _BY_WORD[plain]
    if plain == "<<":
        return Kind.MERGE
    if plain[0] not in "-+.0123456789":
        return Kind.TEXT
    return next((kind for kind, pattern in _BY_PATTERN if pattern.fullmatch(plain)), Kind.TEXT)


def value_of(kind: Kind, text: str) -> Any:
    """Return the value of a scalar of this kind.

    Raises:
        ValueError: the text is not of this kind (``2024-13-45``, ``!!int x``), or too long for one.
    """
    if len(text) > _LONGEST and kind not in (Kind.TEXT, Kind.BINARY):
        raise ValueError(text)
    match kind:
        case Kind.TEXT:
            return text
        case Kind.NULL:
            return None
        case Kind.MERGE:
            return MERGE
        case Kind.BOOLEAN:
            if _BY_WORD.get(text) is not Kind.BOOLEAN:
                raise ValueError(text)
            return text.lower() in ("yes", "true", "on")
        case Kind.INTEGER if _DECIMAL.fullmatch(text):
            return int(text)
    # Few files have other values, and PyYAML takes longer to import than a plain file takes to be read.
    from yaml import ScalarNode, YAMLError
    from yaml.constructor import SafeConstructor

    try:
        return SafeConstructor().construct_object(ScalarNode(f"tag:yaml.org,2002:{kind.value}", text))
    except (YAMLError, LookupError, AttributeError) as error:
        raise ValueError(text) from error

"""YAML scalars, read as dlt's YAML library does: by YAML 1.1, where ``on`` is true and ``012`` is ten."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum
from functools import reduce
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
"""The key ``<<``, which takes in the keys of another mapping."""

_INTEGER = r"[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+)"
_FLOAT = (
    r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_DAY = r"\d{4}-\d\d-\d\d"
_MOMENT = (
    r"(\d{4})-(\d\d?)-(\d\d?)(?:[Tt]|[ \t]+)(\d\d?):(\d\d):(\d\d)(?:\.(\d*))?"
    r"(?:[ \t]*(?:(Z)|([-+])(\d\d?)(?::(\d\d))?))?"
)
_WORDS = {Kind.NULL: ("~", "null", ""), Kind.BOOLEAN: ("yes", "no", "true", "false", "on", "off")}
_LONGEST = 1000
"""Characters in a number or another short value: reading a longer one takes its square in time."""

_BY_WORD = {
    form: kind for kind, words in _WORDS.items() for word in words for form in (word, word.title(), word.upper())
}
_BY_PATTERN = tuple(
    (kind, re.compile(pattern, re.ASCII))
    for kind, pattern in ((Kind.FLOAT, _FLOAT), (Kind.INTEGER, _INTEGER), (Kind.TIMESTAMP, f"{_DAY}|{_MOMENT}"))
)


def kind_of(plain: str) -> Kind:
    """Return what a scalar without quotes and tag is."""
    if plain in _BY_WORD:
        return _BY_WORD[plain]
    if plain == "<<":
        return Kind.MERGE
    if plain[0] not in "-+.0123456789":
        return Kind.TEXT
    return next((kind for kind, pattern in _BY_PATTERN if pattern.fullmatch(plain)), Kind.TEXT)


def value_of(kind: Kind, text: str) -> Any:
    """Return the value that a scalar of this kind stands for.

    Raises:
        ValueError: the text is not of this kind (``2024-13-45``, ``!!int x``), or too long for one.
    """
    if len(text) > _LONGEST and kind not in (Kind.TEXT, Kind.BINARY):
        raise ValueError(text)
    return _CONSTRUCTORS[kind](text)


def _boolean(text: str) -> bool:
    if _BY_WORD.get(text) is not Kind.BOOLEAN:
        raise ValueError(text)
    return text.lower() in ("yes", "true", "on")


def _integer(text: str) -> int:
    sign, digits = _signed(text)
    if ":" in digits:
        return sign * int(_base_60(int(digit) for digit in digits.split(":")))
    if digits.startswith(("0b", "0x")):
        return sign * int(digits[2:], 2 if digits[1] == "b" else 16)
    return sign * int(digits, 8 if digits.startswith("0") else 10)


def _float(text: str) -> float:
    sign, digits = _signed(text.lower())
    if digits in (".inf", ".nan"):
        return sign * float(digits[1:])
    return sign * _base_60(float(digit) for digit in digits.split(":"))


def _base_60(digits: Iterable[float]) -> float:
    return reduce(lambda total, digit: total * 60 + digit, digits)


def _signed(text: str) -> tuple[int, str]:
    digits = text.replace("_", "")
    return (-1 if digits.startswith("-") else 1), digits.lstrip("+-")


def _timestamp(text: str) -> date:
    moment = re.fullmatch(_MOMENT, text, re.ASCII)
    if moment is None:
        return date.fromisoformat(text)
    *numbers, fraction, utc, sign, zone_hours, zone_minutes = moment.groups()
    year, month, day, hour, minute, second = (int(number) for number in numbers)
    microsecond = int((fraction or "")[:6].ljust(6, "0"))
    zone = UTC if utc else None
    if sign:
        offset = timedelta(hours=int(zone_hours), minutes=int(zone_minutes or 0))
        zone = timezone(-offset if sign == "-" else offset)
    return datetime(year, month, day, hour, minute, second, microsecond, zone)


def _binary(text: str) -> bytes:
    try:
        return base64.decodebytes(text.encode("ascii"))
    except binascii.Error as error:
        raise ValueError(text) from error


_CONSTRUCTORS: dict[Kind, Callable[[str], Any]] = {
    Kind.TEXT: str,
    Kind.NULL: lambda _text: None,
    Kind.BOOLEAN: _boolean,
    Kind.INTEGER: _integer,
    Kind.FLOAT: _float,
    Kind.TIMESTAMP: _timestamp,
    Kind.BINARY: _binary,
    Kind.MERGE: lambda _text: MERGE,
}

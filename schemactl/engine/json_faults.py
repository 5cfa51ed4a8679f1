"""Why a text is no JSON that is read, and where: Python's own parser, and what Spark's is stricter about."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

BLANKS: Final = " \t\r\n"

UNCLOSED: Final = "a text has no closing quote"

MOST_DIGITS: Final = 1000
"""Digits of an integer; Spark's parser takes no more."""

_STRING = r'"(?:[^"\\]|\\.)*+"'
_CONSTANT = re.compile(rf"{_STRING}|(?P<constant>-?Infinity|NaN)", re.DOTALL)
_HIGH, _LOW = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = re.compile(rf"(?P<pair>{_HIGH}{_LOW})|(?P<half>{_HIGH}|{_LOW})|\\.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a text, and at which of its characters, counted from 0."""

    offset: int
    reason: str


class _StopError(Exception):
    """The parser met what JSON allows, or Python's parser does, and ours does not."""


def find_fault(text: str) -> Fault | None:
    """Return what keeps a text from being one JSON document, None where nothing is found."""
    start = len(text) - len(text.lstrip(BLANKS))
    found = scan_value(text, start)
    if isinstance(found, Fault):
        return found
    rest = found + len(text[found:]) - len(text[found:].lstrip(BLANKS))
    return Fault(rest, _after(text, rest)) if rest < len(text) else None


def _after(text: str, at: int) -> str:
    is_number = text[at].isdigit() and text[at - 1 : at] == "0"
    return "a number begins with 0" if is_number else "something follows the document"


def scan_value(text: str, start: int) -> int | Fault:
    """Return where the JSON value that begins at ``start`` ends, or what is wrong with it."""
    try:
        _, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return Fault(error.pos, _reason(text, error))
    except RecursionError:
        return Fault(start, "this nests too deep")
    except _StopError as stop:
        return Fault(_place_of(text, start), str(stop))
    half = _half_pair(text, start, end)
    return end if half is None else Fault(half, "half of a surrogate pair is no character")


def _reason(text: str, error: json.JSONDecodeError) -> str:
    if text[error.pos : error.pos + 1].isdigit() and re.search(r"(?<![0-9.eE+])-?0\Z", text[: error.pos][-3:]):
        return "a number begins with 0"
    if error.msg.startswith("Unterminated string"):
        return UNCLOSED
    # What Python says goes on with the place.
    return (error.msg[:1].lower() + error.msg[1:]).removesuffix(" at")


def _refuse_constant(name: str) -> Any:
    raise _StopError(f"`{name}` is no JSON number")


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > MOST_DIGITS:
        raise _StopError(f"a number has more than {MOST_DIGITS:,} digits")
    return 0


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_integer)


def _place_of(text: str, start: int) -> int:
    """Return where a constant stands that is none of JSON, or where the value begins."""
    found = (match.start() for match in _CONSTANT.finditer(text, start) if match["constant"])
    return next(found, start)


def _half_pair(text: str, start: int, end: int) -> int | None:
    if "\\u" not in text:
        return None
    return next((match.start() for match in _ESCAPE.finditer(text, start, end) if match["half"]), None)

"""Parses texts as JSON documents, a batch at once; if the batch is invalid, text by text."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isinf
from typing import Any, Final

import orjson

from schemactl.kernel.splitting import BLANKS, BYTE_ORDER_MARK, runs_of_members

_MARK: Final = secrets.randbits(52)
"""Follows each text of a batch. It is random, so that one text cannot pass for two, or two for one."""

_BETWEEN: Final = b",%d,\n" % _MARK
_MOST_DIGITS: Final = 1000
_SHOWN: Final = 40
_LARGE: Final = 1 << 24
_LEVELS_IN_PARTS: Final = 8
"""How deep large lists and objects are looked for in a document: each level is one more walk over its text."""

_BLANK: Final = re.compile(rb"[ \t\r\n]*")
_KEY: Final = re.compile(rb'[ \t\r\n]*("(?:[^"\\]|\\.)*")[ \t\r\n]*:')
_BEFORE_NUMBERS: Final = b":,[ \t\r\n"
_LONG: Final = b"0" * 19
_TO_ZEROS: Final = bytes(ord("0") if 48 <= octet < 58 else octet for octet in range(256))
_HALF_PAIR: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Parsed:
    """The documents of a batch of texts.

    ``places`` has the index of the text of each document (None if each text is one), ``bad`` the indexes of bad texts.
    """

    documents: list[Any]
    places: list[int] | None = None
    bad: tuple[int, ...] = ()


def parse_texts(texts: Sequence[bytes]) -> Parsed:
    """Parse a batch of texts; each one should be a JSON document (RFC 8259).

    Integers are exact at any size up to 1,000 digits, of equal keys the last one counts. ``NaN``, ``Infinity`` and
    halves of surrogate pairs are not JSON; a number with a fraction or an exponent that no double holds is refused.
    """
    if len(texts) == 1:
        # To join a large one to nothing would only copy it.
        return _parse_each(texts)
    joined = b"[" + _BETWEEN.join(texts) + b",%d]" % _MARK
    if _may_hold_long_integer(joined):
        return _parse_each(texts)
    try:
        values = orjson.loads(joined)
    except ValueError:
        return _parse_each(texts)
    # The batch has as many marks as texts: if every second value is a mark, each text is one document.
    is_each_one = len(values) == 2 * len(texts) and values[1::2].count(_MARK) == len(texts)
    return Parsed(values[::2]) if is_each_one else _parse_each(texts)


def _parse_each(texts: Sequence[bytes]) -> Parsed:
    documents: list[Any] = []
    indexes: list[int] = []
    bad: list[int] = []
    for index, text in enumerate(texts):
        try:
            document = parse_text(text)
        except ValueError:
            if not is_blank(text):
                bad.append(index)
            continue
        documents.append(document)
        indexes.append(index)
    return Parsed(documents, None if len(documents) == len(texts) else indexes, tuple(bad))


def is_blank(text: bytes) -> bool:
    """Return whether a text contains only blanks of JSON and a byte order mark."""
    return not text.removeprefix(BYTE_ORDER_MARK).strip(BLANKS)


def parse_text(text: bytes) -> Any:
    """Parse one text as ``parse_texts`` does.

    Raises:
        ValueError: the text is not a JSON document, or nests too deep for Python's parser.
    """
    text = text.removeprefix(BYTE_ORDER_MARK)
    if len(text) > _LARGE:
        with suppress(ValueError):
            return _parse_in_parts(text, 0, len(text))
    return _parse_whole(text)


def _parse_whole(text: bytes) -> Any:
    if not _may_hold_long_integer(text):
        try:
            return orjson.loads(text)
        except ValueError:
            pass  # orjson refuses documents that nest deep
    try:
        document = DECODER.decode(text.decode("utf-8"))
    except RecursionError as error:
        raise ValueError("the document nests too deep") from error
    if b"\\u" in text and _HALF_PAIR.search(json.dumps(document, ensure_ascii=False)):
        raise ValueError("a surrogate pair is incomplete")
    return document


def _parse_in_parts(text: bytes, start: int, end: int, level: int = 0) -> Any:
    """Parse the value of a part of a text; parse a large list or object in runs of its members.

    Parsing it at once would need half as much memory again as the result.

    Raises:
        ValueError: it may not be a JSON document; ``orjson`` decides.
    """
    start = _BLANK.match(text, start, end).end()  # type: ignore[union-attr]
    is_list = text.startswith(b"[", start)
    if end - start <= _LARGE or level > _LEVELS_IN_PARTS or not (is_list or text.startswith(b"{", start)):
        return _parse_whole(text[start:end])
    brackets = b"[]" if is_list else b"{}"
    value: Any = [] if is_list else {}
    for begin, stop in runs_of_members(text, start + 1):
        if stop - begin <= _LARGE:
            members = _parse_whole(brackets[:1] + text[begin:stop] + brackets[1:])
            if not members:
                raise ValueError("a value between two commas is missing")
        elif is_list:
            members = [_parse_in_parts(text, begin, stop, level + 1)]
        elif key := _KEY.match(text, begin, stop):
            members = {orjson.loads(key[1]): _parse_in_parts(text, key.end(), stop, level + 1)}
        else:
            raise ValueError("a member of an object has no key")
        value.extend(members) if is_list else value.update(members)
    if not text.startswith(brackets[1:], stop) or not _BLANK.fullmatch(text, stop + 1, end):
        raise ValueError("a list or an object has mismatched brackets")
    return value


def _may_hold_long_integer(text: bytes) -> bool:
    """Return whether an integer may be past 64 bits: orjson turns it into a double."""
    digits = text.translate(_TO_ZEROS)
    index = digits.find(_LONG)
    while index >= 0:
        # Hashes and names have as many digits in a row: a number begins the text, or comes behind one of a few marks.
        is_negative = digits.startswith(b"-", index - 1) if index else False
        start = index - is_negative
        if (not start or digits[start - 1] in _BEFORE_NUMBERS) and (
            is_negative or digits.startswith(b"0", index + len(_LONG))
        ):
            return True
        index = digits.find(_LONG, index + len(_LONG))
    return False


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"`{name}` is not a JSON number")


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > _MOST_DIGITS:
        raise ValueError(f"a number has more than {_MOST_DIGITS:,} digits")
    return int(digits)


def _double(text: str) -> float:
    number = float(text)
    if isinf(number):
        raise ValueError(f"`{text if len(text) <= _SHOWN else f'{text[:_SHOWN]}…'}` is too large for a double")
    return number


DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_integer, parse_float=_double)
"""Python's decoder, strict about values that are not JSON; it raises ValueError."""

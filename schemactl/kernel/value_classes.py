"""Finds the classes of values (``inference.classes``), a column at a time.

All values of a family have the same class: C++ regular expressions distinguish families of texts, ranges distinguish
families of numbers, and ``classify`` classifies one value of each family. Values outside of all families are classified
one by one.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from schemactl.inference.classes import classify
from schemactl.kernel.arrays import array_of, numbers_of
from schemactl.schema.coercion import INT64, UINT64_LIMIT, WEI_LIMIT, WEI_STOP
from schemactl.schema.detectors import DETECTORS
from schemactl.schema.detectors.timestamp import window
from schemactl.schema.text_looks import ANY_LOOK, LONGEST, LOOKS, with_look

_MOST_REMEMBERED: Final = 1 << 17
_codes_of_texts: dict[str, int] = {}

_CLASSES: Final[list[str]] = []
"""Classes by their codes: arrays of numbers are fast, arrays of strings are not."""
_CODES: Final[dict[str, int]] = {}
_UNSURE: Final = -1

_FEW: Final = 16
"""The number of texts that are classified one by one in the time needed to compile a pattern for each family."""

_HEAD: Final = 256
"""A column that has few different texts among its first ones is expected to have few."""

_Codes: TypeAlias = "np.ndarray[Any, np.dtype[np.int32]]"


def _code_of(name: str) -> int:
    if name not in _CODES:
        _CODES[name] = len(_CLASSES)
        _CLASSES.append(name)
    return _CODES[name]


def class_of_code(code: int) -> str:
    """Return the class that a code means in this process."""
    return _CLASSES[code]


def has_few(texts: Sequence[str]) -> bool:
    """Return whether a column has, by its first texts, a quarter as many different ones: each is classified once."""
    head = texts[:_HEAD]
    return len(set(head)) * 4 <= len(head)


def codes_of_columns(columns: Sequence[pa.StringArray]) -> _Codes:
    """Return the code of the class of each text of some columns without nulls, one column after the other."""
    arrays: list[pa.StringArray] = []
    positions_by_column: list[Any] = []
    for column in columns:
        # Of thousands of short columns each look has its price.
        if len(column) > _HEAD and has_few(column[:_HEAD].to_pylist()):
            encoded = column.dictionary_encode()
            arrays.append(encoded.dictionary)
            positions_by_column.append(numbers_of(encoded.indices))
        else:
            arrays.append(column)
            positions_by_column.append(slice(None))
    codes = np.split(codes_of_array(pa.concat_arrays(arrays)), np.cumsum(list(map(len, arrays)))[:-1])
    return np.concatenate(
        [column_codes[positions] for column_codes, positions in zip(codes, positions_by_column, strict=True)]
    )


def codes_of_array(texts: pa.StringArray) -> _Codes:
    """Return the code of the class of each text of an array without nulls; fast for any number of different ones."""
    if _has_installed_detectors():
        # Third parties' detectors may distinguish texts of one family.
        return np.fromiter(map(_code_of_text, texts.to_pylist()), np.int32, len(texts))
    codes = np.full(len(texts), _UNSURE, np.int32)
    undecided = np.arange(len(texts))
    for pattern, name in _FAMILIES:
        if len(undecided) < _FEW:
            break
        candidates = texts if len(undecided) == len(texts) else texts.take(array_of(undecided, pa.int64()))
        is_match = _matches(candidates, pattern)
        if not is_match.any():
            continue
        if isinstance(name, str):
            codes[undecided[is_match]] = _code_of_family(name)
        else:
            codes[undecided[is_match]] = name(candidates.take(array_of(np.flatnonzero(is_match), pa.int64())))
        undecided = undecided[codes[undecided] == _UNSURE]
    for index in undecided.tolist():
        codes[index] = _code_of_text(texts[index].as_py())
    _add_looks(codes, texts)
    return codes


def _add_looks(codes: _Codes, texts: pa.StringArray) -> None:
    """Put the codes of classes with a look in the places of texts that have one."""
    places = np.flatnonzero(_matches(texts, ANY_LOOK))
    if not len(places):
        return
    candidates = texts.take(array_of(places, pa.int64()))
    is_short = numbers_of(pc.utf8_length(candidates)) <= LONGEST
    for mark, pattern in LOOKS:
        marked = places[_matches(candidates, pattern) & is_short]
        for code in np.unique(codes[marked]).tolist():
            with_code = marked[codes[marked] == code]
            codes[with_code] = _code_of(with_look(class_of_code(code), mark))


def _code_of_text(text: str) -> int:
    code = _codes_of_texts.get(text)
    if code is None:
        if len(_codes_of_texts) >= _MOST_REMEMBERED:
            _codes_of_texts.clear()
        code = _codes_of_texts[text] = _code_of(classify(text))
    return code


@cache
def _code_of_family(example: str) -> int:
    return _code_of(classify(example))


_YEAR = "(?:[1-8][0-9]{3}|9[0-8][0-9]{2}|99[0-8][0-9]|999[0-8])"
"""Years with four digits, without 9999, whose end may be past the last moment in UTC."""


def _day(separator: str) -> str:
    """Return a pattern for days that there are in each year."""
    return (
        rf"(?:(?:0[1-9]|1[0-2]){separator}(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2]){separator}(?:29|30)"
        rf"|(?:0[13578]|1[02]){separator}31)"
    )


_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?"
_ZONE = "(?:Z|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)?"

# The first two letters of words that are not a boolean, a special number, `null` or a time.
_WORD_START = (
    "(?:[A-EGHJ-MO-RU-XZa-eghj-mo-ru-xz][A-Za-z0-9]|[Ff][B-Zb-z0-9]|[Ii][A-MO-Za-mo-z0-9]|[Nn][B-MP-TV-Zb-mp-tv-z0-9]"
    "|[Ss][A-MO-Za-mo-z0-9]|T[A-QS-Za-qs-z]|t[A-QS-Za-qs-z0-9]|[Yy][A-DF-Za-df-z0-9])"
)
# A character that neither base64 nor a special word has; Python reads past underscores in numbers.
_PROSE = r"(?s)^(?:[A-SU-Za-z]|T[A-Za-z])[A-Za-z0-9+/]*(?: +[!-<>-^`-~]|[!-*,\-.:-<>?@\[-^`{-~])"
# Digits in groups that are not a day or a time: phone numbers, versions, addresses.
_GROUPS_OF_DIGITS = (
    r"^(?:[0-9]{1,3}(?:[ .,/|-]+[0-9]+){2,}|[0-9]{1,3}(?: +|[,/|-])[0-9]+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+){2,}"
    r"|[0-9]{4,}[,|-][0-9]{4,}(?:[ -][0-9]+)*|[0-9]{4}(?: [0-9]{3,})+|\+[0-9]+[ ()/-]+[0-9]+(?:[ ()/-]+[0-9]+)*)$"
)
_SMALL_POWER = r"(?:(?:0|[1-9][0-9]{0,8})\.[0-9]+[eE]-[0-9]{1,2}|[0-9]\.[0-9]+[eE]\+?0?[0-8])"


def _by_base64(texts: pa.StringArray) -> _Codes:
    """Return the code of each of some words that only differ in whether they look like base64."""
    is_base64 = _matches(texts, "^[A-Za-z0-9+/]+={0,2}$")
    padding = numbers_of(pc.count_substring(texts, "="))
    missing = -(_lengths(texts) - padding) % 4
    word, words = _code_of_family("word"), _code_of_family("words")
    is_padded = missing == padding
    if _code_of_family("word=") == word:
        # Python before 3.13 ignores surplus padding.
        is_padded |= missing == 0
    return np.where(is_base64 & is_padded, word, words).astype(np.int32)


def _by_letters(texts: pa.StringArray) -> _Codes:
    """Return the code of texts with a letter that no number has; ten characters may be a day to Python."""
    codes = _by_base64(texts)
    codes[_lengths(texts) == 10] = _UNSURE
    return codes


def _by_digits(texts: pa.StringArray) -> _Codes:
    """Return the code of unsigned numbers; numbers with 7, 8 and 12 digits have separate codes for days and epochs."""
    sizes = _lengths(texts)
    codes = _by_size(sizes, lambda size: _code_of_family("9" * size))
    for index in np.flatnonzero(np.isin(sizes, (7, 8, len(_LAST_EPOCH)))).tolist():
        text = texts[index].as_py()
        match len(text):
            case 7 if "001" <= text[4:] <= "366":
                codes[index] = _UNSURE
            case 8 if "0101" <= text[4:] <= "1231":
                codes[index] = _UNSURE
            case 12 if text <= _LAST_EPOCH:
                codes[index] = _code_of_family("1" * len(_LAST_EPOCH))
    return codes


_LAST_EPOCH = "253402300799"
"""Seconds of the end of the year 9999."""


def _by_zero_digits(texts: pa.StringArray) -> _Codes:
    return _by_size(_lengths(texts), lambda size: _code_of_family("0" * size) if size <= len(_LAST_EPOCH) else _UNSURE)


def _by_hex_digits(texts: pa.StringArray) -> _Codes:
    """Return the code of `0x` and digits: pairs of them are bytes. Longer ones may be past all doubles."""

    def code(size: int) -> int:
        return _UNSURE if size > _MOST_HEX else _code_of_family("0x0" if size % 2 else "0x00")

    return _by_size(_lengths(texts), code)


_MOST_HEX: Final = 203
"""Characters that make a number of less than 2**1024."""


def _by_negative_digits(texts: pa.StringArray) -> _Codes:
    def code(size: int) -> int:
        # Eleven digits reach to the beginning of the year 1.
        return _UNSURE if size == 12 else _code_of_family("-" + ("1" if size < 12 else "9") * (size - 1))

    return _by_size(_lengths(texts), code)


def _by_size(sizes: np.ndarray[Any, np.dtype[np.int32]], code: Callable[[int], int]) -> _Codes:
    """Return the code that each size has."""
    distinct_sizes, size_indexes = np.unique(sizes, return_inverse=True)
    return np.array([code(size) for size in distinct_sizes.tolist()], np.int32)[size_indexes]


def _lengths(texts: pa.StringArray) -> np.ndarray[Any, np.dtype[np.int32]]:
    return numbers_of(pc.binary_length(texts))


def _matches(texts: pa.StringArray, pattern: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return numbers_of(pc.match_substring_regex(texts, pattern).cast(pa.uint8())).astype(bool)


_FAMILIES: Final[tuple[tuple[str, str | Callable[[pa.StringArray], _Codes]], ...]] = (
    (_PROSE, "words"),
    (rf"^{_WORD_START}[A-Za-z0-9+/]*={{0,2}}$", _by_base64),
    (rf"^{_YEAR}-{_day('-')}[T ]{_CLOCK}{_ZONE}$", "2024-05-06T07:08:09Z"),
    (r"^[1-9][0-9]{1,24}$", _by_digits),
    (r"^(?:0|[1-9][0-9]{0,8})\.[0-9]+$", "0.5"),
    (rf"^{_YEAR}-{_day('-')}$", "2024-05-06"),
    (r"^[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$", "words"),
    # Letters and signs that no number has; `x`, `W` and what follows eight digits may be one of a number or a day.
    (r"^(?:[1-9]|0[^x])[^\"\[{W]*[A-DF-SU-VYa-df-wyz%&$#@!?;=<>()*\'~^\\][^W]*$", _by_letters),
    (rf"^{_CLOCK}{_ZONE}$", "07:08:09"),
    (r"^-(?:0|[1-9][0-9]{0,8})\.[0-9]+$", "-0.5"),
    (r"^-[1-9][0-9]{0,24}$", _by_negative_digits),
    (r"^0(?:[0-9]{1,2}|[0-9]{4,5}|[0-9]{8,24})$", _by_zero_digits),
    (_GROUPS_OF_DIGITS, _by_base64),
    (r"(?s)^[^\x00-\x7F\pN\pZ\pC]", "words"),
    (r"(?s)^[!#$%&'()*,/:;<=>?@\\^`|~]", _by_base64),
    (r"^0x[0-9a-fA-F]+$", _by_hex_digits),
    (rf"^{_SMALL_POWER}$", "1.5e-7"),
    (rf"^-{_SMALL_POWER}$", "-1.5e-7"),
)
"""Patterns with an example of all matches, or a function that finds each class; None if the class is not certain."""


@dataclass(frozen=True, slots=True)
class _Ranges:
    """The classes of integers, or of doubles with or without a fraction, by range."""

    starts: Sequence[float]
    names: Sequence[str]

    def at(self, value: float) -> int:
        return bisect(self.starts, value)


@cache
def _ranges(is_integer: bool, is_whole: bool) -> _Ranges:
    """Return the bounds at which the class of numbers changes: years 1 and 9999, recent timestamps, integer sizes."""
    first, last = window()
    recent = (math.ceil(first), math.floor(last) + 1) if is_integer else (first, math.nextafter(last, math.inf))
    epochs: list[float] = [-62_135_596_800, 0, 1, 2, *recent, 253_402_300_800]
    sizes = [1 - WEI_STOP, INT64.start, *epochs, INT64.stop, UINT64_LIMIT, WEI_STOP, WEI_LIMIT + 1]
    past_doubles = 2**1024 - 2**970
    # All doubles past 2**53 are whole.
    bounds = [-past_doubles + 1, *sizes, past_doubles] if is_integer else sizes if is_whole else epochs
    examples = [_example(start, is_integer, is_whole) for start in (bounds[0] * 2 - 1, *bounds)]
    starts: list[float] = []
    names = [classify(examples[0])]
    for bound, example in zip(bounds, examples[1:], strict=True):
        name = classify(example)
        if name != names[-1]:
            starts.append(bound)
            names.append(name)
    return _Ranges(starts, names)


def _example(start: float, is_integer: bool, is_whole: bool) -> float:
    """Return a number of the range that begins at ``start``."""
    if is_integer:
        return start
    number = math.ceil(start)
    return float(number) if is_whole else math.nextafter(float(number), math.inf)


_has_installed_detectors = cache(lambda: bool(DETECTORS.installed))


def classes_of_numbers(values: Sequence[Any]) -> str | list[str]:
    """Return the class that all of some integers, or all of some doubles, have, or else the class of each."""
    number_type = type(values[0])
    if _has_installed_detectors() or (number_type is float and not math.isfinite(sum(values))):
        return [class_of_number(value) for value in values]
    are_whole = list(map(float.is_integer, values)) if number_type is float else [True]
    if all(are_whole) or not any(are_whole):
        return _classes_of_range(values, _ranges(number_type is int, are_whole[0]))
    names: dict[bool, Iterator[str]] = {}
    for is_whole in (True, False):
        numbers = [value for value, value_is_whole in zip(values, are_whole, strict=True) if value_is_whole is is_whole]
        classes = _classes_of_range(numbers, _ranges(False, is_whole))
        names[is_whole] = repeat(classes) if isinstance(classes, str) else iter(classes)
    return [next(names[is_whole]) for is_whole in are_whole]


def _classes_of_range(values: Sequence[Any], ranges: _Ranges) -> str | list[str]:
    first, last = ranges.at(min(values)), ranges.at(max(values))
    return ranges.names[first] if first == last else [ranges.names[ranges.at(value)] for value in values]


def class_of_number(value: float) -> str:
    """Return the class of an integer or a double."""
    if _has_installed_detectors() or (isinstance(value, float) and not math.isfinite(value)):
        return classify(value)
    is_integer = isinstance(value, int)
    ranges = _ranges(is_integer, is_integer or value.is_integer())
    return ranges.names[ranges.at(value)]

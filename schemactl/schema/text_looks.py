"""Recognize texts that people write for dates, amounts of money, percentages and numbers with separators.

A look is a mark of a value's class (``classes``), so evidence counts it. Patterns are written for Python's ``re`` and
for RE2 alike. Texts that ``number`` and the detectors of ISO dates recognize have no look.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final


class Look(StrEnum):
    """The kind of a value that a text seems to hold."""

    DATE = "date"
    MONEY = "money"
    PERCENT = "percent"
    NUMBER = "number"


PREFIX: Final = "like-"
"""The beginning of the mark in the name of a class."""

CURRENCIES: Final = (
    r"(?:[$€£¥₹₽₩₺₴₫]|R\$|US\$|kr|zł|(?:USD|EUR|GBP|JPY|CHF|CAD|AUD|NZD|INR|CNY|BRL|MXN|SEK|NOK|DKK|PLN|CZK))"
)
_SPACE: Final = "[ \u00a0\u202f]?"
_MONTH: Final = (
    "(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?)"
)
_CLOCK: Final = (
    r"(?:[T ]+[0-9]{1,2}:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?(?: ?(?i:[ap]m))?(?:Z| ?[+-][0-9]{2}:?[0-9]{2})?)?"
)
_YEAR: Final = "[12][0-9]{3}"
_LOW: Final = "(?:0?[1-9]|1[0-2])"
_HIGH: Final = "(?:1[3-9]|2[0-9]|3[01])"
_DAY: Final = "(?:0?[1-9]|[12][0-9]|3[01])"

_GROUPED_BY_COMMA: Final = r"[1-9][0-9]{0,2}(?:,[0-9]{3})+"
_GROUPED_BY_POINT: Final = r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+"
_GROUPED_BY_SPACE: Final = "[1-9][0-9]{0,2}(?:[ \u00a0\u202f'’][0-9]{3})+"
_WITH_POINT: Final = (
    rf"(?:{_GROUPED_BY_COMMA}\.[0-9]+|[1-9][0-9]{{0,2}}(?:,[0-9]{{3}}){{2,}}|{_GROUPED_BY_SPACE}\.[0-9]+)"
)
_WITH_COMMA: Final = (
    rf"(?:{_GROUPED_BY_POINT},[0-9]+|[1-9][0-9]{{0,2}}(?:\.[0-9]{{3}}){{2,}}|{_GROUPED_BY_SPACE},[0-9]+"
    r"|[0-9]+,(?:[0-9]{1,2}|[0-9]{4,12})|[0-9]{4,15},[0-9]{3})"
)
_UNCERTAIN: Final = rf"(?:[1-9][0-9]{{0,2}},[0-9]{{3}}|{_GROUPED_BY_SPACE})"
_PLAIN: Final = r"[0-9]{1,18}"
_PLAIN_POINT: Final = r"[0-9]{1,18}\.[0-9]+"


def _signed(number: str) -> str:
    return rf"(?:[-+]?{number}|{number}-|\({number}\))"


def _money(number: str) -> str:
    before, after = f"{CURRENCIES}{_SPACE}", f"{_SPACE}{CURRENCIES}"
    return rf"(?:[-+]?{before}{_signed(number)}|\({before}{number}\)|{_signed(number)}{after}|\({number}{after}\))"


def _patterns() -> Iterator[tuple[str, str]]:
    for separator in "/-":
        tail = f"{separator}{_YEAR}{_CLOCK}"
        yield "date-day-first", f"{_HIGH}{separator}{_LOW}{tail}"
        yield "date-month-first", f"{_LOW}{separator}{_HIGH}{tail}"
        yield "date-any-first", f"{_LOW}{separator}{_LOW}{tail}"
    yield "date", rf"{_DAY}\.{_LOW}\.{_YEAR}{_CLOCK}"
    yield "date", rf"{_YEAR}(?:/{_LOW}/{_DAY}|\.{_LOW}\.{_DAY}){_CLOCK}"
    yield "date", rf"{_DAY}[ -]{_MONTH}[ -]{_YEAR}{_CLOCK}"
    yield "date", rf"{_MONTH} {_DAY}, {_YEAR}{_CLOCK}"
    numbers = {"point": (_WITH_POINT, _PLAIN_POINT), "comma": (_WITH_COMMA,), "any": (_UNCERTAIN, _PLAIN)}
    for separator_name, forms in numbers.items():
        number = f"(?:{'|'.join(forms)})"
        yield f"money-{separator_name}", _money(number)
        yield f"percent-{separator_name}", rf"{_signed(number)}{_SPACE}%"
    yield "number-point", _signed(_WITH_POINT)
    yield "number-comma", _signed(_WITH_COMMA)
    yield "number-any", _signed(_UNCERTAIN)
    # A minus behind, or parentheses around a number that has no separator.
    yield "number-any", rf"(?:{_PLAIN}-|\({_PLAIN}\))"
    yield "number-point", rf"(?:{_PLAIN_POINT}-|\({_PLAIN_POINT}\))"


LOOKS: Final = tuple((f"{PREFIX}{name}", rf"^[ \t]*{pattern}[ \t]*$") for name, pattern in _patterns())
"""Marks and the patterns of their texts; no text fits two patterns of different marks."""

ANY_LOOK: Final = "|".join(pattern for _, pattern in LOOKS)
"""The pattern of all texts that have a look."""

_ANY: Final = re.compile(ANY_LOOK)
_COMPILED: Final = tuple((mark, re.compile(pattern)) for mark, pattern in LOOKS)


def find_look(text: str) -> str | None:
    """Return the mark of a text's look.

    >>> find_look("31/12/2020"), find_look("€ 1.234,50"), find_look("12.5 %"), find_look("1,234"), find_look("12 mm")
    ('like-date-day-first', 'like-money-comma', 'like-percent-point', 'like-number-any', None)
    """
    if len(text) > LONGEST or text.endswith("\n") or _ANY.search(text) is None:
        return None
    return next(mark for mark, pattern in _COMPILED if pattern.search(text))


LONGEST: Final = 64
"""Characters of the longest text with a look."""


def look_of(value_class: str) -> tuple[Look, str] | None:
    """Return the look of a class of texts, and the rest of its mark: which of day and month is first, the separator.

    >>> look_of("text:like-date-any-first"), look_of("text:bool,like-money-comma"), look_of("text")
    ((<Look.DATE: 'date'>, 'any-first'), (<Look.MONEY: 'money'>, 'comma'), None)
    """
    mark = value_class.rpartition(":")[2].rpartition(",")[2]
    if not mark.startswith(PREFIX):
        return None
    kind, _, detail = mark.removeprefix(PREFIX).partition("-")
    return Look(kind), detail


def with_look(value_class: str, mark: str) -> str:
    """Return the class of texts that also have a look."""
    if value_class.endswith(mark):
        return value_class
    return f"{value_class}{',' if ':' in value_class else ':'}{mark}"

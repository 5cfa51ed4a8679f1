"""Decides how values of rows are shown as examples: as they are, masked, or not at all.

Reports, outputs and evidence files take their examples from here. Unless the call says otherwise, values of columns
that are marked as personal are masked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, Final, TypeVar

Value = TypeVar("Value")

_IN_ERRORS: Final = re.compile(
    r"""(?P<before>value\ )(?P<number>-?\d[\w.+-]*)          # Type INT32 with value 300 can't be cast
    |(?P<key>\)=)\((?P<row>.*?)\)(?=\ already|\ is|\ conflicts|\ refer|$)  # Key (mail)=(ann@x.org) already exists
    |(?P<contains>\ contains\ )\((?P<failing>.*)\)         # Failing row contains (1, ann@x.org)
    |(?P<lost>would\ lose\ data:\ )(?P<cast>.*)           # Arrow's casts of times
    |(?P<ours>does\ not\ survive:\ )(?P<refused>.*)         # what our own SQL raises
    |"(?P<double>[^"]*)"|'(?P<single>[^']*)'""",
    re.VERBOSE | re.DOTALL,
)


class Examples(StrEnum):
    """How values of rows are shown."""

    NONE = "none"
    """Counts and places only."""
    MASKED = "masked"
    """Their shape: ``ann@x1.org`` is ``xxx@x9.xxx``."""
    PLAIN = "plain"


_stated: Examples | None = None


@contextmanager
def show_examples(examples: Examples | None) -> Iterator[None]:
    """Show all examples in this style while the context is open; None masks only examples of personal columns."""
    global _stated
    before, _stated = _stated, examples
    try:
        yield
    finally:
        _stated = before


def examples_of(is_personal: bool) -> Examples:
    """Return how examples of a column are shown, which is marked as personal or not."""
    return _stated or (Examples.MASKED if is_personal else Examples.PLAIN)


def mask_examples(values: Iterable[Value], is_personal: bool) -> tuple[Value, ...]:
    """Return the values of a column as they may be shown, JSON data or texts."""
    match examples_of(is_personal):
        case Examples.NONE:
            return ()
        case Examples.MASKED:
            return tuple(dict.fromkeys(map(mask, values)))
        case Examples.PLAIN:
            return tuple(values)


def shown_error(message: str) -> str:
    """Return an error of a database, Spark or Arrow about a value that it cannot take, its values as they may be shown.

    Only for errors about values: names in quotes are masked as well. Which column a value is of is not known, so that
    marks of personal data do not count.

    >>> with show_examples(Examples.MASKED):
    ...     shown_error('invalid input syntax for type integer: "078-05-1120"')
    'invalid input syntax for type integer: "999-99-9999"'
    """
    match examples_of(is_personal=False):
        case Examples.PLAIN:
            return message
        case Examples.MASKED:
            return _IN_ERRORS.sub(_replaced(mask), message)
        case Examples.NONE:
            return _IN_ERRORS.sub(_replaced(lambda _: "***"), message)


def _replaced(hide: Callable[[str], str]) -> Callable[[re.Match[str]], str]:
    def replace(match: re.Match[str]) -> str:
        group = match.lastgroup or ""
        start, end = match.span(group)
        text = match[0]
        return text[: start - match.start()] + hide(match[group]) + text[end - match.start() :]

    return replace


def mask(value: Any) -> Any:
    """Return the shape of a value: ``x`` for letters, ``9`` for digits; null stays null.

    >>> mask("Ann-Lee, 078-05-1120"), mask(-12.5), mask(True)
    ('Xxx-Xxx, 999-99-9999', '-99.9', '***')
    """
    match value:
        case None:
            return None
        case bool():
            return "***"
        case str() if value in ("true", "false"):
            return "***"
        case _:
            return "".join(map(_masked, str(value)))


def _masked(letter: str) -> str:
    if letter.isalpha():
        return "X" if letter.isupper() else "x"
    return "9" if letter.isnumeric() else letter

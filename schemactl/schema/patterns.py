"""Patterns that a schema states for names: dlt's SimpleRegex, searched for a bounded time (docs/dlt.md §1.4).

Python's own engine searches, since dlt's results are its results. It may take years for a pattern such as ``(a+)+$``,
on which dlt hangs, and a schema may be a stranger's: so a search that takes longer than ``LIMIT_SECONDS`` of the
processor is given up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final

from schemactl.errors import InputError
from schemactl.time_limit import time_limit

LIMIT_SECONDS: Final = 1.0
"""Of the processor's time, for one name; those that end take microseconds."""

_REGEX_PREFIX: Final = "re:"
_MOST_CHOICES: Final = 5
_LONGEST_QUICK: Final = 1000
"""Letters of a name in which a quick pattern is searched for without a clock: its time grows with their square."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern at work; ``text`` is how the schema states it."""

    text: str
    _regex: re.Pattern[str]
    _is_quick: bool = True

    def search(self, name: str) -> bool:
        """Return whether a name is hit.

        Raises:
            InputError: that takes too long to find out.
        """
        if self._is_quick and len(name) <= _LONGEST_QUICK:
            return self._regex.search(name) is not None
        with time_limit(LIMIT_SECONDS, partial(self._endless, name), of_processor=True):
            return self._regex.search(name) is not None

    def _endless(self, name: str) -> InputError:
        shown = name if len(name) <= 80 else f"{name[:80]}…"
        message = f"the pattern `{self.text}` takes too long to be searched for in `{shown}`"
        hint = "a repetition of repetitions, as in `(a+)+$`, tries every way to part the name: write `a+$`"
        return InputError(message, hint=hint)


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> Pattern:
    """Compile dlt's SimpleRegex.

    Args:
        pattern: ``re:`` and a regular expression that is searched for anywhere, or else a whole name.

    Raises:
        InputError: the regular expression is not one.
    """
    if not pattern.startswith(_REGEX_PREFIX):
        return Pattern(pattern, re.compile(f"^{re.escape(pattern)}$"))
    try:
        regex = pattern.removeprefix(_REGEX_PREFIX)
        return Pattern(pattern, re.compile(regex), _is_quick(regex))
    except (re.error, OverflowError, RecursionError) as error:
        hint = "a pattern without `re:` stands for a whole name"
        raise InputError(f"`{pattern}` is not a regular expression: {error}", hint=hint) from error


def _is_quick(regex: str) -> bool:
    """Return whether a search has few ways to try: at most one repetition, and then no choice; the clock costs more."""
    repetitions = sum(map(regex.count, "*+{"))
    choices = sum(map(regex.count, "?|"))
    return choices <= _MOST_CHOICES if repetitions == 0 else repetitions == 1 and choices == 0

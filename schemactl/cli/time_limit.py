"""Reads the seconds that an option grants, and holds a command to them."""

from __future__ import annotations

from contextlib import AbstractContextManager

from schemactl.errors import InputError
from schemactl.time_limit import time_limit


def limit_time(seconds: float, option: str) -> AbstractContextManager[None]:
    """End the body with an InputError after so many seconds, 0 for no limit; messages name the option."""

    def given_up() -> InputError:
        hint = f"`{option} SECONDS` gives it more; `{option} 0` takes the limit away"
        return InputError(f"this takes longer than {seconds:g} s, and was given up", hint=hint)

    return time_limit(seconds, given_up)


def read_seconds(text: str, option: str) -> float:
    """Return a number of seconds.

    >>> read_seconds("1.5", "--lock-timeout")
    1.5

    Raises:
        InputError: it is no number of seconds.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise InputError(f"`{text}` is no number of seconds (`{option}`)", hint=f"write it like `{option} 30`")
    return seconds

"""Bounds how long a command may take, so that small hostile input cannot hold a CI job for hours."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from schemactl.errors import InputError


class _TimeUp(BaseException):
    """Ends the command; nothing on the way catches it."""


@contextmanager
def limit_time(seconds: float, option: str) -> Iterator[None]:
    """End the body after so many seconds; only the main thread of a Unix process has such a clock.

    Args:
        seconds: 0 for no limit.
        option: what the user may say, for messages.

    Raises:
        InputError: the time is up.
    """
    if not seconds or sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _give_up)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    except _TimeUp:
        hint = f"`{option} SECONDS` gives it more; `{option} 0` takes the limit away"
        raise InputError(f"this takes longer than {seconds:g} s, and was given up", hint=hint) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _give_up(*_: object) -> NoReturn:
    raise _TimeUp


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

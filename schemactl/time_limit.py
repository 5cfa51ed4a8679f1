"""Bounds how long a step may take, so that small hostile input cannot hold a process for hours.

The clock also interrupts C code that checks for signals, such as Python's regular expressions.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn


class _TimeUp(BaseException):
    """Ends a step; nothing on the way catches it."""


@contextmanager
def time_limit(seconds: float, error: Callable[[], Exception], *, of_processor: bool = False) -> Iterator[None]:
    """Raise an error if the body takes longer; only the main thread of a Unix process has such a clock.

    Args:
        seconds: 0 for no limit.
        error: creates the error.
        of_processor: whether only the processor's time counts. Limits of both kinds may be nested.
    """
    if not seconds or sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return
    number = signal.SIGVTALRM if of_processor else signal.SIGALRM
    timer = signal.ITIMER_VIRTUAL if of_processor else signal.ITIMER_REAL
    up = _TimeUp()

    def give_up(*_: object) -> NoReturn:
        raise up

    before = signal.signal(number, give_up)
    try:
        signal.setitimer(timer, seconds)
        yield
    except _TimeUp as caught:
        if caught is up:
            raise error() from None
        raise
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, before)

"""What a Spark session changes in the process around it, for the time of a block: variables, signals, talk."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def environment(values: dict[str, str | None]) -> Iterator[None]:
    """Set variables of this process (None removes one) for the time of a block."""
    before = {name: os.environ.get(name) for name in values}

    def apply(wanted: dict[str, str | None]) -> None:
        for name, value in wanted.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    apply(values)
    try:
        yield
    finally:
        apply(before)


@contextlib.contextmanager
def kept_interrupt_handler() -> Iterator[Callable[[], None]]:
    """Hand out a function that puts the handler of Ctrl-C back: PySpark's talks to Java inside the signal."""
    handler = signal.getsignal(signal.SIGINT)

    def put_back() -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)

    try:
        yield put_back
    finally:
        put_back()


@contextlib.contextmanager
def quiet(debug: bool) -> Iterator[None]:
    """Keep what PySpark and py4j say off the terminal: it is about their innards, not the user's data."""
    if debug:
        yield
        return

    def is_ours(record: logging.LogRecord) -> bool:
        return "py4j" not in record.pathname

    root, py4j = logging.getLogger(), logging.getLogger("py4j")
    level = py4j.level
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"pyspark\b")
        warnings.filterwarnings("ignore", message=r".*PySpark")
        # py4j logs through its own logger and, on an interrupt, through the root.
        root.addFilter(is_ours)
        py4j.setLevel(logging.CRITICAL + 1)
        try:
            yield
        finally:
            root.removeFilter(is_ours)
            py4j.setLevel(level)

"""Pauses Python's garbage collector while documents and trees live, which it would walk through again and again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Iterator[None]:
    """Pause the collector for as long as the block runs; one that is off already stays off.

    Documents have no cycles, and to look for some takes most of the time of parsing them.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()

"""Runs again what gave way to sessions that hold a lock, after pauses that grow."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from schemactl.errors import LockNotAvailable
from schemactl.flows.progress import Progress

T = TypeVar("T")

_FIRST_PAUSE_SECONDS: Final = 0.5
_LONGEST_PAUSE_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class LockRetry:
    """How often a transaction that gave way is tried again.

    While a step waits for a lock, all who come after it wait behind it: so it waits a short time only, gives way, and
    leaves the others a pause to do their work.

    Attributes:
        retries: how often.
        progress: gets what it waits for.
    """

    retries: int
    progress: Progress

    def run(self, work: Callable[[], T]) -> T:
        """Return what ``work`` returns, which leaves nothing behind where it fails.

        Raises:
            LockNotAvailable: others held the lock each time.
        """
        for retry in range(1, self.retries + 1):
            try:
                return work()
            except LockNotAvailable as error:
                pause = min(_FIRST_PAUSE_SECONDS * 2 ** (retry - 1), _LONGEST_PAUSE_SECONDS)
                self.progress(f"retry {retry} of {self.retries} in {pause:g} s: {error.message}", None)
                time.sleep(pause)
        return work()

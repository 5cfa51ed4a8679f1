"""Retries transactions that could not get a lock, after growing pauses."""

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
    """Retries a transaction that could not get a lock.

    While a step waits for a lock, all later sessions wait behind it. So it waits for a short time, its transaction is
    rolled back, and the others get a pause to do their work.

    Attributes:
        retries: the number of retries.
        progress: receives why each retry is needed.
    """

    retries: int
    progress: Progress

    def run(self, work: Callable[[], T]) -> T:
        """Run ``work``, retry it while others hold a lock, and return its result.

        Args:
            work: a whole transaction: where it fails, nothing of it is kept.

        Raises:
            LockNotAvailable: the last retry did not get the lock either.
        """
        for retry in range(1, self.retries + 1):
            try:
                return work()
            except LockNotAvailable as error:
                pause = min(_FIRST_PAUSE_SECONDS * 2 ** (retry - 1), _LONGEST_PAUSE_SECONDS)
                self.progress(f"retry {retry} of {self.retries} in {pause:g} s: {error.message}", None)
                time.sleep(pause)
        return work()

"""How the cost of work grows with its size: the same on a fast machine, a slow one, and one that is busy."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

LINEAR = 50.0
"""What ten times the size may cost at most; work that looks at all pairs costs a hundred times as much."""

ATTEMPTS = 5
"""A busy machine disturbs an attempt, and only ever upward; quadratic work exceeds the limit in all of them."""


def growth(work: Callable[[int], object], size: int) -> float:
    """Return how much more of the processor's time work takes at ten times the size.

    Measures again while the answer is not linear, and returns the least. The garbage collector does not run within a
    measurement: what it costs depends on all objects of the process, those of earlier tests too.
    """
    least = float("inf")
    for _ in range(ATTEMPTS):
        small = min(cost(work, size) for _ in range(3))
        least = min(least, cost(work, 10 * size) / small)
        if least < LINEAR:
            break
    return least


def cost(work: Callable[[int], object], size: int) -> float:
    """Return the seconds of processor time that work takes at a size."""
    gc.collect()
    gc.disable()
    try:
        started = time.process_time()
        work(size)
        return time.process_time() - started
    finally:
        gc.enable()

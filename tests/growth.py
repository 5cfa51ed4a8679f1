"""How the cost of work grows with its size: the same on a fast machine, a slow one, and one that is busy."""

from __future__ import annotations

import time
from collections.abc import Callable

LINEAR = 50.0
"""What ten times the size may cost at most; work that looks at all pairs costs a hundred times as much."""


def growth(work: Callable[[int], object], size: int) -> float:
    """Return how much more of the processor's time work takes at ten times the size."""

    def cost(size: int) -> float:
        started = time.process_time()
        work(size)
        return time.process_time() - started

    return cost(10 * size) / min(cost(size) for _ in range(3))

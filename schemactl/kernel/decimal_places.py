"""Decimal places and range of many doubles, as ``inference.evidence`` has them of one, at the speed of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from schemactl.inference.evidence import EXACT_POWERS, MOST_PLACES, as_float, decimal_places
from schemactl.schema.coercion import EXACT_INTEGERS

_Doubles = npt.NDArray[np.float64]

_FEW: Final = 32
"""Fewer doubles take less time one by one."""


def measure_doubles(values: Sequence[float], least_places: int) -> tuple[int, float | None, float | None]:
    """Return the most decimal places that doubles need, or ``least_places`` if that is more, and their range.

    The range ignores NaN, which has no order; it is None if there are no other doubles.
    """
    if len(values) < _FEW:
        ordered = [value for value in values if as_float(value) is not None]
        places = max(least_places, *map(decimal_places, values))
        return places, min(ordered, default=None), max(ordered, default=None)
    doubles = np.array(values, np.float64)
    places = _most_places(doubles, least_places)
    least, greatest = float(np.fmin.reduce(doubles)), float(np.fmax.reduce(doubles))
    return places, as_float(least), as_float(greatest)


def _most_places(doubles: _Doubles, least_places: int) -> int:
    if least_places == MOST_PLACES:
        return least_places
    with np.errstate(over="ignore", invalid="ignore"):
        doubles = doubles[~_have_places(doubles, least_places)]
        for places in range(EXACT_POWERS + 1):
            if not doubles.size:
                return least_places
            are_written = _have_places(doubles, places)
            if are_written.any():
                least_places = max(least_places, places)
                doubles = doubles[~are_written]
    return MOST_PLACES if doubles.size else least_places


def _have_places(doubles: _Doubles, places: int) -> npt.NDArray[np.bool_]:
    power = float(10**places)
    integers = np.rint(doubles * power)
    are_written: npt.NDArray[np.bool_] = (np.abs(integers) < EXACT_INTEGERS) & (integers / power == doubles)
    return are_written

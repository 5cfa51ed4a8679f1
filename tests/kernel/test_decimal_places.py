"""Decimal places of doubles: proven for one, and the same for many."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.inference.evidence import MOST_PLACES, as_float, decimal_places
from schemactl.kernel.decimal_places import measure_doubles

DOUBLES = st.one_of(
    st.floats(),
    st.decimals(-(10**9), 10**9, places=2).map(float),
    st.builds(lambda digits, places: digits / 10**places, st.integers(-(2**53), 2**53), st.integers(0, 30)),
)


@given(DOUBLES)
def test_python_writes_a_double_with_as_many_places_or_fewer(number: float) -> None:
    if math.isfinite(number):
        exponent = Decimal(repr(number)).normalize().as_tuple().exponent
        assert isinstance(exponent, int)
        assert -exponent <= decimal_places(number)
    else:
        assert decimal_places(number) == MOST_PLACES


@pytest.mark.parametrize(("number", "places"), [
    (0.0, 0), (-0.0, 0), (1.0, 0), (0.5, 1), (-12345678.91, 2), (1e-7, 7), (123456789.012345, 6),
    (0.1 + 0.2, MOST_PLACES), (1e300, MOST_PLACES), (5e-324, MOST_PLACES),
])  # fmt: skip
def test_the_places_of_a_double(number: float, places: int) -> None:
    assert decimal_places(number) == places


@given(st.lists(DOUBLES, min_size=1, max_size=100), st.integers(1, 100))
def test_many_doubles_have_the_places_and_the_range_of_each(numbers: list[float], size: int) -> None:
    places = 0
    for start in range(0, len(numbers), size):
        places, least, greatest = measure_doubles(numbers[start : start + size], places)
        ordered = [number for number in numbers[start : start + size] if as_float(number) is not None]
        assert (least, greatest) == (min(ordered, default=None), max(ordered, default=None))
    assert places == max(map(decimal_places, numbers))

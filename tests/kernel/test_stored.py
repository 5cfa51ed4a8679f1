"""Values of Arrow as Python's."""

from __future__ import annotations

from datetime import datetime, time

import pyarrow as pa

from schemactl.kernel.stored import python_values


def test_nanoseconds_are_cut_as_python_has_none() -> None:
    assert python_values(pa.array([3_723_000_004_999, None], pa.time64("ns"))) == [time(1, 2, 3, 4), None]
    moments = python_values(pa.array([1_999, -1], pa.timestamp("ns")))
    assert moments == [datetime(1970, 1, 1, microsecond=1), datetime(1969, 12, 31, 23, 59, 59, 999_999)]

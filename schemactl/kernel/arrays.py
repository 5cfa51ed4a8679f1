"""Makes arrays of Arrow from buffers: ``pyarrow.array`` loads pandas, which takes longer than most files.

``message`` is the array by which a partition answers the driver (``engine.shipping.run_kernel``).
"""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Sequence
from itertools import accumulate

import pyarrow as pa


def binary_array(values: Sequence[bytes]) -> pa.BinaryArray:
    """Return an array of bytes."""
    ends = array("i", accumulate(map(len, values), initial=0))
    return pa.Array.from_buffers(pa.binary(), len(values), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))])


def message(answer: object) -> pa.RecordBatch:
    """Return one row with an answer for the driver, pickled."""
    return pa.RecordBatch.from_arrays([binary_array([pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)])], ["message"])

"""Arrays of Arrow from and to buffers: ``pyarrow.array`` and ``to_numpy`` load pandas, which takes long.

``answer`` makes the array that a partition returns to the driver (``engine.spark.shipping.run_kernel``).
"""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pyarrow as pa


def binary_array(values: Sequence[bytes]) -> pa.BinaryArray:
    """Return an array of bytes."""
    ends = array("i", accumulate(map(len, values), initial=0))
    return pa.Array.from_buffers(pa.binary(), len(values), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))])


def answer(
    batches: Iterable[pa.RecordBatch], module: str, function: str, arguments: Mapping[str, Any]
) -> Iterator[pa.RecordBatch]:
    """Yield one row with the pickled result of ``module.function(batches, **arguments)``."""
    result = resolve_name(f"{module}:{function}")(batches, **arguments)
    yield pa.RecordBatch.from_arrays([binary_array([pickle.dumps(result, pickle.HIGHEST_PROTOCOL)])], ["answer"])


def string_array(texts: Sequence[str]) -> pa.StringArray:
    """Return an array of strings without nulls."""
    joined = "".join(texts)
    encoded = joined.encode()
    offsets = np.zeros(len(texts) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, texts), np.int32, len(texts)), out=offsets[1:])
    if len(encoded) > len(joined):
        # From characters to bytes: all but 0x80 to 0xBF begin a character of UTF-8.
        begins = np.flatnonzero(np.frombuffer(encoded, np.int8) >= -64)
        offsets = np.append(begins, len(encoded)).astype(np.int32)[offsets]
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(offsets), pa.py_buffer(encoded))


def array_of(numbers: np.ndarray[Any, Any], kind: pa.DataType) -> pa.Array:
    """Return an array of numbers, which numpy holds in a type of the same width."""
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(numbers)])


def numbers_of(values: pa.Array) -> np.ndarray[Any, Any]:
    """Return the numbers of an array without nulls."""
    numbers = np.frombuffer(values.buffers()[1], values.type.to_pandas_dtype())
    return numbers[values.offset : values.offset + len(values)]

"""Arrow arrays of texts: their bytes, and a conversion of each distinct text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa


def octets_of(texts: pa.Array) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the bytes of all texts, one text after the other."""
    _, offsets, data = texts.buffers()
    if not offsets or not data:
        return np.zeros(0, np.uint8)
    ends = np.frombuffer(offsets, np.int32)
    return np.frombuffer(data, np.uint8)[ends[texts.offset] : ends[texts.offset + len(texts)]]


def convert_distinct(texts: pa.Array, convert: Callable[[str], Any], to: pa.DataType) -> pa.Array:
    """Return the values of texts, converted once for each distinct text; nulls stay null."""
    encoded = texts.dictionary_encode()
    values = pa.array([None if text is None else convert(text) for text in encoded.dictionary.to_pylist()], to)
    return values.take(encoded.indices)

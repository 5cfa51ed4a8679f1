"""Values of rows as engines group and sort them; incomparable values become bytes in the same order.

The order is Spark's: inside of objects and lists null comes first and NaN last, -0.0 equals 0.0, and a list comes
before longer lists with the same beginning. Maps are compared by their entries in the order of their keys, as Spark
groups by them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from itertools import pairwise

import pyarrow as pa
import pyarrow.types as is_a

from schemactl.kernel.stored import DECIMAL_DIGITS

_NULL, _VALUE = b"\0", b"\1"
_LIST_END, _NULL_ELEMENT, _ELEMENT = b"\0", b"\1", b"\2"

_Code = bytes | None
"""The bytes of a value; None for null."""


def comparable(array: pa.Array) -> pa.Array:
    """Return values as scalars in the same order; times and nanoseconds, which PySpark does not read, as integers."""
    if is_a.is_nested(array.type):
        return pa.array(_codes(array), pa.binary())
    is_foreign = is_a.is_time64(array.type) or (is_a.is_timestamp(array.type) and array.type.unit == "ns")
    return array.cast(pa.int64()) if is_foreign else array


def _codes(array: pa.Array) -> list[_Code]:
    of = array.type
    if is_a.is_struct(of):
        fields = [[_NULL if code is None else _VALUE + code for code in _codes(field)] for field in array.flatten()]
        codes: Iterable[bytes] = map(b"".join, zip(*fields, strict=True)) if fields else [b""] * len(array)
    elif is_a.is_map(of):
        keys, items = _codes(array.keys), _codes(array.items)
        entries = [
            (key or b"", _NULL if item is None else _VALUE + item) for key, item in zip(keys, items, strict=True)
        ]
        codes = (_list_code(key + item for key, item in sorted(entries[start:end])) for start, end in _bounds(array))
    elif is_a.is_list(of):
        elements = _codes(array.values)
        codes = (_list_code(elements[start:end]) for start, end in _bounds(array))
    else:
        return _scalar_codes(array)
    return [code if is_value else None for code, is_value in zip(codes, array.is_valid().to_pylist(), strict=True)]


def _bounds(array: pa.Array) -> Iterable[tuple[int, int]]:
    return pairwise(array.offsets.to_pylist())


def _list_code(elements: Iterable[_Code]) -> bytes:
    return b"".join(_NULL_ELEMENT if code is None else _ELEMENT + code for code in elements) + _LIST_END


def _scalar_codes(array: pa.Array) -> list[_Code]:
    of = array.type
    if is_a.is_decimal(of):
        return _decimal_codes(array.cast(pa.decimal128(DECIMAL_DIGITS, of.scale)))
    if is_a.is_floating(of):
        return [None if number is None else _float_code(number) for number in array.to_pylist()]
    if is_a.is_string(of) or is_a.is_binary(of):
        octets = array.cast(pa.binary()).to_pylist()
        return [None if value is None else value.replace(b"\0", b"\0\xff") + b"\0\0" for value in octets]
    # Booleans, integers, and dates and times, which Arrow counts.
    integers = (array.cast(pa.int32()) if is_a.is_date(of) or is_a.is_time32(of) else array).cast(pa.int64())
    return [None if number is None else (number + 2**63).to_bytes(8, "big") for number in integers.to_pylist()]


def _float_code(value: float) -> bytes:
    number = float("nan") if value != value else value + 0.0
    bits = int.from_bytes(struct.pack(">d", number), "big")
    # The bits of positive numbers are in order, the bits of negative numbers in reverse order.
    return (bits ^ (2**64 - 1) if bits >> 63 else bits | 2**63).to_bytes(8, "big")


def _decimal_codes(array: pa.Array) -> list[_Code]:
    octets = array.buffers()[1].to_pybytes()[16 * array.offset :] if len(array) else b""
    numbers = (int.from_bytes(octets[16 * index :][:16], "little", signed=True) for index in range(len(array)))
    return [
        (number + 2**127).to_bytes(16, "big") if is_value else None
        for number, is_value in zip(numbers, array.is_valid().to_pylist(), strict=True)
    ]

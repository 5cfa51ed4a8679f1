"""Row keys, ``_dlt_id``: 14 characters of Base64 for 10 bytes of a hash (docs/dlt.md §5.4), many at a time.

What sources state as more than text and numbers dlt marks by a character of Unicode's private area when it stores the
rows between its steps, and hashes it with its mark.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from hashlib import sha256, shake_128
from typing import Any, Final

import numpy as np
import pyarrow as pa

_HASH_BYTES: Final = 10
_KEY_LENGTH: Final = 14
_GROUP: Final = b"\0\0"
"""Padding to whole Base64 groups of a digest, so that a single call encodes all digests."""


def hash_texts(texts: Iterable[bytes]) -> list[bytes]:
    """Return the digest of each text that dlt makes keys of."""
    return [shake_128(text).digest(_HASH_BYTES) for text in texts]


def hash_children(above: Sequence[bytes], table: str, parents: Sequence[int], indexes: Sequence[int]) -> list[bytes]:
    """Return the digests of rows of a nested table, given the keys of the rows that contain them.

    ``parents`` has the index of each row's parent in ``above``, ``indexes`` its index in its list.
    """
    middle = f"_{table}_".encode()
    starts = [key + middle for key in above]
    ends = [b"%d" % index for index in range(max(indexes, default=-1) + 1)]
    return [
        shake_128(starts[parent] + ends[index]).digest(_HASH_BYTES)
        for parent, index in zip(parents, indexes, strict=True)
    ]


def hash_places(load_id: str, table: str, file: str, positions: Iterable[object]) -> list[bytes]:
    """Return the digests of rows of root tables, which are unique in this load and all other loads.

    dlt draws random keys; here they derive from the position of the record, so that a retry gives the same rows.
    """
    before, after = f"{load_id}\n{table}\n", f"\n{file}"
    return [
        sha256(f"{before}{position}{after}".encode("utf-8", "replace")).digest()[:_HASH_BYTES] for position in positions
    ]


def keys_of(digests: Sequence[bytes]) -> np.ndarray[Any, Any]:
    """Return the keys of digests: rows of 14 characters."""
    encoded = b64encode(_GROUP.join(digests) + _GROUP) if digests else b""
    return np.ascontiguousarray(np.frombuffer(encoded, np.uint8).reshape(-1, 16)[:, :_KEY_LENGTH])


def key_array(keys: np.ndarray[Any, Any]) -> pa.Array:
    """Return keys as an array of texts."""
    offsets = np.arange(len(keys) + 1, dtype=np.int32) * _KEY_LENGTH
    return pa.StringArray.from_buffers(len(keys), pa.py_buffer(offsets), pa.py_buffer(keys))


def key_texts(keys: np.ndarray[Any, Any]) -> list[bytes]:
    """Return each key by itself."""
    return keys.view(f"S{_KEY_LENGTH}").ravel().tolist() if len(keys) else []


def content_text(value: Any) -> bytes:
    """Return a value as the JSON text for its key, independent of the order of object keys."""
    import orjson

    try:
        return orjson.dumps(value, default=_marked, option=orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATETIME)
    except TypeError:
        # integers past 64 bits and half surrogates, on which dlt fails
        return json.dumps(_without_gaps(value), default=_marked, sort_keys=True, separators=(",", ":")).encode()


def document_text(element: Any, wrapper: str) -> bytes:
    """Return a row as the text for its key, without dlt's own keys at the top level.

    dlt puts an element that is not an object under the key ``wrapper``.
    """
    item = element if isinstance(element, dict) else {wrapper: element}
    return content_text({key: value for key, value in item.items() if not key.startswith("_dlt")})


def _without_gaps(value: Any) -> Any:
    """Return a value without infinities and NaN, which JSON lacks."""
    match value:
        case dict():
            return {key: _without_gaps(inner) for key, inner in value.items()}
        case list():
            return [_without_gaps(inner) for inner in value]
        case float() if value - value != 0:
            return None
        case _:
            return value


def _marked(value: Any) -> str:
    match value:
        case Decimal():
            return f"\uf026{value}"
        case datetime():
            return f"\uf027{value.isoformat()}"
        case date():
            return f"\uf028{value.isoformat()}"
        case bytes():
            return f"\uf02b{b64encode(value).decode()}"
        case time():
            return f"\uf02d{value.isoformat()}"
        case _:
            raise TypeError(f"not a value of a row: {type(value).__name__}")

"""dlt's ``x-nested-type``, the property of a ``json`` column that holds an Arrow type as text (docs/dlt.md §1.3).

pyarrow is imported only to read or write such a text, so that other schemas do not wait for it.
"""

from __future__ import annotations

import base64
import gzip
import zlib
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from schemactl.errors import InputError
from schemactl.installation import install_command

if TYPE_CHECKING:
    import pyarrow

NESTED_TYPE: Final = "x-nested-type"
"""The property of a ``json`` column with the Arrow type of dlt's last load."""

NESTED_TYPE_HINT: Final = "remove it: dlt adds it again with the next load of Arrow data"

_PREFIX: Final = "arrow-ipc:"
_GZIP: Final = 16 + zlib.MAX_WBITS
_MOST_BYTES: Final = 1 << 20
"""Of an unpacked text: a schema file may come from anywhere."""


def arrow() -> Any:
    """Return pyarrow."""
    try:
        import pyarrow
    except ImportError as error:
        raise InputError("the package `pyarrow` is not installed", hint=install_command("parquet")) from error
    return pyarrow


@lru_cache(maxsize=4096)
def decode(text: str) -> pyarrow.DataType:
    """Return the Arrow type in a value of ``x-nested-type``.

    The text of a type depends on the writing Python and on Arrow metadata, so compare types, not texts.
    """
    message, pa = _message(text), arrow()
    try:
        schema = pa.ipc.read_schema(pa.BufferReader(message))
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"it contains no Arrow schema: {error}") from error
    if not len(schema):
        raise ValueError("it contains an Arrow schema without a field")
    of = schema.field(0).type
    _check_names(of)
    return of


def _check_names(of: pyarrow.DataType) -> None:
    """Raise ``UnicodeDecodeError``, a ``ValueError``, for names of fields that are not UTF-8."""
    for index in range(of.num_fields):
        field = of.field(index)
        _ = field.name
        _check_names(field.type)


def check_text(text: str) -> None:
    """Check that a value of ``x-nested-type`` holds a type; without pyarrow, check only that it holds Arrow's bytes."""
    if find_spec("pyarrow") is None:
        _message(text)
    else:
        decode(text)


def _message(text: str) -> bytes:
    if not text.startswith(_PREFIX):
        raise ValueError(f"it does not begin with `{_PREFIX}`")
    unpacked = zlib.decompressobj(wbits=_GZIP)
    try:
        message = unpacked.decompress(base64.b64decode(text.removeprefix(_PREFIX), validate=True), _MOST_BYTES)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"no gzip in Base64 follows `{_PREFIX}`: {error}") from error
    if not unpacked.eof:
        raise ValueError(f"the gzip after `{_PREFIX}` is cut off, or larger than any type")
    return message


def encode(of: pyarrow.DataType) -> str:
    """Return the value of ``x-nested-type`` that dlt 1.31 writes for an Arrow type."""
    pa = arrow()
    message = pa.schema([pa.field("c", of)]).serialize().to_pybytes()
    return _PREFIX + base64.b64encode(gzip.compress(message, mtime=0)).decode("ascii")


def describe(text: str) -> str:
    """Return the type in a value of ``x-nested-type`` for people, as Arrow writes it; an invalid value unchanged."""
    try:
        return str(decode(text))
    except (ValueError, InputError):
        return text


def are_same(before: Any, after: Any) -> bool:
    """Return whether two values of ``x-nested-type`` hold one type."""
    return isinstance(before, str) and isinstance(after, str) and describe(before) == describe(after)

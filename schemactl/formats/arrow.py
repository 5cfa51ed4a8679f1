"""Arrow's IPC files (Feather) and streams: the schema of their rows, one table. Written are files without rows."""

from __future__ import annotations

from typing import Final

from schemactl.errors import InputError, Location
from schemactl.formats._arrow import arrow_schema, read_arrow
from schemactl.formats._losses import Document
from schemactl.schema.arrow_types import arrow
from schemactl.schema.types import Schema

ENDINGS: Final = (".arrow", ".feather", ".arrows", ".ipc")
ONE_TABLE: Final = True
IS_BINARY: Final = True

_FILE: Final = b"ARROW1"


def recognises(content: bytes) -> bool:
    """Return whether bytes begin as a file of Arrow."""
    return content[: len(_FILE)] == _FILE


def write(schema: Schema, path: str | None = None) -> bytes:
    """Return a file without rows; a name that ends in ``.arrows`` asks for a stream.

    Raises:
        InputError: the schema has several tables, or none.
        InputError: pyarrow is not installed.
    """
    pa = arrow()
    made = arrow_schema(schema)
    sink = pa.BufferOutputStream()
    is_stream = path is not None and path.endswith(".arrows")
    with (pa.ipc.new_stream if is_stream else pa.ipc.new_file)(sink, made):
        pass
    return bytes(sink.getvalue())


def read(content: bytes, path: str) -> Document:
    """Return the schema of one table, named after the file; rows are not looked at.

    Raises:
        InputError: it is neither a file nor a stream of Arrow; or two names become one.
        InputError: pyarrow is not installed.
    """
    pa = arrow()
    buffer = pa.py_buffer(content)
    try:
        found = (pa.ipc.open_file if recognises(content) else pa.ipc.open_stream)(buffer).schema
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"this is no file of Arrow: {error}", at=Location(path)) from error
    return read_arrow(found, path)

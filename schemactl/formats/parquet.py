"""Parquet: the schema in the footer of a file, one table. Written are files without rows."""

from __future__ import annotations

from typing import Final

from schemactl.errors import InputError, Location
from schemactl.formats._losses import Document
from schemactl.formats._tables import only_table
from schemactl.formats.arrow import arrow_schema, read_arrow
from schemactl.schema.arrow_hint import arrow
from schemactl.schema.full_types import DEFAULT_DECIMAL, check_scale
from schemactl.schema.types import DataType, Schema
from schemactl.type_systems.fields import Field, fields_of

ENDINGS: Final = (".parquet", ".pq")
ONE_TABLE: Final = True
IS_BINARY: Final = True

_MAGIC: Final = b"PAR1"


def recognises(content: bytes) -> bool:
    """Return whether bytes begin as a Parquet file."""
    return content[: len(_MAGIC)] == _MAGIC


def write(schema: Schema, path: str | None = None) -> bytes:  # noqa: ARG001 - one form for all endings
    """Return a file without rows, whose footer describes the only table of a schema."""
    for field in fields_of(only_table(schema)):
        _check_scales(field)
    sink = arrow().BufferOutputStream()
    from pyarrow import parquet

    # An empty table would do as well, but pyarrow asks pandas for its arrays, where that is installed.
    with parquet.ParquetWriter(sink, arrow_schema(schema)):
        pass
    return bytes(sink.getvalue())


def _check_scales(field: Field) -> None:
    """Raise ``InputError`` if a decimal has more digits after the point than digits, which Arrow allows."""
    if field.data_type is DataType.DECIMAL:
        check_scale(field.name, field.precision or DEFAULT_DECIMAL[0], field.scale or 0, "Parquet")
    for inner in (*field.fields, *filter(None, (field.element, field.values))):
        _check_scales(inner)


def read(content: bytes, path: str) -> Document:
    """Return the schema of one table, named after the file; only the footer is read."""
    pa = arrow()
    from pyarrow import parquet

    try:
        arrow_schema = parquet.read_schema(pa.BufferReader(pa.py_buffer(content)))
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"this is not a Parquet file: {error}", at=Location(path)) from error
    return read_arrow(arrow_schema, path)

"""Arrow's IPC files (Feather) and streams: the schema of their rows, one table. Written are files without rows.

https://arrow.apache.org/docs/format/Columnar.html. Columns are fields, with hints in their metadata ``x-dlt`` and
descriptions in ``comment``, as in Spark's tables; numbers of fields are ``PARQUET:field_id``. Parquet files keep the
same schemas.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from schemactl.errors import InputError, Location
from schemactl.formats._fields import Codec, hint_item, losses_of
from schemactl.formats._losses import Document
from schemactl.formats._tables import file_hints, file_table_name, only_table, record, schema_of
from schemactl.schema.arrow_hint import arrow
from schemactl.schema.types import DataType, Schema
from schemactl.type_systems.arrow_types import WEI, scalar_type
from schemactl.type_systems.fields import COMMENT, FIELD_ID, HINTS, Field, field_of_arrow, fields_of, metadata_of, note

if TYPE_CHECKING:
    import pyarrow

ENDINGS: Final = (".arrow", ".feather", ".arrows", ".ipc")
ONE_TABLE: Final = True
IS_BINARY: Final = True

_FILE: Final = b"ARROW1"


def recognises(content: bytes) -> bool:
    """Return whether bytes begin as a file of Arrow."""
    return content[: len(_FILE)] == _FILE


def write(schema: Schema, path: str | None = None) -> bytes:
    """Return a file without rows; a name that ends in ``.arrows`` selects the stream format."""
    pa = arrow()
    file_schema = arrow_schema(schema)
    sink = pa.BufferOutputStream()
    is_stream = path is not None and path.endswith(".arrows")
    with (pa.ipc.new_stream if is_stream else pa.ipc.new_file)(sink, file_schema):
        pass
    return bytes(sink.getvalue())


def read(content: bytes, path: str) -> Document:
    """Return the schema of one table, named after the file; rows are not looked at."""
    pa = arrow()
    buffer = pa.py_buffer(content)
    try:
        schema = (pa.ipc.open_file if recognises(content) else pa.ipc.open_stream)(buffer).schema
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"this is not an Arrow file: {error}", at=Location(path)) from error
    return read_arrow(schema, path)


def arrow_schema(schema: Schema) -> pyarrow.Schema:
    """Return the Arrow schema of the rows of the only table of a schema."""
    table = only_table(schema)
    fields = []
    for field in fields_of(table):
        arrow_field = _write(field)
        fields.append(arrow_field.with_metadata({**metadata_of(arrow_field), **_hints(CODEC.hints(field))} or None))
    metadata = {**note(table.properties.get("description"), COMMENT), **_hints(file_hints(table, schema))}
    return arrow().schema(fields, metadata=metadata or None)


def _hints(hints: dict[str, Any]) -> dict[str, str]:
    return hint_item(hints and json.dumps(hints, ensure_ascii=False))


def _write(field: Field) -> pyarrow.Field:
    number = field.properties.get("x-id")
    identity = {FIELD_ID: str(number)} if type(number) is int and 0 <= number < 2**31 else {}
    metadata = {**note(field.description, COMMENT), **identity} or None
    return arrow().field(field.name, _type(field), nullable=field.nullable, metadata=metadata)


def _type(field: Field) -> pyarrow.DataType:
    pa = arrow()
    if field.fields:
        return pa.struct([_write(child) for child in field.fields])
    if field.element:
        return pa.list_(pa.field("element", _type(field.element)))
    if field.values:
        return pa.map_(pa.string(), _type(field.values))
    match field.data_type:
        case DataType.BINARY:
            return pa.binary()
        case DataType.DECIMAL if field.precision and field.precision > WEI[0]:
            # As dlt: the digits before the point stay.
            return pa.decimal256(WEI[0], max(0, WEI[0] - field.precision + (field.scale or 0)))
    return scalar_type(field.properties)


def read_arrow(arrow_schema: pyarrow.Schema, path: str) -> Document:
    """Return the schema of one table, named after the file, whose rows an Arrow schema describes."""
    name = file_table_name(path)
    metadata = metadata_of(arrow_schema)
    hints = _read_hints(metadata, path)
    columns = [(field.name, _restored(field, path)) for field in arrow_schema]
    table = record(name, columns, metadata.get(COMMENT), hints.get("table"))
    losses = losses_of((field_of_arrow(field.name, field) for field in arrow_schema), name)
    return Document(schema_of([table], hints.get("schema"), path), tuple(losses))


def _read_hints(metadata: Mapping[str, str], path: str) -> dict[str, Any]:
    try:
        hints = json.loads(metadata.get(HINTS, "{}"))
    except ValueError as error:
        raise InputError(f"the metadata `{HINTS}` is not JSON: {error}", at=Location(path)) from error
    if not isinstance(hints, dict):
        raise InputError(f"the metadata `{HINTS}` is not an object", at=Location(path))
    return hints


def _restored(field: pyarrow.Field, path: str) -> dict[str, Any]:
    metadata = metadata_of(field)
    native_keys = (COMMENT, FIELD_ID)
    native_field = field.with_metadata({key: value for key, value in metadata.items() if key in native_keys} or None)
    return CODEC.restored(field.name, native_field, _read_hints(metadata, path) or None, path)


CODEC: Final = Codec(_write, field_of_arrow)

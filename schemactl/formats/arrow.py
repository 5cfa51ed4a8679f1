"""Arrow's IPC files (Feather) and streams: the schema of their rows, one table. Written are files without rows.

https://arrow.apache.org/docs/format/Columnar.html. Columns are fields, with hints in their metadata ``x-dlt`` and
descriptions in ``comment``, as in Spark's tables; numbers of fields are ``PARQUET:field_id``. Parquet files keep the
same schemas.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from schemactl.errors import InputError, Location
from schemactl.formats._fields import COMMENT, HINTS, Codec, Field, field_of_arrow, fields_of, hinted, note
from schemactl.formats._losses import Document, Loss
from schemactl.formats._tables import file_table_name, lone_table_hints, only_table, record, schema_hints, schema_of
from schemactl.schema.arrow_types import WEI, arrow, is_list, scalar_properties, scalar_type
from schemactl.schema.types import DataType, Schema

if TYPE_CHECKING:
    import pyarrow

_NUMBER: Final = "PARQUET:field_id"
_OWN: Final = frozenset((HINTS, COMMENT, _NUMBER, "ARROW:schema", "ARROW:extension:name", "ARROW:extension:metadata"))

ENDINGS: Final = (".arrow", ".feather", ".arrows", ".ipc")
ONE_TABLE: Final = True
IS_BINARY: Final = True

_FILE: Final = b"ARROW1"


def recognises(content: bytes) -> bool:
    """Return whether bytes begin as a file of Arrow."""
    return content[: len(_FILE)] == _FILE


def write(schema: Schema, path: str | None = None) -> bytes:
    """Return a file without rows; a name that ends in ``.arrows`` asks for a stream."""
    pa = arrow()
    made = arrow_schema(schema)
    sink = pa.BufferOutputStream()
    is_stream = path is not None and path.endswith(".arrows")
    with (pa.ipc.new_stream if is_stream else pa.ipc.new_file)(sink, made):
        pass
    return bytes(sink.getvalue())


def read(content: bytes, path: str) -> Document:
    """Return the schema of one table, named after the file; rows are not looked at."""
    pa = arrow()
    buffer = pa.py_buffer(content)
    try:
        found = (pa.ipc.open_file if recognises(content) else pa.ipc.open_stream)(buffer).schema
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"this is no file of Arrow: {error}", at=Location(path)) from error
    return read_arrow(found, path)


def arrow_schema(schema: Schema) -> pyarrow.Schema:
    """Return the Arrow schema of the rows of the only table of a schema."""
    table = only_table(schema)
    fields = []
    for field in fields_of(table):
        made = _write(field)
        number = field.properties.get("x-id")
        is_number = isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 2**31
        more = {_NUMBER: str(number)} if is_number else {}
        fields.append(made.with_metadata({**_metadata(made), **more, **_hints(CODEC.hints(field))} or None))
    hints = {"table": lone_table_hints(table), "schema": schema_hints(schema)}
    described = note(table.properties.get("description"), COMMENT)
    metadata = {**described, **_hints({key: each for key, each in hints.items() if each})}
    return arrow().schema(fields, metadata=metadata or None)


def _hints(hints: dict[str, Any]) -> dict[str, str]:
    return hinted(hints and json.dumps(hints, ensure_ascii=False))


def _write(field: Field) -> pyarrow.Field:
    metadata = note(field.description, COMMENT) or None
    return arrow().field(field.name, _type(field), nullable=field.nullable, metadata=metadata)


def _type(field: Field) -> pyarrow.DataType:
    pa = arrow()
    if field.fields:
        return pa.struct([_write(each) for each in field.fields])
    if field.element:
        return pa.list_(pa.field("element", _type(field.element)))
    if field.values:
        return pa.map_(pa.string(), _type(field.values))
    match field.data_type:
        case DataType.BINARY:
            return pa.binary()
        case DataType.DECIMAL:
            return scalar_type({**field.properties, "precision": min(field.precision or 0, WEI[0])})
    return scalar_type(field.properties)


def read_arrow(found: pyarrow.Schema, path: str) -> Document:
    """Return the schema of one table, named after the file, whose rows an Arrow schema describes."""
    name = file_table_name(path)
    own = _metadata(found)
    hints = _read_hints(own, path)
    columns = [(field.name, _restored(field, path)) for field in found]
    table = record(name, columns, own.get(COMMENT), hints.get("table"))
    losses = tuple(loss for field in found for loss in _unread(f"{name}.{field.name}", field))
    return Document(schema_of([table], hints.get("schema"), path), losses)


def _metadata(of: pyarrow.Schema | pyarrow.Field) -> dict[str, str]:
    return {key.decode(errors="replace"): value.decode(errors="replace") for key, value in (of.metadata or {}).items()}


def _read_hints(metadata: Mapping[str, str], path: str) -> dict[str, Any]:
    try:
        hints = json.loads(metadata.get(HINTS, "{}"))
    except ValueError as error:
        raise InputError(f"the metadata `{HINTS}` is no JSON: {error}", at=Location(path)) from error
    if not isinstance(hints, dict):
        raise InputError(f"the metadata `{HINTS}` is no object", at=Location(path))
    return hints


def _restored(field: pyarrow.Field, path: str) -> dict[str, Any]:
    metadata = _metadata(field)
    own = field.with_metadata({key: value for key, value in metadata.items() if key == COMMENT} or None)
    properties = CODEC.restored(field.name, own, _read_hints(metadata, path) or None, path)
    # Numbers are identities to Iceberg, which writes them.
    number = metadata.get(_NUMBER, "")
    return {**({"x-id": int(number)} if number.isdecimal() else {}), **properties}


CODEC: Final = Codec(_write, field_of_arrow)


def _unread(place: str, field: pyarrow.Field) -> Iterator[Loss]:
    """Yield metadata that is neither a comment nor a hint, and types that become text."""
    yield from (Loss(place, key, value) for key, value in _metadata(field).items() if key not in _OWN)
    yield from _unread_type(place, field.type)


def _unread_type(place: str, of: pyarrow.DataType) -> Iterator[Loss]:
    from pyarrow import types as is_a

    if is_a.is_dictionary(of) or is_a.is_run_end_encoded(of) or is_list(of):
        yield from _unread_type(place, of.value_type)
    elif is_a.is_struct(of) and of.num_fields:
        for at in range(of.num_fields):
            yield from _unread(f"{place}.{of.field(at).name}", of.field(at))
    elif is_a.is_map(of) and is_a.is_string(of.key_type):
        yield from _unread_type(place, of.item_type)
    elif not is_a.is_null(of) and scalar_properties(of) is None:
        yield Loss(place, "type", {"type": str(of)}, {"data_type": "text"})

"""Delta Lake's table metadata: the first commit of a table's log, ``_delta_log/00000000000000000000.json``; one table.

https://github.com/delta-io/delta/blob/master/PROTOCOL.md. The schema in it is Spark's, with column hints in the
metadata of fields; table hints are in its ``configuration``.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from schemactl.formats._fields import Codec, hint_item, mapping
from schemactl.formats._losses import Document, Loss
from schemactl.formats._shapes import check_shape
from schemactl.formats._tables import file_hints, file_table_name, only_table, record, schema_of
from schemactl.formats.spark import CODEC as SPARK
from schemactl.formats.spark import SHAPES, columns_of, struct_of, unread, write_field
from schemactl.schema.types import Schema
from schemactl.trees.json_text import parse_json
from schemactl.trees.nodes import Source
from schemactl.type_systems.fields import HINTS, Field, note

ENDINGS: Final = (".delta.json", ".json")
ONE_TABLE: Final = True


def recognises(text: str) -> bool:
    """Return whether a text looks as a commit of Delta Lake that describes its table."""
    return re.search(r'^\s*\{\s*"metaData"\s*:', text, re.MULTILINE) is not None


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return the commit that makes an empty table, as Delta Lake's lines of JSON."""
    table = only_table(schema)
    text = json.dumps(struct_of(schema, CODEC, "Delta Lake"), ensure_ascii=False)
    hints = file_hints(table, schema)
    features = {"readerFeatures": ["timestampNtz"], "writerFeatures": ["timestampNtz"]}
    protocol: dict[str, Any] = {"minReaderVersion": 1, "minWriterVersion": 2}
    if '"timestamp_ntz"' in text:
        protocol = {"minReaderVersion": 3, "minWriterVersion": 7, **features}
    metadata = {
        "id": str(uuid5(NAMESPACE_URL, f"{schema.name}/{table.name}")),
        "name": table.name,
        **note(table.properties.get("description")),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": text,
        "partitionColumns": [
            column.name for column in table.columns.values() if column.properties.get("partition") is True
        ],
        "configuration": hint_item(hints and json.dumps(hints, ensure_ascii=False)),
        "createdTime": 0,
    }
    lines = ({"protocol": protocol}, {"metaData": metadata})
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


def _timeless(field: Field) -> Field:
    """Return a field with texts for times of day, which Delta Lake lacks."""
    if field.properties.get("data_type") == "time":
        return replace(field, properties={**field.properties, "data_type": "text", "precision": None})
    return replace(
        field,
        fields=tuple(map(_timeless, field.fields)),
        element=_timeless(field.element) if field.element else None,
        values=_timeless(field.values) if field.values else None,
    )


CODEC: Final = Codec(lambda field: write_field(_timeless(field)), SPARK.read)


def read(text: str, path: str) -> Document:
    """Return the schema of one table, with the name in the metadata or else of the file."""
    source = Source(path, text)
    actions = [action for line in text.splitlines() if isinstance(action := _json(line), dict)]
    descriptions = [action["metaData"] for action in actions if isinstance(action.get("metaData"), dict)]
    metadata = descriptions[-1] if descriptions else None  # a later description of the table replaces earlier ones
    struct = _json(metadata.get("schemaString")) if metadata else None
    if metadata is None or not isinstance(struct, dict) or struct.get("type") != "struct":
        raise source.refuse("no line describes a table of Delta Lake", 0, "a `metaData` with a `schemaString`")
    struct_source = Source(f"`schemaString` of {path}", metadata["schemaString"])
    check_shape(struct_source, parse_json(struct_source), SHAPES, "type")
    configuration = mapping(metadata.get("configuration"))
    hints = mapping(_json(configuration.get(HINTS)))
    table_name = metadata.get("name")
    name = table_name if isinstance(table_name, str) and table_name else file_table_name(path)
    partitions = metadata.get("partitionColumns") or []
    if not isinstance(partitions, list):
        raise source.refuse("`partitionColumns` must be a list", text.find('"partitionColumns"'))
    columns = tuple(
        (column, {**properties, "partition": True} if column in partitions else properties)
        for column, properties in columns_of(struct, CODEC, path)
    )
    table = record(name, columns, metadata.get("description"), hints.get("table"))
    configuration_losses = (Loss(name, key, value) for key, value in configuration.items() if key != HINTS)
    return Document(schema_of([table], hints.get("schema"), path), (*unread(name, struct), *configuration_losses))


def _json(text: Any) -> Any:
    try:
        return json.loads(text)
    except (RecursionError, TypeError, ValueError):
        return None

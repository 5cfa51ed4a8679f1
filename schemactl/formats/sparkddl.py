"""Spark's DDL string of the columns of a table, as ``StructType.fromDDL`` reads it.

It is the StructType of ``schemactl.formats.spark`` in another notation, which has no place for hints.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from schemactl.formats._losses import Document
from schemactl.formats._tables import check_case, only_table
from schemactl.formats.spark import table_of, write_field
from schemactl.schema.naming import Naming
from schemactl.schema.spark_ddl import DdlError, DdlField, DdlType, quoted_name, read_ddl_columns
from schemactl.schema.types import Schema
from schemactl.trees.nodes import Source
from schemactl.type_systems.fields import field_of

ENDINGS: Final = (".ddl",)
ONE_TABLE: Final = True
STATES_NAMES: Final = False

_DDL: Final = {"long": "BIGINT", "integer": "INT", "short": "SMALLINT", "byte": "TINYINT"}
_JSON: Final[Mapping[str, str]] = {
    **{ddl.lower(): name for name, ddl in _DDL.items()},
    "real": "float", "dec": "decimal", "numeric": "decimal", "character": "char", "timestamp_ltz": "timestamp",
}  # fmt: skip
"""Spark's names in DDL and in JSON, if they differ."""


def recognises(text: str) -> bool:
    """Return whether a text looks as DDL of columns: a name, and a type."""
    return re.match(r"\s*(?:\w+|`[^`]+`)(?:\s*:\s*|\s+)\w+", text) is not None


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return the DDL string of the only table of a schema, a column a line."""
    table = only_table(schema)
    fields = [field_of(column) for column in table.columns.values() if column.is_complete]
    check_case(fields, table.name, "Spark")
    return ",\n".join(_column(write_field(field), " ") for field in fields) + "\n"


def _column(native: dict[str, Any], mark: str) -> str:
    comment = native["metadata"].get("comment")
    # In a statement Spark puts settings and variables of the environment in the place of `${...}`.
    escaped = (comment or "").replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{")
    note = f" COMMENT '{escaped}'" if comment else ""
    return (
        f"{quoted_name(native['name'])}{mark}{_type(native['type'])}{'' if native['nullable'] else ' NOT NULL'}{note}"
    )


def _type(native: Any) -> str:
    match native:
        case {"type": "struct", "fields": fields}:
            return f"STRUCT<{', '.join(_column(field, ': ') for field in fields)}>"
        case {"type": "array", "elementType": element}:
            return f"ARRAY<{_type(element)}>"
        case {"type": "map", "valueType": value}:
            return f"MAP<STRING, {_type(value)}>"
    return _DDL.get(native, str(native).upper())


def read(text: str, path: str, naming: Naming | None = None) -> Document:
    """Return the schema of one table, named after the file."""
    source = Source(path, text)
    try:
        fields = read_ddl_columns(text)
    except DdlError as error:
        fault = source.refuse_depth(error.at) if error.is_too_deep else source.refuse(str(error), error.at)
        raise fault from error
    return table_of({"type": "struct", "fields": list(map(_native, fields))}, path, naming)


def _native(field: DdlField) -> dict[str, Any]:
    metadata = {} if field.comment is None else {"comment": field.comment}
    return {"name": field.name, "type": _native_type(field.type), "nullable": field.nullable, "metadata": metadata}


def _native_type(ddl_type: DdlType) -> Any:
    inner = [_native_type(inner_type) for inner_type in ddl_type.inner]
    match ddl_type.name:
        case "struct":
            return {"type": "struct", "fields": list(map(_native, ddl_type.fields))}
        case "array":
            return {"type": "array", "elementType": inner[0], "containsNull": True}
        case "map":
            return {"type": "map", "keyType": inner[0], "valueType": inner[1], "valueContainsNull": True}
    name = _JSON.get(ddl_type.name, ddl_type.name)
    sizes = ddl_type.sizes or {"decimal": ("10",), "time": ("6",)}.get(name, ())
    sizes = (*sizes, "0") if name == "decimal" and len(sizes) == 1 else sizes
    return f"{name}({','.join(sizes)})" if sizes else name

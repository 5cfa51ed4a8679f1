"""DBML, the language of dbdiagram.io: tables, enums and relations; hints stand in comments ``// x-dlt: {...}``.

https://dbml.dbdiagram.io/docs
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from schemactl.errors import InputError, Location
from schemactl.formats._dbml_text import DbmlColumn, DbmlFile, DbmlTable, Settings, note_of, parse_dbml
from schemactl.formats._fields import HINTS, Codec, Field, fields_of, note
from schemactl.formats._losses import Document, Loss
from schemactl.formats._relations import references_of
from schemactl.formats._sql_types import read_sql_type, write_sql_type
from schemactl.formats._tables import data_tables, record, schema_hints, schema_of, table_hints, table_properties
from schemactl.formats._tree import Source
from schemactl.schema.types import Schema, Table

ENDINGS: Final = (".dbml",)

_PLAIN: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_PLAIN_TYPE: Final = re.compile(r"[A-Za-z_]\w*(\(\d+(,\d+)?\))?", re.ASCII)
_KEYWORDS: Final = frozenset({
    "table", "tablegroup", "tablepartial", "enum", "ref", "project", "note", "indexes", "checks", "records",
    "as", "null", "true", "false",
})  # fmt: skip


def recognises(text: str) -> bool:
    """Return whether a text looks as DBML: it declares a table."""
    return re.search(r"^\s*Table\s+\S+.*\{", text, re.MULTILINE | re.IGNORECASE) is not None


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return the tables of a schema with their relations."""
    body = f"  Note: {_string(schema.description)}\n" if schema.description else ""
    head = f"{_comment(schema_hints(schema))}Project {_name(schema.name)} {{\n{body}}}\n"
    tables = list(data_tables(schema))
    parts = [head, *(part for table in tables for part in _table(table, references_of(table, schema)))]
    refs = [
        f"Ref: {_end(table.name, each['columns'])} > {_end(each['referenced_table'], each['referenced_columns'])}\n"
        for table in tables
        for each in references_of(table, schema)
    ]
    return "\n".join([*parts, *(["".join(refs)] if refs else [])])


def _table(table: Table, references: list[dict[str, Any]]) -> Iterator[str]:
    description = table.properties.get("description")
    native = {**table_properties(table.name, description), **({"references": references} if references else {})}
    fields = fields_of(table)
    keys = [_name(field.name) for field in fields if field.properties.get("primary_key") is True]
    lines = []
    for field in fields:
        written = _write(field)
        if "enum" in written:
            written["type"] = f"{table.name}.{field.name}"
            values = "".join(f"  {_name(value)}\n" for value in written["enum"])
            yield f"Enum {_name(written['type'])} {{\n{values}}}\n"
        settings = [*(["pk"] if written.get("pk") and len(keys) == 1 else [])]
        settings += [word for word in ("not null", "null", "unique") if written.get(word)]
        settings += [f"note: {_string(written['note'])}"] if "note" in written else []
        shown = f" [{', '.join(settings)}]" if settings else ""
        of = written["type"] if _PLAIN_TYPE.fullmatch(written["type"]) else _name(written["type"])
        lines += [_comment(CODEC.hints(field), "  "), f"  {_name(field.name)} {of}{shown}\n"]
    lines += [f"\n  indexes {{\n    ({', '.join(keys)}) [pk]\n  }}\n"] if len(keys) > 1 else []
    lines += [f"\n  Note: {_string(description)}\n"] if description else []
    yield f"{_comment(table_hints(table, native))}Table {_name(table.name)} {{\n{''.join(lines)}}}\n"


def _write(field: Field) -> dict[str, Any]:
    """Return a column as DBML says it: its type, the values of its enum, and its settings."""
    key = field.properties.get("primary_key") is True
    values = field.properties.get("x-enum")
    is_enum = field.data_type == "text" and field.precision is None and isinstance(values, list) and bool(values)
    if is_enum and all(isinstance(each, str) and each and not re.search(r'["\n]', each) for each in values or ()):
        native: dict[str, Any] = {"type": "enum", "enum": list(dict.fromkeys(values or ()))}
    else:
        native = {"type": write_sql_type(field).replace('"', "'")}
    native |= {"pk": True} if key else {}
    native |= {"not null": True} if not field.nullable else {"null": True} if key else {}
    native |= {"unique": True} if field.properties.get("unique") is True else {}
    return {**native, **note(field.description, "note")}


def _name(name: str) -> str:
    if _PLAIN.fullmatch(name) and name.lower() not in _KEYWORDS:
        return name
    if not name or re.search(r'["\n]', name):
        raise InputError(f"`{name}` has no form in DBML", hint="names there have no double quotes")
    return f'"{name}"'


def _end(table: str, columns: list[str]) -> str:
    names = [_name(each) for each in columns]
    return f"{_name(table)}.{names[0] if len(names) == 1 else '(' + ', '.join(names) + ')'}"


def _string(text: str) -> str:
    mark = "'''" if "\n" in text else "'"
    return mark + text.replace("\\", "\\\\").replace("'", "\\'") + mark


def _comment(hints: dict[str, Any], indent: str = "") -> str:
    return f"{indent}// {HINTS}: {json.dumps(hints)}\n" if hints else ""


def read(text: str, path: str) -> Document:
    """Return the schema of the tables of a file."""
    file = parse_dbml(Source(path, text))
    names = {key: table.name for table in file.tables for key in (table.alias, table.name) if key is not None}
    references: dict[str, list[dict[str, Any]]] = {}
    losses = [Loss("", "declaration", each) for each in file.passed_over]
    for ref in file.refs:
        if missing := {ref.table, ref.other} - names.keys():
            raise InputError(f"a relation names `{min(missing)}`, which is not a table of the file", at=Location(path))
        ends = [(names[ref.table], list(ref.columns)), (names[ref.other], list(ref.other_columns))]
        if ref.mark == "<>":
            losses.append(Loss(ends[0][0], "ref", f"<> {ends[1][0]}"))
            continue
        (origin, columns), (other, others) = ends if ref.mark != "<" else ends[::-1]
        stated = {"columns": columns, "referenced_table": other, "referenced_columns": others}
        references.setdefault(origin, []).append(stated)
    records = []
    for table in file.tables:
        more = {"references": references[table.name]} if table.name in references else {}
        natives = ((each, _native(each, table, file)) for each in table.columns)
        found = ((each.name, CODEC.restored(each.name, of, each.hints, path)) for each, of in natives)
        records.append(record(table.name, found, table.note, table.hints, **more))
        losses += _unread(table, file)
    stated_hints = file.hints if isinstance(file.hints, dict) else {}
    return Document(schema_of(records, {**note(file.note), **stated_hints} or None, path), tuple(losses))


def _native(column: DbmlColumn, table: DbmlTable, file: DbmlFile) -> dict[str, Any]:
    values = file.enums.get(column.type)
    native: dict[str, Any] = {"type": "enum", "enum": values} if values else {"type": column.type}
    is_key = bool(column.settings.keys() & {"pk", "primary key"}) or any(
        column.name in columns and "pk" in settings for columns, settings in table.indexes
    )
    is_unique = "unique" in column.settings or any(
        columns == (column.name,) and "unique" in settings for columns, settings in table.indexes
    )
    may_be_null = "not null" not in column.settings and (not is_key or "null" in column.settings)
    return {
        **native,
        **({"pk": True} if is_key else {}),
        **({"not null": True} if not may_be_null else {"null": True} if is_key else {}),
        **({"unique": True} if is_unique else {}),
        **note(note_of(column.settings), "note"),
    }


def _read(name: str, native: dict[str, Any]) -> Field:
    of = {"data_type": "text", "x-enum": native["enum"]} if "enum" in native else _type(native["type"])
    properties = {**of, "nullable": not native.get("not null")}
    properties |= {"primary_key": True} if native.get("pk") else {}
    properties |= {"unique": True} if native.get("unique") else {}
    properties |= note(native.get("note"))
    return Field(name, properties)


def _type(stated: str) -> dict[str, Any]:
    if stated.endswith("[]"):
        return {"data_type": "json"}
    return read_sql_type(stated) or {"data_type": "text"}


CODEC: Final = Codec(_write, _read)

_READ: Final = frozenset(("pk", "primary key", "not null", "null", "unique", "note"))


def _unread(table: DbmlTable, file: DbmlFile) -> Iterator[Loss]:
    for key in table.settings:
        if key not in ("headercolor", "note", "color"):
            yield Loss(table.name, key, _words(table.settings, key))
    for column in table.columns:
        place = f"{table.name}.{column.name}"
        yield from (Loss(place, key, _words(column.settings, key)) for key in column.settings if key not in _READ)
        if column.type not in file.enums and read_sql_type(column.type) is None:
            yield Loss(place, "type", {"type": column.type}, {"data_type": _type(column.type)["data_type"]})
    for columns, settings in table.indexes:
        if "pk" not in settings and not ("unique" in settings and len(columns) == 1):
            yield Loss(table.name, "index", list(columns))


def _words(settings: Settings, key: str) -> str:
    return "".join(each.value for each in settings[key])

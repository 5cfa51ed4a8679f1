"""DBML, the language of dbdiagram.io: tables, enums and relations; hints are comments ``// x-dlt: {...}``.

https://dbml.dbdiagram.io/docs
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Set
from typing import Any, Final

from schemactl.errors import InputError, did_you_mean
from schemactl.formats._dbml_text import DbmlColumn, DbmlFile, DbmlRef, DbmlTable, RefEnd, Settings, note_of, parse_dbml
from schemactl.formats._fields import Codec
from schemactl.formats._losses import Document, Loss
from schemactl.formats._relations import references_of
from schemactl.formats._tables import data_tables, record, schema_hints, schema_of, table_hints, table_properties
from schemactl.schema.types import Schema, Table
from schemactl.trees.nodes import Source
from schemactl.type_systems.fields import HINTS, Field, fields_of, note
from schemactl.type_systems.sql_words import read_sql_type, write_sql_type

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
    sections = [head, *(text for table in tables for text in _table(table, references_of(table, schema)))]
    refs = [
        f"Ref: {_end(table.name, ref['columns'])} > {_end(ref['referenced_table'], ref['referenced_columns'])}\n"
        for table in tables
        for ref in references_of(table, schema)
    ]
    return "\n".join([*sections, *(["".join(refs)] if refs else [])])


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
        settings_text = f" [{', '.join(settings)}]" if settings else ""
        of = written["type"] if _PLAIN_TYPE.fullmatch(written["type"]) else _name(written["type"])
        lines += [_comment(CODEC.hints(field), "  "), f"  {_name(field.name)} {of}{settings_text}\n"]
    lines += [f"\n  indexes {{\n    ({', '.join(keys)}) [pk]\n  }}\n"] if len(keys) > 1 else []
    lines += [f"\n  Note: {_string(description)}\n"] if description else []
    yield f"{_comment(table_hints(table, native))}Table {_name(table.name)} {{\n{''.join(lines)}}}\n"


def _write(field: Field) -> dict[str, Any]:
    """Return a column as DBML says it: its type, the values of its enum, and its settings."""
    key = field.properties.get("primary_key") is True
    values = field.properties.get("x-enum")
    is_enum = field.data_type == "text" and field.precision is None and isinstance(values, list) and bool(values)
    if is_enum and all(isinstance(value, str) and value and not re.search(r'["\\\n]', value) for value in values or ()):
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
    if not name or "\n" in name:
        raise InputError(f"`{name}` is not a DBML name", hint="use a name with one line")
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _end(table: str, columns: list[str]) -> str:
    names = [_name(column) for column in columns]
    return f"{_name(table)}.{names[0] if len(names) == 1 else '(' + ', '.join(names) + ')'}"


def _string(text: str) -> str:
    mark = "'''" if "\n" in text else "'"
    return mark + text.replace("\\", "\\\\").replace("'", "\\'") + mark


def _comment(hints: dict[str, Any], indent: str = "") -> str:
    return f"{indent}// {HINTS}: {json.dumps(hints)}\n" if hints else ""


def read(text: str, path: str) -> Document:
    """Return the schema of the tables in a file."""
    source = Source(path, text)
    file = parse_dbml(source)
    if not file.tables and not file.has_project:
        raise source.refuse("the file declares no `Table`", 0)
    references, losses = _references(file, source)
    records = []
    for table in file.tables:
        keys = {name for index in table.indexes if index.has("pk") for name in index.columns}
        uniques = {index.columns[0] for index in table.indexes if index.has("unique") and len(index.columns) == 1}
        more = {"references": references[table.name]} if table.name in references else {}
        columns = (
            (column.name, CODEC.restored(column.name, _native(column, file, keys, uniques), column.hints, path))
            for column in table.columns
        )
        records.append(record(table.name, columns, table.note, table.hints, **more))
        losses += _table_losses(table, file)
    used_types = {column.type for table in file.tables for column in table.columns}
    losses += [Loss("", "Enum", name) for name in file.enums if name not in used_types]
    hints = file.hints if isinstance(file.hints, dict) else {}
    return Document(schema_of(records, {**note(file.note), **hints} or None, path), (*file.losses, *losses))


def _references(file: DbmlFile, source: Source) -> tuple[dict[str, list[dict[str, Any]]], list[Loss]]:
    """Return the references of each table by its name, and the losses."""
    tables = {name: table for table in file.tables for name in (table.alias, table.name) if name is not None}
    columns = {name: {column.name for column in table.columns} for name, table in tables.items()}
    for table in file.tables:
        for index in table.indexes:
            _check_names(
                index.columns, columns[table.name], "an index", f"column of `{table.name}`", source, index.start
            )
    references: dict[str, list[dict[str, Any]]] = {}
    losses = []
    for ref in _refs(file):
        # Of a one-to-one reference the right side has the foreign key.
        origin, other = (ref.left, ref.right) if ref.mark in (">", "<>") else (ref.right, ref.left)
        for table_name, names in (ref.left, ref.right):
            if not file.has_imports:
                _check_names([str(table_name)], tables, "a reference", "table", source, ref.start)
            if table_name in tables:
                kind = f"column of `{tables[table_name].name}`"
                _check_names(names, columns[table_name], "a reference", kind, source, ref.start)
        if len(ref.left.columns) != len(ref.right.columns):
            raise source.refuse("the two sides of a reference have different numbers of columns", ref.start)
        if ref.mark == "<>" or origin.table not in tables or other.table not in tables:
            holder = tables[origin.table].name if origin.table in tables else ""
            target = tables[other.table].name if other.table in tables else other.table
            losses.append(Loss(holder, "ref", f"{ref.mark} {target}"))
            continue
        name = tables[origin.table].name
        reference: dict[str, Any] = {
            "columns": list(origin.columns),
            "referenced_table": tables[other.table].name,
            "referenced_columns": list(other.columns),
        }
        reference |= {"label": ref.name} if ref.name else {}
        reference |= {"cardinality": "one_to_one"} if ref.mark == "-" else {}
        references.setdefault(name, []).append(reference)
        losses += [
            Loss(f"{name}.{','.join(origin.columns)}", setting.key, setting.text)
            for setting in ref.settings
            if (setting.key, (setting.text or "").lower()) not in _DEFAULT_ACTIONS
        ]
    return references, losses


def _check_names(
    names: Iterable[str], known_names: Collection[str], subject: str, kind: str, source: Source, start: int
) -> None:
    for name in names:
        if name not in known_names:
            message = f"{subject} names `{name}`, which is not a {kind}"
            raise source.refuse(message, start, did_you_mean(name, known_names))


def _refs(file: DbmlFile) -> Iterator[DbmlRef]:
    """Yield the references of a file, first the references in column settings."""
    for table in file.tables:
        for column in table.columns:
            for setting in column.settings:
                if setting.ref is not None:
                    mark, (other, other_columns) = setting.ref
                    origin, target = RefEnd(table.name, (column.name,)), RefEnd(other or table.name, other_columns)
                    # The column with the setting has the foreign key of a one-to-one reference.
                    sides = (target, origin) if mark == "-" else (origin, target)
                    yield DbmlRef("", sides[0], mark, sides[1], (), setting.start)
    yield from file.refs


def _native(column: DbmlColumn, file: DbmlFile, keys: Set[str], uniques: Set[str]) -> dict[str, Any]:
    """Return a column as ``_write`` does; ``keys`` and ``uniques`` are columns of indexes that say so."""
    values = file.enums.get(column.type)
    native: dict[str, Any] = {"type": "enum", "enum": values} if values else {"type": column.type}
    words = {setting.key for setting in column.settings}
    is_key = bool(words & {"pk", "primary key"}) or column.name in keys
    is_unique = "unique" in words or column.name in uniques
    is_nullable = "not null" not in words and (not is_key or "null" in words)
    return {
        **native,
        **({"pk": True} if is_key else {}),
        **({"not null": True} if not is_nullable else {"null": True} if is_key else {}),
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


def _type(type_text: str) -> dict[str, Any]:
    if type_text.endswith("[]"):
        return {"data_type": "json"}
    return read_sql_type(type_text) or {"data_type": "text"}


CODEC: Final = Codec(_write, _read)

_DEFAULT_ACTIONS: Final = frozenset((("delete", "no action"), ("update", "no action")))
_COLUMN_SETTINGS: Final = frozenset(("pk", "primary key", "not null", "null", "unique", "ref", "note"))


def _table_losses(table: DbmlTable, file: DbmlFile) -> Iterator[Loss]:
    yield from _setting_losses(table.name, table.settings, {"note"})
    for column in table.columns:
        path = f"{table.name}.{column.name}"
        yield from _setting_losses(path, column.settings, _COLUMN_SETTINGS)
        is_list = column.type.endswith("[]")
        if column.type not in file.enums and (is_list or read_sql_type(column.type) is None):
            yield Loss(path, "type", {"type": column.type}, {"data_type": _type(column.type)["data_type"]})
    for index in table.indexes:
        is_key = bool(index.columns) and index.has("pk")
        is_unique = len(index.columns) == 1 and index.has("unique")
        if is_key or is_unique:
            yield from _setting_losses(f"{table.name}.{','.join(index.columns)}", index.settings, _INDEX_SETTINGS)
        else:
            settings = ", ".join(
                setting.key if setting.text is None else f"{setting.key}: {setting.text}" for setting in index.settings
            )
            yield Loss(table.name, "index", f"{index.text} [{settings}]" if settings else index.text)


_INDEX_SETTINGS: Final = frozenset(("pk", "unique", "name"))
"""Settings of an index on a key; its name is not a property of the data."""


def _setting_losses(path: str, settings: Settings, read_keys: Set[str]) -> Iterator[Loss]:
    is_note_unread = "note" in read_keys
    for setting in settings:
        if setting.key == "note" and is_note_unread:
            is_note_unread = False  # the first one is the description
        elif setting.key == "note" or setting.key not in read_keys:
            yield Loss(path, setting.key, setting.text)

"""The tables of the formats that describe nested records, and the hints that files carry next to their columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Final, TypeVar

from schemactl.errors import InputError, Location, Problem
from schemactl.schema.contract import system_prefix
from schemactl.schema.naming import Naming, naming_of
from schemactl.schema.structure import NameLimits
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Properties, Schema, Table
from schemactl.schema.validation import check
from schemactl.type_systems.fields import Field, joined, note, plain_properties, properties_to_add

LOGICAL_NAME: Final = "x-logical-name"
"""The hint with the logical name of a table or column in a contract or in dbt, if it differs from the database."""


def logical_name(of: Table | Field) -> str:
    """Return the name of a table or field in formats that have one besides that in the database."""
    name = of.properties.get(LOGICAL_NAME)
    return name if isinstance(name, str) and name else of.name


def logical_hint(name: str, physical: str) -> dict[str, str]:
    """Return the hint with a logical name; empty if both names are equal."""
    return {} if name == physical else {LOGICAL_NAME: name}


def table_properties(name: str, description: Any) -> dict[str, Any]:
    """Return the properties of a table of a format that has only its name and description."""
    return {"write_disposition": "append", "resource": name, **note(description)}


def table_hints(table: Table, native: Properties | None = None) -> dict[str, Any]:
    """Return the hints of a table that its name and description, or its native properties, do not cover."""
    native_properties = table_properties(table.name, table.properties.get("description"))
    return properties_to_add(plain_properties(table.properties), native_properties if native is None else native)


def file_table_name(path: str) -> str:
    """Return the table name for a file with one unnamed table: the file's name up to its first dot."""
    return PurePath(path).name.partition(".")[0] or "data"


def file_hints(table: Table, schema: Schema, columns: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the hints for a file with a single table, without nested tables: of the table, its columns, the schema."""
    root_properties = table_properties(table.name, None) if table.is_nested else {}
    lone_table = replace(table, properties={**root_properties, **table.properties, "parent": None})
    hints = {"table": table_hints(lone_table), "columns": columns, "schema": schema_hints(schema)}
    return {key: value for key, value in hints.items() if value}


def schema_hints(schema: Schema) -> dict[str, Any]:
    """Return the schema-level properties that differ from every new schema."""
    names = schema.normalizers.get("names") or "snake_case"
    hints = properties_to_add(_sections(schema), _sections(new_schema(schema.name, names)))
    return hints if names == "snake_case" else {**hints, "normalizers": dict(schema.normalizers)}


def _sections(schema: Schema) -> dict[str, Any]:
    sections = {"settings": schema.settings, "normalizers": schema.normalizers, "description": schema.description}
    return plain_properties({**sections, **schema.extensions})


@dataclass(frozen=True, slots=True)
class Record:
    """A table that was read: its columns in order, by the names that the file has."""

    name: str
    columns: tuple[tuple[str, Properties], ...]
    properties: Properties


def record(name: str, columns: Iterable[tuple[str, Properties]], description: Any, hints: Any, **native: Any) -> Record:
    """Return a table from its description, other properties of the format, and the hints next to them."""
    properties = {**table_properties(name, description), **native}
    return Record(name, tuple(columns), joined(properties, hints) if isinstance(hints, Mapping) else properties)


def data_tables(schema: Schema) -> Iterator[Table]:
    """Yield the tables that hold data: all but dlt's own, which each schema has and an import creates."""
    prefix = system_prefix(naming_of(schema))
    return (table for table in schema.tables.values() if not table.name.startswith(prefix))


UNNAMED: Final = "imported"
"""The name of a schema from a file or database without a schema name."""


def empty_schema(hints: Any) -> Schema:
    """Return a schema without tables that has the naming convention of ``schema_hints``."""
    normalizers = hints.get("normalizers") if isinstance(hints, Mapping) else None
    names = normalizers.get("names") if isinstance(normalizers, Mapping) else None
    return new_schema(UNNAMED, names if isinstance(names, str) else "snake_case")


def schema_of(records: Iterable[Record], hints: Any, path: str, naming: Naming | None = None) -> Schema:
    """Return the schema of tables that were read.

    ``hints`` are the ``schema_hints`` that were written into the file; None for files of other tools. Names are
    normalized by ``naming``, by default by the schema's naming convention.
    """
    template = empty_schema(hints)
    sections = joined(_sections(template), hints if isinstance(hints, Mapping) else {})
    naming = naming or naming_of(template)
    named_records = ((naming.normalize_tables_path(record.name), record.name, record) for record in records)
    records_by_name = _unique(named_records, "tables", path)
    renamed = {record.name: name for name, record in records_by_name.items()}
    tables = {}
    for name, record in records_by_name.items():
        column_entries = ((naming.normalize_path(column), column, properties) for column, properties in record.columns)
        columns_by_name = _unique(column_entries, f"columns of `{record.name}`", path)
        columns = {column: Column(column, properties) for column, properties in columns_by_name.items()}
        tables[name] = Table(name, columns, _rename(name, record, renamed, naming))
    schema = replace(
        template,
        tables={**template.tables, **tables},
        settings=sections.pop("settings", {}),
        normalizers=sections.pop("normalizers", template.normalizers),
        description=sections.pop("description", None),
        extensions=sections,
    )
    if findings := check(schema.to_dict()):
        problems = tuple(Problem(finding.message, hint=finding.hint) for finding in findings)
        raise InputError("a schema cannot express the whole file", at=Location(path), problems=problems)
    return schema


def names_between(records: Iterable[Record], schema: Schema) -> tuple[tuple[str, str], ...]:
    """Return pairs of a name of a table or ``table.column`` and its name in the schema, if they differ."""
    naming, renamed = naming_of(schema), []
    for record in records:
        table = naming.normalize_tables_path(record.name)
        renamed += [(record.name, table)] if table != record.name else []
        columns = ((column, naming.normalize_path(column)) for column, _ in record.columns)
        renamed += [(f"{record.name}.{column}", f"{table}.{name}") for column, name in columns if column != name]
    return tuple(renamed)


def _rename(name: str, record: Record, tables: Mapping[str, str], naming: Naming) -> dict[str, Any]:
    """Return the properties of a table with normalized names, also in its references."""
    properties = dict(record.properties)
    if properties.get("resource") == record.name:
        properties["resource"] = name
    references = properties.get("references")
    # Invalid references are reported by the check of the whole schema.
    if isinstance(references, list) and all(isinstance(reference, Mapping) for reference in references):
        properties["references"] = [_renamed_reference(reference, tables, naming) for reference in references]
    return properties


def _renamed_reference(reference: Mapping[str, Any], tables: Mapping[str, str], naming: Naming) -> dict[str, Any]:
    target = reference.get("referenced_table")
    if not isinstance(target, str) or target not in tables:
        return dict(reference)
    columns = {
        key: [naming.normalize_path(column_name) for column_name in reference[key]]
        for key in ("columns", "referenced_columns")
        if isinstance(reference.get(key), list)
        and all(isinstance(column_name, str) and column_name for column_name in reference[key])
    }
    return {**reference, "referenced_table": tables[target], **columns}


Item = TypeVar("Item")


def _unique(entries: Iterable[tuple[str, str, Item]], kind: str, path: str) -> dict[str, Item]:
    items: dict[str, Item] = {}
    origins: dict[str, str] = {}
    for name, origin, item in entries:
        if not name:
            raise InputError(f"`{origin}` is not a name under the naming convention", at=Location(path))
        if name in items:
            message = f"the {kind} `{origins[name]}` and `{origin}` both become `{name}`"
            raise InputError(message, at=Location(path), hint="rename one of them")
        items[name], origins[name] = item, origin
    return items


_CASELESS: Final = NameLimits(is_case_sensitive=False)


def check_case(fields: Iterable[Field], path: str, holder: str) -> None:
    """Raise ``InputError`` if names of one table or object differ only in case, for formats that ignore case.

    ``path`` is the table, or the path of the object; ``holder`` is the format, for the message.
    """
    fields = tuple(fields)
    for first_name, second_name in _CASELESS.clashes(field.name for field in fields):
        names = f"`{first_name}` and `{second_name}`"
        message = f"columns {names} of `{path}` are the same column in {holder}: their names differ only in case"
        raise InputError(message, hint="rename one of them")
    for field in fields:
        inner: Field | None = field
        while inner is not None:
            check_case(inner.fields, f"{path}.{field.name}", holder)
            inner = inner.element or inner.values


def only_table(schema: Schema) -> Table:
    """Return the only table of data of a schema, for formats whose files hold one."""
    tables = list(data_tables(schema))
    if len(tables) != 1:
        hint = "choose one with `--table`, or write all with `--output DIR/`"
        raise InputError(f"a file of this format contains one table, but `{schema.name}` has {len(tables)}", hint=hint)
    return tables[0]

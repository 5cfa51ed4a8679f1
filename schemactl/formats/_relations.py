"""Finds the relations between tables, and puts types and hints into words, for pictures and data dictionaries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from schemactl.formats._tables import data_tables
from schemactl.schema.arrow_hint import NESTED_TYPE
from schemactl.schema.full_types import full_type
from schemactl.schema.naming import naming_of
from schemactl.schema.nested_types import SPARK_TYPE, write_type
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, Schema, Table
from schemactl.type_systems.arrow_types import nested_type_of
from schemactl.type_systems.fields import plain_properties


@dataclass(frozen=True, slots=True)
class Relation:
    """Columns of a table that refer to rows of another table; ``is_nested`` if the other table is its parent."""

    table: str
    columns: tuple[str, ...]
    other: str
    other_columns: tuple[str, ...]
    is_nested: bool = False
    label: str = ""


def relations_of(schema: Schema) -> Iterator[Relation]:
    """Yield the relations of data tables: to parent tables, and by ``references``."""
    naming = naming_of(schema)
    names = {table.name for table in data_tables(schema)}
    row, parent = naming.normalize_identifier("_dlt_id"), naming.normalize_identifier("_dlt_parent_id")
    for table in data_tables(schema):
        if table.parent in names:
            parent_table = schema.tables[str(table.parent)]
            child_key, parent_key = _key(table, "parent_key", parent), _key(parent_table, "row_key", row)
            yield Relation(table.name, child_key, parent_table.name, parent_key, is_nested=True)
        for reference in table.properties.get("references") or ():
            target = reference["referenced_table"]
            if target in names:
                columns, referenced_columns = tuple(reference["columns"]), tuple(reference["referenced_columns"])
                yield Relation(table.name, columns, target, referenced_columns, label=reference.get("label") or "")


def _key(table: Table, hint: str, usual: str) -> tuple[str, ...]:
    return table.hinted(hint)[:1] or ((usual,) if usual in table.columns else ())


def type_in_words(column: Column) -> str:
    """Return the type of a column with its sizes; of nested data as Spark's DDL, a type of one database as it is."""
    declared_type = full_type(column.properties)
    if declared_type is None:
        return str(column.properties.get(DATABASE_TYPE) or "unknown")
    nested = column.properties.get(SPARK_TYPE) if column.data_type == "json" else None
    if nested:
        return str(nested)
    nested_type = nested_type_of(column)
    return str(declared_type) if nested_type is None else write_type(nested_type)


_SAID: Final = frozenset(
    ("data_type", "precision", "scale", "timezone", SPARK_TYPE, NESTED_TYPE, "nullable", "description", "references")
)


def hints_in_words(of: Column | Table) -> list[str]:
    """Return the hints, except type, nullability, description and references: ``primary_key``, ``x-owner: crm``."""
    is_type_of_database = isinstance(of, Column) and full_type(of.properties) is None
    shown_elsewhere = _SAID | ({DATABASE_TYPE} if is_type_of_database else set())
    return [
        key if value is True else f"{key}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in plain_properties(of.properties).items()
        if key not in shown_elsewhere
    ]


REFERENCE: Final = ("columns", "referenced_table", "referenced_columns")
"""The keys that a reference must have."""


def references_of(table: Table, schema: Schema) -> list[dict[str, Any]]:
    """Return the relations of a table in the form of the property ``references``, with the relation to its parent."""
    relations = [
        (relation.columns, relation.other, relation.other_columns)
        for relation in relations_of(schema)
        if relation.table == table.name and relation.columns and len(relation.columns) == len(relation.other_columns)
    ]
    return [
        {"columns": list(columns), "referenced_table": target, "referenced_columns": list(target_columns)}
        for columns, target, target_columns in dict.fromkeys(relations)
    ]

"""Pandera's schemas of Spark data frames, as Python source: one for each table. Only written.

https://pandera.readthedocs.io/en/stable/pyspark_sql.html. Hints are in the ``metadata`` of columns as ``x-dlt``.
"""

from __future__ import annotations

import keyword
from dataclasses import replace
from typing import Any, Final

from schemactl.formats._fields import hint_item
from schemactl.formats._losses import Loss, unstated
from schemactl.formats._python_names import free_name, python_name
from schemactl.formats._tables import data_tables, table_hints
from schemactl.formats.spark import write_field
from schemactl.schema.arrow_hint import NESTED_TYPE
from schemactl.schema.nested_types import FIELDS, SPARK_TYPE
from schemactl.schema.types import Schema, Table
from schemactl.type_systems.fields import Field, fields_of, note, plain_properties

ENDINGS: Final = (".pandera.py", ".py")

_HEAD: Final = """\
from pandera.pyspark import Check, Column, DataFrameSchema
from pyspark.sql import types as T
"""
_CHECKS: Final = {
    "x-enum": "isin", "x-pattern": "str_matches", "x-minimum": "greater_than_or_equal_to",
    "x-maximum": "less_than_or_equal_to", "x-exclusive-minimum": "greater_than", "x-exclusive-maximum": "less_than",
}  # fmt: skip
_SAID: Final = frozenset(("data_type", "nullable", "description", "timezone", "scale", SPARK_TYPE, NESTED_TYPE, FIELDS))


def losses(schema: Schema) -> tuple[Loss, ...]:
    """Return the losses of the schemas: Pandera knows no structs and no times of day."""
    losses = list(unstated(replace(schema, tables={}), ()))
    for table in data_tables(schema):
        for field in fields_of(table):
            if field.properties.get("data_type") and _type(write_field(field)["type"]) is None:
                names = ("data_type", SPARK_TYPE, NESTED_TYPE)
                type_properties = {key: field.properties[key] for key in names if key in field.properties}
                losses.append(Loss(f"{table.name}.{field.name}", "type", type_properties, {}))
    return tuple(losses)


def write(schema: Schema, path: str | None = None) -> str:  # noqa: ARG001 - one form for all endings
    """Return a module with a ``DataFrameSchema`` for each table, named after it."""
    names_in_use, parts = {"Check", "Column", "DataFrameSchema", "T"}, [_HEAD]
    for table in data_tables(schema):
        name = python_name(table.name)
        name = free_name(f"_{name}" if keyword.iskeyword(name) or not name.isidentifier() else name, names_in_use)
        names_in_use.add(name)
        parts.append(_table(table, name))
    return "\n".join(parts)


def _table(table: Table, name: str) -> str:
    fields = fields_of(table)
    keys = [field.name for field in fields if field.properties.get("primary_key") is True]
    arguments = {
        "name": table.name,
        **note(table.properties.get("description")),
        **({"unique": keys} if keys else {}),
        **hint_item(table_hints(table), "metadata"),
    }
    columns = "".join(f"        {field.name!r}: {_column(field)},\n" for field in fields)
    more = "".join(f"    {key}={value!r},\n" for key, value in arguments.items())
    return f"{name} = DataFrameSchema(\n    columns={{\n{columns}    }},\n{more})\n"


def _column(field: Field) -> str:
    type_text = _type(write_field(field)["type"]) if field.properties.get("data_type") else None
    checks = _checks(field)
    covered = {*_SAID, *(hint for hint, _ in checks), *(["primary_key"] if field.properties.get("primary_key") else [])}
    hints = {key: value for key, value in plain_properties(field.properties).items() if key not in covered}
    is_decimal = field.data_type == "decimal" and field.precision is not None
    hints = {key: value for key, value in hints.items() if not (key == "precision" and is_decimal)}
    hints |= {"data_type": str(field.data_type)} if field.data_type in ("wei", "json", "time") else {}
    checks_text = ", ".join(f"Check.{_CHECKS[hint]}({value!r})" for hint, value in checks)
    arguments = [str(type_text), f"nullable={field.nullable}", *([f"checks=[{checks_text}]"] if checks else [])]
    arguments += [f"description={field.description!r}"] if field.description else []
    arguments += [f"{key}={value!r}" for key, value in hint_item(hints, "metadata").items()]
    return f"Column({', '.join(arguments)})"


def _checks(field: Field) -> list[tuple[str, Any]]:
    is_number = field.data_type in ("bigint", "double", "decimal")
    types: dict[str, Any] = {"x-enum": list, **({"x-pattern": str} if field.data_type == "text" else {})}
    types |= {hint: int | float for hint in _CHECKS if hint not in ("x-enum", "x-pattern") and is_number}
    declared = ((hint, field.properties.get(hint)) for hint in _CHECKS if hint in types)
    return [(hint, value) for hint, value in declared if isinstance(value, types[hint]) and not isinstance(value, bool)]


def _type(of: Any) -> str | None:
    """Return the expression of a type that Pandera knows."""
    if isinstance(of, dict) and of["type"] == "struct":
        return None
    return None if isinstance(of, str) and of.startswith("time(") else _expression(of)


def _expression(native: Any) -> str:
    match native:
        case {"type": "struct", "fields": fields}:
            inner = ", ".join(
                f"T.StructField({field['name']!r}, {_expression(field['type'])}, {field['nullable']})"
                for field in fields
            )
            return f"T.StructType([{inner}])"
        case {"type": "array", "elementType": element}:
            return f"T.ArrayType({_expression(element)}, True)"
        case {"type": "map", "valueType": value}:
            return f"T.MapType(T.StringType(), {_expression(value)}, True)"
    name, _, sizes = str(native).rstrip(")").partition("(")
    spark_name = "TimestampNTZ" if name == "timestamp_ntz" else name.capitalize()
    return f"T.{spark_name}Type({', '.join(sizes.split(',')) if sizes else ''})"

"""New fields inside structs, lists and maps of a table that a Spark catalogue has: values as the grown types hold them.

The tables of Spark's own catalogue are files of a format, and none of its statements gives a struct another field
(4.3: ``ALTER TABLE`` refuses such columns, whatever the format, with and without Hive). There a table with all rows
takes the old one's place; see ``catalogue_load``. Other catalogues take a statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemactl.engine.nested import Converter
from schemactl.engine.sql import quoted
from schemactl.engine.stored_types import ddl_of, sql_type, structure_type
from schemactl.schema.nested_types import ListOf, MapOf, NestedType, Struct

Structures = Mapping[str, NestedType]
"""What columns of a table keep their objects and lists in, by their names; texts of JSON are plain texts in it."""


def grows(held: Mapping[str, str], structures: Structures) -> bool:
    """Return whether a table has a column of another type than it is to have.

    Args:
        held: the types of the table's columns, as Spark writes them.
        structures: as they are to be.
    """
    return any(name in held and held[name] != ddl_of(of) for name, of in structures.items())


def as_grown(frame: DataFrame, structures: Structures) -> DataFrame:
    """Return rows with the types that ``structures`` has: fields that a value lacks are null in it."""
    return frame.select(*(_grown(field, structures.get(field.name)) for field in frame.schema.fields))


def _grown(field: T.StructField, of: NestedType | None) -> Column:
    name = quoted(field.name)
    if of is None or sql_type(field.dataType) == ddl_of(of):
        return F.col(name)
    return F.expr(Converter().of_typed(field.dataType, of, name)).alias(field.name)


def grown_schema(schema: T.StructType, structures: Structures) -> T.StructType:
    """Return a table's columns with the types that ``structures`` has, all else as it is."""
    fields = [
        T.StructField(
            field.name,
            structure_type(structures[field.name]) if field.name in structures else field.dataType,
            field.nullable,
            field.metadata,
        )
        for field in schema.fields
    ]
    return T.StructType(fields)


def added_fields(column: str, there: NestedType, of: NestedType) -> Iterator[str]:
    """Yield what ``ALTER TABLE … ADD COLUMNS`` names of a column, for each field that a type has and another lacks.

    Args:
        column: its name.
        there: the type that lacks fields.
        of: the type that has them.

    >>> from schemactl.schema.nested_types import read_type
    >>> list(added_fields("c", read_type("array<struct<a:date>>"), read_type("array<struct<a:date,b:double>>")))
    ['`c`.element.`b` double']
    """
    yield from _added(quoted(column), there, of)


def _added(place: str, there: NestedType, of: NestedType) -> Iterator[str]:
    match there, of:
        case Struct(), Struct():
            known = dict(there.fields)
            for name, inner in of.fields:
                if name in known:
                    yield from _added(f"{place}.{quoted(name)}", known[name], inner)
                else:
                    yield f"{place}.{quoted(name)} {ddl_of(inner)}"
        case ListOf(), ListOf():
            yield from _added(f"{place}.element", there.element, of.element)
        case MapOf(), MapOf():
            yield from _added(f"{place}.value", there.value, of.value)
        case _:
            pass

"""Stages a load into tables of a Spark catalog, which commits each table separately.

A load first writes all of its rows into temporary tables in the same schema (``_schemactl_new_N_…``; ``lease`` explains
N): the rows to be appended, or all rows that a table will hold. Then one more table, ``_schemactl_pending_N``, gets the
steps, with the few rows that record the load: from then on the load is certain, and ``commit`` does the steps. The next
load finishes a killed load or drops its temporary tables.

Tables of Spark's own catalog are files, which cannot be moved between tables: rows are written a second time. But a new
table of the load has no users yet, and is replaced by the staged one. A table whose rows are all rewritten is also
replaced if a struct gets another field, for which Spark has no statement (4.3: ``ALTER TABLE`` refuses such columns,
with and without Hive); other catalogs have one. Any other table stays, as a new one would lose its grants and its
owner.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemactl.destinations._journal import TableMove
from schemactl.destinations.spark.commit import NEW, create_table
from schemactl.destinations.spark.merge import Rows, merge_tables
from schemactl.destinations.spark.tables import Tables, fill_copy, refreshed
from schemactl.destinations.spark.types import column_type, ddl_of, sql_type, structure_type
from schemactl.engine.input import Input
from schemactl.engine.spark.sql import quoted
from schemactl.normalization.package import StagedTable
from schemactl.schema.dispositions import Merge, complete, first
from schemactl.schema.nested_types import ListOf, MapOf, NestedType, Struct, read_type
from schemactl.schema.types import Table

Structures = Mapping[str, NestedType]
"""Types of a table's columns of objects and lists, by their names; texts of JSON are plain texts in it."""


def grows(stored_types: Mapping[str, str], structures: Structures) -> bool:
    """Return whether a table, with types as Spark writes them, has a column whose type must change."""
    return any(name in stored_types and stored_types[name] != ddl_of(of) for name, of in structures.items())


def as_grown(frame: DataFrame, structures: Structures) -> DataFrame:
    """Return rows with the types that ``structures`` has: fields that a value lacks are null in it."""
    values = []
    for field in frame.schema.fields:
        value, structure = F.col(quoted(field.name)), structures.get(field.name)
        if structure is not None and sql_type(field.dataType) != ddl_of(structure):
            value = _as(field.dataType, structure_type(structure), value).alias(field.name)
        values.append(value)
    return frame.select(*values)


def _as(source: T.DataType, target: T.DataType, value: Column) -> Column:
    """Return a value as a type that has all of its fields; a cast of Spark's takes structs with as many fields only."""
    match source, target:
        case T.StructType(), T.StructType():
            source_types = {inner.name: inner.dataType for inner in source.fields}
            fields = []
            for field in target.fields:
                if field.name in source_types:
                    inner = _as(source_types[field.name], field.dataType, value.getField(field.name))
                else:
                    inner = F.lit(None).cast(field.dataType)
                fields.append(inner.alias(field.name))
            return F.when(value.isNotNull(), F.struct(*fields))
        case T.ArrayType(), T.ArrayType():
            return F.transform(value, lambda inner_value: _as(source.elementType, target.elementType, inner_value))
        case T.MapType(), T.MapType():
            return F.transform_values(
                value, lambda _, inner_value: _as(source.valueType, target.valueType, inner_value)
            )
        case _:
            return value.cast(target)


def added_fields(path: str, stored: NestedType, of: NestedType) -> Iterator[str]:
    """Yield the parts of a column in ``ALTER TABLE … ADD COLUMNS`` for each field of ``of`` that ``stored`` lacks.

    >>> from schemactl.schema.nested_types import read_type
    >>> list(added_fields("`c`", read_type("array<struct<a:date>>"), read_type("array<struct<a:date,b:double>>")))
    ['`c`.element.`b` double']
    """
    match stored, of:
        case Struct(), Struct():
            stored_fields = dict(stored.fields)
            for name, inner in of.fields:
                if name in stored_fields:
                    yield from added_fields(f"{path}.{quoted(name)}", stored_fields[name], inner)
                else:
                    yield f"{path}.{quoted(name)} {ddl_of(inner)}"
        case ListOf(), ListOf():
            yield from added_fields(f"{path}.element", stored.element, of.element)
        case MapOf(), MapOf():
            yield from added_fields(f"{path}.value", stored.value, of.value)
        case _:
            pass


@dataclass(frozen=True, slots=True)
class Brought:
    """A table of a load.

    Attributes:
        staged: its rows; None if only related tables have rows.
        structures: the types of columns of structs, lists and maps afterwards, in existing tables.
        is_new: whether this load has made the table: it has no rows.
    """

    table: Table
    staged: StagedTable | None
    structures: Structures
    is_new: bool = False


def prepare(target: Tables, tables: Sequence[Table], structures: Mapping[str, Structures]) -> Tables:
    """Make the missing tables, columns and, if a statement can, fields; return the tables afterwards.

    ``structures`` are the types for columns of structs, lists and maps, by table.
    """
    statements = []
    for table in tables:
        stored_table = target.stored.get(table.name)
        columns = [
            column for column in complete(table) if stored_table is None or column.name not in stored_table.columns
        ]
        column_list = [f"{quoted(column.name)} {column_type(column)}" for column in columns]
        name = target.namespace.table(table.name)
        if stored_table is None:
            statements.append(f"CREATE TABLE {name} ({', '.join(column_list)}){target.namespace.using}")
            continue
        if not target.namespace.has_files:
            for nested_column, of in structures.get(table.name, {}).items():
                if nested_column in stored_table.columns:
                    stored_type = read_type(stored_table.columns[nested_column])
                    column_list += added_fields(quoted(nested_column), stored_type, of)
        if column_list:
            statements.append(f"ALTER TABLE {name} ADD COLUMNS ({', '.join(column_list)})")
    for statement in statements:
        target.spark.sql(statement)
    return refreshed(target) if statements else target


def stage(
    target: Tables, table_rows: Sequence[Brought], merge: Merge | None, *, is_replaced: bool
) -> Iterator[TableMove]:
    """Write the rows of related tables to temporary tables; yield the steps that move the rows."""
    if merge is None:
        for table in table_rows:
            if (rows := _rows_in(target, table)) is not None:
                yield _staged(target, table, rows, is_replaced)
            elif is_replaced:
                yield TableMove(table.table.name, None, overwrites=True)
        return
    family = []
    for table in table_rows:
        superseded = _rows_in(target, table, is_superseded=True)
        family.append(Rows(table.table, _old_rows(target, table), _rows_in(target, table), superseded))
    merged = merge_tables(target.spark, family, merge)
    for table in table_rows:
        if (merged_rows := merged.get(table.table.name)) is not None:
            yield _staged(target, table, merged_rows.rows, merged_rows.overwrites)


def _staged(target: Tables, table_rows: Brought, frame: DataFrame, overwrites: bool) -> TableMove:
    name, key = table_rows.table.name, first(table_rows.table, "row_key")
    old = _old_rows(target, table_rows)
    grown = grows(target.stored[name].columns, table_rows.structures)
    if not overwrites and old is not None and (grown or _shares_key(old, frame, key)):
        # Rows look the same as rows that an earlier step of this load has appended, so the whole table is rewritten.
        frame, overwrites = old.unionByName(frame, allowMissingColumns=True), True
    # A table of Spark's own that this load has made has nothing that would be lost: its rows are written once.
    is_new = table_rows.is_new and target.namespace.has_files
    source = target.beside(NEW, name)
    if grown or is_new:
        kinds, frame = _as_held(target, table_rows, frame)
    if grown:
        fill_copy(target, name, source, kinds, frame)
    else:
        source = create_table(target, source, frame)
    return TableMove(name, source, overwrites, key, takes_place=grown, is_new=is_new)


def _as_held(target: Tables, table_rows: Brought, frame: DataFrame) -> tuple[T.StructType, DataFrame]:
    """Return the columns of the existing table, with the load's further fields, and the rows in these types."""
    fields, values = [], []
    for field in target.spark.table(target.namespace.table(table_rows.table.name)).schema.fields:
        of = table_rows.structures.get(field.name)
        kind = field.dataType if of is None else structure_type(of)
        value = F.col(quoted(field.name)) if field.name in frame.columns else F.lit(None)
        fields.append(T.StructField(field.name, kind, field.nullable, field.metadata))
        values.append(value.cast(kind).alias(field.name))
    return T.StructType(fields), frame.select(*values)


def _shares_key(old: DataFrame, frame: DataFrame, key: str | None) -> bool:
    """Return whether an old row has the key of a new row, or all of its values; there are few new rows."""
    names = [quoted(name) for name in ([key] if key else frame.columns)]
    same = [F.col(f"o.{name}").eqNullSafe(F.col(f"n.{name}")) for name in names]
    return bool(old.alias("o").join(frame.alias("n"), same, "left_semi").take(1))


def stage_rows(table: Table, rows: Sequence[tuple[Any, ...]]) -> TableMove:
    """Return the step that appends rows of ours, in the order of its columns, to a table in which loads are kept."""
    names = [column.name for column in complete(table)]
    return TableMove(table.name, None, rows=tuple(dict(zip(names, row, strict=True)) for row in rows))


def _old_rows(target: Tables, table_rows: Brought) -> DataFrame | None:
    if table_rows.is_new:
        return None
    return as_grown(target.spark.table(target.namespace.table(table_rows.table.name)), table_rows.structures)


def _rows_in(target: Tables, table_rows: Brought, *, is_superseded: bool = False) -> DataFrame | None:
    staged = table_rows.staged.superseded if table_rows.staged and is_superseded else table_rows.staged
    if staged is None or not staged.files:
        return None
    addresses = (Input(str(file), "parquet").address for file in staged.files)
    return as_grown(target.spark.read.parquet(*addresses), table_rows.structures)

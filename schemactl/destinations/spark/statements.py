"""The statements of a step for Spark SQL.

Statements that create, rename or drop a table, or add a column, run unchanged. A copy is shown as people read it: its
values are converted as dlt converts them, which no cast of Spark does.
"""

from __future__ import annotations

from schemactl.destinations._types import is_type
from schemactl.destinations.spark.address import NAMES, read_address
from schemactl.destinations.spark.tables import COPY
from schemactl.destinations.spark.types import spark_type
from schemactl.errors import InputError
from schemactl.migration import statements
from schemactl.migration.statements import CastOnly, Engine, by_one_copy, checked_type
from schemactl.migration.steps import (
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    DropColumn,
    DropNotNull,
    DropPrimaryKey,
    DropUnique,
    FillColumn,
    RenameColumn,
    SetNotNull,
    Step,
)
from schemactl.schema.nested_types import structure_in, write_type
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, DataType, Table
from schemactl.type_systems.ddl import Dialect

_MOST_DIGITS = 38


def render(step: Step, table: Table | None, dataset: str) -> tuple[str, ...]:
    """Return the statements of a step; see ``destinations.Migrator``. ``dataset`` is ``CATALOG.SCHEMA``."""
    match step:
        case ChangeType() if is_same_type(step.before, step.after):
            return ()
        case DropColumn() | RenameColumn() | ChangeType() | Backfill() | FillColumn():
            return by_one_copy((step,), engine_of(dataset), dataset, table, prefix=COPY)
        case SetNotNull() | DropNotNull() | AddUnique() | DropUnique() | AddPrimaryKey() | DropPrimaryKey():
            return ()  # a catalog has neither NOT NULL nor keys: no plan with such a step can be applied
        case _:
            return statements.render(step, table, engine_of(dataset), dataset)


def engine_of(dataset: str) -> Engine:
    """Return how statements about the tables of ``CATALOG.SCHEMA`` are written."""
    namespace = read_address(f"spark:{dataset}")
    return Engine(
        Dialect("spark"),
        column_type,
        lambda retype, value: CastOnly(value, column_type(retype.after)),
        NAMES,
        parts_of=lambda _: (namespace.catalogue, namespace.schema),
        new_parts=(namespace.schema,),  # Spark wants it without the catalog
        made_as=namespace.using,
        cast_type=column_type,
        casts_nulls=True,
    )


def is_same_type(before: Column, after: Column) -> bool:
    """Return whether a column's type changes only in the schema."""
    return before.data_type is after.data_type and column_type(before) == column_type(after)


def column_type(column: Column) -> str:
    """Return a column's type, checked; raises ``InputError`` if it is no type, or Spark has no such type."""
    database_type = str(column.properties.get(DATABASE_TYPE, ""))
    structure = structure_in(database_type)
    if structure is not None and write_type(structure, has_comments=False) == database_type:
        return database_type  # the names of its fields may contain any character
    # void is a type that sqlglot does not know.
    if database_type and database_type != "void" and not is_type(database_type, "spark"):
        raise InputError(f"`{DATABASE_TYPE}` of column `{column.name}` is not a type: `{database_type}`")
    digits = column.properties.get("precision") or 0
    if column.data_type in (DataType.DECIMAL, DataType.WEI) and digits > _MOST_DIGITS:
        raise InputError(f"Spark does not support decimals of {digits} digits: `{column.name}`")
    return checked_type(column, spark_type)

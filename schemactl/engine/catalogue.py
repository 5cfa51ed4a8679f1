"""Schemas of Spark's catalogues: which tables they hold, rows of small ones, and how SQL writes their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import SparkSession

from schemactl.engine.sql import quoted
from schemactl.schema.types import Column

SESSION_CATALOGUE: Final = "spark_catalog"
"""Spark's own catalogue, whose tables are files of a format."""


@dataclass(frozen=True, slots=True)
class Namespace:
    """A schema of a catalogue."""

    catalogue: str
    schema: str

    def __str__(self) -> str:
        return f"{quoted(self.catalogue)}.{quoted(self.schema)}"

    def table(self, name: str) -> str:
        """Return the full name of a table, in SQL."""
        return f"{self}.{quoted(name)}"


@dataclass(frozen=True, slots=True)
class HeldTable:
    """A table of a catalogue: its columns' types as Spark writes them, by name."""

    name: str
    columns: Mapping[str, str]
    is_view: bool = False


def new_name(namespace: Namespace, name: str) -> str:
    """Return the name that a table is renamed to: Spark wants it without the catalogue."""
    return f"{quoted(namespace.schema)}.{quoted(name)}"


def using(namespace: Namespace) -> str:
    """Return how a new table says its format, as loads make tables; other catalogues have their own."""
    return " USING parquet" if namespace.catalogue == SESSION_CATALOGUE else ""


def is_there(spark: SparkSession, namespace: Namespace) -> bool:
    """Return whether a schema exists; a catalogue that Spark does not know is an error of Spark's."""
    return bool(spark.catalog.databaseExists(str(namespace)))


def held_tables(spark: SparkSession, namespace: Namespace) -> Mapping[str, HeldTable]:
    """Return the tables of a schema, sorted by name; those of a session alone are left out.

    Spark has no table of all columns: it is asked once for the tables, and then once for each. No data is read.
    """
    if not is_there(spark, namespace):
        return {}
    shown = spark.sql(f"SHOW TABLES IN {namespace}").collect()
    names = sorted(row.tableName for row in shown if not row.isTemporary)
    views = _views(spark, namespace)
    return {name: HeldTable(name, _columns(spark, namespace.table(name)), name in views) for name in names}


def _views(spark: SparkSession, namespace: Namespace) -> frozenset[str]:
    if namespace.catalogue != SESSION_CATALOGUE:
        return frozenset()  # other catalogues list views elsewhere, if they have any
    shown = spark.sql(f"SHOW VIEWS IN {namespace}").collect()
    return frozenset(row.viewName for row in shown if not row.isTemporary)


def _columns(spark: SparkSession, table: str) -> Mapping[str, str]:
    from schemactl.engine.stored_types import sql_type

    return {field.name: sql_type(field.dataType) for field in spark.table(table).schema.fields}


def select(spark: SparkSession, query: str) -> list[Mapping[str, Any]]:
    """Return the rows of a query over the small tables in which loads are kept."""
    return [row.asDict() for row in spark.sql(query).collect()]


def column_type(column: Column) -> str:
    """Return the type that a complete column is created with."""
    from schemactl.engine.stored_types import sql_type, stored_type, structure_type
    from schemactl.schema.nested_types import structure_of

    structure = structure_of(column)
    return stored_type(column).simpleString() if structure is None else sql_type(structure_type(structure))

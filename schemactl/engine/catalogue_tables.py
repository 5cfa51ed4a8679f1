"""The tables of a Spark catalogue's schema, and what a migration that was killed has left among them.

A table that is copied (``catalogue_copy``) is two for a while. A copy beside its table may be half done, and is dropped
by the next migration or load; one whose table is gone is whole, and is that table.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from schemactl.engine.catalogue import Namespace, is_there, new_name

COPY: Final = "_schemactl_copy_"
"""How the name of a table begins that takes another one's rows, and then its name."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of one schema.

    Attributes:
        stranded: copies that have their tables' names yet to get, by these names; none where they were mended.
        lines: the last line of each table that counts its lines, as far as it is known.
    """

    spark: SparkSession
    namespace: Namespace
    stranded: Mapping[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def full(self, name: str) -> str:
        """Return the full name of a table as it is there, in SQL."""
        return self.namespace.table(self.stranded.get(name, name))

    def has(self, name: str) -> bool:
        """Return whether a table is there."""
        return bool(self.spark.catalog.tableExists(self.full(name)))

    def frame(self, name: str) -> DataFrame:
        """Return the rows of a table."""
        return self.spark.table(self.full(name))


def stranded(names: Collection[str]) -> Mapping[str, str]:
    """Return the copies among names of tables that a killed migration had yet to rename, by their tables' names."""
    copies = [name for name in names if name.startswith(COPY)]
    return {name.removeprefix(COPY): name for name in copies if name.removeprefix(COPY) not in names}


def find_tables(spark: SparkSession, namespace: Namespace) -> Tables:
    """Return the tables of a schema as they are; nothing is written."""
    return Tables(spark, namespace, stranded(_names(spark, namespace)))


def mend_tables(spark: SparkSession, namespace: Namespace) -> Tables:
    """Finish or drop the copies that a killed migration left; return the tables."""
    names = _names(spark, namespace)
    for name, copy in stranded(names).items():
        spark.sql(f"ALTER TABLE {namespace.table(copy)} RENAME TO {new_name(namespace, name)}")
    for name in names:
        if name.startswith(COPY) and name.removeprefix(COPY) in names:
            spark.sql(f"DROP TABLE {namespace.table(name)}")
    return Tables(spark, namespace)


def _names(spark: SparkSession, namespace: Namespace) -> frozenset[str]:
    if not is_there(spark, namespace):
        return frozenset()
    shown = spark.sql(f"SHOW TABLES IN {namespace}").collect()
    return frozenset(row.tableName for row in shown if not row.isTemporary)


def make_schema(tables: Tables) -> None:
    """Make the schema if it is not there."""
    tables.spark.sql(f"CREATE SCHEMA IF NOT EXISTS {tables.namespace}")

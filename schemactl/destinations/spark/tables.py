"""Schemas of Spark's catalogs: their tables, rows of small tables, and copies of tables that get other columns.

A table of files can be created, renamed, dropped, and given new columns. For any other change it is copied: a table
named ``_schemactl_copy_NAME`` takes its rows, then the old table is dropped and the copy gets its name. A copy whose
table exists may be incomplete, and the next migration or load drops it; a copy whose table is gone is complete, and is
that table.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from schemactl.destinations._bookkeeping import rows_of, stored_as
from schemactl.destinations._table_rows import batches_of
from schemactl.destinations.spark.address import Namespace
from schemactl.destinations.spark.lease import LEASE, Lease
from schemactl.destinations.spark.types import sql_type
from schemactl.engine.spark.sql import literal, quoted
from schemactl.errors import CommandWarning, DestinationError
from schemactl.normalization.package import INPUTS_TABLE, Among
from schemactl.schema.types import DataType, Table

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class StoredTable:
    """A table of a catalog; its columns are read on demand, as Spark has no table of all columns.

    Attributes:
        name: its full name, in SQL.
    """

    spark: SparkSession
    name: str

    @cached_property
    def fields(self) -> Sequence[StructField]:
        """The columns as Spark has them."""
        fields: list[StructField] = self.spark.table(self.name).schema.fields
        return fields

    @cached_property
    def columns(self) -> Mapping[str, str]:
        """The types of the columns as Spark writes them, by name."""
        return {field.name: sql_type(field.dataType) for field in self.fields}

    @cached_property
    def descriptions(self) -> Mapping[str, str]:
        """The descriptions of the columns, by name."""
        return {field.name: field.metadata.get("comment", "") for field in self.fields}


def list_tables(spark: SparkSession, namespace: Namespace) -> Mapping[str, StoredTable]:
    """Return the tables of a schema by name, sorted, without temporary tables of the session."""
    # A lease may disappear while a reader lists the tables.
    names = sorted(name for name in _names(spark, namespace) if not name.startswith(LEASE))
    return {name: StoredTable(spark, namespace.table(name)) for name in names}


def find_views(spark: SparkSession, namespace: Namespace) -> frozenset[str]:
    """Return the names of the tables of a schema that are views."""
    # Other catalogs list views elsewhere, if they have any.
    views = spark.sql(f"SHOW VIEWS IN {namespace}").collect() if namespace.has_files else []
    return frozenset(row.viewName for row in views if not row.isTemporary)


COPY: Final = "_schemactl_copy_"
"""How the name of a table begins that takes another one's rows, and then its name."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of one schema.

    Attributes:
        stranded: complete copies by the names of their tables, which they do not have yet; empty if they were renamed.
        lease: under which they are written; None if they are only read.
        stored: the existing tables at the last ``refreshed``.
    """

    spark: SparkSession
    namespace: Namespace
    stranded: Mapping[str, str] = field(default_factory=dict)
    lease: Lease | None = None
    stored: Mapping[str, StoredTable] = field(default_factory=dict)

    def beside(self, head: str, name: str = "") -> str:
        """Return the name of a table of a load's own: ``PENDING``, or ``NEW`` and the table whose rows it holds."""
        number = self.lease.number if self.lease else 0
        return f"{head}{number}_{name}" if name else f"{head}{number}"

    def check(self) -> None:
        """Raise ``DestinationError`` if the lease is lost, and another process may write the tables."""
        if self.lease is not None:
            self.lease.check()

    def full(self, name: str) -> str:
        """Return the full name of a table in the catalog, in SQL."""
        return self.namespace.table(self.stranded.get(name, name))

    def names(self) -> frozenset[str]:
        """Return the names of the existing tables."""
        return _names(self.spark, self.namespace) | self.stranded.keys()

    def has(self, name: str) -> bool:
        """Return whether a table exists."""
        return bool(self.spark.catalog.tableExists(self.full(name)))

    def frame(self, name: str) -> DataFrame:
        """Return the rows of a table."""
        return self.spark.table(self.full(name))

    def read_rows(self, table: Table, /, **equal: str) -> Iterator[Mapping[str, Any]]:
        """Yield rows of a table; see ``ReadRows``."""
        for name, columns in self.stored_as(table):
            selected = [
                # As a number, whatever the session's time zone is.
                f"unix_micros({quoted(stored_name)})"
                if table.columns[column].data_type is DataType.TIMESTAMP
                else quoted(stored_name)
                for column, stored_name in columns.items()
            ]
            conditions = [f"{quoted(columns[column])} = {literal(value)}" for column, value in equal.items()]
            query = f"SELECT {', '.join(selected)} FROM {self.full(name)} WHERE {' AND '.join(['true', *conditions])}"
            frame = self.spark.sql(query)
            # The other tables are small.
            rows = frame.toLocalIterator() if table.name == INPUTS_TABLE else frame.collect()
            yield from rows_of(table, rows, columns)

    def table_rows(self, table: Table, among: Among | None = None) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows of a table; columns that it lacks are null. Nothing if there is no such table."""
        if table.name not in self.names():
            return
        frame = self.frame(table.name)
        selected = []
        for column in table.columns.values():
            if column.name not in frame.columns:
                selected.append("NULL")
            elif column.data_type is DataType.TIMESTAMP:  # as a number, whatever the session's time zone is
                selected.append(f"unix_micros({quoted(column.name)})")
            elif column.data_type is DataType.TIME:  # as a text, which Spark returns to Python
                selected.append(f"CAST({quoted(column.name)} AS STRING)")
            else:
                selected.append(quoted(column.name))
        if among is not None:
            frame = frame.where(F.col(quoted(among.column)).isin(sorted(among.values)))
        yield from batches_of(table, frame.selectExpr(*selected).collect())

    def stored_as(self, table: Table) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Yield the names that a bookkeeping table has in the schema, each with the names of its columns."""
        return stored_as(table, self.names(), lambda name: self.frame(name).columns, str(self.namespace))


def stranded(names: Collection[str]) -> Mapping[str, str]:
    """Return the copies among names of tables that a killed migration had yet to rename, by their tables' names."""
    copies = [name for name in names if name.startswith(COPY)]
    return {name.removeprefix(COPY): name for name in copies if name.removeprefix(COPY) not in names}


def refreshed(tables: Tables) -> Tables:
    """Return the tables of a schema as they are now."""
    return replace(tables, stored=list_tables(tables.spark, tables.namespace))


def find_tables(spark: SparkSession, namespace: Namespace) -> Tables:
    """Return the tables of a schema, without changing any."""
    return Tables(spark, namespace, stranded(_names(spark, namespace)))


def mend_copies(tables: Tables) -> None:
    """Finish or drop the copies that a killed migration left."""
    spark, namespace = tables.spark, tables.namespace
    names = _names(spark, namespace)
    for name, copy in stranded(names).items():
        spark.sql(f"ALTER TABLE {namespace.table(copy)} RENAME TO {namespace.new_name(name)}")
        message = f"finished an interrupted migration step: `{copy}` of {namespace} is `{name}` now"
        warnings.warn(CommandWarning(message), stacklevel=2)
    for name in names:
        if name.startswith(COPY) and name.removeprefix(COPY) in names:
            spark.sql(f"DROP TABLE {namespace.table(name)}")


def _names(spark: SparkSession, namespace: Namespace) -> frozenset[str]:
    if not spark.catalog.databaseExists(str(namespace)):
        return frozenset()
    tables = spark.sql(f"SHOW TABLES IN {namespace}").collect()
    return frozenset(row.tableName for row in tables if not row.isTemporary)


BY_HAND: Final = "change it by hand, then record the result with `schemactl migrate baseline`"
"""The hint for a table that is not copied."""

_VALUE: Final = "_schemactl_value_"
_OWN_PROPERTIES: Final = frozenset(("owner", "provider", "location", "comment", "external", "is_managed_location"))
"""Properties of a table that Spark shows and does not accept."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A column of a copy.

    Attributes:
        field: its name and type.
        value: its value, from the old table's columns.
        blocker: the error if ``value`` is null and ``needs`` is not, which stops the copy.
    """

    field: StructField
    value: Column
    needs: Column | None = None
    blocker: str = ""


Change = Callable[[DataFrame, Sequence[StructField]], Sequence[Filled]]
"""Makes the columns of a copy from rows and the declared columns of their table."""


def rewrite(tables: Tables, name: str, changes: Sequence[Change]) -> None:
    """Change the columns of a table, with its rows, by one copy; each change applies to the result of the previous one.

    A table with a ``copy_blocker`` is refused, and so is a value that does not survive.
    """
    rows = tables.frame(name)
    # After a change, the fields of `rows` lack nulls, comments and lengths.
    fields = list(rows.schema.fields)
    for change in changes:
        columns = change(rows, fields)
        rows, fields = _filled(rows, columns), [column.field for column in columns]
    replace_table(tables, name, StructType(fields), rows)


def _filled(old: DataFrame, columns: Sequence[Filled]) -> DataFrame:
    # Values that are used twice get a separate projection: they may call Python.
    values_by_name = {
        f"{_VALUE}{index}": column.value for index, column in enumerate(columns) if column.needs is not None
    }
    frame = old.select("*", *(value.alias(name) for name, value in values_by_name.items()))
    values = [column.value for column in columns]
    for index, column in enumerate(columns):
        if column.needs is not None:
            value = F.col(quoted(f"{_VALUE}{index}"))
            raised_error = F.raise_error(F.lit(column.blocker)).cast(column.field.dataType)
            values[index] = F.when(value.isNull() & column.needs.isNotNull(), raised_error).otherwise(value)
    return frame.select(*(value.alias(column.field.name) for value, column in zip(values, columns, strict=True)))


def replace_table(tables: Tables, name: str, kinds: StructType, rows: DataFrame) -> None:
    """Replace an old table by a new one; a kill at any point leaves one of them whole."""
    copy = f"{COPY}{name}"
    fill_copy(tables, name, copy, kinds, rows)
    take_place(tables, name, copy)


def fill_copy(tables: Tables, name: str, copy: str, kinds: StructType, rows: DataFrame) -> None:
    """Make a table ``copy`` with rows, and with all properties of a table except its columns.

    An existing table of the copy's name is dropped. A table with a ``copy_blocker`` is refused.
    """
    spark, copy_name = tables.spark, tables.namespace.table(copy)
    details, blocker = _describe(tables, name)
    if blocker is not None:
        raise DestinationError(blocker, hint=BY_HAND)
    property_rows = spark.sql(f"SHOW TBLPROPERTIES {tables.full(name)}").collect()
    properties = ", ".join(
        f"{literal(row[0])} = {literal(row[1])}" for row in property_rows if row[0] not in _OWN_PROPERTIES
    )
    spark.sql(f"DROP TABLE IF EXISTS {copy_name}")  # of a step that failed
    spark.catalog.createTable(
        copy_name, source=details["Provider"].lower(), schema=kinds, description=details.get("Comment")
    )
    if properties:
        spark.sql(f"ALTER TABLE {copy_name} SET TBLPROPERTIES ({properties})")
    try:
        rows.write.insertInto(copy_name)
    except Exception:
        spark.sql(f"DROP TABLE IF EXISTS {copy_name}")
        raise


def take_place(tables: Tables, name: str, copy: str) -> None:
    """Drop a table, if it exists, and rename another table to its name."""
    tables.check()
    if tables.has(name):
        tables.spark.sql(f"DROP TABLE {tables.full(name)}")
    tables.spark.sql(f"ALTER TABLE {tables.namespace.table(copy)} RENAME TO {tables.namespace.new_name(name)}")


def copy_blocker(tables: Tables, name: str) -> str | None:
    """Return why a copy cannot take a table's place, None if it can; ``BY_HAND`` is the way out."""
    return _describe(tables, name)[1]


def _describe(tables: Tables, name: str) -> tuple[Mapping[str, str], str | None]:
    """Return Spark's description of a table, by titles, and the parts that a copy would lack; None if it has all."""
    described = tables.spark.sql(f"DESCRIBE TABLE EXTENDED {tables.full(name)}").collect()
    rows = [(row[0], row[1]) for row in described]
    start = next((index for index, (title, _) in enumerate(rows) if title.startswith("# Detailed Table")), len(rows))
    details = dict(rows[start + 1 :])
    headings = [title for title, _ in rows if title.startswith("# ")]
    has_partitions = any(title.startswith("# Partition") for title in headings)
    kind, provider = details.get("Type", "MANAGED"), (details.get("Provider") or "").lower()
    flaws = {
        "is a view": kind == "VIEW",
        "is an external table": kind not in ("MANAGED", "VIEW"),
        "is partitioned": has_partitions and ("Not partitioned", "") not in rows,
        "is clustered": "# Clustering Information" in headings or "Num Buckets" in details,
        "is a table of Hive's own": provider == "hive",
        "has a format that Spark does not report": kind == "MANAGED" and not provider,
    }
    flaw = next((flaw for flaw, has in flaws.items() if has), None)
    return details, None if flaw is None else f"`{name}` {flaw}, and a copy of it would not be: it stays as it is"


def append_rows(tables: Tables, name: str, rows: Sequence[Mapping[str, Any]], *, is_again: bool = False) -> None:
    """Append rows to a table at once; missing columns are null.

    Args:
        tables: the tables of the namespace.
        name: its name.
        rows: values of JSON, and timestamps, all of the same columns.
        is_again: whether existing rows are left out.
    """
    types = {field.name: sql_type(field.dataType) for field in tables.frame(name).schema.fields}
    columns = [quoted(column) for column in rows[0]]
    kinds = ", ".join(f"{quoted(column)}: {types[column]}" for column in rows[0])
    # One task writes one file, so the rows appear at once.
    query = f"SELECT * FROM (SELECT inline(from_json(?, {literal(f'array<struct<{kinds}>>')}))) n"
    if is_again:
        same = " AND ".join(f"n.{column} <=> t.{column}" for column in columns)
        query += f" WHERE NOT EXISTS (SELECT 1 FROM {tables.full(name)} t WHERE {same})"
    text = json.dumps(list(rows), default=datetime.isoformat)
    tables.spark.sql(f"INSERT INTO {tables.full(name)} ({', '.join(columns)}) {query}", args=[text])


def remove_rows(tables: Tables, name: str, column: str, value: str) -> None:
    """Remove the rows of a small table that have a value; a kill leaves all rows or only the remaining ones."""
    rows = tables.frame(name)
    goes = F.col(quoted(column)).eqNullSafe(F.lit(value))
    if rows.where(goes).take(1):
        replace_table(tables, name, rows.schema, rows.where(~goes))

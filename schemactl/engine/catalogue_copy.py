"""Tables of a Spark catalogue that get other columns, by a copy that takes their place.

A table of files can be made, renamed, dropped, and given new columns. For all else it is copied: a table named
``_schemactl_copy_NAME`` takes its rows, then the old one is dropped and the copy gets its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from schemactl.engine.catalogue import new_name
from schemactl.engine.catalogue_tables import COPY, Tables
from schemactl.engine.sql import literal, quoted
from schemactl.errors import DestinationError

BY_HAND: Final = "change it by hand, and let `schemactl migrate baseline` record what it is then"
"""What to do with a table that is not copied."""

_HIVE: Final = "hive"
_VALUE: Final = "_schemactl_value_"
_OWN_PROPERTIES: Final = frozenset(("owner", "provider", "location", "comment", "external", "is_managed_location"))
"""What Spark says of a table among its properties, and takes as none."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A column of a copy.

    Attributes:
        field: its name and type.
        value: what it holds, of the old table's columns.
        refusal: what is said where ``value`` is null and ``needs`` is not, and nothing is copied then.
    """

    field: StructField
    value: Column
    needs: Column | None = None
    refusal: str = ""


Change = Callable[[DataFrame, Sequence[StructField]], Sequence[Filled]]
"""Makes the columns of a copy of rows, and of what a table says of their columns."""


def rewrite(tables: Tables, name: str, changes: Sequence[Change]) -> None:
    """Give a table other columns, with the rows that it has, by one copy.

    Args:
        tables: of the schema.
        name: the table's.
        changes: each of what those before it have made.

    Raises:
        DestinationError: it is external, partitioned, of a format of Hive's own, or a view; or a value was refused.
    """
    rows = tables.frame(name)
    # Those of `rows` say less after a change: of nulls, comments, lengths.
    fields = list(rows.schema.fields)
    for change in changes:
        columns = change(rows, fields)
        rows, fields = _filled(rows, columns), [each.field for each in columns]
    replace_table(tables, name, StructType(fields), rows)


def _filled(old: DataFrame, columns: Sequence[Filled]) -> DataFrame:
    # Values that are looked at twice get a projection of their own: they may have cost a call of Python.
    known = {f"{_VALUE}{at}": each.value for at, each in enumerate(columns) if each.needs is not None}
    made = old.select("*", *(value.alias(name) for name, value in known.items()))
    values = [
        _refusing(each, F.col(quoted(f"{_VALUE}{at}"))) if each.needs is not None else each.value
        for at, each in enumerate(columns)
    ]
    return made.select(*(value.alias(each.field.name) for value, each in zip(values, columns, strict=True)))


def _refusing(column: Filled, value: Column) -> Column:
    if column.needs is None:
        return value
    refused = F.raise_error(F.lit(column.refusal)).cast(column.field.dataType)
    return F.when(value.isNull() & column.needs.isNotNull(), refused).otherwise(value)


def replace_table(tables: Tables, name: str, kinds: StructType, rows: DataFrame) -> None:
    """Put a new table in the place of an old one; killed at any point, one of them is whole."""
    copy = f"{COPY}{name}"
    fill_copy(tables, name, copy, kinds, rows)
    take_place(tables, name, copy)


def fill_copy(tables: Tables, name: str, copy: str, kinds: StructType, rows: DataFrame) -> None:
    """Make a table with rows beside another one, with all that is said of that one but its columns.

    Args:
        tables: of the schema.
        name: the table that is there.
        copy: the new one's name; what is there under it goes.
        kinds: its columns.
        rows: with these columns, in their order.

    Raises:
        DestinationError: the table is one of those that ``copy_obstacle`` tells.
    """
    spark, made = tables.spark, tables.namespace.table(copy)
    layout = _layout(tables, name)
    spark.sql(f"DROP TABLE IF EXISTS {made}")  # of a step that failed
    spark.catalog.createTable(made, source=layout.provider, schema=kinds, description=layout.comment)
    if layout.properties:
        spark.sql(f"ALTER TABLE {made} SET TBLPROPERTIES ({layout.properties})")
    try:
        rows.write.insertInto(made)
    except Exception:
        spark.sql(f"DROP TABLE IF EXISTS {made}")
        raise


def take_place(tables: Tables, name: str, copy: str) -> None:
    """Drop a table, if it is there, and give its name to another one."""
    if tables.has(name):
        tables.spark.sql(f"DROP TABLE {tables.full(name)}")
    tables.spark.sql(f"ALTER TABLE {tables.namespace.table(copy)} RENAME TO {new_name(tables.namespace, name)}")


@dataclass(frozen=True, slots=True)
class _Layout:
    """What a copy takes over beside the columns; ``properties`` as SQL."""

    provider: str
    comment: str | None
    properties: str


def _layout(tables: Tables, name: str) -> _Layout:
    description = _described(tables, name)
    if (flaw := _flaw(description)) is not None:
        raise DestinationError(_uncopied(name, flaw), hint=BY_HAND)
    shown = tables.spark.sql(f"SHOW TBLPROPERTIES {tables.full(name)}").collect()
    properties = [f"{literal(row[0])} = {literal(row[1])}" for row in shown if row[0] not in _OWN_PROPERTIES]
    return _Layout(description.provider, description.said.get("Comment"), ", ".join(properties))


def copy_obstacle(tables: Tables, name: str) -> str | None:
    """Return why a copy cannot take a table's place, None where it can; ``BY_HAND`` is the way out."""
    flaw = _flaw(_described(tables, name))
    return None if flaw is None else _uncopied(name, flaw)


def _uncopied(name: str, flaw: str) -> str:
    return f"`{name}` {flaw}, and a copy of it would not be: it stays as it is"


@dataclass(frozen=True, slots=True)
class _Description:
    """What Spark tells of a table: lines with a title, and headings."""

    said: Mapping[str, str]
    headings: frozenset[str]
    is_partitioned: bool

    @property
    def provider(self) -> str:
        return str(self.said.get("Provider") or "").lower()


def _described(tables: Tables, name: str) -> _Description:
    shown = tables.spark.sql(f"DESCRIBE TABLE EXTENDED {tables.full(name)}").collect()
    rows = [(row[0], row[1]) for row in shown]
    start = next((at for at, (title, _) in enumerate(rows) if title.startswith("# Detailed Table")), len(rows))
    headings = frozenset(title for title, _ in rows if title.startswith("# "))
    has_partitions = any(title.startswith("# Partition") for title in headings)
    return _Description(dict(rows[start + 1 :]), headings, has_partitions and ("Not partitioned", "") not in rows)


def _flaw(described: _Description) -> str | None:
    kind = described.said.get("Type", "MANAGED")
    flaws = {
        "is a view": kind == "VIEW",
        "is an external table": kind not in ("MANAGED", "VIEW"),
        "is partitioned": described.is_partitioned,
        "is clustered": "# Clustering Information" in described.headings or "Num Buckets" in described.said,
        "is a table of Hive's own": described.provider == _HIVE,
        "has a format that Spark does not tell": kind == "MANAGED" and not described.provider,
    }
    return next((flaw for flaw, has in flaws.items() if has), None)

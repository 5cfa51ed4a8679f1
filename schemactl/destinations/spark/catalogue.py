"""Reads the tables of a schema of a Spark catalog, as dlt's columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from pyspark.sql import SparkSession

from schemactl.destinations import Catalogue
from schemactl.destinations._bookkeeping import version_rows
from schemactl.destinations._catalogue import OURS, column_of, make_catalogue, unknown
from schemactl.destinations._types import TypeSystem, decimal, integer, is_type, keeps_unknown_types, parse_type
from schemactl.destinations.spark.address import Namespace, read_address
from schemactl.destinations.spark.tables import Tables, list_tables, stranded
from schemactl.destinations.spark.types import ddl_of, stored_type
from schemactl.engine.spark.session.opening import running_session
from schemactl.errors import InputError
from schemactl.schema.nested_types import structure_in, structure_of, write_type
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, Properties

_PLAIN: Final[Mapping[str, Properties]] = {
    "STRING": {"data_type": "text"},
    "VARCHAR": {"data_type": "text"},
    "CHAR": {"data_type": "text"},
    "BOOLEAN": {"data_type": "bool"},
    "FLOAT": {"data_type": "double"},
    "DOUBLE": {"data_type": "double"},
    "DATE": {"data_type": "date"},
    "BINARY": {"data_type": "binary"},
    "TIMESTAMP": {"data_type": "timestamp"},
    "TIMESTAMP_NTZ": {"data_type": "timestamp", "timezone": False},
    "TIME": {"data_type": "time"},
}
_BITS: Final = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}


def read_catalogue(url: str) -> Catalogue:
    """Return the tables of one schema."""
    namespace = read_address(url)
    with running_session() as spark:
        catalogue = read_namespace(spark, namespace)
    if catalogue is None:
        raise InputError(f"there are no tables in `{namespace.catalogue}.{namespace.schema}`")
    return catalogue


def read_namespace(spark: SparkSession, namespace: Namespace) -> Catalogue | None:
    """Return the tables of one schema; None without tables."""
    all_tables = list_tables(spark, namespace)
    copies = stranded(all_tables)  # for tables that a killed migration has dropped
    tables_by_name = {name: table for name, table in all_tables.items() if not name.startswith(OURS)}
    tables_by_name |= {name: all_tables[copy] for name, copy in copies.items()}
    if not tables_by_name:
        return None
    tables = Tables(spark, namespace, copies)
    versions = [(row["schema_name"], row["version_hash"]) for row in version_rows(tables.read_rows)]
    columns = [
        (name, column_of(column, _kind(written), is_nullable=True, description=table.descriptions.get(column)))
        for name, table in tables_by_name.items()
        for column, written in table.columns.items()
    ]
    texts = {name: spark.catalog.getTable(tables.full(name)).description for name in tables_by_name}
    origin = f"spark:{namespace.catalogue}.{namespace.schema}"
    return make_catalogue(namespace.schema, origin, columns, texts, versions)


def _kind(written: str) -> Properties:
    structure = structure_in(written)
    # The schema's DDL has only one size of integers and floats: for ``array<int>`` it would name another type.
    if structure is not None and ddl_of(structure) == written:
        return unknown(write_type(structure, has_comments=False))
    data_type = parse_type(written)
    if data_type is None:
        return unknown(written)
    if data_type.name in _BITS:
        return integer(_BITS[data_type.name])
    if data_type.name == "DECIMAL" and len(data_type.sizes) == 2:
        precision, scale = data_type.sizes
        return {"data_type": "wei"} if (precision, scale) == (38, 0) else decimal(precision, scale)
    return _PLAIN.get(data_type.name) or unknown(written)


_NATIVE: Final = re.compile(
    r"void|variant|(var)?char\(\d+\)|interval (year|month|year to month|day|hour|minute|second"
    r"|day to (hour|minute|second)|hour to (minute|second)|minute to second)"
)
"""Types of Spark that dlt does not have, as its catalogs write them."""


def own_type(written: str) -> str | None:
    """Return a type as Spark's catalog writes it; None for a text that is no type of Spark, or one that dlt has."""
    if "<" in written:
        return written if is_type(written, "spark") or structure_in(written) is not None else None
    return written.lower() if _NATIVE.fullmatch(written.lower()) else None


settle: Final = TypeSystem("Spark", "spark", unknown, own_type).settle


@keeps_unknown_types
def stored(column: Column) -> Properties:
    """Return such a column as Spark's catalog has it; all columns may be null."""
    column = settle(column)
    if DATABASE_TYPE in column.properties:
        return _kind(column.properties[DATABASE_TYPE])
    if (structure := structure_of(column)) is not None:
        return unknown(write_type(structure, has_comments=False))
    return _kind(stored_type(column).simpleString())

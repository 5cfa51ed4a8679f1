"""What a schema of a Spark catalog holds, as dlt's columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pyspark.sql import SparkSession

from schemactl.destinations._catalogue import (
    OURS,
    VERSIONS_TABLE,
    Catalogue,
    column_of,
    hashes_of,
    keeps_versions,
    schema_name,
    schema_of,
    unknown,
)
from schemactl.destinations._types import decimal, integer, parse_type
from schemactl.destinations.spark.address import Namespace, read_address
from schemactl.destinations.spark.tables import HeldTable, held_tables, select, stranded
from schemactl.destinations.spark.types import ddl_of
from schemactl.engine.session.running import running_session
from schemactl.errors import InputError
from schemactl.schema.full_types import decimal_sizes
from schemactl.schema.nested_types import NestedType, structure_in, structure_of, write_type
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, DataType, Properties

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
    """Return the tables of one schema.

    Raises:
        InputError: the address is wrong, or there is no such schema.
        DestinationError: Spark failed.
        EngineError: Spark cannot be started.
    """
    namespace = read_address(url)
    with running_session() as spark:
        found = read_namespace(spark, namespace)
    if found is None:
        raise InputError(f"there are no tables in `{namespace.catalogue}.{namespace.schema}`")
    return found


def read_namespace(spark: SparkSession, namespace: Namespace) -> Catalogue | None:
    """Return the tables of one schema; None where there are none.

    Args:
        spark: the session.
        namespace: the schema.
    """
    there, copies = _visible(held_tables(spark, namespace))
    if not there:
        return None
    versions: list[tuple[str, str]] = []
    if keeps_versions([(name, column) for name, table in there.items() for column in table.columns]):
        table = namespace.table(copies.get(VERSIONS_TABLE, VERSIONS_TABLE))
        rows = select(spark, f"SELECT schema_name, version_hash FROM {table} ORDER BY inserted_at DESC")
        versions = [(row["schema_name"], row["version_hash"]) for row in rows]
    columns = [
        (name, column_of(column, _kind(written), is_nullable=True, description=table.descriptions.get(column)))
        for name, table in there.items()
        for column, written in table.columns.items()
    ]
    listed = {each.name: each.description for each in spark.catalog.listTables(str(namespace))}
    texts = {name: listed.get(copies.get(name, name)) for name in there}
    found = schema_name({name for name, _ in versions}, namespace.schema)
    return Catalogue(
        schema_of(found, columns, texts), f"spark:{namespace.catalogue}.{namespace.schema}", hashes_of(versions)
    )


def _visible(held: Mapping[str, HeldTable]) -> tuple[Mapping[str, HeldTable], Mapping[str, str]]:
    """Return the tables without our own, and the copies that stand for tables which a killed migration left."""
    copies = stranded(held)
    there = {name: table for name, table in held.items() if not name.startswith(OURS)}
    return {**there, **{name: held[copy] for name, copy in copies.items()}}, copies


def _kind(written: str) -> Properties:
    if (structure := whole_structure(written)) is not None:
        return _structured(structure)
    found = parse_type(written)
    if found is None:
        return unknown(written)
    if found.name in _BITS:
        return integer(_BITS[found.name])
    if found.name == "DECIMAL" and len(found.sizes) == 2:
        precision, scale = found.sizes
        return {"data_type": "wei"} if (precision, scale) == (38, 0) else decimal(precision, scale)
    return _PLAIN.get(found.name) or unknown(written)


def _structured(of: NestedType) -> Properties:
    return unknown(write_type(of, has_comments=False))


def whole_structure(written: str) -> NestedType | None:
    """Return the type of objects or lists that Spark writes so; None for others, and for what no schema can state.

    The schema's DDL has integers and floats of one size alone: of ``array<int>`` it would say another type.
    """
    found = structure_in(written)
    return found if found is not None and ddl_of(found) == written else None


def stored(column: Column) -> Properties:
    """Return what Spark's catalog says of such a column. Nothing is said of nulls: all columns may be null."""
    properties = column.properties
    if DATABASE_TYPE in properties:
        return unknown(properties[DATABASE_TYPE])
    if (structure := structure_of(column)) is not None:
        return _structured(structure)
    match column.data_type:
        case DataType.JSON:
            return {"data_type": "text"}
        case DataType.BIGINT:
            return integer(_bits(properties.get("precision")))
        case DataType.WEI if properties.get("precision"):
            return decimal(properties["precision"], properties.get("scale") or 0)
        case DataType.DECIMAL:
            precision, scale = decimal_sizes(properties)
            return {"data_type": "wei"} if (precision, scale) == (38, 0) else decimal(precision, scale)
        case DataType.TIMESTAMP if properties.get("timezone") is False:
            return {"data_type": "timestamp", "timezone": False}
        case other:
            return {"data_type": str(other)}


def _bits(precision: Any) -> int:
    return next((bits for bits in (8, 16, 32) if precision is not None and precision <= bits), 64)

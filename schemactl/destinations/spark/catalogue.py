"""Reads the tables of a schema of a Spark catalog, as dlt's columns."""

from __future__ import annotations

from pyspark.sql import SparkSession

from schemactl.destinations import Catalogue
from schemactl.destinations._bookkeeping import version_rows
from schemactl.destinations._catalogue import OURS, column_of, make_catalogue
from schemactl.destinations.spark.address import Namespace, read_address
from schemactl.destinations.spark.tables import Tables, list_tables, stranded
from schemactl.destinations.spark.types import kind_of
from schemactl.engine.spark.session.opening import running_session
from schemactl.errors import InputError


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
        (name, column_of(column, kind_of(written), is_nullable=True, description=table.descriptions.get(column)))
        for name, table in tables_by_name.items()
        for column, written in table.columns.items()
    ]
    texts = {name: spark.catalog.getTable(tables.full(name)).description for name in tables_by_name}
    origin = f"spark:{namespace.catalogue}.{namespace.schema}"
    return make_catalogue(namespace.schema, origin, columns, texts, versions)

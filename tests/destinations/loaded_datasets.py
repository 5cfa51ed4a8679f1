"""Datasets of each kind of destination, and the rows that the engine's own client reads in them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import mysql_database
import postgres_server
import psycopg
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog.sql import SqlCatalog
from staged_loads import quiet

from schemactl.destinations import DESTINATIONS
from schemactl.normalization.package import LoadPackage

SQL_KINDS = ("duckdb", "sqlite", "postgresql", "mysql")
LAKE_KINDS = ("parquet", "delta", "iceberg")
KINDS = (*SQL_KINDS, *LAKE_KINDS)


@dataclass(frozen=True)
class Dataset:
    """The dataset ``sales`` of a destination, which no load has made yet."""

    kind: str
    address: str
    """Without a dataset."""
    path: Path
    """The file of a database, or the folder of a lake; unused by servers."""

    @cached_property
    def destination(self) -> Any:
        return DESTINATIONS[self.kind]

    @property
    def url(self) -> str:
        return self.url_of("sales")

    def url_of(self, name: str) -> str:
        return f"{self.address}{'&' if '?' in self.address else '?'}dataset={name}"

    def load(self, package: LoadPackage) -> None:
        self.destination.check_tables(self.url, package.schema)
        self.destination.load(self.url, package, quiet)

    def rows(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """Return the values of the columns, sorted, or no rows if the table has no files."""
        return sorted(self._rows(table, columns), key=repr)

    def _rows(self, table: str, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
        quote = "`" if self.kind == "mysql" else '"'
        listed = ", ".join(f"{quote}{column}{quote}" for column in columns)
        match self.kind:
            case "duckdb":
                with duckdb.connect(str(self.path), read_only=True) as connection:
                    return connection.execute(f'select {listed} from "{self.path.stem}".sales."{table}"').fetchall()
            case "sqlite":
                with closing(sqlite3.connect(self.path.with_name(f"{self.path.stem}__sales.db"))) as file:
                    return file.execute(f'select {listed} from "{table}"').fetchall()
            case "postgresql":
                with psycopg.connect(self.address) as server:
                    return server.execute(f'select {listed} from sales."{table}"'.encode()).fetchall()
            case "mysql":
                return mysql_database.ask(self.address, f"select {listed} from `{table}`")
            case _:
                return [tuple(row[column] for column in columns) for row in self._arrow(table).to_pylist()]

    def _arrow(self, table: str) -> pa.Table:
        if self.kind == "iceberg":
            catalog = SqlCatalog("default", uri=f"sqlite:///{self.path}/catalog.db", warehouse=str(self.path))
            return catalog.load_table(("sales", table)).scan().to_arrow()
        folder = self.path / "sales" / table
        if self.kind == "delta":
            return DeltaTable(str(folder)).to_pyarrow_dataset().to_table()
        files = sorted(folder.glob("*.parquet"))
        if not files:
            return pa.table({})
        schema = pa.unify_schemas([pyarrow.parquet.read_schema(file) for file in files])
        return pyarrow.dataset.dataset(files, schema=schema).to_table()


@contextmanager
def new_dataset(kind: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[Dataset]:
    """Yield a dataset in a database or folder that has no other; drop the database of a server afterwards."""
    match kind:
        case "duckdb" | "sqlite":
            path = folder / "shop.db"
            yield Dataset(kind, f"{kind}:///{path}", path)
        case "postgresql":
            with postgres_server.database(request.getfixturevalue("postgres_url")) as url:
                yield Dataset(kind, url, folder)
        case "mysql":
            yield Dataset(kind, request.getfixturevalue("mariadb_url"), folder)
        case _:
            yield Dataset(kind, f"{kind}:{folder / 'lake'}", folder / "lake")

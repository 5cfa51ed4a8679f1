"""Datasets that loads widen and migrations fold, as they are before and after, for tests that kill the commands."""

from __future__ import annotations

import json
import os
import re
import shutil
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from schemactl.flows.migrate.inspection import VerifyRequest, find_status, verify
from schemactl.flows.target import find_destination
from schemactl.migration.options import PlanOptions
from schemactl.schema.types import Column, Table

ORDERS = {
    "first": [
        {"id": 1, "score": 1, "day": "2024-01-01", "total": 7, "code": 7, "items": [{"price": 2}, {"price": 3}]},
        {"id": 2, "score": 2**53, "day": "9999-12-31", "total": -5, "code": -1, "items": []},
    ],
    "wider": [
        {"id": 3, "score": 1.5, "day": "2024-01-01T10:00:00Z", "total": 10**22, "code": "x7", "items": [{"price": 2.5}]}
    ],
    "odd": [{"id": 3, "score": 1.5, "day": "2024-01-02", "total": 10**22, "code": "x7", "items": [{"price": 2.5}]}],
    "narrow": [{"id": 3, "score": 4, "day": "2024-01-02", "total": 12, "code": 5, "items": [{"price": 6}]}],
    "later": [{"id": 4, "score": 8, "day": "2024-01-03", "total": 9, "code": 6, "items": [{"price": 1}]}],
}
"""Documents by file: integers and dates, values that need wider columns beside a text that no wider type holds, the
same with a date (for which dlt makes no variant), row 3 with values that fit the first columns, and a row 4."""

COLUMNS = ("id", "score", "day", "total", "price", "code", "code__v_text")
VARIANTS = ("score__v_double", "total__v_wei", "price__v_double")

Values = Counter[tuple[Any, ...]]


class Scene(ABC):
    """A dataset and the folder ``work`` of a user, both of which can be stored and restored."""

    def __init__(self, to: str, folder: Path) -> None:
        self.to, self.folder = to, folder
        self.work = folder / "work"
        self.work.mkdir()

    @property
    def kind(self) -> str:
        return self.to.partition(":")[0]

    def store(self, name: str) -> None:
        """Copy the dataset and the folder under a name."""
        shutil.copytree(self.work, self.folder / name)

    def restore(self, name: str) -> None:
        """Replace the dataset and the folder with a copy."""
        for path in self.work.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(self.folder / name, self.work, dirs_exist_ok=True)

    def write(self, name: str) -> None:
        """Write documents to the folder that loads read."""
        lines = (json.dumps(document) + "\n" for document in ORDERS[name])
        Path("landing").mkdir(exist_ok=True)
        Path(f"landing/{name}.jsonl").write_text("".join(lines))

    def values(self, *columns: str) -> Values:
        """Return the stored values of columns of ``orders``, and of ``orders__items``, counted by row."""
        target = find_destination(self.to)
        tables = target.destination.read_catalogue(target.url).schema.tables
        rows: Values = Counter()
        for name in ("orders", "orders__items"):
            stored = {column: tables[name].columns[column] for column in columns if column in tables[name].columns}
            for row in self.rows(Table(name, {name: Column(name, of.properties) for name, of in stored.items()})):
                rows[(name, *(plain(row.get(column), column) for column in columns))] += 1
        return rows

    def rows(self, table: Table) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table as they are stored."""
        target = find_destination(self.to)
        dataset = dict(part.split("=") for part in self.to.partition("?")[2].split("&") if "=" in part)["dataset"]
        for batch in target.destination.read_table(target.url, dataset, table):
            yield from batch.to_pylist()

    def types(self) -> dict[str, dict[str, str]]:
        """Return the types of the columns of both tables, but for the keys of dlt."""
        target = find_destination(self.to)
        tables = target.destination.read_catalogue(target.url).schema.tables
        return {
            name: {column.name: str(column.data_type) for column in tables[name].columns.values()}
            for name in ("orders", "orders__items")
        }

    def check_settled(self) -> None:
        """Raise ``AssertionError`` unless schema files, ledger and dataset agree."""
        status = find_status("shop", self.to, Path("schemas"), PlanOptions())
        assert status.is_settled, status
        verified = verify(VerifyRequest("shop", self.to, Path("schemas")))
        assert verified.is_clean, verified

    @abstractmethod
    def names(self) -> Counter[str]:
        """Return the names of all tables, columns and files, with numbers and random parts as ``#``."""

    def work_names(self) -> Counter[str]:
        return Counter(pattern(str(path.relative_to(self.work))) for path in self.work.rglob("*"))

    def unlisted_files(self) -> set[str]:
        """Return the data files of ``orders`` and ``orders__items`` that no version of their table has."""
        return set()


class FileScene(Scene):
    """A dataset in a file or in folders."""

    def rows(self, table: Table) -> Iterator[dict[str, Any]]:
        if self.kind != "sqlite":
            yield from super().rows(table)
            return
        import sqlite3

        with sqlite3.connect("made.db") as connection:
            query = f"select {', '.join(table.columns)} from {table.name}"
            yield from (dict(zip(table.columns, row, strict=True)) for row in connection.execute(query))

    def names(self) -> Counter[str]:
        if self.kind in ("delta", "iceberg"):  # each version of a table is a file, and a killed command makes some more
            # SQLite keeps an empty journal of a killed process until it writes to the catalog again.
            files = (path for path in self.work.rglob("*") if path.suffix != ".db-journal" or path.stat().st_size)
            paths = [path.relative_to(self.work) for path in files]
            return Counter({pattern(str(path.with_name(f"*{path.suffix}"))) for path in paths})
        names = self.work_names()
        if self.kind in ("sqlite", "duckdb"):
            names += Counter(self._columns())
        return names

    def unlisted_files(self) -> set[str]:
        files = {str(path.relative_to("lake")) for path in Path("lake").glob("shop/**/*.parquet")}
        if self.kind == "delta":
            logs = [path.read_text() for path in Path("lake").rglob("_delta_log/*.json")]
            return {name for name in files if not any(Path(name).name in log for log in logs)}
        if self.kind == "iceberg":
            from pyiceberg.catalog.sql import SqlCatalog

            lake = Path("lake").absolute()
            catalog = SqlCatalog("default", uri=f"sqlite:///{lake}/catalog.db", warehouse=str(lake))
            folders = {str(path.relative_to(lake)) for path in lake.glob("shop/*")}
            for identifier in catalog.list_tables("shop"):
                table = catalog.load_table(identifier)
                paths = table.inspect.all_files()["file_path"].to_pylist()
                files -= {str(Path(path).relative_to(lake)) for path in paths}
                folders.discard(str(Path(table.location().removeprefix("file://")).relative_to(lake)))
            catalog.close()
            return files | folders
        return set()

    def _columns(self) -> list[str]:
        if self.kind == "sqlite":
            import sqlite3

            with sqlite3.connect("made.db") as connection:
                query = "select m.name || '.' || c.name from sqlite_master m, pragma_table_xinfo(m.name) c"
                return [name for (name,) in connection.execute(query)]
        import duckdb

        with duckdb.connect("made.duckdb", read_only=True) as database:
            name = "schema_name || '.' || table_name || '.' || column_name"
            query = f"select {name} from duckdb_columns() where not internal"
            return [name for (name,) in database.execute(query).fetchall()]


class PostgresScene(Scene):
    """A database of a PostgreSQL server."""

    def __init__(self, url: str, folder: Path) -> None:
        self.server, self.database = url, f"killed{os.getpid()}"
        address = f"{url.rpartition('/')[0]}/{self.database}"
        super().__init__(f"{address}?dataset=shop", folder)
        self.address = address
        self._run(f"DROP DATABASE IF EXISTS {self.database} WITH (FORCE)", f"CREATE DATABASE {self.database}")

    def _run(self, *statements: str) -> None:
        import psycopg

        with psycopg.connect(self.server, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def store(self, name: str) -> None:
        super().store(name)
        self._copy(self.database, f"{self.database}_{name}")

    def restore(self, name: str) -> None:
        super().restore(name)
        self._copy(f"{self.database}_{name}", self.database)

    def _copy(self, database: str, copy: str) -> None:
        ending = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"
        self._run(ending, f"DROP DATABASE IF EXISTS {copy} WITH (FORCE)", f"CREATE DATABASE {copy} TEMPLATE {database}")

    def rows(self, table: Table) -> Iterator[dict[str, Any]]:
        import psycopg

        with psycopg.connect(self.address) as connection:
            for row in connection.execute(f"select {', '.join(table.columns)} from shop.{table.name}".encode()):
                yield dict(zip(table.columns, row, strict=True))

    def names(self) -> Counter[str]:
        import psycopg

        query = (
            "select n.nspname || '.' || c.relname || '.' || a.attname from pg_class c join pg_namespace n on "
            "n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid and not a.attisdropped and attnum > 0 "
            "where n.nspname !~ '^pg_toast' and n.nspname not in ('pg_catalog', 'information_schema')"
        )
        with psycopg.connect(self.address) as connection:
            columns = [name for (name,) in connection.execute(query)]
        return self.work_names() + Counter(columns)


class MySqlScene(Scene):
    """A database of a MariaDB server."""

    def __init__(self, url: str, folder: Path) -> None:
        super().__init__(f"{url}&dataset=shop", folder)
        self.server = url

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        import pymysql
        from mysql_server import PASSWORD

        socket = self.server.partition("unix_socket=")[2]
        with (
            pymysql.connect(user="loader", password=PASSWORD, unix_socket=socket, autocommit=True) as connection,
            connection.cursor() as cursor,
        ):
            yield cursor

    def store(self, name: str) -> None:
        super().store(name)
        self._copy("shop", f"shop_{name}")

    def restore(self, name: str) -> None:
        super().restore(name)
        self._copy(f"shop_{name}", "shop")

    def _copy(self, database: str, copy: str) -> None:
        with self._cursor() as cursor:
            cursor.execute(f"CREATE OR REPLACE DATABASE {copy}")
            cursor.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = %s", (database,))
            for (table,) in cursor.fetchall():
                cursor.execute(f"CREATE TABLE {copy}.`{table}` LIKE {database}.`{table}`")
                cursor.execute(f"INSERT INTO {copy}.`{table}` SELECT * FROM {database}.`{table}`")

    def names(self) -> Counter[str]:
        with self._cursor() as cursor:
            cursor.execute(
                "SELECT concat(table_schema, '.', table_name, '.', column_name) FROM information_schema.columns "
                "WHERE table_schema = 'shop'"
            )
            columns = [name for (name,) in cursor.fetchall()]
        return self.work_names() + Counter(columns)


def make_scene(kind: str, folder: Path, server: str) -> Scene:
    """Return a new scene; ``server`` is the address of a server, if the destination is in one."""
    match kind:
        case "postgresql":
            return PostgresScene(server, folder)
        case "mysql":
            return MySqlScene(server, folder)
        case "sqlite":
            return FileScene("sqlite:///made.db?dataset=main", folder)
        case "duckdb":
            return FileScene("duckdb:///made.duckdb?dataset=shop", folder)
        case _:
            return FileScene(f"{kind}:lake?dataset=shop", folder)


def plain(value: Any, column: str) -> Any:
    """Return a value such that equal values of two types are equal."""
    match value:
        case str() if column.startswith("day"):
            return _moment(value)
        case str() if column.endswith("__v_text"):
            return value
        case str():
            return int(value)  # some destinations store `wei` as text
        case datetime():
            return value if value.tzinfo else value.replace(tzinfo=UTC)
        case date():
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        case Decimal() | float():
            return int(value) if value == int(value) else float(value)
        case _:
            return value


def pattern(name: str) -> str:
    """Return the name of a file with its numbers and random parts as ``#``."""
    return re.sub(r"(?=[0-9a-f]*\d)[0-9a-f]+(?![a-z])|\d+", "#", name)


def expected(*files: str, is_folded: bool = True) -> Values:
    """Return the rows that loads leave, as ``Scene.values`` does for ``COLUMNS``, or for these and ``VARIANTS``."""
    documents = {document["id"]: document for name in files for document in ORDERS[name]}
    rows: Values = Counter()
    for document in documents.values():
        if isinstance(document["code"], str):
            document = {**document, "code": None, "code__v_text": document["code"]}
        for table, row in (("orders", document), *(("orders__items", item) for item in document["items"])):
            values = [_moment(row.get(name)) if name == "day" else row.get(name) for name in COLUMNS]
            variants: list[Any] = []
            if not is_folded:
                are_variant = [_is_variant(name, row.get(name)) for name in COLUMNS]
                variants = [
                    value if is_variant else None
                    for name, value, is_variant in zip(COLUMNS, values, are_variant, strict=True)
                    if any(variant.startswith(f"{name}__v") for variant in VARIANTS)
                ]
                values = [None if is_variant else value for value, is_variant in zip(values, are_variant, strict=True)]
            rows[(table, *values, *variants)] += 1
    return rows


def _moment(text: Any) -> datetime | None:
    if text is None:
        return None
    moment = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _is_variant(name: str, value: Any) -> bool:
    """Return whether a value of ``odd`` does not fit the column that the first file makes."""
    match name:
        case "score" | "price":
            return isinstance(value, float)
        case "total":
            return value is not None and value >= 2**63
        case _:
            return False

"""Loads into DuckDB and PostgreSQL leave the rows that dlt leaves, load after load, key by key."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import dlt
import duckdb
import mysql_server
import postgres_server
import psycopg
import pyarrow.parquet as pq
import pymysql
import pytest
from dlt.common import json

from schemactl.destinations import dlt as dlt_destination
from schemactl.destinations import duckdb as duckdb_destination
from schemactl.destinations import mysql as mysql_destination
from schemactl.destinations import postgresql
from schemactl.destinations import sqlite as sqlite_destination
from schemactl.normalization.package import LoadPackage, StagedTable
from schemactl.schema.types import schema_from_dict


@dataclass(frozen=True)
class Scenario:
    """Loads of one resource: its arguments, and the documents of each load, perhaps with other arguments."""

    name: str
    options: dict[str, Any]
    loads: list[list[dict[str, Any]]]
    columns: dict[str, Any] = field(default_factory=dict)
    again: dict[int, dict[str, Any]] = field(default_factory=dict)


def item(number: int, *lines: int, **more: Any) -> dict[str, Any]:
    return {"id": number, "lines": [{"n": n, "tags": [f"t{n}", "u"]} for n in lines], **more}


def merged(strategy: str, **more: Any) -> dict[str, Any]:
    return {"write_disposition": {"disposition": "merge", "strategy": strategy}, **more}


KEY = {"primary_key": "id"}
FLAG = {"gone": {"hard_delete": True, "data_type": "bool"}}

SCENARIOS = [
    Scenario("append", {"write_disposition": "append"}, [[item(1, 1, 2)], [item(1, 3), item(2)], [item(3, note="x")]]),
    Scenario("replace", {"write_disposition": "replace"}, [[item(1, 1, 2), item(2, 3)], [item(3)], [item(4, 5)]]),
    Scenario("delete_insert_by_primary_key", {"write_disposition": "merge", **KEY},
        [[item(1, 1, 2), item(2, 3)], [item(2, 4, 5), item(3, 6)], [item(1, v=2)], [{"id": 3, "v": 7}]]),
    Scenario("delete_insert_without_nested_tables", {"write_disposition": "merge", "primary_key": ("id", "part")},
        [[{"id": n, "part": p, "v": n} for n in (1, 2) for p in "ab"], [{"id": 1, "part": "b", "v": 9}]]),
    Scenario("delete_insert_by_merge_key", {"write_disposition": "merge", "merge_key": "day"},
        [[item(1, 1, day="a"), item(2, 2, day="a"), item(3, 3, day="b")], [item(4, 4, day="a"), item(5, day="a")]]),
    Scenario("delete_insert_by_both_keys", {"write_disposition": "merge", "merge_key": "day", **KEY},
        [[item(1, 1, day="a"), item(2, 2, day="a"), item(3, 3, day="b")], [item(3, 4, day="a"), item(6, day="c")]]),
    Scenario("delete_insert_without_keys", {"write_disposition": "merge"}, [[item(1, 1)], [item(1, 1, 2)]]),
    Scenario("delete_insert_keeps_the_last_one", {"write_disposition": "merge", **KEY},
        [[item(1, 1, at=1), item(1, 2, 3, at=3), item(1, at=2), item(2, 9, at=1)],
         [item(2, 4, at=0), item(2, 5, at=None)]], columns={"at": {"dedup_sort": "desc"}}),
    Scenario("delete_insert_keeps_the_first_one", {"write_disposition": "merge", **KEY},
        [[{"id": 1, "at": 2}, {"id": 1, "at": 1}], [{"id": 1, "at": 5}, {"id": 1, "at": 4}, {"id": 2, "at": 1}]],
        columns={"at": {"dedup_sort": "asc"}}),
    Scenario("delete_insert_deletes", {"write_disposition": "merge", **KEY},
        [[item(1, 1, gone=False), item(2, 2, gone=None), item(3, 3, gone=True)],
         [item(1, 4, gone=True), item(2, 5, gone=False), item(9, gone=True)]], columns=FLAG),
    Scenario("delete_insert_deletes_what_came_last", {"write_disposition": "merge", **KEY},
        [[item(1, 1, gone=None, at=1)],
         [item(1, 2, gone="yes", at=3), item(1, 3, gone=None, at=2), item(2, gone="x", at=1),
          item(2, gone=None, at=2)]],
        columns={"gone": {"hard_delete": True, "data_type": "text"}, "at": {"dedup_sort": "desc"}}),
    Scenario("delete_insert_deletes_by_merge_key", {"write_disposition": "merge", "merge_key": "id"},
        [[item(1, 1), item(2, 2)], [item(1, 3, gone=True), item(2, 4, gone=False)]], columns=FLAG),
    Scenario("upsert", merged("upsert", **KEY),
        [[item(1, 1, 2, v="a"), item(2, 3, v="b")], [item(2, 4, v="c"), item(3, 5, v="d")], [item(1, v=None)]]),
    Scenario("upsert_deletes", merged("upsert", **KEY),
        [[item(1, 1, gone=False), item(2, 2)], [item(1, 3, gone=True), item(2, 4, gone=False), item(7, 7, gone=True)]],
        columns=FLAG),
    Scenario("upsert_of_new_columns", merged("upsert", primary_key=("id", "part")),
        [[{"id": 1, "part": 1, "v": 1}, {"id": 1, "part": 2, "v": 1}], [{"id": 1, "part": 2, "w": "new"}]]),
    Scenario("insert_only", merged("insert-only", **KEY),
        [[item(1, 1, 2), item(2)], [item(1, 3, 4, 5), item(2, 6), item(3, 7)]]),
    Scenario("insert_only_leaves_out_what_is_deleted", merged("insert-only", **KEY),
        [[item(1, gone=None)], [item(1, gone=True), item(2, gone=True), item(3, gone=False)]], columns=FLAG),
    Scenario("scd2", merged("scd2"),
        [[item(1, 1, v="a"), item(2, 2, v="b")], [item(1, 1, v="a"), item(2, 2, 3, v="b"), item(3, v="c")],
         [item(3, v="c")], [item(1, 1, v="a")]]),
    Scenario("scd2_by_merge_key", merged("scd2", merge_key="id"),
        [[{"id": 1, "v": "a"}, {"id": 2, "v": "b"}], [{"id": 2, "v": "c"}],
         [{"id": 1, "v": "x"}, {"id": 3, "v": "y"}]]),
    Scenario("scd2_with_stated_moments",
        {"write_disposition": {"disposition": "merge", "strategy": "scd2", "active_record_timestamp": "9999-12-31",
             "boundary_timestamp": "2026-03-04T05:06:07+02:00"}},
        [[{"id": 1, "v": "a"}], [{"id": 1, "v": "b"}], [{"id": 1, "v": "a"}]]),
    Scenario("from_append_to_merge", {"write_disposition": "append", **KEY},
        [[{"id": 1, "v": 1}, {"id": 1, "v": 2}, {"id": 2}], [{"id": 1, "v": 3}], [{"id": 4}]],
        again={1: {"write_disposition": "merge", **KEY}, 2: {"write_disposition": "replace", **KEY}}),
]  # fmt: skip


@dataclass(frozen=True)
class Taken:
    """What dlt had ready for one load, and what its tables held afterwards."""

    package: LoadPackage
    tables: dict[str, Counter[Any]]


def run_dlt(scenario: Scenario, folder: Path) -> Iterator[Taken]:
    """Run the loads through dlt on DuckDB; between normalizing and loading its Parquet files are put aside."""
    file = folder / "dlt.duckdb"
    pipeline = dlt.pipeline(
        "shop",
        destination=dlt.destinations.duckdb(str(file)),
        dataset_name="sales",
        pipelines_dir=str(folder / "pipelines"),
    )
    with opened(file) as connection:
        for number, documents in enumerate(scenario.loads):
            options = scenario.again.get(number, scenario.options)
            source = dlt.resource(documents, name="orders", columns=scenario.columns, **options)
            pipeline.extract(source, loader_file_format="parquet")
            pipeline.normalize()
            package = put_aside(pipeline, folder / f"load{number}")
            pipeline.load().raise_on_failed_jobs()
            yield Taken(package, duck_tables(connection))


@contextmanager
def opened(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a file of DuckDB: until it is closed, dlt opens it for each job in a thirtieth of the time."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(str(file)) as connection:
        connection.execute("set TimeZone = 'UTC'")
        yield connection


def put_aside(pipeline: Any, folder: Path) -> LoadPackage:
    """Return what is ready to be loaded, as a package of ours."""
    (load_id,) = pipeline.list_normalized_load_packages()
    info = pipeline.get_load_package_info(load_id)
    schema = schema_from_dict(pipeline.default_schema.to_dict())
    staged: dict[str, StagedTable] = {}
    for job in info.jobs["new_jobs"]:
        name = job.job_file_info.table_name
        if name not in schema.tables or not job.file_path.endswith(".parquet") or name.startswith("_dlt"):
            continue
        target = folder / name
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(job.file_path, target)
        columns = pq.read_schema(job.file_path).names
        table = schema.tables[name]
        table = replace(table, columns={column: table.columns[column] for column in columns})
        rows = pq.read_metadata(job.file_path).num_rows + (staged[name].rows if name in staged else 0)
        staged[name] = StagedTable(table, target, rows)
    state = json.typed_loads((Path(info.package_path) / "load_package_state.json").read_text())
    return LoadPackage(load_id, schema, in_order(staged), state["created_at"])


def in_order(staged: dict[str, StagedTable]) -> tuple[StagedTable, ...]:
    return tuple(staged[name] for name in sorted(staged, key=lambda name: (name.count("__"), name)))


def duck_tables(connection: Any) -> dict[str, Counter[Any]]:
    names = connection.execute(
        "select table_name from duckdb_tables() where schema_name = 'sales' and not starts_with(table_name, '_')"
    ).fetchall()
    return {
        name: rows_of(connection.execute(f'select * from {connection_name(connection)}.sales."{name}"'))
        for (name,) in names
    }


def connection_name(connection: Any) -> str:
    return connection.execute("select current_database()").fetchone()[0]


def rows_of(cursor: Any) -> Counter[Any]:
    """Return rows as a multiset, without the order of their columns and without columns that hold nothing."""
    names = [column[0] for column in cursor.description]
    return Counter(
        frozenset((name, plain(value)) for name, value in zip(names, row, strict=True) if value is not None)
        for row in cursor.fetchall()
    )


def plain(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value


@pytest.fixture
def postgres_database(postgres_url: str) -> Iterator[str]:
    with postgres_server.database(postgres_url) as url:
        yield url


@dataclass(frozen=True)
class Duck:
    path: Path

    @property
    def url(self) -> str:
        return f"duckdb:///{self.path}?dataset=sales"

    def load(self, package: LoadPackage) -> None:
        duckdb_destination.load(self.url, package, lambda *_: None)

    def tables(self) -> dict[str, Counter[Any]]:
        with opened(self.path) as connection:
            return duck_tables(connection)


@dataclass(frozen=True)
class Postgres:
    address: str

    @property
    def url(self) -> str:
        return f"{self.address}?dataset=sales"

    def load(self, package: LoadPackage) -> None:
        postgresql.load(self.url, package, lambda *_: None)

    def tables(self) -> dict[str, Counter[Any]]:
        with psycopg.connect(self.address) as connection:
            names = connection.execute(
                "select tablename from pg_tables where schemaname = 'sales' and not starts_with(tablename, '_')"
            ).fetchall()
            return {name: rows_of(connection.execute(f'select * from sales."{name}"')) for (name,) in names}


@dataclass(frozen=True)
class Sqlite:
    path: Path

    def load(self, package: LoadPackage) -> None:
        url = f"sqlite:///{self.path}"
        sqlite_destination.check_tables(url, package.schema)
        sqlite_destination.load(url, package, lambda *_: None)

    def tables(self) -> dict[str, Counter[Any]]:
        with closing(sqlite3.connect(self.path)) as connection:
            names = connection.execute(
                "select name from sqlite_master where type = 'table' and name not like '\\_%' escape '\\'"
            )
            return {name: self._rows(connection, name) for (name,) in names.fetchall()}

    def _rows(self, connection: sqlite3.Connection, table: str) -> Counter[Any]:
        kinds = {name: kind for _, name, kind, *_ in connection.execute(f'pragma table_info("{table}")')}
        return as_dlt_has_them(connection.execute(f'select * from "{table}"'), kinds)


def as_dlt_has_them(cursor: Any, kinds: dict[str, str]) -> Counter[Any]:
    """Return rows with moments and truths, which some databases keep as texts and numbers."""
    names = [column[0] for column in cursor.description]

    def read(name: str, value: Any) -> Any:
        kind = kinds[name].lower()
        if kind.startswith("datetime"):
            moment = datetime.fromisoformat(value) if isinstance(value, str) else value
            return moment.replace(tzinfo=UTC)
        return bool(value) if kind in ("boolean", "tinyint(1)") else value

    return Counter(
        frozenset((name, read(name, value)) for name, value in zip(names, row, strict=True) if value is not None)
        for row in cursor.fetchall()
    )


@dataclass(frozen=True)
class MariaDb:
    address: str

    def load(self, package: LoadPackage) -> None:
        mysql_destination.check_tables(f"{self.address}&dataset=sales", package.schema)
        mysql_destination.load(f"{self.address}&dataset=sales", package, lambda *_: None)

    def tables(self) -> dict[str, Counter[Any]]:
        socket = self.address.partition("unix_socket=")[2]
        found = {}
        with pymysql.connect(user="loader", password=mysql_server.PASSWORD, unix_socket=socket) as connection:
            cursor = connection.cursor()
            cursor.execute(
                "select table_name, column_name, column_type from information_schema.columns "
                "where table_schema = 'sales' and table_name not like '\\_%'"
            )
            kinds: dict[str, dict[str, str]] = {}
            for table, name, kind in cursor.fetchall():
                kinds.setdefault(table, {})[name] = kind
            for table, held in kinds.items():
                cursor.execute(f"select * from sales.`{table}`")
                found[table] = as_dlt_has_them(cursor, held)
        return found


@pytest.fixture(scope="module")
def mysql_url(request: pytest.FixtureRequest) -> str | None:
    """Return None if the machine has no server, which tests/destinations/test_mysql_load.py reports."""
    try:
        return str(request.getfixturevalue("mariadb_server"))
    except pytest.skip.Exception:
        return None


@pytest.fixture
def maria(mysql_url: str | None) -> Iterator[MariaDb | None]:
    if mysql_url is None:
        yield None
        return
    yield MariaDb(mysql_url)
    with pymysql.connect(
        user="loader", password=mysql_server.PASSWORD, unix_socket=mysql_url.partition("unix_socket=")[2]
    ) as connection:
        connection.cursor().execute("drop database if exists sales")


@dataclass(frozen=True)
class ByDltsLoader(Duck):
    @property
    def url(self) -> str:
        return "dlt:duckdb?dataset=sales"

    def load(self, package: LoadPackage) -> None:
        dlt_destination.check_tables(self.url, package.schema)
        dlt_destination.load(self.url, package, lambda *_: None)


@pytest.fixture
def by_dlts_loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ByDltsLoader]:
    found = ByDltsLoader(tmp_path / "by_dlt.duckdb")
    monkeypatch.setenv("DLT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DESTINATION__DUCKDB__CREDENTIALS", str(found.path))
    with opened(found.path):
        yield found


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_every_load_leaves_the_rows_of_dlt(
    scenario: Scenario, postgres_database: str, by_dlts_loader: ByDltsLoader, maria: MariaDb | None, tmp_path: Path
) -> None:
    ours = (
        Duck(tmp_path / "ours.duckdb"),
        Postgres(postgres_database),
        Sqlite(tmp_path / "ours.db"),
        *([maria] if maria else []),
        by_dlts_loader,
    )
    for number, taken in enumerate(run_dlt(scenario, tmp_path)):
        for destination in ours:
            destination.load(taken.package)
            found = destination.tables()
            assert found.keys() == taken.tables.keys()
            for name, rows in taken.tables.items():
                assert found[name] == rows, f"{destination}: load {number}, table {name}"


def test_dlt_goes_on_where_a_load_has_ended(tmp_path: Path) -> None:
    scenario = Scenario("first", {"write_disposition": "merge", **KEY}, [[item(1, 1), item(2, 2)]])
    (taken,) = run_dlt(scenario, tmp_path / "first")
    ours = Duck(tmp_path / "ours.duckdb")
    ours.load(taken.package)
    pipeline = dlt.pipeline(
        "shop",
        destination=dlt.destinations.duckdb(str(ours.path)),
        dataset_name="sales",
        pipelines_dir=str(tmp_path / "pipelines"),
    )
    more = dlt.resource([item(2, 3), item(3, 4)], name="orders", write_disposition="merge", primary_key="id")
    pipeline.run(more).raise_on_failed_jobs()
    with duckdb.connect(str(ours.path), read_only=True) as connection:
        rows = connection.execute(
            "select o.id, l.n from ours.sales.orders o join ours.sales.orders__lines l "
            "on l._dlt_root_id = o._dlt_id order by all"
        ).fetchall()
        loads = connection.execute("select status, schema_name from ours.sales._dlt_loads").fetchall()
    assert rows == [(1, 1), (2, 3), (3, 4)]
    assert loads == [(0, "shop"), (0, "shop")]


def test_tables_and_bookkeeping_are_those_of_dlt(by_dlts_loader: ByDltsLoader, tmp_path: Path) -> None:
    columns = {
        "price": {"data_type": "decimal", "precision": 10, "scale": 2},
        "size": {"data_type": "bigint", "precision": 16},
        "local": {"data_type": "timestamp", "timezone": False, "precision": 3},
        "body": {"data_type": "json", "nullable": False},
        "raw": {"data_type": "binary"},
        "day": {"data_type": "date"},
        "hour": {"data_type": "time"},
        "sum": {"data_type": "wei"},
    }
    document = {
        "price": "1.23",
        "size": 7,
        "local": "2026-01-02T03:04:05.678",
        "body": {"a": [1, None]},
        "raw": b"\x00\xff",
        "day": "2026-01-02",
        "hour": "03:04:05.000006",
        "sum": Decimal(10**30),
        "at": "2026-01-02T03:04:05.678901+02:00",
    }
    loads = [[item(1, 1, **document)], [item(2, 2, **document, new=1.5)], [item(3, 3, **document)]]
    ours = Duck(tmp_path / "ours.duckdb")
    for taken in run_dlt(Scenario("typed", {}, loads, columns=columns), tmp_path):
        for each in (ours, by_dlts_loader):
            each.load(taken.package)
            assert each.tables() == taken.tables
    kept = tuple(described(path) for path in (ours.path, by_dlts_loader.path, tmp_path / "dlt.duckdb"))
    assert kept[0] == kept[1] == kept[2]
    assert len(kept[0]["versions"]) == 2
    assert len(kept[0]["loads"]) == 3


def described(path: Path) -> dict[str, Any]:
    """Return columns, versions and loads of a dataset, without what says when and by whom it was written."""
    with opened(path) as connection:

        def ask(query: str) -> list[Any]:
            return connection.execute(query.format(path.stem)).fetchall()

        columns = ask(
            "select table_name, column_name, data_type, is_nullable from duckdb_columns() where schema_name = 'sales' "
            "and table_name not in ('_dlt_pipeline_state', '_schemactl_inputs') order by table_name, column_index"
        )
        versions = ask("select version, engine_version, schema_name, version_hash, schema from {}.sales._dlt_version")
        loads = ask("select load_id, schema_name, status, schema_version_hash from {}.sales._dlt_loads")
    return {
        "columns": columns,
        "versions": sorted((*row[:-1], json.dumps(json.loads(row[-1]), sort_keys=True)) for row in versions),
        "loads": sorted(loads),
    }

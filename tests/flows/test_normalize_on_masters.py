"""Loads by other kinds of Spark, in processes of their own, leave the very tables that Spark on one machine leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import chdir, nullcontext
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession

from schemactl.engine.session.settings import SparkOptions
from schemactl.flows.infer import InferRequest
from schemactl.flows.normalize import OpenSession, normalize
from schemactl.flows.normalize_call import NormalizeRequest
from schemactl.formats.dlt import write
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
LIMIT_SECONDS = 900
TIMES = ("inserted_at", "modified_at", "loaded_at")

SCRIPT = """
import sys

from schemactl.engine.session.settings import SparkOptions
from tests.flows.test_normalize_on_masters import load

master, remote, *sources = sys.argv[1:]
small = {"files.maxPartitionBytes": "20000", "shuffle.partitions": "2"}
conf = {} if remote else {"spark.executor.memory": "768m", **{f"spark.sql.{name}": small[name] for name in small}}
print(load(sources, SparkOptions(master=master or None, remote=remote or None, conf=conf)))
"""

COLUMNS = {
    "id": {"data_type": "text", "nullable": False, "primary_key": True},
    "raw": {"data_type": "json"},
    "price": {"data_type": "decimal"},
    "nr": {"data_type": "bigint"},
}
UPSERT = {"write_disposition": "merge", "x-merge-strategy": "upsert", "resource": "data"}
TABLE = Table("data", {name: Column(name, properties) for name, properties in COLUMNS.items()}, UPSERT)

DOCUMENTS: list[dict[str, Any]] = [
    {"id": 1, "raw": {"z": 1.0, "a": [1]}, "price": "1.50", "lines": [{"n": 1, "tags": ["a", 2]}, [3], 4.5]},
    {"id": "é", "raw": "text", "price": 2, "at": "2024-01-02T03:04:05+02:00", "great": 2**70},
    {"id": 2.5, "raw": 7, "price": 0.1, "at": 17, "o": {"x": {"y": True}}, "lines": "none"},
    {"id": "bad", "nr": "no number", "lines": [{"n": "lost"}]},
]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    import pyarrow
    import pyarrow.parquet

    folder = tmp_path_factory.mktemp("data")
    many = [{"id": f"m{at}", "lines": [{"n": at, "tags": [at]}]} for at in range(1000)]
    (folder / "a.jsonl").write_text("".join(json.dumps(each) + "\n" for each in DOCUMENTS), encoding="utf-8")
    (folder / "b.jsonl").write_text("".join(json.dumps(each) + "\n" for each in many), encoding="utf-8")
    stated = {"id": ["p1"], "price": pyarrow.array([3], pyarrow.int8()), "lines": [[{"n": 5, "tags": ["t"]}]]}
    pyarrow.parquet.write_table(pyarrow.table(stated), folder / "c d.parquet")
    return [str(folder / name) for name in ("a.jsonl", "b.jsonl", "c d.parquet")]


def load(sources: list[str], spark: SparkOptions, open_session: OpenSession | None = None) -> str:
    """Load the sources in the working folder, and return what became of them."""
    request = InferRequest(
        sources=tuple(sources),
        name="shop",
        table="data",
        schemas=Path("schemas"),
        contract="columns=evolve,data_type=discard_row",
        spark=spark,
    )
    call = NormalizeRequest(request, "duckdb:///loaded.duckdb", load_id="first", staging=Path("staging"))
    report = normalize(call, open_session=open_session)
    for table in report.tables:
        assert table.read == table.loaded + table.rejected + table.rejected_with_parent, table
    return f"{report.outcome} {report.documents} {sum(table.rejected for table in report.tables)}"


def tables_of(folder: Path, loaded: Callable[[], str]) -> dict[str, list[str]]:
    """Let a load run in ``folder``, and return the rows of each table but for the time of the load."""
    schema = folder / "schemas" / "export" / "shop.schema.yaml"
    schema.parent.mkdir(parents=True)
    schema.write_text(write(new_schema("shop").with_table(TABLE)), encoding="utf-8")
    with chdir(folder):
        assert loaded() == "loaded 1005 3"
    assert not list((folder / "staging").iterdir())
    with duckdb.connect(str(folder / "loaded.duckdb"), read_only=True) as database:
        names = [name for (name,) in database.execute("select table_name from duckdb_tables()").fetchall()]
        return {name: rows_of(database, name) for name in sorted(names)}


def load_apart(sources: list[str], master: str = "", remote: str = "") -> str:
    """Load in a process of its own, as Spark has one way to run for each."""
    command = [sys.executable, "-c", SCRIPT, master, remote, *sources]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert (done.returncode, done.stderr[-3000:]) == (0, "")
    return done.stdout.strip()


def rows_of(database: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    found = database.execute(f"select * from shop.{table}")
    kept = [at for at, (name, *_) in enumerate(found.description or ()) if name not in TIMES]
    return sorted(repr([row[at] for at in kept]) for row in found.fetchall())


@pytest.fixture(scope="module")
def here(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, sources: list[str]) -> dict[str, list[str]]:
    """What Spark leaves on one machine."""
    folder = tmp_path_factory.mktemp("here")
    found = tables_of(folder, lambda: load(sources, SparkOptions(), lambda *_: nullcontext(spark)))
    assert {name: len(rows) for name, rows in found.items()} == {
        "_dlt_loads": 1,
        "_dlt_version": 1,
        "_rejects": 3,
        "_schemactl_inputs": 3,
        "data": 1002,
        "data__lines": 1004,
        "data__lines__list": 1,
        "data__lines__tags": 1003,
    }
    return found


def test_a_cluster_of_executors_loads_the_same_tables(
    here: dict[str, list[str]], sources: list[str], tmp_path: Path
) -> None:
    assert tables_of(tmp_path, lambda: load_apart(sources, master="local-cluster[2,1,1024]")) == here


def test_spark_connect_loads_the_same_tables(
    here: dict[str, list[str]], sources: list[str], tmp_path: Path, connect_url: str
) -> None:
    assert tables_of(tmp_path, lambda: load_apart(sources, remote=connect_url)) == here

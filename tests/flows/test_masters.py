"""Other kinds of Spark, in processes of their own, find the evidence and leave the tables that one machine does.

One process of each kind does all of it: starting one takes longer than what it does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from contextlib import chdir, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession

from schemactl.engine.choice import EngineOptions
from schemactl.engine.inputs import find_inputs
from schemactl.engine.scan import scan_inputs
from schemactl.engine.spark.engine import SparkEngine
from schemactl.engine.spark.options import SparkOptions
from schemactl.engine.spark.session.java import find_java
from schemactl.flows.infer import InferRequest
from schemactl.flows.normalize import NormalizeRequest, normalize
from schemactl.formats.dlt import write
from schemactl.inference.sample import Sample
from schemactl.inference.saved_evidence import write_evidence
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
LIMIT_SECONDS = 900
TIMES = ("inserted_at", "modified_at", "loaded_at")

SCRIPT = '''
import sys
import warnings
from pathlib import Path

import pyarrow
from pyspark.sql import functions as F, types as T

from schemactl.engine.spark.session import SparkOptions, open_session
from schemactl.errors import SchemactlError

master, remote, python, target, more, *sources = sys.argv[1:]
small = {"files.maxPartitionBytes": "20000", "shuffle.partitions": "2"}
conf = {} if remote else {"spark.executor.memory": "768m", **{f"spark.sql.{name}": small[name] for name in small}}
conf |= {"spark.pyspark.python": python} if python else {}
options = SparkOptions(master=master or None, remote=remote or None, conf=conf)


def has_package(batches):
    import importlib.util

    import pyarrow

    for _ in batches:
        found = importlib.util.find_spec("schemactl") is not None
        yield pyarrow.record_batch([pyarrow.array([found])], names=["found"])


def python_of(values: pyarrow.Array) -> pyarrow.Array:
    import sys

    return pyarrow.array([sys.executable] * len(values))


def check_session(spark):
    # Made inside: which kind of function it becomes depends on the session.
    places = spark.range(0, 100, 1, 4).select(F.arrow_udf(python_of, T.StringType())("id").alias("p"))
    assert [row["p"] for row in places.distinct().collect()] == [sys.executable]
    assert spark.sql("SELECT current_timezone()").first()[0] == "UTC"
    equal_keys = spark.sql("""SELECT to_json(parse_json('{"a": 1, "a": 2, "A": 3}'))""")
    assert equal_keys.first()[0] == '{"A":3,"a":2}'


def look(spark):
    from tests.flows.test_masters import evidence_of, load

    Path(target).write_text(evidence_of(spark, sources), encoding="utf-8")
    print(load(options, spark))


try:
    with open_session(options) as spark:
        check_session(spark)
        if python:
            assert not spark.range(1).mapInArrow(has_package, "found boolean").first().found
        warnings.simplefilter("ignore")  # of nanoseconds, which are no matter here
        look(spark)
        exec(more)
        spark.read.text("/no/such").count()
except SchemactlError as error:
    print(type(error).__name__, error.message, sep="|")
'''

COERCE = """
from schemactl.destinations.spark.conversion import survivor
from schemactl.engine.spark.reading.columnar import allow_all_types
from schemactl.migration.statements import Retype
from schemactl.schema.types import Column, DataType

text = Column("", {"data_type": "text"})
allow_all_types(spark)
values = ["1", "0x1f", "2024-01-02T03:04:05.5+02:00", "2024-W05", "3:04", "no"]
frame = spark.createDataFrame(pyarrow.table({"value": values}))
columns = [Column(str(each), {"data_type": str(each)}) for each in DataType]
columns.append(Column("naive", {"data_type": "timestamp", "timezone": False}))
done = frame.select(
    *(survivor(F.col("value"), Retype(text, to)).cast("string").alias(to.name) for to in columns),
)
for row in done.toArrow().to_pylist():
    print({name: value for name, value in row.items() if value is not None})
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


@dataclass(frozen=True)
class Data:
    """Files to be looked at, and files to be loaded."""

    seen: list[str]
    loaded: list[str]


@dataclass(frozen=True)
class Found:
    """What a Spark has found and left."""

    evidence: str
    tables: dict[str, list[str]]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, fixtures: Path) -> Data:
    return Data(_seen(tmp_path_factory.mktemp("seen"), fixtures), _loaded(tmp_path_factory.mktemp("loaded")))


def _seen(folder: Path, fixtures: Path) -> list[str]:
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(
        pyarrow.table(
            {"t": pyarrow.array([1], pyarrow.timestamp("ns")), "at": pyarrow.array([1], pyarrow.time64("us"))}
        ),
        folder / "a b.parquet",
    )
    hostile = [fixtures / "hostile" / f"{name}.jsonl" for name in ("keys", "mixed_kinds", "malformed", "numbers")]
    found = [
        *hostile,
        fixtures / "orders.jsonl",
        fixtures / "customers.csv",
        fixtures / "products.json",
        folder / "a b.parquet",
    ]
    return [str(path) for path in found]


def _loaded(folder: Path) -> list[str]:
    import pyarrow
    import pyarrow.parquet

    many = [{"id": f"m{at}", "lines": [{"n": at, "tags": [at]}]} for at in range(1000)]
    (folder / "a.jsonl").write_text("".join(json.dumps(each) + "\n" for each in DOCUMENTS), encoding="utf-8")
    (folder / "b.jsonl").write_text("".join(json.dumps(each) + "\n" for each in many), encoding="utf-8")
    stated = {"id": ["p1"], "price": pyarrow.array([3], pyarrow.int8()), "lines": [[{"n": 5, "tags": ["t"]}]]}
    pyarrow.parquet.write_table(pyarrow.table(stated), folder / "c d.parquet")
    return [str(folder / name) for name in ("a.jsonl", "b.jsonl", "c d.parquet")]


def evidence_of(spark: SparkSession, sources: list[str]) -> str:
    scan = scan_inputs(SparkEngine(spark), find_inputs(sources), Sample())
    return write_evidence(scan.evidence) + repr(scan.bad_records)


def load(options: SparkOptions, spark: SparkSession) -> str:
    """Load what ``sources.json`` of the working folder names, and return what became of it."""
    request = InferRequest(
        sources=tuple(json.loads(Path("sources.json").read_text())),
        name="shop",
        table="data",
        schemas=Path("schemas"),
        contract="columns=evolve,data_type=discard_row",
        engine=EngineOptions(spark=options),
    )
    call = NormalizeRequest(request, "duckdb:///loaded.duckdb", load_id="first", staging=Path("staging"))
    report = normalize(call, open_engine=lambda *_: nullcontext(SparkEngine(spark)))
    for table in report.tables:
        assert table.read == table.loaded + table.superseded + table.rejected + table.rejected_with_parent, table
    return f"{report.outcome} {report.documents} {sum(table.rejected for table in report.tables)}"


def prepare_load(folder: Path, sources: list[str]) -> None:
    schema = folder / "schemas" / "export" / "shop.schema.yaml"
    schema.parent.mkdir(parents=True)
    schema.write_text(write(new_schema("shop").with_table(TABLE)), encoding="utf-8")
    (folder / "sources.json").write_text(json.dumps(sources))


def tables_in(folder: Path) -> dict[str, list[str]]:
    """Return the rows of each loaded table but for the time of the load."""
    assert not list((folder / "staging").iterdir())
    with duckdb.connect(str(folder / "loaded.duckdb"), read_only=True) as database:
        names = [name for (name,) in database.execute("select table_name from duckdb_tables()").fetchall()]
        return {name: rows_of(database, name) for name in sorted(names)}


def rows_of(database: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    found = database.execute(f"select * from shop.{table}")
    kept = [at for at, (name, *_) in enumerate(found.description or ()) if name not in TIMES]
    return sorted(repr([row[at] for at in kept]) for row in found.fetchall())


def found_apart(
    folder: Path, data: Data, master: str = "", remote: str = "", python: str = "", more: str = "", **changes: str
) -> tuple[Found, list[str]]:
    """Return what is found in a process that says that a path is missing and no more, and what ``more`` prints.

    Beside what it loads, it leaves nothing but the folder of what executors without schemactl are sent.
    """
    target, work, temporary = folder / "evidence.txt", folder / "work", folder / "temporary"
    work.mkdir()
    temporary.mkdir()
    prepare_load(work, data.loaded)
    command = [sys.executable, "-c", SCRIPT, master, remote, python, str(target), more, *data.seen]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary), **changes}
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert (done.returncode, done.stderr[-3000:]) == (0, "")
    loaded, *printed, failure = done.stdout.splitlines()
    assert (loaded, failure) == ("loaded 1005 3", "InputError|there is no `/no/such`")
    assert sorted(each.name for each in work.iterdir()) == ["loaded.duckdb", "schemas", "sources.json", "staging"]
    left = [each.name for each in temporary.iterdir()]
    assert [name for name in left if not (python and name.startswith("schemactl-kernel-"))] == []
    return Found(target.read_text(encoding="utf-8"), tables_in(work)), printed


@pytest.fixture(scope="module")
def here(spark: SparkSession, data: Data, tmp_path_factory: pytest.TempPathFactory) -> Found:
    """What Spark finds and leaves on one machine."""
    folder = tmp_path_factory.mktemp("here")
    prepare_load(folder, data.loaded)
    with chdir(folder):
        evidence = evidence_of(spark, data.seen)
        assert load(SparkOptions(), spark) == "loaded 1005 3"
    assert '"orders.jsonl' in evidence.replace(str(ROOT / "fixtures") + os.sep, "")
    tables = tables_in(folder)
    assert {name: len(rows) for name, rows in tables.items()} == {
        "_dlt_loads": 1,
        "_dlt_version": 1,
        "_rejects": 3,
        "_schemactl_inputs": 3,
        "data": 1002,
        "data__lines": 1004,
        "data__lines__list": 1,
        "data__lines__tags": 1003,
    }
    return Found(evidence, tables)


def python_without_schemactl(folder: Path) -> Path:
    """Make a Python that has all packages of this one but schemactl."""
    packages = folder / "packages"
    packages.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.startswith(("schemactl", "__editable__", "_editable")) and path.suffix != ".pth":
            (packages / path.name).symlink_to(path)
    python = folder / "python"
    # Without `site` nothing is added that an installation names, in particular not this repository.
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}" exec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    return python


def test_executors_without_schemactl_on_the_java_of_the_install_find_and_leave_the_same(
    here: Found, data: Data, tmp_path: Path
) -> None:
    home, python = str(find_java({"PATH": ""}).home), python_without_schemactl(tmp_path)
    # One executor with two cores: that several executors add up is shown on a cluster of their own.
    found, _ = found_apart(tmp_path, data, master="local-cluster[1,2,1024]", python=python, JAVA_HOME=home)
    assert found == here


def test_spark_connect_finds_and_leaves_the_same_and_coerces_alike(
    here: Found, data: Data, tmp_path: Path, connect_url: str
) -> None:
    found, printed = found_apart(tmp_path, data, remote=connect_url, more=COERCE)
    assert found == here
    one, hexadecimal, moment, week, clock, word = map(eval, printed)
    epoch = {"timestamp": "1970-01-01 00:00:01", "naive": "1970-01-01 00:00:01"}  # no date: it has a time of day
    number = {"bigint": "1", "double": "1.0", "decimal": "1.000000000", "wei": "1"}
    assert one == {"text": "1", "bool": "true", "json": "1", **epoch, **number}
    assert hexadecimal["bigint"] == "31"
    instant = {"timestamp": "2024-01-02 01:04:05.5", "naive": "2024-01-02 01:04:05.5"}
    assert moment == {"text": "2024-01-02T03:04:05.5+02:00", **instant}
    assert (week["timestamp"], week["date"]) == ("2024-01-29 00:00:00", "2024-01-29")
    assert clock == {"text": "3:04", "time": "03:04:00"}
    assert word == {"text": "no", "bool": "false"}

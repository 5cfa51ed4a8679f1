"""Scans in processes of their own: on other kinds of Spark, and of what may end Spark."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from contextlib import chdir
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from schemactl.engine.inputs import find_inputs
from schemactl.engine.scan import scan_inputs
from schemactl.engine.session.java import find_java
from schemactl.inference.sample import Sample
from schemactl.inference.saved import write_evidence

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[3]
LIMIT_SECONDS = 240

SCRIPT = '''
import sys
import warnings
from pathlib import Path

import pyarrow
from pyspark.sql import functions as F, types as T

from schemactl.engine.inputs import find_inputs
from schemactl.engine.scan import scan_inputs
from schemactl.engine.session import SparkOptions, open_session
from schemactl.errors import SchemactlError
from schemactl.inference.sample import Sample
from schemactl.inference.saved import write_evidence

master, remote, python, target, *sources = sys.argv[1:]
small = {"files.maxPartitionBytes": "20000", "shuffle.partitions": "2"}
conf = {} if remote else {"spark.executor.memory": "768m", **{f"spark.sql.{name}": small[name] for name in small}}
conf |= {"spark.pyspark.python": python} if python else {}


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


try:
    with open_session(SparkOptions(master=master or None, remote=remote or None, conf=conf)) as spark:
        if not python:
            check_session(spark)
        else:
            assert not spark.range(1).mapInArrow(has_package, "found boolean").first().found
        warnings.simplefilter("ignore")  # of nanoseconds, which are no matter here
        scan = scan_inputs(spark, find_inputs(sources), Sample())
        Path(target).write_text(write_evidence(scan.evidence) + repr(scan.bad_records), encoding="utf-8")
        spark.read.text("/no/such").count()
except SchemactlError as error:
    print(type(error).__name__, error.message, sep="|")
'''


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory, fixtures: Path) -> list[str]:
    import pyarrow
    import pyarrow.parquet

    folder = tmp_path_factory.mktemp("data")
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


def evidence_of(
    folder: Path, sources: list[str], master: str = "", remote: str = "", python: str = "", **changes: str
) -> str:
    """Return what is found in a process that says that a path is missing and nothing else.

    It leaves nothing but the folder of what executors without schemactl are sent.
    """
    target = folder / "evidence.txt"
    command = [sys.executable, "-c", SCRIPT, master, remote, python, str(target), *sources]
    work, temporary = folder / "work", folder / "temporary"
    work.mkdir()
    temporary.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary), **changes}
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert (done.returncode, done.stdout, done.stderr) == (0, "InputError|there is no `/no/such`\n", "")
    left = [each.name for each in (*work.iterdir(), *temporary.iterdir())]
    assert [name for name in left if not (python and name.startswith("schemactl-kernel-"))] == []
    return target.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def here(spark: SparkSession, sources: list[str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """What Spark finds on one machine."""
    with chdir(tmp_path_factory.mktemp("here")):
        scan = scan_inputs(spark, find_inputs(sources), Sample())
    found = write_evidence(scan.evidence) + repr(scan.bad_records)
    assert '"orders.jsonl' in found.replace(str(ROOT / "fixtures") + os.sep, "")
    return found


def test_a_cluster_of_executors_on_the_java_of_the_install_finds_the_same_evidence(
    here: str, sources: list[str], tmp_path: Path
) -> None:
    home = str(find_java({"PATH": ""}).home)
    assert evidence_of(tmp_path, sources, master="local-cluster[2,1,1024]", JAVA_HOME=home) == here


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


def test_executors_without_schemactl_get_what_they_need(here: str, sources: list[str], tmp_path: Path) -> None:
    python = str(python_without_schemactl(tmp_path))
    assert evidence_of(tmp_path, sources, master="local-cluster[2,1,1024]", python=python) == here


def test_spark_connect_finds_the_same_evidence(here: str, sources: list[str], tmp_path: Path, connect_url: str) -> None:
    assert evidence_of(tmp_path, sources, remote=connect_url) == here


TOO_DEEP = """
import sys
import warnings
from pathlib import Path

from schemactl.engine.inputs import find_inputs
from schemactl.engine.scan import scan_inputs
from schemactl.engine.session import SparkOptions, open_session
from schemactl.errors import InputError
from schemactl.inference.sample import Sample

with open_session(SparkOptions(master="local[2]")) as spark:
    for depth in (900, 250):
        for before in ("", "[]\\n"):
            Path("rows.jsonl").write_text(before + '{"a":' * depth + "1" + "}" * depth)
            try:
                scan_inputs(spark, find_inputs(["rows.jsonl"]), Sample())
            except InputError as error:
                print(error.message)
"""


def test_nesting_that_is_too_deep_is_reported(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", TOO_DEEP]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["a record nests deeper than 200 levels"] * 4

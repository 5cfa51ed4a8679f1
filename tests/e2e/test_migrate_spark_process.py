"""``schemactl migrate`` on a Spark catalog that lasts (Hive's, on Derby): killed for good, and gone on with."""

from __future__ import annotations

import fcntl
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from migrated_datasets import ID, column, put, schema_of

COMMAND = Path(sys.executable).with_name("schemactl")
TIME_LIMIT_SECONDS = 600
"""For one process: Hive's catalog starts in 20 seconds on an idle machine, and in minutes on a busy one."""

BEFORE = schema_of(ID, column("note"))
AFTER = schema_of(ID, column("memo", **{"x-renamed-from": "note"}), before=BEFORE)

KILLED = """
import json, os, signal, sys
from contextlib import nullcontext
from pathlib import Path

from schemactl.engine.spark.session import SparkOptions, open_session
from schemactl.flows.migrate.apply import ApplyRequest, apply_migration
from schemactl.migration.options import PlanOptions

def apply(reference):
    wanted = ApplyRequest(reference, "spark:spark_catalog.shop", Path("schemas"), PlanOptions())
    return apply_migration(wanted, lambda _: True, lambda: nullcontext(None))

with open_session(SparkOptions(master="local[1]", conf=json.loads(sys.argv[1]))) as spark:
    apply("./before.yaml")
    spark.sql("INSERT INTO shop.orders VALUES (1, 'x'), (2, NULL)")
    real = type(spark).sql

    def sql(self, statement, *args, **options):
        if statement.startswith("ALTER TABLE") and "_schemactl_copy_orders" in statement:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(self, statement, *args, **options)

    type(spark).sql = sql
    apply("./after.yaml")
"""
"""Makes a table with rows and renames a column; is killed when the copy is whole and has not the table's name yet."""


def await_free(lock: Path) -> None:
    """Wait until Java has ended, which does so when the process is gone that started it."""
    limit = time.monotonic() + TIME_LIMIT_SECONDS
    while time.monotonic() < limit and lock.exists():
        with lock.open("r+b") as opened:
            try:
                fcntl.lockf(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.2)
            else:
                return


@pytest.mark.spark
def test_a_migration_killed_between_copy_and_rename_is_finished_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    put(BEFORE, "before.yaml")
    put(AFTER, "after.yaml")
    database = f"jdbc:derby:;databaseName={tmp_path / 'metastore'};create=true"
    conf = {
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": database,
        "spark.sql.warehouse.dir": (tmp_path / "warehouse").as_uri(),
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.memory": "1g",
    }
    tables = tmp_path / "warehouse" / "shop.db"

    killed = subprocess.run(
        [sys.executable, "-c", KILLED, json.dumps(conf)], stdin=subprocess.DEVNULL, timeout=TIME_LIMIT_SECONDS
    )

    assert killed.returncode == -signal.SIGKILL
    assert (tables / "_schemactl_copy_orders").is_dir()
    assert not (tables / "orders").exists()
    await_free(tmp_path / "metastore" / "dbex.lck")

    stated = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    call = [COMMAND, "migrate", "apply", "./after.yaml", "--to", "spark:spark_catalog.shop", "--yes"]
    again = subprocess.run(
        [*call, "--master", "local[1]", *stated],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=TIME_LIMIT_SECONDS,
    )
    finished = "`_schemactl_copy_orders` of `spark_catalog`.`shop` is `orders` now"
    warning = f"warning: finished an interrupted migration step: {finished}\n"
    assert (again.returncode, again.stderr) == (0, warning)
    assert pq.read_table(tables / "orders").to_pylist() == [{"id": 1, "memo": "x"}, {"id": 2, "memo": None}]
    assert not (tables / "_schemactl_copy_orders").exists()

"""Loads into Spark's catalog that widen columns, and folds there, killed at points at which they change something.

A fork of the test is the killed process: it speaks to the JVM of the test, which lives on as a cluster does. A kill
takes half a minute, so the tests run only if ``SCHEMACTL_KILLS`` is set.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from killed_scenes import COLUMNS, VARIANTS, Scene, expected
from spark_schemas import copy_schema

from schemactl.destinations.spark.lease import LEASE

STRIDE = int(os.environ.get("SCHEMACTL_KILL_STRIDE", "1"))
pytestmark = pytest.mark.skipif("SCHEMACTL_KILLS" not in os.environ, reason="each kill takes half a minute")
PROMOTES = ("--contract", "data_type=promote")
SCHEMA = "killed"


class SparkScene(Scene):
    """A schema of Spark's own catalog."""

    def __init__(self, spark: Any, folder: Path) -> None:
        super().__init__(f"spark:spark_catalog.{SCHEMA}", folder)
        self.spark = spark

    def store(self, name: str) -> None:
        super().store(name)
        copy_schema(self.spark, SCHEMA, f"{SCHEMA}_{name}")

    def restore(self, name: str) -> None:
        super().restore(name)
        self.spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")
        copy_schema(self.spark, f"{SCHEMA}_{name}", SCHEMA)

    def rows(self, table: Any) -> Iterator[dict[str, Any]]:
        self.spark.catalog.refreshTable(f"{SCHEMA}.{table.name}")
        yield from (row.asDict() for row in self.spark.table(f"{SCHEMA}.{table.name}").select(*table.columns).collect())

    def names(self) -> Any:
        tables = [row.tableName for row in self.spark.sql(f"SHOW TABLES IN {SCHEMA}").collect() if not row.isTemporary]
        names = self.work_names()
        for table in tables:
            if not table.startswith(LEASE):
                names.update(f"{table}.{column}" for column in self.spark.table(f"{SCHEMA}.{table}").columns)
        return names


@pytest.fixture
def scene(spark: Any, shared_session: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkScene]:
    made = SparkScene(spark, tmp_path)
    monkeypatch.chdir(made.work)
    yield made
    for name in (SCHEMA, f"{SCHEMA}_before"):
        spark.sql(f"DROP SCHEMA IF EXISTS {name} CASCADE")


def run(call: Sequence[str]) -> int:
    from schemactl.cli.app import run as run_command

    return int(run_command(list(call)))


def run_killed(call: Sequence[str], point: int) -> tuple[bool, str]:
    """Run a command in a fork, killed at its point ``point``; return whether it was killed, and what it would do."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            log = os.open("killed.log", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            watch(point)
            code = run(call)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    log_text = Path("killed.log").read_text()
    Path("killed.log").unlink()
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL, log_text
        place = Path("killed.txt").read_text()
        Path("killed.txt").unlink()
        return True, place
    assert os.WEXITSTATUS(status) == 0, log_text
    return False, ""


READS = ("select", "show", "describe", "with", "set")


def watch(point: int) -> None:
    """Kill this process at its point ``point``."""
    from pyspark.sql import DataFrameWriter, SparkSession
    from pyspark.sql.catalog import Catalog

    left = [point]

    def reach(what: str) -> None:
        if left[0] == 0:
            left[0] = -1
            Path("killed.txt").write_text(what)
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] = max(left[0] - 1, -1)

    def before(owner: type, name: str, tell: Callable[..., str]) -> None:
        real = getattr(owner, name)

        @functools.wraps(real)
        def call(*args: Any, **options: Any) -> Any:
            if what := tell(*args):
                reach(what)
            return real(*args, **options)

        setattr(owner, name, call)

    before(SparkSession, "sql", lambda _, query, *__: "" if query.lstrip().lower().startswith(READS) else query[:200])
    for name in ("saveAsTable", "insertInto", "save"):
        before(DataFrameWriter, name, lambda _, table="", *__, name=name: f"{name} {table}")
    before(Catalog, "createTable", lambda _, table, *__: f"create {table}")
    folder = f"{Path.cwd()}/schemas"
    changes = ("os.rename", "os.remove", "os.mkdir")

    def audit(event: str, args: tuple[Any, ...]) -> None:
        if event in changes and isinstance(args[0], str | Path) and str(Path(args[0]).absolute()).startswith(folder):
            reach(f"{event} {args[0]}")

    sys.addaudithook(audit)


def load_call(scene: SparkScene) -> tuple[str, ...]:
    return ("normalize", "landing", "--name", "shop", "--table", "orders", "--to", scene.to, "--new-only", "--quiet")


def kill_everywhere(scene: SparkScene, call: Sequence[str], go_on: Callable[[], bool]) -> None:
    """Kill a command at its points, each time in the same state, and go on after it."""
    scene.store("before")
    assert run(call) == 0
    names, types = scene.names(), scene.types()
    wrong = []
    number = 0
    for point in count(0, STRIDE):
        scene.restore("before")
        is_killed, place = run_killed(call, point)
        if not is_killed:
            break
        number += 1
        try:
            is_same_way = go_on()
            scene.check_settled()
            if is_same_way:
                assert scene.types() == types
                assert scene.names() == names, (scene.names() - names, names - scene.names())
        except Exception as error:
            wrong.append(f"killed before {point}, {place}:\n{error!r:.1500}")
            print(wrong[-1], flush=True)
    print(f"spark: {number} kills of {call[:2]}, {len(wrong)} wrong")
    assert not wrong, "\n\n".join(wrong)
    assert number


def test_a_killed_load_that_widens_columns_leads_to_all_values_once(scene: SparkScene) -> None:
    scene.write("first")
    assert run((*load_call(scene), "--column", "day:date")) == 0
    scene.write("wider")
    load = (*load_call(scene), *PROMOTES)

    def go_on() -> bool:
        assert run(load) == 0
        assert scene.values(*COLUMNS) == expected("first", "wider")
        return True

    kill_everywhere(scene, load, go_on)


def test_a_killed_fold_and_its_killed_rollback_lead_to_all_values_in_their_columns(scene: SparkScene) -> None:
    scene.write("first")
    assert run((*load_call(scene), "--column", "day:date")) == 0
    scene.write("odd")
    assert run(load_call(scene)) == 0
    assert run(("edit", "shop", "--fold-all")) == 0
    assert run(("sync", "shop", "--yes")) == 0
    apply = ("migrate", "apply", "shop", "--to", scene.to, "--yes")
    rollback = ("migrate", "rollback", "shop", "--to", scene.to, "--yes", "--allow-destructive")
    rollback_points = count(1, STRIDE)

    def go_on() -> bool:
        assert run(apply) == 0
        assert scene.values(*COLUMNS) == expected("first", "odd")
        is_killed, place = run_killed(rollback, next(rollback_points))
        if is_killed:
            print("rollback killed at", place)
            assert run(rollback) in (0, 2)
        assert scene.values(*COLUMNS, *VARIANTS) == expected("first", "odd", is_folded=False)
        assert run(apply) == 0
        assert scene.values(*COLUMNS) == expected("first", "odd")
        return False

    kill_everywhere(scene, apply, go_on)

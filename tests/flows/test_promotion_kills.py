"""``normalize --contract data_type=promote`` that is killed at random moments: no value is lost, changed or repeated.

``SCHEMACTL_KILLS=100`` kills loads into all destinations so often; by default once, into a few destinations.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from forked_commands import Answer, Commands, forked_commands

from schemactl.flows.target import find_destination
from schemactl.schema.types import Column, Table

KILLS = int(os.environ.get("SCHEMACTL_KILLS", "1"))
KINDS = ("duckdb", "parquet", *(("sqlite", "postgresql", "delta", "iceberg", "mysql") if KILLS > 1 else ()))

PREPARE = """
import signal
import deltalake, duckdb, psycopg, pyiceberg.table, pymysql, pyarrow.parquet
import schemactl.engine.local.engine, schemactl.engine.package, schemactl.engine.scan
import schemactl.flows.normalize
from schemactl.destinations import DESTINATIONS

for kind in ("duckdb", "sqlite", "postgresql", "parquet", "delta", "iceberg", "mysql"):
    DESTINATIONS[kind]

def begin(seconds):
    # The timer counts processor time, which other work on the machine does not change. Nothing handles its signal.
    signal.setitimer(signal.ITIMER_PROF, seconds)
"""


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    with forked_commands(PREPARE) as forked:
        yield forked


@pytest.fixture(params=KINDS)
def to(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of a new destination; the working folder has the files to load in ``landing``."""
    monkeypatch.chdir(tmp_path)
    Path("landing").mkdir()
    dataset = f"promote_{abs(hash(tmp_path))}"
    match request.param:
        case "duckdb":
            return "duckdb:///made.duckdb?dataset=shop"
        case "sqlite":
            return "sqlite:///shop.db"
        case "postgresql":
            return f"{request.getfixturevalue('postgres_url')}?dataset={dataset}"
        case "mysql":
            return f"{request.getfixturevalue('mariadb_url')}&dataset={dataset}"
        case "iceberg":
            return "iceberg:lake?dataset=shop"
        case kind:
            return f"{kind}:warehouse?dataset=shop"


def read_values(to: str, column: str, data_type: str) -> list[float]:
    """Return the values of a column as they are stored."""
    target = find_destination(to)
    stored = target.destination.read_catalogue(target.url).schema.column("orders", column)
    assert stored is not None
    assert str(stored.data_type) in ("bigint", data_type)
    table = Table("orders", {column: Column(column, stored.properties)})
    batches = target.destination.read_table(target.url, "shop", table)
    values = (value for batch in batches for value in batch[column].to_pylist())
    return sorted(float(value) for value in values if value is not None)


class Landing:
    """Files that arrive and make a new column wider each time."""

    def __init__(self, run: Commands, to: str) -> None:
        self.run, self.to = run, to
        self.files = 0

    def arrive(self, column: str, *values: float) -> None:
        self.files += 1
        documents = [{"id": self.files, column: value} for value in values]
        Path(f"landing/{self.files:05}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in documents))

    def load(self, killed_after: float = 0.0) -> Answer:
        """Load new files; the process dies once it has used so many seconds of processor time, never for 0."""
        call = ("normalize", "landing", "--name", "shop", "--table", "orders", "--to", self.to, "--engine", "local")
        return self.run(*call, "--new-only", "--contract", "data_type=promote", "--quiet", begin=(killed_after,))


def test_values_survive_however_often_loads_that_widen_are_killed(to: str, commands: Commands) -> None:
    landing, chance = Landing(commands, to), random.Random(to)
    kills, longest, number = 0, 1.0, 0
    while kills < KILLS:
        number += 1
        column = f"c{number}"
        landing.arrive(column, 1, 2, 3)
        assert landing.load().code == 0
        landing.arrive(column, 1.5)
        answer = landing.load(killed_after=chance.uniform(0.05, longest))
        if answer.code == 0:
            longest = max(longest * 0.8, 0.3)
        else:
            kills += 1
        assert read_values(to, column, "double") in ([1, 2, 3], [1, 1.5, 2, 3])
        again = landing.load()
        assert again.code == 0, again
        assert read_values(to, column, "double") == [1, 1.5, 2, 3]
        target = find_destination(to)
        columns = target.destination.read_catalogue(target.url).schema.tables["orders"].columns
        assert f"{column}__v_double" not in columns

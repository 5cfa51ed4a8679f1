"""``normalize --new-only`` that is killed at random times, or runs twice at the same time: each record is kept once.

``SCHEMACTL_KILLS=250`` kills each destination's commands so often; by default a few times.
"""

from __future__ import annotations

import json
import os
import random
import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pyarrow.parquet
import pytest
from forked_commands import Answer, Commands, forked_commands

from schemactl.flows.target import loadable

KINDS = ("duckdb", "postgresql", "parquet", "delta")
KILLS = int(os.environ.get("SCHEMACTL_KILLS", "3"))
ROUNDS = max(KILLS // 3, 1)

PREPARE = """
import signal
import deltalake, duckdb, psycopg, pyarrow.parquet
import schemactl.engine.local.engine, schemactl.engine.package, schemactl.engine.scan
import schemactl.flows.normalize
from schemactl.destinations import DESTINATIONS

for kind in ("duckdb", "postgresql", "parquet", "delta"):
    DESTINATIONS[kind]

def begin(seconds):
    # The timer counts processor time, which other work on the machine does not change. Nothing handles its signal.
    signal.setitimer(signal.ITIMER_PROF, seconds)
"""


@pytest.fixture(scope="module")
def commands() -> Iterator[tuple[Commands, Commands]]:
    with forked_commands(PREPARE) as first, forked_commands(PREPARE) as second:
        yield first, second


@pytest.fixture(params=KINDS)
def to(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a new destination; the working folder has the files to load in ``landing``."""
    monkeypatch.chdir(tmp_path)
    Path("landing").mkdir()
    match request.param:
        case "duckdb":
            return "duckdb:///shop.duckdb?dataset=shop"
        case "postgresql":
            dataset = f"new_only_{tmp_path.name}".lower().replace("[", "_").replace("]", "_")
            return f"{request.getfixturevalue('postgres_url')}?dataset={dataset}"
        case kind:
            return f"{kind}:warehouse?dataset=shop"


def read_rows(to: str, table: str, column: str) -> list[object]:
    """Return the values of a column, read without schemactl; none if there is no such table."""
    kind, _, address = to.partition(":")
    dataset = to.partition("?dataset=")[2]
    query = f'SELECT "{column}" FROM "{dataset}"."{table}"'
    if kind == "duckdb":
        import duckdb

        with duckdb.connect("shop.duckdb", read_only=True) as connection:
            return [value for (value,) in connection.execute(query.replace("FROM ", "FROM shop.")).fetchall()]
    if kind == "postgresql":
        import psycopg

        with psycopg.connect(f"postgresql:{address.partition('?')[0]}") as connection:
            return [value for (value,) in connection.execute(query.encode()).fetchall()]
    folder = Path("warehouse/shop", table)
    if kind == "delta":
        import deltalake

        return deltalake.DeltaTable(folder).to_pyarrow_table()[column].to_pylist()
    return [
        value for file in folder.glob("*.parquet") for value in pyarrow.parquet.read_table(file)[column].to_pylist()
    ]


class Landing:
    """Files that arrive; the contract rejects every third record."""

    def __init__(self, run: Commands, to: str) -> None:
        self.run, self.to = run, to
        self.records = self.files = 0
        # The first record says what `amount` is.
        Path("landing/00000.jsonl").write_text(self._record())
        assert self.load().code == 0

    def arrive(self, files: int) -> None:
        for _ in range(files):
            self.files += 1
            Path(f"landing/{self.files:05}.jsonl").write_text("".join(self._record() for _ in range(3)))

    def _record(self) -> str:
        number, self.records = self.records, self.records + 1
        amount = "much" if number % 3 == 2 else number
        return json.dumps({"id": number, "amount": amount, "lines": [{"n": number}]}) + "\n"

    def load(self, *options: str, run: Commands | None = None, killed_after: float = 0.0) -> Answer:
        """Load what is new; the process dies once it has used so many seconds of processor time, never for 0."""
        call = ("normalize", "landing", "--name", "shop", "--table", "orders", "--to", self.to, "--engine", "local")
        more = ("--new-only", "--contract", "data_type=discard_row", "--quiet", *options)
        return (run or self.run)(*call, *more, begin=(killed_after,))

    def check(self) -> None:
        """Find each record once, in the table or among the rejects, and each file once in the ledger."""
        loaded = Counter(read_rows(self.to, "orders", "id"))
        rows = read_rows(self.to, "_rejects", "row") if self.files else []
        rejected = Counter((row if isinstance(row, dict) else json.loads(str(row)))["id"] for row in rows)
        assert loaded + rejected == Counter(range(self.records))
        assert set(rejected) == set(range(2, self.records, 3))
        assert sorted(read_rows(self.to, "orders__lines", "n")) == sorted(loaded)
        target = loadable(self.to)
        entries = list(target.destination.read_ledger(target.url, "shop"))
        assert sorted(Path(entry.file.path).stem for entry in entries) == [
            f"{number:05}" for number in range(self.files + 1)
        ]
        assert sum(entry.file.rows or 0 for entry in entries) == len(loaded)
        assert sum(entry.file.rejects or 0 for entry in entries) == len(rejected)


def test_each_record_is_kept_once_however_often_loads_are_killed(to: str, commands: tuple[Commands, Commands]) -> None:
    landing, chance = Landing(commands[0], to), random.Random(to)
    kills, longest = 0, 0.5
    while kills < KILLS:
        landing.arrive(chance.randint(1, 2))
        options = ("--max-files", "1") if chance.random() < 0.3 else ()
        death = chance.uniform(0.05, longest)
        answer = landing.load(*options, killed_after=death)
        assert answer.code in (0, -signal.SIGPROF), answer.err
        kills += answer.code != 0
        # Not many loads live longer than the longest that has died.
        longest = min(longest, death * 1.1) if answer.code == 0 else longest * 1.1
        if chance.random() < 0.2:
            assert (last := landing.load()).code == 0, last.err
            landing.check()
    assert (last := landing.load()).code == 0, last.err
    landing.check()


def test_two_loads_at_the_same_time_load_each_file_once(to: str, commands: tuple[Commands, Commands]) -> None:
    landing, chance = Landing(commands[0], to), random.Random(to)
    with ThreadPoolExecutor(2) as pool:
        for number in range(ROUNDS):
            landing.arrive(3)
            options = ("--max-files", "2") if number % 2 else ()
            load = partial(landing.load, *options)
            deaths = [0.0, chance.uniform(0.1, 0.5) if number % 3 == 2 else 0.0]
            answers = [
                pool.submit(load, run=run, killed_after=death) for run, death in zip(commands, deaths, strict=True)
            ]
            failures = [answer.result().err for answer in answers if answer.result().code not in (0, -signal.SIGPROF)]
            assert failures == []
            assert (last := landing.load()).code == 0, last.err
            landing.check()

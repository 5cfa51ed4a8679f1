"""Loads into PostgreSQL and MariaDB that have to widen a column while another session reads the table."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import mysql_database
import psycopg
import pytest

from schemactl.engine.choice import EngineName, EngineOptions
from schemactl.errors import ExitCode, LockNotAvailable
from schemactl.flows import promotion
from schemactl.flows.infer import InferRequest
from schemactl.flows.normalize import NormalizeRequest, normalize
from schemactl.flows.promotion import PromoteLocks, PromotionOptions

LOCAL = EngineOptions(EngineName.LOCAL)
LIMIT_SECONDS = 60

WAITING = {
    "postgresql": "select count(*) from pg_stat_activity where wait_event_type = 'Lock'",
    "mysql": "select count(*) from information_schema.processlist where state like 'Waiting for table metadata lock%'",
}
"""Queries that count the sessions that wait for a lock."""


class Database:
    """A dataset of a server, and sessions beside those of loads."""

    def __init__(self, kind: str, url: str) -> None:
        self.kind, self.url = kind, url
        self.to = f"{url}{'?' if kind == 'postgresql' else '&'}dataset=locks"

    def connect(self) -> Any:
        return closing(psycopg.connect(self.url) if self.kind == "postgresql" else mysql_database.connect(self.url))

    def scores(self, session: Any) -> list[float]:
        """Read the table, which locks it until the transaction of the session ends."""
        cursor = session.cursor()
        cursor.execute("select score from locks.orders order by score")
        return [float(score) for (score,) in cursor.fetchall()]

    def wait_for_waiting_session(self) -> None:
        end = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < end:
            with self.connect() as session:
                cursor = session.cursor()
                cursor.execute(WAITING[self.kind])
                if cursor.fetchone()[0]:
                    return
            time.sleep(0.1)
        raise AssertionError("no session waits for a lock")

    def load(self, score: float, locks: PromoteLocks) -> None:
        Path("orders.jsonl").write_text(json.dumps({"id": 1, "score": score}) + "\n")
        inference = InferRequest(
            ("orders.jsonl",), "shop", "orders", schemas=Path("schemas"), contract="data_type=promote", engine=LOCAL
        )
        normalize(NormalizeRequest(inference, self.to, promotion=PromotionOptions(locks=locks)))


@pytest.fixture(params=["postgresql", "mysql"])
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.chdir(tmp_path)
    server = {"postgresql": "postgres_database", "mysql": "mariadb_url"}[request.param]
    made = Database(request.param, request.getfixturevalue(server))
    made.load(1, PromoteLocks.WAIT)
    yield made
    if made.kind == "postgresql":
        with psycopg.connect(made.url) as session:
            session.execute("drop schema locks cascade")


@pytest.mark.parametrize(
    ("locks", "way_on"),
    [
        (PromoteLocks.FAIL, "or wait for it: `--promote-locks wait`"),
        (PromoteLocks.WAIT, "and run the load again"),
    ],
)
def test_a_load_that_does_not_get_the_lock_changes_nothing_and_names_the_way_on(
    database: Database, monkeypatch: pytest.MonkeyPatch, locks: PromoteLocks, way_on: str
) -> None:
    monkeypatch.setattr(promotion, "_LOCK_SECONDS", 1.0)

    with database.connect() as reader:
        assert database.scores(reader) == [1]
        with pytest.raises(LockNotAvailable) as raised:
            database.load(1.5, locks)
        assert database.scores(reader) == [1]

    assert raised.value.code is ExitCode.FAILED
    assert raised.value.hint == f"end the session that uses the table, {way_on}"
    database.load(1.5, locks)
    with database.connect() as reader:
        assert database.scores(reader) == [1, 1.5]


def test_a_load_waits_for_a_session_that_reads_the_table(database: Database) -> None:
    with database.connect() as reader, ThreadPoolExecutor(1) as pool:
        assert database.scores(reader) == [1]
        load = pool.submit(database.load, 1.5, PromoteLocks.WAIT)
        try:
            database.wait_for_waiting_session()
            assert not load.done()
        finally:
            reader.rollback()
        load.result()

        assert database.scores(reader) == [1, 1.5]

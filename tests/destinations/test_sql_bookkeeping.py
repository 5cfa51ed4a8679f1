"""The small tables of a dataset are looked for until they are there, and anew once they may be gone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from schemactl.destinations import MigrationSession, sqlite
from schemactl.destinations import duckdb as duckdb_destination
from schemactl.destinations._migration.ledger import RUNS
from schemactl.destinations.duckdb.session import DuckDbSession
from schemactl.migration.records import Run
from schemactl.migration.steps import DropTable

RUN = Run("r1", "p", "shop", None, "h1", "me@here", datetime(2026, 1, 31, tzinfo=UTC))


@pytest.fixture
def session(tmp_path: Path) -> Iterator[MigrationSession]:
    with sqlite.connect(f"sqlite:///{tmp_path}/shop.db", "shop") as found:
        yield found


@pytest.fixture
def statements(session: MigrationSession) -> list[str]:
    """What SQLite has run."""
    found: list[str] = []
    session.database.connection.set_trace_callback(found.append)
    return found


def test_a_table_that_is_there_is_asked_for_its_rows_alone(session: MigrationSession, statements: list[str]) -> None:
    assert session.runs() == ()
    session.write_run(RUN)
    assert session.runs() == (RUN,)
    statements.clear()
    assert session.runs() == (RUN,)
    (query,) = statements
    assert RUNS.name in query


def test_what_a_transaction_has_made_is_not_there_once_it_is_rolled_back(session: MigrationSession) -> None:
    with suppress(KeyboardInterrupt), session.transaction():
        session.write_run(RUN)
        assert session.runs() == (RUN,)
        raise KeyboardInterrupt
    assert session.runs() == ()
    session.write_run(RUN)
    assert session.runs() == (RUN,)


def test_a_table_that_a_step_drops_is_not_there_any_more(session: MigrationSession) -> None:
    session.write_run(RUN)
    assert session.runs() == (RUN,)
    session.run(DropTable(RUNS), [f'DROP TABLE "{RUNS.name}"'])
    assert session.runs() == ()


def test_nothing_is_known_after_sql_of_somebody_s(session: MigrationSession) -> None:
    session.write_run(RUN)
    assert session.runs() == (RUN,)
    session.run_own([f'DROP TABLE "{RUNS.name}"'], "0001_less.sqlite.sql")
    assert session.runs() == ()


def test_the_number_of_queries_does_not_grow_with_other_datasets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    query = DuckDbSession.query

    def counted(session: DuckDbSession, statement: str, *values: object) -> list[tuple[object, ...]]:
        asked.append(statement)
        return query(session, statement, *values)

    def count() -> int:
        asked.clear()
        with duckdb_destination.connect(f"duckdb:///{file}", "shop", is_read_only=True) as session:
            assert session.dataset == "loaded"
        return len(asked)

    file = tmp_path / "shop.duckdb"
    with duckdb.connect(file) as connection:
        for statement in (
            "CREATE SCHEMA loaded; CREATE TABLE loaded._dlt_version (schema_name VARCHAR)",
            "INSERT INTO loaded._dlt_version VALUES ('shop')",
        ):
            connection.execute(statement)
    monkeypatch.setattr(DuckDbSession, "query", counted)
    few = count()
    with duckdb.connect(file) as connection:
        for number in range(20):
            connection.execute(f"CREATE SCHEMA s{number}; CREATE TABLE s{number}.orders (id BIGINT)")
    assert count() == few > 0

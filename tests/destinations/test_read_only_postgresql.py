"""What only reads needs no more than reading: a role that may read, a session that cannot write, a hot standby."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import postgres_server
import pytest
from migrated_datasets import FIRST, Dataset, column, new_dataset, put, schema_of

from schemactl.cli.app import run

WANTED = schema_of(
    column("id", "bigint", nullable=False),
    column("amount", "double"),
    column("note", "date"),
    column("old", "json"),
    before=FIRST,
)
"""Turns texts into dates and JSON, for which PostgreSQL is asked what it reads."""


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("SCHEMACTL_", "PG"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def dataset(work: Path, postgres_url: str) -> Dataset:
    """A dataset with one date and one JSON document that cannot be read, and some that are spelled oddly."""
    made = new_dataset("postgresql", work, postgres_url)
    assert run(["migrate", "apply", put(FIRST, "first.yaml"), "--to", made.url, "--yes", "--quiet"]) == 0
    put(WANTED, "wanted.yaml")
    made.sql(
        "INSERT INTO @.orders VALUES (1, 5, '2026-01-01', '{\"a\": 1}'), (2, 7, '2026-W01-1', ' [1]'), (3, 7, 'x', '{')"
    )
    return made


def _reader(dataset: Dataset, *extra: str) -> str:
    """Make a role that may read the dataset, and return the address with it."""
    for statement in (
        "DROP OWNED BY reader",
        "DROP ROLE reader",
        "CREATE ROLE reader LOGIN PASSWORD 'reader-reader'",
        "REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC",
        "GRANT USAGE ON SCHEMA @ TO reader",
        "GRANT SELECT ON ALL TABLES IN SCHEMA @ TO reader",
        *extra,
    ):
        try:
            dataset.sql(statement)
        except Exception:
            assert statement.startswith("DROP")  # the first time there is none
    return f"postgresql://reader:reader-reader@{dataset.url.rpartition('@')[2]}"


def _check(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["migrate", "plan", "./wanted.yaml", "--to", url]) == 1
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "1 value of `orders.note` would not survive" in printed.out
    assert "1 value of `orders.old` would not survive" in printed.out
    assert run(["migrate", "status", "--to", url]) == 0
    assert run(["migrate", "verify", "--to", url]) == 0
    assert capsys.readouterr().err == ""


def test_role_that_may_only_read_plans_and_verifies(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    _check(_reader(dataset), capsys)


def test_role_that_may_not_change_a_table_is_reported_what_is_missing(
    dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = FIRST.tables["orders"].columns
    more = put(schema_of(*columns.values(), column("more"), before=FIRST), "more.yaml")
    others = (each for each in columns.values() if each.name != "old")
    parsed = put(schema_of(*others, column("old", "json"), before=FIRST), "parsed.yaml")
    dataset.sql("DELETE FROM @.orders WHERE id = 3")
    rights = ("GRANT ALL ON SCHEMA @ TO reader", "GRANT ALL ON ALL TABLES IN SCHEMA @ TO reader")
    for wanted, given, missing in (
        (more, (), 'connect as the role that owns table "orders"'),
        # What PostgreSQL does not cast by itself goes into a table of the session.
        (parsed, ("ALTER TABLE @.orders OWNER TO reader",), 'GRANT TEMPORARY ON DATABASE "postgres"'),
    ):
        url = _reader(dataset, *rights, *given)
        assert run(["migrate", "apply", wanted, "--to", url, "--yes", "--quiet"]) == 3
        assert missing in " ".join(capsys.readouterr().err.split())


def test_session_that_cannot_write_plans_and_verifies(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    _check(_reader(dataset, "ALTER ROLE reader SET default_transaction_read_only = on"), capsys)


def test_hot_standby_is_planned_and_verified(
    dataset: Dataset, postgres_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with postgres_server.standby(postgres_url) as url:
        _check(f"{url}?dataset=shop", capsys)


def test_missing_privilege_is_named(dataset: Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    url = _reader(dataset, "REVOKE SELECT ON @.orders FROM reader")
    assert run(["migrate", "plan", "./wanted.yaml", "--to", url]) == 3
    assert 'GRANT SELECT ON "orders" TO' in capsys.readouterr().err

    url = _reader(dataset, "REVOKE USAGE ON SCHEMA @ FROM reader")
    assert run(["migrate", "plan", "./wanted.yaml", "--to", url]) == 3
    assert 'GRANT USAGE ON SCHEMA "shop" TO' in capsys.readouterr().err


def test_apply_that_others_overtake_while_it_reads_is_no_failure(
    dataset: Dataset, capsys: pytest.CaptureFixture[str]
) -> None:
    import psycopg

    put(schema_of(*(column("id", "bigint", nullable=False), column("amount", "text")), before=FIRST), "other.yaml")
    codes: list[int] = []
    call = ["migrate", "apply", "./wanted.yaml", "--to", dataset.url, "--yes"]
    with psycopg.connect(dataset.url.partition("?")[0]) as other:
        other.execute("ALTER TABLE shop.orders RENAME COLUMN note TO remark")
        loser = threading.Thread(target=lambda: codes.append(run(call)))
        loser.start()
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        end = time.monotonic() + 60
        while dataset.sql(waiting) == [(0,)] and time.monotonic() < end:
            time.sleep(0.05)
        other.commit()
    loser.join()

    assert codes == [1]
    printed = capsys.readouterr()
    assert "plan refused" in printed.out
    assert printed.err == ""


def test_storage_of_a_column_survives_its_new_type(dataset: Dataset) -> None:
    dataset.sql("DELETE FROM @.orders WHERE id > 1")
    dataset.sql("ALTER TABLE @.orders ALTER COLUMN old SET STORAGE EXTERNAL")

    assert run(["migrate", "apply", "./wanted.yaml", "--to", dataset.url, "--yes"]) == 0

    stored = "SELECT attstorage::text FROM pg_attribute WHERE attrelid = '@.orders'::regclass AND attname = 'old'"
    assert dataset.sql("SELECT pg_typeof(old)::text FROM @.orders") == [("jsonb",)]
    assert dataset.sql(stored) == [("e",)]


def test_password_is_taken_from_where_libpq_looks_for_it(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, work: Path
) -> None:
    place = dataset.url.rpartition("@")[2]
    monkeypatch.setenv("PGPASSWORD", postgres_server.PASSWORD)
    assert run(["migrate", "status", "--to", f"postgres://loader@{place}"]) == 0
    monkeypatch.delenv("PGPASSWORD")

    host = place.partition("/")[0]
    escaped = postgres_server.PASSWORD.replace(":", "\\:")
    Path("pass").write_text(f"{host}:postgres:loader:{escaped}\n")
    Path("pass").chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(work / "pass"))
    assert run(["migrate", "status", "--to", f"PostgreSQL://loader@{place}"]) == 0

    address, _, port = host.partition(":")
    service = f"[shop]\nhost={address}\nport={port}\nuser=loader\ndbname=postgres\n"
    Path("services").write_text(service)
    monkeypatch.setenv("PGSERVICEFILE", str(work / "services"))
    assert run(["migrate", "status", "--to", "postgresql:///?service=shop&dataset=shop"]) == 0

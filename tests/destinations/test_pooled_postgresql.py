"""Migrations of a PostgreSQL behind a pool, by a role that owns one schema alone, and of tables with row security."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from migrated_datasets import ADDED, FIRST, Dataset, column, new_dataset, password_of, put, schema_of
from ports import free_port

from schemactl.errors import DestinationError
from schemactl.flows.migrate.apply import ApplyRequest, apply_migration
from schemactl.flows.migrate.rollback import RollbackRequest, rollback
from schemactl.migration.options import PlanOptions
from schemactl.migration.records import Patience
from schemactl.migration.reports import Outcome

pytestmark = pytest.mark.destinations

ONLINE = PlanOptions(is_online=True, compares_unique=True, compares_primary_keys=True)
WANTED = schema_of(
    column("id", "bigint", nullable=False, primary_key=True),
    column("amount", "decimal"),
    column("note", "double"),
    column("old", nullable=False, **{"x-backfill": "o"}),
    column("paid", "timestamp"),
    before=FIRST,
)


def apply(url: str, reference: str, options: PlanOptions, **limits: Any) -> Outcome:
    request = ApplyRequest(reference, url, Path("schemas"), options, patience=Patience(**limits))
    report = apply_migration(request, lambda _: True, lambda: nullcontext(None))
    assert not report.planned.blockers
    return report.outcome


def undo(url: str) -> Outcome:
    return rollback(RollbackRequest("shop", url), lambda _: True, lambda: nullcontext(None)).outcome


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres_url: str) -> Dataset:
    monkeypatch.chdir(tmp_path)
    return new_dataset("postgresql", tmp_path, postgres_url)


def migrate(dataset: Dataset, url: str) -> None:
    """Take the table by each way to another schema and back."""
    assert apply(url, put(FIRST, "first.yaml"), PlanOptions()) is Outcome.DONE
    dataset.sql("INSERT INTO @.orders SELECT g, g, g || '.5', 'o' FROM generate_series(1, 3000) g")
    dataset.sql("UPDATE @.orders SET note = '1_0.5' WHERE id = 7")
    for options, schema, path in ((ONLINE, WANTED, "wanted.yaml"), (PlanOptions(), ADDED, "added.yaml")):
        assert apply(url, put(schema, path), options) is Outcome.DONE
        assert undo(url) is Outcome.DONE
        assert dataset.sql("SELECT amount, note FROM @.orders WHERE id = 7") == [(7, "1_0.5")]


@pytest.fixture
def pool(dataset: Dataset) -> Iterator[str]:
    """The address of a pool that gives each transaction another connection."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("there is no `pgbouncer`: `apt-get install pgbouncer` brings it")
    server, port = urlsplit(dataset.url), free_port()
    place = f"host={server.hostname} port={server.port} dbname=postgres user=loader password={password_of(dataset.url)}"
    url = f"postgresql://loader@127.0.0.1:{port}/postgres"
    # Not in pytest's folders, which only their owner may enter: pgbouncer does not run as root.
    with tempfile.TemporaryDirectory(prefix="schemactl-pool-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        settings, log = folder / "pgbouncer.ini", folder / "log"
        settings.write_text(
            f"[databases]\npostgres = {place}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
            "auth_type = any\npool_mode = transaction\nunix_socket_dir =\ndefault_pool_size = 3\n"
        )
        who: dict[str, Any] = {"user": "nobody", "extra_groups": []} if os.geteuid() == 0 else {}
        with log.open("w") as output:
            process = subprocess.Popen([program, "-q", settings], stdout=output, stderr=output, cwd="/", **who)
        try:
            for _ in range(100):
                try:
                    psycopg.connect(url).close()
                    break
                except psycopg.OperationalError:
                    assert process.poll() is None, log.read_text()
                    time.sleep(0.1)
            yield f"{url}?dataset=shop"
        finally:
            process.terminate()
            process.wait()


def test_a_pool_may_lie_between(dataset: Dataset, pool: str) -> None:
    # One of the pool's connections is somebody else's in turn: each statement may come to another one.
    with psycopg.connect(pool.partition("?")[0], autocommit=True, prepare_threshold=None) as other:
        migrate(dataset, pool)
        for _ in range(6):
            for setting, kept in (
                ("lock_timeout", "0"),
                ("default_transaction_read_only", "off"),
                ("row_security", "on"),
            ):
                assert other.execute(f"SHOW {setting}".encode()).fetchone() == (kept,)


def test_the_lock_holds_behind_a_pool_and_against_who_comes_directly(dataset: Dataset, pool: str) -> None:
    from schemactl.destinations import postgresql

    with postgresql.connect(pool, "shop"):
        for url in (pool, dataset.url):
            with pytest.raises(DestinationError, match="another schemactl loads"), postgresql.connect(url, "shop"):
                pass


@pytest.fixture
def small_role(dataset: Dataset) -> Iterator[str]:
    """The address of a role that owns the schema, and may do nothing else."""
    dataset.sql("DROP SCHEMA IF EXISTS shop CASCADE")
    dataset.sql("DROP ROLE IF EXISTS tenant")
    dataset.sql("CREATE ROLE tenant LOGIN PASSWORD 'tenant'")
    dataset.sql("REVOKE ALL ON DATABASE postgres FROM PUBLIC")
    dataset.sql("GRANT CONNECT ON DATABASE postgres TO tenant")
    dataset.sql("CREATE SCHEMA shop AUTHORIZATION tenant")
    server = urlsplit(dataset.url)
    yield f"postgresql://tenant:tenant@{server.hostname}:{server.port}/postgres?dataset=shop"
    dataset.sql("GRANT CONNECT, TEMPORARY ON DATABASE postgres TO PUBLIC")
    dataset.sql("DROP OWNED BY tenant CASCADE")
    dataset.sql("DROP ROLE tenant")


def test_a_role_that_owns_one_schema_migrates_it(dataset: Dataset, small_role: str) -> None:
    assert apply(small_role, put(FIRST, "first.yaml"), PlanOptions()) is Outcome.DONE
    dataset.sql("INSERT INTO @.orders SELECT g, g, g || '.5', 'o' FROM generate_series(1, 3000) g")
    assert apply(small_role, put(WANTED, "wanted.yaml"), ONLINE) is Outcome.DONE
    assert dataset.sql("SELECT amount, note FROM @.orders WHERE id = 7") == [(7, 7.5)]
    assert undo(small_role) is Outcome.DONE
    assert dataset.sql("SELECT amount, note FROM @.orders WHERE id = 7") == [(7, "7.5")]


def test_row_security_hides_no_row_from_a_migration(dataset: Dataset, small_role: str) -> None:
    assert apply(small_role, put(FIRST, "first.yaml"), PlanOptions()) is Outcome.DONE
    dataset.sql("INSERT INTO @.orders SELECT g, g, g || '.5', 'o' FROM generate_series(1, 3000) g")
    dataset.sql("ALTER TABLE @.orders ENABLE ROW LEVEL SECURITY")
    dataset.sql("CREATE POLICY few ON @.orders USING (id < 10)")
    # Policies do not hold for the owner.
    assert apply(small_role, put(WANTED, "wanted.yaml"), ONLINE) is Outcome.DONE
    assert dataset.sql("SELECT count(*) FROM @.orders WHERE note IS NULL") == [(0,)]
    assert undo(small_role) is Outcome.DONE

    dataset.sql("ALTER TABLE @.orders FORCE ROW LEVEL SECURITY")
    with pytest.raises(DestinationError, match="row-level security") as caught:
        apply(small_role, "./wanted.yaml", ONLINE)
    assert "BYPASSRLS" in (caught.value.hint or "")
    assert dataset.columns() == ["id", "amount", "note", "old"]

"""Times how long readers and writers of a PostgreSQL wait at most while an online migration runs.

    uv run --group dev python benchmarks/online.py --rows 5000000

Eight readers and four writers run all the time: first alone, then while one plan retypes two columns, adds a required
one, forbids nulls and makes a column unique; with ``--plain`` as the plan without ``--online`` does it, too. Each
writer's rows are compared afterwards with what it was told is kept. Prints the longest statement of any of them, and
how many statements they have run in a second.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import postgres_server  # noqa: E402
import psycopg  # noqa: E402
from busy_postgresql import Client, in_use  # noqa: E402
from migrated_datasets import column, put, schema_of  # noqa: E402

from schemactl.flows.migrate.apply import ApplyRequest, apply_migration  # noqa: E402
from schemactl.flows.migrate.rollback import RollbackRequest, rollback  # noqa: E402
from schemactl.migration.options import PlanOptions  # noqa: E402
from schemactl.migration.records import Patience  # noqa: E402

ID = column("id", "bigint", nullable=False, primary_key=True)
FIRST = schema_of(ID, column("amount", "bigint"), column("note"), column("old"))
WANTED = schema_of(
    ID,
    column("amount", "decimal"),
    column("memo", **{"x-renamed-from": "note"}),
    column("old", "bigint", nullable=False, unique=True),
    column("state", nullable=False, **{"x-backfill": "new"}),
    before=FIRST,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--batch-rows", type=int, default=Patience.__dataclass_fields__["batch_rows"].default)
    parser.add_argument("--plain", action="store_true", help="also without --online")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, postgres_server.running() as url:
        first, wanted = (
            put(schema, str(Path(folder) / name)) for schema, name in ((FIRST, "a.yaml"), (WANTED, "b.yaml"))
        )
        patience = Patience(lock_retries=1000, batch_rows=arguments.batch_rows)
        for is_online in (True, False) if arguments.plain else (True,):
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("DROP SCHEMA IF EXISTS shop CASCADE")
            keyed = PlanOptions(compares_primary_keys=True, compares_unique=True)
            apply(url, first[2:], keyed, patience)
            with psycopg.connect(url, autocommit=True) as connection:
                rows = f"SELECT g, g, 'n' || g, g FROM generate_series(1, {arguments.rows}) g"
                connection.execute(f"INSERT INTO shop.orders {rows}".encode())
                connection.execute("VACUUM ANALYZE shop.orders")
            with in_use(url, arguments.rows) as clients:
                time.sleep(20)
                show("nothing else", clients, 20)
                began = time.monotonic()
                options = PlanOptions(compares_primary_keys=True, compares_unique=True, is_online=is_online)
                apply(url, wanted[2:], options, patience)
                show("--online" if is_online else "without --online", clients, time.monotonic() - began)
                began = time.monotonic()
                undo = RollbackRequest("shop", f"{url}?dataset=shop", patience=patience, allows_destructive=True)
                report = rollback(undo, lambda _: True, lambda: nullcontext(None))
                assert report.outcome == "done", report.blockers
                show("rollback", clients, time.monotonic() - began)


def apply(url: str, path: str, options: PlanOptions, patience: Patience) -> None:
    request = ApplyRequest(path, f"{url}?dataset=shop", Path("schemas"), options, patience=patience)
    report = apply_migration(request, lambda _: True, lambda: nullcontext(None))
    assert report.outcome == "done", report.planned.blockers


def show(what: str, clients: list[Client], seconds: float) -> None:
    """Print what the clients have met since the last time."""
    longest = {kind: max(each.longest for each in clients if bool(each.number) is kind) for kind in (False, True)}
    count = sum(each.count - each.shown for each in clients)
    print(
        f"{what:<18} {seconds:7.1f} s, longest read {longest[False]:6.2f} s, longest write {longest[True]:6.2f} s, "
        f"{count / seconds:7.0f} statements a second",
        flush=True,
    )
    for each in clients:
        each.longest, each.shown = 0.0, each.count


if __name__ == "__main__":
    main()

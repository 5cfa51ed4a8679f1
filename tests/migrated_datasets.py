"""What the tests of migrations share: datasets in each engine, and schemas."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from schema_parts import column

from schemactl.flows.migrate.apply import ApplyRequest, apply_migration
from schemactl.flows.migrate.plan import PlanRequest, plan_migration
from schemactl.flows.migrate.rollback import RollbackRequest, rollback
from schemactl.formats import dlt
from schemactl.migration.options import PlanOptions
from schemactl.migration.reports import ApplyReport, PlanReport, RollbackReport
from schemactl.migration.steps import Step
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

ENGINES = ("duckdb", "sqlite", "postgresql")


def schema_of(*columns: Column, before: Schema | None = None, table: str = "orders", **tables: Table) -> Schema:
    """A schema with one table, as a version after ``before``."""
    start = before or new_schema("shop")
    made = Table(table, {each.name: each for each in columns}, {"write_disposition": "append", "resource": table})
    return bump(replace(start, tables={**new_schema("shop").tables, table: made, **tables}))


ID = column("id", "bigint", nullable=False)
FIRST = schema_of(ID, column("amount", "bigint"), column("note"), column("old"))
ADDED = schema_of(
    ID,
    column("amount", "double"),
    column("memo", **{"x-renamed-from": "note"}),
    column("old"),
    column("paid", "timestamp"),
    before=FIRST,
)
"""Renames a column, adds one, and changes a type whose values survive."""


def put(schema: Schema, path: str) -> str:
    """Write a schema to a file; return a REF that names it."""
    Path(path).write_text(dlt.write(schema))
    return f"./{path}"


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset ``shop`` in an engine, and a way past schemactl to its rows."""

    kind: str
    url: str
    path: Path

    @property
    def qualified(self) -> str:
        return '"main"."orders"' if self.kind == "sqlite" else '"shop"."orders"'

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement in which ``@`` stands for the dataset."""
        text = statement.replace("@", "main" if self.kind == "sqlite" else "shop")
        match self.kind:
            case "duckdb":
                import duckdb

                with duckdb.connect(str(self.path)) as connection:
                    return connection.execute(text).fetchall()
            case "sqlite":
                with sqlite3.connect(self.path) as connection:
                    return connection.execute(text).fetchall()
            case _:
                import psycopg

                with psycopg.connect(self.url.partition("?")[0], autocommit=True) as connection:
                    found = connection.execute(text)
                    return list(found.fetchall()) if found.description else []

    def columns(self) -> list[str]:
        """Names of the columns of ``orders``."""
        from schemactl.destinations import DESTINATIONS

        return list(DESTINATIONS[self.kind].read_catalogue(self.url).schema.tables["orders"].columns)


def new_dataset(kind: str, folder: Path, postgres_url: str | None = None) -> Dataset:
    """Return a dataset without tables."""
    if kind == "postgresql":
        assert postgres_url is not None
        made = Dataset(kind, f"{postgres_url}?dataset=shop", folder)
        made.sql('DROP SCHEMA IF EXISTS "shop" CASCADE')
        return made
    if kind == "duckdb":
        import duckdb

        path = folder / "file.duckdb"  # `shop.orders` would be ambiguous in `shop.duckdb`
        duckdb.connect(str(path)).close()
        return Dataset(kind, f"duckdb:///{path}?dataset=shop", path)
    path = folder / "file.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 1")
    return Dataset(kind, f"sqlite:///{path}?dataset=main", path)


class Addressed(Protocol):
    """A dataset that has an address."""

    @property
    def url(self) -> str: ...


_OPTIONS = frozenset(field.name for field in fields(PlanOptions))


def request_of(
    kind: type[Any], to: Addressed | str, schema: Schema | str, options: PlanOptions | None, choices: dict[str, Any]
) -> Any:
    """Return the request of a schema, or of the schema that a REF names; ``choices`` are of it or of its options."""
    options = replace(options or PlanOptions(), **{name: choices.pop(name) for name in _OPTIONS & choices.keys()})
    reference = schema if isinstance(schema, str) else put(schema, "wanted.yaml")
    return kind(reference, to if isinstance(to, str) else to.url, Path("schemas"), options, **choices)


def plan(
    to: Addressed | str,
    schema: Schema | str,
    options: PlanOptions | None = None,
    out: str | None = None,
    **choices: Any,
) -> PlanReport:
    """Plan a migration to a schema."""
    out_choice = {"out": Path(out)} if out is not None else {}
    return plan_migration(request_of(PlanRequest, to, schema, options, {**choices, **out_choice}))


def apply(
    to: Addressed | str,
    schema: Schema | str,
    options: PlanOptions | None = None,
    agree: Callable[[Any], bool] = lambda _: True,
    **choices: Any,
) -> ApplyReport:
    """Migrate to a schema, and answer questions."""
    return apply_migration(request_of(ApplyRequest, to, schema, options, choices), agree, lambda: nullcontext(None))


def undo(to: Addressed | str, **choices: Any) -> RollbackReport:
    """Undo the last migration."""
    request = RollbackRequest("shop", to if isinstance(to, str) else to.url, **choices)
    return rollback(request, lambda _: True, lambda: nullcontext(None))


def password_of(url: str) -> str:
    """The password that an address holds."""
    return unquote(urlsplit(url).password or "")


def take(session: Any, kind: Any, dataset: str, tables: dict[str, Table], *steps: Step) -> None:
    """Run steps as a plan's are run; ``tables`` is the model."""
    for step in steps:
        session.run(step, kind.render(step, tables.get(step.table_name), dataset))
        after = step.apply_to(tables.pop(step.table_name, None))
        if after is not None:
            tables[after.name] = after

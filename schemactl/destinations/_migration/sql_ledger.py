"""The rows of the ledger in a SQL database; see ``ledger.Ledger``, whose methods these functions serve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from schemactl.destinations._bookkeeping import bookkeeping_of, version_row
from schemactl.destinations._ddl import create_table
from schemactl.destinations._migration.ledger import KEYS, Row
from schemactl.destinations._session import Database, Relation, literal, qualify, quote
from schemactl.errors import InputError
from schemactl.schema.templates import VERSION_TABLE
from schemactl.schema.types import Schema, Table


def _relation(database: Database, dataset: str, name: str) -> Relation | None:
    found = database.relations(dataset, name).get(name)
    return found if found and found.is_table else None


def _make(database: Database, dataset: str, table: Table) -> None:
    if _relation(database, dataset, table.name) is None:
        columns = list(table.columns.values())
        database.execute(create_table(dataset, table.name, columns, database.column_type, database.dialect))


def read_rows(database: Database, dataset: str, table: Table, run_id: str | None) -> list[dict[str, Any]]:
    """Return the rows of one of our tables, or those of one run."""
    if _relation(database, dataset, table.name) is None:
        return []
    listed = ", ".join(quote(name) for name in table.columns)
    condition = "" if run_id is None else f" WHERE {quote('run_id')} = {literal(run_id)}"
    found = database.query(f"SELECT {listed} FROM {qualify(dataset, table.name)}{condition}")
    return [dict(zip(table.columns, row, strict=True)) for row in found]


def replace_rows(database: Database, dataset: str, table: Table, rows: Sequence[Row]) -> None:
    """Write rows of one of our tables in the place of those with the same keys."""
    _make(database, dataset, table)
    target = qualify(dataset, table.name)
    for row in rows:
        same = " AND ".join(f"{quote(name)} = {literal(str(row[name]))}" for name in KEYS[table.name])
        database.execute(f"DELETE FROM {target} WHERE {same}")
    database.insert(target, tuple(table.columns), [tuple(row[name] for name in table.columns) for row in rows])


def schema_names(database: Database, dataset: str) -> frozenset[str]:
    """Return the names of the schemas that a dataset was loaded with."""
    return frozenset(row["schema_name"] for row in version_rows(database, dataset))


def _versions(database: Database, dataset: str, name: str = VERSION_TABLE) -> tuple[Relation | None, dict[str, str]]:
    """Return dlt's table, and its columns' names, which follow a naming convention, by dlt's; none of an old engine."""
    relation = _relation(database, dataset, name)
    names = {each.lower(): each for each in relation.columns} if relation else {}
    needed = ("version", "engine_version", "inserted_at", "schema_name", "version_hash", "schema")
    return relation, {each: names[each] for each in needed} if all(each in names for each in needed) else {}


def version_rows(database: Database, dataset: str, version_hash: str | None = None) -> list[Mapping[str, Any]]:
    """Return the rows of dlt's ledger, the last one first; with the schema where a hash is asked for."""
    relation, columns = _versions(database, dataset)
    if relation is None or not columns:
        return []
    quoted = {key: quote(name) for key, name in columns.items()}
    wanted = {name: quoted[name] for name in ("schema_name", "version", "version_hash")}
    wanted["inserted_at"] = database.as_text(quoted["inserted_at"])
    condition = ""
    if version_hash is not None:
        wanted["schema"] = quoted["schema"]
        condition = f"WHERE {quoted['version_hash']} = {literal(version_hash)} "
    rows = database.query(
        f"SELECT {', '.join(wanted.values())} FROM {qualify(dataset, relation.name)} {condition}"
        f"ORDER BY {quoted['inserted_at']} DESC, {quoted['version']} DESC"
    )
    return [dict(zip(wanted, row, strict=True)) for row in rows]


def replace_version(database: Database, dataset: str, schema: Schema) -> None:
    """Write a schema as the last row of dlt's ledger, in the place of those with its hash.

    dlt asks for the last line of a schema's name, and whether there is one with a hash.
    """
    kept = bookkeeping_of(schema)
    for table in (kept.versions, kept.loads):
        _make(database, dataset, table)
    relation, columns = _versions(database, dataset, kept.versions.name.lower())
    assert relation is not None
    if not columns:
        raise InputError(f"`{relation.name}` was made by a version of dlt that is too old to go on with")
    target = qualify(dataset, relation.name)
    database.execute(f"DELETE FROM {target} WHERE {quote(columns['version_hash'])} = {literal(schema.version_hash)}")
    database.insert(target, tuple(columns.values()), [version_row(schema, datetime.now(UTC))])


def remove_version(database: Database, dataset: str, version_hash: str) -> None:
    """Remove the rows of dlt's ledger with a hash."""
    relation, columns = _versions(database, dataset)
    if relation is not None and columns:
        target = qualify(dataset, relation.name)
        database.execute(f"DELETE FROM {target} WHERE {quote(columns['version_hash'])} = {literal(version_hash)}")

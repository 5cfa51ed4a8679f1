"""The tables in which a dataset keeps its migrations: dlt's ``_dlt_version``, and two of our own.

Our tables hold texts only, moments in ISO 8601: they are read the same way from every database.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._bookkeeping import bookkeeping_of, version_row
from schemactl.destinations._ddl import create_table
from schemactl.destinations._migration.records import Run, StepRecord, Version
from schemactl.destinations._migration.rows import RUNS_TABLE, STEPS_TABLE, row_of, run_of, step_of
from schemactl.destinations._session import Relation, literal, qualify, quote
from schemactl.errors import InputError
from schemactl.schema.templates import VERSION_TABLE
from schemactl.schema.types import Column, Schema, Table, schema_from_dict

if TYPE_CHECKING:
    from schemactl.destinations._migration.session import Database


def _texts(name: str, required: Sequence[str], others: Sequence[str]) -> Table:
    stated = [(column, False) for column in required] + [(column, True) for column in others]
    columns = {column: Column(column, {"data_type": "text", "nullable": null}) for column, null in stated}
    return Table(name, columns)


_RUNS: Final = _texts(
    RUNS_TABLE,
    ("run_id", "plan_hash", "schema_name", "to_hash", "who", "started", "state", "plan"),
    ("from_hash", "finished"),
)
_STEPS: Final = _texts(
    STEPS_TABLE,
    ("run_id", "number", "statements_hash", "undo_statements", "who", "state"),
    ("started", "finished"),
)


def _relation(database: Database, dataset: str, name: str) -> Relation | None:
    found = database.relations(dataset, name).get(name)
    return found if found and found.is_table else None


def _make(database: Database, dataset: str, table: Table) -> None:
    if _relation(database, dataset, table.name) is None:
        columns = list(table.columns.values())
        database.execute(create_table(dataset, table.name, columns, database.column_type, database.dialect))


def _rows(database: Database, dataset: str, table: Table, condition: str, order: str) -> list[dict[str, Any]]:
    if _relation(database, dataset, table.name) is None:
        return []
    listed = ", ".join(quote(name) for name in table.columns)
    found = database.query(f"SELECT {listed} FROM {qualify(dataset, table.name)} WHERE {condition} ORDER BY {order}")
    return [dict(zip(table.columns, row, strict=True)) for row in found]


def read_runs(database: Database, dataset: str) -> tuple[Run, ...]:
    """Return all runs, the first one first."""
    rows = _rows(database, dataset, _RUNS, "1 = 1", '"started", "run_id"')
    return tuple(run_of(row) for row in rows)


def write_run(database: Database, dataset: str, run: Run) -> None:
    """Write a run in the place of the one with its id."""
    _make(database, dataset, _RUNS)
    table = qualify(dataset, RUNS_TABLE)
    database.execute(f"DELETE FROM {table} WHERE {quote('run_id')} = {literal(run.run_id)}")
    row = row_of(run)
    database.insert(table, tuple(row), [tuple(row.values())])


def read_steps(database: Database, dataset: str, run_id: str) -> tuple[StepRecord, ...]:
    """Return the steps of one run by their number."""
    rows = _rows(database, dataset, _STEPS, f"{quote('run_id')} = {literal(run_id)}", quote("number"))
    return tuple(sorted((step_of(row) for row in rows), key=lambda each: each.number))


def write_steps(database: Database, dataset: str, steps: Sequence[StepRecord]) -> None:
    """Write steps in the place of those with the same run and number."""
    if not steps:
        return
    _make(database, dataset, _STEPS)
    table = qualify(dataset, STEPS_TABLE)
    for step in steps:
        database.execute(
            f"DELETE FROM {table} WHERE {quote('run_id')} = {literal(step.run_id)} "
            f"AND {quote('number')} = {literal(str(step.number))}"
        )
    rows = [row_of(step) for step in steps]
    database.insert(table, tuple(rows[0]), [tuple(row.values()) for row in rows])


def schema_names(database: Database, dataset: str) -> frozenset[str]:
    """Return the names of the schemas that a dataset was loaded with."""
    return frozenset(each.schema_name for each in read_versions(database, dataset, None))


def _version_columns(relation: Relation) -> dict[str, str] | None:
    """Return the names of the columns there, which follow a naming convention, by dlt's; None of an old engine."""
    names = {name.lower(): name for name in relation.columns}
    needed = ("version", "engine_version", "inserted_at", "schema_name", "version_hash", "schema")
    return {name: names[name] for name in needed} if all(name in names for name in needed) else None


def read_versions(database: Database, dataset: str, schema_name: str | None) -> tuple[Version, ...]:
    """Return the schemas of dlt's ledger, the last one first."""
    relation = _relation(database, dataset, VERSION_TABLE)
    columns = _version_columns(relation) if relation else None
    if relation is None or columns is None:
        return ()
    quoted = {key: quote(name) for key, name in columns.items()}
    at = f"CAST({quoted['inserted_at']} AS {database.column_type(Column('', {'data_type': 'text'}))})"
    condition = "1 = 1" if schema_name is None else f"{quoted['schema_name']} = {literal(schema_name)}"
    rows = database.query(
        f"SELECT {quoted['schema_name']}, {quoted['version']}, {quoted['version_hash']}, {at} "
        f"FROM {qualify(dataset, relation.name)} WHERE {condition} "
        f"ORDER BY {quoted['inserted_at']} DESC, {quoted['version']} DESC"
    )
    return tuple(Version(name, version, found, _in_utc(text)) for name, version, found, text in rows)


def _in_utc(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def read_schema(database: Database, dataset: str, version_hash: str) -> Schema | None:
    """Return the schema that dlt's ledger holds under a hash; None where it holds none.

    Raises:
        InputError: what is stored there is no schema of the engines that are known.
    """
    relation = _relation(database, dataset, VERSION_TABLE)
    columns = _version_columns(relation) if relation else None
    if relation is None or columns is None:
        return None
    rows = database.query(
        f"SELECT {quote(columns['schema'])} FROM {qualify(dataset, relation.name)} "
        f"WHERE {quote(columns['version_hash'])} = {literal(version_hash)} LIMIT 1"
    )
    return _schema(rows[0][0], version_hash) if rows else None


def _schema(stored: str, version_hash: str) -> Schema:
    from schemactl.schema.upgrade import upgrade

    try:
        return schema_from_dict(upgrade(json.loads(_unpacked(stored))))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"what `_dlt_version` holds under hash `{version_hash}` is no schema: {error}") from error


def _unpacked(stored: str) -> str:
    """Return JSON, which dlt packs where a database limits the length of texts."""
    try:
        return zlib.decompress(base64.b64decode(stored, validate=True)).decode()
    except (ValueError, zlib.error):  # JSON has signs that base64 has not, and perhaps some beyond ASCII
        return stored


def write_version(database: Database, dataset: str, schema: Schema) -> None:
    """Write a schema into dlt's ledger, as the last one; a line with its hash gives way.

    dlt asks for the last line of a schema's name, and whether there is one with a hash.
    """
    kept = bookkeeping_of(schema)
    for table in (kept.versions, kept.loads):
        _make(database, dataset, table)
    table = kept.versions
    relation = _relation(database, dataset, table.name.lower())
    assert relation is not None
    columns = _version_columns(relation)
    if columns is None:
        raise InputError(f"`{relation.name}` was made by a version of dlt that is too old to go on with")
    target = qualify(dataset, relation.name)
    database.execute(f"DELETE FROM {target} WHERE {quote(columns['version_hash'])} = {literal(schema.version_hash)}")
    database.insert(target, tuple(columns.values()), [version_row(schema, datetime.now(UTC))])


def forget_version(database: Database, dataset: str, version_hash: str) -> None:
    """Remove the schema of a hash from dlt's ledger, where it is there."""
    relation = _relation(database, dataset, VERSION_TABLE)
    columns = _version_columns(relation) if relation else None
    if relation is not None and columns is not None:
        target = qualify(dataset, relation.name)
        database.execute(f"DELETE FROM {target} WHERE {quote(columns['version_hash'])} = {literal(version_hash)}")

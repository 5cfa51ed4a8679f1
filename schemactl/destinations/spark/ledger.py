"""The tables in which a schema of a Spark catalog keeps its migrations: dlt's ``_dlt_version``, and two of our own.

A table of files cannot change a row: our tables take a new line each time, and the last line of a run or a step counts
(``line`` says the order; one migration at a time is the caller's to see to). ``_dlt_version`` is small, and written
anew by a copy where a line has to go.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._bookkeeping import bookkeeping_of, version_row
from schemactl.destinations._migration.records import Run, StepRecord, Version
from schemactl.destinations._migration.rows import RUNS_TABLE, STEPS_TABLE, Row, row_of, run_of, step_of
from schemactl.errors import InputError
from schemactl.schema.templates import VERSION_TABLE
from schemactl.schema.types import Schema, Table, schema_from_dict

if TYPE_CHECKING:
    from schemactl.engine.catalogue import Tables

_LINE: Final = "line"
_VERSION_COLUMNS: Final = ("version", "engine_version", "inserted_at", "schema_name", "version_hash", "schema")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def read_runs(tables: Tables) -> tuple[Run, ...]:
    """Return all runs, the first one first."""
    found = _last(_lines(tables, RUNS_TABLE), ("run_id",))
    return tuple(sorted((run_of(row) for row in found), key=lambda run: (run.started, run.run_id)))


def write_run(tables: Tables, run: Run) -> None:
    """Write a run in the place of the one with its id."""
    _add_lines(tables, RUNS_TABLE, [row_of(run)])


def read_steps(tables: Tables, run_id: str) -> tuple[StepRecord, ...]:
    """Return the steps of one run by their number."""
    lines = [line for line in _lines(tables, STEPS_TABLE) if line["run_id"] == run_id]
    return tuple(sorted((step_of(row) for row in _last(lines, ("number",))), key=lambda each: each.number))


def write_steps(tables: Tables, steps: Sequence[StepRecord]) -> None:
    """Write steps in the place of those with the same run and number."""
    if steps:
        _add_lines(tables, STEPS_TABLE, [row_of(step) for step in steps])


def _lines(tables: Tables, name: str) -> list[Mapping[str, Any]]:
    from schemactl.engine.catalogue import select

    return select(tables.spark, f"SELECT * FROM {tables.full(name)}") if tables.has(name) else []


def _last(lines: Iterable[Mapping[str, Any]], key: Sequence[str]) -> Iterable[Mapping[str, Any]]:
    """Return the last line of each key."""
    return {tuple(line[name] for name in key): line for line in sorted(lines, key=lambda each: each[_LINE])}.values()


def _add_lines(tables: Tables, name: str, rows: Sequence[Row]) -> None:
    from schemactl.engine.catalogue import append_rows, next_line, using

    if not tables.has(name):
        kinds = ", ".join([f"{_LINE} BIGINT", *(f"{column} STRING" for column in rows[0])])
        tables.spark.sql(f"CREATE TABLE {tables.full(name)} ({kinds}){using(tables.namespace)}")
    line = next_line(tables, name, _LINE)
    append_rows(tables, name, (_LINE, *rows[0]), [(line, *row.values()) for row in rows])


def read_versions(tables: Tables, schema_name: str | None) -> tuple[Version, ...]:
    """Return the schemas of dlt's ledger, the last one first."""
    rows = _versions(tables, "schema_name", "version", "version_hash", "unix_micros(inserted_at) AS at")
    found = [
        Version(row["schema_name"], row["version"], row["version_hash"], _EPOCH + timedelta(microseconds=row["at"]))
        for row in rows
        if schema_name in (None, row["schema_name"])
    ]
    return tuple(sorted(found, key=lambda each: (each.inserted_at or _EPOCH, each.version), reverse=True))


def _versions(tables: Tables, *columns: str) -> list[Mapping[str, Any]]:
    """Return lines of dlt's ledger; none of an engine that wrote other columns."""
    from schemactl.engine.catalogue import select

    if not tables.has(VERSION_TABLE):
        return []
    there = {name.casefold() for name in tables.frame(VERSION_TABLE).columns}
    if not there.issuperset(_VERSION_COLUMNS):
        return []
    return select(tables.spark, f"SELECT {', '.join(columns)} FROM {tables.full(VERSION_TABLE)}")


def read_schema(tables: Tables, version_hash: str) -> Schema | None:
    """Return the schema that dlt's ledger holds under a hash; None where it holds none.

    Raises:
        InputError: what is stored there is no schema of the engines that are known.
    """
    from schemactl.schema.upgrade import upgrade

    rows = [row for row in _versions(tables, "version_hash", "schema") if row["version_hash"] == version_hash]
    if not rows:
        return None
    try:
        return schema_from_dict(upgrade(json.loads(rows[0]["schema"])))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"what `{VERSION_TABLE}` holds under hash `{version_hash}` is no schema: {error}") from error


def write_version(tables: Tables, schema: Schema) -> None:
    """Write a schema into dlt's ledger, as the last one; a line with its hash gives way."""
    from schemactl.engine.catalogue import append_rows

    kept = bookkeeping_of(schema)
    for table in (kept.versions, kept.loads):
        _make(tables, table)
    there = {name.casefold() for name in tables.frame(kept.versions.name).columns}
    if not there.issuperset(name.casefold() for name in kept.versions.columns):
        raise InputError(f"`{kept.versions.name}` was made by a version of dlt that is too old to go on with")
    forget_version(tables, schema.version_hash)
    append_rows(tables, kept.versions.name, tuple(kept.versions.columns), [version_row(schema, datetime.now(UTC))])


def _make(tables: Tables, table: Table) -> None:
    from schemactl.engine.catalogue import using

    if not tables.has(table.name):
        name = tables.namespace.table(table.name)
        tables.spark.sql(f"CREATE TABLE {name} ({_kinds(table)}){using(tables.namespace)}")


def _kinds(table: Table) -> str:
    from schemactl.engine.catalogue import column_type
    from schemactl.engine.sql import quoted

    return ", ".join(f"{quoted(column.name)} {column_type(column)}" for column in table.columns.values())


def forget_version(tables: Tables, version_hash: str) -> None:
    """Remove the schema of a hash from dlt's ledger, where it is there."""
    from schemactl.engine.catalogue import remove_rows

    if tables.has(VERSION_TABLE):
        remove_rows(tables, VERSION_TABLE, "version_hash", version_hash)

"""The tables in which a schema of a Spark catalog keeps its migrations: dlt's ``_dlt_version``, and two of our own.

A table of files cannot change a row: our tables take a new line each time, and the last line of a run or a step counts
(``line`` says the order). ``_dlt_version`` is small, and written
anew by a copy where a line has to go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from schemactl.destinations._bookkeeping import bookkeeping_of, version_row
from schemactl.destinations._migration.ledger import KEYS, Ledger, Row
from schemactl.destinations.spark.tables import Tables, append_rows, next_line, remove_rows, select
from schemactl.destinations.spark.types import column_type
from schemactl.engine.session.running import wrap_errors
from schemactl.engine.sql import quoted
from schemactl.errors import InputError
from schemactl.schema.templates import VERSION_TABLE
from schemactl.schema.types import Schema, Table

_LINE: Final = "line"
_VERSION_COLUMNS: Final = ("version", "engine_version", "inserted_at", "schema_name", "version_hash", "schema")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SparkLedger(Ledger):
    """See ``Ledger``."""

    tables: Tables
    is_read_only: bool = False

    def prepare_writing(self) -> None:
        Ledger.prepare_writing(self)
        with wrap_errors("make the schema"):
            self.tables.spark.sql(f"CREATE SCHEMA IF NOT EXISTS {self.tables.namespace}")
            if self.tables.lease is not None:
                self.tables.lease.hold()
                self.tables.lease.check()

    def read_rows(self, table: Table, run_id: str | None = None) -> list[Mapping[str, Any]]:
        if not self.tables.has(table.name):
            return []
        with wrap_errors("read the ledger"):
            lines = select(self.tables.spark, f"SELECT * FROM {self.tables.full(table.name)}")
        ours = [line for line in lines if run_id in (None, line["run_id"])]
        ours.sort(key=lambda line: line[_LINE])
        return [*{tuple(line[name] for name in KEYS[table.name]): line for line in ours}.values()]

    def replace_rows(self, table: Table, rows: Sequence[Row]) -> None:
        with wrap_errors("write the ledger"):
            if not self.tables.has(table.name):
                kinds = ", ".join([f"{_LINE} BIGINT", *(f"{column} STRING" for column in rows[0])])
                created = f"CREATE TABLE {self.tables.full(table.name)} ({kinds}){self.tables.namespace.using}"
                self.tables.spark.sql(created)
            line = next_line(self.tables, table.name, _LINE)
            append_rows(self.tables, table.name, (_LINE, *rows[0]), [(line, *row.values()) for row in rows])

    def version_rows(self, version_hash: str | None = None) -> list[Mapping[str, Any]]:
        """Return the rows of dlt's ledger, the last one first; none of an engine that wrote other columns."""
        with wrap_errors("read dlt's ledger"):
            if not self.tables.has(VERSION_TABLE):
                return []
            there = {name.casefold() for name in self.tables.frame(VERSION_TABLE).columns}
            if not there.issuperset(_VERSION_COLUMNS):
                return []
            columns = "schema_name, version, version_hash, unix_micros(inserted_at) AS at"
            listed = columns if version_hash is None else f"{columns}, schema"
            rows = select(self.tables.spark, f"SELECT {listed} FROM {self.tables.full(VERSION_TABLE)}")
        ours = [row for row in rows if version_hash in (None, row["version_hash"])]
        ours.sort(key=lambda row: (row["at"], row["version"]), reverse=True)
        return [{**row, "inserted_at": _EPOCH + timedelta(microseconds=row["at"])} for row in ours]

    def replace_version(self, schema: Schema) -> None:
        kept = bookkeeping_of(schema)
        with wrap_errors("write dlt's ledger"):
            for table in (kept.versions, kept.loads):
                self._make(table)
            there = {name.casefold() for name in self.tables.frame(kept.versions.name).columns}
            if not there.issuperset(name.casefold() for name in kept.versions.columns):
                raise InputError(f"`{kept.versions.name}` was made by a version of dlt that is too old to go on with")
            self.remove_version(schema.version_hash)
            columns, row = tuple(kept.versions.columns), version_row(schema, datetime.now(UTC))
            append_rows(self.tables, kept.versions.name, columns, [row])

    def remove_version(self, version_hash: str) -> None:
        with wrap_errors("write dlt's ledger"):
            if self.tables.has(VERSION_TABLE):
                remove_rows(self.tables, VERSION_TABLE, "version_hash", version_hash)

    def _make(self, table: Table) -> None:
        if not self.tables.has(table.name):
            kinds = ", ".join(f"{quoted(column.name)} {column_type(column)}" for column in table.columns.values())
            name, namespace = self.tables.namespace.table(table.name), self.tables.namespace
            self.tables.spark.sql(f"CREATE TABLE {name} ({kinds}){namespace.using}")

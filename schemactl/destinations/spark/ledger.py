"""The tables in which a schema of a Spark catalog keeps its migrations: dlt's ``_dlt_version``, and two of our own.

A table of files cannot change a row: our tables take a new line each time, and the last line of a run or a step counts
(``line`` says the order). ``_dlt_version`` is small, and written
anew by a copy where a line has to go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schemactl.destinations._bookkeeping import find_columns, find_names, rows_of
from schemactl.destinations._catalogue import OURS
from schemactl.destinations._migration.ledger import Ledger, keys_of
from schemactl.destinations.spark.tables import Tables, append_rows, next_line, remove_rows, select
from schemactl.destinations.spark.types import column_type
from schemactl.engine.session.failure import wrap_errors
from schemactl.engine.sql import literal, quoted
from schemactl.errors import InputError
from schemactl.schema.templates import version_table
from schemactl.schema.types import DataType, Table

_LINE: Final = "line"


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
                self.tables.check()

    def read_rows(self, table: Table, /, **equal: str) -> list[Mapping[str, Any]]:
        with wrap_errors("read the ledger"):
            if not table.name.startswith(OURS):
                return kept_rows(self.tables, table, **equal)
            if not self.tables.has(table.name):
                return []
            lines = select(self.tables.spark, f"SELECT * FROM {self.tables.full(table.name)}")
        ours = [line for line in lines if all(line[name] == value for name, value in equal.items())]
        ours.sort(key=lambda line: line[_LINE])
        return [*{tuple(line[name] for name in keys_of(table)): line for line in ours}.values()]

    def replace_rows(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        with wrap_errors("write the ledger"):
            if not table.name.startswith(OURS):
                self._replace_versions(table, rows)
                return
            if not self.tables.has(table.name):
                kinds = ", ".join([f"{_LINE} BIGINT", *(f"{column} STRING" for column in rows[0])])
                created = f"CREATE TABLE {self.tables.full(table.name)} ({kinds}){self.tables.namespace.using}"
                self.tables.spark.sql(created)
            line = next_line(self.tables, table.name, _LINE)
            append_rows(self.tables, table.name, (_LINE, *rows[0]), [(line, *row.values()) for row in rows])

    def _replace_versions(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        if not self.tables.has(table.name):
            kinds = ", ".join(f"{quoted(column.name)} {column_type(column)}" for column in table.columns.values())
            name, namespace = self.tables.namespace.table(table.name), self.tables.namespace
            self.tables.spark.sql(f"CREATE TABLE {name} ({kinds}){namespace.using}")
        if find_columns(table, self.tables.frame(table.name).columns, str(self.tables.namespace)) is None:
            raise InputError(f"`{table.name}` was made by a version of dlt that is too old to go on with")
        for row in rows:
            for name in keys_of(table):
                remove_rows(self.tables, table.name, name, row[name])
            append_rows(self.tables, table.name, tuple(row), [tuple(row.values())])

    def remove_version(self, version_hash: str) -> None:
        with wrap_errors("write the ledger"):
            for name, columns in _held(self.tables, version_table()):
                remove_rows(self.tables, name, columns["version_hash"], version_hash)


def kept_rows(tables: Tables, table: Table, /, **equal: str) -> list[Mapping[str, Any]]:
    """Return rows of a table; see ``ReadRows``."""
    rows: list[Mapping[str, Any]] = []
    for name, columns in _held(tables, table):
        listed = [
            # As a number, whatever the session's time zone is.
            f"unix_micros({quoted(there)}) / 1e6"
            if table.columns[column].data_type is DataType.TIMESTAMP
            else quoted(there)
            for column, there in columns.items()
        ]
        same = [f"{quoted(columns[column])} = {literal(value)}" for column, value in equal.items()]
        query = f"SELECT {', '.join(listed)} FROM {tables.full(name)} WHERE {' AND '.join(['true', *same])}"
        rows += rows_of(table, tables.spark.sql(query).collect())
    return rows


def _held(tables: Tables, table: Table) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the names of the tables that a table is there, with the names of its columns there."""
    for name in find_names(tables.names(), table.name):
        columns = find_columns(table, tables.frame(name).columns, str(tables.namespace))
        if columns is not None:
            yield name, columns

"""The ledger of migrations, the same at every destination: dlt's ``_dlt_version``, and runs and steps of our own.

Runs and steps are rows of texts, so that every destination returns them unchanged: timestamps are in ISO 8601 and UTC,
lists are JSON. The plan stays a text, since few of the runs' plans are read.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from schemactl.destinations import MigrationSession
from schemactl.destinations._bookkeeping import (
    after_newest,
    bookkeeping_of,
    find_names,
    schema_of,
    version_row,
    version_rows,
)
from schemactl.errors import DestinationError, InputError
from schemactl.field_values import field_values
from schemactl.migration.records import Run, RunState, StepRecord, StepState, Version
from schemactl.schema.templates import VERSION_TABLE
from schemactl.schema.types import Column, Schema, Table

_NO_PLAN: Final = "{}"

Read = TypeVar("Read")


def _texts(name: str, record: type[Run | StepRecord]) -> Table:
    """Return a table of texts for the fields of a record; fields that can be None are nullable."""
    columns = {
        field.name: Column(field.name, {"data_type": "text", "nullable": "None" in str(field.type)})
        for field in fields(record)
    }
    return Table(name, columns)


RUNS: Final = _texts("_schemactl_migrations", Run)
STEPS: Final = _texts("_schemactl_steps", StepRecord)

_KEYS: Final = {RUNS.name: ("run_id",), STEPS.name: ("run_id", "number")}


def keys_of(table: Table) -> tuple[str, ...]:
    """Return the columns that distinguish the rows of a table of ours, or of dlt's of versions."""
    return _KEYS.get(table.name) or tuple(find_names(table.columns, "version_hash"))


def latest_rows(table: Table, rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the last row of each key, in the order in which the keys first came."""
    return list({tuple(row[name] for name in keys_of(table)): row for row in rows}.values())


class Ledger(MigrationSession):
    """The part of a session that remembers; a destination reads and replaces rows."""

    __slots__ = ()

    is_read_only: bool

    def prepare_writing(self) -> None:
        """Make the dataset if its first table would not; raises ``InputError`` if the session only reads."""
        if self.is_read_only:
            raise InputError("a read-only session cannot write")

    @abstractmethod
    def read_rows(self, table: Table, /, **equal: str) -> Sequence[Mapping[str, Any]]:
        """Return rows of a table; see ``_bookkeeping.ReadRows``."""

    @abstractmethod
    def replace_rows(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write rows of a table of ours, and replace rows with the same ``keys_of``; create a missing table."""

    def replace_dlt_rows(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write rows of a table of dlt's as ``replace_rows`` does."""
        self.replace_rows(table, rows)

    @abstractmethod
    def remove_version(self, version_hash: str) -> None:
        """Remove the rows of ``_dlt_version`` with a hash."""

    def runs(self) -> tuple[Run, ...]:
        runs = _read(RUNS.name, self.read_rows(RUNS), run_of)
        return tuple(sorted(runs, key=lambda run: (run.started.timestamp(), run.run_id)))

    def steps(self, run_id: str) -> tuple[StepRecord, ...]:
        steps = _read(STEPS.name, self.read_rows(STEPS, run_id=run_id), step_of)
        return tuple(sorted(steps, key=lambda step: step.number))

    def write_run(self, run: Run) -> None:
        self.prepare_writing()
        self.replace_rows(RUNS, [row_of(run)])

    def write_steps(self, steps: Sequence[StepRecord]) -> None:
        self.prepare_writing()
        if steps:
            self.replace_rows(STEPS, [row_of(step) for step in steps])

    def versions(self, schema_name: str | None = None) -> tuple[Version, ...]:
        versions = _read(VERSION_TABLE, version_rows(self.read_rows), lambda row: Version(**row))
        return tuple(version for version in versions if schema_name in (None, version.schema_name))

    def schema_of(self, version_hash: str) -> Schema | None:
        return schema_of(self.read_rows, version_hash)

    def write_version(self, schema: Schema, known_versions: Sequence[Version] | None = None) -> None:
        self.prepare_writing()
        versions, loads, _ = bookkeeping_of(schema)
        newest_first = self.versions(schema.name) if known_versions is None else known_versions
        moment = after_newest([version.inserted_at for version in newest_first], datetime.now(UTC))
        row = dict(zip(versions.columns, version_row(schema, moment), strict=True))
        self.replace_dlt_rows(loads, [])
        self.replace_dlt_rows(versions, [row])

    def forget_version(self, version_hash: str) -> None:
        self.prepare_writing()
        self.remove_version(version_hash)


def row_of(record: Run | StepRecord) -> dict[str, str | None]:
    """Return a run or a step as texts, by the names of its columns."""
    row = {name: _text(value) for name, value in field_values(record).items()}
    if isinstance(record, Run):
        row["plan"] = record.plan or _NO_PLAN
    return row


def run_of(row: Mapping[str, Any]) -> Run:
    """Return the run that a row records; raises as ``step_of``."""
    return Run(**{**_values(Run, row), "plan": "" if row["plan"] == _NO_PLAN else row["plan"]})


def step_of(row: Mapping[str, Any]) -> StepRecord:
    """Return the step that a row records.

    Raises:
        KeyError: the row lacks a column.
        ValueError, TypeError: a value does not fit its field.
    """
    return StepRecord(**_values(StepRecord, row))


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "int": int,
    "datetime": datetime.fromisoformat,
    "RunState": RunState,
    "StepState": StepState,
    "tuple[str, ...]": lambda text: tuple(map(str, json.loads(text))),
}
"""Readers of a field's text, by the field's type; fields of any other type are texts."""


def _values(record: type[Run | StepRecord], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record from a row of texts."""
    values = {}
    for field in fields(record):
        kind, text = str(field.type), row[field.name]
        may_be_none = kind.endswith(" | None")
        read = _READERS.get(kind.removesuffix(" | None"))
        values[field.name] = text if read is None or (may_be_none and text is None) else read(text)
    return values


def _read(name: str, rows: Iterable[Mapping[str, Any]], make: Callable[[Mapping[str, Any]], Read]) -> list[Read]:
    try:
        return [make(row) for row in rows]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DestinationError(f"a row of `{name}` is invalid: {error}") from error


def _text(value: str | int | datetime | tuple[str, ...] | None) -> str | None:
    match value:
        case None:
            return None
        case datetime():
            return value.astimezone(UTC).isoformat(timespec="microseconds")
        case tuple():
            return json.dumps(value)
        case _:
            return str(value)

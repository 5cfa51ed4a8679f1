"""The ledger of migrations as Iceberg tables: dlt's versions, and runs and steps of our own.

Our tables hold texts only, moments in ISO 8601. They are written whole each time, in one commit: they are small.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._bookkeeping import version_row
from schemactl.destinations._lake.files import write_rows
from schemactl.destinations._migration.records import Run, StepRecord, Version
from schemactl.destinations._migration.rows import (
    OPTIONAL,
    RUN_COLUMNS,
    RUNS_TABLE,
    STEP_COLUMNS,
    STEPS_TABLE,
    Row,
    row_of,
    run_of,
    step_of,
)
from schemactl.destinations.iceberg.address import wrap_errors
from schemactl.destinations.iceberg.bookkeeping import rows_of
from schemactl.destinations.iceberg.lake import IcebergLake
from schemactl.errors import DestinationError, InputError
from schemactl.schema.templates import LOADS_TABLE, VERSION_TABLE, loads_table, version_table
from schemactl.schema.types import Column, Schema, Table, schema_from_dict

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression

AGAIN: Final = "run it again"
"""What to do where another program wrote at the same time."""

_METADATA: Final = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "9"}


def _table(name: str, columns: Sequence[str]) -> Table:
    columns_of = {each: Column(each, {"data_type": "text", "nullable": each in OPTIONAL}) for each in columns}
    return Table(name, columns_of)


_RUNS: Final = _table(RUNS_TABLE, RUN_COLUMNS)
_STEPS: Final = _table(STEPS_TABLE, STEP_COLUMNS)


def read_runs(lake: IcebergLake) -> tuple[Run, ...]:
    """Return all runs, the first one first."""
    runs = (run_of(row) for row in _rows(lake, RUNS_TABLE))
    return tuple(sorted(runs, key=lambda run: (run.started, run.run_id)))


def write_run(lake: IcebergLake, run: Run) -> None:
    """Write a run in the place of the one with its id."""
    others = [row for row in _rows(lake, RUNS_TABLE) if row["run_id"] != run.run_id]
    _put(lake, _RUNS, [*others, row_of(run)])


def read_steps(lake: IcebergLake, run_id: str) -> tuple[StepRecord, ...]:
    """Return the steps of one run by their number."""
    steps = (step_of(row) for row in _rows(lake, STEPS_TABLE) if row["run_id"] == run_id)
    return tuple(sorted(steps, key=lambda step: step.number))


def write_steps(lake: IcebergLake, steps: Sequence[StepRecord]) -> None:
    """Write steps in the place of those with the same run and number."""
    if not steps:
        return
    rewritten = {(step.run_id, str(step.number)) for step in steps}
    others = [row for row in _rows(lake, STEPS_TABLE) if (row["run_id"], row["number"]) not in rewritten]
    _put(lake, _STEPS, [*others, *map(row_of, steps)])


def read_versions(lake: IcebergLake, schema_name: str | None) -> tuple[Version, ...]:
    """Return the schemas of dlt's ledger, the last one first."""
    rows = _rows(lake, VERSION_TABLE, without="schema")
    ours = (row for row in rows if schema_name is None or row["schema_name"] == schema_name)
    newest_first = sorted(ours, key=lambda row: (row["inserted_at"], row["version"]), reverse=True)
    return tuple(
        Version(row["schema_name"], row["version"], row["version_hash"], row["inserted_at"]) for row in newest_first
    )


def read_schema(lake: IcebergLake, version_hash: str) -> Schema | None:
    """Return the schema that dlt's ledger holds under a hash; None where it holds none.

    Raises:
        InputError: what is stored there is no schema of the engines that are known.
    """
    from schemactl.schema.upgrade import upgrade

    stored = next((row["schema"] for row in _rows(lake, VERSION_TABLE) if row["version_hash"] == version_hash), None)
    if stored is None:
        return None
    try:
        return schema_from_dict(upgrade(json.loads(stored)))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"what `_dlt_version` holds under hash `{version_hash}` is no schema: {error}") from error


def write_version(lake: IcebergLake, schema: Schema) -> None:
    """Write a schema into dlt's ledger, as the last one; a line with its hash gives way."""
    new = rows_of(version_table(), [version_row(schema, datetime.now(UTC))])
    if lake.open(LOADS_TABLE) is None:
        lake.create(LOADS_TABLE, list(rows_of(loads_table(), []).schema), "")
    versions = lake.open(VERSION_TABLE) or lake.create(VERSION_TABLE, list(new.schema), "")
    with wrap_errors(f"cannot write `{VERSION_TABLE}` of `{lake.origin}`", AGAIN):
        if _holds(lake, schema.version_hash):
            versions.table.overwrite(new, _of_hash(schema.version_hash))
        else:
            versions.table.append(new)


def forget_version(lake: IcebergLake, version_hash: str) -> None:
    """Remove the schema of a hash from dlt's ledger, where it is there."""
    versions = lake.open(VERSION_TABLE)
    if versions is not None and _holds(lake, version_hash):
        with wrap_errors(f"cannot write `{VERSION_TABLE}` of `{lake.origin}`", AGAIN):
            versions.table.delete(_of_hash(version_hash))


def _holds(lake: IcebergLake, version_hash: str) -> bool:
    return any(each.version_hash == version_hash for each in read_versions(lake, None))


def _of_hash(version_hash: str) -> BooleanExpression:
    from pyiceberg.expressions import EqualTo, Reference

    value: Any = version_hash
    return EqualTo(term=Reference("version_hash"), value=value)


def _rows(lake: IcebergLake, name: str, without: str = "") -> list[dict[str, Any]]:
    opened = lake.open(name)
    if opened is None:
        return []
    known = {RUNS_TABLE: _RUNS, STEPS_TABLE: _STEPS}.get(name) or version_table()
    columns = [each for each in known.columns if each != without]
    if missing := set(columns) - set(opened.fields.names):
        raise DestinationError(f"`{name}` of `{lake.origin}` has no column `{min(missing)}`: it is not one of ours")
    with wrap_errors(f"cannot read `{name}` of `{lake.origin}`"):
        rows: list[dict[str, Any]] = opened.table.scan(selected_fields=tuple(columns)).to_arrow().to_pylist()
    return rows


def _put(lake: IcebergLake, table: Table, rows: Iterable[Row]) -> None:
    """Make rows those of a table, in one commit."""
    made = rows_of(table, [[row[name] for name in table.columns] for row in rows])
    opened = lake.open(table.name) or lake.create(table.name, list(made.schema), "", _METADATA)
    path = opened.new_file(f"{uuid.uuid4().hex}-00000.parquet")
    with wrap_errors(f"cannot write `{table.name}` of `{lake.origin}`", AGAIN):
        added = [path] if write_rows(opened, path, made.to_batches()) else []
        opened.commit(added, opened.files(), "")

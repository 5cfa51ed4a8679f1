"""The ledger of migrations as Iceberg tables; ours are written whole each time, in one commit: they are small."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._bookkeeping import version_row
from schemactl.destinations._lake.files import write_rows
from schemactl.destinations._migration.ledger import KEYS, Ledger, Row
from schemactl.destinations.iceberg.address import wrap_errors
from schemactl.destinations.iceberg.bookkeeping import rows_of
from schemactl.destinations.iceberg.lake import IcebergLake
from schemactl.errors import DestinationError
from schemactl.schema.templates import LOADS_TABLE, VERSION_TABLE, loads_table, version_table
from schemactl.schema.types import Schema, Table

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression

AGAIN: Final = "run it again"
"""What to do where another program wrote at the same time."""

_METADATA: Final = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "9"}


@dataclass(frozen=True, slots=True)
class IcebergLedger(Ledger):
    """See ``Ledger``.

    Attributes:
        lake: the dataset.
    """

    lake: IcebergLake

    def read_rows(self, table: Table, run_id: str | None = None) -> list[dict[str, Any]]:
        return [row for row in self._rows(table, tuple(table.columns)) if run_id in (None, row["run_id"])]

    def replace_rows(self, table: Table, rows: Sequence[Row]) -> None:
        held = {tuple(row[key] for key in KEYS[table.name]): row for row in [*self.read_rows(table), *rows]}
        made = rows_of(table, [[row[name] for name in table.columns] for row in held.values()])
        opened = self.lake.open(table.name) or self.lake.create(table.name, list(made.schema), "", _METADATA)
        path = opened.new_file(f"{uuid.uuid4().hex}-00000.parquet")
        with wrap_errors(f"cannot write `{table.name}` of `{self.lake.origin}`", AGAIN):
            added = write_rows(opened, path, made.to_batches())
            opened.commit(added, opened.files(), "")

    def version_rows(self, version_hash: str | None = None) -> list[dict[str, Any]]:
        known = version_table()
        rows = self._rows(known, [name for name in known.columns if version_hash is not None or name != "schema"])
        ours = [row for row in rows if version_hash in (None, row["version_hash"])]
        return sorted(ours, key=lambda row: (row["inserted_at"], row["version"]), reverse=True)

    def replace_version(self, schema: Schema) -> None:
        new = rows_of(version_table(), [version_row(schema, datetime.now(UTC))])
        if self.lake.open(LOADS_TABLE) is None:
            self.lake.create(LOADS_TABLE, list(rows_of(loads_table(), []).schema), "")
        versions = self.lake.open(VERSION_TABLE) or self.lake.create(VERSION_TABLE, list(new.schema), "")
        with wrap_errors(f"cannot write `{VERSION_TABLE}` of `{self.lake.origin}`", AGAIN):
            if self._holds(schema.version_hash):
                versions.table.overwrite(new, _of_hash(schema.version_hash))
            else:
                versions.table.append(new)

    def remove_version(self, version_hash: str) -> None:
        versions = self.lake.open(VERSION_TABLE)
        if versions is not None and self._holds(version_hash):
            with wrap_errors(f"cannot write `{VERSION_TABLE}` of `{self.lake.origin}`", AGAIN):
                versions.table.delete(_of_hash(version_hash))

    def _holds(self, version_hash: str) -> bool:
        return any(row["version_hash"] == version_hash for row in self.version_rows())

    def _rows(self, table: Table, columns: Sequence[str]) -> list[dict[str, Any]]:
        opened = self.lake.open(table.name)
        if opened is None:
            return []
        if missing := set(columns) - set(opened.fields.names):
            what = f"has no column `{min(missing)}`: it is not one of ours"
            raise DestinationError(f"`{table.name}` of `{self.lake.origin}` {what}")
        with wrap_errors(f"cannot read `{table.name}` of `{self.lake.origin}`"):
            rows: list[dict[str, Any]] = opened.table.scan(selected_fields=tuple(columns)).to_arrow().to_pylist()
        return rows


def _of_hash(version_hash: str) -> BooleanExpression:
    from pyiceberg.expressions import EqualTo, Reference

    value: Any = version_hash
    return EqualTo(term=Reference("version_hash"), value=value)

"""The ledger of migrations as Iceberg tables; ours are written whole each time, in one commit: they are small."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schemactl.destinations._catalogue import OURS
from schemactl.destinations._lake.files import write_rows
from schemactl.destinations._migration.ledger import Ledger, keys_of
from schemactl.destinations.iceberg.address import wrap_errors
from schemactl.destinations.iceberg.lake import IcebergLake, arrow_rows, equals
from schemactl.schema.templates import VERSION_TABLE, version_table
from schemactl.schema.types import Table

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

    def read_rows(self, table: Table, /, **equal: str) -> list[dict[str, Any]]:
        return self.lake.read_rows(table, **equal)

    def replace_rows(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        if not table.name.startswith(OURS):
            self._replace_versions(table, rows)
            return
        held = {tuple(row[key] for key in keys_of(table)): row for row in [*self.read_rows(table), *rows]}
        made = arrow_rows(table, [[row[name] for name in table.columns] for row in held.values()])
        opened = self.lake.open(table.name) or self.lake.create(table.name, list(made.schema), "", _METADATA)
        path = opened.new_file(f"{uuid.uuid4().hex}-00000.parquet")
        with wrap_errors(f"write `{table.name}` of `{self.lake.origin}`", AGAIN):
            added = write_rows(opened, path, made.to_batches())
            opened.commit(added, opened.files(), "")

    def _replace_versions(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        new = arrow_rows(table, [tuple(row.values()) for row in rows])
        opened = self.lake.open(table.name) or self.lake.create(table.name, list(new.schema), "")
        for row in rows:
            same = {name: row[name] for name in keys_of(table)}
            with wrap_errors(f"write `{table.name}` of `{self.lake.origin}`", AGAIN):
                if opened.table.scan(row_filter=equals(same)).count():
                    opened.table.overwrite(new, equals(same))
                else:
                    opened.table.append(new)

    def remove_version(self, version_hash: str) -> None:
        with wrap_errors(f"write `{VERSION_TABLE}` of `{self.lake.origin}`", AGAIN):
            self.lake.remove_rows(version_table(), version_hash=version_hash)

"""A dataset of Iceberg tables that is open for migrating.

Each change of a table is one commit in its catalog. Earlier snapshots of a table can still be read until they expire.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any, Final

import pyarrow
import pyarrow.parquet
from pyiceberg.table import Transaction
from pyiceberg.table.metadata import TableMetadata

from schemactl.destinations import Catalogue
from schemactl.destinations._lake.files import GROUP_ROWS, Alter, grouped, split_by_partition
from schemactl.destinations._lake.migration import LakeMigration
from schemactl.destinations._lake.table import DataFile, in_fields
from schemactl.destinations._lake.types import arrow_type
from schemactl.destinations._migration.ledger import keys_of, latest_rows
from schemactl.destinations.iceberg.address import wrap_iceberg_errors
from schemactl.destinations.iceberg.catalogue import COMMENT, read_dataset
from schemactl.destinations.iceberg.lake import IcebergLake, arrow_rows, check_columns, equals
from schemactl.destinations.iceberg.table import (
    IcebergLakeTable,
    described,
    exchange_files,
    fields_of,
    iceberg_type,
    partitions_of_spec,
)
from schemactl.destinations.iceberg.types import new_kind
from schemactl.errors import DestinationError
from schemactl.migration.abilities import Abilities
from schemactl.migration.records import Blocker
from schemactl.migration.steps import (
    AddColumn,
    ChangeType,
    DescribeTable,
    DropColumn,
    DropNotNull,
    RenameColumn,
    SetNotNull,
    Step,
)
from schemactl.migration.ways import Way
from schemactl.schema.dispositions import named
from schemactl.schema.templates import VERSION_TABLE, version_table
from schemactl.schema.types import Column, Table

FILE_BYTES: Final = 128 * 2**20
"""How long a file becomes before the next one begins; pyiceberg reads a file into memory as a whole."""

AGAIN: Final = "run it again"
"""The hint if another program wrote at the same time."""

_RETRIES: Final = "commit.retry.num-retries"

_SMALL: Final = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "9"}
"""Iceberg's properties of tables of the ledger."""


@dataclass(frozen=True, slots=True)
class IcebergMigration(LakeMigration[IcebergLakeTable]):
    """A dataset that is open for migrating; see ``LakeMigration``.

    Tables of the ledger that are ours are written whole each time, in one commit: they are small.

    Attributes:
        attempt: the prefix of the names of new files.
    """

    abilities: Abilities
    lake: IcebergLake
    is_read_only: bool = False
    attempt: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def dataset(self) -> str:
        return self.lake.dataset

    @property
    def origin(self) -> str:
        return str(self.lake.address)

    def read_catalogue(self, is_read: Callable[[str], bool]) -> Catalogue:
        with wrap_iceberg_errors(f"read `{self.lake.origin}`"):
            return read_dataset(self.lake.catalog, self.dataset, self.lake.origin, is_read)

    def field(self, column: Column, _before: pyarrow.Field | None = None) -> pyarrow.Field:
        return pyarrow.field(column.name, arrow_type(new_kind(column)), column.nullable)

    def find_table_blocker(self, step: Step, way: Way) -> Blocker | None:
        opened = self.table(step.table_name)
        if way is Way.REWRITE and opened.blocker:
            message = f"`{opened.name}` {opened.blocker}"
            hint = "only catalog changes are supported: adding, renaming and dropping columns, widening numbers"
            return Blocker(message, hint)
        match step:
            case DropColumn():
                return _use_of(opened, step.column.name)
            case ChangeType() if way is Way.REWRITE:  # by a new column that replaces the old one
                return _use_of(opened, step.before.name)
            case _:
                return None

    def create(self, table: Table) -> None:
        columns = [self.field(column) for column in table.columns.values()]
        self.lake.create(table.name, columns, "", partitions=named(table, "partition"))

    def drop(self, table: str) -> None:
        self.table(table)
        self.lake.drop(table)

    def rename(self, before: str, after: str) -> None:
        namespace = self.lake.namespace
        with wrap_iceberg_errors(f"rename `{before}` of `{self.lake.origin}`", AGAIN):
            self.lake.catalog.rename_table((*namespace, before), (*namespace, after))

    def describe(self, step: DescribeTable) -> None:
        table = self.table(step.table).table
        texts = {column: text for column, text in step.after.items() if column}
        task = f"describe `{step.table}` of `{self.lake.origin}`"
        try:
            with wrap_iceberg_errors(task, AGAIN), table.transaction() as transaction:
                if "" in step.after and step.after[""] is None:
                    transaction.remove_properties(COMMENT)
                elif "" in step.after:
                    transaction.set_properties({COMMENT: step.after[""]})
                with transaction.update_schema() as update:
                    for column, text in texts.items():
                        update.update_column((column,), doc=text or "")
        except ValueError as error:  # a column that is missing
            raise DestinationError(f"cannot {task}: {error}") from error

    def alter(self, step: Step) -> None:
        name = step.table_name
        table = self.table(name)
        self.lake.begin_writing(self.attempt)  # claimed names may need files
        match step:
            case AddColumn():
                if not step.column.nullable and table.row_count():
                    raise DestinationError(f"`{name}` has rows without a value for `{step.column.name}`")
                table.claim_names([step.column.name], "")
            case RenameColumn():
                table.claim_names([step.after], "", step.before)
            case _:
                pass
        task = f"change `{name}` of `{self.lake.origin}`"
        try:
            # Iceberg calls it incompatible to forbid nulls, but a count has shown that there are no nulls.
            with wrap_iceberg_errors(task, AGAIN), table.table.update_schema(allow_incompatible_changes=True) as update:
                match step:
                    case AddColumn(_, column):
                        kind = iceberg_type(self.field(column).type)
                        update.add_column((column.name,), kind, required=not column.nullable)
                    case DropColumn(_, column):
                        update.delete_column((column.name,))
                    case RenameColumn():
                        update.rename_column((step.before,), step.after)
                    case ChangeType():
                        update.update_column((step.before.name,), iceberg_type(self.field(step.after).type))
                    case SetNotNull(_, column) | DropNotNull(_, column):
                        update.update_column((column.name,), required=isinstance(step, SetNotNull))
                    case _:
                        raise DestinationError(f"`{name}`: Iceberg cannot do this in place: {step.kind}")
        except ValueError as error:  # a name that is missing, or taken
            raise DestinationError(f"cannot {task}: {error}") from error

    def rewrite(self, table: IcebergLakeTable, fields: pyarrow.Schema, alter: Alter) -> None:
        self.lake.begin_writing(self.attempt)
        rewrite_table(self.lake, table, fields, map(alter, table.batches(table.fields.names)), self.attempt)

    def table(self, name: str) -> IcebergLakeTable:
        table = self.lake.open(name)
        if table is None:
            raise DestinationError(f"there is no table `{name}` in `{self.lake.origin}`")
        return table

    def read_rows(self, table: Table, /, **equal: str) -> list[dict[str, Any]]:
        return list(self.lake.read_rows(table, **equal))

    def replace_rows(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        all_rows = latest_rows(table, [*self.read_rows(table), *rows])
        arrow_table = arrow_rows(table, [[row[name] for name in table.columns] for row in all_rows])
        opened = self.lake.open(table.name) or self.lake.create(table.name, list(arrow_table.schema), "", _SMALL)
        with wrap_iceberg_errors(f"write `{table.name}` of `{self.lake.origin}`", AGAIN):
            self._write(opened, arrow_table, opened.files())

    def replace_dlt_rows(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        new = arrow_rows(table, [tuple(row.values()) for row in rows])
        opened = self.lake.open(table.name) or self.lake.create(table.name, list(new.schema), "")
        for row in rows:
            same = {name: row[name] for name in keys_of(table)}
            with wrap_iceberg_errors(f"write `{table.name}` of `{self.lake.origin}`", AGAIN):
                if opened.table.scan(row_filter=equals(same)).count():
                    opened.table.overwrite(new, equals(same))
                else:
                    check_columns(opened, new)
                    self._write(opened, new)

    def _write(self, table: IcebergLakeTable, rows: pyarrow.Table, removed: Sequence[DataFile] = ()) -> None:
        self.lake.begin_writing(self.attempt)
        self.lake.append_rows(table, rows, f"{self.attempt}-{uuid.uuid4().hex}", removed=removed)

    def remove_version(self, version_hash: str) -> None:
        with wrap_iceberg_errors(f"write `{VERSION_TABLE}` of `{self.lake.origin}`", AGAIN):
            self.lake.remove_rows(version_table(), version_hash=version_hash)


def _use_of(table: IcebergLakeTable, name: str) -> Blocker | None:
    """Return the blocker that prevents changes of a column: partitions, the order of rows or the key of the table."""
    iceberg_table = table.table
    field = next((field for field in iceberg_table.schema().fields if field.name == name), None)
    used_ids = {
        "partitions": {field.source_id for spec in iceberg_table.specs().values() for field in spec.fields},
        "order of rows": {field.source_id for field in iceberg_table.sort_order().fields},
        "identifier fields": set(iceberg_table.schema().identifier_field_ids),
    }
    use = next((use for use, ids in used_ids.items() if field is not None and field.field_id in ids), None)
    message = f"column `{name}` of `{table.name}` stays as it is: the table's {use} need it"
    return None if use is None else Blocker(message)


def rewrite_table(
    lake: IcebergLake,
    table: IcebergLakeTable,
    fields: pyarrow.Schema,
    batches: Iterator[pyarrow.RecordBatch],
    attempt: str,
) -> None:
    """Replace all rows and columns of a table in one commit; names of new files begin with ``attempt``.

    Columns whose type changes, and new columns, are new columns for Iceberg, with new ids. It fails if the table has a
    later commit than the one that the rows were read from; then the table is unchanged.
    """
    iceberg_table = table.table
    # A retry would keep rows that another program has appended meanwhile, in columns that are gone.
    iceberg_table.metadata.properties[_RETRIES] = "0"
    try:
        removed = table.files()
        with wrap_iceberg_errors(f"rewrite `{table.name}`", AGAIN), iceberg_table.transaction() as transaction:
            _restructure(transaction, table, fields)
            metadata = transaction.table_metadata
            new = [described(iceberg_table.io, metadata, path) for path in _write(table, metadata, batches, attempt)]
            if new or removed:
                exchange_files(transaction.update_snapshot(), removed, new)
    except BaseException:
        with suppress(DestinationError):  # the first error is reported
            lake.discard_uncommitted(attempt)
        raise


def _restructure(transaction: Transaction, table: IcebergLakeTable, fields: pyarrow.Schema) -> None:
    """Bring the columns of a table to ``fields``; each keeps its place."""
    existing_fields = {field.name: field for field in table.fields}
    changed = [
        field for field in fields if field.name in existing_fields and field.type != existing_fields[field.name].type
    ]
    dropped = [name for name in existing_fields if name not in fields.names]
    docs = {field.name: field.doc for field in table.table.schema().fields}
    used_names = {*existing_fields, *fields.names}
    former = {
        field.name: next(name for number in count() if (name := f"{field.name}__gone_{number}") not in used_names)
        for field in changed
    }
    with transaction.update_schema(allow_incompatible_changes=True) as update:
        for before, after in former.items():
            update.rename_column((before,), after)
    with transaction.update_schema(allow_incompatible_changes=True) as update:
        for field in fields:
            if field.name not in existing_fields or field.name in former:
                update.add_column(
                    (field.name,), iceberg_type(field.type), docs.get(field.name), required=not field.nullable
                )
            elif field.nullable != existing_fields[field.name].nullable:
                update.update_column((field.name,), required=not field.nullable)
            if field.name in former:
                update.move_after((field.name,), (former[field.name],))
    with transaction.update_schema(allow_incompatible_changes=True) as update:
        for name in (*dropped, *former.values()):
            update.delete_column((name,))


def _write(
    table: IcebergLakeTable, metadata: TableMetadata, batches: Iterator[pyarrow.RecordBatch], attempt: str
) -> Iterator[str]:
    """Yield new files of the rows; a file is at most ``FILE_BYTES`` and one group of rows long."""
    fields, partitions = fields_of(metadata), partitions_of_spec(metadata)
    table_batches = (in_fields(batch, fields) for batch in batches if batch.num_rows)
    groups = split_by_partition(table_batches, partitions) if partitions else grouped(table_batches, GROUP_ROWS)
    for number, first in enumerate(groups):
        path = table.new_file(f"{attempt}-{uuid.uuid4().hex}-{number:05}.parquet")
        with table.write(path) as out, pyarrow.parquet.ParquetWriter(out, fields, compression="zstd") as writer:
            for group in (first,) if partitions else chain((first,), groups):
                writer.write_table(group)
                if out.tell() >= FILE_BYTES:
                    break
        yield path

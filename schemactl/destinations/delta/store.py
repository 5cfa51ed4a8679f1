"""A dataset of Delta tables as migrations see it; see ``destinations._lake.store.LakeStore``.

Each change of a table is one commit of its own, so earlier versions of the table can still be read (time travel) until
a vacuum. What stands in a table's folder and in no commit, as a killed rewrite leaves it, is what a vacuum removes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._catalogue import Catalogue, schema_name
from schemactl.destinations._lake.sampling import Sampled, group_sizes, sample
from schemactl.destinations._lake.types import arrow_type
from schemactl.destinations._migration.records import Hindrance, Run, StepRecord, Version
from schemactl.destinations.delta.address import tables_in
from schemactl.destinations.delta.catalogue import catalogue_of, new_kind, wrap_errors
from schemactl.destinations.delta.folders import WORKSHOP, clear, make_table, remove_table
from schemactl.destinations.delta.lake import DeltaLake, DeltaLakeTable, allow_local_timestamps
from schemactl.destinations.delta.rewriting import (
    AGAIN,
    commented,
    delta_fields,
    demand_of,
    failing_as_itself,
    fields_of,
    hindrance,
    in_fields,
    read_batches,
)
from schemactl.destinations.parquet import ledger
from schemactl.errors import DestinationError, InputError
from schemactl.migration.abilities import Way
from schemactl.migration.steps import (
    AddColumn,
    CreateTable,
    DropNotNull,
    DropTable,
    RenameTable,
    Step,
    table_of,
)
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.dataset
    from deltalake import CommitProperties, DeltaTable

MARK: Final = "schemactlMigration"
"""Where a commit says that it belongs to a migration, and what it does."""


@dataclass(frozen=True, slots=True)
class DeltaStore:
    """See ``destinations._lake.store.LakeStore``.

    Attributes:
        folder: the dataset's.
        is_read_only: whether nothing may be written.
        read: the version of each table that its rows were last read of. A rewrite replaces this version and no other:
            where another program has committed since, it fails, and rows of that program stay.
    """

    folder: Path
    is_read_only: bool = False
    read: dict[str, DeltaTable] = field(default_factory=dict, compare=False)

    @property
    def dataset(self) -> str:
        return self.folder.name or self.folder.resolve().name

    @property
    def origin(self) -> str:
        return f"delta:{self.folder.parent if self.folder.name else self.folder.resolve().parent}"

    def catalogue(self) -> Catalogue:
        if self.folder.is_dir() and tables_in(self.folder):
            return catalogue_of(self.folder)
        empty = replace(new_schema(schema_name((), self.dataset)), tables={})
        return Catalogue(empty, f"delta:{self.folder}")

    def fields(self, table: str) -> pyarrow.Schema:
        return fields_of(self._open(table).table)

    def field(self, column: Column, before: pyarrow.Field | None = None) -> pyarrow.Field:
        import pyarrow

        if DATABASE_TYPE in column.properties:
            kind = column.properties[DATABASE_TYPE]
            raise DestinationError(f"no column of type `{kind}` can be made, as dlt has no such type: `{column.name}`")
        made = pyarrow.field(column.name, arrow_type(new_kind(column)), nullable=column.nullable)
        return made if before is None else commented(made, before)

    def row_count(self, table: str) -> int:
        import pyarrow

        opened = self._open(table).table
        with wrap_errors(f"cannot count the rows of `{self.folder / table}`", AGAIN):
            counts = pyarrow.table(opened.get_add_actions())["num_records"].to_pylist()
            # Whether a commit says how many rows a file has is up to its writer.
            return opened.to_pyarrow_dataset().count_rows() if None in counts else sum(counts)

    def batches(self, table: str, columns: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
        opened = self.read[table] = self._open(table).table
        return read_batches(self.folder / table, self._rows(table, opened), _chosen(opened, columns))

    def sample(self, table: str, columns: Sequence[str], share: float) -> Iterator[pyarrow.RecordBatch]:
        opened = self._open(table).table
        rows, wanted, place = self._rows(table, opened), _chosen(opened, columns), self.folder / table
        with wrap_errors(f"cannot read `{place}`", AGAIN):
            fragments = sorted(rows.get_fragments(), key=lambda each: each.path)
            yield from sample((_sampled(place, rows, fragment, wanted) for fragment in fragments), share)

    def _rows(self, table: str, opened: DeltaTable) -> pyarrow.dataset.Dataset:
        import pyarrow.fs

        place = self.folder / table
        with wrap_errors(f"cannot read `{place}`", AGAIN):
            # A rewrite pulls rows from within delta-rs, where its own file system must not be called again.
            local = pyarrow.fs.SubTreeFileSystem(str(place.absolute()), pyarrow.fs.LocalFileSystem())
            return opened.to_pyarrow_dataset(filesystem=local)

    def obstacle(self, step: Step, way: Way) -> Hindrance | None:
        if isinstance(step, CreateTable | DropTable | RenameTable):
            return None
        table = self._open(table_of(step))
        return hindrance(table, step, self.field) if way is Way.REWRITE else demand_of(table)

    def disagreement(self, table: str) -> Hindrance | None:  # noqa: ARG002 - the Protocol's
        """Return None: the table says what its files have."""
        return None

    def create(self, table: Table) -> None:
        lake = self._writing()
        if lake.open(table.name) is not None:
            raise DestinationError(f"there is a table `{table.name}` in `{self.folder}` already")
        fields = delta_fields([self.field(column) for column in table.columns.values() if column.is_complete])
        with wrap_errors(f"cannot make the Delta table `{lake.place(table.name)}`", AGAIN):
            make_table(lake.place(table.name), fields, _mark("create table"))

    def drop(self, table: str) -> None:
        place = self._writing().place(table)
        with wrap_errors(f"cannot remove `{place}`", AGAIN):
            remove_table(place)
        self.read.pop(table, None)

    def rename(self, before: str, after: str) -> None:
        lake = self._writing()
        if lake.open(after) is not None and not _is_same(lake.place(before), lake.place(after)):
            raise DestinationError(f"there is a table `{after}` in `{self.folder}` already")
        with wrap_errors(f"cannot rename `{lake.place(before)}`", AGAIN):
            os.replace(lake.place(before), lake.place(after))  # noqa: PTH105 - in one step, as files are replaced
        self.read.pop(before, None)

    def alter(self, step: Step) -> None:
        from deltalake import Field

        self._writing()
        match step:
            case AddColumn(table, column):
                new = self.field(column)
                opened, mark = self._open(table).table, _mark("add column")
                with wrap_errors(f"cannot add `{column.name}` to `{self.folder / table}`", AGAIN):
                    allow_local_timestamps(opened, [new], mark)
                    opened.alter.add_columns(Field.from_arrow(new), commit_properties=mark)
            case DropNotNull(table, column):
                opened = self._open(table).table
                with wrap_errors(f"cannot allow nulls in `{column.name}` of `{self.folder / table}`", AGAIN):
                    opened.alter.drop_column_not_null(column.name, commit_properties=_mark("allow nulls"))
            case _:
                raise DestinationError(f"Delta does not do this by its log alone: {step}")
        self.read.pop(table, None)

    def rewrite(self, table: str, fields: pyarrow.Schema, batches: Iterator[pyarrow.RecordBatch]) -> None:
        import pyarrow
        from deltalake import write_deltalake

        self._writing()
        opened = self.read.pop(table, None) or self._open(table).table
        delta_fields(fields)
        with failing_as_itself(in_fields(batches, fields)) as rows, wrap_errors(f"cannot rewrite `{table}`", AGAIN):
            write_deltalake(
                opened,
                pyarrow.RecordBatchReader.from_batches(fields, rows),
                mode="overwrite",
                schema_mode="overwrite",
                partition_by=list(opened.metadata().partition_columns) or None,
                commit_properties=_mark("rewrite"),
            )

    def runs(self) -> tuple[Run, ...]:
        return ledger.read_runs(self.folder)

    def steps(self, run_id: str) -> tuple[StepRecord, ...]:
        return ledger.read_steps(self.folder, run_id)

    def write_run(self, run: Run) -> None:
        self._writing()
        ledger.write_run(self.folder, run)

    def write_steps(self, steps: Sequence[StepRecord]) -> None:
        self._writing()
        ledger.write_steps(self.folder, steps)

    def versions(self, schema_name: str | None = None) -> tuple[Version, ...]:
        return ledger.read_versions(self.folder, schema_name)

    def schema_of(self, version_hash: str) -> Schema | None:
        return ledger.read_schema(self.folder, version_hash)

    def write_version(self, schema: Schema) -> None:
        self._writing()
        ledger.write_version(self.folder, schema)

    def forget_version(self, version_hash: str) -> None:
        self._writing()
        ledger.forget_version(self.folder, version_hash)

    def _writing(self) -> DeltaLake:
        if self.is_read_only:
            raise InputError("a session that only reads writes nothing")
        return DeltaLake(self.folder)

    def _open(self, table: str) -> DeltaLakeTable:
        found = DeltaLake(self.folder).open(table)
        if found is None:
            raise DestinationError(f"there is no Delta table `{table}` in `{self.folder}`")
        return found


def remove_leftovers(folder: Path) -> None:
    """Remove what a killed migration left of tables that it made or removed; call it while nobody else can write.

    Raises:
        DestinationError: it cannot be removed.
    """
    with wrap_errors(f"cannot remove `{folder / WORKSHOP}`", AGAIN):
        clear(folder / WORKSHOP)


def _chosen(table: DeltaTable, columns: Sequence[str]) -> pyarrow.Schema:
    import pyarrow

    fields = fields_of(table)
    return pyarrow.schema([fields.field(name) for name in columns])


def _sampled(place: Path, rows: pyarrow.dataset.Dataset, fragment: Any, wanted: pyarrow.Schema) -> Sampled:
    """Return a file of a table; what the log alone says of it (partitions) is read with its rows."""
    import pyarrow.dataset

    def read(groups: tuple[int, ...]) -> Iterator[pyarrow.RecordBatch]:
        part = fragment.subset(row_group_ids=list(groups))
        held = pyarrow.dataset.FileSystemDataset([part], rows.schema, rows.format, rows.filesystem)
        return read_batches(place, held, wanted)

    return Sampled(group_sizes(fragment.metadata), read)


def _mark(what: str) -> CommitProperties:
    """Return what a commit says of itself; it is not tried again where another program was faster.

    A second try would keep rows of the other program that are in no order with ours: under the old names and types.
    """
    from deltalake import CommitProperties

    return CommitProperties(custom_metadata={MARK: what}, max_commit_retries=0)


def _is_same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)

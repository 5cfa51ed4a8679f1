"""A dataset of Iceberg tables as migrations see it; see ``destinations._lake.store.LakeStore``.

Each change of a table is one commit in its catalog. Earlier snapshots of a table can still be read until somebody
expires them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from schemactl.destinations._catalogue import Catalogue
from schemactl.destinations._lake.sampling import Sampled, group_sizes, has_plainly, read_groups, sample
from schemactl.destinations._lake.table import DataFile
from schemactl.destinations._migration.records import Hindrance, Run, StepRecord, Version
from schemactl.destinations.iceberg import ledger
from schemactl.destinations.iceberg.address import wrap_errors
from schemactl.destinations.iceberg.altering import edit_of, field_of, hindrance
from schemactl.destinations.iceberg.catalogue import read_dataset
from schemactl.destinations.iceberg.lake import IcebergLake
from schemactl.destinations.iceberg.ledger import AGAIN
from schemactl.destinations.iceberg.rewriting import rewrite_table
from schemactl.destinations.iceberg.table import IcebergLakeTable
from schemactl.errors import DestinationError
from schemactl.migration.abilities import Way
from schemactl.migration.steps import AddColumn, CreateTable, DropTable, RenameColumn, RenameTable, Step, table_of
from schemactl.schema.types import Column, Schema, Table

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, slots=True)
class IcebergStore:
    """See ``destinations._lake.store.LakeStore``.

    Attributes:
        lake: the dataset.
        read: each table as of the commit that its rows were last read of. A rewrite follows this commit and no other:
            where another program has committed since, it fails.
    """

    lake: IcebergLake
    read: dict[str, IcebergLakeTable] = field(default_factory=dict, compare=False)

    @property
    def dataset(self) -> str:
        return self.lake.dataset

    @property
    def origin(self) -> str:
        return str(self.lake.address)

    def catalogue(self) -> Catalogue:
        with wrap_errors(f"cannot read `{self.lake.origin}`"):
            return read_dataset(self.lake.catalog, self.dataset, self.lake.origin)

    def fields(self, table: str) -> pyarrow.Schema:
        return self._open(table).fields

    def field(self, column: Column, _before: pyarrow.Field | None = None) -> pyarrow.Field:
        return field_of(column)

    def row_count(self, table: str) -> int:
        opened = self._open(table)
        with wrap_errors(f"cannot count the rows of `{table}`"):
            return opened.table.scan().count()

    def batches(self, table: str, columns: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
        opened = self.read[table] = self._open(table)
        return _batches(opened, opened.files(), _chosen(opened, columns))

    def sample(self, table: str, columns: Sequence[str], share: float) -> Iterator[pyarrow.RecordBatch]:
        opened = self._open(table)
        wanted = _chosen(opened, columns)
        with wrap_errors(f"cannot read `{table}`"):
            yield from sample((_sampled(opened, file, wanted) for file in opened.files()), share)

    def obstacle(self, step: Step, way: Way) -> Hindrance | None:
        if isinstance(step, CreateTable | DropTable | RenameTable):
            return None
        return hindrance(self._open(table_of(step)), step, way)

    def disagreement(self, table: str) -> Hindrance | None:  # noqa: ARG002 - the Protocol's
        """Return None: the table says what its files have."""
        return None

    def create(self, table: Table) -> None:
        columns = [field_of(column) for column in table.columns.values() if column.is_complete]
        self.lake.create(table.name, columns, "")

    def drop(self, table: str) -> None:
        self._open(table)
        self.lake.drop(table)

    def rename(self, before: str, after: str) -> None:
        namespace = self.lake.namespace
        with wrap_errors(f"cannot rename `{before}` of `{self.lake.origin}`", AGAIN):
            self.lake.catalog.rename_table((*namespace, before), (*namespace, after))

    def alter(self, step: Step) -> None:
        name = table_of(step)
        table = self._open(name)
        match step:
            case AddColumn():
                self._check_nulls(table, step.column)
                table.claim_names([step.column.name], "")
            case RenameColumn():
                table.claim_names([step.after], "", step.before)
            case _:
                pass
        edit = edit_of(step, table)
        # Iceberg calls it incompatible to forbid nulls: that there are none was counted.
        what = f"cannot change `{name}` of `{self.lake.origin}`"
        try:
            with wrap_errors(what, AGAIN), table.table.update_schema(allow_incompatible_changes=True) as update:
                edit(update)
        except ValueError as error:  # a name that is missing, or taken
            raise DestinationError(f"{what}: {error}") from error

    def rewrite(self, table: str, fields: pyarrow.Schema, batches: Iterator[pyarrow.RecordBatch]) -> None:
        opened = self.read.pop(table) if table in self.read else self._open(table)
        rewrite_table(self.lake, opened, fields, batches)

    def runs(self) -> tuple[Run, ...]:
        return ledger.read_runs(self.lake)

    def steps(self, run_id: str) -> tuple[StepRecord, ...]:
        return ledger.read_steps(self.lake, run_id)

    def write_run(self, run: Run) -> None:
        ledger.write_run(self.lake, run)

    def write_steps(self, steps: Sequence[StepRecord]) -> None:
        ledger.write_steps(self.lake, steps)

    def versions(self, schema_name: str | None = None) -> tuple[Version, ...]:
        return ledger.read_versions(self.lake, schema_name)

    def schema_of(self, version_hash: str) -> Schema | None:
        return ledger.read_schema(self.lake, version_hash)

    def write_version(self, schema: Schema) -> None:
        ledger.write_version(self.lake, schema)

    def forget_version(self, version_hash: str) -> None:
        ledger.forget_version(self.lake, version_hash)

    def _open(self, table: str) -> IcebergLakeTable:
        found = self.lake.open(table)
        if found is None:
            raise DestinationError(f"there is no table `{table}` in `{self.lake.origin}`")
        return found

    def _check_nulls(self, table: IcebergLakeTable, column: Column) -> None:
        if not column.nullable and self.row_count(table.name):
            raise DestinationError(f"`{table.name}` has rows, which have no value for `{column.name}`")


def _chosen(table: IcebergLakeTable, columns: Sequence[str]) -> pyarrow.Schema:
    import pyarrow

    return pyarrow.schema([table.fields.field(name) for name in columns])


def _sampled(table: IcebergLakeTable, file: DataFile, wanted: pyarrow.Schema) -> Sampled:
    """Return a file of a table; where pyiceberg has more to do than to read columns, it is read as a whole."""
    import pyarrow.parquet
    from pyiceberg.io.pyarrow import pyarrow_to_schema
    from pyiceberg.manifest import FileFormat

    whole = Sampled((file.handle.file.record_count,), lambda _: _batches(table, [file], wanted))
    if file.handle.delete_files or file.handle.file.file_format != FileFormat.PARQUET:
        return whole
    source = table.table.io.new_input(file.path)
    with source.open() as stream:
        footer = pyarrow.parquet.read_metadata(stream)
    held = footer.schema.to_arrow_schema()
    # Columns are known by their ids; their names in a file may be former ones.
    known = pyarrow_to_schema(held, table.table.name_mapping(), downcast_ns_timestamp_to_us=True)
    ids = {each.name: table.table.schema().find_field(each.name).field_id for each in wanted}
    names = {name: known.find_column_name(number) for name, number in ids.items()}
    if not has_plainly(held, names, wanted):
        return whole

    def read(groups: tuple[int, ...]) -> Iterator[pyarrow.RecordBatch]:
        with source.open() as stream:
            yield from read_groups(stream, groups, names, wanted)

    return Sampled(group_sizes(footer), read)


def _batches(
    table: IcebergLakeTable, files: Sequence[DataFile], wanted: pyarrow.Schema
) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow

    for file in files:
        for batch in table.read(file, wanted.names):
            values = [batch.column(each.name).cast(each.type) for each in wanted]
            yield pyarrow.RecordBatch.from_arrays(values, schema=wanted)

"""Migrations of Iceberg tables: what Iceberg can do, its statements, and a session on a dataset.

Each change of a table is one commit in its catalog. Earlier snapshots of a table can still be read until somebody
expires them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from schemactl.destinations._catalogue import Catalogue, choose_dataset
from schemactl.destinations._lake import rendering
from schemactl.destinations._lake.load import settle
from schemactl.destinations._lake.lock import check_writable, holding
from schemactl.destinations._lake.migration import LakeMigration
from schemactl.destinations._lake.sampling import Sampled, group_sizes, has_plainly, read_groups, sample
from schemactl.destinations._lake.table import DataFile
from schemactl.destinations._migration.records import NO_PATIENCE, Hindrance, Patience
from schemactl.destinations._structure import gained_by_ddl
from schemactl.destinations.iceberg.address import Address, lock_folder, open_catalog, read_address, wrap_errors
from schemactl.destinations.iceberg.altering import edit_of, field_of, hindrance, way_of_retype
from schemactl.destinations.iceberg.catalogue import (
    NAMES,
    datasets_in,
    holds_tables_without_catalogue,
    is_loaded_with,
    read_dataset,
    tables_in,
)
from schemactl.destinations.iceberg.lake import WIDENS, IcebergLake
from schemactl.destinations.iceberg.ledger import AGAIN, IcebergLedger
from schemactl.destinations.iceberg.rewriting import end_rewriting, rewrite_table
from schemactl.destinations.iceberg.table import IcebergLakeTable
from schemactl.errors import DestinationError, InputError
from schemactl.migration.abilities import Abilities, Way
from schemactl.migration.steps import AddColumn, CreateTable, DropTable, RenameColumn, RenameTable, Step, table_of
from schemactl.schema.types import Column, Table

if TYPE_CHECKING:
    import pyarrow
    from pyiceberg.catalog import Catalog

ABILITIES: Final = Abilities(
    transactional_ddl=False,
    retype=way_of_retype,
    add_unique=Way.NONE,
    drop_unique=Way.NONE,
    add_primary_key=Way.NONE,
    drop_primary_key=Way.NONE,
    names=NAMES,
    gains=partial(gained_by_ddl, wider=WIDENS),
)


def render(step: Step, table: Table | None, dataset: str) -> tuple[str, ...]:
    """Return a step as people read SQL; see ``destinations.Migrator``."""
    return rendering.render(step, table, dataset, ABILITIES)


@dataclass(frozen=True, slots=True)
class IcebergMigration(LakeMigration, IcebergLedger):
    """A dataset that is open for migrating; see ``destinations._lake.store.LakeStore``.

    Attributes:
        lake: the dataset.
        is_read_only: whether nothing may be written.
        read: each table as of the commit that its rows were last read of. A rewrite follows this commit and no other:
            where another program has committed since, it fails.
    """

    is_read_only: bool = False
    read: dict[str, IcebergLakeTable] = field(default_factory=dict, compare=False)

    @property
    def abilities(self) -> Abilities:
        return ABILITIES

    @property
    def dataset(self) -> str:
        return self.lake.dataset

    @property
    def origin(self) -> str:
        return str(self.lake.address)

    def read_catalogue(self) -> Catalogue:
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

    def refusal(self, step: Step, way: Way) -> Hindrance | None:
        if isinstance(step, CreateTable | DropTable | RenameTable):
            return None
        return hindrance(self._open(table_of(step)), step, way)

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


@contextmanager
def connect(
    url: str,
    schema_name: str,
    *,
    patience: Patience = NO_PATIENCE,
    is_read_only: bool = False,
    may_be_new: bool = False,
) -> Iterator[IcebergMigration]:
    """Open a dataset for migrating; what a killed load or rewrite has left is undone first.

    Loads and migrations keep each other out, those of one machine where the catalog is of `.pyiceberg.yaml`. See
    ``destinations.Migrator``.
    """
    address = read_address(url)
    _check_place(address, schema_name)
    with ExitStack() as held:
        if not is_read_only:
            if address.folder is not None:
                check_writable(address.folder)
            held.enter_context(holding(lock_folder(address), patience.seconds))
        catalog = _open(address, is_read_only=is_read_only, may_be_new=may_be_new)
        if hasattr(catalog, "close"):
            held.enter_context(closing(catalog))
        with wrap_errors(f"cannot read `{address}`"):
            lake = IcebergLake(address, catalog, _choose(address, schema_name, catalog))
        if not is_read_only:
            settle(lake)
            end_rewriting(lake)
        yield IcebergMigration(lake, is_read_only)


def _check_place(address: Address, schema_name: str) -> None:
    """Refuse what dlt's filesystem makes."""
    if address.folder is None or address.database is None or address.database.is_file():
        return
    known = (address.folder, address.folder / (address.dataset or schema_name))
    if any(holds_tables_without_catalogue(each) for each in known):
        raise DestinationError(
            f"the tables in `{address.folder}` were made by dlt, without a catalog, and are not migrated so",
            hint="register them in a catalog: iceberg:CATALOG?dataset=NAME",
        )


def _open(address: Address, *, is_read_only: bool, may_be_new: bool) -> Catalog:
    is_there = address.database is None or address.database.is_file()
    if not is_read_only or is_there:
        return open_catalog(address, is_written=not is_read_only)
    if not may_be_new:
        raise InputError(f"there is no catalog `{address.database}`")
    return _empty_catalog()


def _empty_catalog() -> Catalog:
    """Return a catalog in memory, in the place of one that is not there yet."""
    from pyiceberg.catalog.sql import SqlCatalog

    return SqlCatalog("none", uri="sqlite:///:memory:")


def _choose(address: Address, schema_name: str, catalog: Catalog) -> str:
    """Return the dataset that is meant: the one asked for, that of the schema, the only one with tables, a new one.

    Raises:
        InputError: it may be one of several.
    """
    if address.dataset is not None:
        return address.dataset
    known = [name for name in datasets_in(catalog) if tables_in(catalog, name)]
    loaded = [name for name in known if is_loaded_with(catalog, name, schema_name)]
    if len(loaded) == 1:
        return loaded[0]
    return choose_dataset(known, None, str(address)) if known else schema_name

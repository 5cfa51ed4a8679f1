"""Migrations of Delta tables: the abilities of delta-rs, the statements for people, and a session on a dataset.

New columns and allowed nulls are written into a table's log. Any other change of columns rewrites the table in one
commit: without it, names and types would differ from the files', which needs column mapping and type widening that
delta-rs cannot write. Each change of a table is a separate commit, so earlier versions of the table can still be read
(time travel) until a vacuum. A killed rewrite leaves files in a table's folder that are in no commit; a vacuum removes
them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from schemactl.destinations import Catalogue
from schemactl.destinations._address import folder_address
from schemactl.destinations._catalogue import make_catalogue
from schemactl.destinations._lake.files import Alter
from schemactl.destinations._lake.load import recover
from schemactl.destinations._lake.lock import check_writable
from schemactl.destinations._lake.migration import LakeMigration, render_step
from schemactl.destinations._lake.types import are_structures, arrow_type
from schemactl.destinations._structure import gained_by_ddl
from schemactl.destinations.delta.catalogue import COMMENT, catalogue_of, dataset_to_write, tables_in, wrap_delta_errors
from schemactl.destinations.delta.lake import DeltaLake, DeltaLakeTable, add_fields, check_name, make_table
from schemactl.destinations.delta.load import require_driver
from schemactl.destinations.delta.types import NAMES, new_kind, settle
from schemactl.destinations.parquet.bookkeeping import FolderLedger
from schemactl.errors import DestinationError, InputError, SchemactlError
from schemactl.migration.abilities import ON_FILES, Abilities
from schemactl.migration.records import NO_PATIENCE, Blocker, Patience
from schemactl.migration.steps import (
    AddColumn,
    ChangeType,
    CreateTable,
    DescribeTable,
    DropColumn,
    DropNotNull,
    RenameColumn,
    RenameTable,
    Step,
)
from schemactl.migration.ways import Way
from schemactl.schema.dispositions import named
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, Table
from schemactl.type_systems.arrow_types import plain_type

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.dataset
    from deltalake import CommitProperties


def _retype(before: Column, after: Column) -> Way:
    # Delta's own types (arrays ...) come from existing columns; no step creates them.
    is_created = DATABASE_TYPE in after.properties and not are_structures(before, after)
    return Way.NONE if is_created else Way.REWRITE


ABILITIES: Final[Abilities] = replace(
    ON_FILES,
    drop_column=Way.REWRITE,
    rename_column=Way.REWRITE,
    retype=_retype,
    set_not_null=Way.REWRITE,
    names=NAMES,
    settle=settle,
    describe_table=Way.IN_PLACE,
    gains=gained_by_ddl,
    keeps_dlt_tables=False,
    rewrites=lambda step, _: step.writes_all(ABILITIES),
)


def render(step: Step, table: Table | None, dataset: str) -> tuple[str, ...]:
    """Return the statements of a step as people read them; see ``destinations.Migrator``."""
    statements = render_step(step, table, dataset, ABILITIES)
    new = step.table.name if isinstance(step, CreateTable) else step.after if isinstance(step, RenameTable) else None
    if new is not None:
        try:
            check_name(new)
        except DestinationError as error:
            raise InputError(error.message, hint=error.hint) from error
    return statements


MARK: Final = "schemactlMigration"
"""The metadata key of a commit for the step of a migration that it belongs to."""


@dataclass(frozen=True, slots=True)
class DeltaMigration(LakeMigration[DeltaLakeTable], FolderLedger):
    """A dataset that is open for migrating; see ``LakeMigration``."""

    is_read_only: bool = False
    abilities: Abilities = ABILITIES

    @property
    def dataset(self) -> str:
        return self.folder.name or self.folder.resolve().name

    @property
    def origin(self) -> str:
        return f"delta:{self.folder.parent if self.folder.name else self.folder.resolve().parent}"

    def read_catalogue(self, is_read: Callable[[str], bool]) -> Catalogue:
        if not tables_in(self.folder):
            return make_catalogue(self.dataset, self.lake.origin)
        return catalogue_of(self.folder, is_read)

    @property
    def lake(self) -> DeltaLake:
        """The dataset as loads see it."""
        return DeltaLake(self.folder)

    def field(self, column: Column, before: pyarrow.Field | None = None) -> pyarrow.Field:
        import pyarrow

        field = pyarrow.field(column.name, arrow_type(new_kind(column)), nullable=column.nullable)
        # Other metadata of the former column may be about its type.
        comment = None if before is None else (before.metadata or {}).get(COMMENT.encode())
        return field if comment is None else field.with_metadata({COMMENT: comment})

    def find_table_blocker(self, step: Step, way: Way) -> Blocker | None:
        table = step.table_name
        opened, location = self.table(table), f"`{table}` in `{self.folder}`"
        if opened.unsupported_feature is not None:
            return Blocker(f"{location} {opened.unsupported_feature}")
        if way is not Way.REWRITE:
            return None
        if opened.table.metadata().configuration.get("delta.appendOnly") == "true":
            hint = "set its property `delta.appendOnly` to false, then migrate again"
            return Blocker(f"{location} is append-only, but this step rewrites it", hint)
        match step:
            case DropColumn():
                changed = step.column.name
            case RenameColumn():
                changed = step.before
            case ChangeType():
                changed = step.before.name
            case _:
                return None
        if changed not in opened.partitions:
            return None
        # A type with the same values in files leaves the names of partitions as they are.
        if isinstance(step, ChangeType) and self.field(step.after).type == opened.fields.field(changed).type:
            return None
        message = f"{location} is partitioned by `{changed}`, whose name and type cannot change"
        return Blocker(message, "create a table with other partitions, and load it again")

    def create(self, table: Table) -> None:
        lake = self.lake
        if lake.open(table.name) is not None:
            raise DestinationError(f"`{self.folder}` already has a table `{table.name}`")
        fields = delta_fields([self.field(column) for column in table.columns.values()])
        with wrap_delta_errors(f"create the Delta table `{lake.place(table.name)}`", AGAIN):
            make_table(lake.place(table.name), fields, named(table, "partition"), _mark("create table"))

    def drop(self, table: str) -> None:
        self.lake.drop(table)

    def rename(self, before: str, after: str) -> None:
        old, new = self.lake.place(before), self.lake.place(after)
        # If names ignore case, a name may be another spelling of the same.
        if self.lake.open(after) is not None and not (old.exists() and old.samefile(new)):
            raise DestinationError(f"`{self.folder}` already has a table `{after}`")
        with wrap_delta_errors(f"rename `{old}`", AGAIN):
            os.replace(old, new)  # noqa: PTH105 - in one step, as files are replaced

    def describe(self, step: DescribeTable) -> None:
        mark = _mark("describe")
        with wrap_delta_errors(f"describe `{self.folder / step.table}`", AGAIN):
            for column, text in step.after.items():
                opened = self.table(step.table).table
                if column:
                    opened.alter.set_column_metadata(column, {COMMENT: text or ""}, commit_properties=mark)
                else:
                    opened.alter.set_table_description(text or "", commit_properties=mark)

    def alter(self, step: Step) -> None:
        match step:
            case AddColumn(table, column):
                opened = self.table(table).table
                with wrap_delta_errors(f"add `{column.name}` to `{self.folder / table}`", AGAIN):
                    add_fields(opened, [self.field(column)], _mark("add column"))
            case DropNotNull(table, column):
                opened = self.table(table).table
                with wrap_delta_errors(f"allow nulls in `{column.name}` of `{self.folder / table}`", AGAIN):
                    opened.alter.drop_column_not_null(column.name, commit_properties=_mark("allow nulls"))
            case _:
                raise DestinationError(f"`{step.table_name}`: Delta cannot do this in place: {step.kind}")

    def rewrite(self, table: DeltaLakeTable, fields: pyarrow.Schema, alter: Alter) -> None:
        import pyarrow
        from deltalake import write_deltalake

        rows = map(alter, table.batches(table.fields.names))
        delta_fields(fields)
        with failing_as_itself(rows) as watched, wrap_delta_errors(f"rewrite `{table.name}`", AGAIN):
            write_deltalake(
                table.table,
                pyarrow.RecordBatchReader.from_batches(fields, watched),
                mode="overwrite",
                schema_mode="overwrite",
                partition_by=list(table.partitions) or None,
                commit_properties=_mark("rewrite"),
            )

    def table(self, name: str) -> DeltaLakeTable:
        table = self.lake.open(name)
        if table is None:
            raise DestinationError(f"there is no Delta table `{name}` in `{self.folder}`")
        return table


def _mark(mark: str) -> CommitProperties:
    """Return the properties of a commit; it is not tried again if another program was faster.

    A second try would keep rows of the other program that are in no order with ours: under the old names and types.
    """
    from deltalake import CommitProperties

    return CommitProperties(custom_metadata={MARK: mark}, max_commit_retries=0)


AGAIN: Final = "migrate again"
"""The hint if another program was faster."""


def delta_fields(fields: Sequence[pyarrow.Field]) -> pyarrow.Schema:
    """Return columns as a table gets them; ``DestinationError`` if Delta would change their types."""
    import pyarrow
    from deltalake import Schema as DeltaSchema

    with wrap_delta_errors("create the columns in Delta", AGAIN):
        schema = pyarrow.schema(list(fields))
        delta_schema = pyarrow.schema(DeltaSchema.from_arrow(schema).to_arrow())
    for field, delta_field in zip(schema, delta_schema, strict=True):
        if (field.type, field.nullable) != (plain_type(delta_field.type), delta_field.nullable):
            raise DestinationError(f"Delta would store `{field.name}` as `{delta_field.type}`, not `{field.type}`")
    return schema


@contextmanager
def failing_as_itself(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[Iterator[pyarrow.RecordBatch]]:
    """Raise the original errors and interrupts of ``batches``, which delta-rs wraps into its own."""
    failures: list[BaseException] = []

    def watched() -> Iterator[pyarrow.RecordBatch]:
        try:
            yield from batches
        except BaseException as error:
            failures.append(error)
            raise

    try:
        yield watched()
    except DestinationError as error:
        if failures and (isinstance(failures[0], SchemactlError) or not isinstance(failures[0], Exception)):
            raise failures[0] from error
        raise


@contextmanager
def connect(
    url: str,
    schema_name: str,
    *,
    patience: Patience = NO_PATIENCE,
    is_read_only: bool = False,
    may_be_new: bool = False,
) -> Iterator[DeltaMigration]:
    """Open a dataset for migrating; a load that was killed is undone first. See ``destinations.Migrator``."""
    address = folder_address(url)
    if is_read_only and not may_be_new and not address.folder.is_dir():
        raise InputError(f"there is no folder `{address.folder}`")
    require_driver()
    folder = dataset_to_write(address, schema_name, is_migrated=True)
    with ExitStack() as resources:
        if not is_read_only:
            check_writable(folder)
            lake = DeltaLake(folder)
            resources.enter_context(lake.locked(patience.seconds))
            recover(lake)
        yield DeltaMigration(folder, is_read_only)

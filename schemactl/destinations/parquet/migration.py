"""Migrations of folders of Parquet: their abilities, their statements, and a session on a dataset.

All files of a table change in one journal. A column is added by an empty file that has it and is the last one by name:
files are read by the names of their columns, and dlt itself adds columns so. Any other change of columns rewrites all
files.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemactl.destinations import Catalogue
from schemactl.destinations._address import folder_address
from schemactl.destinations._journal import Moves
from schemactl.destinations._lake.files import Alter
from schemactl.destinations._lake.lock import check_writable, holding
from schemactl.destinations._lake.migration import LakeMigration, render_step
from schemactl.destinations._lake.types import are_structures
from schemactl.destinations._structure import gained_by_ddl
from schemactl.destinations.parquet.bookkeeping import FolderLedger
from schemactl.destinations.parquet.catalogue import (
    catalogue_of,
    file_columns,
    find_dataset,
    partition_values,
    table_files,
)
from schemactl.destinations.parquet.journal import (
    FOLDER,
    NEW,
    PARQUET_ENDING,
    check_device,
    commit,
    forget_gathered,
    list_files,
    recover,
)
from schemactl.destinations.parquet.load import check_name
from schemactl.destinations.parquet.table import ANEW, FolderTable, disagreement, field_of, write_file
from schemactl.destinations.parquet.types import NAMES, settle
from schemactl.errors import DestinationError, InputError
from schemactl.migration.abilities import ON_FILES, Abilities
from schemactl.migration.records import NO_PATIENCE, Blocker, Patience
from schemactl.migration.steps import AddColumn, ChangeType, CreateTable, DescribeTable, RenameTable, Step
from schemactl.migration.ways import Way
from schemactl.normalization.package import rows_in
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, DataType, Table

if TYPE_CHECKING:
    import pyarrow


def _retype(before: Column, after: Column) -> Way:
    if are_structures(before, after):
        return Way.REWRITE
    is_json = after.data_type is DataType.JSON and DATABASE_TYPE in before.properties
    return Way.REWRITE if _has_dlts_type(after) and (is_json or _has_dlts_type(before)) else Way.NONE


def _has_dlts_type(column: Column) -> bool:
    return column.is_complete and DATABASE_TYPE not in column.properties


ABILITIES: Final[Abilities] = replace(
    ON_FILES,
    drop_column=Way.REWRITE,
    rename_column=Way.REWRITE,
    retype=_retype,
    set_not_null=Way.NONE,
    drop_not_null=Way.NONE,
    names=NAMES,
    settle=settle,
    gains=gained_by_ddl,
    keeps_dlt_tables=False,
    rewrites=lambda step, _: step.writes_all(ABILITIES),
)
"""A file does not distinguish existing nulls from nulls that its writer permits, so no step is about nulls."""


def render(step: Step, table: Table | None, dataset: str) -> tuple[str, ...]:
    """Return a step as people read SQL; see ``destinations.Migrator``."""
    statements = render_step(step, table, dataset, ABILITIES)
    match step:
        case CreateTable():
            _check(step.table.name, *step.table.columns.values())
        case RenameTable():
            _check(step.after)
        case AddColumn():
            _check(step.table, step.column)
        case ChangeType():
            _check(step.table, step.after)
        case _:
            pass
    return statements


def _check(table: str, *columns: Column) -> None:
    """Raise ``InputError`` unless a folder can have a table's name, and files can have columns."""
    try:
        check_name(table)
    except DestinationError as error:
        raise InputError(error.message, hint=error.hint) from error
    for column in columns:
        field_of(column)


_GONE: Final = f"{FOLDER}/gone"


@dataclass(frozen=True, slots=True)
class ParquetMigration(LakeMigration[FolderTable], FolderLedger):
    """A dataset that is open for migrating; see ``LakeMigration``.

    Attributes:
        looked_at: the names of the files of a table, and how they disagree.
    """

    is_read_only: bool = False
    abilities: Abilities = ABILITIES
    looked_at: dict[str, tuple[tuple[str, ...], str | None]] = field(default_factory=dict, compare=False)

    @property
    def dataset(self) -> str:
        return self.folder.name

    @property
    def origin(self) -> str:
        return f"parquet:{self.folder.parent}"

    def read_catalogue(self, is_read: Callable[[str], bool]) -> Catalogue:
        """Return the tables with all columns of all of their files; without nulls, which files cannot declare."""
        catalogue = catalogue_of(self.folder, is_read)
        tables = {name: self._whole(table) for name, table in catalogue.schema.tables.items()}
        return replace(catalogue, schema=replace(catalogue.schema, tables=tables))

    def _whole(self, table: Table) -> Table:
        columns = dict(table.columns)
        for name, file in reversed(self._files(table.name).items()):
            for column in file_columns(file).values():
                columns.setdefault(column.name, column)
            for key in partition_values(name):
                columns.setdefault(key, Column(key, {"data_type": "text"}))
        bare = {
            name: Column(name, {key: value for key, value in column.properties.items() if key != "nullable"})
            for name, column in columns.items()
        }
        return replace(table, columns=bare)

    def table(self, name: str) -> FolderTable:
        return FolderTable(self._files(name), self.folder / NEW / name)

    def field(self, column: Column, _before: pyarrow.Field | None = None) -> pyarrow.Field:
        return field_of(column)

    def find_table_blocker(self, step: Step, _way: Way) -> Blocker | None:
        """Return the blocker if files are in subfolders, or contradict each other."""
        table = step.table_name
        files = self._files(table)
        inner = next((name for name in files if "/" in name), None)
        if inner is not None:
            message = f"`{self.folder / table}` is partitioned (`{inner}`), so its files cannot be rewritten"
            return Blocker(message, "rewrite the table with the tool that partitions it")
        return self.disagreement(table)

    def disagreement(self, table: str) -> Blocker | None:
        files = self._files(table)
        names, difference = self.looked_at.get(table, ((), None))
        if names != tuple(files):
            difference = disagreement(files)
            self.looked_at[table] = tuple(files), difference
        return None if difference is None else Blocker(f"files of `{self.folder / table}` disagree: {difference}", ANEW)

    def create(self, table: Table) -> None:
        import pyarrow

        check_name(table.name)
        if self._found(table.name):
            raise DestinationError(f"`{self.folder}` already has a table `{table.name}`")
        fields = pyarrow.schema([field_of(column) for column in table.columns.values()])
        with self._gathering():
            self._replace(table.name, (), fields, {_new_name(): ()})

    def drop(self, table: str) -> None:
        self._files(table)
        with self._gathering():
            self._move(self.folder / table, self.folder / _GONE)
            # The next command removes remaining files.
            shutil.rmtree(self.folder / FOLDER, ignore_errors=True)

    def rename(self, before: str, after: str) -> None:
        check_name(after)
        self._files(before)
        target = self.folder / after
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise DestinationError(f"`{target}` is in the place of the table's new folder", hint="remove it")
        self._move(self.folder / before, target)

    def describe(self, step: DescribeTable) -> None:
        raise DestinationError(f"files of `{step.table}` are not changed: the next load's describe it")

    def alter(self, step: Step) -> None:
        """Add a column by an empty file with it, which replaces other empty files.

        If existing files would sort after the new file and hide the column, all files are rewritten.
        """
        if not isinstance(step, AddColumn):
            raise DestinationError(f"a folder of Parquet cannot do this in place: {step.kind}")
        import pyarrow

        table = self.table(step.table)
        fields = table.fields
        if step.column.name in fields.names:
            raise DestinationError(f"`{step.table}` already has a column `{step.column.name}`")
        after, name = fields.append(field_of(step.column)), _new_name()
        if name < max(table.paths):
            new = after.field(step.column.name)
            self.rewrite(table, after, lambda rows: rows.append_column(new, pyarrow.nulls(rows.num_rows, new.type)))
            return
        empty = [name for name, file in table.paths.items() if not rows_in(file)]
        with self._gathering():
            self._replace(step.table, empty, after, {name: ()})

    def rewrite(self, table: FolderTable, fields: pyarrow.Schema, alter: Alter) -> None:
        """Rewrite each file under another name; files without rows go, unless all are empty."""
        columns = table.fields.names
        filled_files = [file for file in table.files() if rows_in(file.handle)] or table.files()[-1:]
        # A new name sorts like the old one, so that the last file stays the last one.
        come = {_successor(file.path): map(alter, table.read(file, columns)) for file in filled_files}
        with self._gathering():
            self._replace(table.name, list(table.paths), fields, come)

    def _replace(
        self,
        table: str,
        gone: Sequence[str],
        fields: pyarrow.Schema,
        come: Mapping[str, Iterable[pyarrow.RecordBatch]],
    ) -> None:
        """Replace files, in one journal; ``come`` are the rows of the new files, by name."""
        check_device(self.folder / table, self.folder)
        (self.folder / NEW / table).mkdir(parents=True, exist_ok=True)
        for name, rows in come.items():
            write_file(self.folder / NEW / table / name, fields, rows)
        moves = tuple((f"{NEW}/{table}/{name}", f"{table}/{name}") for name in come)
        commit(self.folder, Moves(tuple(f"{table}/{name}" for name in gone), moves))

    def _found(self, table: str) -> dict[str, Path]:
        return table_files(list_files(self.folder), table)

    def _files(self, table: str) -> dict[str, Path]:
        """Return the files of a table by name; raises ``InputError`` if there is no such table."""
        files = self._found(table)
        if not files:
            raise InputError(f"there is no table `{table}` in `{self.folder}`")
        return files

    def _move(self, old: Path, new: Path) -> None:
        try:
            new.parent.mkdir(parents=True, exist_ok=True)
            os.replace(old, new)  # noqa: PTH105 - one system call, as in the journal
        except OSError as error:
            raise DestinationError(f"cannot rename `{old}`: {error.strerror or error}") from error

    @contextmanager
    def _gathering(self) -> Iterator[None]:
        """Start with an empty hidden folder; remove gathered files, unless a journal has made them certain."""
        try:
            recover(self.folder)
            yield
        except OSError as error:
            path = error.filename or self.folder
            hint = "the next command that writes there finishes this step"
            raise DestinationError(f"cannot write `{path}`: {error.strerror or error}", hint=hint) from error
        finally:
            forget_gathered(self.folder)


def _new_name() -> str:
    """Return a name in dlt's form: the load's id is a time, so it sorts after earlier loads."""
    return f"{time.time():.6f}.{uuid.uuid4().hex[:10]}{PARQUET_ENDING}"


def _successor(name: str) -> str:
    """Return another name for a file that is rewritten: the load's id stays, the file's is new.

    A journal that is carried out twice removes the old name each time, so the new name must differ.
    """
    stem = name.removesuffix(PARQUET_ENDING)
    load_id, dot, _ = stem.rpartition(".")
    return f"{load_id if dot else stem}.{uuid.uuid4().hex[:10]}{PARQUET_ENDING}"


@contextmanager
def connect(
    url: str,
    schema_name: str,  # noqa: ARG001 - a folder is found as loads find it
    *,
    patience: Patience = NO_PATIENCE,
    is_read_only: bool = False,
    may_be_new: bool = False,
) -> Iterator[ParquetMigration]:
    """Open a dataset for migrating; a killed load or step is finished first.

    See ``destinations.Migrator``. Reading finishes nothing: the state after the journal counts.
    """
    address = folder_address(url)
    if not address.folder.is_dir() and not may_be_new and is_read_only:
        raise InputError(f"there is no folder `{address.folder}`")
    folder = find_dataset(address, is_made=True)
    # A relative path may have no name.
    session = ParquetMigration(folder if folder.name not in ("", "..") else folder.resolve(), is_read_only)
    if is_read_only:
        yield session
        return
    check_writable(session.folder)
    with holding(session.folder, patience.seconds):
        try:
            recover(session.folder)
        except OSError as error:
            message = f"cannot finish the interrupted step in `{session.folder}`: {error.strerror or error}"
            raise DestinationError(message) from error
        yield session

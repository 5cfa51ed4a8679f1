"""Loads rows into a folder of Parquet: gathers the files, and puts them in their places by a journal."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemactl.destinations._address import folder_address
from schemactl.destinations._errors import wrap_errors
from schemactl.destinations._folder import refuse_links
from schemactl.destinations._journal import Moves
from schemactl.destinations._lake.files import read_staged, write_rows
from schemactl.destinations._lake.load import FilesLoad, TableChange
from schemactl.destinations._lake.lock import check_writable, holding
from schemactl.destinations._lake.table import link_or_copy
from schemactl.destinations._load import OTHER_TYPES, Chain, carry_out, chains_to_check, check_nulls, check_renames
from schemactl.destinations._reading import DatasetReader
from schemactl.destinations._structure import cut, shown
from schemactl.destinations.parquet.bookkeeping import new_files, read_rows
from schemactl.destinations.parquet.catalogue import file_columns, find_dataset, partition_values, table_files
from schemactl.destinations.parquet.journal import (
    FOLDER,
    INIT,
    NEW,
    PARQUET_ENDING,
    Listing,
    check_device,
    check_rights,
    commit,
    forget_gathered,
    list_files,
    recover,
)
from schemactl.destinations.parquet.table import FolderTable, field_of, write_file
from schemactl.destinations.parquet.types import NAMES, stored
from schemactl.errors import DestinationError
from schemactl.normalization.package import Among, LoadPackage, PastLoads, StagedTable, rows_in
from schemactl.progress import Progress
from schemactl.schema.dispositions import complete, first
from schemactl.schema.naming import naming_of
from schemactl.schema.nested_types import is_within, misreadings, path_text, read_type
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, DataType, Schema, Table
from schemactl.store.lock import is_lock_free
from schemactl.type_systems.arrow_types import plain_type

if TYPE_CHECKING:
    import pyarrow

_MERGED: Final = f"{FOLDER}/merged"


@dataclass(frozen=True, slots=True)
class FolderDataset:
    """A folder of Parquet; see ``StoredDataset``."""

    listing: Listing

    def read_rows(self, table: Table, /, **equal: str) -> Iterator[Mapping[str, Any]]:
        """Yield rows of a table in which the dataset keeps its loads; see ``ReadRows``."""
        return read_rows(self.listing, table, **equal)

    def table_rows(self, table: Table, among: Among | None = None) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows of a table; see ``Readable.read_table``."""
        files = table_files(self.listing, table.name)
        if files:
            yield from FolderTable(files, self.listing.dataset / table.name).rows_of(table, among)


@contextmanager
def _open_to_read(url: str, schema_name: str) -> Iterator[FolderDataset | None]:
    """Open a folder; a killed load that was certain counts, and the name of the schema does not."""
    del schema_name
    address = folder_address(url)
    yield FolderDataset(list_files(find_dataset(address, is_made=True))) if address.folder.is_dir() else None


_READER: Final = DatasetReader(_open_to_read)
read_ledger, read_table = _READER.read_ledger, _READER.read_table


def read_past_loads(url: str, schema_name: str) -> PastLoads:
    """Return the ids of earlier loads; see ``Loader``."""
    past = _READER.read_past_loads(url, schema_name)
    if not past.load_ids:
        return past
    dataset = find_dataset(folder_address(url), is_made=True)
    return replace(past, is_interrupted=(dataset / FOLDER).exists() and is_lock_free(dataset))


def load(url: str, package: LoadPackage, progress: Progress) -> None:
    """Put the rows of a load into a folder of Parquet, all or nothing; see ``Loader``.

    A reader that does not read the journal may see some tables earlier than the rest while files are renamed; the row
    in ``_dlt_loads`` comes last.
    """
    address = folder_address(url)
    with wrap_errors(partial(_translate_error, address.folder)):
        for staged in package.tables:
            _settle_decimals(staged)
        carry_out(ParquetLoad(package, progress, find_dataset(address, is_made=True)))


@dataclass(slots=True)
class ParquetLoad(FilesLoad[FolderTable]):
    """See ``FilesLoad``: files are gathered in a hidden folder, and moved to their places by a journal."""

    dataset: Path
    listing: Listing = field(init=False)

    @property
    def origin(self) -> str:
        return str(self.dataset)

    def lock(self) -> AbstractContextManager[None]:
        return holding(self.dataset)

    def recover(self) -> None:
        recover(self.dataset)
        self.listing = list_files(self.dataset)

    @property
    def stored(self) -> FolderDataset:
        return FolderDataset(self.listing)

    def check(self, chains: Sequence[Chain]) -> None:
        for chain in chains:
            new: New = {name: _files(staged, is_first=True)[0] for name, staged in chain.staged.items()}
            gone: New = {table.name: None for table in chain.tables}
            check_files(self.listing, self.package.schema, chain.tables, gone if chain.is_replaced else new)
        check_nulls(chains)
        _check_renames(self.listing, self.package.schema, chains)

    @property
    def prefix(self) -> str:
        return "merged"

    def table_to_write(self, table: Table, chain: Chain) -> FolderTable | None:
        old_files, staged = table_files(self.listing, table.name), chain.staged.get(table.name)
        if not chain.is_merged:
            is_changed = chain.is_replaced or staged is not None
            return FolderTable(old_files, self.dataset / NEW / table.name) if is_changed else None
        new = _files(staged, is_first=True)
        if not old_files and not new:
            return None
        folder = self.dataset / _MERGED / table.name
        folder.mkdir(parents=True)
        return FolderTable(old_files, folder, _joint_fields((*old_files.values(), *new)))

    def add_files(self, table: FolderTable, staged: StagedTable | None, chain: Chain) -> list[str]:
        return list(map(str, _files(staged, is_first=chain.is_replaced or not table.paths)))

    def stage(self, chain: Chain) -> Iterator[TableChange[FolderTable]]:
        """Stage the files of a chain as ``FilesLoad`` does, and gather them under the names of dlt's layout."""
        for change in FilesLoad.stage(self, chain):
            table, files = change.table, list(map(Path, change.added))
            if chain.is_merged and not files and len(change.removed) == len(table.paths):
                # A file without rows holds the columns of a table.
                files = [table.folder / "merged-empty.parquet"]
                write_file(files[0], table.fields, ())
            check_device(self.dataset / table.name, self.dataset)
            check_rights(self.dataset / table.name)
            gathered = []
            for number, file in enumerate(files):
                seed = f"{self.package.load_id}/{self.package.schema.name}/{table.name}/{number}"
                # In dlt's layout: load id, id of the file.
                name = f"{self.package.load_id}.{hashlib.sha256(seed.encode()).hexdigest()[:10]}{PARQUET_ENDING}"
                gathered.append(self.dataset / NEW / table.name / name)
                link_or_copy(file, gathered[-1])
            yield replace(change, added=tuple(map(str, gathered)))

    def commit(self, staged: Sequence[TableChange[FolderTable]]) -> None:
        added = [f"{change.table.name}/{Path(path).name}" for change in staged for path in change.added]
        removed = tuple(f"{change.table.name}/{file.path}" for change in staged for file in change.removed)
        moves = [(f"{NEW}/{name}", name) for name in added]
        for name, text in new_files(self.listing, self.package):
            check_rights((self.dataset / name).parent)
            file = self.dataset / NEW / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            moves.append((f"{NEW}/{name}", name))
        commit(self.dataset, Moves(removed, tuple(moves)))

    def restore(self, error: BaseException) -> None:  # noqa: ARG002 - gathered files disturb no reader
        forget_gathered(self.dataset)


def _settle_decimals(staged: StagedTable) -> None:
    """Rewrite staged files whose decimals have other digits than dlt's files, if a column has only one size.

    Raises:
        DestinationError: a value has no room there.
    """
    import pyarrow
    import pyarrow.parquet

    types = {
        column.name: field_of(column).type for column in staged.table.columns.values() if _has_one_decimal_size(column)
    }
    for file in staged.files if types else ():
        file_schema = pyarrow.parquet.read_schema(file)
        fields = pyarrow.schema([field.with_type(types.get(field.name, field.type)) for field in file_schema])
        if fields == file_schema:
            continue
        settled_file = file.with_suffix(".settled")
        table = FolderTable({}, staged.folder.with_name(staged.table.name), fields)
        if not write_rows(table, str(settled_file), read_staged(file)):
            write_file(settled_file, fields, ())
        settled_file.replace(file)


def _translate_error(folder: Path, error: Exception) -> DestinationError | None:
    if not isinstance(error, OSError):
        return None
    # Of a copy that fails, the second name is that of the copy.
    path = f"`{error.filename2 or error.filename or folder}`"
    hint = "nothing loaded; if files were already renamed, the next load finishes this load"
    return DestinationError(f"cannot write {path}: {error.strerror or error}", hint=hint)


def _joint_fields(files: Sequence[Path]) -> pyarrow.Schema:
    """Return the columns of all files together, as new files are to hold them."""
    import pyarrow
    import pyarrow.parquet

    schemas = [pyarrow.parquet.read_schema(file).remove_metadata() for file in files]
    joint_schema = pyarrow.unify_schemas(schemas, promote_options="permissive")
    return pyarrow.schema([field.with_type(plain_type(field.type)).with_nullable(True) for field in joint_schema])


def _files(staged: StagedTable | None, *, is_first: bool) -> tuple[Path, ...]:
    """Return the files with rows; a file without rows if a new table needs it for its columns."""
    if staged is None:
        return ()
    full = tuple(file for file in staged.files if rows_in(file))
    return full or (staged.files[:1] if is_first else ())


MOST_NAME_BYTES: Final = 255
"""The length that file systems allow for a folder's name."""

New = Mapping[str, Path | None]
"""A new file for each table, None for a table whose files go."""

_ALWAYS: Final = ("data_type", "timezone")
_SIZES: Final = ("precision", "scale")
_REPLACE: Final = "replace the table with `write_disposition: replace`, or load into another folder"
_HAVE_SIZES: Final = (DataType.BIGINT, DataType.DECIMAL)


def check_tables(url: str, schema: Schema) -> None:
    """Find out whether a folder accepts the tables of a schema: it is writable, and they fit the existing files."""
    address = folder_address(url)
    check_writable(address.folder)
    dataset = find_dataset(address, is_made=True)
    check_writable(dataset)
    listing = list_files(dataset)
    chains = chains_to_check(schema)
    for chain in chains:
        new = {table.name: None for table in chain.tables} if chain.is_replaced else None
        check_files(listing, schema, chain.tables, new)
    _check_renames(listing, schema, chains)


def check_files(listing: Listing, schema: Schema, tables: Iterable[Table], new: New | None = None) -> None:
    """Find out whether the files of tables are ours, and can be read together with new files.

    For a table in ``new`` the columns of its file count, not the schema's; None if its files go.
    """
    row_id = naming_of(schema).normalize_identifier("_dlt_id")
    for table in tables:
        check_name(table.name)
        refuse_links(listing.dataset, listing.dataset / table.name)
        _check_layout(listing, table)
        key = first(table, "row_key") or (row_id if row_id in table.columns else None)
        expected: tuple[Column, ...] | None = complete(table)
        if new is not None and table.name in new:
            file = new[table.name]
            expected = tuple(file_columns(file).values()) if file else None  # None: old files go
        for name, path in table_files(listing, table.name).items():
            columns = file_columns(path)
            if key and key not in columns:
                hint = "name another folder, or another table: `--table`"
                raise DestinationError(f"`{path}` was not written by dlt or schemactl: it has no `{key}`", hint=hint)
            hidden = [name for name in partition_values(name) if name not in columns]
            if expected is not None and hidden:
                message = f"`{path}` is partitioned by `{hidden[0]}`, which is not in the files"
                raise DestinationError(message, hint=_REPLACE)
            for column in expected or ():
                file_column = columns.get(column.name)
                if file_column and not _agree(file_column, column):
                    difference = _differ(f"{table.name}.{column.name}", file_column, column)
                    raise DestinationError(f"{difference} in `{path}`", hint=OTHER_TYPES)


def _check_renames(listing: Listing, schema: Schema, chains: Sequence[Chain]) -> None:
    def columns_of(table: str) -> set[str] | None:
        files = table_files(listing, table).values()
        return {name for file in files for name in file_columns(file)} if files else None

    check_renames(schema, chains, columns_of, NAMES, str(listing.dataset))


def check_name(name: str) -> None:
    """Raise ``DestinationError`` unless a folder can have a table's name."""
    if len(os.fsencode(name)) > MOST_NAME_BYTES or set(name) & set("/\\\0") or name.startswith(".") or "=" in name:
        hint = "the naming conventions `snake_case` and `sql_cs_v1` create valid names"
        raise DestinationError(f"the table `{name}` cannot be a folder of this name", hint=hint)


def _check_layout(listing: Listing, table: Table) -> None:
    """Refuse layouts whose files readers would not read together with ours."""
    folder = listing.dataset / table.name
    for mark, format in (("_delta_log", "delta"), ("metadata", "iceberg")):
        if (folder / mark).is_dir():
            raise DestinationError(f"`{folder}` is a table of {format.title()}", hint=f"--to {format}:FOLDER")
    if folder.exists() and not folder.is_dir():
        raise DestinationError(f"`{folder}` is in the place of a table's folder", hint="remove it")
    file_names = {name: name.rpartition("/")[2] for name in listing.of(table.name)}
    foreign_names = (
        name
        for name, file_name in file_names.items()
        if not file_name.endswith(PARQUET_ENDING) and file_name[:1] != "_" and file_name != INIT
    )
    foreign = next(foreign_names, None)
    if foreign and not table.name.startswith("_dlt_"):
        hint = 'a pipeline of dlt writes Parquet with `loader_file_format="parquet"`'
        raise DestinationError(f"`{folder}` contains `{foreign}`, which is not Parquet", hint=hint)


def _agree(file_column: Column, column: Column) -> bool:
    """Return whether files with both can be read together: the units of timestamps and the width of binary may differ.

    A decimal with only one size does not define its type: writers of Parquet differ.
    """
    has_sizes = column.data_type in _HAVE_SIZES and not _has_one_decimal_size(column)
    compared = (*_ALWAYS, *_SIZES) if has_sizes else _ALWAYS
    kinds = stored(file_column), stored(column)
    if any(DATABASE_TYPE in kind for kind in kinds):
        types = [kind.get(DATABASE_TYPE) for kind in kinds]
        try:  # newer files may have more fields
            return None not in types and is_within(*(read_type(str(kind_name)) for kind_name in types))
        except ValueError:  # an Arrow type that no DDL says
            return types[0] == types[1]
    return all(kinds[0].get(key) == kinds[1].get(key) for key in compared)


def _has_one_decimal_size(column: Column) -> bool:
    sizes = [column.properties.get(key) for key in _SIZES]
    return column.data_type is DataType.DECIMAL and sizes.count(None) == 1


def _differ(column_name: str, file_column: Column, column: Column) -> str:
    """Return in words how a column of a file differs from the one that is wanted: by the first field that does."""
    file_type, schema_type = (stored(either).get(DATABASE_TYPE) for either in (file_column, column))
    if file_type is None or schema_type is None:
        return f"`{column_name}` is {_shown(column)}, and {_shown(file_column)}"
    with suppress(ValueError):  # an Arrow type that DDL cannot express
        for misreading in misreadings(read_type(file_type), read_type(schema_type)):
            before, after = (shown(of) if of else "no field" for of in (misreading.before, misreading.after))
            return f"`{column_name}{path_text(misreading.path)}` is {after}, and {before}"
    return f"`{column_name}` is {cut(schema_type)}, and {cut(file_type)}"


def _shown(column: Column) -> str:
    kind = stored(column)
    sizes = [str(kind[key]) for key in ("precision", "scale") if kind.get(key) is not None]
    name = kind.get("data_type") or next(iter(kind.values()))
    zone = " without time zone" if kind.get("timezone") is False else ""
    return f"`{name}({', '.join(sizes)}){zone}`" if sizes else f"`{cut(str(name))}{zone}`"

"""Loads rows into a folder of Parquet: gathers the files, and puts them in their places by a journal."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from schemactl.destinations._bookkeeping import is_loaded, past_loads
from schemactl.destinations._chains import Chain
from schemactl.destinations._lake.lock import loading
from schemactl.destinations._lake.merge import merge_chain
from schemactl.destinations._lake.table import DataFile, FilesTable
from schemactl.destinations._load import Load, carry_out
from schemactl.destinations._package import LoadPackage, PastLoads, Progress, StagedTable, rows_in
from schemactl.destinations.parquet import rows
from schemactl.destinations.parquet.address import read_address
from schemactl.destinations.parquet.bookkeeping import new_files, read_rows
from schemactl.destinations.parquet.catalogue import ENDING, find_dataset, table_files
from schemactl.destinations.parquet.check import New, check_files
from schemactl.destinations.parquet.journal import (
    FOLDER,
    Journal,
    Listing,
    check_device,
    check_rights,
    commit,
    list_files,
    recover,
)
from schemactl.errors import DestinationError
from schemactl.schema.arrow_types import plain_type

if TYPE_CHECKING:
    import pyarrow

_NEW: Final = f"{FOLDER}/new"
_MERGED: Final = f"{FOLDER}/merged"


@dataclass(frozen=True, slots=True)
class _Change:
    """What becomes of one table: files that go, and files that come, by their paths in the dataset.

    Attributes:
        come: where each file is now, by its name in the table's folder.
    """

    table: str
    gone: tuple[str, ...]
    come: Mapping[str, Path]


def read_past_loads(url: str, schema_name: str) -> PastLoads:
    """Return the loads that a folder has had under a schema; one that was killed when it was certain counts."""
    address = read_address(url)
    if not address.folder.is_dir():
        return PastLoads()
    return past_loads(partial(read_rows, list_files(find_dataset(address, is_made=True))), schema_name)


def load(url: str, package: LoadPackage, progress: Progress) -> None:
    """Put the rows of a load into a folder of Parquet, all or nothing; see ``Loader``.

    A reader that knows no journal may see some tables before others for the moment in which files are renamed; the
    row in ``_dlt_loads`` comes last.
    """
    address = read_address(url)
    with _wrap_errors(address.folder):
        carry_out(ParquetLoad(package, progress, find_dataset(address, is_made=True)))


@dataclass(slots=True)
class ParquetLoad(Load[_Change]):
    """See ``Load``: files are gathered in a hidden folder, and moved to their places by a journal."""

    dataset: Path
    listing: Listing = field(init=False)

    @property
    def origin(self) -> str:
        return str(self.dataset)

    def lock(self) -> AbstractContextManager[None]:
        return loading(self.dataset)

    def recover(self) -> None:
        recover(self.dataset)
        self.listing = list_files(self.dataset)

    def is_loaded(self) -> bool:
        return is_loaded(partial(read_rows, self.listing), self.package.schema.name, self.package.load_id)

    def check(self, chains: Sequence[Chain]) -> None:
        for chain in chains:
            new: New = {name: _files(staged, is_first=True)[0] for name, staged in chain.staged.items()}
            gone: New = {table.name: None for table in chain.tables}
            check_files(self.listing, self.package.schema, chain.tables, gone if chain.is_replaced else new)

    def stage(self, chain: Chain) -> Iterator[_Change]:
        self.report(chain.root.name)
        changes = _merged if chain.is_merged else _brought
        for change in changes(self.listing, self.package, chain):
            folder = self.dataset / change.table
            check_device(folder, self.dataset)
            check_rights(folder)
            for name, path in change.come.items():
                _bring(path, self.dataset / _NEW / change.table / name)
            yield change

    def commit(self, staged: Sequence[_Change]) -> None:
        moves = [
            (f"{_NEW}/{change.table}/{name}", f"{change.table}/{name}") for change in staged for name in change.come
        ]
        for name, text in new_files(self.listing, self.package):
            check_rights((self.dataset / name).parent)
            file = self.dataset / _NEW / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            moves.append((f"{_NEW}/{name}", name))
        commit(self.dataset, Journal(tuple(name for change in staged for name in change.gone), tuple(moves)))

    def restore(self, error: BaseException) -> None:  # noqa: ARG002 - what is gathered is in nobody's way
        with suppress(OSError, DestinationError):
            if not (self.dataset / FOLDER / "journal.json").exists():
                shutil.rmtree(self.dataset / FOLDER)


@contextmanager
def _wrap_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # Of a copy that fails, the second name is that of the copy.
        place = f"`{error.filename2 or error.filename or folder}`"
        hint = "nothing was loaded; a load that had begun to rename files is finished by the next one"
        raise DestinationError(f"cannot write {place}: {error.strerror or error}", hint=hint) from error


def _brought(listing: Listing, package: LoadPackage, chain: Chain) -> Iterator[_Change]:
    """Yield what becomes of the tables of a chain that is appended, or takes the place of what is there."""
    for name in (table.name for table in chain.tables if chain.is_replaced or table.name in chain.staged):
        held = _held(listing, name)
        files = _files(chain.staged.get(name), is_first=chain.is_replaced or not held)
        yield _Change(name, held if chain.is_replaced else (), _named(package, name, files))


def _merged(listing: Listing, package: LoadPackage, chain: Chain) -> Iterator[_Change]:
    tables: dict[str, FilesTable] = {}
    for table in chain.tables:
        old = tuple(table_files(listing, table.name).values())
        new = _files(chain.staged.get(table.name), is_first=True)
        if old or new:
            target = listing.dataset / _MERGED / table.name
            target.mkdir(parents=True)
            tables[table.name] = _Folder(table.name, _fields_of((*old, *new)), old, target)
    for name, added, removed in merge_chain(chain, package.inserted_at, tables, "merged"):
        files, held = tuple(map(Path, added)), table_files(listing, name)
        going = {Path(each.path) for each in removed}
        gone = tuple(f"{name}/{each}" for each, path in held.items() if path in going)
        if not files and len(gone) == len(held):
            files = (_empty(tables[name]),)
        yield _Change(name, gone, _named(package, name, files))


def _empty(table: FilesTable) -> Path:
    """Make a file without rows, which holds the columns of a table."""
    import pyarrow.parquet

    path = Path(table.new_file("merged-empty.parquet"))
    pyarrow.parquet.write_table(table.fields.empty_table(), path)
    return path


def _fields_of(files: Sequence[Path]) -> pyarrow.Schema:
    """Return the columns of files that can be read together, as new files are to hold them."""
    import pyarrow
    import pyarrow.parquet

    schemas = [pyarrow.parquet.read_schema(file).remove_metadata() for file in files]
    known = pyarrow.unify_schemas(schemas, promote_options="permissive")
    return pyarrow.schema([field.with_type(plain_type(field.type)).with_nullable(True) for field in known])


@dataclass(frozen=True, slots=True)
class _Folder:
    """See ``FilesTable``: new files are made in another folder."""

    name: str
    fields: pyarrow.Schema
    held: tuple[Path, ...]
    target: Path

    @property
    def partitions(self) -> Sequence[str]:
        return ()

    def files(self) -> Sequence[DataFile]:
        return [DataFile(str(path), path) for path in self.held]

    def read(self, file: DataFile, columns: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        return rows.read_rows(file.handle, pyarrow.schema([self.fields.field(name) for name in columns]))

    def new_file(self, name: str) -> str:
        return str(self.target / name)

    def write(self, path: str) -> IO[bytes]:
        return Path(path).open("wb")

    def adopt(self, source: Path, path: str) -> None:
        _bring(source, Path(path))


def _held(listing: Listing, table: str) -> tuple[str, ...]:
    """Return the files of a table, by their paths in the dataset."""
    return tuple(f"{table}/{name}" for name in table_files(listing, table))


def _files(staged: StagedTable | None, *, is_first: bool) -> tuple[Path, ...]:
    """Return the files that hold rows; one without any where it is to hold the columns of a new table."""
    if staged is None:
        return ()
    full = tuple(file for file in staged.files if rows_in(file))
    return full or (staged.files[:1] if is_first else ())


def _named(package: LoadPackage, table: str, files: tuple[Path, ...]) -> dict[str, Path]:
    """Return files under the names that dlt's layout gives them: load id, id of the file."""
    places = (f"{package.load_id}/{package.schema.name}/{table}/{at}" for at, _ in enumerate(files))
    ids = (hashlib.sha256(place.encode()).hexdigest()[:10] for place in places)
    return {f"{package.load_id}.{file_id}{ENDING}": file for file_id, file in zip(ids, files, strict=True)}


def _bring(path: Path, to: Path) -> None:
    """Give a file a second name, or copy it where that cannot be: it is on another file system, for one."""
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(path, to)
    except OSError:
        shutil.copyfile(path, to)

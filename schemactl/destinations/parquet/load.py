"""Loads rows into a folder of Parquet: gathers the files, and puts them in their places by a journal."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemactl.destinations._bookkeeping import is_loaded, past_loads
from schemactl.destinations._journal import Moves
from schemactl.destinations._lake.lock import holding
from schemactl.destinations._lake.merge import merge_chain
from schemactl.destinations._lake.table import link_or_copy
from schemactl.destinations._load import Chain, Load, carry_out
from schemactl.destinations.parquet.address import read_address
from schemactl.destinations.parquet.bookkeeping import new_files, read_rows
from schemactl.destinations.parquet.catalogue import ENDING, find_dataset, table_files
from schemactl.destinations.parquet.check import New, check_files
from schemactl.destinations.parquet.journal import (
    FOLDER,
    NEW,
    Listing,
    check_device,
    check_rights,
    commit,
    forget_gathered,
    list_files,
    recover,
)
from schemactl.destinations.parquet.table import FolderTable
from schemactl.errors import DestinationError
from schemactl.normalization.package import LoadPackage, PastLoads, StagedTable, rows_in
from schemactl.progress import Progress
from schemactl.schema.arrow_types import plain_type

if TYPE_CHECKING:
    pass

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
        return holding(self.dataset)

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
        for change in _merged(self.listing, self.package, chain) if chain.is_merged else self._brought(chain):
            folder = self.dataset / change.table
            check_device(folder, self.dataset)
            check_rights(folder)
            for name, path in change.come.items():
                link_or_copy(path, self.dataset / NEW / change.table / name)
            yield change

    def _brought(self, chain: Chain) -> Iterator[_Change]:
        """Yield what becomes of the tables of a chain that is appended, or takes the place of what is there."""
        for name in (table.name for table in chain.tables if chain.is_replaced or table.name in chain.staged):
            held = tuple(f"{name}/{file}" for file in table_files(self.listing, name))
            files = _files(chain.staged.get(name), is_first=chain.is_replaced or not held)
            yield _Change(name, held if chain.is_replaced else (), _named(self.package, name, files))

    def commit(self, staged: Sequence[_Change]) -> None:
        moves = [
            (f"{NEW}/{change.table}/{name}", f"{change.table}/{name}") for change in staged for name in change.come
        ]
        for name, text in new_files(self.listing, self.package):
            check_rights((self.dataset / name).parent)
            file = self.dataset / NEW / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            moves.append((f"{NEW}/{name}", name))
        commit(self.dataset, Moves(tuple(name for change in staged for name in change.gone), tuple(moves)))

    def restore(self, error: BaseException) -> None:  # noqa: ARG002 - what is gathered is in nobody's way
        forget_gathered(self.dataset)


@contextmanager
def _wrap_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # Of a copy that fails, the second name is that of the copy.
        place = f"`{error.filename2 or error.filename or folder}`"
        hint = "nothing was loaded; a load that had begun to rename files is finished by the next one"
        raise DestinationError(f"cannot write {place}: {error.strerror or error}", hint=hint) from error


def _merged(listing: Listing, package: LoadPackage, chain: Chain) -> Iterator[_Change]:
    import pyarrow
    import pyarrow.parquet

    tables: dict[str, FolderTable] = {}
    for table in chain.tables:
        old = table_files(listing, table.name)
        new = _files(chain.staged.get(table.name), is_first=True)
        if old or new:
            target = listing.dataset / _MERGED / table.name
            target.mkdir(parents=True)
            # The columns of all files together, as new files are to hold them.
            schemas = [pyarrow.parquet.read_schema(file).remove_metadata() for file in (*old.values(), *new)]
            known = pyarrow.unify_schemas(schemas, promote_options="permissive")
            fields = [field.with_type(plain_type(field.type)).with_nullable(True) for field in known]
            tables[table.name] = FolderTable(old, target, pyarrow.schema(fields))
    for name, added, removed in merge_chain(chain, package.inserted_at, tables, "merged"):
        files = tuple(map(Path, added))
        if not files and len(removed) == len(tables[name].held):
            # A file without rows holds the columns of a table.
            files = (tables[name].folder / "merged-empty.parquet",)
            pyarrow.parquet.write_table(tables[name].fields.empty_table(), files[0])
        yield _Change(name, tuple(f"{name}/{each.path}" for each in removed), _named(package, name, files))


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

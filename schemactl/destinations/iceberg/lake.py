"""A dataset of Iceberg tables as loads see it."""

from __future__ import annotations

import shutil
import uuid
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import quote

import pyarrow
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression, EqualTo, Reference
from pyiceberg.io import WAREHOUSE
from pyiceberg.table import Table as IcebergTable

from schemactl.destinations._bookkeeping import (
    bookkeeping_of,
    find_names,
    knows_schema,
    rows_of,
    rows_of_load,
    stored_as,
)
from schemactl.destinations._catalogue import choose_migrated
from schemactl.destinations._journal import Versions, is_attempt, journal_error, journal_text, read_journal
from schemactl.destinations._lake.files import write_rows
from schemactl.destinations._lake.lock import holding
from schemactl.destinations._lake.table import DataFile, Lake
from schemactl.destinations._lake.types import arrow_type, kind_of
from schemactl.destinations.iceberg.address import Address, lock_folder, wrap_iceberg_errors
from schemactl.destinations.iceberg.catalogue import COMMENT, datasets_in, tables_in
from schemactl.destinations.iceberg.table import LOAD_ID, IcebergLakeTable, local_path
from schemactl.destinations.iceberg.types import NAMES, WIDENS, new_kind
from schemactl.errors import CommandWarning, DestinationError, backquoted
from schemactl.normalization.package import INPUTS_TABLE, LoadPackage
from schemactl.schema.templates import VERSION_TABLE
from schemactl.schema.types import Column, Properties, Table

_JOURNAL: Final = "schemactl.journal."

_WRITING: Final = "schemactl.rewriting"
"""The property of a namespace in which a migration writes files: how their names begin.

Earlier versions added the name of the table.
"""

_PIECE: Final = 900
"""Characters of a value that every catalog supports: databases have columns of 1,000."""


@dataclass(frozen=True, slots=True)
class IcebergLake(Lake):
    """A dataset: a namespace of a catalog."""

    address: Address
    catalog: Catalog
    dataset: str

    names: ClassVar = NAMES
    widens: ClassVar[Collection[tuple[str, str]]] = WIDENS

    @property
    def origin(self) -> str:
        return f"{self.address}?dataset={self.dataset}"

    @property
    def namespace(self) -> tuple[str, ...]:
        """Return the name of the dataset in catalogs."""
        return tuple(self.dataset.split("."))

    @property
    def lock_folder(self) -> Path:
        return lock_folder(self.address)

    def kind_of(self, column: Column) -> Properties:
        return new_kind(column)

    def locked(self) -> AbstractContextManager[None]:
        return holding(self.lock_folder)

    def open(self, name: str) -> IcebergLakeTable | None:
        try:
            with wrap_iceberg_errors(f"read `{name}` of `{self.origin}`"):
                if not self.catalog.table_exists((*self.namespace, name)):
                    return None
                return IcebergLakeTable(self.catalog.load_table((*self.namespace, name)))
        except NoSuchTableError:
            return None

    def create(
        self,
        name: str,
        fields: Sequence[pyarrow.Field],
        load_id: str,
        table_properties: Mapping[str, str] | None = None,
        *,
        partitions: Sequence[str] = (),
        description: str | None = None,
    ) -> IcebergLakeTable:
        """Make a table; ``table_properties`` are Iceberg's own."""
        properties = {LOAD_ID: load_id, **({COMMENT: description} if description else {}), **(table_properties or {})}
        identifier = (*self.namespace, name)
        with wrap_iceberg_errors(f"create the table `{name}` in `{self.origin}`"):
            self.catalog.create_namespace_if_not_exists(self.namespace)
            schema, location = pyarrow.schema(fields), None  # which the catalog chooses
            if self.address.folder is not None:
                # Names may contain characters that are special in paths and URLs.
                folder = self.address.folder.absolute() / self.dataset / quote(name, safe="")
                # A renamed table keeps its location, under its former name.
                is_taken = folder.exists() and not self._remove_unregistered(folder)
                location = f"{folder}-{uuid.uuid4().hex[:8]}" if is_taken else str(folder)
            if not partitions:
                return IcebergLakeTable(self.catalog.create_table(identifier, schema, location, properties=properties))
            # The numbers of the columns, which a spec of partitions names, come about as the table is made.
            transaction = self.catalog.create_table_transaction(identifier, schema, location, properties=properties)
            with transaction.update_spec() as spec:
                for column in partitions:
                    spec.add_identity(column)
            transaction.commit_transaction()
            return IcebergLakeTable(self.catalog.load_table(identifier))

    def _remove_unregistered(self, folder: Path) -> bool:
        """Remove the folder of a table whose creation was killed before the catalog had it; return whether it was one.

        Such a folder has the first metadata of a table, and nothing else.
        """
        files = [path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()]
        if folder.is_symlink() or any(not file.match("metadata/00000-*.metadata.json") for file in files):
            return False
        tables = (
            (*namespace.split("."), name)
            for namespace in datasets_in(self.catalog)
            for name in tables_in(self.catalog, namespace)
        )
        if any(local_path(self.catalog.load_table(table).location()) == folder for table in tables):
            return False
        shutil.rmtree(folder)
        return True

    def drop(self, name: str) -> None:
        with wrap_iceberg_errors(f"remove `{name}` from `{self.origin}`"):
            folders = {table: self._local_place(table) for table in tables_in(self.catalog, self.dataset)}
            folder = folders.pop(name, None)
            if self.address.folder is not None:
                self.catalog.drop_table((*self.namespace, name))
            else:
                self.catalog.purge_table((*self.namespace, name))
            is_shared = folder and any(other and other.is_relative_to(folder) for other in folders.values())
            if folder and folder.is_dir() and not is_shared:
                shutil.rmtree(folder)  # with the files that are in no commit

    def _local_place(self, name: str) -> Path | None:
        """Return the folder of a table, links followed; None if it is not below a local folder of the catalog."""
        location = local_path(self.catalog.load_table((*self.namespace, name)).location())
        warehouse = self.address.folder or local_path(self.catalog.properties.get(WAREHOUSE, ""))
        if location is None or warehouse is None or warehouse == Path():
            return None
        folder, above = location.resolve(), warehouse.resolve()
        return folder if folder != above and folder.is_relative_to(above) else None

    def read_journal(self) -> Versions | None:
        pieces = self._pieces()
        text = "".join(pieces[key] for key in sorted(pieces))
        if not text:
            return None
        journal = read_journal(Versions, text, f"of `{self.origin}`")
        if journal.files:  # a load into a catalog creates no files outside of tables
            raise journal_error(f"of `{self.origin}`", f"no load creates `{journal.files[0]}`")
        return journal

    def write_journal(self, journal: Versions | None) -> None:
        text = journal_text(journal) if journal else ""
        pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
        updates = {f"{_JOURNAL}{number:06}": piece for number, piece in enumerate(pieces)}
        with wrap_iceberg_errors(f"write the journal of `{self.origin}`"):
            self.catalog.create_namespace_if_not_exists(self.namespace)
            removals = set(self._pieces()) - set(updates)
            if removals or updates:
                self.catalog.update_namespace_properties(self.namespace, removals, updates)

    @property
    def has_leftovers(self) -> bool:
        properties = self._properties()
        return _WRITING in properties or any(key.startswith(_JOURNAL) for key in properties)

    def begin_writing(self, attempt: str) -> None:
        """Note how the names of files begin that a migration is going to write, for the session after a kill."""
        if self._properties().get(_WRITING) != attempt:
            with wrap_iceberg_errors(f"write to `{self.origin}`"):
                self.catalog.create_namespace_if_not_exists(self.namespace)
                self.catalog.update_namespace_properties(self.namespace, updates={_WRITING: attempt})

    def end_writing(self) -> None:
        """Forget the note of ``begin_writing``."""
        if _WRITING in self._properties():
            with wrap_iceberg_errors(f"write to `{self.origin}`"):
                self.catalog.update_namespace_properties(self.namespace, {_WRITING})

    def discard_uncommitted(self, attempt: str) -> None:
        """Remove the files of a migration that no snapshot of a table has."""
        for name in tables_in(self.catalog, self.dataset):
            if (table := self.open(name)) is not None:
                table.discard_uncommitted(attempt)

    def remove_leftovers(self) -> None:
        note = self._properties().get(_WRITING)
        if note is None:
            return
        attempt = note.partition(" ")[0]
        if not is_attempt(attempt):
            raise journal_error(f"`{_WRITING}` of `{self.origin}`", f"`{attempt}` is not a prefix of new files")
        self.discard_uncommitted(attempt)
        self.end_writing()
        message = f"removed files of an interrupted migration in `{self.origin}`"
        warnings.warn(CommandWarning(message), stacklevel=2)

    def _properties(self) -> Mapping[str, str]:
        """Return the properties of the namespace, none if it does not exist."""
        with wrap_iceberg_errors(f"read `{self.origin}`"):
            if not self.catalog.namespace_exists(self.namespace):
                return {}
            return dict(self.catalog.load_namespace_properties(self.namespace))

    def _pieces(self) -> dict[str, str]:
        return {key: value for key, value in self._properties().items() if key.startswith(_JOURNAL)}

    def own_tables(self, package: LoadPackage) -> Sequence[str]:
        return [table.name for table in bookkeeping_of(package.schema)]

    def finish(self, package: LoadPackage, prefix: str) -> None:
        with wrap_iceberg_errors(f"complete the load in `{self.origin}`"):
            for table, rows in rows_of_load(package, self.read_rows):
                arrow_table = arrow_rows(table, rows)
                lake_table = self.open(table.name) or self.create(table.name, list(arrow_table.schema), package.load_id)
                missing = [field for field in arrow_table.schema if field.name not in lake_table.fields.names]
                if missing and table.name == INPUTS_TABLE:  # an earlier version has made the table
                    lake_table = lake_table.add_columns(missing, package.load_id)
                check_columns(lake_table, arrow_table)
                self.append_rows(lake_table, arrow_table, prefix, package.load_id)

    def append_rows(
        self,
        table: IcebergLakeTable,
        rows: pyarrow.Table,
        prefix: str,
        load_id: str = "",
        removed: Sequence[DataFile] = (),
    ) -> None:
        """Add rows to a table by a file whose name begins with ``prefix``, and remove files, in one commit.

        Raises:
            DestinationError: the table refuses a value, or another program has changed it meanwhile.
        """
        added = write_rows(table, table.new_file(f"{prefix}-00000.parquet"), rows.to_batches())
        table.commit(added, removed, load_id)

    def read_rows(self, table: Table, /, **equal: str) -> Iterator[dict[str, Any]]:
        """Yield rows of a table; see ``ReadRows``."""
        with wrap_iceberg_errors(f"read `{table.name}` of `{self.origin}`"):
            for iceberg_table, columns in self._stored_tables(table):
                chosen = equals({columns[column]: value for column, value in equal.items()})
                scan = iceberg_table.scan(row_filter=chosen, selected_fields=tuple(columns.values()))
                for batch in scan.to_arrow_batch_reader():
                    values = (batch[name].to_pylist() for name in columns.values())
                    yield from rows_of(table, zip(*values, strict=True), columns)

    def remove_rows(self, table: Table, /, **equal: str) -> None:
        """Remove the rows of a table that ``read_rows`` returns."""
        for iceberg_table, columns in self._stored_tables(table):
            chosen = equals({columns[column]: value for column, value in equal.items()})
            if iceberg_table.scan(row_filter=chosen).count():
                iceberg_table.delete(chosen)

    def _stored_tables(self, table: Table) -> Iterator[tuple[IcebergTable, Mapping[str, str]]]:
        """Yield the tables of the dataset that store a table, with the names of its columns there."""
        exists = self.catalog.namespace_exists(self.namespace)
        names = find_names(tables_in(self.catalog, self.dataset) if exists else [], table.name)
        tables = {name: self.catalog.load_table((*self.namespace, name)) for name in names}
        stored_tables = stored_as(table, names, lambda name: tables[name].schema().column_names, self.origin)
        return ((tables[name], columns) for name, columns in stored_tables)


def lake_to_write(address: Address, schema_name: str, catalog: Catalog, *, is_migrated: bool = False) -> IcebergLake:
    """Return the dataset to which a load or a migration of this schema goes; it may not exist yet.

    It is the address's dataset, else the only one that was loaded with this schema, else a new one named after the
    schema. A migration uses the only dataset with tables, if no other schema was loaded into it, before a new one.
    ``InputError`` if several datasets fit.
    """
    if address.dataset is not None:
        return IcebergLake(address, catalog, address.dataset)
    tables = {name: tables_in(catalog, name) for name in datasets_in(catalog)}
    lakes = [IcebergLake(address, catalog, name) for name, names in tables.items() if names]
    ours = [lake.dataset for lake in lakes if knows_schema(lake.read_rows, schema_name)]
    loaded = [name for name, names in tables.items() if find_names(names, VERSION_TABLE)]
    unclaimed = [lake.dataset for lake in lakes if lake.dataset not in loaded] if is_migrated else []
    return IcebergLake(address, catalog, choose_migrated(ours, unclaimed, loaded, schema_name, str(address)))


def check_columns(table: IcebergLakeTable, rows: pyarrow.Table) -> None:
    """Raise ``DestinationError`` if a table of dlt's lacks columns of new rows."""
    missing = [name for name in rows.column_names if name not in table.fields.names]
    if missing:
        message = f"`{table.name}` lacks {backquoted(missing)}: an early version of dlt made it"
        raise DestinationError(message, hint="load into another dataset: `?dataset=NAME`")


def arrow_rows(table: Table, rows: Sequence[Sequence[Any]]) -> pyarrow.Table:
    """Return rows, each in the order of the table's columns, in the types of a table of a dataset."""
    fields = [
        pyarrow.field(column.name, arrow_type(kind_of(column, has_time=True, sizes=(32,))), column.nullable)
        for column in table.columns.values()
    ]
    schema = pyarrow.schema(fields)
    return pyarrow.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema)


def equals(values: Mapping[str, Any]) -> BooleanExpression:
    """Return the condition that columns have some values."""
    conditions = (EqualTo(term=Reference(name), value=value) for name, value in values.items())
    return And(AlwaysTrue(), AlwaysTrue(), *conditions)

"""A dataset of Iceberg tables as loads see it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote, urlparse

from schemactl.destinations._lake.journal import Journal, journal_from_text
from schemactl.destinations._lake.lock import holding
from schemactl.destinations._lake.table import DataFile, LakeTable
from schemactl.destinations._lake.types import plain_type
from schemactl.destinations._package import INPUTS_TABLE, LoadPackage
from schemactl.destinations.iceberg.address import Address, told
from schemactl.destinations.iceberg.bookkeeping import is_loaded, write_bookkeeping
from schemactl.destinations.iceberg.catalogue import columns_of, new_kind
from schemactl.schema.templates import LOADS_TABLE, VERSION_TABLE
from schemactl.schema.types import Column, Properties

if TYPE_CHECKING:
    import pyarrow
    from pyiceberg.catalog import Catalog
    from pyiceberg.manifest import DataFile as IcebergFile
    from pyiceberg.table import Table

LOAD_ID: Final = "schemactl.load-id"
"""Where a snapshot, and a table that is new, say which load they belong to."""

_JOURNAL: Final = "schemactl.journal."
_PIECE: Final = 900
"""Characters of a value that every catalogue takes: those in databases have columns of 1,000."""


@dataclass(frozen=True, slots=True)
class IcebergLakeTable:
    """One table, as of its last commit; version 0 is that of a table without any."""

    table: Table

    @property
    def name(self) -> str:
        return self.table.name()[-1]

    @property
    def fields(self) -> pyarrow.Schema:
        import pyarrow
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        held = schema_to_pyarrow(self.table.schema(), include_field_ids=True)
        return pyarrow.schema([each.with_type(plain_type(each.type)) for each in held])

    @property
    def kinds(self) -> Mapping[str, Properties]:
        return {name: kind for name, kind, _ in columns_of(self.table)}

    @property
    def version(self) -> int:
        snapshot = self.table.current_snapshot()
        return snapshot.snapshot_id if snapshot else 0

    @property
    def obstacle(self) -> str | None:
        if not self.table.spec().is_unpartitioned():
            return "is partitioned, and only tables without partitions are loaded"
        return None

    def files(self) -> Sequence[DataFile]:
        with told(f"cannot read the files of `{self.name}`"):
            found = {task.file.file_path: task for task in self.table.scan().plan_files()}
        return [DataFile(path, found[path]) for path in sorted(found)]

    def read(self, file: DataFile, columns: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
        from pyiceberg.expressions import AlwaysTrue
        from pyiceberg.io.pyarrow import ArrowScan

        with told(f"cannot read `{file.path}`"):
            projected = self.table.schema().select(*columns)
            scan = ArrowScan(self.table.metadata, self.table.io, projected, AlwaysTrue())
            yield from scan.to_record_batches([file.handle])

    def add_columns(self, fields: Sequence[pyarrow.Field], _load_id: str) -> LakeTable:
        import pyarrow

        with told(f"cannot add columns to `{self.name}`"), self.table.update_schema() as update:
            update.union_by_name(pyarrow.schema(fields))
        return IcebergLakeTable(self.table)

    def new_file(self, name: str) -> str:
        return f"{self.table.location().rstrip('/')}/data/{name}"

    def write(self, path: str) -> IO[bytes]:
        return cast(IO[bytes], self.table.io.new_output(path).create())

    def adopt(self, source: Path, path: str) -> None:
        local = _local(path)
        if local is not None:
            local.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(source, local)
                return
            except OSError:
                pass  # another file system, or one without links: copied
        with source.open("rb") as read, self.write(path) as written:
            shutil.copyfileobj(read, written)

    def commit(self, added: Sequence[str], removed: Sequence[DataFile], load_id: str) -> None:
        from pyiceberg.table import TableProperties

        new = [_described(self.table, path) for path in added]
        with told(f"cannot commit to `{self.name}`"), self.table.transaction() as transaction:
            if self.table.name_mapping() is None:  # by which files without ids of columns are read
                mapping = self.table.schema().name_mapping.model_dump_json()
                transaction.set_properties({TableProperties.DEFAULT_NAME_MAPPING: mapping})
            update = transaction.update_snapshot({LOAD_ID: load_id})
            with update.overwrite() if removed else update.fast_append() as snapshot:
                for file in removed:
                    snapshot.delete_data_file(file.handle.file)
                for each in new:
                    snapshot.append_data_file(each)

    def is_touched_by_others(self, since: int | None, load_id: str) -> bool:
        if since is None and self.table.properties.get(LOAD_ID) != load_id:
            return True
        snapshot = self.table.current_snapshot()
        while snapshot is not None and snapshot.snapshot_id != since:
            said = snapshot.summary.additional_properties if snapshot.summary else {}
            if said.get(LOAD_ID) != load_id:
                return True
            above = snapshot.parent_snapshot_id
            snapshot = self.table.snapshot_by_id(above) if above is not None else None
        return bool(since) and snapshot is None

    def restore(self, version: int, load_id: str) -> None:
        if version == 0:
            self.commit((), self.files(), load_id)
            return
        with told(f"cannot restore `{self.name}` to snapshot {version}"):
            self.table.manage_snapshots().rollback_to_snapshot(version).commit()


def _local(path: str) -> Path | None:
    found = urlparse(path)
    return Path(path if not found.scheme else found.path) if found.scheme in ("", "file") else None


def _described(table: Table, path: str) -> IcebergFile:
    """Return what a commit says of a file: its size, rows, and the values of each column."""
    import pyarrow.parquet
    from pyiceberg.io.pyarrow import (
        compute_statistics_plan,
        data_file_statistics_from_parquet_metadata,
        parquet_path_to_id_mapping,
    )
    from pyiceberg.manifest import DataFile as IcebergFile
    from pyiceberg.manifest import DataFileContent, FileFormat

    source = table.io.new_input(path)
    with source.open() as stream:
        footer = pyarrow.parquet.read_metadata(stream)
    statistics = data_file_statistics_from_parquet_metadata(
        parquet_metadata=footer,
        stats_columns=compute_statistics_plan(table.schema(), table.properties),
        parquet_column_mapping=parquet_path_to_id_mapping(table.schema()),
    )
    stated: dict[str, Any] = statistics.to_serialized_dict()
    return IcebergFile.from_args(
        content=DataFileContent.DATA,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=statistics.partition(table.spec(), table.schema()),
        file_size_in_bytes=len(source),
        sort_order_id=None,
        spec_id=table.spec().spec_id,
        equality_ids=None,
        key_metadata=None,
        **stated,
    )


@dataclass(frozen=True, slots=True)
class IcebergLake:
    """A dataset: a namespace of a catalogue."""

    address: Address
    catalog: Catalog
    dataset: str

    @property
    def origin(self) -> str:
        return f"{self.address}?dataset={self.dataset}"

    @property
    def is_case_sensitive(self) -> bool:
        return True

    @property
    def _namespace(self) -> tuple[str, ...]:
        return tuple(self.dataset.split("."))

    def kind_of(self, column: Column) -> Properties:
        return new_kind(column)

    def locked(self) -> AbstractContextManager[None]:
        return holding(self.address.folder) if self.address.folder else nullcontext()

    def open(self, name: str) -> IcebergLakeTable | None:
        from pyiceberg.exceptions import NoSuchTableError

        try:
            with told(f"cannot read `{name}` of `{self.origin}`"):
                if not self.catalog.table_exists((*self._namespace, name)):
                    return None
                return IcebergLakeTable(self.catalog.load_table((*self._namespace, name)))
        except NoSuchTableError:
            return None

    def create(self, name: str, fields: Sequence[pyarrow.Field], load_id: str) -> IcebergLakeTable:
        import pyarrow

        # Names may hold what paths and addresses give a meaning to.
        folder = self.address.folder
        location = str(folder.absolute() / self.dataset / quote(name, safe="")) if folder else None
        with told(f"cannot make the table `{name}` in `{self.origin}`"):
            made = self.catalog.create_table(
                (*self._namespace, name), pyarrow.schema(fields), location, properties={LOAD_ID: load_id}
            )
        return IcebergLakeTable(made)

    def drop(self, name: str) -> None:
        with told(f"cannot remove `{name}` from `{self.origin}`"):
            folder = _local(self.catalog.load_table((*self._namespace, name)).location())
            self.catalog.purge_table((*self._namespace, name))
            if folder and folder.is_dir():  # files that no commit speaks of
                shutil.rmtree(folder)

    def read_journal(self) -> Journal | None:
        with told(f"cannot read `{self.origin}`"):
            if not self.catalog.namespace_exists(self._namespace):
                return None
            held = self._pieces()
        text = "".join(held[key] for key in sorted(held))
        return journal_from_text(text, self.origin) if text else None

    def write_journal(self, journal: Journal | None) -> None:
        text = journal.to_text() if journal else ""
        pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
        updates = {f"{_JOURNAL}{number:06}": piece for number, piece in enumerate(pieces)}
        with told(f"cannot write the journal of `{self.origin}`"):
            self.catalog.create_namespace_if_not_exists(self._namespace)
            removals = set(self._pieces()) - set(updates)
            if removals or updates:
                self.catalog.update_namespace_properties(self._namespace, removals, updates)

    def _pieces(self) -> dict[str, str]:
        held = self.catalog.load_namespace_properties(self._namespace)
        return {key: value for key, value in held.items() if key.startswith(_JOURNAL)}

    def own_tables(self) -> Sequence[str]:
        return (VERSION_TABLE, INPUTS_TABLE, LOADS_TABLE)

    def own_files(self, _package: LoadPackage) -> Sequence[str]:
        return ()

    def is_complete(self, schema_name: str, load_id: str) -> bool:
        table = self.open(LOADS_TABLE)
        with told(f"cannot read `{self.origin}`"):
            return table is not None and is_loaded(table.table, schema_name, load_id)

    def finish(self, package: LoadPackage) -> None:
        with told(f"cannot complete the load in `{self.origin}`"):
            for name, rows in write_bookkeeping(self.open, package):
                table = self.open(name) or self.create(name, list(rows.schema), package.load_id)
                table.table.append(rows, {LOAD_ID: package.load_id})

    def discard_files(self, table: str, journal: Journal) -> None:
        there = self.open(table)
        local = _local(there.new_file("")) if there else None
        for file in local.glob(f"{journal.attempt}-*") if local else ():
            file.unlink(missing_ok=True)

    def discard_own(self, _journal: Journal) -> None:
        """Do nothing: there are no files beside tables."""

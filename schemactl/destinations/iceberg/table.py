"""One Iceberg table: its files, and its commits."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlparse

from schemactl.destinations._lake.files import write_rows
from schemactl.destinations._lake.table import DataFile
from schemactl.destinations._lake.types import can_partition
from schemactl.destinations.iceberg.address import wrap_errors
from schemactl.destinations.iceberg.catalogue import columns_of
from schemactl.destinations.iceberg.nested import check_new_names, nested_columns, read_nested, with_nested
from schemactl.schema.arrow_types import plain_type
from schemactl.schema.types import Properties

if TYPE_CHECKING:
    import pyarrow
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import DataFile as IcebergFile
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

LOAD_ID: Final = "schemactl.load-id"
"""Where a snapshot, and a table that is new, say which load they belong to."""

_SAME_ROWS: Final = "schemactl.same-rows"
"""Marks a snapshot that holds the rows of the one before it in other files."""


@dataclass(frozen=True, slots=True)
class IcebergLakeTable:
    """One table, as of its last commit; version 0 is that of a table without any."""

    table: Table

    @property
    def name(self) -> str:
        return self.table.name()[-1]

    @property
    def fields(self) -> pyarrow.Schema:
        return fields_of(self.table.metadata)

    @property
    def kinds(self) -> Mapping[str, Properties]:
        return {name: kind for name, kind, _ in columns_of(self.table)}

    @property
    def version(self) -> int:
        snapshot = self.table.current_snapshot()
        return snapshot.snapshot_id if snapshot else 0

    @property
    def blocker(self) -> str | None:
        return partition_blocker(self.table)

    @property
    def partitions(self) -> Sequence[str]:
        return partitions_of_spec(self.table.metadata)

    def files(self) -> Sequence[DataFile]:
        with wrap_errors(f"cannot read the files of `{self.name}`"):
            found = {task.file.file_path: task for task in self.table.scan().plan_files()}
        return [DataFile(path, found[path]) for path in sorted(found)]

    def read(self, file: DataFile, columns: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow
        from pyiceberg.expressions import AlwaysTrue
        from pyiceberg.io.pyarrow import ArrowScan

        nested = nested_columns(self.fields, columns)
        plain = [name for name in columns if name not in nested]
        with wrap_errors(f"cannot read `{file.path}`"):
            projected = self.table.schema().select(*plain)
            scan = ArrowScan(self.table.metadata, self.table.io, projected, AlwaysTrue())
            batches = scan.to_record_batches([file.handle])
            if not nested:
                yield from batches
                return
            fields = pyarrow.schema([self.fields.field(name) for name in nested])
            yield from with_nested(batches, read_nested(self.table, file.handle, fields), columns)

    def add_columns(self, fields: Sequence[pyarrow.Field], load_id: str) -> IcebergLakeTable:
        import pyarrow

        self.claim_names([each.name for each in fields], load_id)
        with wrap_errors(f"cannot add columns to `{self.name}`"), self.table.update_schema() as update:
            update.union_by_name(pyarrow.schema(fields))
        return IcebergLakeTable(self.table)

    def grow_columns(self, fields: Sequence[pyarrow.Field], load_id: str) -> IcebergLakeTable:
        check_new_names(self.table, fields)
        # By the union of names, fields that are there get wider types, and structs further fields.
        return self.add_columns(fields, load_id)

    def new_file(self, name: str) -> str:
        return f"{self.table.location().rstrip('/')}/data/{name}"

    def write(self, path: str) -> IO[bytes]:
        return cast(IO[bytes], self.table.io.new_output(path).create())

    def adopt(self, source: Path, path: str) -> None:
        local = local_path(path)
        if local is not None:
            local.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(source, local)
                return
            except OSError:
                pass  # another file system, or one without links: copied
        with source.open("rb") as read, self.write(path) as written:
            shutil.copyfileobj(read, written)

    def commit(
        self, added: Sequence[str], removed: Sequence[DataFile], load_id: str, stated: Mapping[str, str] | None = None
    ) -> None:
        """Add and remove files in one step, marked with the load; ``stated`` is written into the snapshot, too."""
        from pyiceberg.table import TableProperties

        new = [described(self.table.io, self.table.metadata, path) for path in added]
        with wrap_errors(f"cannot commit to `{self.name}`"), self.table.transaction() as transaction:
            if self.table.name_mapping() is None:  # by which files without ids of columns are read
                mapping = self.table.schema().name_mapping.model_dump_json()
                transaction.set_properties({TableProperties.DEFAULT_NAME_MAPPING: mapping})
            update = transaction.update_snapshot({LOAD_ID: load_id, **(stated or {})})
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
        target = next((each.snapshot_id for each in self.table.snapshots() if _has_rows_of(each, version)), version)
        with wrap_errors(f"cannot restore `{self.name}` to snapshot {version}"):
            self.table.manage_snapshots().rollback_to_snapshot(target).commit()

    def claim_names(self, names: Sequence[str], load_id: str, column: str | None = None) -> None:
        """Make sure that no file has values of a former column under one of these names.

        Files that were taken as the engine staged them say columns by name. Where a column of that name was dropped
        or renamed, its values would turn up in a new one: such files are written anew first, in a commit of its own.

        Args:
            names: of columns to come.
            load_id: of the load that adds them.
            column: the one that is to be called so; its own former names are its values'. None for new ones.
        """
        taken = _former_names(self.table, column) & set(names)
        stale = [file for file in self.files() if taken & _names_without_ids(self.table, file.path)] if taken else []
        if not stale:
            return
        added: list[str] = []
        for file in stale:
            path = self.new_file(f"{uuid.uuid4().hex}-same-00000.parquet")
            added += write_rows(self, path, self.read(file, self.fields.names))
        self.commit(added, stale, load_id, {_SAME_ROWS: "true"})


def partitions_of_spec(metadata: TableMetadata) -> tuple[str, ...]:
    """Return the columns by whose values a table is partitioned."""
    fields = metadata.schema()
    return tuple(fields.find_field(each.source_id).name for each in metadata.spec().fields)


def partition_blocker(table: Table) -> str | None:
    """Return why no files for a table's partitions are written, None where they are."""
    from pyiceberg.transforms import IdentityTransform

    kinds = {name: kind for name, kind, _ in columns_of(table)}
    for field in table.spec().fields:
        name = table.schema().find_column_name(field.source_id)
        if not isinstance(field.transform, IdentityTransform):
            return f"is partitioned by `{field.transform}` of `{name}`, and only partitions by plain values are written"
        if name not in kinds or not can_partition(kinds[name]):
            return f"is partitioned by `{name}`, of a type that schemactl does not partition by"
    return None


def fields_of(metadata: TableMetadata) -> pyarrow.Schema:
    """Return a table's columns as new files are to hold them."""
    import pyarrow
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    held = schema_to_pyarrow(metadata.schema(), include_field_ids=True)
    return pyarrow.schema([each.with_type(plain_type(each.type)) for each in held])


def _has_rows_of(snapshot: Snapshot, version: int) -> bool:
    stated = snapshot.summary.additional_properties if snapshot.summary else {}
    return snapshot.parent_snapshot_id == version and _SAME_ROWS in stated


def _former_names(table: Table, but_of: str | None) -> set[str]:
    """Return names under which files may hold columns that now have other names, or are gone."""
    now = {each.field_id: each.name for each in table.schema().fields}
    held = [(name, now.get(each.field_id or 0)) for each in table.name_mapping() or () for name in each.names]
    return {name for name, column in held if column != name and (column is None or column != but_of)}


def _names_without_ids(table: Table, path: str) -> set[str]:
    """Return the columns of a file that does not say them by Iceberg's ids."""
    import pyarrow.parquet

    with table.io.new_input(path).open() as stream:
        held = pyarrow.parquet.read_schema(stream)
    return set() if any(b"PARQUET:field_id" in (each.metadata or {}) for each in held) else set(held.names)


def local_path(path: str) -> Path | None:
    """Return the place of a file or folder of this machine; None for others."""
    found = urlparse(path)
    return Path(path if not found.scheme else found.path) if found.scheme in ("", "file") else None


def described(io: FileIO, metadata: TableMetadata, path: str) -> IcebergFile:
    """Return what a commit says of a file: its size, rows, and the values of each column."""
    import pyarrow.parquet
    from pyiceberg.io.pyarrow import (
        compute_statistics_plan,
        data_file_statistics_from_parquet_metadata,
        parquet_path_to_id_mapping,
    )
    from pyiceberg.manifest import DataFile as IcebergFile
    from pyiceberg.manifest import DataFileContent, FileFormat

    source = io.new_input(path)
    with source.open() as stream:
        footer = pyarrow.parquet.read_metadata(stream)
    statistics = data_file_statistics_from_parquet_metadata(
        parquet_metadata=footer,
        stats_columns=compute_statistics_plan(metadata.schema(), metadata.properties),
        parquet_column_mapping=parquet_path_to_id_mapping(metadata.schema()),
    )
    stated: dict[str, Any] = statistics.to_serialized_dict()
    return IcebergFile.from_args(
        content=DataFileContent.DATA,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=statistics.partition(metadata.spec(), metadata.schema()),
        file_size_in_bytes=len(source),
        sort_order_id=None,
        spec_id=metadata.spec().spec_id,
        equality_ids=None,
        key_metadata=None,
        **stated,
    )

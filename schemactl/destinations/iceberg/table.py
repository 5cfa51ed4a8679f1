"""One Iceberg table: its files, and its commits."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, cast
from urllib.parse import urlparse

import pyarrow
import pyarrow.parquet
import pyarrow.types as is_a
from pyiceberg import types
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import (
    ArrowScan,
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
    schema_to_pyarrow,
)
from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import DataFileContent, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table, TableProperties
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.name_mapping import MappedField
from pyiceberg.table.update.snapshot import UpdateSnapshot
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IcebergType

from schemactl.destinations._lake.files import write_rows
from schemactl.destinations._lake.table import DataFile, LakeTable, in_fields, link_or_copy
from schemactl.destinations._lake.types import can_partition
from schemactl.destinations.iceberg.address import wrap_iceberg_errors
from schemactl.destinations.iceberg.catalogue import columns_of
from schemactl.errors import DestinationError
from schemactl.schema.types import Properties
from schemactl.type_systems.arrow_types import is_nested, plain_type

LOAD_ID: Final = "schemactl.load-id"
"""The property of a snapshot, and of a new table, for the load that it belongs to."""

_SAME_ROWS: Final = "schemactl.same-rows"
"""Marks a snapshot that holds the rows of the one before it in other files."""

_SAME_ROWS_PREFIX: Final = "schemactl-same-"
"""The beginning of the names of these files."""


@dataclass(frozen=True, slots=True)
class IcebergLakeTable(LakeTable):
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
        return {name: kind for name, kind, *_ in columns_of(self.table)}

    @property
    def version(self) -> int:
        snapshot = self.table.current_snapshot()
        return snapshot.snapshot_id if snapshot else 0

    @property
    def blocker(self) -> str | None:
        for field in self.table.spec().fields:
            name = self.table.schema().find_column_name(field.source_id)
            if not isinstance(field.transform, IdentityTransform):
                partition = f"`{field.transform}` of `{name}`"
                return f"is partitioned by {partition}, and only partitions by plain values are written"
            if not can_partition(self.kinds.get(str(name), {})):
                return f"is partitioned by `{name}`, of a type that schemactl does not partition by"
        return None

    @property
    def partitions(self) -> Sequence[str]:
        return partitions_of_spec(self.table.metadata)

    def files(self) -> Sequence[DataFile]:
        with wrap_iceberg_errors(f"read the files of `{self.name}`"):
            tasks = {task.file.file_path: task for task in self.table.scan().plan_files()}
        return [DataFile(path, tasks[path]) for path in sorted(tasks)]

    @contextmanager
    def open_file(self, file: DataFile) -> Iterator[pyarrow.parquet.ParquetFile]:
        with (
            wrap_iceberg_errors(f"read `{file.path}`"),
            self.table.io.new_input(file.path).open() as stream,
            pyarrow.parquet.ParquetFile(stream, coerce_int96_timestamp_unit="us") as opened,
        ):
            yield opened

    def names_in(
        self, file: DataFile, file_schema: pyarrow.Schema, columns: Sequence[str]
    ) -> tuple[Mapping[str, str | None], Mapping[str, Any]]:
        names = names_in(file_schema, self.table, columns, file.path)
        absent = (name for name, file_name in names.items() if file_name is None)
        return names, {name: _absent_value(self.table, file.handle, name) for name in absent}

    def read(
        self, file: DataFile, columns: Sequence[str], groups: Sequence[int] | None = None
    ) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows of one file, by Arrow; pyiceberg leaves out deleted rows, and reads other formats.

        PyIceberg (0.12) reads a null list of structs or a null map as an empty one; rewritten rows must not change by
        this.
        """
        if _is_plain(file.handle):
            yield from LakeTable.read(self, file, columns, groups)
            return
        fields = self.chosen(columns)
        if any(is_nested(field.type) for field in fields):
            message = f"`{self.name}` has structs or lists and delete files, which cannot be combined"
            raise DestinationError(message, hint=COMPACT)
        projected = self.table.schema().select(*fields.names)
        scan = ArrowScan(self.table.metadata, self.table.io, projected, AlwaysTrue())
        with wrap_iceberg_errors(f"read `{file.path}`"):
            yield from (in_fields(batch, fields) for batch in scan.to_record_batches([file.handle]))

    def group_sizes(self, file: DataFile) -> tuple[int, ...]:
        return LakeTable.group_sizes(self, file) if _is_plain(file.handle) else (file.handle.file.record_count,)

    def add_columns(self, fields: Sequence[pyarrow.Field], load_id: str) -> IcebergLakeTable:
        self.claim_names([field.name for field in fields], load_id)
        with wrap_iceberg_errors(f"add columns to `{self.name}`"), self.table.update_schema() as update:
            update.union_by_name(pyarrow.schema(fields))
        return IcebergLakeTable(self.table)

    def grow_columns(self, fields: Sequence[pyarrow.Field], load_id: str) -> IcebergLakeTable:
        check_new_names(self.table, fields)
        # By the union of names, existing fields get wider types, and structs further fields.
        return self.add_columns(fields, load_id)

    def row_count(self) -> int:
        with wrap_iceberg_errors(f"count the rows of `{self.name}`"):
            return self.table.scan().count()

    @property
    def place(self) -> Path | None:
        return local_path(self.new_file(""))

    def new_file(self, name: str) -> str:
        return f"{self.table.location().rstrip('/')}/data/{name}"

    def write(self, path: str) -> IO[bytes]:
        return cast(IO[bytes], self.table.io.new_output(path).create())

    def adopt(self, source: Path, path: str) -> None:
        local = local_path(path)
        if local is not None:
            link_or_copy(source, local)
            return
        with source.open("rb") as read, self.write(path) as written:
            shutil.copyfileobj(read, written)

    def commit(
        self,
        added: Sequence[str],
        removed: Sequence[DataFile],
        load_id: str,
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> None:
        """Add and remove files in one step; the snapshot is marked with the load and further properties."""
        new = [described(self.table.io, self.table.metadata, path) for path in added]
        with wrap_iceberg_errors(f"commit to `{self.name}`"), self.table.transaction() as transaction:
            if self.table.name_mapping() is None:  # by which files without ids of columns are read
                mapping = self.table.schema().name_mapping.model_dump_json()
                transaction.set_properties({TableProperties.DEFAULT_NAME_MAPPING: mapping})
            exchange_files(transaction.update_snapshot({LOAD_ID: load_id, **(snapshot_properties or {})}), removed, new)

    def is_touched_by_others(self, since: int | None, load_id: str) -> bool:
        if since is None and self.table.properties.get(LOAD_ID) != load_id:
            return True
        snapshot = self.table.current_snapshot()
        while snapshot is not None and snapshot.snapshot_id != since:
            summary = snapshot.summary.additional_properties if snapshot.summary else {}
            if summary.get(LOAD_ID) != load_id:
                return True
            parent_id = snapshot.parent_snapshot_id
            snapshot = self.table.snapshot_by_id(parent_id) if parent_id is not None else None
        return bool(since) and snapshot is None

    def restore(self, version: int, load_id: str) -> None:
        if version == 0:
            self.commit((), self.files(), load_id)
            return
        target = version
        for snapshot in self.table.snapshots():
            summary = snapshot.summary.additional_properties if snapshot.summary else {}
            if snapshot.parent_snapshot_id == version and _SAME_ROWS in summary:
                target = snapshot.snapshot_id
                break
        with wrap_iceberg_errors(f"restore `{self.name}` to snapshot {version}"):
            self.table.manage_snapshots().rollback_to_snapshot(target).commit()

    def discard_files(self, attempt: str) -> None:
        LakeTable.discard_files(self, attempt)
        self.discard_uncommitted(attempt)

    def discard_uncommitted(self, attempt: str) -> None:
        """Remove the files of a killed load or migration that no snapshot has, where they can be found.

        Names of files that only hold the same rows do not tell whose they are.
        """
        folder = self.place
        files = [*folder.glob(f"{attempt}-*"), *folder.glob(f"{_SAME_ROWS_PREFIX}*")] if folder else []
        if not files:
            return
        with wrap_iceberg_errors(f"read the files of `{self.name}`"):
            committed = {Path(path).name for path in self.table.inspect.all_files()["file_path"].to_pylist()}
        for file in files:
            if file.name not in committed:
                file.unlink(missing_ok=True)

    def claim_names(self, names: Sequence[str], load_id: str, column: str | None = None) -> None:
        """Make sure that no file has values of a former column under one of these names of new columns.

        Files that were adopted from the engine refer to columns by name. If a column of that name was dropped or
        renamed, its values would turn up in a new one: such files are rewritten first, in a separate commit. Former
        names of ``column``, which gets one of the names, are allowed; a new column has no former names.
        """
        current_names = {mapped_field.field_id: mapped_field.name for mapped_field in self.table.schema().fields}
        name_uses = [
            (name, current_names.get(mapped_field.field_id or 0))
            for mapped_field in self.table.name_mapping() or ()
            for name in mapped_field.names
        ]
        # Under which files may hold columns that now have other names, or are gone.
        former = {
            name
            for name, current_name in name_uses
            if current_name != name and (current_name is None or current_name != column)
        }
        reused = former & set(names)
        stale: list[DataFile] = []
        added: list[str] = []
        for file in self.files() if reused else ():
            with self.table.io.new_input(file.path).open() as stream:
                file_schema = pyarrow.parquet.read_schema(stream)
            if reused.isdisjoint(file_schema.names) or _has_ids(file_schema):
                continue
            stale.append(file)
            path = self.new_file(f"{_SAME_ROWS_PREFIX}{uuid.uuid4().hex}-00000.parquet")
            added += write_rows(self, path, self.read(file, self.fields.names))
        if stale:
            self.commit(added, stale, load_id, {_SAME_ROWS: "true"})


def exchange_files(update: UpdateSnapshot, removed: Sequence[DataFile], added: Sequence[IcebergFile]) -> None:
    """Write a snapshot in which files have come and gone."""
    with update.overwrite() if removed else update.fast_append() as snapshot:
        for removed_file in removed:
            snapshot.delete_data_file(removed_file.handle.file)
        for file in added:
            snapshot.append_data_file(file)


def _is_plain(task: FileScanTask) -> bool:
    """Return whether all rows of a file are the table's, in Parquet."""
    return not task.delete_files and task.file.file_format == FileFormat.PARQUET


def _absent_value(table: Table, task: FileScanTask, column: str) -> Any:
    """Return the value of a column that a file lacks: of its partition, or the table's initial default."""
    field = table.schema().find_field(column)
    for index, partition_field in enumerate(table.specs()[task.file.spec_id].fields):
        if partition_field.source_id == field.field_id and isinstance(partition_field.transform, IdentityTransform):
            return task.file.partition[index]
    return field.initial_default


def partitions_of_spec(metadata: TableMetadata) -> tuple[str, ...]:
    """Return the columns by whose values a table is partitioned."""
    fields = metadata.schema()
    return tuple(fields.find_field(partition_field.source_id).name for partition_field in metadata.spec().fields)


def fields_of(metadata: TableMetadata) -> pyarrow.Schema:
    """Return a table's columns as new files are to hold them."""
    arrow_schema = schema_to_pyarrow(metadata.schema(), include_field_ids=True)
    return pyarrow.schema([field.with_type(plain_type(field.type)) for field in arrow_schema])


def local_path(path: str) -> Path | None:
    """Return the place of a file or folder of this machine; None for any other location."""
    url = urlparse(path)
    return Path(path if not url.scheme else url.path) if url.scheme in ("", "file") else None


def described(io: FileIO, metadata: TableMetadata, path: str) -> IcebergFile:
    """Return the entry of a file in a commit: its size, rows, and the values of each column."""
    source = io.new_input(path)
    with source.open() as stream:
        footer = pyarrow.parquet.read_metadata(stream)
    statistics = data_file_statistics_from_parquet_metadata(
        parquet_metadata=footer,
        stats_columns=compute_statistics_plan(metadata.schema(), metadata.properties),
        parquet_column_mapping=parquet_path_to_id_mapping(metadata.schema()),
    )
    serialized: dict[str, Any] = statistics.to_serialized_dict()
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
        **serialized,
    )


_FIELD_ID: Final = b"PARQUET:field_id"
COMPACT: Final = "compact the table first: Spark's procedure `rewrite_data_files`"


def iceberg_type(arrow_type: pyarrow.DataType) -> IcebergType:
    """Return Iceberg's type of a result of ``arrow_type``; Iceberg replaces the ids of fields inside."""
    if is_a.is_struct(arrow_type):
        return types.StructType(
            *(
                types.NestedField(number, field.name, iceberg_type(field.type), required=False)
                for number, field in enumerate(arrow_type, 1)
            )
        )
    if is_a.is_map(arrow_type):
        return types.MapType(
            1, iceberg_type(arrow_type.key_type), 2, iceberg_type(arrow_type.item_type), value_required=False
        )
    if is_nested(arrow_type):
        return types.ListType(1, iceberg_type(arrow_type.value_type), element_required=False)
    if is_a.is_decimal(arrow_type):
        return types.DecimalType(arrow_type.precision, arrow_type.scale)
    if is_a.is_timestamp(arrow_type):
        return types.TimestamptzType() if arrow_type.tz else types.TimestampType()
    plain: dict[str, IcebergType] = {
        "string": types.StringType(),
        "double": types.DoubleType(),
        "bool": types.BooleanType(),
        "int32": types.IntegerType(),
        "int64": types.LongType(),
        "binary": types.BinaryType(),
        "date32[day]": types.DateType(),
        "time64[us]": types.TimeType(),
        "float": types.FloatType(),
        "extension<arrow.uuid>": types.UUIDType(),
    }
    return plain[str(arrow_type)]


def check_new_names(table: Table, fields: Sequence[pyarrow.Field]) -> None:
    """Refuse new fields inside columns of a table under names that files without ids have for former fields.

    Values of a former field would turn up in a new one.
    """
    mapping = {mapped_field.field_id: mapped_field.fields for mapped_field in table.name_mapping() or ()}
    for field in fields:
        _check_new(table, field, field.name, mapping.get(_field_id(table.schema(), field.name), ()))


def _check_new(table: Table, field: pyarrow.Field, parent_path: str, mapped_fields: Sequence[MappedField]) -> None:
    for part_name, inner in _inner_fields(field):
        name = part_name or inner.name
        field_path = f"{parent_path}.{name}"
        field_id = _field_id(table.schema(), field_path)
        if field_id is None and any(name in mapped_field.names for mapped_field in mapped_fields):
            raise DestinationError(
                f"`{table.name()[-1]}.{field_path}` is new, and files have values of a former field under its name",
                hint=COMPACT,
            )
        if field_id is not None:
            inner_fields = (mapped_field.fields for mapped_field in mapped_fields if mapped_field.field_id == field_id)
            _check_new(table, inner, field_path, next(inner_fields, ()))


def names_in(file_schema: pyarrow.Schema, table: Table, columns: Sequence[str], path: str) -> dict[str, str | None]:
    """Return the names of columns in the file at ``path``; None for missing columns.

    It goes by Iceberg's ids, or by the names that columns have had.
    """
    schema = table.schema()
    mapping = {field.field_id: field.names for field in table.name_mapping() or schema.name_mapping}
    file_names: dict[str, str | None] = {}
    for column in columns:
        field_id = schema.find_field(column).field_id
        if _has_ids(file_schema):
            name = next((field.name for field in file_schema if _id_of(field) == field_id), None)
        else:
            name = next((name for name in mapping.get(field_id, ()) if name in file_schema.names), None)
        if name is not None:
            _check_names(schema, file_schema.field(name), column, path)
        file_names[column] = name
    return file_names


def _has_ids(file_schema: pyarrow.Schema) -> bool:
    """Return whether a file refers to columns by Iceberg's ids, not by their names."""
    return any(_FIELD_ID in (field.metadata or {}) for field in file_schema)


def _id_of(field: pyarrow.Field) -> int | None:
    field_id = (field.metadata or {}).get(_FIELD_ID)
    return None if field_id is None else int(field_id)


def _check_names(schema: Schema, field: pyarrow.Field, parent_path: str, path: str) -> None:
    """Refuse a file whose fields have other names by now: their values would be lost."""
    for part_name, inner in _inner_fields(field):
        field_path = f"{parent_path}.{part_name or inner.name}"
        by_id, by_name = _id_of(inner), _field_id(schema, field_path)
        if by_name is None or (by_id is not None and by_id != by_name):
            raise DestinationError(
                f"`{parent_path}` has a field that was renamed or dropped after `{path}` was written", hint=COMPACT
            )
        _check_names(schema, inner, field_path, path)


def _inner_fields(field: pyarrow.Field) -> list[tuple[str, pyarrow.Field]]:
    """Return the fields inside a type, with Iceberg's names for unnamed fields."""
    data_type = field.type
    if is_a.is_struct(data_type):
        return [("", inner) for inner in data_type]
    if is_a.is_map(data_type):
        return [("key", data_type.key_field), ("value", data_type.item_field)]
    return [("element", data_type.value_field)] if is_nested(data_type) else []


def _field_id(schema: Schema, name: str) -> int | None:
    try:
        return int(schema.find_field(name).field_id)
    except ValueError:
        return None

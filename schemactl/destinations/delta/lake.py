"""A dataset of Delta tables as loads see it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import unquote

from schemactl.destinations._bookkeeping import is_bookkeeping
from schemactl.destinations._folder import is_link, is_plain_name, read_text, refuse_links, remove_folder
from schemactl.destinations._journal import Versions, journal_error, journal_text, read_journal
from schemactl.destinations._lake.lock import holding
from schemactl.destinations._lake.table import DataFile, Lake, LakeTable
from schemactl.destinations._lake.types import can_partition
from schemactl.destinations.delta.catalogue import LOG, columns_of, open_table, wrap_delta_errors
from schemactl.destinations.delta.types import NAMES, new_kind
from schemactl.destinations.parquet.bookkeeping import new_files, read_rows
from schemactl.destinations.parquet.journal import INIT, folders_in, list_files, write_text
from schemactl.errors import DestinationError
from schemactl.normalization.package import LoadPackage
from schemactl.schema.types import Column, Properties, Table
from schemactl.store.text import remove_leftovers
from schemactl.type_systems.arrow_types import is_nested, plain_type

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet
    from deltalake import CommitProperties, DeltaTable

JOURNAL: Final = ".schemactl-journal.json"
LOAD_ID: Final = "schemactlLoadId"
"""The metadata key of a commit for the load that it belongs to."""

WORKSHOP: Final = ".schemactl-workshop"
"""A hidden folder of the dataset: tables are made there before they get their place, and go there to be removed."""

_WRITER_FEATURES: Final = frozenset(
    ("appendOnly", "invariants", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "domainMetadata")
)
_READER_FEATURES: Final = frozenset(("timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"))
_PLAIN_WRITER: Final = 2
_NAMED_FEATURES: Final = 7


@dataclass(frozen=True, slots=True)
class DeltaLakeTable(LakeTable):
    """One table, as of its last commit."""

    folder: Path
    table: DeltaTable

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def place(self) -> Path:
        return self.folder

    @property
    def fields(self) -> pyarrow.Schema:
        import pyarrow

        arrow_schema = pyarrow.schema(self.table.schema().to_arrow())
        return pyarrow.schema([field.with_type(plain_type(field.type)) for field in arrow_schema])

    @property
    def kinds(self) -> Mapping[str, Properties]:
        return {name: kind for name, kind, *_ in columns_of(self.table)}

    @property
    def version(self) -> int:
        return int(self.table.version())

    @property
    def blocker(self) -> str | None:
        odd = next((name for name in self.partitions if not can_partition(self.kinds[name])), None)
        if odd is not None:
            return f"is partitioned by `{odd}`, of a type that loads do not partition by"
        return self.unsupported_feature

    @property
    def partitions(self) -> Sequence[str]:
        return self.table.metadata().partition_columns

    @property
    def unsupported_feature(self) -> str | None:
        """A feature that the table requires of writers and schemactl lacks; None if it has all."""
        protocol = self.table.protocol()
        features = set(protocol.writer_features or ())
        is_plain = protocol.min_writer_version <= _PLAIN_WRITER
        if not (is_plain or (protocol.min_writer_version == _NAMED_FEATURES and features <= _WRITER_FEATURES)):
            missing_features = (
                ", ".join(sorted(features - _WRITER_FEATURES)) or f"writer version {protocol.min_writer_version}"
            )
            return f"requires writer features that schemactl does not support: {missing_features}"
        has_invariants = any("delta.invariants" in field.metadata for field in self.table.schema().fields)
        return "has invariants, which schemactl does not check" if has_invariants else None

    def files(self) -> Sequence[DataFile]:
        import pyarrow

        actions = pyarrow.table(self.table.get_add_actions())
        actions = actions.select([name for name in ("path", "size_bytes", "partition") if name in actions.column_names])
        # With some features (deletion vectors, for one) a table's rows differ from the rows of its files.
        features = set(self.table.protocol().reader_features or ()) - _READER_FEATURES
        if features:
            names = ", ".join(sorted(features))
            message = f"`{self.folder}` requires reader features that schemactl does not support: {names}"
            raise DestinationError(message)
        # The log escapes characters that a URL cannot contain.
        files = [
            DataFile(unquote(action["path"]), action)
            for action in sorted(actions.to_pylist(), key=lambda action: action["path"])
        ]
        for file in files:
            if Path(file.path).anchor or ".." in Path(file.path).parts:
                raise DestinationError(f"the log of `{self.folder}` names a file outside the table: `{file.path}`")
            refuse_links(self.folder, self.folder / file.path)
        return files

    @contextmanager
    def open_file(self, file: DataFile) -> Iterator[pyarrow.parquet.ParquetFile]:
        import pyarrow.parquet

        # Not by delta-rs: a rewrite pulls rows from within, where it must not be called again.
        path, options = self.folder / file.path, {"coerce_int96_timestamp_unit": "us"}
        with wrap_delta_errors(f"read `{path}`"), pyarrow.parquet.ParquetFile(path, **options) as opened:
            yield opened

    def names_in(
        self, file: DataFile, file_schema: pyarrow.Schema, columns: Sequence[str]
    ) -> tuple[Mapping[str, str | None], Mapping[str, Any]]:
        names, _ = LakeTable.names_in(self, file, file_schema, columns)
        return names, file.handle.get("partition") or {}  # the values are only in the log

    def row_count(self) -> int:
        import pyarrow

        with wrap_delta_errors(f"count the rows of `{self.folder}`"):
            counts = pyarrow.table(self.table.get_add_actions())["num_records"].to_pylist()
            # The writer of a commit decides whether it records the row counts of files.
            return self.table.to_pyarrow_dataset().count_rows() if None in counts else sum(counts)

    def add_columns(self, fields: Sequence[pyarrow.Field], load_id: str) -> LakeTable:
        with wrap_delta_errors(f"add columns to `{self.folder}`"):
            add_fields(self.table, fields, _mark(load_id))
        return DeltaLakeTable(self.folder, open_table(self.folder))

    def commit(self, added: Sequence[str], removed: Sequence[DataFile], load_id: str) -> None:
        from deltalake.transaction import AddAction, RemoveAction

        now = int(time.time() * 1000)
        adds = []
        for path in map(Path, added):
            size, modified_at = path.stat().st_size, int(path.stat().st_mtime * 1000)
            partition = _partition_of(path, self.partitions, self.name)
            adds.append(AddAction(path.name, size, partition, modified_at, True, _statistics(path)))
        removes = [
            RemoveAction(
                file.path, True, now, file.handle["size_bytes"], _partition_texts(file.handle.get("partition"))
            )
            for file in removed
        ]
        with wrap_delta_errors(f"commit to `{self.folder}`"):
            self.table.create_write_transaction(
                [*adds, *removes], "append", self.table.schema(), commit_properties=_mark(load_id)
            )

    def is_touched_by_others(self, since: int | None, load_id: str) -> bool:
        count = self.version - (-1 if since is None else since)
        return any(commit.get(LOAD_ID) != load_id for commit in self.table.history(count))

    def restore(self, version: int, load_id: str) -> None:
        with wrap_delta_errors(f"restore `{self.folder}` to version {version}"):
            self.table.restore(version, commit_properties=_mark(load_id))


@dataclass(frozen=True, slots=True)
class DeltaLake(Lake):
    """A dataset: a folder with one for each table."""

    folder: Path

    names: ClassVar = NAMES

    @property
    def origin(self) -> str:
        return f"delta:{self.folder}"

    @property
    def lock_folder(self) -> Path:
        return self.folder

    def kind_of(self, column: Column) -> Properties:
        return new_kind(column)

    @contextmanager
    def locked(self, patience: float | None = None) -> Iterator[None]:
        """Wait for other sessions as ``holding`` does, keep them out, and remove leftovers of killed sessions."""
        with holding(self.folder, patience):
            with wrap_delta_errors(f"remove `{self.folder / WORKSHOP}`"):
                clear(self.folder)
            for folder in (self.folder, *folders_in(self.folder)):
                if folder == self.folder or not (is_link(folder) or (folder / LOG).is_dir()):
                    remove_leftovers(folder)
            yield

    def open(self, name: str) -> DeltaLakeTable | None:
        folder = self.place(name)
        if not (folder / LOG).is_dir():
            if folder.is_dir() and any(file.suffix == ".parquet" for file in folder.iterdir()):
                hint = "load into another dataset: `?dataset=NAME`"
                raise DestinationError(f"`{folder}` contains Parquet files, but is not a Delta table", hint=hint)
            return None
        return DeltaLakeTable(folder, open_table(folder))

    def place(self, name: str) -> Path:
        """Return the folder of a table, which may not exist."""
        check_name(name)
        refuse_links(self.folder, self.folder / name / LOG)
        return self.folder / name

    def create(
        self,
        name: str,
        fields: Sequence[pyarrow.Field],
        load_id: str,
        *,
        partitions: Sequence[str],
        description: str | None,
    ) -> DeltaLakeTable:
        folder = self.place(name)
        with wrap_delta_errors(f"create the Delta table `{folder}`"):
            make_table(folder, fields, partitions, _mark(load_id), description)
        return DeltaLakeTable(folder, open_table(folder))

    def drop(self, name: str) -> None:
        with wrap_delta_errors(f"remove `{self.place(name)}`"):
            remove_table(self.place(name))

    def read_journal(self) -> Versions | None:
        text = read_text(self.folder, self.folder / JOURNAL)
        if text is None:
            return None
        journal = read_journal(Versions, text, f"`{self.folder / JOURNAL}`")
        for name in journal.tables:
            if not _is_folder_name(name):
                raise journal_error(f"`{self.folder / JOURNAL}`", f"no table is called `{name}`")
        for name in journal.files:
            folder, _, file = name.rpartition("/")
            if not (is_bookkeeping(folder) and is_plain_name(file) and file.startswith(f"{journal.schema_name}__")):
                raise journal_error(f"`{self.folder / JOURNAL}`", f"no load of its schema creates `{name}`")
            refuse_links(self.folder, self.folder / name)
        return journal

    def write_journal(self, journal: Versions | None) -> None:
        path = self.folder / JOURNAL
        if journal is None:
            path.unlink(missing_ok=True)
        else:
            write_text(self.folder, path, journal_text(journal))

    def own_files(self, package: LoadPackage) -> Sequence[str]:
        *names, _ = (name for name, _ in new_files(list_files(self.folder), package))
        return [name for name in names if name != INIT]

    def read_rows(self, table: Table, /, **equal: str) -> Iterator[Mapping[str, Any]]:
        return read_rows(list_files(self.folder), table, **equal)

    def finish(self, package: LoadPackage, prefix: str) -> None:  # noqa: ARG002 - its files are no tables
        for name, text in new_files(list_files(self.folder), package):
            write_text(self.folder, self.folder / name, text)

    def discard_own(self, journal: Versions) -> None:
        for name in journal.files:
            (self.folder / name).unlink(missing_ok=True)


def check_name(name: str) -> None:
    """Raise ``DestinationError`` unless a folder can have a table's name."""
    if not _is_folder_name(name):
        raise DestinationError(f"table `{name}` cannot be a folder", hint="choose another naming convention")


def _is_folder_name(name: str) -> bool:
    return is_plain_name(name) and "%" not in name


def add_fields(table: DeltaTable, fields: Sequence[pyarrow.Field], mark: CommitProperties) -> None:
    """Add columns to a table, and before them the feature that timestamps without zone need."""
    from deltalake import Field, TableFeatures

    is_needed = any(_has_local_timestamps(field.type) for field in fields)
    if is_needed and "timestampNtz" not in (table.protocol().reader_features or ()):
        feature = TableFeatures.TimestampWithoutTimezone
        table.alter.add_feature(feature, allow_protocol_versions_increase=True, commit_properties=mark)
    table.alter.add_columns([Field.from_arrow(field) for field in fields], commit_properties=mark)


def _has_local_timestamps(of: pyarrow.DataType) -> bool:
    import pyarrow.types as is_a

    if is_a.is_timestamp(of):
        return of.tz is None
    return any(_has_local_timestamps(of.field(number).type) for number in range(of.num_fields))


def _mark(load_id: str) -> CommitProperties:
    from deltalake import CommitProperties

    return CommitProperties(custom_metadata={LOAD_ID: load_id})


def _statistics(path: Path) -> str:
    """Return the statistics of a file in a commit: its rows, and the nulls of each column but structs and lists."""
    import pyarrow.parquet

    footer = pyarrow.parquet.read_metadata(path)
    nulls: dict[str, Any] = {}
    plain_columns = {field.name for field in footer.schema.to_arrow_schema() if not is_nested(field.type)}
    for number in range(footer.num_columns):
        name = footer.schema.column(number).path
        statistics = [footer.row_group(group).column(number).statistics for group in range(footer.num_row_groups)]
        if name in plain_columns and all(group is not None and group.has_null_count for group in statistics):
            nulls[name] = sum(group.null_count for group in statistics)
    return json.dumps({"numRecords": footer.num_rows, "nullCount": nulls}, ensure_ascii=False)


def _partition_of(path: Path, partitions: Sequence[str], table: str) -> dict[str, str | None]:
    """Return the partition of a new file for a commit, by its first row."""
    import pyarrow.parquet

    if not partitions:
        return {}
    with pyarrow.parquet.ParquetFile(path) as opened:
        first = next(opened.iter_batches(batch_size=1, columns=list(partitions))).to_pylist()[0]
    empty = next((name for name in partitions if first[name] == ""), None)
    if empty is not None:
        raise DestinationError(
            f"`{table}` is partitioned by `{empty}`: a row has an empty string there, which Delta stores as null"
        )
    return _partition_texts(first)


def _partition_texts(values: Mapping[str, Any] | None) -> dict[str, str | None]:
    """Return values as Delta's log writes them ("Partition Value Serialization" in its protocol)."""
    texts: dict[str, str | None] = {}
    for name, value in (values or {}).items():
        match value:
            case bool():
                texts[name] = str(value).lower()
            case datetime():
                texts[name] = (value.astimezone(UTC) if value.tzinfo else value).strftime("%Y-%m-%d %H:%M:%S.%f")
            case _:
                texts[name] = None if value is None else str(value)
    return texts


def make_table(
    folder: Path,
    fields: Sequence[pyarrow.Field],
    partitions: Sequence[str],
    mark: CommitProperties,
    description: str | None = None,
) -> None:
    """Make a table without rows, whole or not at all: a log without a commit would be a broken table.

    It raises Delta's errors, and ``OSError`` if its folder exists and is not empty.
    """
    import pyarrow
    from deltalake import DeltaTable, Schema

    staged = folder.parent / WORKSHOP / folder.name
    clear(folder.parent)
    DeltaTable.create(
        str(staged),
        Schema.from_arrow(pyarrow.schema(fields)),
        partition_by=list(partitions),
        description=description,
        commit_properties=mark,
    )
    os.replace(staged, folder)  # noqa: PTH105 - in one step, as files are replaced
    clear(folder.parent)


def remove_table(folder: Path) -> None:
    """Remove a table with its files, at once for readers; raises ``OSError`` if that fails."""
    removed = folder.parent / WORKSHOP / folder.name
    clear(folder.parent)
    removed.parent.mkdir()
    os.replace(folder, removed)  # noqa: PTH105 - in one step, as files are replaced
    clear(folder.parent)


def clear(dataset: Path) -> None:
    """Remove the hidden folder of a dataset in which tables are made, if it exists."""
    remove_folder(dataset, dataset / WORKSHOP)

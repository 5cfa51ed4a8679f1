"""Load packages as dlt has them, and dlt's loader; imported only after a check that dlt is installed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dlt import Schema as DltSchema
from dlt.common import json
from dlt.common.configuration.container import Container
from dlt.common.data_writers.writers import FileWriterSpec, resolve_best_writer_spec
from dlt.common.destination.capabilities import merge_caps_file_formats
from dlt.common.destination.client import WithStagingDataset
from dlt.common.runners.pool_runner import run_pool
from dlt.common.runtime.collector_base import Collector
from dlt.common.schema.utils import bump_version_if_modified
from dlt.common.storages import LoadStorage
from dlt.common.storages.configuration import LoadStorageConfiguration
from dlt.common.storages.file_storage import FileStorage
from dlt.common.storages.load_package import PackageStorage, ParsedLoadJobFileName
from dlt.destinations.exceptions import DatabaseUndefinedRelation
from dlt.destinations.job_client_impl import SqlJobClientBase
from dlt.load import Load
from dlt.load.configuration import LoaderConfiguration

from schemactl.destinations.dlt.session import Session
from schemactl.normalization.package import StagedTable
from schemactl.progress import Progress
from schemactl.schema.dispositions import first
from schemactl.schema.types import Schema

if TYPE_CHECKING:
    from dlt.common.schema.typing import TStoredSchema

_LOADED: Final = "x-schemactl-loaded"
"""Marks the tables of a package's schema that have rows or exist."""

_FIRST_KEYS: Final = "schemactl_first_keys.json"
"""A package's file of the key that the first row of each of its files has."""

_MARKS, _SEEN = "x-normalizer", "seen-data"


class _FileSchema(DltSchema):
    """A schema whose tables are marked as loaded for dlt's loader, and stored without that, under the file's hash."""

    loaded: frozenset[str] = frozenset()

    def to_dict(
        self,
        remove_defaults: bool = False,  # noqa: ARG002 - dlt's
        remove_processing_hints: bool = False,
        bump_version: bool = True,
    ) -> TStoredSchema:
        stored = super().to_dict(remove_processing_hints=remove_processing_hints, bump_version=False)
        tables: dict[str, Any] = dict(stored["tables"])
        for name in self.loaded & tables.keys():
            marks = {key: value for key, value in tables[name].get(_MARKS, {}).items() if key != _SEEN}
            tables[name] = {key: value for key, value in tables[name].items() if key != _MARKS}
            if marks:
                tables[name][_MARKS] = marks
        stored["tables"] = tables
        if bump_version:
            bump_version_if_modified(stored)
        return stored


class _Packages(PackageStorage):
    def load_schema(self, load_id: str) -> DltSchema:
        stored = self._load_schema(load_id)
        loaded = frozenset(name for name, table in stored["tables"].items() if table.pop(_LOADED, False))
        schema = _FileSchema.from_dict(stored, validate_schema=False)
        assert isinstance(schema, _FileSchema)
        schema.loaded = loaded
        tables: dict[str, Any] = schema.tables
        for name in loaded:
            tables[name][_MARKS] = {**tables[name].get(_MARKS, {}), _SEEN: True}
        return schema


class _Loader(Load):
    def create_storage(self, is_storage_owner: bool) -> LoadStorage:
        storage: LoadStorage = super().create_storage(is_storage_owner)
        storage.normalized_packages = _Packages(storage.normalized_packages.storage, "normalized")
        return storage


class _Reported(Collector):
    """Hands dlt's counts of files to a progress of ours."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.done, self.total = 0, 0

    def update(
        self,
        name: str,
        inc: int = 1,
        total: int | None = None,
        inc_total: int | None = None,
        message: str | None = None,  # noqa: ARG002
        label: str | None = None,
    ) -> None:
        if name == "Jobs" and label is None:
            self.done += inc
            self.total = (total or self.total) + (inc_total or 0)
            self.progress("loading files", min(self.done / self.total, 1.0) if self.total else None)

    def _start(self, step: str) -> None:  # noqa: ARG002
        self.done, self.total = 0, 0

    def _stop(self) -> None:
        pass


class Packages:
    """The folder of packages that wait for dlt's loader, with packages of killed loads."""

    def __init__(self, session: Session, folder: Path) -> None:
        self._session = session
        self._config = LoadStorageConfiguration(load_volume_path=str(folder), delete_completed_jobs=True)
        self._storage = LoadStorage(True, session.capabilities().supported_loader_file_formats, config=self._config)

    @property
    def waiting(self) -> list[str]:
        """The load ids of packages that are not loaded to their end."""
        return list(self._storage.list_normalized_packages())

    def write(self, load_id: str, schema: Schema, tables: Iterable[StagedTable], loaded: Collection[str]) -> None:
        """Write a package, which waits for ``load_all`` once it is whole; ``loaded`` are existing tables."""
        tables, packages = tuple(tables), self._storage.new_packages
        if packages.storage.has_folder(load_id):  # of a load that was killed while it wrote
            packages.storage.delete_folder(load_id, recursively=True)
        packages.create_package(load_id)
        marked = {*loaded, *(staged_table.table.name for staged_table in tables)}
        stored = schema.to_dict()
        stored["tables"] = {
            name: {**table, _LOADED: True} if name in marked and not table.get(_MARKS, {}).get(_SEEN) else table
            for name, table in stored["tables"].items()
        }
        packages.storage.save(f"{load_id}/{PackageStorage.SCHEMA_FILE_NAME}", json.dumps(stored))
        packages.save_schema_updates(load_id, {})
        keys = dict(pair for staged in tables for pair in self._write_files(load_id, staged))
        packages.storage.save(f"{load_id}/{_FIRST_KEYS}", json.dumps(keys))
        self._storage.commit_new_load_package(load_id)

    def _write_files(self, load_id: str, staged: StagedTable) -> Iterator[tuple[str, str]]:
        """Write the files of a table; yield dlt's names of their jobs with the key of the first row of each."""
        table = staged.table
        files = list(staged.files)
        spec = file_format(self._session, table.name)
        key = first(table, "row_key")
        if spec is not None:
            written = self._convert(load_id, table.name, files, spec)
            # With several files it is unknown which rows begin which file.
            if len(written) == 1 and (first_key := _key(files, key)):
                yield f"{table.name}.{written[0]}", first_key
            return
        packages = self._storage.new_packages
        for number, file in enumerate(files):
            id = f"part{number:05}"
            name = packages.build_job_file_name(table.name, id, loader_file_format="parquet")
            path = packages.get_job_file_path(load_id, PackageStorage.NEW_JOBS_FOLDER, name)
            FileStorage.link_hard_with_fallback(str(file.absolute()), packages.storage.make_full_path(path))
            if first_key := _key([file], key):
                yield f"{table.name}.{id}", first_key

    def _convert(self, load_id: str, table: str, files: list[Path], spec: FileWriterSpec) -> list[str]:
        """Write rows in a format that the destination takes, by dlt's own writer of it; return the ids of the files."""
        from pyarrow import parquet

        columns = self._session.schema.tables[table]["columns"]
        texts = [name for name, column in columns.items() if column.get("data_type") == "json"]
        with Container().injectable_context(self._session.capabilities()):
            items = self._storage.create_item_storage(spec)
            for file in files:
                with parquet.ParquetFile(file, coerce_int96_timestamp_unit="us") as opened:
                    for batch in opened.iter_batches():
                        rows: list[dict[str, Any]] = batch.to_pylist()
                        # dlt's writers take JSON as values, not as texts.
                        for row in rows:
                            row |= {name: json.loads(row[name]) for name in texts if row.get(name) is not None}
                        items.write_data_item(load_id, self._session.schema.name, table, rows, columns)
            items.close_writers(load_id)
            return [
                ParsedLoadJobFileName.parse(file_metrics.file_path).file_id
                for file_metrics in items.closed_files(load_id)
            ]

    def settle(self) -> None:
        """Find the files that a killed load has committed: dlt records a file after its commit, and would reload it.

        A file is one transaction: if its first row exists, the whole file was loaded.
        """
        packages = self._storage.normalized_packages
        for load_id in self.waiting:
            schema = packages.load_schema(load_id)
            keys = json.loads(packages.storage.load(f"{load_id}/{_FIRST_KEYS}"))
            client = self._session.destination.client(schema, self._session.client.config)
            if not isinstance(client, SqlJobClientBase):
                continue  # whose files are written again under the same names
            for path in packages.list_started_jobs(load_id):
                job = ParsedLoadJobFileName.parse(path)
                key = keys.get(f"{job.table_name}.{job.file_id}")
                if key is not None and packages.load_pending_transition(load_id, job.file_name()) is None:
                    with client:
                        if _holds(client, job.table_name, key):
                            packages.save_pending_transition(load_id, job.file_name(), "completed")

    def load_all(self, progress: Progress) -> None:
        """Load all waiting packages, in the order of their load ids; resume interrupted loads."""
        session = self._session
        loader = _Loader(
            session.destination,
            staging_destination=session.staging[0] if session.staging else None,  # type: ignore[arg-type]
            collector=_Reported(progress),
            config=LoaderConfiguration(_load_storage_config=self._config),
            initial_client_config=session.client.config,
            initial_staging_client_config=session.staging[1].config if session.staging else None,  # type: ignore[arg-type]
        )
        run_pool(loader.config, loader)

    def drop_untouched(self, is_kept: Callable[[bool], bool]) -> bool:
        """Remove the packages that wait, unless the first one has changed the destination; return whether it was so.

        ``is_kept`` is called with whether its tables were made ready; it returns whether that is a change to keep.
        """
        storage = self._storage
        for number, load_id in enumerate(self.waiting):
            info = storage.get_load_package_info(load_id)
            retries = max((job.job_file_info.retry_count for job in info.jobs["new_jobs"]), default=0)
            is_ready = storage.begin_schema_update(load_id) is None
            if number == 0 and (
                info.has_pending_transitions or info.jobs["completed_jobs"] or retries > 1 or is_kept(is_ready)
            ):
                return False
            storage.normalized_packages.delete_package(load_id)
        return True


def _key(files: list[Path], column: str | None) -> str | None:
    """Return the first value of a column in files of Parquet."""
    from pyarrow import parquet

    for file in files if column is not None else ():
        with parquet.ParquetFile(file) as opened:
            for batch in opened.iter_batches(batch_size=1, columns=[column]):
                if len(batch):
                    return str(batch.column(0)[0])
    return None


def _holds(client: SqlJobClientBase, table: str, key: str) -> bool:
    """Return whether a table, or its copy in the staging dataset if dlt loads it into that, has a row."""
    column = next(
        name for name, properties in client.schema.tables[table]["columns"].items() if properties.get("row_key")
    )
    staged = isinstance(client, WithStagingDataset) and client.should_load_data_to_staging_dataset(table)
    with client.with_staging_dataset() if staged else nullcontext():  # type: ignore[attr-defined]
        sql_client = client.sql_client
        table_name = sql_client.make_qualified_table_name(table)
        try:
            return bool(
                sql_client.execute_sql(
                    f"SELECT 1 FROM {table_name} WHERE {sql_client.escape_column_name(column)} = %s", key
                )
            )
        except DatabaseUndefinedRelation:
            return False


def file_format(session: Session, table: str) -> FileWriterSpec | None:
    """Return dlt's writer of the files that a destination needs for a table; None if it accepts unchanged Parquet.

    Raises:
        Exception: of dlt: the destination supports no format without, or with, a staging destination.
    """
    caps = session.capabilities()
    staging = session.staging[0] if session.staging else None
    preferred, supported = merge_caps_file_formats(
        session.destination.destination_name,
        staging.destination_name if staging else None,  # type: ignore[arg-type]
        caps,
        staging.capabilities() if staging else None,  # type: ignore[arg-type]
    )
    described = session.schema.tables.get(table)
    if described is not None and caps.loader_file_format_selector is not None:
        preferred, supported = caps.loader_file_format_selector(preferred, supported, table_schema=described)
    has_json = described is not None and any(
        column.get("data_type") == "json" for column in described["columns"].values()
    )
    # SQLAlchemy would take the JSON texts of Parquet for strings, and encode them once more.
    is_taken = "parquet" in supported and not (has_json and "typed-jsonl" in supported)
    return None if is_taken else resolve_best_writer_spec("object", supported, preferred)

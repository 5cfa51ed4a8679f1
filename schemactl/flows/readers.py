"""``schemactl readers``: sources of readers -> their SQL -> who reads which column."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from schemactl.destinations import is_querying
from schemactl.errors import CommandWarning, InputError, did_you_mean
from schemactl.flows.reader_sources import ReaderSource, no_readers
from schemactl.flows.references import find_schemas
from schemactl.formats._readers import ReaderNames
from schemactl.garbage_collection import paused_collector
from schemactl.readers import READER_KINDS
from schemactl.readers.sql_graph import SqlNode, read_sql_graph
from schemactl.readers.sql_texts import SqlText
from schemactl.readers.tables import ReadTables
from schemactl.review.readers import (
    Answer,
    Blindness,
    Reader,
    Readership,
    ReadersReport,
    Use,
    merge,
    readers_of,
    with_owners,
)
from schemactl.schema.contract import system_prefix
from schemactl.schema.naming import naming_of
from schemactl.schema.types import Schema
from schemactl.store.code_owners import Forge, read_code_owners
from schemactl.store.file_trees import FileTree, RevisionFiles, WorkingFiles
from schemactl.store.folder import SchemasFolder
from schemactl.store.links import path_in_repository, repository_top
from schemactl.type_systems.dialect_names import canonical_dialect


def read_readers(
    sources: Sequence[ReaderSource],
    name: str,
    schemas: Iterable[Schema],
    *,
    files: FileTree | None = None,
    base_files: RevisionFiles | None = None,
) -> Readership:
    """Return the readers of a schema's tables; ``schemas`` may contain several versions of the schema.

    Args:
        sources: the sources of the readers.
        name: the name of the schema, and of its dataset unless the source names one.
        schemas: the versions.
        files: the files that hold the readers; None for the files on disk.
        base_files: the files that held the readers before the change under review; None without a review, or if the
            base is in no git revision.
    """
    versions = tuple(schemas)
    readerships, old_readerships = [], []
    for source in sources:
        tables = ReadTables.of(versions, source.dataset_of(name), source.database)
        readership = _read_source(source, source.where, tables, files or WorkingFiles())
        old_readership = readership
        if source.base is not None:
            old_readership = _read_source(source, source.base, tables, WorkingFiles(is_base=True))
        elif base_files is not None and source.kind in READER_KINDS:
            old_readership = _read_source(source, source.where, tables, base_files)
        missing = source.where if readership is None else source.base
        if old_readership is None and missing is not None:
            hint = "quote the pattern: `--readers 'sql:queries/**/*.sql'`"
            raise InputError(f"no file matches `{missing}`", hint=hint)
        readerships.append(readership or Readership())
        old_readerships.append(old_readership or Readership())
    is_complete = bool(sources) and all(source.is_complete for source in sources)
    has_base = base_files is not None or any(source.base is not None for source in sources)
    before = merge(old_readerships) if has_base else None
    return _with_code_owners(merge(readerships, is_complete=is_complete, before=before), base_files)


def _with_code_owners(readership: Readership, base_files: RevisionFiles | None) -> Readership:
    """Return a readership with the owners that the repository names: in a review, the base's file counts."""
    top = base_files.top if base_files else repository_top(Path.cwd())
    if top is None:
        return readership
    forges = {"GITHUB_ACTIONS": Forge.GITHUB, "GITLAB_CI": Forge.GITLAB}
    forge = next((forge for variable, forge in forges.items() if os.environ.get(variable)), None)
    try:
        code_owners = read_code_owners(top, base_files.revision if base_files else None, forge)
    except InputError as error:
        warnings.warn(CommandWarning(f"the owners of readers are unknown: {error.message}"), stacklevel=2)
        return readership
    if code_owners is None:
        return readership

    def owner_of(reader: Reader) -> str | None:
        location = path_in_repository(Path(reader.location.path), top) if reader.location else None
        owners = code_owners.owners_of(location.inside) if location and location.inside else ()
        return ", ".join(owners) or None

    return with_owners(readership, owner_of)


def _read_source(source: ReaderSource, where: str, tables: ReadTables, files: FileTree) -> Readership | None:
    """Return the readers of a source; None if it does not exist."""
    if source.kind in READER_KINDS:
        return READER_KINDS[source.kind].read(where, tables, source.dialect, files)
    return _read_database(source, tables)


def _read_database(source: ReaderSource, tables: ReadTables) -> Readership:
    """Return the uses by the views of a database; uses by functions and triggers are unknown."""
    from schemactl.flows.target import find_destination  # imports migrations, which files do not need

    destination = find_destination(source.where).destination
    if not is_querying(destination):
        raise InputError(f"`{source.kind}` keeps no views", hint="name a duckdb, mysql, postgresql or sqlite database")
    dialect = source.dialect or canonical_dialect(source.kind)
    nodes = [
        SqlNode(
            SqlText(query.sql, Reader(query.kind, f"{query.dataset}.{query.name}"), tables, dialect),
            (query.dataset, query.name),
            None if query.kind in ("view", "materialized view") else f"a {query.kind}",
        )
        for query in destination.read_queries(source.where)
    ]
    return read_sql_graph(nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadersRequest:
    """The request of ``schemactl readers``.

    Attributes:
        reference: the schemas.
        name: ``TABLE`` or ``TABLE.COLUMN``; None for all.
        answers: the columns to list; empty for all.
    """

    reference: str
    schemas: SchemasFolder
    sources: tuple[ReaderSource, ...]
    name: str | None = None
    answers: tuple[Answer, ...] = ()


def list_readers(request: ReadersRequest) -> tuple[ReadersReport, ...]:
    """Return the readers of the columns of schemas, without dlt's own tables."""
    if not request.sources:
        raise no_readers()
    schemas = [referred.schema for referred in find_schemas(request.reference, request.schemas)]
    if request.name is not None:
        _check_name(request.name, schemas)
    with paused_collector():
        return tuple(_report(schema, request) for schema in schemas)


def show_readers(sources: Sequence[ReaderSource], schema: Schema) -> dict[tuple[str, str], ReaderNames]:
    """Return the readers of each column of a schema, as formats and ``show`` print them."""
    readership = read_readers(sources, schema.name, [schema])
    readers: dict[tuple[str, str], ReaderNames] = {}
    for table in schema.tables.values():
        for column in table.columns:
            answer = readership.answer(table.name, column)
            items: Iterable[Use | Blindness] = readership.uses_of(table.name, column)
            if answer is Answer.UNKNOWN:
                items = readership.doubts(table.name, column)
            names = tuple(dict.fromkeys(item.reader.name for item in items))
            readers[table.name, column] = ReaderNames(answer.value, names)
    return readers


def _check_name(name: str, schemas: Sequence[Schema]) -> None:
    names = [table.name for schema in schemas for table in schema.tables.values()]
    columns = [
        f"{table.name}.{column}" for schema in schemas for table in schema.tables.values() for column in table.columns
    ]
    if name not in names and name not in columns:
        candidates = columns if "." in name else names
        raise InputError(f"there is no table or column `{name}`", hint=did_you_mean(name, candidates))


def _report(schema: Schema, request: ReadersRequest) -> ReadersReport:
    readership = read_readers(request.sources, schema.name, [schema])
    prefix = system_prefix(naming_of(schema))
    rows = []
    for table in schema.tables.values():
        if table.name.startswith(prefix):
            continue
        for column in (None, *table.columns):
            in_table = request.name in (None, table.name)
            if not in_table and request.name != f"{table.name}.{column}":
                continue
            row = readers_of(readership, table.name, column)
            if not request.answers or (column is not None and row.answer in request.answers):
                rows.append(row)
    return ReadersReport(schema.name, tuple(rows), readership)

"""Reads a destination's catalog as a schema; each SQL database has its own queries for it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from schemactl.destinations import Catalogue
from schemactl.destinations._session import Session
from schemactl.errors import DriverMissing, InputError, backquoted, did_you_mean
from schemactl.installation import install_command
from schemactl.normalization.tally import REJECTS_COLUMNS, REJECTS_TABLE
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.templates import MAX_NAME_LENGTH, VERSION_TABLE, new_schema
from schemactl.schema.types import Column, Properties, Table

OURS: Final = "_schemactl_"
"""The prefix of the names of our own tables, except the table of rejects."""

OWN_SCHEMA: Final = "_schemactl"
"""The schema that dlt's loader keeps rejects and loaded files under: as a part of the user's they would change its
hash."""

_STAGING: Final = "_staging"


def make_catalogue(
    dataset: str,
    origin: str,
    columns: Iterable[tuple[str, Column]] = (),
    descriptions: Mapping[str, str | None] | None = None,
    versions: Sequence[tuple[str, str]] = (),
) -> Catalogue:
    """Return the catalog of a dataset; other properties of its tables are as in a new schema.

    Args:
        dataset: its name, from which the schema's name is made unless dlt keeps exactly one schema.
        origin: its address, without a password.
        columns: with the names of their tables.
        descriptions: of tables, by name; None or an empty text for a table without a description.
        versions: names and hashes of the schemas in dlt's ledger, the last one first.
    """
    tables: dict[str, dict[str, Column]] = {}
    for table, column in columns:
        tables.setdefault(table, {})[column.name] = column
    # dlt adds these on reading: without them the schema would have another hash as a file.
    texts = {table: {"description": text} for table, text in (descriptions or {}).items() if text}
    schema_tables = {
        table: Table(table, table_columns, {"write_disposition": "append", "resource": table, **texts.get(table, {})})
        for table, table_columns in tables.items()
    }
    schema = new_schema(schema_name({name for name, _ in versions}, dataset))
    return Catalogue(replace(schema, tables=schema_tables), origin, hashes_of(versions))


def is_ours(table: Table) -> bool:
    """Return whether a table is schemactl's own: for its ledgers, unfinished work, rejects."""
    if table.name.lower() == REJECTS_TABLE:  # data may have a table of this name, too
        return {column.name for column in REJECTS_COLUMNS} <= {name.lower() for name in table.columns}
    return table.name.lower().startswith(OURS)


def column_of(
    name: str, kind: Properties, is_nullable: bool, description: str | None = None, hints: Properties | None = None
) -> Column:
    """Return a column of a catalog; ``kind`` is its type."""
    null = {} if is_nullable else {"nullable": False}
    text = {"description": description} if description else {}
    return Column(name, {**kind, **null, **(hints or {}), **text})


def unknown(database_type: str) -> Properties:
    """Return the type of a column that dlt has no type for."""
    return {DATABASE_TYPE: database_type}


def with_nullable(kind: Properties, column: Column) -> Properties:
    """Return a type with a column's ``nullable``."""
    return kind if column.nullable else {**kind, "nullable": False}


def choose_dataset(datasets: Collection[str], dataset: str | None, origin: str) -> str:
    """Return the dataset to read: ``dataset``, else the only one; dlt's staging copies do not count."""
    names = sorted(datasets)
    if dataset is not None:
        if dataset in datasets:
            return dataset
        hint = did_you_mean(dataset, names) or (f"known: {', '.join(names)}" if names else None)
        raise InputError(f"there is no dataset `{dataset}` with tables in `{origin}`", hint=hint)
    main = without_staging(names)
    if not main:
        raise InputError(f"there are no tables in `{origin}`")
    if len(main) > 1:
        dataset_list = backquoted(main)
        raise InputError(
            f"`{origin}` contains {len(main)} datasets: {dataset_list}", hint=f"choose one: `?dataset={main[0]}`"
        )
    return main[0]


def choose_migrated(
    ours: Collection[str], unclaimed: Collection[str], foreign: Collection[str], schema_name: str, origin: str
) -> str:
    """Return the dataset to migrate: the schema's, else the only one with tables, else a new one with its name.

    The only one is not chosen if another schema was loaded into it.

    Args:
        ours: datasets that were loaded with the schema, or migrated to it.
        unclaimed: datasets with tables, but without loads.
        foreign: datasets that were loaded only with different schemas, and are never chosen.
        schema_name: the schema's.
        origin: the destination, for messages.
    """
    if ours:
        return choose_dataset(ours, None, origin)
    candidates = without_staging(sorted(unclaimed))
    if not candidates:
        return schema_name
    if len(candidates) == 1 and not foreign:
        return candidates[0]
    dataset_list = backquoted(sorted((*candidates, *foreign)))
    hint = f"choose one of them (`?dataset={candidates[0]}`) or a new dataset (`?dataset={schema_name}`)"
    raise InputError(f"`{origin}` contains {len(candidates) + len(foreign)} datasets: {dataset_list}", hint=hint)


def without_staging(names: Collection[str]) -> list[str]:
    """Return the names of datasets without the names of dlt's staging copies."""
    return [name for name in names if not (name.endswith(_STAGING) and name.removesuffix(_STAGING) in names)]


def hashes_of(versions: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return the hashes of schemas, given as names and hashes, in their order; empty if the names differ."""
    theirs = [version for version in versions if version[0] != OWN_SCHEMA]
    return tuple(version_hash for _, version_hash in theirs) if len({name for name, _ in theirs}) == 1 else ()


def schema_name(names: Collection[str], dataset: str) -> str:
    """Return the name of a dataset's schema: the one that dlt keeps there, else the dataset's as an identifier."""
    theirs = set(names) - {OWN_SCHEMA}
    schema_name = re.sub(r"\W", "_", theirs.pop() if len(theirs) == 1 else dataset)
    return (schema_name if schema_name.isidentifier() else f"_{schema_name}")[:MAX_NAME_LENGTH]


@contextmanager
def driver(package: str, extra: str) -> Iterator[None]:
    """Raise ``DriverMissing``, with the extra of ours that installs it, for a package that is imported inside."""
    try:
        yield
    except ModuleNotFoundError:
        hint = install_command(extra)
        raise DriverMissing(f"the package `{package}` is not installed", hint=hint) from None


def catalogue_of(
    session: Session,
    dataset: str,
    columns: Iterable[tuple[str, str, Properties, bool, str | None, str | None]],
    keys: Iterable[Sequence[Any]],
    *,
    versions: str | None = None,
    name: str | None = None,
) -> Catalogue:
    """Return the catalog of one dataset.

    Args:
        session: an open connection.
        dataset: the dataset to read.
        columns: table, name, type, whether it takes nulls, description, and the table's description.
        keys: table, key, whether it is the primary one (else its columns are unique together), and one of its columns.
        versions: the full name of dlt's table of schemas, whose names and hashes are read; None to leave them out.
        name: the schema's name if dlt keeps no schema; by default the dataset's.
    """
    rows, hints = list(columns), _hints(keys)
    version_hashes: list[Any] = []
    names = {row[1] for row in rows if row[0] == VERSION_TABLE}
    if versions is not None and {"schema_name", "version_hash", "inserted_at"} <= names:
        version_hashes = session.query(f"select schema_name, version_hash from {versions} order by inserted_at desc")
    typed_columns = (
        (table, column_of(column, kind, is_nullable, text, hints.get((table, column))))
        for table, column, kind, is_nullable, text, _ in rows
    )
    texts = {row[0]: row[-1] for row in rows}
    return make_catalogue(name or dataset, f"{session.shown}?dataset={dataset}", typed_columns, texts, version_hashes)


def _hints(keys: Iterable[Sequence[Any]]) -> dict[tuple[str, str], Properties]:
    """Return the hints that keys mean for columns, by the names of table and column."""
    key_columns: dict[tuple[bool, str, Any], list[str]] = {}
    for table, key, is_primary, column in keys:
        key_columns.setdefault((not is_primary, table, key), []).append(column)
    hints: dict[tuple[str, str], Properties] = {}
    for (is_other, table, _), columns in sorted(key_columns.items(), key=lambda item: item[0][0]):
        if not is_other or len(columns) == 1:  # dlt's hint is only about one column
            for column in columns:
                hints[table, column] = {**hints.get((table, column), {}), "unique" if is_other else "primary_key": True}
    return hints

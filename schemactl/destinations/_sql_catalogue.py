"""What the catalog of a SQL database says, as a schema; each database has its own queries for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from schemactl.destinations import Catalogue
from schemactl.destinations._catalogue import VERSIONS_TABLE, column_of, keeps_versions, make_catalogue
from schemactl.destinations._session import Session, qualify
from schemactl.schema.types import Properties


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
        dataset: what is read.
        columns: table, name, type, whether it takes nulls, description, and that of the table.
        keys: table, key, whether it is the primary one (else its columns are unique together), and one of its columns.
        versions: the full name of dlt's table of schemas, where it is not that of the dataset.
        name: of the schema where dlt keeps none, and it is not that of the dataset.
    """
    rows, hints = list(columns), _hints(keys)
    kept: list[tuple[str, str]] = []
    if keeps_versions(row[:2] for row in rows):
        place = versions or qualify(dataset, VERSIONS_TABLE)
        query = f"select schema_name, version_hash from {place} order by inserted_at desc"
        kept = [(each, version_hash) for each, version_hash in session.query(query)]
    found = (
        (table, column_of(column, kind, is_nullable, hints.get((table, column)), text))
        for table, column, kind, is_nullable, text, _ in rows
    )
    texts = {row[0]: row[-1] for row in rows}
    return make_catalogue(name or dataset, f"{session.shown}?dataset={dataset}", found, texts, kept)


def _hints(keys: Iterable[Sequence[Any]]) -> dict[tuple[str, str], Properties]:
    """Return what keys make the hints of columns, by the names of table and column."""
    held: dict[tuple[bool, str, Any], list[str]] = {}
    for table, key, is_primary, column in keys:
        held.setdefault((not is_primary, table, key), []).append(column)
    found: dict[tuple[str, str], Properties] = {}
    for (is_other, table, _), columns in sorted(held.items(), key=lambda each: each[0][0]):
        if not is_other or len(columns) == 1:  # dlt's hint speaks of one column alone
            for column in columns:
                found[table, column] = {**found.get((table, column), {}), "unique" if is_other else "primary_key": True}
    return found

"""Rows of the small tables in which a dataset of a SQL session keeps loads and migrations; see ``_bookkeeping``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from schemactl.destinations._bookkeeping import (
    ReadRows,
    find_columns,
    find_names,
    knows_schema,
    rows_of,
    rows_of_load,
)
from schemactl.destinations._catalogue import choose_dataset, without_staging
from schemactl.destinations._session import Relation, Session, create_table, literal, qualify, quote
from schemactl.errors import InputError
from schemactl.normalization.package import LoadPackage
from schemactl.schema.types import DataType, Table


def reader(session: Session, dataset: str) -> ReadRows:
    """Return what reads rows of a dataset."""
    return partial(read_rows, session, dataset)


def read_rows(session: Session, dataset: str, table: Table, /, **equal: str) -> list[dict[str, Any]]:
    """Return rows of a table; see ``ReadRows``."""
    rows: list[dict[str, Any]] = []
    for relation, columns in _found(session, dataset, table):
        # As numbers, because DuckDB hands out timestamps with a time zone only where pytz is installed.
        values = [
            session.seconds_of(quote(name)) if table.columns[column].data_type is DataType.TIMESTAMP else quote(name)
            for column, name in columns.items()
        ]
        query = f"SELECT {', '.join(values)} FROM {qualify(dataset, relation.name)}{_where(columns, equal)}"
        rows += rows_of(table, session.query(query))
    return rows


def replace_rows(
    session: Session, dataset: str, table: Table, rows: Sequence[Mapping[str, Any]], keys: Iterable[str]
) -> None:
    """Write rows in the place of those with the same keys; the table is made where it is missing.

    Raises:
        InputError: an early version of dlt made the table.
    """
    target, columns = qualify(dataset, table.name), {name: name for name in table.columns}
    relation = session.relations(dataset, table.name.lower()).get(table.name.lower())
    if relation is None:
        session.execute(create_table(session, dataset, table))
    else:
        found = find_columns(table, relation.columns, dataset)
        if found is None:
            raise InputError(f"`{table.name}` was made by a version of dlt that is too old to go on with")
        target, columns = qualify(dataset, relation.name), found
    for row in rows:
        session.execute(f"DELETE FROM {target}{_where(columns, {name: str(row[name]) for name in keys})}")
    if rows:
        session.insert(target, tuple(columns.values()), [tuple(row[name] for name in columns) for row in rows])


def remove_rows(session: Session, dataset: str, table: Table, /, **equal: str) -> None:
    """Remove rows of a table."""
    for relation, columns in _found(session, dataset, table):
        session.execute(f"DELETE FROM {qualify(dataset, relation.name)}{_where(columns, equal)}")


def write_bookkeeping(session: Session, dataset: str, package: LoadPackage) -> None:
    """Write the rows that complete a load."""
    for table, rows in rows_of_load(package, reader(session, dataset)):
        session.insert(qualify(dataset, table.name), tuple(table.columns), rows)


def find_dataset(session: Session, asked: str | None, schema_name: str) -> list[str]:
    """Return the datasets that a load of this schema may mean: the one asked for, else all that dlt loaded with it.

    dlt's staging copies do not count. Nothing is returned where there is none yet.
    """
    known = session.datasets()
    if asked is not None:
        return [name for name in known if name == asked]
    return [name for name in without_staging(known) if knows_schema(reader(session, name), schema_name)]


def choose_migrated(session: Session, asked: str | None, schema_name: str) -> str:
    """Return the dataset to migrate: the one asked for, that of the schema, the only one with tables, a new one.

    Raises ``InputError`` where it may be one of several.
    """
    if asked is not None:
        return asked
    loaded = find_dataset(session, None, schema_name)
    if len(loaded) == 1:
        return loaded[0]
    known = [name for name in session.datasets() if session.relation_names(name)]
    return choose_dataset(known, None, session.shown) if known else schema_name


def _found(session: Session, dataset: str, table: Table) -> Iterator[tuple[Relation, Mapping[str, str]]]:
    """Yield the tables that a table is in a dataset, with the names of its columns there."""
    for name in find_names(session.relation_names(dataset), table.name):
        relation = session.relation(dataset, name)
        if relation is not None and relation.is_table:
            columns = find_columns(table, relation.columns, dataset)
            if columns is not None:
                yield relation, columns


def _where(columns: Mapping[str, str], equal: Mapping[str, str]) -> str:
    same = (f"{quote(columns[name])} = {literal(value)}" for name, value in equal.items())
    return f" WHERE {' AND '.join(same)}" if equal else ""

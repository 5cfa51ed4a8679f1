"""Rows of the small tables in which a dataset of a SQL session keeps loads and migrations; see ``_bookkeeping``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from schemactl.destinations._bookkeeping import (
    find_columns,
    find_names,
    knows_schema,
    rows_of,
    rows_of_load,
    stored_as,
)
from schemactl.destinations._catalogue import choose_migrated, without_staging
from schemactl.destinations._session import Session, create_table
from schemactl.errors import InputError
from schemactl.normalization.package import INPUTS_TABLE, LoadPackage
from schemactl.schema.quoting import literal, qualify, quote
from schemactl.schema.templates import VERSION_TABLE
from schemactl.schema.types import DataType, Table


@dataclass(frozen=True, slots=True)
class Bookkeeping:
    """The small tables of a dataset.

    Attributes:
        session: an open connection.
        dataset: the database's own name for it.
        columns: names of columns by existing table; more tables are added when they are first used.
        names: of the dataset's tables when they were last listed; they are listed again if a table is not among them.
    """

    session: Session
    dataset: str
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    def read_rows(self, table: Table, /, **equal: str) -> Iterator[dict[str, Any]]:
        """Yield rows of a table; see ``ReadRows``."""
        # The other tables are small, and their rows come with one round trip.
        query = self.session.iterate if table.name == INPUTS_TABLE else self.session.query
        for target, columns in self._find(table):
            # As numbers, because DuckDB returns timestamps with a time zone only if pytz is installed.
            values = [
                self.session.moment_of(quote(name))
                if table.columns[column].data_type is DataType.TIMESTAMP
                else quote(name)
                for column, name in columns.items()
            ]
            where = f" WHERE {_condition(columns, equal)}" if equal else ""
            rows = query(f"SELECT {', '.join(values)} FROM {target}{where}")
            yield from rows_of(table, rows, columns)

    def replace_rows(self, table: Table, rows: Sequence[Mapping[str, Any]], keys: Iterable[str]) -> None:
        """Write rows, and replace rows with the same keys; a missing table is created.

        Raises:
            InputError: an early version of dlt made the table.
        """
        target, columns = qualify(self.dataset, table.name), {name: name for name in table.columns}
        name = next((name for name in self._existing(table) if name.lower() == table.name.lower()), None)
        if name is None:
            self.session.execute(create_table(self.session, self.dataset, table))
        else:
            stored_names = find_columns(table, self.columns[name], self.dataset)
            if stored_names is None:
                raise InputError(f"`{table.name}` was created by a dlt version that is too old")
            target, columns = qualify(self.dataset, name), stored_names
        if rows:
            same_keys = [_condition(columns, {name: str(row[name]) for name in keys}) for row in rows]
            values = [tuple(row[name] for name in columns) for row in rows]
            self.session.replace_rows(target, tuple(columns.values()), same_keys, values)

    def remove_rows(self, table: Table, /, **equal: str) -> None:
        """Remove rows of a table."""
        for target, columns in self._find(table):
            self.session.execute(f"DELETE FROM {target} WHERE {_condition(columns, equal)}")

    def _find(self, table: Table) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Yield the tables that a table is in the dataset, with the names of its columns there."""
        stored_tables = stored_as(table, self._existing(table), self.columns.__getitem__, self.dataset)
        return ((qualify(self.dataset, name), columns) for name, columns in stored_tables)

    def _existing(self, table: Table) -> list[str]:
        """Return the names that a table has in the dataset."""
        if not find_names(self.columns, table.name):
            names = find_names(self.names, table.name)
            if not names:
                self.names[:] = self.session.relation_names(self.dataset)
                names = find_names(self.names, table.name)
            for name in names:
                relation = self.session.relation(self.dataset, name)
                if relation is not None and relation.is_table:
                    self.columns[name] = tuple(relation.columns)
        return find_names(self.columns, table.name)


def write_bookkeeping(session: Session, dataset: str, package: LoadPackage) -> None:
    """Write the rows that complete a load."""
    for table, rows in rows_of_load(package, Bookkeeping(session, dataset).read_rows):
        session.insert(qualify(dataset, table.name), tuple(table.columns), rows)


def find_dataset(session: Session, dataset: str | None, schema_name: str) -> list[str]:
    """Return the datasets that a load of this schema may mean: ``dataset``, else all that dlt loaded with it.

    dlt's staging copies do not count. The list is empty before the first load.
    """
    datasets = session.datasets()
    if dataset is not None:
        return [name for name in datasets if name == dataset]
    loaded = _loaded(session.list_relations(None))
    return [
        name
        for name in without_staging(datasets)
        if name in loaded and knows_schema(Bookkeeping(session, name).read_rows, schema_name)
    ]


def _loaded(relations: Iterable[tuple[str, str]]) -> set[str]:
    """Return the datasets that dlt or schemactl has loaded, with whatever schema."""
    return {dataset for dataset, name in relations if find_names([name], VERSION_TABLE)}


def find_migrated(session: Session, dataset: str | None, schema_name: str) -> str:
    """Return the dataset to migrate: ``dataset``, else the choice of ``choose_migrated``.

    Raises ``InputError`` if several datasets fit.
    """
    if dataset is not None:
        return dataset
    ours = find_dataset(session, None, schema_name)
    if len(ours) == 1:
        return ours[0]
    relations = session.list_relations(None)
    loaded = _loaded(relations)
    filled = {loaded_dataset for loaded_dataset, _ in relations} & set(session.datasets())
    return choose_migrated(ours, filled - loaded, filled & loaded, schema_name, session.shown)


def _condition(columns: Mapping[str, str], equal: Mapping[str, str]) -> str:
    return " AND ".join(f"{quote(columns[name])} = {literal(value)}" for name, value in equal.items())

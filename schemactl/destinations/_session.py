"""What loading asks of a SQL database: one open transaction, seen the same way for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from schemactl.destinations._package import StagedTable
from schemactl.destinations._structure import Clash
from schemactl.schema.ddl import Dialect
from schemactl.schema.structure import NameLimits, description_of
from schemactl.schema.types import Column, Table


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or view that stands in a dataset.

    Attributes:
        name: as it is written there.
        is_table: whether rows can be put into it.
        columns: their types by name, as the database writes them.
        is_ours: whether the user may put rows into it.
    """

    name: str
    is_table: bool
    columns: Mapping[str, str]
    is_ours: bool = True


class SqlDefaults:
    """What most SQL databases have alike; a connection says where its database differs."""

    __slots__ = ()

    @property
    def has_transactional_ddl(self) -> bool:
        """Whether what makes and changes tables is a part of a transaction."""
        return True

    @property
    def casts_to_columns(self) -> bool:
        """Whether CAST takes the types that columns have."""
        return True

    @property
    def merges(self) -> bool:
        """Whether rows are merged there."""
        return True

    @property
    def has_merge_statement(self) -> bool:
        """Whether it has MERGE INTO."""
        return True

    @property
    def tie(self) -> str:
        """The order of new rows ``n`` with equal keys, so that partitions do not change which one comes."""
        return "CAST(n AS VARCHAR)"

    @property
    def takes_moments_as_texts(self) -> bool:
        """Whether a text in UTC is what a column of moments has, or is compared with."""
        return False

    def update_from(self, target: str, columns: Sequence[str], source: str, match: str) -> str:
        """Return the statement that gives old rows ``o`` the values of new ones ``n``; all names are quoted."""
        stated = ", ".join(f"{name} = n.{name}" for name in columns)
        return f"UPDATE {target} AS o SET {stated} FROM {source} AS n WHERE {match}"

    def delete_from(self, target: str, condition: str) -> str:
        """Return the statement that deletes old rows ``o``."""
        return f"DELETE FROM {target} AS o WHERE {condition}"

    def seconds_of(self, value: str) -> str:
        """Return the expression of a timestamp's seconds since 1970, as a number."""
        return f"extract(epoch FROM {value})"


class Database(Protocol):
    """A connection to a SQL database; ``SqlDefaults`` has a part of it."""

    @property
    def has_transactional_ddl(self) -> bool: ...

    @property
    def casts_to_columns(self) -> bool: ...

    @property
    def merges(self) -> bool: ...

    @property
    def has_merge_statement(self) -> bool: ...

    @property
    def tie(self) -> str: ...

    @property
    def takes_moments_as_texts(self) -> bool: ...

    def update_from(self, target: str, columns: Sequence[str], source: str, match: str) -> str: ...

    def delete_from(self, target: str, condition: str) -> str: ...

    def seconds_of(self, value: str) -> str: ...

    @property
    def dialect(self) -> str:
        """The name that sqlglot has for its SQL."""
        ...

    @property
    def shown(self) -> str:
        """The address for messages, without a password."""
        ...

    def column_type(self, column: Column) -> str:
        """Return the type that dlt gives such a column, as the catalog writes it."""
        ...

    def execute(self, statement: str) -> int:
        """Run one statement; return how many rows it has written, 0 where that means nothing."""
        ...

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        ...

    def insert(self, target: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Put a few rows into a table."""
        ...

    def datasets(self) -> list[str]:
        """Return the names of all datasets, those without tables too."""
        ...

    def relations(self, dataset: str, folded: str | None = None) -> Mapping[str, Relation]:
        """Return tables and views of a dataset by folded name, or the one of a folded name, with one query."""
        ...

    def relation_names(self, dataset: str) -> list[str]:
        """Return the names of the tables and views of a dataset."""
        ...

    def relation(self, dataset: str, name: str) -> Relation | None:
        """Return one by its name as it stands; where it is not there, a transaction may end with that."""
        ...

    def wrap_errors(self, task: str, hint: str | None = None) -> AbstractContextManager[None]:
        """Return a context that turns the driver's errors into ``DestinationError``: ``cannot TASK: ...``.

        ``hint`` stands in where the error itself suggests nothing.
        """
        ...


class Session(Database, Protocol):
    """One transaction of a database that takes loads. Nothing of it is seen by others before its owner commits."""

    @property
    def names(self) -> NameLimits:
        """What it makes of names."""
        ...

    @property
    def makes_unique(self) -> bool:
        """Whether dlt makes ``unique`` a constraint there."""
        ...

    def grown_type(self, column: Column, there: str) -> str | Clash | None:
        """Return the type that a column of structs or lists gets where a load has more fields; None where it stays.

        Args:
            column: of the load.
            there: its type now, as ``relations`` has it.
        """
        ...

    def stage(self, name: str, staged: StagedTable) -> None:
        """Make the rows of a staged table readable under a name that ends with the transaction, with dlt's types."""
        ...

    def append(self, target: str, staged: StagedTable) -> int:
        """Put the rows of a staged table into a table whose columns have dlt's types; return how many."""
        ...

    def lock(self, dataset: str) -> None:
        """Wait until nobody else loads into this dataset."""
        ...


def ddl_of(database: Database) -> Dialect:
    """Return how the database spells definitions; no session has escapes in texts."""
    return Dialect(database.dialect, has_plain_texts=True)


def create_table(database: Database, dataset: str, table: Table, *, is_unique: bool = True) -> str:
    """Return the statement that makes a table as dlt makes it (docs/dlt.md §9.2).

    Args:
        database: that gets it.
        dataset: where it will be.
        table: with complete columns, in their order.
        is_unique: whether the hint ``unique`` becomes a constraint; dlt does so on PostgreSQL, not on DuckDB.
    """
    sql = ddl_of(database)
    definitions = [define_column(database, column, is_unique=is_unique) for column in table.columns.values()]
    return sql.create_table(sql.place(dataset, table.name), definitions, description_of(table))


def define_column(database: Database, column: Column, *, is_unique: bool) -> str:
    """Return the definition of a column; see ``create_table``."""
    is_constrained = is_unique and bool(column.properties.get("unique"))
    return ddl_of(database).definition(column, database.column_type(column), is_unique=is_constrained)


def quote(name: str) -> str:
    """Return a name as standard SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def qualify(dataset: str, name: str) -> str:
    """Return the full name of a table."""
    return f"{quote(dataset)}.{quote(name)}"


def literal(text: str) -> str:
    """Return a text as standard SQL writes it; it must hold no NUL."""
    return "'" + text.replace("'", "''") + "'"


def fold(name: str, limits: NameLimits) -> str:
    """Return what two names have in common that are one name there."""
    return name if limits.is_case_sensitive else name.lower()

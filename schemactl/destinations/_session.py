"""The interface of SQL databases for loads and migrations: one open connection, the same for all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from schemactl.destinations._address import FileAddress, ServerAddress
from schemactl.destinations._errors import wrap_errors
from schemactl.destinations._structure import Clash
from schemactl.errors import DestinationError
from schemactl.normalization.package import StagedTable
from schemactl.schema.quoting import quote
from schemactl.schema.structure import NameLimits, description_of
from schemactl.schema.types import Column, Table
from schemactl.type_systems.ddl import Dialect


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or view of a dataset.

    Attributes:
        name: as the database spells it.
        is_table: whether rows can be put into it.
        columns: their types by name, as the database writes them.
        is_ours: whether the user may put rows into it.
    """

    name: str
    is_table: bool
    columns: Mapping[str, str]
    is_ours: bool = True


class Session(ABC):
    """A connection to a SQL database; the defaults fit most databases.

    A load is one transaction: other sessions see it only after its commit.

    Attributes:
        dialect: the name that sqlglot has for its SQL.
        names: how it limits and compares names.
        datasets_query: returns the names of all datasets.
        placeholder: marks the place of a value in a statement.
        has_transactional_ddl: whether a transaction can create and change tables.
        casts_to_columns: whether CAST takes the types that columns have.
        has_merge_statement: whether it has MERGE INTO.
        makes_unique: whether dlt makes ``unique`` a constraint in it.
        has_short_floats: whether ``FLOAT`` or ``REAL`` has 4 bytes.
        takes_moments_as_texts: whether a column of timestamps stores texts in UTC, or compares with them.
        tie: the order of new rows ``n`` with equal keys, so that partitions do not change which row comes.
        temporary_end: the end of the definition of a temporary table.
    """

    __slots__ = ()

    dialect: ClassVar[str]
    names: ClassVar[NameLimits]
    datasets_query: ClassVar[str]
    placeholder: ClassVar[str] = "?"
    has_transactional_ddl: ClassVar[bool] = True
    casts_to_columns: ClassVar[bool] = True
    has_merge_statement: ClassVar[bool] = True
    makes_unique: ClassVar[bool] = False
    has_short_floats: ClassVar[bool] = True
    takes_moments_as_texts: ClassVar[bool] = False
    tie: ClassVar[str] = "CAST(n AS VARCHAR)"
    temporary_end: ClassVar[str] = ""

    address: FileAddress | ServerAddress

    @property
    def shown(self) -> str:
        """The address for messages, without a password."""
        return self.address.shown

    @property
    def merges(self) -> bool:
        """Whether rows are merged there."""
        return True

    @abstractmethod
    def column_type(self, column: Column) -> str:
        """Return the type that dlt gives such a column, as the catalog writes it."""

    def equality(self, kind: str) -> str:  # noqa: ARG002 - overrides use it
        """Return the operator by which values of a type, as ``relations`` has it, are compared."""
        return "="

    @abstractmethod
    def execute(self, statement: str) -> int:
        """Run one statement; return how many rows it has written, 0 for statements that write no rows."""

    @abstractmethod
    def execute_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> int:
        """Run an INSERT that ends in the VALUES of one row, for each row; return how many rows it has written."""

    @abstractmethod
    def query(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query; values take the places of ``placeholder``."""

    @abstractmethod
    def iterate(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query in batches; no other statement may run before the last row."""

    def datasets(self) -> list[str]:
        """Return the names of all datasets, including datasets without tables."""
        return [name for (name,) in self.query(self.datasets_query)]

    def relation_names(self, dataset: str) -> list[str]:
        """Return the names of the tables and views of a dataset."""
        return [name for _, name in self.list_relations(dataset)]

    @abstractmethod
    def list_relations(self, dataset: str | None) -> list[tuple[str, str]]:
        """Return datasets and names of the tables and views of one dataset, or of all, by one query."""

    @abstractmethod
    def columns(self, dataset: str, folded: str | None) -> list[tuple[str, bool, bool, str | None, str]]:
        """Return the columns of all tables and views of a dataset, or of the one of a folded name, by one query.

        Returns:
            Name, ``is_table`` and ``is_ours`` of the relation, name and type of the column; the name is None for a
            relation without columns.
        """

    def wrap_errors(self, task: str, hint: str | None = None) -> AbstractContextManager[None]:
        """Return a context that turns the driver's errors into ``DestinationError``: ``cannot TASK: ...``.

        ``hint`` is used if the error itself suggests nothing.
        """
        # An error of a server's driver may hold the address with its password.
        keeps_cause = not isinstance(self.address, ServerAddress)
        return wrap_errors(lambda error: self.translate_error(error, task, hint), keeps_cause=keeps_cause)

    @abstractmethod
    def translate_error(self, error: Exception, task: str, hint: str | None) -> DestinationError | None:
        """Return our error for the driver's; None for any other error."""

    def relations(self, dataset: str, folded: str | None = None) -> Mapping[str, Relation]:
        """Return tables and views of a dataset by folded name, or the one of a folded name, with one query."""
        columns_by_relation: dict[tuple[str, bool, bool], dict[str, str]] = {}
        for name, is_table, is_ours, column, kind in self.columns(dataset, folded):
            columns = columns_by_relation.setdefault((name, bool(is_table), bool(is_ours)), {})
            if column is not None:
                columns[column] = kind
        return {
            self.names.fold(name): Relation(name, is_table, columns, is_ours)
            for (name, is_table, is_ours), columns in columns_by_relation.items()
        }

    def relation(self, dataset: str, name: str) -> Relation | None:
        """Return one by its exact name; if it does not exist, a transaction may end with that."""
        relations = self.relations(dataset, name).values()
        return next((relation for relation in relations if relation.name == name), None)

    def insert(self, target: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Put a few rows into a table."""
        if self.takes_moments_as_texts:
            rows = [[moment_text(value) if isinstance(value, datetime) else value for value in row] for row in rows]
        self.insert_rows(target, columns, rows)

    def replace_rows(
        self, target: str, columns: Sequence[str], conditions: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> None:
        """Delete the rows of a table that match one of some conditions, and put a few rows into it."""
        for condition in conditions:
            self.execute(f"DELETE FROM {target} WHERE {condition}")
        self.insert(target, columns, rows)

    def insert_rows(self, target: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> int:
        """Put rows into a table whose values are as the driver takes them; return how many."""
        start = f"INSERT INTO {target} ({', '.join(map(quote, columns))})"
        start = start.replace("%", "%%") if self.placeholder == "%s" else start
        return self.execute_many(f"{start} VALUES ({', '.join(self.placeholder for _ in columns)})", rows)

    def stage(self, name: str, staged: StagedTable) -> None:
        """Make the rows of a staged table readable under a name that ends with the transaction, with dlt's types."""
        columns = ", ".join(
            f"{quote(column.name)} {self.column_type(column)}" for column in staged.table.columns.values()
        )
        self.execute(f"CREATE TEMPORARY TABLE {quote(name)} ({columns}){self.temporary_end}")
        self.append(quote(name), staged)

    def append(self, target: str, staged: StagedTable) -> int:
        """Put the rows of a staged table into a table whose columns have dlt's types; return how many."""
        columns = tuple(staged.table.columns)
        return sum(self.insert_rows(target, columns, rows) for rows in self.stored_rows(staged))

    def stored_rows(self, staged: StagedTable) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the rows of a staged table, a batch at a time, as ``insert_rows`` takes them."""
        from schemactl.destinations._rows import stored_rows

        return stored_rows(staged)

    def lock(self, dataset: str) -> None:  # noqa: B027 - no other process can open the file of an open database
        """Wait until no other load writes to this dataset."""

    def grown_type(self, column: Column, stored_type: str) -> str | Clash | None:  # noqa: ARG002 - structs are JSON texts
        """Return the type that a column of structs or lists gets if a load has more fields; None if it stays."""
        return None

    def update_from(self, target: str, columns: Sequence[str], source: str, match: str) -> str:
        """Return the statement that updates old rows ``o`` from new rows ``n``; all names are quoted."""
        assignments = ", ".join(f"{name} = n.{name}" for name in columns)
        return f"UPDATE {target} AS o SET {assignments} FROM {source} AS n WHERE {match}"

    def delete_from(self, target: str, condition: str) -> str:
        """Return the statement that deletes old rows ``o``."""
        return f"DELETE FROM {target} AS o WHERE {condition}"

    def text_of(self, value: str) -> str:
        """Return the expression of a value of JSON as a text."""
        return f"CAST({value} AS VARCHAR)"

    def moment_of(self, value: str) -> str:
        """Return the expression of a timestamp as ``rows_of`` reads it: its microseconds since 1970, or a text."""
        return f"CAST(extract(epoch FROM {value}) * 1000000 AS bigint)"


BATCH_ROWS: Final = 10_000
"""The number of rows that ``Session.iterate`` holds at a time."""


def ddl_of(session: Session) -> Dialect:
    """Return how a database spells definitions; no session has escapes in texts."""
    return Dialect(session.dialect, has_plain_texts=True)


def create_table(session: Session, dataset: str, table: Table) -> str:
    """Return the statement that makes a table with complete columns as dlt makes it (docs/dlt.md §9.2)."""
    sql = ddl_of(session)
    definitions = [define_column(session, column) for column in table.columns.values()]
    return sql.create_table(sql.place(dataset, table.name), definitions, description_of(table))


def define_column(session: Session, column: Column) -> str:
    """Return the definition of a column."""
    is_unique = session.makes_unique and bool(column.properties.get("unique"))
    return ddl_of(session).definition(column, session.column_type(column), is_unique=is_unique)


def moment_text(moment: datetime) -> str:
    """Return a timestamp in UTC as databases write it that compare texts; one without a zone is in UTC."""
    naive = moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
    return naive.isoformat(" ", "microseconds")

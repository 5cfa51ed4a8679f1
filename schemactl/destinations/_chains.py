"""How the tables of a load go in: each root table with what is nested in it, by the root's write disposition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any, Final

from schemactl.destinations._package import LoadPackage, StagedTable
from schemactl.errors import DestinationError
from schemactl.schema.iso8601 import parse
from schemactl.schema.types import Schema, Table


class Disposition(StrEnum):
    """dlt's write dispositions."""

    SKIP = "skip"
    APPEND = "append"
    REPLACE = "replace"
    MERGE = "merge"


class Strategy(StrEnum):
    """dlt's merge strategies that can be carried out; ``cdc`` cannot."""

    DELETE_INSERT = "delete-insert"
    UPSERT = "upsert"
    INSERT_ONLY = "insert-only"
    SCD2 = "scd2"


_FILTERS: Final = ("x-merge-source-filter", "x-merge-destination-scope", "x-merge-skip-unchanged-rows")


@dataclass(frozen=True, slots=True)
class Chain:
    """A root table, and what is nested in it.

    Attributes:
        root: the table at the top.
        nested: the others of the schema with complete columns, parents first.
        staged: what the load brings for them, by table, in the same order.
    """

    root: Table
    nested: tuple[Table, ...]
    staged: dict[str, StagedTable]

    @property
    def tables(self) -> tuple[Table, ...]:
        return (self.root, *self.nested)

    @property
    def disposition(self) -> Disposition:
        return Disposition(self.root.properties.get("write_disposition") or "append")

    @property
    def strategy(self) -> Strategy:
        """How the rows are merged, where they are.

        Raises:
            DestinationError: in a way that is not supported.
        """
        stated = self.root.properties.get("x-merge-strategy") or Strategy.DELETE_INSERT
        refused = next((key for key in _FILTERS if self.root.properties.get(key)), None)
        if refused or stated not in tuple(Strategy):
            raise DestinationError(
                f"table `{self.root.name}`: {f'`{refused}`' if refused else f'the merge strategy `{stated}`'} "
                "is not supported",
                hint=f"merge strategies: {', '.join(Strategy)}",
            )
        return Strategy(stated)


def chains_of(schema: Schema, package: LoadPackage | None = None) -> tuple[Chain, ...]:
    """Return the chains of a load, or of a whole schema without one; roots that are skipped are left out."""
    staged = {each.table.name: each for each in package.tables} if package else {}
    held = {name: table for name, table in schema.tables.items() if not table.is_new}
    tables = {**held, **{name: each.table for name, each in staged.items()}}
    roots = {root_of(table, tables).name for table in tables.values() if package is None or table.name in staged}
    chains = (_chain(name, tables, staged) for name in tables if name in roots)
    return tuple(chain for chain in chains if chain.disposition is not Disposition.SKIP)


def _chain(root: str, tables: dict[str, Table], staged: dict[str, StagedTable]) -> Chain:
    members = {root}
    nested: list[Table] = []
    found = True
    while found:  # parents before children, whatever the order of the schema
        level = [table for table in tables.values() if table.parent in members and table.name not in members]
        nested += level
        members |= {table.name for table in level}
        found = bool(level)
    ordered = (root, *(table.name for table in nested))
    return Chain(tables[root], tuple(nested), {name: staged[name] for name in ordered if name in staged})


def root_of(table: Table, tables: dict[str, Table]) -> Table:
    """Return the table at the top of what ``table`` is nested in."""
    seen = {table.name}
    while table.parent in tables and table.parent not in seen:
        table = tables[table.parent]
        seen.add(table.name)
    return table


def emptied_by(schema: Schema, chains: tuple[Chain, ...]) -> Iterator[str]:
    """Yield the names of all tables that a load replaces: those of its resources, with or without new rows."""
    resources = {_resource(chain.root) for chain in chains if chain.disposition is Disposition.REPLACE}
    for chain in chains_of(schema):
        if chain.disposition is Disposition.REPLACE and _resource(chain.root) in resources:
            yield from (table.name for table in chain.tables)


def _resource(root: Table) -> str:
    return root.properties.get("resource") or root.name


def hinted(table: Table, hint: str) -> tuple[str, ...]:
    """Return the names of complete columns with a hint, in their order."""
    return tuple(name for name, column in table.columns.items() if column.is_complete and column.properties.get(hint))


def first_hinted(table: Table, *hints: str) -> str | None:
    """Return the first column with the first of these hints that any column has."""
    return next((names[0] for names in (hinted(table, hint) for hint in hints) if names), None)


def row_key(table: Table) -> str:
    """Return the column that distinguishes the rows of a table.

    Raises:
        DestinationError: there is none.
    """
    found = first_hinted(table, "row_key", "unique")
    keys = hinted(table, "primary_key")
    if found is None and len(keys) == 1:
        return keys[0]
    if found is None:
        raise _lacking(table, "a column with the hint `row_key`")
    return found


def moment_of(stated: Any, table: Table) -> datetime:
    """Return a moment that a table's hints state, in UTC.

    Raises:
        DestinationError: it is none.
    """
    try:
        found = stated if isinstance(stated, date) else parse(str(stated))
    except ValueError:
        found = None
    if not isinstance(found, date):
        raise DestinationError(f"table `{table.name}`: `{stated}` is no timestamp")
    if not isinstance(found, datetime):
        found = datetime(found.year, found.month, found.day)
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def merge_problem(chain: Chain) -> DestinationError | None:
    """Return what keeps the rows of a chain from being merged, None where nothing does."""
    if chain.disposition is not Disposition.MERGE:
        return None
    try:
        strategy = chain.strategy
        if strategy is not Strategy.SCD2:  # there the version of a row is its key
            row_key(chain.root)
        if strategy in (Strategy.UPSERT, Strategy.INSERT_ONLY) and not hinted(chain.root, "primary_key"):
            return _lacking(chain.root, "a primary key")
        if strategy is Strategy.SCD2:
            needed = ("x-valid-from", "x-valid-to", "x-row-version")
            lacks = next((hint for hint in needed if first_hinted(chain.root, hint) is None), None)
            return _lacking(chain.root, f"a column with the hint `{lacks}`") if lacks else None
    except DestinationError as error:
        return error
    return None


def _lacking(table: Table, what: str) -> DestinationError:
    strategy: Any = table.properties.get("x-merge-strategy") or "delete-insert"
    return DestinationError(f"table `{table.name}` cannot be merged: its strategy `{strategy}` needs {what}")

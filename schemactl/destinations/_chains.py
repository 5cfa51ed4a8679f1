"""How the tables of a load go in: each root table with what is nested in it, by the root's write disposition."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from schemactl.normalization.package import LoadPackage, StagedTable
from schemactl.schema.dispositions import Strategy, appends, merge_of, row_key
from schemactl.schema.types import Schema, Table


class Disposition(StrEnum):
    """dlt's write dispositions."""

    SKIP = "skip"
    APPEND = "append"
    REPLACE = "replace"
    MERGE = "merge"


_ANY_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)


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
    def is_replaced(self) -> bool:
        """Whether all old rows go."""
        return self.disposition is Disposition.REPLACE

    @property
    def is_merged(self) -> bool:
        """Whether old rows may go; a merge without keys appends."""
        return self.disposition is Disposition.MERGE and not appends(self.root)


def chains_of(schema: Schema) -> tuple[Chain, ...]:
    """Return the chains of a schema, without rows; roots that are skipped are left out."""
    return _chains(schema, {})


def chains_of_load(package: LoadPackage) -> tuple[Chain, ...]:
    """Return the chains that a load writes to: those with rows, those that it empties, and that of its rejects.

    A resource is replaced with all of its tables, with or without new rows.
    """
    staged = {each.table.name: each for each in package.tables}
    chains = _chains(package.schema, staged)
    brought = [chain for chain in chains if chain.staged]
    replaced = {_resource(chain.root) for chain in brought if chain.is_replaced}
    emptied = [each for each in chains if not each.staged and each.is_replaced and _resource(each.root) in replaced]
    rejects = package.rejects
    return (*brought, *emptied, *([Chain(rejects.table, (), {rejects.table.name: rejects})] if rejects else []))


def _chains(schema: Schema, staged: dict[str, StagedTable]) -> tuple[Chain, ...]:
    held = {name: table for name, table in schema.tables.items() if not table.is_new}
    tables = {**held, **{name: each.table for name, each in staged.items()}}
    roots = {_root_of(table, tables).name for table in tables.values()}
    children: dict[str | None, list[Table]] = {}
    for table in tables.values():
        children.setdefault(table.parent, []).append(table)
    chains = (_chain(tables[name], children, staged) for name in tables if name in roots)
    return tuple(chain for chain in chains if chain.disposition is not Disposition.SKIP)


def _chain(root: Table, children: dict[str | None, list[Table]], staged: dict[str, StagedTable]) -> Chain:
    members = {root.name: root}
    level = [root]
    while level:  # parents before children, whatever the order of the schema
        below = (table for parent in level for table in children.get(parent.name, ()))
        level = [table for table in below if table.name not in members]
        members |= {table.name: table for table in level}
    _, *nested = members.values()
    return Chain(root, tuple(nested), {name: staged[name] for name in members if name in staged})


def _root_of(table: Table, tables: dict[str, Table]) -> Table:
    """Return the table at the top of what ``table`` is nested in."""
    seen = {table.name}
    while table.parent in tables and table.parent not in seen:
        table = tables[table.parent]
        seen.add(table.name)
    return table


def _resource(root: Table) -> str:
    return root.properties.get("resource") or root.name


def check_merges(chains: Iterable[Chain]) -> None:
    """Find out whether the rows of chains can be merged.

    Raises:
        DestinationError: they cannot.
    """
    for chain in chains:
        # In a history the version of a row is its key.
        if chain.is_merged and merge_of(chain.root, _ANY_TIME).strategy is not Strategy.SCD2:
            row_key(chain.root)

"""What becomes of the contracts that hold, wherever they are stated (docs/dlt.md §7.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from schemactl.review.comparison import Comparison
from schemactl.review.rule import Match
from schemactl.schema.changes import SettingChanged, TablePropertyChanged
from schemactl.schema.contract import Contract, Entity, Mode, contract_for, system_prefix
from schemactl.schema.naming import naming_of
from schemactl.schema.nesting import chain_of
from schemactl.schema.types import Schema, Table

CONTRACT: Final = "schema_contract"

_STRICTNESS: Final = {Mode.EVOLVE: 0, Mode.DISCARD_VALUE: 1, Mode.DISCARD_ROW: 2, Mode.FREEZE: 3}


@dataclass(frozen=True, slots=True)
class Shift:
    """A mode that changed.

    Attributes:
        table: the table that it holds for, with those nested in it that inherit it before and after; None for the
            contract of the whole schema.
    """

    table: str | None
    entity: Entity
    before: Mode
    after: Mode

    @property
    def is_muted(self) -> bool:
        """Whether what failed loudly is dropped in silence now."""
        return self.before is Mode.FREEZE and self.after in (Mode.DISCARD_ROW, Mode.DISCARD_VALUE)

    @property
    def is_loosened(self) -> bool:
        return not self.is_muted and _STRICTNESS[self.after] < _STRICTNESS[self.before]

    @property
    def is_tightened(self) -> bool:
        return _STRICTNESS[self.after] > _STRICTNESS[self.before]

    @property
    def keys(self) -> tuple[str, ...]:
        """Where the contract is stated, or would be."""
        return ("settings", CONTRACT) if self.table is None else ("tables", self.table, CONTRACT)

    @property
    def match(self) -> Match:
        """What happened, as rules report it; before and after name the entity, so that no two of a table are equal."""
        owner = "the schema" if self.table is None else f"`{self.table}`"
        return Match(
            sentence=f"the contract on `{self.entity}` of {owner} goes from `{self.before}` to `{self.after}`",
            table=self.table,
            keys=self.keys,
            before={str(self.entity): str(self.before)},
            after={str(self.entity): str(self.after)},
        )


def states_contract(schema: Schema) -> bool:
    """Return whether the settings or a table state a contract; else everything evolves."""
    return bool(schema.settings.get(CONTRACT)) or any(CONTRACT in table.properties for table in schema.tables.values())


def shifts(comparison: Comparison) -> Iterator[Shift]:
    """Yield the modes that changed; tables that inherit their contract are not reported one by one."""
    stated = any(change.name == CONTRACT for change in comparison.of(SettingChanged))
    moved = any(change.name in (CONTRACT, "parent") for change in comparison.of(TablePropertyChanged))
    if stated:
        yield from _of_settings(comparison)
    if stated or moved:
        yield from _of_tables(comparison)


def restated(comparison: Comparison) -> Iterator[str | None]:
    """Yield the tables, None for the whole schema, whose contract is stated anew and holds as before."""
    base, head = comparison.base.schema, comparison.head.schema
    of_schema = any(shift.table is None for shift in shifts(comparison))
    for change in comparison.of(SettingChanged):
        if change.name == CONTRACT and not of_schema:
            yield None
    for stated in comparison.of(TablePropertyChanged):
        old_name = comparison.base_tables.get(stated.table, stated.table)
        if stated.name == CONTRACT and contract_for(base, old_name) == contract_for(head, stated.table):
            yield stated.table


def _of_settings(comparison: Comparison) -> Iterator[Shift]:
    before = Contract.of(comparison.base.schema.settings.get(CONTRACT))
    after = Contract.of(comparison.head.schema.settings.get(CONTRACT))
    owners = _owners(comparison)
    # Where every table states its own, the schema's contract is only asked about new tables.
    is_inherited = not owners or any(pair == (None, None) for pair in owners.values())
    for entity in Entity if is_inherited else (Entity.TABLES,):
        yield from _shift(None, entity, before, after)


def _of_tables(comparison: Comparison) -> Iterator[Shift]:
    base, head = comparison.base.schema, comparison.head.schema
    owners = _owners(comparison)
    for name, pair in owners.items():
        if pair == (None, None) or _is_told_with_parent(head.tables[name], owners):
            continue
        before = contract_for(base, comparison.base_tables.get(name, name))
        after = contract_for(head, name)
        for entity in Entity:
            yield from _shift(name, entity, before, after)


def _is_told_with_parent(table: Table, owners: Mapping[str, tuple[str | None, str | None]]) -> bool:
    """Return whether the table has the contracts of what it is nested in now, before and after."""
    return table.parent is not None and owners.get(table.parent) == owners[table.name] and table.parent != table.name


def _shift(table: str | None, entity: Entity, before: Contract, after: Contract) -> Iterator[Shift]:
    old, new = getattr(before, entity), getattr(after, entity)
    if old is not new:
        yield Shift(table, entity, old, new)


def _owners(comparison: Comparison) -> dict[str, tuple[str | None, str | None]]:
    """Return who states the contracts of each table that both schemas have, dlt's own left out."""
    base, head = comparison.base.schema, comparison.head.schema
    prefix = system_prefix(naming_of(head))
    found: dict[str, tuple[str | None, str | None]] = {}
    for name in head.tables:
        old_name = comparison.base_tables.get(name, name)
        if not name.startswith(prefix) and old_name in base.tables:
            found[name] = (_owner(base, old_name), _owner(head, name))
    return found


def _owner(schema: Schema, name: str | None) -> str | None:
    """Return the table on the way to the root that states a contract, None where the settings decide."""
    tables = (schema.tables[each] for each in chain_of(schema, name) if each in schema.tables)
    return next((table.name for table in tables if CONTRACT in table.properties), None)

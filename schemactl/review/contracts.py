"""Compare the contracts in force, wherever they are stated, and find violations inside columns (docs/dlt.md §7.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from schemactl.review.comparison import Comparison
from schemactl.review.nested_fields import FieldChange, FieldEvent, fields_of
from schemactl.review.rule import Finder, Match
from schemactl.schema.changes import (
    ColumnPropertyChanged,
    ColumnRetyped,
    NullabilityChanged,
    SettingChanged,
    TablePropertyChanged,
)
from schemactl.schema.contract import Contract, Entity, Mode, contract_for, system_prefix
from schemactl.schema.judgment import Violation
from schemactl.schema.naming import naming_of
from schemactl.schema.nested_types import SPARK_TYPE, keeps_structure
from schemactl.schema.types import Schema, Table, chain_of

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

    def is_muted(self) -> bool:
        """Return whether what failed loudly is dropped in silence now."""
        return self.before is Mode.FREEZE and self.after in (Mode.DISCARD_ROW, Mode.DISCARD_VALUE)

    def is_loosened(self) -> bool:
        return not self.is_muted() and _STRICTNESS[self.after] < _STRICTNESS[self.before]

    def is_tightened(self) -> bool:
        return _STRICTNESS[self.after] > _STRICTNESS[self.before]


def shift_rule(applies: Callable[[Shift], bool]) -> Finder:
    """Return the finder of the modes that changed in one direction, wherever they are inherited from."""

    def find(comparison: Comparison) -> Iterator[Match]:
        for shift in filter(applies, shifts(comparison)):
            owner = "the schema" if shift.table is None else f"`{shift.table}`"
            yield Match(
                sentence=f"the contract on `{shift.entity}` of {owner} goes from `{shift.before}` to `{shift.after}`",
                table=shift.table,
                keys=("settings", CONTRACT) if shift.table is None else ("tables", shift.table, CONTRACT),
                # They name the entity, so that no two matches of a table are equal.
                before={str(shift.entity): str(shift.before)},
                after={str(shift.entity): str(shift.after)},
            )

    return find


def states_contract(schema: Schema) -> bool:
    """Return whether the settings or a table state a contract; else everything evolves."""
    return bool(schema.settings.get(CONTRACT)) or any(CONTRACT in table.properties for table in schema.tables.values())


def shifts(comparison: Comparison) -> Iterator[Shift]:
    """Yield the modes that changed, without tables that inherit the change."""
    stated = any(comparison.of(SettingChanged, CONTRACT))
    moved = any(comparison.of(TablePropertyChanged, CONTRACT, "parent"))
    if stated:
        yield from _of_settings(comparison)
    if stated or moved:
        yield from _of_tables(comparison)


def restated(comparison: Comparison) -> Iterator[str | None]:
    """Yield the tables, None for the whole schema, whose contract is stated differently and has the same modes."""
    base, head = comparison.base.schema, comparison.head.schema
    of_schema = any(shift.table is None for shift in shifts(comparison))
    if not of_schema and any(comparison.of(SettingChanged, CONTRACT)):
        yield None
    for stated in comparison.of(TablePropertyChanged, CONTRACT):
        old_name = comparison.base_tables.get(stated.table, stated.table)
        if contract_for(base, old_name) == contract_for(head, stated.table):
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
        if pair == (None, None) or _follows_parent(head.tables[name], owners):
            continue
        before = contract_for(base, comparison.base_tables.get(name, name))
        after = contract_for(head, name)
        for entity in Entity:
            yield from _shift(name, entity, before, after)


def _follows_parent(table: Table, owners: Mapping[str, tuple[str | None, str | None]]) -> bool:
    """Return whether the table has its parent's contract, before and after."""
    return table.parent is not None and owners.get(table.parent) == owners[table.name] and table.parent != table.name


def _shift(table: str | None, entity: Entity, before: Contract, after: Contract) -> Iterator[Shift]:
    old, new = getattr(before, entity), getattr(after, entity)
    if old is not new:
        yield Shift(table, entity, old, new)


def _owners(comparison: Comparison) -> dict[str, tuple[str | None, str | None]]:
    """Return the tables that state the contract of each shared table, before and after; without dlt's own tables."""
    base, head = comparison.base.schema, comparison.head.schema
    prefix = system_prefix(naming_of(head))
    found: dict[str, tuple[str | None, str | None]] = {}
    for name in head.tables:
        old_name = comparison.base_tables.get(name, name)
        if not name.startswith(prefix) and old_name in base.tables:
            found[name] = (_owner(base, old_name), _owner(head, name))
    return found


def _owner(schema: Schema, name: str | None) -> str | None:
    """Return the nearest table up to the root that states a contract, None where the settings decide."""
    tables = (schema.tables[each] for each in chain_of(schema, name) if each in schema.tables)
    return next((table.name for table in tables if CONTRACT in table.properties), None)


def freezes_fields(schema: Schema, table: str) -> bool:
    """Return whether a load fails whose data has new fields, or fields of another type, in columns of the table."""
    return contract_for(schema, table).data_type is Mode.FREEZE


def broken_by_fields(comparison: Comparison, violation: Violation) -> tuple[FieldChange, ...] | None:
    """Return the field changes that violate a contract; None where the violation is not about fields alone.

    As with columns, removed and reordered fields violate none, since data asks for neither.
    """
    change = _only_change(comparison, violation)
    if change is None:
        return None
    if not any(keeps_structure(side.schema.normalizers) for side in (comparison.base, comparison.head)):
        # Loads of such schemas ignore the stated structure.
        return ()
    found = fields_of(comparison, change)
    return found if found is None else tuple(each for each in found if each.event is not FieldEvent.REMOVED)


def _only_change(comparison: Comparison, violation: Violation) -> ColumnPropertyChanged | None:
    """Return the changed ``x-spark-type``, None where more than that changed in the column's type."""
    if violation.entity is not Entity.DATA_TYPE or violation.variant_of is not None:
        return None
    place = violation.table, violation.column
    retyped = {(change.table, change.column) for change in comparison.of(ColumnRetyped)}
    required = {(change.table, change.column) for change in comparison.of(NullabilityChanged)}
    if place in retyped | required:
        return None
    stated = comparison.of(ColumnPropertyChanged, SPARK_TYPE)
    return next((change for change in stated if (change.table, change.column) == place), None)

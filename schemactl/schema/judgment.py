"""Checks changes of a schema against the contracts of the earlier schema (docs/dlt.md §7.2)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Final

from schemactl.schema.changes import SIZES
from schemactl.schema.contract import Contract, ContractValue, Entity, Mode, contract_for, system_prefix
from schemactl.schema.full_types import full_type
from schemactl.schema.naming import Naming, naming_of
from schemactl.schema.settings import NormalizerConfig, with_propagation_tables
from schemactl.schema.types import VARIANT_ENDINGS, Column, DataType, Properties, Schema, Table, chain_of

CONTRACT_SIZES: Final = "x-contract-sizes"
"""The hint of a table under whose frozen `data_type` sizes may change, if it is ``evolve``: dbt compares none."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A change that the contract does not let through.

    Attributes:
        column: None for a violation of ``tables``.
        expected, found: data types or other properties, for people.
        variant_of: the column whose values of another type the contract refuses, None for other violations.
    """

    table: str
    column: str | None
    entity: Entity
    mode: Mode
    expected: str
    found: str
    variant_of: str | None = None


@dataclass(frozen=True, slots=True)
class Judgment:
    """The schema that the contract allows, and every change that it refuses, in the schema's order."""

    schema: Schema
    violations: tuple[Violation, ...] = ()

    @property
    def is_refused(self) -> bool:
        """Return whether a violation forbids the whole change."""
        return any(violation.mode is Mode.FREEZE for violation in self.violations)


def judge(before: Schema, after: Schema, override: ContractValue = None) -> Judgment:
    """Check a change of a schema against the contracts of the earlier schema (docs/dlt.md §7.2).

    All columns of a new table evolve, except variants. Tables nested in a refused table are omitted with it and are not
    separate violations. dlt checks row by row and so refuses columns of a new *nested* table that its first row lacks;
    here the whole table is new. ``override`` precedes the contracts of the settings and of root tables.
    """
    contracts = _Judge(before, after, override)
    violations_by_table = {name: tuple(contracts.violations(table)) for name, table in after.tables.items()}
    all_violations = [violation for of_table in violations_by_table.values() for violation in of_table]
    banned = {violation.table for violation in all_violations if violation.entity is Entity.TABLES}
    refused_tables = {name for name in after.tables if not banned.isdisjoint(chain_of(after, name))}
    violations = (
        violation
        for name, table in after.tables.items()
        if banned.isdisjoint(chain_of(after, table.parent))
        for violation in violations_by_table[name]
    )
    columns = {name: {violation.column for violation in of_table} for name, of_table in violations_by_table.items()}
    return Judgment(_as_before(before, after, refused_tables, columns), tuple(violations))


def judge_edit(before: Schema, after: Schema) -> tuple[Violation, ...]:
    """Return the changes in a manual edit that the contracts forbid to data.

    dlt compares a load's properties key by key: a written default differs from an absent one (docs/dlt.md §7.2). It
    does not check edits, so for edits only the effective value counts: absent, null and the default are equal.
    """
    tables = dict(after.tables)
    for name in tables.keys() & before.tables.keys():
        old, new = before.tables[name].columns, tables[name].columns
        columns = {key: _in_words_of(old.get(key), column) for key, column in new.items()}
        tables[name] = replace(tables[name], columns=columns)
    return judge(before, replace(after, tables=tables)).violations


def _in_words_of(old: Column | None, new: Column) -> Column:
    """Return a column that writes its type and nullability like the older column, if they mean the same."""
    if old is None:
        return new
    words = {key: value for key, value in new.properties.items() if key != "nullable"}
    if full_type(old.properties) == full_type(new.properties):
        words = {key: value for key, value in words.items() if key not in SIZES}
        words |= {key: old.properties[key] for key in SIZES if key in old.properties}
    if old.nullable is not new.nullable:
        words["nullable"] = new.nullable
    elif "nullable" in old.properties:
        words["nullable"] = old.properties["nullable"]
    return replace(new, properties=words)


def leave_out(judgment: Judgment, before: Schema, unfilled: Set[tuple[str, str | None]]) -> Judgment:
    """Return a judgment without columns, or whole tables (column None), as they were before."""
    omitted_tables = {name for name, column in unfilled if column is None}
    columns = {name: {column for of, column in unfilled if of == name} for name, _ in unfilled}
    return replace(judgment, schema=_as_before(before, judgment.schema, omitted_tables, columns))


def _as_before(
    before: Schema, after: Schema, omitted_tables: set[str], columns: Mapping[str, set[str | None]]
) -> Schema:
    """Return ``after`` with ``omitted_tables``, and some columns of other tables, as they are in ``before``."""
    tables: dict[str, Table] = {}
    for name, table in after.tables.items():
        if name not in omitted_tables:
            tables[name] = _without_columns(before.tables.get(name), table, columns.get(name, set()))
        elif name in before.tables:
            tables[name] = before.tables[name]
    normalizers = _without_propagation(before.normalizers, after.normalizers, omitted_tables)
    return replace(after, tables=tables, normalizers=normalizers)


class _Judge:
    """The contracts of ``before``, applied to single tables of ``after``."""

    def __init__(self, before: Schema, after: Schema, override: ContractValue) -> None:
        self._before = before
        # A new table may have its own contract; for existing tables the old schema decides.
        self._stated = replace(before, tables={**after.tables, **before.tables})
        self._override = override
        self._naming = naming_of(before)
        self._prefix = system_prefix(self._naming)

    def violations(self, table: Table) -> Iterator[Violation]:
        table_before = self._before.tables.get(table.name)
        contract = contract_for(self._stated, table.name, self._override)
        if contract == Contract() or table == table_before:
            return
        is_new = table_before is None or table_before.is_new
        if is_new and contract.tables is not Mode.EVOLVE:
            yield Violation(table.name, None, Entity.TABLES, contract.tables, "no new table", "new table")
            return
        if is_new or (table_before is not None and table_before.normalizer_hint("evolve-columns-once")):
            contract = replace(contract, columns=Mode.EVOLVE)
        for column in table.columns.values():
            if not column.name.startswith(self._prefix):
                yield from self._column_violations(table, table_before, column, contract)

    def _column_violations(
        self, table: Table, table_before: Table | None, column: Column, contract: Contract
    ) -> Iterator[Violation]:
        old = table_before.columns.get(column.name) if table_before else None
        if column == old:
            return
        if column.is_variant and not (old and old.is_variant and old.is_complete):
            if contract.data_type is not Mode.EVOLVE:
                base, actual, mode = base_of(column, table, self._naming), str(column.data_type), contract.data_type
                expected = str(base.data_type or "no data type") if base else "no variant"
                of = base.name if base else None
                yield Violation(table.name, column.name, Entity.DATA_TYPE, mode, expected, actual, variant_of=of)
            elif contract.columns is not Mode.EVOLVE and self._is_beside_new(table, table_before, column):
                # dlt never creates the base column, so the values need that column.
                actual = str(column.data_type)
                yield Violation(table.name, column.name, Entity.COLUMNS, contract.columns, "no new column", actual)
        elif old is None or not old.is_complete:
            if contract.columns is not Mode.EVOLVE:
                actual, mode = str(column.data_type or "column without data type"), contract.columns
                yield Violation(table.name, column.name, Entity.COLUMNS, mode, "no new column", actual)
        elif contract.data_type is not Mode.EVOLVE and (changed := self._changed_type(table, old, column)):
            expected, actual = _in_words(old, changed), _in_words(column, changed)
            yield Violation(table.name, column.name, Entity.DATA_TYPE, contract.data_type, expected, actual)

    def _changed_type(self, table: Table, old: Column, new: Column) -> tuple[str, ...]:
        names = (name for name in chain_of(self._stated, table.name) if name in self._stated.tables)
        has_free_sizes = any(self._stated.tables[name].properties.get(CONTRACT_SIZES) == Mode.EVOLVE for name in names)
        # The size of an integer is its type in a database.
        free = ("precision", "scale") if has_free_sizes and new.data_type is not DataType.BIGINT else ()
        return tuple(key for key in _changed_type(old, new) if key not in free)

    def _is_beside_new(self, table: Table, table_before: Table | None, variant: Column) -> bool:
        """Return whether the column that a variant starts from is new or was incomplete."""
        base: Column | None = variant
        while base is not None and base.is_variant:
            base = base_of(base, table, self._naming)
        old = table_before.columns.get(base.name) if table_before and base else None
        return base is not None and (old is None or not old.is_complete)


def _changed_type(old: Column, new: Column) -> tuple[str, ...]:
    """Return the properties of the type that differ; an absent one counts as null (docs/dlt.md §7.2).

    dlt does not notice a removed size, because it checks only the properties that data or hints have.
    """
    is_larger = full_type(old.properties) != full_type(new.properties)
    dropped = {key for key in SIZES if is_larger and key not in new.properties}
    judged = ("data_type", "nullable", *SIZES, "x-spark-type")
    compared = (key for key in judged if key in new.properties or key in dropped)
    return tuple(key for key in compared if new.properties.get(key) != old.properties.get(key))


def _in_words(column: Column, properties: tuple[str, ...]) -> str:
    words = {key: column.properties.get(key) for key in properties}
    data_type = words.pop("data_type", None)
    sizes = [f"{key}: {'unset' if value is None else json.dumps(value)}" for key, value in words.items()]
    return ", ".join([str(data_type), *sizes] if data_type else sizes)


def base_of(variant: Column, table: Table, naming: Naming) -> Column | None:
    """Return the base column of a variant: their names differ by ``v_TYPE`` (docs/dlt.md §6.5)."""
    pairs = ((column, ending) for column in table.columns.values() for ending in VARIANT_ENDINGS)
    return next((of for of, ending in pairs if naming.shorten_fragments(of.name, ending) == variant.name), None)


def _without_columns(before: Table | None, after: Table, refused_columns: set[str | None]) -> Table:
    """Return ``after`` with the refused columns as they are in ``before``, at their places there."""
    if not refused_columns:
        return after
    columns_before = before.columns if before else {}
    columns: dict[str, Column] = {}
    for name, old in columns_before.items():
        new = after.columns.get(name, old)
        if name in refused_columns:
            columns[name] = old
        elif old.is_complete or not new.is_complete:
            columns[name] = new
        # otherwise it is complete now and moves to the end
    for name, new in after.columns.items():
        if name not in refused_columns:
            columns.setdefault(name, new)
    return replace(after, columns=columns)


def _without_propagation(before: Properties, after: Properties, refused_tables: set[str]) -> Properties:
    """Return the ``normalizers`` section without the root keys of refused tables (docs/dlt.md §5.5)."""
    tables_before = NormalizerConfig.of(before).propagation_tables
    tables = NormalizerConfig.of(after).propagation_tables
    if not any(name in tables and tables[name] != tables_before.get(name) for name in refused_tables):
        return after
    remaining = {name: mapping for name, mapping in tables.items() if name not in refused_tables}
    remaining.update({name: tables_before[name] for name in refused_tables if name in tables_before})
    return before if remaining == tables_before else with_propagation_tables(after, remaining)

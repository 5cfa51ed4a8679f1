"""Schema contracts: what data may change in a schema, by table and entity (docs/dlt.md §7.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

from schemactl.errors import InputError, nearest_or_all
from schemactl.schema.naming import Naming, naming_of
from schemactl.schema.settings import Settings
from schemactl.schema.types import Schema, Table, chain_of

ContractValue = Mapping[str, str] | str | None
"""A contract as it is written: one mode for all entities, modes by entity, or nothing."""


class Mode(StrEnum):
    """The treatment of a change."""

    EVOLVE = "evolve"
    FREEZE = "freeze"
    DISCARD_ROW = "discard_row"
    DISCARD_VALUE = "discard_value"


class Entity(StrEnum):
    """The thing that changes: new tables, new columns, or the type of a column (variants included)."""

    TABLES = "tables"
    COLUMNS = "columns"
    DATA_TYPE = "data_type"


@dataclass(frozen=True, slots=True)
class Contract:
    """The modes that hold for one table."""

    tables: Mode = Mode.EVOLVE
    columns: Mode = Mode.EVOLVE
    data_type: Mode = Mode.EVOLVE

    @classmethod
    def of(cls, contract: ContractValue) -> Contract:
        """Read a contract, as ``freeze``, ``{"columns": "freeze"}`` or ``columns=freeze,tables=evolve``.

        An entity that it leaves out evolves (docs/dlt.md §7.1).
        """
        if isinstance(contract, str):
            if "=" not in contract:
                mode = _mode(contract)
                return cls(mode, mode, mode)
            contract = _split(contract)
        if not isinstance(contract, (Mapping, type(None))):
            raise InputError(f"`{contract}` is not a contract", hint="a mode, or modes by entity")
        for entity in contract or {}:
            if entity not in tuple(Entity):
                raise InputError(f"a contract has no entity `{entity}`", hint=nearest_or_all(str(entity), Entity))
        return cls(**{entity: _mode(mode) for entity, mode in (contract or {}).items()})

    def mode_of(self, entity: Entity) -> Mode:
        """Return the mode for an entity."""
        return {Entity.TABLES: self.tables, Entity.COLUMNS: self.columns, Entity.DATA_TYPE: self.data_type}[entity]


@dataclass(frozen=True, slots=True)
class TableContract:
    """The contract of a table, and the level that sets it: ``call``, ``settings``, ``table NAME``, or ``default``."""

    contract: Contract
    level: str
    entities: frozenset[str]

    def level_of(self, entity: str) -> str:
        """Return the level that sets the mode of an entity."""
        return self.level if entity in self.entities else "default"


def contract_for(schema: Schema, table: str, override: ContractValue = None) -> Contract:
    """Return the contract of a table, as ``table_contract`` finds it."""
    return table_contract(schema, table, override).contract


def table_contract(schema: Schema, table: str, override: ContractValue = None) -> TableContract:
    """Return the contract of a table; only the first level that sets one counts (docs/dlt.md §7.1).

    The levels: a nested table itself, its nested parents, ``override``, the root table, the settings. The table need
    not exist; dlt's own tables always evolve. An empty ``override`` is ignored.
    """
    if table.startswith(system_prefix(naming_of(schema))):
        return TableContract(Contract(), "default", frozenset())
    modes, level = _stated_for(schema, table, override)
    contract = Contract.of(modes)
    if isinstance(modes, str):
        modes = _split(modes) if "=" in modes else dict.fromkeys(Entity, modes)
    return TableContract(contract, level, frozenset(modes or ()))


def _mode(text: Any) -> Mode:
    if text in tuple(Mode):
        return Mode(text)
    raise InputError(f"there is no contract mode `{text}`", hint=nearest_or_all(str(text), Mode))


def _split(text: str) -> dict[str, str]:
    """Split ``columns=freeze,tables=evolve``."""
    modes: dict[str, str] = {}
    for clause in text.split(","):
        entity, _, mode = (piece.strip() for piece in clause.partition("="))
        if entity in modes:
            raise InputError(f"the contract sets `{entity}` twice")
        modes[entity] = mode
    return modes


def system_prefix(naming: Naming) -> str:
    """Return the prefix of dlt's own tables and columns."""
    return naming.normalize_table_identifier("_dlt")


def _stated_for(schema: Schema, name: str, override: ContractValue) -> tuple[ContractValue, str]:
    for level in chain_of(schema, name):
        table = schema.tables.get(level) or Table(level)
        if override and not table.is_nested:
            return override, "call"
        if "schema_contract" in table.properties:
            return cast(ContractValue, table.properties["schema_contract"]), f"table {level}"
    contract = Settings.of(schema.settings).schema_contract
    return contract, "settings" if contract else "default"

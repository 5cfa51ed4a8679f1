"""Schema contracts: the changes that data can make to a schema, by table and entity (docs/dlt.md §7.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, cast

from schemactl.errors import InputError, nearest_or_all
from schemactl.schema.naming import Naming, naming_of
from schemactl.schema.settings import Settings
from schemactl.schema.types import Schema, Table, chain_of

CONTRACT: Final = "schema_contract"
"""dlt's property of tables and setting with their contract."""

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


class Promotion(StrEnum):
    """The treatment of values that do not fit their column while ``data_type`` evolves."""

    VARIANT = "evolve"
    """They go to a variant column, as in dlt."""
    PROMOTE = "promote"
    """The column becomes wider if every stored and every new value survives exactly."""
    PROMOTE_TEXT = "promote_text"
    """As ``PROMOTE``; if no other type holds all values, the column becomes a text."""


PROMOTING: Final = (Promotion.PROMOTE, Promotion.PROMOTE_TEXT)
"""The modes that ``data_type`` has in addition to dlt's modes."""

PROMOTION_HINT: Final = "x-schemactl-contract"
"""The hint of columns, tables and settings with a ``Promotion``: dlt would refuse it in ``schema_contract``."""


@dataclass(frozen=True, slots=True)
class Contract:
    """The modes that hold for one table."""

    tables: Mode = Mode.EVOLVE
    columns: Mode = Mode.EVOLVE
    data_type: Mode = Mode.EVOLVE

    @classmethod
    def of(cls, contract: ContractValue) -> Contract:
        """Read a contract, as ``freeze``, ``{"columns": "freeze"}`` or ``columns=freeze,tables=evolve``.

        An entity that it leaves out evolves (docs/dlt.md §7.1), and so does a data type that is promoted.
        """
        if isinstance(contract, str):
            if "=" not in contract:
                if contract in PROMOTING:
                    raise _misplaced(contract)
                mode = _mode(contract)
                return cls(mode, mode, mode)
            contract = _split(contract)
        if not isinstance(contract, (Mapping, type(None))):
            raise InputError(f"`{contract}` is not a contract", hint="a mode, or modes by entity")
        for entity in contract or {}:
            if entity not in tuple(Entity):
                raise InputError(f"a contract has no entity `{entity}`", hint=nearest_or_all(str(entity), Entity))
            if entity != Entity.DATA_TYPE and (contract or {})[entity] in PROMOTING:
                raise _misplaced(str((contract or {})[entity]))
        modes = {entity: Mode.EVOLVE if mode in PROMOTING else _mode(mode) for entity, mode in (contract or {}).items()}
        return cls(**modes)

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


def _misplaced(mode: str) -> InputError:
    return InputError(f"only `data_type` can have the mode `{mode}`", hint=f"`data_type={mode}`")


def _mode(text: Any) -> Mode:
    if text in tuple(Mode):
        return Mode(text)
    raise InputError(f"there is no contract mode `{text}`", hint=nearest_or_all(str(text), (*Mode, *PROMOTING)))


def promotion_of(contract: ContractValue) -> Promotion | None:
    """Return the promotion that a call's contract, or the value of the hint, sets; None if it does not set data types.

    The hint can be the mode itself, as only data types have one.
    """
    if isinstance(contract, str) and "=" in contract:
        contract = _split(contract)
    mode = contract.get(Entity.DATA_TYPE) if isinstance(contract, Mapping) else contract
    if mode is None:
        return None
    return Promotion(mode) if mode in PROMOTING else Promotion.VARIANT


def promotion_for(schema: Schema, table: str, column: str, override: ContractValue = None) -> Promotion:
    """Return the treatment of values that do not fit a column; only the first level that sets one counts.

    The levels: the column, a nested table itself, its nested parents, ``override``, the root table, the settings. If
    the contract of the table does not let data types evolve, only this contract decides. The table and the column need
    not exist.
    """
    if contract_for(schema, table, override).data_type is not Mode.EVOLVE:
        return Promotion.VARIANT
    if table.startswith(system_prefix(naming_of(schema))) or column.startswith(system_prefix(naming_of(schema))):
        return Promotion.VARIANT
    levels: list[ContractValue] = []
    if (existing_column := schema.column(table, column)) is not None:
        levels.append(existing_column.properties.get(PROMOTION_HINT))
    for name in chain_of(schema, table):
        level = schema.tables.get(name) or Table(name)
        if not level.is_nested:
            levels.append(override)
        levels.append(level.properties.get(PROMOTION_HINT))
    levels.append(schema.settings.get(PROMOTION_HINT))
    promotions = (promotion for level in levels if (promotion := promotion_of(level)) is not None)
    return next(promotions, Promotion.VARIANT)


def may_promote(schema: Schema, override: ContractValue = None) -> bool:
    """Return whether any column can have another promotion than dlt's: quick, as most schemas have no hint for it."""
    levels = [override, schema.settings.get(PROMOTION_HINT)]
    if any(promotion_of(level) in PROMOTING for level in levels if level):
        return True
    return any(
        PROMOTION_HINT in table.properties
        or any(PROMOTION_HINT in column.properties for column in table.columns.values())
        for table in schema.tables.values()
    )


def split_promotion(contract: str) -> tuple[dict[str, str] | str, str | None]:
    """Return a contract as ``schema_contract`` can have it, and the mode of the hint; None if it promotes nothing.

    >>> split_promotion("columns=freeze,data_type=promote")
    ({'columns': 'freeze', 'data_type': 'evolve'}, 'promote')
    """
    Contract.of(contract)
    if "=" not in contract:
        return contract, None
    modes = _split(contract)
    promotion = modes.get(Entity.DATA_TYPE)
    if promotion not in PROMOTING:
        return modes, None
    return {**modes, Entity.DATA_TYPE.value: Mode.EVOLVE.value}, promotion


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
        if CONTRACT in table.properties:
            return cast(ContractValue, table.properties[CONTRACT]), f"table {level}"
    contract = Settings.of(schema.settings).schema_contract
    return contract, "settings" if contract else "default"

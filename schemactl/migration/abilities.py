"""Declare the abilities of a destination: how it runs steps, and the other facts that a plan depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from schemactl.migration.steps import Step
from schemactl.migration.ways import Lock, Way, Ways
from schemactl.schema.conversions import Conversion
from schemactl.schema.nested_types import NestedType, structure_in
from schemactl.schema.nested_widening import fit_structures
from schemactl.schema.structure import DATABASE_TYPE, NameLimits
from schemactl.schema.types import Column, Properties, Table


@dataclass(frozen=True, slots=True)
class Abilities(Ways):
    """The abilities of a destination. The defaults describe a good SQL database: a module declares differences.

    Attributes:
        transactional_ddl: whether all steps can run in one transaction.
        adds_not_null: whether a column can be added as NOT NULL to a table without rows; else it is set afterwards.
        refuses_unfit: whether the statement of a retype fails on values that do not survive, and costs less than
            counting them first: then a run counts them only once it has failed. A function of both columns.
        adds_filled: whether a column can be added with a value for stored rows without writing the rows.
        can_sync: whether a new column can be kept in sync with another one by a conversion of its values. A function of
            both columns.
        keeps_dropped: whether a dropped table is kept under another name, at no cost.
        has_texts: whether every value of a type that dlt lacks (``uuid``) casts to a distinct string; such a column
            becomes text without loss.
        kept_description: the part of a description that a catalog keeps; the flag is true for a table's.
        lock: the lock that a step takes on its table; None if the step needs no lock.
        gains: the fields (``c.d``, ``lines[].note``) that loads add to a struct column until its type is the schema's,
            as a function of both ``x-database-type`` values; None if loads cannot change the type.
        settle: replaces another engine's ``x-database-type`` of a column with a type of the destination; raises
            ``InputError`` if the destination has no such type.
        structure_in: reads the type of a column of structs, lists or maps from ``x-database-type``; None for other
            types. The default reads Spark's DDL.
        keeps_dlt_tables: whether ``_dlt_version`` and ``_dlt_loads`` are tables of the destination.
        shares_ledger: whether dlt pipelines keep their schemas in the same ledger, which then lists tables and columns
            that a schema file has lost.
        enforces_types: whether a column holds values of its type only.
        rewrites: whether a step, on its table before the step, rewrites all rows in a way that adjacent steps can
            share, or renames a column: ``MigrationSession.run_rewrite`` does them at once.
        copies_keyed: whether a table that has a key is copied to drop a column; then columns are dropped before keys
            are added, if a transaction can roll everything back.
    """

    transactional_ddl: bool = True
    adds_not_null: bool = False
    adds_filled: bool = False
    keeps_dropped: bool = False
    can_sync: Callable[[Column, Column], bool] = lambda *_: False
    kept_description: Callable[[str, bool], str] = lambda text, _: text
    refuses_unfit: Callable[[Column, Column], bool] = lambda *_: False
    has_texts: Callable[[str], bool] = lambda *_: False
    names: NameLimits = field(default_factory=NameLimits)
    lock: Callable[[Step], Lock | None] = lambda _: None
    gains: Callable[[str, str], tuple[str, ...] | None] = lambda *_: None
    settle: Callable[[Column], Column] = lambda column: column
    structure_in: Callable[[str], NestedType | None] = structure_in
    keeps_dlt_tables: bool = True
    shares_ledger: bool = False
    enforces_types: bool = True
    rewrites: Callable[[Step, Table | None], bool] = lambda *_: False
    copies_keyed: bool = False

    def structure_of(self, properties: Properties) -> NestedType | None:
        """Return the nested type of a column as a catalog of the destination has it; None for other columns."""
        own_type = properties.get(DATABASE_TYPE)
        return None if own_type is None or properties.get("data_type") else self.structure_in(str(own_type))

    def widens_structure(self, stored: Column, declared: Column) -> bool:
        """Return whether a step gives a column wider fields, which loads do not do."""
        before, after = self.structure_of(stored.properties), self.structure_of(declared.properties)
        if before is None or after is None or fit_structures(before, after).conversion is Conversion.REFUSED:
            return False
        is_left_to_loads = self.gains(*(str(column.properties[DATABASE_TYPE]) for column in (stored, declared)))
        return is_left_to_loads is None and self.retype(stored, declared) is not Way.NONE


ON_FILES: Final = Abilities(
    transactional_ddl=False,
    add_unique=Way.NONE,
    drop_unique=Way.NONE,
    add_primary_key=Way.NONE,
    drop_primary_key=Way.NONE,
)
"""The abilities that tables on files share: no transaction over several tables, and no keys."""

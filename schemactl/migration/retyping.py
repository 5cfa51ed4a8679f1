"""Plan the steps that give a column another type at a destination.

Plans that let other sessions read and write (``--online``) prepare steps that would block them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Final

from schemactl.migration.abilities import Abilities
from schemactl.migration.conflicting_renames import free_name
from schemactl.migration.options import OnUnfit
from schemactl.migration.steps import (
    AddColumn,
    AddPrimaryKey,
    AddUnique,
    Backfill,
    ChangeType,
    DropNotNull,
    Phase,
    Prepare,
    RenameColumn,
    SetNotNull,
    Step,
    SwapColumns,
    Taken,
)
from schemactl.migration.table_model import with_property
from schemactl.migration.ways import Way
from schemactl.schema.conversions import EPOCH_UNIT, Conversion
from schemactl.schema.fit import Fit, fit
from schemactl.schema.naming import Naming
from schemactl.schema.nested_types import structure_of
from schemactl.schema.nested_widening import fit_structures, has_json_of_scalars
from schemactl.schema.structure import DATABASE_TYPE
from schemactl.schema.types import Column, DataType

_CONSTRAINTS: Final = ("unique", "primary_key")


@dataclass(frozen=True, slots=True)
class Retyping:
    """A column that gets another type.

    Attributes:
        before: the column as the destination has it, under its new name, already nullable if it becomes so.
        after: the column as the schema has it, bare.
        stays_required: whether it may hold no nulls, before and afterwards.
        taken_names: names of all columns of the table, in the destination or in the schema.
        own_type: the destination's type of the column afterwards, if dlt has no such type (structs ...).
        variant: the column that dlt would put unfit values into; None if its name is unknown.
    """

    table: str
    before: Column
    after: Column
    stays_required: bool
    taken_names: Collection[str]
    own_type: str | None = None
    variant: Column | None = None
    has_variant: bool = False

    @property
    def counts_seconds(self) -> bool:
        """Whether numbers are known to be seconds since 1970."""
        return EPOCH_UNIT in (self.before.properties.get("x-unit"), self.after.properties.get("x-unit"))

    def fit(self, abilities: Abilities) -> Fit:
        """Return the fate of the values at a destination."""
        stored_structure, declared_structure = (
            abilities.structure_of(column.properties) for column in (self.before, self.stored)
        )
        if stored_structure is not None and declared_structure is not None:
            marked_structure = structure_of(self.after)
            if marked_structure is not None and has_json_of_scalars(stored_structure, marked_structure):
                return Fit(Conversion.REFUSED, "fields of scalars do not become JSON texts")
            return fit_structures(stored_structure, declared_structure)
        return fit(self._readable(abilities), self.stored, counts_seconds=self.counts_seconds)

    @property
    def stored(self) -> Column:
        """The column afterwards, as the destination's catalog will have it."""
        return self.after if self.own_type is None else Column(self.after.name, {DATABASE_TYPE: self.own_type})

    def _readable(self, abilities: Abilities) -> Column:
        """Return the column with the type that the new one's values can be read from.

        Values of types that dlt lacks are read as text, or as JSON for structs, lists and maps.
        """
        kind = self.before.properties.get(DATABASE_TYPE)
        if self.before.data_type is not None or kind is None:
            return self.before
        match self.stored.data_type:
            case DataType.TEXT:
                is_readable = abilities.has_texts(kind)
            case DataType.JSON:
                is_readable = abilities.structure_in(kind) is not None
            case _:
                is_readable = False
        return replace(self.before, properties={"data_type": str(self.after.data_type)}) if is_readable else self.before


def variant_column(column: Column, kind: DataType, naming: Naming) -> Column:
    """Return the column for values of type ``kind`` that do not fit ``column``, as dlt makes it (docs/dlt.md §6.5)."""
    name = naming.shorten_fragments(column.name, f"v_{kind}")
    return Column(name, {"data_type": str(kind), "nullable": True, "variant": True})


def variant_origin(name: str, columns: Collection[str], naming: Naming) -> str | None:
    """Return the column whose rejected values go to the variant column ``name``; None if it is not a variant column."""
    if "v_" not in name.lower():
        return None
    pairs = ((column, f"v_{kind}") for column in columns for kind in DataType)
    return next((column for column, ending in pairs if naming.shorten_fragments(column, ending) == name), None)


def retype_steps(retyping: Retyping, on_unfit: OnUnfit, abilities: Abilities) -> Iterator[Step]:
    """Yield the steps in their order.

    If all values survive, the type is changed in place, if the destination can. Else the user's choice counts; if the
    destination cannot change the type at all, a new column replaces the old one.
    """
    if is_swapped(retyping, on_unfit, abilities):
        yield from _swap(retyping, on_unfit, abilities)
    else:
        yield _in_place(retyping, abilities)


def is_swapped(retyping: Retyping, on_unfit: OnUnfit, abilities: Abilities) -> bool:
    """Return whether a new column replaces the old one; a primary key with the old column moves, too."""
    in_place = _in_place(retyping, abilities)
    is_wanted = in_place.needs_check and on_unfit is not OnUnfit.REFUSE
    is_stuck = abilities.retype(in_place.before, in_place.after) is Way.NONE
    is_free = not retyping.before.properties.get("primary_key") or abilities.can_move_keys
    return (is_wanted or is_stuck) and abilities.can_swap_columns and is_free


def _in_place(retyping: Retyping, abilities: Abilities) -> ChangeType:
    before, value_fit = retyping.before, retyping.fit(abilities)
    after = with_property(retyping.stored, "nullable", None if before.nullable else False)
    for name in _CONSTRAINTS:
        after = with_property(after, name, True if before.properties.get(name) else None)
    needs_check = value_fit.conversion is not Conversion.WHOLE
    return ChangeType(retyping.table, before, after, value_fit.conversion, needs_check, retyping.counts_seconds)


def _swap(retyping: Retyping, on_unfit: OnUnfit, abilities: Abilities) -> Iterator[Step]:
    """Fill a new column and give it the name; the old column is kept under another name, and loads leave it empty."""
    table, source, name = retyping.table, retyping.before, retyping.after.name
    backfill = _backfill(retyping, abilities)
    target = backfill.target
    yield AddColumn(table, target)
    if backfill.conversion is not Conversion.REFUSED:
        yield backfill
    if variant := _variant_for(retyping, backfill, on_unfit):
        if not retyping.has_variant:
            yield AddColumn(table, variant)
        yield replace(backfill, target=variant, taken=Taken.UNFIT)
    kept_name = free_name(name, "before", retyping.taken_names, abilities.names)
    yield RenameColumn(table, name, kept_name)
    if not source.nullable:
        yield DropNotNull(table, replace(source, name=kept_name))
    yield RenameColumn(table, target.name, name)
    if retyping.stays_required:
        yield SetNotNull(table, replace(target, name=name))
    if source.properties.get("unique"):
        yield AddUnique(table, name)


def _backfill(retyping: Retyping, abilities: Abilities) -> Backfill:
    """Return the step that fills the new column with all values that fit."""
    name = free_name(retyping.after.name, "new", retyping.taken_names, abilities.names)
    target = with_property(replace(retyping.after, name=name), "nullable", None)
    conversion = retyping.fit(abilities).conversion
    return Backfill(retyping.table, retyping.before, target, conversion, counts_seconds=retyping.counts_seconds)


def _variant_for(retyping: Retyping, backfill: Backfill, on_unfit: OnUnfit) -> Column | None:
    """Return the column for the values that do not fit, if such values are possible and the user wants it."""
    is_wanted = on_unfit is OnUnfit.VARIANT and backfill.conversion is not Conversion.WHOLE
    return retyping.variant if is_wanted else None


# --- online plans: prepare steps that would block other sessions ---


def prepared_steps(step: Step) -> Iterator[Step]:
    """Yield the steps that prepare a step, and the step."""
    match step:
        case SetNotNull():
            yield from _proven(step)
            yield replace(step, is_prepared=True)
        case AddUnique() | AddPrimaryKey():
            ready = replace(step, is_prepared=True)
            yield Prepare(ready, Phase.BUILD_INDEX)
            yield ready
        case _:
            yield step


def is_synced(retyping: Retyping, abilities: Abilities) -> bool:
    """Return whether a new column replaces the old one while other sessions write.

    It does not if only the catalog changes, or if a key would have to move.
    """
    before, after = retyping.before, retyping.after
    is_quick = abilities.retype(before, after) is Way.IN_PLACE
    is_refused = retyping.fit(abilities).conversion is Conversion.REFUSED
    is_kept = is_quick or is_refused or before.properties.get("primary_key")
    return not is_kept and abilities.can_sync(before, after)


def sync_steps(retyping: Retyping, on_unfit: OnUnfit, abilities: Abilities) -> Iterator[Step]:
    """Yield the steps by which a new column is filled, kept in sync, and replaces the old one."""
    table = retyping.table
    backfill = replace(_backfill(retyping, abilities), in_batches=True)
    target = backfill.target
    yield AddColumn(table, target)
    yield Prepare(backfill, Phase.START_SYNC)
    yield backfill
    variant = _variant_for(retyping, backfill, on_unfit)
    if variant is not None:
        if not retyping.has_variant:
            yield AddColumn(table, variant)
        unfit = replace(backfill, target=variant, taken=Taken.UNFIT)
        yield Prepare(unfit, Phase.START_SYNC)
        yield unfit
    may_lose = backfill.conversion is not Conversion.WHOLE
    is_checked = on_unfit is OnUnfit.REFUSE and may_lose and not retyping.stays_required
    if retyping.stays_required:
        yield from _proven(SetNotNull(table, target, needs_check=False))
    elif is_checked:
        yield from _proven(backfill)
    is_unique = bool(retyping.before.properties.get("unique"))
    if is_unique:
        yield Prepare(AddUnique(table, target.name, is_prepared=True), Phase.BUILD_INDEX)
    kept_name = free_name(retyping.after.name, "before", retyping.taken_names, abilities.names)
    variant_name = None if variant is None else variant.name
    yield SwapColumns(backfill, kept_name, retyping.stays_required, is_unique, is_checked, variant_name)


def _proven(step: SetNotNull | Backfill) -> Iterator[Step]:
    """Yield the phases that prove that stored rows meet a step's condition."""
    yield Prepare(step, Phase.ADD_CHECK)
    yield Prepare(step, Phase.VALIDATE_CHECK)

"""The steps of plans that others read and write through: what they would wait for is done ahead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from schemactl.migration.abilities import Abilities, Way
from schemactl.migration.effects import stating
from schemactl.migration.moves import free_name
from schemactl.migration.options import OnUnfit
from schemactl.migration.retyping import Retyping
from schemactl.migration.steps import (
    AddColumn,
    AddPrimaryKey,
    AddUnique,
    Backfill,
    Phase,
    Prepare,
    SetNotNull,
    Step,
    SwapColumns,
    Taken,
)
from schemactl.schema.conversions import Conversion


def prepared_steps(step: Step) -> Iterator[Step]:
    """Yield what is done ahead of a step, and the step."""
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
    """Return whether a new column takes the place of the old one while others write.

    Not where only the catalog changes, nor where a key would have to move.
    """
    before, after = retyping.before, retyping.after
    is_quick = abilities.retype(before, after) is Way.IN_PLACE
    is_refused = retyping.fit(abilities).conversion is Conversion.REFUSED
    is_kept = is_quick or is_refused or before.properties.get("primary_key")
    return not is_kept and abilities.can_sync(before, after)


def sync_steps(retyping: Retyping, on_unfit: OnUnfit, abilities: Abilities) -> Iterator[Step]:
    """Yield the steps by which a new column is filled, kept in step, and takes the place of the old one."""
    table, source, found = retyping.table, retyping.before, retyping.fit(abilities)
    name, taken, limits = retyping.after.name, retyping.taken_names, abilities.names
    target = stating(replace(retyping.after, name=free_name(name, "new", taken, limits)), "nullable", None)
    for constraint in ("unique", "primary_key"):
        target = stating(target, constraint, None)
    backfill = Backfill(
        table, source, target, found.conversion, counts_seconds=retyping.counts_seconds, in_batches=True
    )
    variant: str | None = None
    may_lose = found.conversion is not Conversion.WHOLE
    yield AddColumn(table, target)
    yield Prepare(backfill, Phase.START_SYNC)
    yield backfill
    if retyping.variant is not None and on_unfit is OnUnfit.VARIANT and may_lose:
        if not retyping.has_variant:
            yield AddColumn(table, retyping.variant)
        variant = retyping.variant.name
        unfit = replace(backfill, target=retyping.variant, taken=Taken.UNFIT)
        yield Prepare(unfit, Phase.START_SYNC)
        yield unfit
    is_checked = on_unfit is OnUnfit.REFUSE and may_lose and not retyping.stays_required
    if retyping.stays_required:
        yield from _proven(SetNotNull(table, target, needs_check=False))
    elif is_checked:
        yield from _proven(backfill)
    is_unique = bool(source.properties.get("unique"))
    if is_unique:
        yield Prepare(AddUnique(table, target.name, is_prepared=True), Phase.BUILD_INDEX)
    yield SwapColumns(
        backfill, free_name(name, "before", taken, limits), retyping.stays_required, is_unique, is_checked, variant
    )


def _proven(step: SetNotNull | Backfill) -> Iterator[Step]:
    """Yield the phases that prove what a step asks of stored rows."""
    yield Prepare(step, Phase.ADD_CHECK)
    yield Prepare(step, Phase.VALIDATE_CHECK)

"""Checks finished runs of the ledger: whether the values of each renamed column are where ``x-renamed-from`` says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from schemactl.migration.comparison import is_bookkeeping
from schemactl.migration.reports import Misplaced
from schemactl.migration.steps import Step, table_of
from schemactl.migration.tracing import ColumnPlace, place_before
from schemactl.schema.renames import column_claims, table_claims
from schemactl.schema.types import Schema, Table


def misplaced_after(
    found: Mapping[ColumnPlace, Misplaced], before: Schema, after: Schema, steps: Sequence[Step]
) -> dict[ColumnPlace, Misplaced]:
    """Return the values that are misplaced after a run, by their place."""
    tables = {new: old for old, new in table_claims(before, after, before).items()}
    left: dict[ColumnPlace, Misplaced] = {}
    for name, table in after.tables.items():
        if is_bookkeeping(name):
            continue
        source = origin_of((name, ""), steps)
        stated: dict[str, ColumnPlace] = {"": (tables[name], "")} if name in tables else {}
        if source is not None and (last := before.tables.get(source[0])) is not None:
            claims = column_claims(table, _complete(last), last)
            stated |= {new: (source[0], old) for old, new in claims.items()}
        for column in ("", *table.columns):
            origin, wanted = origin_of((name, column), steps), stated.get(column)
            if wanted is not None and wanted != origin:
                if _was_there(wanted[0], before, steps):
                    left[name, column] = Misplaced(name, column or None, wanted[1] or wanted[0])
            elif origin is not None and origin in found and not _is_mended((name, column), origin, found):
                left[name, column] = replace(found[origin], table=name, column=column or None)
    return left


def origin_of(place: ColumnPlace, steps: Sequence[Step]) -> ColumnPlace | None:
    """Return where the values of a place stood before some steps; None for what the steps made."""
    return place_before(place, steps, heeds_backfills=True)


def _is_mended(place: ColumnPlace, origin: ColumnPlace, found: Mapping[ColumnPlace, Misplaced]) -> bool:
    """Return whether a place has got at last what an earlier run did not move there."""
    before = found.get(place)
    return before is not None and before.origin == (origin[1] or origin[0])


def _complete(table: Table) -> Table:
    return replace(table, columns={name: column for name, column in table.columns.items() if column.is_complete})


def _was_there(table: str, before: Schema, steps: Sequence[Step]) -> bool:
    """Return whether a table of the schema had rows: some tables wait for their first data."""
    is_seen = bool(before.tables[table].normalizer_hint("seen-data"))
    return is_seen or any(
        origin_of((table_of(step), ""), steps[:place]) == (table, "") for place, step in enumerate(steps)
    )

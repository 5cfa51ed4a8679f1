"""How a load merges new rows into a table: dlt's merge strategies, as data.

``destinations._merge`` implements these rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any, Final

from schemactl.errors import DestinationError
from schemactl.schema.iso8601 import parse
from schemactl.schema.types import Column, DataType, Table


class Strategy(StrEnum):
    """The strategies of a merge; ``delete-insert`` is the default."""

    DELETE_INSERT = "delete-insert"
    UPSERT = "upsert"
    INSERT_ONLY = "insert-only"
    SCD2 = "scd2"


SUPERSEDED_FOLDER: Final = "_superseded"
"""A folder inside the folder of a table's new files, with the new rows that other new rows with the same primary key
replaced, if any. They are not loaded, but as in dlt, old rows with the same merge key are deleted."""

UNSUPPORTED: Final = ("x-merge-source-filter", "x-merge-destination-scope", "x-merge-skip-unchanged-rows")
"""Hints of dlt 1.31 that are not carried out; two hold SQL of one database."""


@dataclass(frozen=True, slots=True)
class Merge:
    """The merge of the rows of a root table and of its nested tables.

    Attributes:
        primary_key: columns whose values identify rows; one of several new rows with equal values is loaded.
        merge_key: columns; old rows with the same values as a new row are deleted.
        hard_delete: the column that marks rows to delete: by a true flag, or by any value of another type.
        dedup_sort: the column that decides which new row is loaded, and whether the largest value wins.
        is_deduplicated: whether the data already has one row per key.
        row_version: for ``scd2``, the column with the hash of a row's content.
        valid_from, valid_to: for ``scd2``, the start and end of a row's validity.
        active: the value of ``valid_to`` in current rows; None for null.
    """

    strategy: Strategy
    boundary: datetime
    primary_key: tuple[str, ...] = ()
    merge_key: tuple[str, ...] = ()
    hard_delete: str | None = None
    is_flag: bool = False
    dedup_sort: tuple[str, bool] | None = None
    is_deduplicated: bool = False
    row_version: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    active: datetime | None = None


def appends(root: Table) -> bool:
    """Return whether a merge of a root table only appends: it has no key to find old rows by (as in dlt)."""
    is_keyless = not (named(root, "primary_key") or named(root, "merge_key") or named(root, "hard_delete"))
    return is_keyless and _strategy(root) is Strategy.DELETE_INSERT


def keeps_repeated_rows(root: Table) -> bool:
    """Return whether loading data twice duplicates rows of a root table, because no key identifies them."""
    match root.properties.get("write_disposition", "append"):
        case "append":
            return True
        case "merge":
            has_key = bool(named(root, "primary_key") or named(root, "merge_key"))
            return not has_key and _strategy(root) is not Strategy.SCD2
        case _:
            return False


def keeps_one_of_each(table: Table) -> bool:
    """Return whether of several new rows with one primary key a merge keeps one: of root tables, but histories."""
    if table.parent or table.properties.get("write_disposition") != "merge" or not named(table, "primary_key"):
        return False
    return _strategy(table) is not Strategy.SCD2 and not table.properties.get("x-stage-data-deduplicated")


def deletes_by_merge_key(table: Table) -> bool:
    """Return whether a merge removes old rows that share a merge key with a new one."""
    return bool(named(table, "merge_key")) and _strategy(table) is Strategy.DELETE_INSERT


def merge_of(root: Table, now: datetime) -> Merge:
    """Return how a root table's rows are merged.

    Rows become valid ``now``, at the time of the load, unless the table sets the time.
    """
    strategy = _strategy(root)
    deleted = first(root, "hard_delete")
    valid_to = first(root, "x-valid-to")
    merge = Merge(
        strategy,
        boundary=_moment(root.properties.get("x-boundary-timestamp"), root) or now,
        primary_key=named(root, "primary_key"),
        merge_key=named(root, "merge_key"),
        hard_delete=deleted,
        is_flag=deleted is not None and root.columns[deleted].data_type is DataType.BOOL,
        dedup_sort=dedup_sort(root),
        is_deduplicated=bool(root.properties.get("x-stage-data-deduplicated")),
        row_version=first(root, "x-row-version"),
        valid_from=first(root, "x-valid-from"),
        valid_to=valid_to,
        active=_moment(root.columns[valid_to].properties.get("x-active-record-timestamp"), root) if valid_to else None,
    )
    for hint in UNSUPPORTED:
        if root.properties.get(hint):
            raise _unsupported(root, f"`{hint}`")
    match merge.strategy:
        case Strategy.UPSERT | Strategy.INSERT_ONLY if not merge.primary_key:
            raise _lacking(root, "a primary key")
        case Strategy.SCD2:
            for hint in ("x-valid-from", "x-valid-to", "x-row-version"):
                if first(root, hint) is None:
                    raise _lacking(root, f"a column with the hint `{hint}`")
    return merge


def named(table: Table, hint: str) -> tuple[str, ...]:
    """Return the names of the complete columns with a hint; ``Table.hinted`` includes incomplete columns."""
    return tuple(column.name for column in complete(table) if column.properties.get(hint))


def first(table: Table, hint: str) -> str | None:
    """Return the name of the first column that has a hint."""
    return next(iter(named(table, hint)), None)


def row_key(table: Table) -> str:
    """Return the column that identifies a table's rows: the row key, a unique column, or the only key column."""
    keys = named(table, "primary_key")
    column = first(table, "row_key") or first(table, "unique") or (keys[0] if len(keys) == 1 else None)
    if column is None:
        raise _lacking(table, "a column with the hint `row_key`")
    return column


def complete(table: Table) -> tuple[Column, ...]:
    """Return the columns that a destination has."""
    return tuple(column for column in table.columns.values() if column.is_complete)


def _strategy(root: Table) -> Strategy:
    strategy = root.properties.get("x-merge-strategy") or Strategy.DELETE_INSERT
    if strategy not in tuple(Strategy):
        raise _unsupported(root, f"the merge strategy `{strategy}`")
    return Strategy(strategy)


def _unsupported(root: Table, feature: str) -> DestinationError:
    hint = f"merge strategies: {', '.join(Strategy)}"
    return DestinationError(f"table `{root.name}`: {feature} is not supported", hint=hint)


def _lacking(table: Table, requirement: str) -> DestinationError:
    strategy = table.properties.get("x-merge-strategy") or Strategy.DELETE_INSERT
    return DestinationError(f"table `{table.name}` cannot be merged: its strategy `{strategy}` needs {requirement}")


def dedup_sort(root: Table) -> tuple[str, bool] | None:
    """Return the column that chooses among rows with the same key, and whether the largest value wins."""
    column = first(root, "dedup_sort")
    return (column, root.columns[column].properties["dedup_sort"] == "desc") if column else None


def _moment(hint: Any, table: Table) -> datetime | None:
    """Return the timestamp in a table's hint, in UTC."""
    if hint is None:
        return None
    try:
        parsed = hint if isinstance(hint, date) else parse(str(hint))
    except ValueError:
        parsed = None
    if not isinstance(parsed, date):
        raise DestinationError(f"table `{table.name}`: `{hint}` is not a timestamp")
    timestamp = parsed if isinstance(parsed, datetime) else datetime(parsed.year, parsed.month, parsed.day)
    return timestamp.astimezone(UTC) if timestamp.tzinfo else timestamp.replace(tzinfo=UTC)

"""What merges look at: the columns of a table that its hints name."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any

from schemactl.destinations._chains import first_hinted, hinted, row_key
from schemactl.errors import DestinationError
from schemactl.schema.iso8601 import parse
from schemactl.schema.types import Table


@dataclass(frozen=True, slots=True)
class Keys:
    """The columns of a table that merges look at.

    Attributes:
        primary: of the primary key.
        merge: of the merge key.
        row: what distinguishes rows.
        root: the key of the root row that a nested row belongs to.
        parent: the key of the row above.
        hard_delete: says of a row that it asks to be deleted.
        dedup_sort: a column and ``asc`` or ``desc``: which row of a primary key counts.
        valid_from: when a row of a history began to be valid.
        valid_to: when it ended.
        active: what stands in ``valid_to`` of rows that are valid.
    """

    primary: tuple[str, ...]
    merge: tuple[str, ...]
    row: str
    root: str | None
    parent: str | None
    hard_delete: str | None
    dedup_sort: tuple[str, str] | None
    valid_from: str | None
    valid_to: str | None
    active: datetime | None = None

    @property
    def all(self) -> tuple[str, ...]:
        """Return the columns to read of rows that come, each once."""
        sort = self.dedup_sort[0] if self.dedup_sort else None
        named = (*self.primary, *self.merge, self.row, self.root, self.parent, self.hard_delete, sort)
        return tuple(dict.fromkeys(name for name in named if name))


def keys_of(table: Table) -> Keys:
    """Return the keys that a table's hints state.

    Raises:
        DestinationError: nothing distinguishes its rows.
    """
    sort, end = first_hinted(table, "dedup_sort"), first_hinted(table, "x-valid-to")
    stated = table.columns[end].properties.get("x-active-record-timestamp") if end else None
    return Keys(
        primary=hinted(table, "primary_key"),
        merge=hinted(table, "merge_key"),
        row=row_key(table) if not _is_history(table) else str(first_hinted(table, "x-row-version")),
        root=first_hinted(table, "root_key") if table.is_nested else None,
        parent=first_hinted(table, "parent_key") if table.is_nested else None,
        hard_delete=first_hinted(table, "hard_delete"),
        dedup_sort=(sort, "asc" if table.columns[sort].properties["dedup_sort"] == "asc" else "desc") if sort else None,
        valid_from=first_hinted(table, "x-valid-from"),
        valid_to=end,
        active=None if stated is None else _moment(stated, table),
    )


def _is_history(table: Table) -> bool:
    return first_hinted(table, "x-row-version") is not None


def boundary_of(table: Table, inserted_at: datetime) -> datetime:
    """Return when rows of a slowly changing dimension begin and end: as the schema states, else with the load.

    Raises:
        DestinationError: the schema states no timestamp.
    """
    stated = table.properties.get("x-boundary-timestamp")
    return inserted_at if stated is None else _moment(stated, table)


def _moment(stated: Any, table: Table) -> datetime:
    try:
        found = stated if isinstance(stated, date) else parse(str(stated))
    except ValueError:
        found = None
    if not isinstance(found, date):
        raise DestinationError(f"table `{table.name}`: `{stated}` is no timestamp")
    if not isinstance(found, datetime):
        found = datetime.combine(found, time())
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)

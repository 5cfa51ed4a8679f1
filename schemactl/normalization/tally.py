"""Counts of the rows and values of one load, made by the engine: every row that was read is accounted for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from schemactl.inference.evidence import Position
from schemactl.schema.judgment import Violation
from schemactl.schema.types import Column, DataType

REJECTS_TABLE: Final = "_rejects"
"""The table beside the others that rejected rows and values go to."""

REJECTS_COLUMNS: Final = tuple(
    Column(name, {"data_type": data_type, "nullable": name not in ("load_id", "table_name", "file", "line")})
    for name, data_type in {
        **dict.fromkeys(("load_id", "table_name", "column_name", "entity", "mode", "expected"), DataType.TEXT),
        **dict.fromkeys(("found", "value", "path", "file"), DataType.TEXT),
        **{"line": DataType.BIGINT, "row_key": DataType.TEXT, "row": DataType.JSON, "inserted_at": DataType.TIMESTAMP},
    }.items()
)
"""The columns of rejects: the refused change (as in ``Violation``, but for the name of a refused variant, which stands
for the column that has another type), the value, where it stands (``path``: with its
places in lists), the ``_dlt_id`` that its row has or would have had, and where the whole row is rejected, that as JSON.
"""


@dataclass(frozen=True, slots=True)
class LoadTime:
    """The id of a load, and the time when it is made (with its time zone)."""

    id: str
    inserted_at: datetime


@dataclass(frozen=True, slots=True)
class RowCounts:
    """The rows of one table.

    Attributes:
        read: rows that the data holds.
        rejected: rows that a contract refuses for what is in them, or because there may be no such table.
        rejected_above: rows below a rejected row.
        values_rejected: values that a contract refuses in rows that are loaded without them.
        superseded: rows that give way to others with the same primary key, and rows below those; none are refused.
    """

    read: int = 0
    rejected: int = 0
    rejected_above: int = 0
    values_rejected: int = 0
    superseded: int = 0

    def __add__(self, other: RowCounts) -> RowCounts:
        return RowCounts(
            self.read + other.read,
            self.rejected + other.rejected,
            self.rejected_above + other.rejected_above,
            self.values_rejected + other.values_rejected,
            self.superseded + other.superseded,
        )

    @property
    def loaded(self) -> int:
        """The number of rows that are taken; of those with one primary key a merge keeps one."""
        return self.read - self.rejected - self.rejected_above

    @property
    def written(self) -> int:
        """The number of rows in the table's files."""
        return self.loaded - self.superseded


@dataclass(frozen=True, slots=True)
class UnfitFinding:
    """Values that no column can hold: an integer past 64 bits in a ``bigint``, say. They forbid the load.

    Attributes:
        source: where they stand in the data, formatted.
        kind: what they are in the data; ``null`` where a key that rows are found by has no value.
        expected: the data type that they were meant for, empty where there is none.
        first: the first record that has one.
        example: the value there as a text, None for nulls.
    """

    table: str
    column: str
    source: str
    kind: str
    expected: str
    count: int
    first: Position
    example: str | None = None


@dataclass(frozen=True, slots=True)
class OverwriteFinding:
    """Rows in which values of several source paths meet in one column, or lists in one table (column None)."""

    table: str
    column: str | None
    sources: tuple[str, ...]
    count: int
    first: Position


@dataclass(frozen=True, slots=True)
class Rejected:
    """The values or rows that one violation of a contract kept out.

    Attributes:
        count: values, or rows for a table.
        first: the first record that has one.
        example: the value there as a text; the row as JSON where there may be no such table.
    """

    violation: Violation
    count: int
    first: Position
    example: str | None
    record: str


@dataclass(frozen=True, slots=True)
class Tally:
    """The counts of all rows of a load by table; where anything is unfit or overwritten, it must not be loaded.

    Attributes:
        documents: rows that are documents; their table may have rows that are nested in them, too.
    """

    tables: Mapping[str, RowCounts] = field(default_factory=dict)
    unfit: tuple[UnfitFinding, ...] = ()
    overwrites: tuple[OverwriteFinding, ...] = ()
    documents: int = 0

    @property
    def is_loadable(self) -> bool:
        """Return whether no value is lost but those that a contract refuses."""
        return not self.unfit and not self.overwrites

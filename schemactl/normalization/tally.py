"""Counts of the rows and values of one load, made by the engine: every row that was read is counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from operator import add
from typing import Final

from schemactl.inference.evidence import Position
from schemactl.schema.judgment import Violation
from schemactl.schema.types import Column, DataType

REJECTS_TABLE: Final = "_rejects"
"""The table in the destination that rejected rows and values go to."""

REJECTS_COLUMNS: Final = tuple(
    Column(name, {"data_type": data_type, "nullable": name not in ("load_id", "table_name", "file", "line")})
    for name, data_type in {
        **dict.fromkeys(("load_id", "table_name", "column_name", "entity", "mode", "expected"), DataType.TEXT),
        **dict.fromkeys(("found", "value", "path", "file"), DataType.TEXT),
        **{"line": DataType.BIGINT, "row_key": DataType.TEXT, "row": DataType.JSON, "inserted_at": DataType.TIMESTAMP},
    }.items()
)
"""The columns of rejects with the rejected value and the reason: the refused change (as in ``Violation``, except that a
refused variant is given by the column of another type), the value, its path with list positions, the ``_dlt_id``
that its row has or would have had, and the whole row as JSON if it is rejected."""

RECORD_COLUMNS: Final = tuple(
    Column(name, {"data_type": DataType.JSON if name == "record" else DataType.TEXT})
    for name in ("record_id", "root_table", "root_key", "record", "state", "replayed_in", "discarded_because")
)
"""The columns of rejects that are needed to restore a record; tables of earlier versions lack them.

``reject_id``, the table and ``_dlt_id`` of the record's own row, the record as JSON in the first row of each record,
the state of the reject (``RejectState``), the load that replayed it, and why it was discarded.
"""

STORED_REJECTS_COLUMNS: Final = (*REJECTS_COLUMNS, *RECORD_COLUMNS)
"""All columns of rejects."""


class RejectState(StrEnum):
    """The state of a reject; rows of earlier versions lack a state and count as waiting."""

    WAITING = "waiting"
    REPLAYED = "replayed"
    DISCARDED = "discarded"


def reject_id(load_id: str, file: str, line: int) -> str:
    """Return the id of the rejected record at a place in the data of a load: 16 hexadecimal digits.

    >>> reject_id("1700000000.5", "orders.jsonl", 3)
    'd7f1540194eb8812'
    """
    return sha256(f"{load_id}\n{file}\n{line}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class RecordOrigin:
    """The load that rejected the records of a replayed file, the file of its data, and the number of each record."""

    load_id: str
    file: str
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LoadTime:
    """The id of a load, and its time (with time zone).

    Attributes:
        origins: of replayed records, by the file that they are read from now. Keys of rows and places of rejects follow
            from the origin, so that a replayed record gets the key that it would have had.
    """

    id: str
    inserted_at: datetime
    origins: Mapping[str, RecordOrigin] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RowCounts:
    """The rows of one table.

    Attributes:
        read: rows in the data.
        rejected: rows that a contract refuses because of their values, or because it forbids their table.
        rejected_above: rows below a rejected row.
        values_rejected: values that a contract refuses in rows that are loaded without them.
        superseded: accepted rows that another row with the same primary key replaces, and the rows below.
    """

    read: int = 0
    rejected: int = 0
    rejected_above: int = 0
    values_rejected: int = 0
    superseded: int = 0

    def __add__(self, other: RowCounts) -> RowCounts:
        return RowCounts(*map(add, astuple(self), astuple(other)))

    @property
    def loaded(self) -> int:
        """The number of accepted rows; a merge keeps one of several rows with the same primary key."""
        return self.read - self.rejected - self.rejected_above

    @property
    def written(self) -> int:
        """The number of rows in the table's files."""
        return self.loaded - self.superseded


@dataclass(frozen=True, slots=True)
class UnfitFinding:
    """Values that no column can hold: an integer past 64 bits in a ``bigint``, say. They forbid the load.

    Attributes:
        kind: their kind in the data; ``null`` if a key column has no value.
        expected: the data type of their column, empty without a column.
        example: the value of the first record as a text, None for nulls.
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
    """The values or rows that a single contract violation rejects.

    Attributes:
        example: the value of the first record as a text; the row as JSON if the contract forbids its table.
    """

    violation: Violation
    count: int
    first: Position
    example: str | None
    record: str


@dataclass(frozen=True, slots=True)
class Tally:
    """The counts of all rows of a load by table; a load with unfit or overwritten values must not be loaded.

    ``documents`` counts documents; their table may also have nested rows.
    """

    tables: Mapping[str, RowCounts] = field(default_factory=dict)
    unfit: tuple[UnfitFinding, ...] = ()
    overwrites: tuple[OverwriteFinding, ...] = ()
    documents: int = 0

    @property
    def is_loadable(self) -> bool:
        """Return whether only values that a contract refuses are lost."""
        return not self.unfit and not self.overwrites

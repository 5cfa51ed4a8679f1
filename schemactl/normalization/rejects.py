"""Stored rejects as data: the rows of ``_rejects``, which of them a filter selects, and their summary by reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from schemactl.normalization.report import NormalizeReport
from schemactl.normalization.tally import RejectState
from schemactl.schema.contract import Entity, Mode
from schemactl.schema.types import Schema

_WITHOUT_BREAKS: Final = str.maketrans("\r\n", "  ")


class RejectKind(StrEnum):
    """The part of a load that rejected a row or value."""

    CONTRACT = "contract"
    TYPING = "typing"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class Reject:
    """One row of ``_rejects``; see ``tally.STORED_REJECTS_COLUMNS``.

    Attributes:
        record: the record as JSON; None in all rows of a record but the first, and if it was not stored.
    """

    record_id: str
    load_id: str
    table: str
    column: str | None
    entity: str | None
    mode: str | None
    expected: str | None
    found: str | None
    value: str | None
    file: str
    line: int
    path: str | None
    row_key: str | None
    row: str | None
    inserted_at: datetime | None
    root_table: str
    root_key: str | None
    record: str | None
    state: RejectState
    replayed_in: str | None
    discarded_because: str | None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Reject:
        """Return a reject of a row whose record columns are filled; its record is one line.

        A record of a JSON document may span several lines; JSON strings contain no line breaks.
        """
        values = {name: row[name] for name in row if name not in ("table_name", "column_name", "state", "record")}
        record = row["record"] and row["record"].translate(_WITHOUT_BREAKS)
        state = RejectState(row["state"])
        return cls(**values, table=row["table_name"], column=row["column_name"], record=record, state=state)

    def to_row(self) -> dict[str, Any]:
        """Return it as a row of ``_rejects``."""
        row = asdict(self)
        table, column = row.pop("table"), row.pop("column")
        return {**row, "table_name": table, "column_name": column, "state": str(self.state)}

    @property
    def kind(self) -> RejectKind:
        """The part of the load that rejected it: only rows that a contract rejects have keys."""
        if self.entity not in tuple(Entity):
            return RejectKind.TYPING
        is_of_model = self.row_key is None or (self.found or "").startswith("the model ")
        return RejectKind.MODEL if is_of_model else RejectKind.CONTRACT

    @property
    def reason(self) -> str:
        """The reason without the value, alike for all rejects of one kind."""
        match self.kind:
            case RejectKind.CONTRACT:
                return f"{self.entity}={self.mode}: expected {self.expected}, found {self.found}"
            case RejectKind.TYPING:
                return f"not a value of type {self.expected}"
            case RejectKind.MODEL:
                return f"{self.expected}: {self.found}"

    @property
    def remedy(self) -> str:
        """Advice for repairing the record."""
        match self.kind, self.entity:
            case RejectKind.CONTRACT, Entity.TABLES:
                return "remove it from the record, or let the contract add tables"
            case RejectKind.CONTRACT, Entity.COLUMNS:
                return "remove it from the record, or let the contract add columns"
            case RejectKind.CONTRACT, _:
                return f"change the value to {self.expected}, or the type in the schema"
            case RejectKind.TYPING, _:
                return (
                    f"{self.found}: change the text, or the typing" if self.found else "change the text, or the typing"
                )
            case _:
                return "change the value, or the model"

    @property
    def is_of_loaded_row(self) -> bool:
        """Whether the record's own row was loaded: only a value, or rows of a nested table, were rejected."""
        if self.root_key is None or self.row_key is None:
            return False
        is_value = self.mode == Mode.DISCARD_VALUE and self.entity != Entity.TABLES
        return is_value or self.row_key != self.root_key


@dataclass(frozen=True, slots=True)
class RejectFilter:
    """The rejects that a call selects; a record is selected if any of its rejects is.

    Without ``states`` any state counts. The end ``before`` is exclusive.

    Attributes:
        record_ids: ids of records, or beginnings of them.
        reason: a kind (``contract``), a part of a contract (``data_type``), or a text within the reason.
    """

    record_ids: tuple[str, ...] = ()
    load_ids: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    reason: str | None = None
    since: datetime | None = None
    before: datetime | None = None
    states: frozenset[RejectState] | None = frozenset((RejectState.WAITING,))

    @property
    def is_narrow(self) -> bool:
        """Whether it contains more than a state."""
        texts = (self.record_ids, self.load_ids, self.tables, self.columns, self.files, self.reason)
        return any(texts) or self.since is not None or self.before is not None

    def selects(self, reject: Reject) -> bool:
        """Return whether a reject is among them."""
        return (
            (self.states is None or reject.state in self.states)
            and (not self.record_ids or reject.record_id.startswith(self.record_ids))
            and (not self.load_ids or reject.load_id in self.load_ids)
            and (not self.tables or reject.table in self.tables or reject.root_table in self.tables)
            and (not self.columns or reject.column in self.columns)
            and (not self.files or any(fnmatchcase(reject.file, glob) for glob in self.files))
            and (self.reason is None or self._has_reason(reject))
            and (self.since is None or (reject.inserted_at is not None and reject.inserted_at >= self.since))
            and (self.before is None or (reject.inserted_at is not None and reject.inserted_at < self.before))
        )

    def _has_reason(self, reject: Reject) -> bool:
        reason = (self.reason or "").lower()
        return (
            reason in (reject.kind, reject.entity, f"{reject.entity}={reject.mode}")
            or reason in " ".join(filter(None, (reject.reason, reject.found))).lower()
        )


@dataclass(frozen=True, slots=True)
class RejectGroup:
    """Rejects with one reason in one column of one load's file; ``count`` counts rows or values.

    Attributes:
        lost: records that cannot be replayed as they were not stored.
        example: the value of the first one that has a value.
    """

    kind: RejectKind
    reason: str
    table: str
    column: str | None
    load_id: str
    file: str
    state: RejectState
    count: int
    records: int
    lost: int
    first: datetime | None
    last: datetime | None
    example: str | None


class _GroupKey(NamedTuple):
    kind: RejectKind
    reason: str
    table: str
    column: str | None
    load_id: str
    file: str
    state: RejectState


@dataclass(slots=True)
class _Sums:
    count: int = 0
    record_ids: set[str] = field(default_factory=set)
    first: datetime | None = None
    last: datetime | None = None
    example: str | None = None

    def add(self, reject: Reject) -> None:
        self.count += 1
        self.record_ids.add(reject.record_id)
        if (moment := reject.inserted_at) is not None:
            self.first = moment if self.first is None else min(self.first, moment)
            self.last = moment if self.last is None else max(self.last, moment)
        self.example = reject.value if self.example is None else self.example


@dataclass(frozen=True, slots=True)
class RejectSummary:
    """Rejects by reason, most first, and the number of selected records by state.

    ``lost`` counts the selected records that cannot be replayed as they were not stored.
    """

    groups: tuple[RejectGroup, ...]
    records: Mapping[RejectState, int]
    lost: int


def summarize(rejects: Iterable[Reject], selection: RejectFilter) -> RejectSummary:
    """Return the selected rejects by reason; all rejects are read, as the first row of a record has its text."""
    sums_by_key: dict[_GroupKey, _Sums] = {}
    recorded: set[str] = set()
    for reject in rejects:
        if reject.record is not None:
            recorded.add(reject.record_id)
        if selection.selects(reject):
            key = _GroupKey(
                reject.kind, reject.reason, reject.table, reject.column, reject.load_id, reject.file, reject.state
            )
            sums_by_key.setdefault(key, _Sums()).add(reject)
    groups = [
        RejectGroup(
            *key, sums.count, len(sums.record_ids), len(sums.record_ids - recorded), sums.first, sums.last, sums.example
        )
        for key, sums in sums_by_key.items()
    ]
    groups.sort(
        key=lambda group: (-group.count, group.load_id, group.file, group.table, group.column or "", group.reason)
    )
    ids_by_state: dict[RejectState, set[str]] = {}
    for key, sums in sums_by_key.items():
        ids_by_state.setdefault(key.state, set()).update(sums.record_ids)
    selected_ids = set().union(*ids_by_state.values())
    records = {state: len(ids_by_state.get(state, ())) for state in RejectState}
    return RejectSummary(tuple(groups), records, len(selected_ids - recorded))


@dataclass(frozen=True, slots=True)
class RejectsReport:
    """The result of ``schemactl rejects list``."""

    name: str
    destination: str
    schema: Schema
    summary: RejectSummary


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A record as JSON, None if it was not stored, with the rejects that a filter selects, at least one."""

    rejects: tuple[Reject, ...]
    text: str | None


@dataclass(frozen=True, slots=True)
class RejectedRecords:
    """The result of ``schemactl rejects show``: the first records, and the number of all selected ones."""

    name: str
    destination: str
    schema: Schema
    records: tuple[RejectedRecord, ...]
    total: int


@dataclass(frozen=True, slots=True)
class ExportReport:
    """The result of ``schemactl rejects export``; ``lost`` counts selected records that were not stored."""

    output: str
    records: int
    lost: int


@dataclass(frozen=True, slots=True)
class ChangeReport:
    """The result of ``schemactl rejects discard`` and ``prune``, also of a change that is not made yet.

    ``waiting`` counts the records that waited; ``is_done`` is False if the user declined.
    """

    name: str
    destination: str
    records: int
    rejects: int
    waiting: int
    is_done: bool


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """The result of ``schemactl rejects replay``.

    Attributes:
        records: the number of replayed records.
        load_id: the ID of the load; None if nothing was loaded.
        passed: records that passed, or would.
        partly: records loaded without some values or nested rows, which still wait.
        remaining: the numbers of records that are still rejected, by reason.
        lost: selected records that were not stored.
        settled: records of the file that wait no longer.
        orphans: file, line and id of records whose own row was deleted or replaced since.
        stopped: the report of the load if the records stop it.
        is_done: False if the user declined, or the load was stopped.
    """

    name: str
    destination: str
    schema: Schema
    records: int = 0
    load_id: str | None = None
    passed: int = 0
    partly: int = 0
    remaining: tuple[RejectGroup, ...] = ()
    lost: int = 0
    settled: int = 0
    orphans: tuple[tuple[str, int, str], ...] = ()
    stopped: NormalizeReport | None = None
    is_done: bool = True

    @property
    def waiting(self) -> int:
        """The number of records without a loaded row."""
        return self.records - self.passed - self.partly

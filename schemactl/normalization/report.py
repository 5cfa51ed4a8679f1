"""The report of a load as data: rows by table, rejects with reasons, the schema's change; rendered elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Final

from schemactl.examples import mask_examples
from schemactl.grouping import group_by
from schemactl.inference.findings import mask_records
from schemactl.inference.report import InferenceReport, SourceWarning, ViolationFinding, follow_reports
from schemactl.inference.report import merge_reports as merge_inference_reports
from schemactl.normalization.plan import Plan
from schemactl.normalization.tally import OverwriteFinding, Rejected, Tally, UnfitFinding
from schemactl.schema.contract import Mode
from schemactl.schema.personal import is_personal
from schemactl.schema.types import Schema, ancestors, root_of


class Outcome(StrEnum):
    """The outcome of a call of ``schemactl normalize``."""

    LOADED = "loaded"
    LOADED_BEFORE = "loaded_before"
    """The destination has a load of this id already; nothing was done."""
    NOTHING_NEW = "nothing_new"
    """All files were loaded before (``--new-only``); nothing was done."""
    STOPPED = "stopped"
    """Something in the data forbids the load; nothing was written."""


class Stop(StrEnum):
    """The reason in the data that forbids a load."""

    CONTRACT = "contract"
    NULLS = "nulls"
    OVERWRITES = "overwrites"
    UNFIT = "unfit"
    TYPING = "typing"


@dataclass(frozen=True, slots=True)
class TableCounts:
    """The rows of one table.

    Attributes:
        parent: the table that it is nested in, None for a root table.
        disposition: ``append``, ``replace``, ``merge`` or ``skip``.
        read: rows in the data.
        rejected: rows that a contract refused because of their values.
        rejected_with_parent: rows that were not loaded because a row above them, or their table, was refused.
        values_rejected: values that a contract refused in rows that were loaded without them.
        superseded: rows replaced by another row with the same primary key (a merge keeps one), and the rows below.
        is_written: False if the contract keeps the table out of the schema.
    """

    name: str
    parent: str | None
    disposition: str
    read: int
    loaded: int
    rejected: int = 0
    rejected_with_parent: int = 0
    values_rejected: int = 0
    superseded: int = 0
    is_written: bool = True


@dataclass(frozen=True, slots=True)
class LoadSummary:
    """One load of a call.

    Attributes:
        bytes: the size of these files as stored.
    """

    load_id: str
    files: int
    bytes: int
    documents: int
    rows_loaded: int
    rows_rejected: int


@dataclass(frozen=True, slots=True)
class NormalizeReport:
    """The result of ``schemactl normalize``.

    Attributes:
        destination: its address, without a password.
        inference: the report of ``infer`` for the data; None if no data was read.
        tables: rows by table, root tables before nested ones; empty if nothing was written.
        rejects: the table or folder of rejected rows and values; None if nothing was rejected.
        lineage: source paths by table and column; only on request.
        warnings: about the sources, from the first access to them on.
        seen: files that were loaded before and left out (``--new-only``), the first ten thousand.
        unlisted: the number of such files beyond ``seen``.
        loads: the loads that were committed, in their order; more than one only for a backlog that was cut.
        waiting: the number of files that are left for the next call.
    """

    name: str
    load_id: str
    destination: str
    outcome: Outcome
    inference: InferenceReport | None = None
    tables: tuple[TableCounts, ...] = ()
    unfit: tuple[UnfitFinding, ...] = ()
    overwrites: tuple[OverwriteFinding, ...] = ()
    seen: tuple[str, ...] = ()
    rejects: str | None = None
    lineage: Mapping[str, Mapping[str, tuple[str, ...]]] | None = None
    warnings: tuple[SourceWarning, ...] = ()
    unlisted: int = 0
    loads: tuple[LoadSummary, ...] = ()
    waiting: int = 0

    @property
    def stops(self) -> tuple[Stop, ...]:
        """The reasons that forbid the load; none unless it was stopped."""
        if self.outcome is not Outcome.STOPPED:
            return ()
        reasons = {
            Stop.CONTRACT: self.inference is not None and self.inference.is_frozen,
            Stop.NULLS: bool(self.inference and self.inference.nulls),
            Stop.OVERWRITES: bool(self.overwrites),
            Stop.UNFIT: bool(self.unfit),
            Stop.TYPING: bool(self.inference and any(finding.stops for finding in self.inference.typing)),
        }
        return tuple(stop for stop, applies in reasons.items() if applies)

    @property
    def skipped(self) -> int:
        """The number of files that were loaded before and left out."""
        return len(self.seen) + self.unlisted

    @property
    def has_stored_rejects(self) -> bool:
        """Whether the load has rejects that ``schemactl rejects`` reads: in a table, not in a folder or by dlt."""
        is_in_table = self.rejects is not None and self.rejects.startswith("table ")
        return self.outcome is Outcome.LOADED and is_in_table and not self.destination.startswith("dlt:")

    @property
    def roots(self) -> tuple[TableCounts, ...]:
        """The counts of the documents' own tables; not of root tables whose rows come from lists."""
        names = {file.table for file in self.inference.files} if self.inference else set()
        return tuple(table for table in self.tables if table.name in names)

    @property
    def documents(self) -> int:
        return self.inference.documents if self.inference else 0

    @property
    def bad(self) -> int:
        """The number of records that could not be read and were skipped."""
        return sum(file.bad for file in self.inference.files) if self.inference else 0

    @property
    def rows_loaded(self) -> int:
        return sum(table.loaded for table in self.tables)

    @property
    def rows_rejected(self) -> int:
        """The number of rows that contracts keep out of all tables together."""
        return sum(table.rejected + table.rejected_with_parent for table in self.tables)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON data."""
        inference = self.inference.to_dict() if self.inference else None
        if inference is not None:
            # The load has them too, even if no data was read.
            inference.pop("warnings")
        document = asdict(replace(self, inference=None))
        del document["inference"]  # added at the end
        del document["unlisted"]
        return {
            **document,
            "outcome": str(self.outcome),
            "stops": [str(stop) for stop in self.stops],
            "skipped": self.skipped,
            "documents": self.documents,
            "bad": self.bad,
            "rows_loaded": self.rows_loaded,
            "rows_rejected": self.rows_rejected,
            "inference": inference,
        }


def join_loads(reports: Sequence[NormalizeReport]) -> NormalizeReport:
    """Return the report of consecutive loads of a call; the last load may have stopped."""
    last = reports[-1]
    inferences = [report.inference for report in reports if report.inference]
    return replace(
        last,
        inference=follow_reports(inferences) if inferences else None,
        tables=tuple(_sum_tables([table for report in reports for table in report.tables])),
        rejects=next((report.rejects for report in reversed(reports) if report.rejects), None),
        lineage=next((report.lineage for report in reversed(reports) if report.lineage), None),
        loads=tuple(load for report in reports for load in report.loads),
    )


def _sum_tables(counts: Sequence[TableCounts]) -> Iterator[TableCounts]:
    for tables in group_by(counts, lambda table: table.name).values():
        sums = {name: sum(getattr(table, name) for table in tables) for name in _COUNTS}
        yield replace(tables[-1], **sums, is_written=any(table.is_written for table in tables))


_COUNTS: Final = ("read", "loaded", "rejected", "rejected_with_parent", "values_rejected", "superseded")


def merge_reports(reports: Sequence[NormalizeReport]) -> NormalizeReport:
    """Merge the reports of all root tables into the report of one load."""
    first = reports[0]
    if len(reports) == 1:
        return first
    tables = sorted((item for report in reports for item in report.tables), key=lambda table: table.parent is not None)
    return replace(
        first,
        inference=merge_inference_reports([report.inference for report in reports if report.inference]),
        tables=tuple(tables),
        unfit=tuple(item for report in reports for item in report.unfit),
        overwrites=tuple(item for report in reports for item in report.overwrites),
    )


def report_rows(
    report: NormalizeReport, schema: Schema, plan: Plan, tally: Tally, rejected: Sequence[Rejected]
) -> NormalizeReport:
    """Return a report with the counts and rejects of one root table's rows.

    ``schema`` is the one that the data needs, which has the tables that a contract refuses, too.
    """
    assert report.inference is not None
    violations = describe_rejected(report.inference.violations, rejected, schema)
    return replace(
        report,
        inference=replace(report.inference, violations=violations),
        tables=tuple(_count_tables(schema, plan, tally, report.inference)),
        unfit=tuple(
            replace(finding, example=_masked(finding.example, schema, finding.table, finding.column))
            for finding in tally.unfit
        ),
        overwrites=tally.overwrites,
    )


def describe_rejected(
    findings: Sequence[ViolationFinding], rejected: Sequence[Rejected], schema: Schema
) -> tuple[ViolationFinding, ...]:
    """Return the violations with the values and rows that they rejected; ``schema`` marks personal columns."""
    by_column = {(item.violation.table, item.violation.column): item for item in rejected}
    records = mask_records({item.first: item.record for item in rejected}, schema)
    described: list[ViolationFinding] = []
    for finding in findings:
        rejects = by_column.get((finding.table, finding.column))
        if rejects is not None:
            finding = replace(finding, data_item=records[rejects.first])
        elif finding.values and finding.mode != Mode.FREEZE:
            finding = replace(finding, goes_with_row=True)
        if rejects is not None and finding.column is not None:
            example = _masked(rejects.example, schema, finding.table, finding.variant_of or finding.column)
            finding = replace(finding, values=rejects.count, first=rejects.first, example=example)
        described.append(finding)
    return tuple(described)


def _count_tables(schema: Schema, plan: Plan, tally: Tally, report: InferenceReport) -> Iterator[TableCounts]:
    counts = (
        TableCounts(
            name=name,
            parent=schema.tables[name].parent,
            # A nested table has the write disposition of its root table (docs/dlt.md §1.2).
            disposition=str(schema.tables[root_of(schema, name)].properties.get("write_disposition", "append")),
            read=rows.read,
            loaded=rows.written,
            rejected=rows.rejected,
            rejected_with_parent=rows.rejected_above,
            values_rejected=rows.values_rejected,
            superseded=rows.superseded,
            is_written=name in plan.tables,
        )
        for name, rows in tally.tables.items()
        if rows.read or name == plan.rows.table
    )
    yield from sorted(counts, key=lambda table: len(ancestors(schema, table.name)))
    # Records that a model rejects and that belong to no table get a separate line.
    count = sum(file.documents for file in report.files if not file.table)
    if count:
        yield TableCounts("", None, "append", read=count, loaded=0, rejected=count, is_written=False)


def _masked(example: str | None, schema: Schema, table: str, column: str | None) -> str | None:
    return next(iter(mask_examples((example,), is_personal(schema, table, column))), None)

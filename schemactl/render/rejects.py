"""Renders the reports of ``schemactl rejects``: as text, as JSON documents, and the list as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final

from rich.console import RenderableType
from rich.text import Text

from schemactl.examples import mask_examples
from schemactl.inference.evidence import Position
from schemactl.inference.findings import mask_records
from schemactl.normalization.rejects import (
    ChangeReport,
    ExportReport,
    RejectedRecord,
    RejectedRecords,
    RejectGroup,
    RejectsReport,
    ReplayReport,
)
from schemactl.normalization.tally import RejectState
from schemactl.render.console import (
    FAINT,
    Look,
    first_lines,
    indented,
    named,
    print_line,
    print_sections,
    show_hint,
    warning,
)
from schemactl.render.escaping import escape, show_place
from schemactl.render.json import Shown, document
from schemactl.render.normalize import print_stop, show_next_calls
from schemactl.schema.personal import is_personal
from schemactl.schema.types import Schema
from schemactl.schema.wording import counted

_SHOWN: Final[Shown] = {
    "RejectsReport": "name destination records=summary.records lost=summary.lost",
    "RejectedRecords": "name destination total",
    "Reject": "kind table column path reason remedy value state replayed_in discarded_because",
    "ChangeReport": "name destination is_done records rejects waiting",
    "ReplayReport": "name destination load_id is_done records passed partly waiting lost settled",
}


def summary_document(report: RejectsReport) -> dict[str, Any]:
    """Return the JSON document of ``schemactl rejects list``."""
    groups = [_group(group, report.schema) for group in report.summary.groups]
    return {**document(report, _SHOWN), "groups": groups}


def print_list(report: RejectsReport, look: Look) -> str:
    """Return the text of ``schemactl rejects list``."""
    summary = report.summary
    counts = ", ".join(f"{counted(count, 'record')} {state}" for state, count in summary.records.items() if count)
    lines: list[RenderableType] = [named(report.name, counts or "no rejects")]
    sections: list[list[RenderableType]] = [lines]
    for group in summary.groups:
        moments = (moment.isoformat()[:19] for moment in (group.first, group.last) if moment)
        times = " to ".join(dict.fromkeys(moments))
        source = f"{escape(group.file)} in load {escape(group.load_id)}{f', {times}' if times else ''}"
        lost = f", {counted(group.lost, 'record')} not stored" if group.lost else ""
        state = "" if group.state is RejectState.WAITING else f", {group.state}"
        line = _group_line(group, report.schema)
        sections.append([line, indented(Text(f"{source}{lost}{state}", style=FAINT))])
    if summary.lost:
        sections.append([warning("lost", f"{counted(summary.lost, 'record')} cannot be replayed: not stored")])
    if summary.records.get(RejectState.WAITING) and not look.is_quiet:
        sections.append([*show_next_calls(report.name, report.destination)])
    return print_sections(sections, look)


def print_table(report: RejectsReport) -> str:
    """Return the list as CSV: a line for each group."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, [field.name for field in fields(RejectGroup)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(_group(group, report.schema) for group in report.summary.groups)
    return buffer.getvalue()


def _group(group: RejectGroup, schema: Schema) -> dict[str, Any]:
    return {**document(group, {}), "example": _masked(group.example, schema, group.table, group.column)}


def _group_line(group: RejectGroup, schema: Schema) -> Text:
    """Return a line on the rejects with one reason, with an example."""
    example = _masked(group.example, schema, group.table, group.column)
    value = "" if example is None else f", such as {escape(example)}"
    rejects = f"{counted(group.count, 'reject')}, {escape(group.reason)}{value}"
    return warning(str(group.kind), f"{show_place(group.table, group.column)}: {rejects}")


def _masked(value: str | None, schema: Schema, table: str, column: str | None) -> str | None:
    if value is None:
        return None
    return next(iter(mask_examples((value,), is_personal(schema, table, column))), None)


def records_document(report: RejectedRecords) -> dict[str, Any]:
    """Return the JSON document of ``schemactl rejects show``."""
    return {**document(report, _SHOWN), "records": [_record(record, report.schema) for record in report.records]}


def print_records(report: RejectedRecords, look: Look) -> str:
    """Return the text of ``schemactl rejects show``."""
    if not report.records:
        return print_line(f"{escape(report.name)}: no rejects", look)
    sections = [list(_record_lines(_record(record, report.schema))) for record in report.records]
    if len(report.records) < report.total:
        more = report.total - len(report.records)
        sections.append([Text(f"and {counted(more, 'more record')} (--limit shows more)", style=FAINT)])
    return print_sections(sections, look)


def _record_lines(record: dict[str, Any]) -> Iterator[RenderableType]:
    load = f"load {escape(record['load_id'])}"
    yield warning(f"{escape(record['file'])}:{record['line']}", f"record {record['id']}, {load}", "bold")
    for reject in record["rejects"]:
        value = "" if reject["value"] is None else f" {escape(reject['value'])}"
        state = "" if reject["state"] == RejectState.WAITING else f" ({reject['state']})"
        column_name = show_place(reject["table"], reject["column"])
        yield indented(Text(f"{column_name} at {escape(str(reject['path']))}:{value}{state}"))
        yield indented(Text(escape(reject["reason"])))
        yield from show_hint(reject["remedy"])
    text = record["record"]
    yield indented(Text("not stored: cannot be replayed" if not record["is_stored"] else escape(text or "")))


def _record(record: RejectedRecord, schema: Schema) -> dict[str, Any]:
    first = record.rejects[0]
    position = Position(first.file, first.line)
    text = None if record.text is None else mask_records({position: record.text}, schema)[position]
    rejects = []
    for reject in record.rejects:
        value = _masked(reject.value, schema, reject.table, reject.column)
        rejects.append({**document(reject, _SHOWN), "value": value})
    return {
        "id": first.record_id,
        "load_id": first.load_id,
        "file": first.file,
        "line": first.line,
        "table": first.root_table,
        "is_stored": record.text is not None,
        "record": text,
        "rejects": rejects,
    }


def export_document(report: ExportReport) -> dict[str, Any]:
    """Return the JSON document of ``schemactl rejects export``."""
    return {**document(report, _SHOWN)}


def print_export(report: ExportReport, look: Look) -> str:
    """Return the text of ``schemactl rejects export``."""
    output = "standard output" if report.output == "-" else escape(report.output)
    lines: list[RenderableType] = [Text(f"wrote {counted(report.records, 'record')} to {output}")]
    if report.lost:
        lines.append(warning("lost", f"{counted(report.lost, 'record')} not written: not stored"))
    return print_sections([lines], look)


def change_document(report: ChangeReport) -> dict[str, Any]:
    """Return the JSON document of ``schemactl rejects discard`` and ``prune``."""
    return {**document(report, _SHOWN)}


def print_change(report: ChangeReport, look: Look, task: str) -> str:
    """Return the text of a change of rejects; ``task`` is ``discarded``, or ``to discard`` before it is done."""
    if not report.records:
        return print_line(f"{escape(report.name)}: nothing {task}", look)
    if not report.is_done:
        return print_line(f"{escape(report.name)}: nothing changed", look)
    waiting = f", {counted(report.waiting, 'record')} of them waiting" if task in ("to delete", "deleted") else ""
    message = f"{counted(report.records, 'record')} ({counted(report.rejects, 'reject')}) {task}{waiting}"
    return print_line(f"{escape(report.name)}: {message}", look)


def replay_document(report: ReplayReport) -> dict[str, Any]:
    """Return the JSON document of ``schemactl rejects replay``."""
    return {
        **document(report, _SHOWN),
        "orphans": [{"file": file, "line": line, "id": record_id} for file, line, record_id in report.orphans],
        "remaining": [_group(group, report.schema) for group in report.remaining],
        "stops": [str(stop) for stop in report.stopped.stops] if report.stopped else [],
    }


def print_replay_question(report: ReplayReport, look: Look) -> str:
    """Return the text of the records that are about to be replayed."""
    message = f"{counted(report.records, 'record')} to load into {escape(report.destination)}"
    return print_sections([[named(report.name, message)], list(_left_out(report, look))], look)


def print_replay(report: ReplayReport, look: Look) -> str:
    """Return the text of ``schemactl rejects replay``."""
    left_out = list(_left_out(report, look))
    if report.stopped is not None:
        stopped = print_stop(report.stopped)
        return print_sections([[named(report.name, "nothing loaded")], stopped, left_out], look)
    if not report.records:
        return print_sections([[named(report.name, "nothing to replay")], left_out], look)
    if not report.is_done:
        return print_sections([[named(report.name, "nothing loaded")]], look)
    verb = "would pass" if report.load_id is None else "loaded"
    counts = [f"{report.passed:,} of {counted(report.records, 'record')} {verb}"]
    if report.partly:
        counts.append(f"{report.partly:,} in part")
    if report.waiting:
        counts.append(f"{report.waiting:,} {'would wait' if report.load_id is None else 'waiting'}")
    remaining = [_group_line(group, report.schema) for group in report.remaining]
    outcome = [] if report.load_id is None else [Text(f"load {escape(report.load_id)} in {escape(report.destination)}")]
    return print_sections([[named(report.name, ", ".join(counts))], remaining, left_out, outcome], look)


def _left_out(report: ReplayReport, look: Look) -> Iterator[Text]:
    """Yield lines on the selected records that are not replayed."""
    if report.lost:
        yield warning("lost", f"{counted(report.lost, 'record')} cannot be replayed: not stored")
    if report.settled:
        yield warning("skipped", f"{counted(report.settled, 'record')} of the file no longer waiting, or not selected")

    def orphan_line(orphan: tuple[str, int, str]) -> Text:
        file, line, record_id = orphan
        location = escape(f"{file}:{line} (record {record_id})")
        return warning("orphan", f"{location}: its row was deleted or replaced since")

    yield from first_lines(report.orphans, orphan_line, look, "record")

"""Renders ``schemactl normalize`` for a person: rows by table, rejects with their reasons, the schema's change."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from schemactl.grouping import group_by
from schemactl.normalization.report import NormalizeReport, Outcome, Stop, TableCounts
from schemactl.normalization.tally import OverwriteFinding, UnfitFinding
from schemactl.progress import size_text
from schemactl.render import infer
from schemactl.render.console import ERROR, FAINT, NAME, Look, indented, named, print_sections, warning
from schemactl.render.escaping import escape, quote, show_name, show_place, show_sources
from schemactl.schema.wording import counted

_REASONS: Mapping[Stop, str] = {
    Stop.CONTRACT: "the data violates a frozen contract",
    Stop.NULLS: "the data contains nulls in required columns",
    Stop.OVERWRITES: "values would overwrite each other",
    Stop.UNFIT: "values do not fit any column",
}


def print_load(report: NormalizeReport, look: Look) -> str:
    """Return the text of ``schemactl normalize``."""
    return print_sections(_sections(report, look), look)


def _sections(report: NormalizeReport, look: Look) -> Iterator[Sequence[RenderableType]]:
    attention = list(_attention(report))
    if look.is_quiet:
        yield [*attention, *([_outcome(report)] if report.stops else [])]
        return
    inference = report.inference
    match report.outcome:
        case Outcome.LOADED:
            tables = sum(1 for table in report.tables if table.loaded)
            outcome = f"loaded {counted(report.rows_loaded, 'row')} into {counted(tables, 'table')}"
        case Outcome.LOADED_BEFORE:
            outcome = f"load {escape(report.load_id)} is already loaded"
        case Outcome.NOTHING_NEW:
            outcome = "no new files"
        case Outcome.STOPPED:
            outcome = f"stopped after {counted(len(report.loads), 'load')}" if report.loads else "nothing loaded"
    reading = infer.show_reading(inference, look) if inference else ()
    files = infer.show_files(inference, look) if inference else ()
    yield [*reading, named(report.name, outcome), *files, *_skipped(report, look)]
    yield [infer.show_tables(inference.tables, look)] if inference and inference.tables else []
    yield list(map(infer.show_promotion, inference.promotions)) if inference else []
    yield [_rows(report.tables)] if report.tables else []
    yield list(_lineage(report.lineage)) if report.lineage else []
    yield attention
    yield [_loads(report)] if len(report.loads) > 1 or (report.loads and report.waiting) else []
    yield [*_balance(report), *(infer.show_hashes(inference) if inference else ()), _outcome(report)]
    if report.has_stored_rejects:
        yield show_next_calls(report.name, report.destination)


def print_stop(report: NormalizeReport) -> list[RenderableType]:
    """Return the lines about the data that stopped a load."""
    return [*_attention(report), _outcome(report)]


def _attention(report: NormalizeReport) -> Iterator[Text]:
    if report.inference is not None:
        yield from map(infer.show_violation, report.inference.violations)
        for null in report.inference.nulls:
            column_name = show_place(null.table, null.column)
            yield warning("null", f"{column_name} is required, but {infer.why_null(null)}", ERROR)
        yield from (infer.show_bad_records(file) for file in report.inference.files if file.bad)
        yield from map(infer.show_typing, report.inference.typing)
    yield from map(_overwrite, report.overwrites)
    yield from map(_unfit, report.unfit)


def _skipped(report: NormalizeReport, look: Look) -> Iterator[RenderableType]:
    if not report.skipped:
        return
    verb = "was" if report.skipped == 1 else "were"
    yield Text(f"skipped {counted(report.skipped, 'file')} that {verb} loaded before")
    yield from infer.first_files(report.seen, escape, look)


def _rows(tables: Sequence[TableCounts]) -> Table:
    """Return the counts of all tables; columns that contain only zeros are left out."""
    numbers = {
        "read": [table.read for table in tables],
        "loaded": [table.loaded for table in tables],
        "same key": [table.superseded for table in tables],
        "rejected": [table.rejected for table in tables],
        "with parent": [table.rejected_with_parent for table in tables],
        "values rejected": [table.values_rejected for table in tables],
    }
    shown_counts = {name: column for name, column in numbers.items() if any(column) or name in ("read", "loaded")}
    grid = Table(box=None, pad_edge=False, header_style=FAINT, padding=(0, 2, 0, 0))
    grid.add_column("rows", overflow="fold")
    for name in shown_counts:
        grid.add_column(name, justify="right", overflow="fold")
    for table_index, depth in _nested(tables):
        table = tables[table_index]
        name = f"{'  ' * depth}{show_name(table.name)}{'' if table.is_written else ' (no table)'}"
        name = name if table.name else "(no table)"
        grid.add_row(name, *(f"{column[table_index]:,}" for column in shown_counts.values()))
    return grid


def _loads(report: NormalizeReport) -> Table:
    """Return the loads that a backlog was cut into."""
    grid = Table(box=None, pad_edge=False, header_style=FAINT, padding=(0, 2, 0, 0))
    grid.add_column("load", overflow="fold")
    for name in ("files", "size", "records", "rows loaded"):
        grid.add_column(name, justify="right", overflow="fold")
    for load in report.loads:
        counts = (f"{load.documents:,}", f"{load.rows_loaded:,}")
        grid.add_row(escape(load.load_id), f"{load.files:,}", size_text(load.bytes), *counts)
    return grid


def _nested(tables: Sequence[TableCounts]) -> Iterator[tuple[int, int]]:
    """Yield the place and depth of each table, its nested tables directly below it."""
    names = {table.name for table in tables}
    parents = [table.parent if table.parent in names else None for table in tables]
    indexes_by_parent = group_by(range(len(tables)), parents.__getitem__)
    pending_tables = [(table_index, 0) for table_index in reversed(indexes_by_parent.get(None, ()))]
    while pending_tables:
        table_index, depth = pending_tables.pop()
        yield table_index, depth
        nested_indexes = indexes_by_parent.get(tables[table_index].name, ())
        pending_tables += [(nested_index, depth + 1) for nested_index in reversed(nested_indexes)]


def show_next_calls(name: str, destination: str) -> list[Text]:
    """Return the calls that show and replay the rejects of a destination, a line each."""
    arguments = escape(f"{name} --to {shlex.quote(destination)}")
    calls = (f"schemactl rejects show {arguments}", f"schemactl rejects replay {arguments} --dry-run")
    return [Text(call, style=FAINT) for call in calls]


def _lineage(lineage: Mapping[str, Mapping[str, Sequence[str]]]) -> Iterator[RenderableType]:
    for table, columns in lineage.items():
        yield Text(show_name(table), style=NAME)
        for column, sources in columns.items():
            yield indented(Text(f"{show_name(column)} from {show_sources(sources)}"))


def _overwrite(finding: OverwriteFinding) -> Text:
    noun = "table" if finding.column is None else "column"
    rename = f"{show_sources(finding.sources)} become one {noun}, {show_place(finding.table, finding.column)}"
    collision = f"collide in {counted(finding.count, 'row')}, first in {escape(str(finding.first))}"
    return warning("overwrite", f"{rename}, and {collision} (--resolve-collisions gives each a {noun})", ERROR)


def _unfit(finding: UnfitFinding) -> Text:
    column, first_position = show_place(finding.table, finding.column), f"first in {escape(str(finding.first))}"
    if finding.kind == "null":
        rows = counted(finding.count, "row")
        return warning("unfit", f"{column} is a key of rows, but is missing in {rows}, {first_position}", ERROR)
    # As in data: texts in quotes.
    show = quote if finding.kind == "text" else escape
    example = f": {show(finding.example)}" if finding.example is not None else ""
    values = f"{counted(finding.count, escape(finding.kind) + ' value')} of {escape(finding.source)}"
    kind = f" ({escape(finding.expected)})" if finding.expected else ""
    return warning("unfit", f"{column}{kind} cannot hold {values}, {first_position}{example}", ERROR)


def _balance(report: NormalizeReport) -> Iterator[Text]:
    """Yield the counts of loaded, superseded, rejected and skipped records."""
    roots = report.roots
    if not roots or report.outcome is Outcome.STOPPED:
        return
    parts = [f"{sum(root.loaded for root in roots):,} loaded"]
    if superseded := sum(root.superseded for root in roots):
        parts.append(f"{superseded:,} with the same key")
    if rejected := sum(root.rejected + root.rejected_with_parent for root in roots):
        parts.append(f"{rejected:,} rejected")
    if report.bad:
        parts.append(f"{report.bad:,} skipped")
    yield Text(f"{counted(sum(root.read for root in roots) + report.bad, 'record')} = {' + '.join(parts)}")
    if report.rejects is not None:
        yield Text(f"saved rejected rows and values in {escape(report.rejects)}")


def _outcome(report: NormalizeReport) -> Text:
    destination = escape(report.destination)
    match report.outcome:
        case Outcome.LOADED:
            other_roots = [root for root in report.roots if root.disposition != "append"]
            ending = " ({})" if len(report.roots) > 1 else ""
            dispositions = [root.disposition + ending.format(root.name) for root in other_roots]
            disposition_note = f", write disposition {escape(', '.join(dispositions))}" if dispositions else ""
            loads = f"{len(report.loads):,} loads" if len(report.loads) > 1 else f"load {escape(report.load_id)}"
            waiting_note = f"; {counted(report.waiting, 'file')} left for the next call" if report.waiting else ""
            return Text(f"loaded into {destination} as {loads}{disposition_note}{waiting_note}")
        case Outcome.LOADED_BEFORE:
            return Text(f"nothing to do: {destination} already has this load")
        case Outcome.NOTHING_NEW:
            return Text(f"nothing to do: {destination} already has all files")
        case Outcome.STOPPED:
            untyped = {Stop.TYPING: infer.why_untyped(report.inference)} if report.inference else {}
            reasons = ", ".join({**_REASONS, **untyped}[stop] for stop in report.stops)
            loads, waiting_files = counted(len(report.loads), "load"), counted(report.waiting, "file")
            fate = f"stopped after {loads}, with {waiting_files} left" if report.loads else "nothing loaded"
            return Text(f"{fate}: {reasons}", style=ERROR)

"""Renders ``schemactl infer`` for a person: all changes, their reasons, and their places in the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from schemactl.grouping import group_by
from schemactl.inference.evidence import Position
from schemactl.inference.findings import STATED
from schemactl.inference.report import (
    CollisionFinding,
    ColumnFinding,
    FileFinding,
    InferenceReport,
    NullFinding,
    PromotionFinding,
    TableFinding,
    TypingFinding,
    ViolationFinding,
)
from schemactl.progress import size_text, time_text
from schemactl.render.console import ERROR, FAINT, NAME, WARNING, Look, indented, named, print_sections, warning
from schemactl.render.escaping import escape, quote, show_name, show_place, show_sources
from schemactl.schema.wording import counted, describe_type

Item = TypeVar("Item")

MOST_FILES = 10
"""Files that are listed one by one, unless all the evidence is asked for."""


def print_inference(report: InferenceReport, look: Look) -> str:
    """Return the text of ``schemactl infer``."""
    return print_sections(_sections(report, look), look)


def _sections(report: InferenceReport, look: Look) -> Iterator[Sequence[RenderableType]]:
    attention = [
        *(show_violation(finding) for finding in report.violations),
        *(_null(finding) for finding in report.nulls),
        *(_collision(finding) for finding in report.collisions),
        *(show_typing(finding) for finding in report.typing),
        *(show_bad_records(file) for file in report.files if file.bad),
    ]
    if look.is_quiet:
        is_pending = report.is_check and report.changes_schema
        yield [*attention, *([_outcome(report)] if report.is_refused or is_pending else [])]
        return
    parts = ["refused"] if report.is_refused else ["new schema"] if report.before_hash is None else []
    if report.tables:
        columns = sum(len(table.columns) for table in report.tables)
        would_be = "" if report.written else " would be"
        tables = counted(len(report.tables), "table")
        parts.append(f"{tables} and {counted(columns, 'column')}{would_be} new or changed")
    outcome = ", ".join(parts) or ("changed" if report.changes_schema else "no change")
    yield [*show_reading(report, look), named(report.name, outcome), *show_files(report, look)]
    yield [show_tables(report.tables, look)] if report.tables else []
    yield [show_promotion(finding) for finding in report.promotions]
    yield attention
    yield [Text(f"hint: {escape(hint)}", style=WARNING) for hint in report.hints]
    yield [*show_hashes(report), _outcome(report)]


def show_reading(report: InferenceReport, look: Look) -> Iterator[RenderableType]:
    """Yield the engine, the bytes and the time of reading; verbose, also why that engine."""
    reading = report.reading
    if reading is None:
        return
    size = "the data" if reading.bytes is None else size_text(reading.bytes)
    engine = " with Spark" if reading.engine == "spark" else ""
    reason = f" ({escape(reading.reason)})" if look.is_verbose else ""
    yield Text(f"read {size}{engine} in {time_text(reading.seconds)}{reason}", style=FAINT)


def show_files(report: InferenceReport, look: Look) -> Iterator[RenderableType]:
    """Yield the files of each root table; a single file takes one line."""
    for table, files in group_by(report.files, lambda file: file.table).items():
        yield from _show_files_of(table, files, report.sample, look)


def _show_files_of(table: str, files: Sequence[FileFinding], sample_size: str, look: Look) -> Iterator[RenderableType]:
    read = _read_of(sum(file.documents for file in files), sum(file.records for file in files))
    sample = "" if sample_size == "full" else f" (sample {escape(sample_size)})"
    line = f"read {read}{sample} for {f'table {show_name(table)}' if table else 'no table'}"
    if len(files) == 1:
        yield Text(f"{line} from {escape(files[0].path)}")
        return
    yield Text(f"{line} from {counted(len(files), 'file')}")
    yield from first_files(files, lambda file: f"{escape(file.path)}: {_read_of(file.documents, file.records)}", look)


def first_files(files: Sequence[Item], describe: Callable[[Item], str], look: Look) -> Iterator[RenderableType]:
    """Yield a line for each of the first files, and one on how many more there are."""
    listed_files = files if look.is_verbose else files[:MOST_FILES]
    yield from (indented(Text(describe(file))) for file in listed_files)
    if len(listed_files) < len(files):
        yield indented(Text(f"and {counted(len(files) - len(listed_files), 'more file')} (--verbose lists all)"))


def _read_of(documents: int, records: int) -> str:
    return counted(documents, "document") if documents == records else f"{documents:,} of {counted(records, 'record')}"


def show_bad_records(file: FileFinding) -> Text:
    """Return a line on the records of a file that could not be read."""
    first = "" if file.first_bad is None else f", the first is {escape(str(Position(file.path, file.first_bad)))}"
    file_name = f"in {escape(file.path)}" if file.first_bad is None else ""
    records = f"{counted(file.bad, 'record')} could not be read{first or ' ' + file_name}"
    return warning("warning", f"{records}; skipped")


def show_promotion(finding: PromotionFinding) -> Text:
    """Return a line about a column that became wider, or that could not."""
    line = Text().append(f"{show_place(finding.table, finding.column)}{escape(finding.field)}", style=NAME)
    if finding.after is not None:
        return line.append(f": {finding.before} -> {finding.after}, {escape(finding.reason)}")
    fate = "JSON" if finding.field else "values are cut"
    fate = fate if finding.variant is None else f"variant {show_name(finding.variant)}"
    return line.append(f": {finding.before}, {fate}, because {escape(finding.reason)}", style=WARNING)


def show_violation(finding: ViolationFinding) -> Text:
    """Return a line about a contract violation."""
    column = finding.variant_of or finding.column
    line = f"{show_place(finding.table, column)}: expected {escape(finding.expected)}, found {escape(finding.found)}"
    if finding.values:
        line += f" {'of' if column is None else 'in'} {counted(finding.values, 'value')}"
    if finding.first:
        is_literal = finding.found != "text" and finding.example is not None and reads_as_literal(finding.example)
        show_value = escape if is_literal else quote
        example = f": {show_value(finding.example)}" if finding.example is not None else ""
        line += f", first in {escape(str(finding.first))}{example}"
    contract = f"contract {finding.entity}={finding.mode}"
    level = finding.schema_contract.get(finding.entity, {}).get("level")
    if level:
        kind, _, name = level.partition(" ")
        contract += f" of table {show_name(name)}" if name else f" of the {kind}"
    if finding.mode == "freeze":
        return warning("violation", f"{line} ({contract})", ERROR)
    goes = "; rejected with its row" if finding.goes_with_row else ""
    return warning("rejected", f"{line} ({contract}{goes})")


def _null(finding: NullFinding) -> Text:
    column = show_place(finding.table, finding.column)
    return warning("warning", f"{column} is required, but {why_null(finding)}; dlt rejects such rows")


def why_null(finding: NullFinding) -> str:
    """Return why values of a column are null, with the first place."""
    source, where = escape(finding.source), f"first in {escape(str(finding.first))}"
    if finding.variant is None:
        return f"{source} is null {counted(finding.count, 'time')}, {where}"
    verb = "goes" if finding.count == 1 else "go"
    return f"{counted(finding.count, 'value')} of {source} {verb} to {show_name(finding.variant)} instead, {where}"


def show_typing(finding: TypingFinding) -> Text:
    """Return a line on values that could not be typed, or that a model rejects."""
    if finding.contract is not None:
        column, noun = (f" of `{escape(finding.column)}`", "value") if finding.column else ("", "document")
        values = f"{counted(finding.count, noun)}{column}, first in {escape(str(finding.first))}"
        label, style = ("model", {"style": ERROR}) if finding.stops else ("rejected", {})
        return warning(label, f"{values}: {escape(finding.message)} (contract {finding.contract})", **style)
    values = f"{counted(finding.count, 'string')} of `{escape(finding.column)}`, first in {escape(str(finding.first))}"
    if finding.stops:
        rule = " (--typing-errors fail)"
        if not finding.nullable:
            rule = " (the column is required)"
        elif finding.converted == 0:
            rule = "; no string of the column can be typed (--typing-errors column loads nulls)"
        return warning("typing", f"{values}: {escape(finding.message)}{rule}", ERROR)
    become = "rejected" if finding.mode == "reject" else "null, see `_errors`"
    return warning("typing", f"{values}: {escape(finding.message)} ({become})")


def _collision(finding: CollisionFinding) -> Text:
    name = show_place(finding.table, finding.column)
    thing = "column" if finding.column is not None else "table"
    effect = f"dlt keeps only the last (--resolve-collisions gives each a {thing})"
    merged = f"{show_sources(finding.sources)} become one {thing}, {name}"
    return warning("warning", f"{merged}; if a document has several of them, {effect}")


def show_hashes(report: InferenceReport) -> Iterator[Text]:
    """Yield how hash and version of the schema changed."""
    if report.import_adopted:
        takes = "applied" if report.written else "would apply"
        yield Text(f"{takes} the edits of the import file (hash {escape(report.import_adopted)})")
        if report.dropped:
            verb = "dropped" if report.written else "would drop"
            names = ", ".join(map(escape, report.dropped))
            yield warning("warning", f"{verb} columns of earlier data that this data does not have: {names}")
            if not report.written:
                yield Text(f"to keep them, run `schemactl sync {escape(report.name)}` first")
    if report.export_edited and not report.is_refused:
        makes = "updated" if report.written else "would update"
        advice = "dlt overwrites it: edit the import file"
        yield Text(f"{makes} the hash of the export file, which was edited by hand; {advice}")
    before, after = report.before_hash, report.after_hash
    if before is not None and (report.is_refused or before == after):
        yield Text(f"hash {before}, version {report.before_version}, unchanged")
    elif before is not None:
        yield Text(f"hash {before} -> {after}, version {report.before_version} -> {report.after_version}")
    elif not report.is_refused:
        yield Text(f"hash {after}, version {report.after_version}")


def why_untyped(report: InferenceReport) -> str:
    """Return the reason why typing, or a model, stops a command, as a clause."""
    is_model = any(finding.contract for finding in report.typing)
    return "the model rejects the data" if is_model else "strings could not be typed"


def _outcome(report: InferenceReport) -> Text:
    if report.is_refused:
        reason = "the data violates a frozen contract" if report.is_frozen else why_untyped(report)
        return Text(f"nothing written: {reason}", style=ERROR)
    if report.is_check:
        pending = "nothing written: the schema would change (--check)"
        return Text(pending, style=WARNING) if report.changes_schema else Text("the schema would not change")
    if report.written:
        return Text("wrote " + ", ".join(escape(path) for path in report.written))
    return Text("nothing to write")


_NEW, _CHANGED = "green", "yellow"


def show_tables(tables: tuple[TableFinding, ...], look: Look) -> Tree:
    """Return the new and changed tables and columns with their reasons, nested tables below their parents."""
    root = Tree("", hide_root=True, guide_style=FAINT)
    names = {table.name for table in tables}
    below = group_by(tables, lambda table: table.parent if table.parent in names else None)
    for table in below.get(None, ()):
        _add_table(root, table, below, look, is_top=True)
    return root


def _add_table(
    above: Tree, table: TableFinding, below: Mapping[str | None, Sequence[TableFinding]], look: Look, *, is_top: bool
) -> None:
    label = _mark(is_new=table.is_new)
    label.append(show_name(table.name), style=NAME)
    label.append(", new table" if table.is_new else ", table")
    if table.parent is not None and is_top:
        label.append(f" under {show_name(table.parent)}")
    branch = above.add(label)
    for column in _with_variants_beside(table.columns):
        branch.add(_column(column, look))
    unseen = [column for column in table.columns if _is_unseen(column)]
    for is_declared, why in ((True, "declared, no values yet"), (False, "added by dlt")):
        names = ", ".join(show_name(column.name) for column in unseen if (column.reason == STATED) is is_declared)
        if names:
            branch.add(_mark(is_new=True).append(f"{names}: {why}", style=FAINT))
    for child in below.get(table.name, ()):
        _add_table(branch, child, below, look, is_top=False)


def _is_unseen(column: ColumnFinding) -> bool:
    return column.is_new and not column.sources


def _with_variants_beside(columns: tuple[ColumnFinding, ...]) -> Iterator[ColumnFinding]:
    """Yield the columns from data in the schema's order, but variants right after their base columns."""
    visible_columns = [column for column in columns if not _is_unseen(column)]
    names = {column.name for column in visible_columns}
    by_base = group_by(visible_columns, lambda column: column.variant_of if column.variant_of in names else None)
    for column in by_base.get(None, ()):
        yield column
        yield from by_base.get(column.name, ())


def _column(column: ColumnFinding, look: Look) -> RenderableType:
    line = _mark(is_new=column.is_new)
    line.append(show_name(column.name), style=NAME).append(": ")
    line.append(_why(column))
    if not look.is_verbose:
        return line
    return Group(line, *(indented(Text(detail, style=FAINT)) for detail in _details(column)))


def _mark(is_new: bool) -> Text:
    return Text().append("+ " if is_new else "~ ", style=_NEW if is_new else _CHANGED)


def _why(column: ColumnFinding) -> str:
    """Return a column's type and its evidence, on one line."""
    if column.variant_of is not None and column.total:
        first = f", first in {_first_place(column.first, column.examples, column)}" if column.first else ""
        verb = "is" if column.values == 1 else "are"
        return f"{column.values:,} of {counted(column.total, 'value')} {verb} {_data_type(column)}{first}"
    type_text = _type(column)
    parts = [type_text]
    if column.total:
        is_plain = column.values == column.total and "->" not in type_text
        share = "" if is_plain else f"{column.values:,} of "
        parts.append(f"{share}{counted(column.total, 'value')}")
    if column.nulls:
        parts.append(counted(column.nulls, "null"))
    # If several keys become one column, an object with one key lacks the other keys.
    if column.absences and len(column.sources) == 1:
        parts.append(f"absent in {counted(column.absences, 'object')}")
    evidence = ", ".join(parts)
    return f"{evidence}; {escape(column.reason)}" if column.reason else evidence


def _type(column: ColumnFinding) -> str:
    now = _data_type(column)
    if column.before is not None and column.before != column.data_type:
        return f"was {column.before}, now {now}"
    if not column.is_new and column.before is None:
        return f"had no type, now {now}"
    if not column.kinds or set(column.kinds) == {column.data_type}:
        return now
    if len(column.kinds) == 1:
        return f"{next(iter(column.kinds))} -> {now}"
    kinds = " and ".join(f"{kind} ({count:,})" for kind, count in sorted(column.kinds.items()))
    return f"{kinds} -> {now}"


def _data_type(column: ColumnFinding) -> str:
    properties = {"data_type": column.data_type, "precision": column.precision, "scale": column.scale}
    # dlt's timestamps know their time zone: only timestamps without one are worth a word.
    return describe_type({**properties, "timezone": False} if column.timezone is False else properties)


def _details(column: ColumnFinding) -> Iterator[str]:
    if column.sources:
        yield f"from {show_sources(column.sources)}"
    if column.first and column.variant_of is None:
        yield f"first in {_first_place(column.first, column.examples, column)}"
    if len(column.examples) > 1:
        yield "such as " + ", ".join(_example(text, column) for text in column.examples)
    if column.lengths:
        shortest, longest = column.lengths
        yield ("" if shortest == longest else f"{shortest:,} to ") + counted(longest, "character")
    if column.range:
        yield f"{_number(column.range[0])} to {_number(column.range[1])}"


def _number(value: float) -> str:
    return f"{int(value):,}" if value == value // 1 and abs(value) < 2**53 else repr(value)


def _first_place(first: Position, examples: tuple[str, ...], column: ColumnFinding) -> str:
    position = escape(str(first))
    return f"{position}: {_example(examples[0], column)}" if examples else position


def _example(text: str, column: ColumnFinding) -> str:
    """Return a value as the data has it: strings in quotes, if the kinds distinguish strings from literals."""
    is_text = "text" in column.kinds or (not column.kinds and column.data_type == "text")
    is_literal = len(column.kinds) > 1 and reads_as_literal(text)
    return quote(text) if is_text and not is_literal else escape(text)


def reads_as_literal(text: str) -> bool:
    """Return whether a value of the data reads as a number or a bool."""
    try:
        float(text)
    except ValueError:
        return text in ("true", "false")
    return True

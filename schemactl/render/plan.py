"""Renders a plan as text for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from schemactl.migration.custom_sql import OwnSql, When
from schemactl.migration.migration_plan import MigrationPlan
from schemactl.migration.notes import Note, NoteKind
from schemactl.migration.planner import PlannedStep
from schemactl.migration.steps import ADD, CHANGE, DROP
from schemactl.migration.ways import Risk
from schemactl.render import plan_words as words
from schemactl.render.changes import describe, full_name
from schemactl.render.console import ERROR, FAINT, WARNING, Look, indented, print_sections, warning
from schemactl.render.escaping import escape
from schemactl.review.wording import short_hash

_MARKS: Final = {ADD: "green", CHANGE: "yellow", DROP: "red"}
_RISKS: Final = {Risk.SAFE: "green", Risk.BLOCKS: "yellow", Risk.REWRITES: "yellow", Risk.LOSES_DATA: ERROR}
_WARNED: Final = frozenset(
    (NoteKind.DRIFT, NoteKind.LEFT_OUT, NoteKind.RENAME, NoteKind.NULLABLE, NoteKind.PRIMARY_KEY, NoteKind.TYPE)
)
_INSIDE: Final = 6
_LONG: Final = 200
"""Characters of a statement past which its purpose is easier to read than itself."""
_LABEL: Final = 5


@dataclass(frozen=True, slots=True)
class Inside:
    """An indented text, next to its label if it has one; wrapped lines keep the indent.

    A grid or a padding of rich looks the same and is much slower: both fill lines up to the width, which is a million
    if another program reads the output.
    """

    text: Text
    label: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        indent = _INSIDE + (_LABEL if self.label else 0)
        first = Text(" " * _INSIDE).append(self.label.ljust(indent - _INSIDE), style=FAINT)
        for number, line in enumerate(self.text.wrap(console, max(options.max_width - indent, 1), overflow="fold")):
            line.rstrip()
            # Yielded as a Text, it would be wrapped once more.
            yield from (Text(" " * indent) if number else first).append_text(line).render(console, end="\n")


def print_plan(plan: MigrationPlan, look: Look) -> str:
    """Return the text of ``schemactl migrate plan``.

    Quiet: the steps without statements, and the summary. Verbose: also all statements that convert values, and the
    statements that undo each step.
    """
    if look.is_quiet:
        lines = [_title(number, planned) for number, planned in enumerate(plan.steps, 1)]
        return print_sections([[*lines, *_summary(plan)]], look)
    sections: list[Sequence[RenderableType]] = [list(_head(plan))]
    sections += [section for places in plan.groups for section in _group(plan, places, look)]
    sections.append([line for note in plan.notes for line in _note(note)])
    sections.append(list(_summary(plan)))
    return print_sections(sections, look)


def _head(plan: MigrationPlan) -> Iterator[RenderableType]:
    version = f"version {plan.schema['version']}, hash {short_hash(plan.target_hash)}"
    yield Text().append(escape(plan.schema["name"]), style="bold").append(f": {version}")
    yield indented(Text(f"to {escape(plan.place.shown)}", style=FAINT))


def _group(plan: MigrationPlan, step_indexes: range, look: Look) -> Iterator[list[RenderableType]]:
    """Yield a section for each of the steps that run together; their shared statements are in the last."""
    steps = [plan.steps[step_index] for step_index in step_indexes]
    is_shared = len(steps) > 1
    numbers = [step_index + 1 for step_index in step_indexes]
    for number, planned in zip(numbers, steps, strict=True):
        own_sqls = plan.own_of(number)
        is_replaced = any(own_sql.when is When.INSTEAD for own_sql in own_sqls)
        lines = list(_step(number, planned, look, () if is_shared or is_replaced else planned.statements))
        lines += [line for own_sql in own_sqls for line in _own_sql_lines(own_sql, look)]
        if is_shared and planned is steps[-1]:
            lines.append(Inside(Text(words.at_once(steps, numbers))))
            lines += _statements(planned, planned.statements, look)
        yield lines


def _step(number: int, planned: PlannedStep, look: Look, statements: Sequence[str]) -> Iterator[RenderableType]:
    yield _title(number, planned)
    yield from _statements(planned, statements, look)
    yield Inside(Text(escape(f"`{full_name(planned.reason)}`: {describe(planned.reason)}"), overflow="fold"), "why")
    yield Inside(Text(words.risk(planned), style=_RISKS[planned.risk] if planned.is_possible else ERROR), "risk")
    if locked := words.lock(planned):
        yield Inside(Text(escape(locked)), "lock")
    condition = planned.step.caution
    if condition:
        yield Inside(Text(escape(condition), style=WARNING), "when" if planned.step.needs_count else "note")
    undo_style = "" if planned.undo.is_possible else WARNING
    yield Inside(Text(escape(words.undo(planned)), style=undo_style), "undo")
    if look.is_verbose:
        for statement in planned.undo_statements:
            yield Inside(_statement(statement))


def _own_sql_lines(own_sql: OwnSql, look: Look) -> Iterator[RenderableType]:
    yield Inside(Text(escape(words.own(own_sql)), style=WARNING if own_sql.statements else ""), "sql")
    precondition = () if own_sql.precondition is None else (own_sql.precondition,)
    undo = own_sql.undo or () if look.is_verbose else ()
    for statement in (*precondition, *own_sql.statements, *undo):
        yield Inside(_statement(statement))


def _statements(planned: PlannedStep, statements: Sequence[str], look: Look) -> Iterator[RenderableType]:
    """Yield the statements; unless verbose, a short form of long statements that convert values."""
    short = words.conversion(planned.step, statements) if any(len(sql) > _LONG for sql in statements) else None
    texts = statements if look.is_verbose or short is None else (f"{short} (--verbose shows the SQL)",)
    yield from (Inside(_statement(text)) for text in texts)


def _title(number: int, planned: PlannedStep) -> Text:
    mark = planned.step.mark
    text = Text().append(f"{number:>3} ", style=FAINT).append(f"{mark} ", style=_MARKS[mark])
    return text.append(escape(planned.step.title), style="bold")


def _statement(statement: str) -> Text:
    # A name may contain a line break: because of the bar, a CI system does not run the next line as a command.
    return Text("\n".join(f"│ {escape(line)}" for line in statement.split("\n")), style=FAINT, overflow="fold")


def _note(note: Note) -> Iterator[RenderableType]:
    name = f"{note.table}.{note.column}" if note.column is not None else note.table
    message = escape(f"`{name}` {note.message}")
    if note.kind in _WARNED:
        yield warning(str(note.kind), message)
    else:
        yield Text().append(f"{note.kind}: ", style=FAINT).append(message)
    if note.hint:
        yield indented(Text(escape(note.hint), style=FAINT))


def _summary(plan: MigrationPlan) -> Iterator[Text]:
    if not plan.steps:
        is_all = all(note.kind is NoteKind.KEPT for note in plan.notes)
        reason = "the destination matches the schema" if is_all else "other differences stay"
        yield Text(f"No changes: {reason}.", style="green")
        return
    if lock_text := words.held_locks(plan):
        yield Text(f"Locks: {lock_text}.")
    yield Text(words.summary(plan), style=ERROR if plan.is_destructive or not plan.is_applicable else "bold")

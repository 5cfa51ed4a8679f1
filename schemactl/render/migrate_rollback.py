"""What ``schemactl migrate rollback`` prints for a person: what is undone, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from schemactl.migration.reports import Outcome, RollbackReport, UndoneStep
from schemactl.migration.steps import DropColumn, DropTable, column_of, table_of
from schemactl.render import plan_words as words
from schemactl.render.console import WARNING, Look, indented, print_sections
from schemactl.render.harmless import escape
from schemactl.render.migrate import BAD, FAINT, GOOD, show_counted, show_refusal
from schemactl.render.review_words import count

_INSIDE: Final = 6


def print_rollback(report: RollbackReport, look: Look) -> str:
    """Return what is to be undone, what the data says of it, and what stands against it."""
    sections: list[Sequence[RenderableType]] = [list(_head(report))]
    sections += list(_steps(report.steps, look))
    sections.append(list(_counts(report)))
    sections.append([line for refusal in report.refusals for line in show_refusal(refusal)])
    return print_sections([section for section in sections if section], look)


def print_rolled_back(report: RollbackReport, look: Look) -> str:
    """Return how ``rollback`` has ended; with the steps, where they were not shown for being asked about."""
    match report.outcome:
        case Outcome.DONE:
            where = f"hash {report.after}" if report.after else "no schema"
            line = Text(f"undid {count(len(report.steps), 'step')}: the ledger names {where}", style=GOOD)
            return print_sections([[line]], look)
        case Outcome.DECLINED:
            return print_sections([[Text("nothing was done")]], look)
        case _:
            line = Text("nothing was undone", style=BAD)
            return print_rollback(report, look) + "\n" + print_sections([[line]], look)


def _head(report: RollbackReport) -> Iterator[RenderableType]:
    before, after = report.before or "no schema", report.after or "no schema"
    yield Text().append(escape(report.name), style="bold").append(f": {before} -> {after}")
    where = f"{escape(report.place.origin)}, dataset {escape(report.place.dataset)}"
    yield indented(Text(f"undoes {count(len(report.steps), 'step')} in {where}", style=FAINT))


def _steps(steps: Sequence[UndoneStep], look: Look) -> Iterator[list[RenderableType]]:
    """Yield a section for each step; what is run for those that are undone at once stands at the last of them."""
    place = 0
    while place < len(steps):
        group = steps[place : steps[place].done_with or place + 1]
        is_shared = words.shares_statements([each.planned.undo_statements for each in group])
        sections = [list(_step(each, () if is_shared else _shown(each, look))) for each in group]
        if len(group) > 1:
            said = words.at_once([each.planned for each in group], [each.number for each in group], is_undo=True)
            sections[-1].append(_inside(Text(said)))
            sections[-1] += [_inside(each) for each in (_shown(group[-1], look) if is_shared else ())]
        yield from sections
        place += len(group)


def _shown(undone: UndoneStep, look: Look) -> list[Text]:
    statements = () if look.is_quiet else undone.planned.undo_statements
    return [Text(f"│ {escape(statement)}", style=FAINT, overflow="fold") for statement in statements]


def _step(undone: UndoneStep, statements: Sequence[Text]) -> Iterator[RenderableType]:
    planned = undone.planned
    title = f"{undone.number:>3} {words.mark(planned.step)} {escape(words.title(planned.step))}"
    yield Text(title, style="bold")
    style = "" if planned.undo.is_possible else WARNING
    yield _inside(Text(f"undo  {escape(words.undo(planned))}", style=style))
    for statement in statements:
        yield _inside(statement)


def _inside(line: Text) -> Padding:
    return Padding(line, (0, 0, 0, _INSIDE), expand=False)


def _counts(report: RollbackReport) -> Iterator[RenderableType]:
    steps = [step for each in report.steps for step in each.planned.undo.steps]
    for each in report.counted:
        step = steps[each.number - 1]
        name = ".".join(part for part in (table_of(step), column_of(step)) if part)
        match step:
            case DropTable():
                what = "rows would be dropped"
            case DropColumn():
                what = "values would be dropped"
            case _:
                what = "values do not fit"
        yield from show_counted(f"`{name}`", each, what)

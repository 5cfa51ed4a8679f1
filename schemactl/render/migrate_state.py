"""What ``schemactl migrate status``, ``verify`` and ``baseline`` print for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from rich.console import RenderableType
from rich.text import Text

from schemactl.migration.plan import Place
from schemactl.migration.reports import (
    BaselineReport,
    Outcome,
    PastRun,
    SchemaThere,
    StatusReport,
)
from schemactl.migration.verification import Disagreement, Misplaced, OddValues, VerifyReport
from schemactl.render import plan_words as words
from schemactl.render.changes import describe, place
from schemactl.render.console import Look, indented, print_sections, warning
from schemactl.render.harmless import escape
from schemactl.render.migrate import BAD, FAINT, GOOD, show_refusal
from schemactl.render.review_words import count
from schemactl.schema.changes import Change, ColumnAdded

_SHORT_HASH = 8
_MOST_RUNS = 5
_WAYS_ON = "`apply` ends it, `rollback` undoes it"


def print_status(report: StatusReport, look: Look) -> str:
    """Return how a destination stands. Quiet: only what is not settled; verbose: all runs, and pending statements."""
    pending = list(_pending(report, look))
    drift = [*_drift(report.drift), *_variants(report.variants)]
    if look.is_quiet:
        return print_sections([section for section in (pending, drift) if section], look)
    sections: list[list[RenderableType]] = [
        list(_state(report)),
        pending,
        drift,
        list(_runs(report.runs, look)),
        [_verdict(report)],
    ]
    return print_sections([section for section in sections if section], look)


def print_verified(report: VerifyReport, look: Look) -> str:
    """Return whether a destination is as its schema says."""
    head: list[RenderableType] = [_title(report.schema, report.place)]
    odd = [line for each in report.odd for line in _odd(each)]
    odd += [line for each in report.disagreements for line in _disagreement(each)]
    odd += [line for each in report.misplaced for line in _misplaced(each)]
    half = list(_half_done(report.unfinished)) if report.unfinished else []
    drift = [*_drift(report.drift), *_variants(report.variants)]
    sections: list[list[RenderableType]] = [[] if look.is_quiet else head, half, drift, odd]
    if not (look.is_quiet and report.is_clean):
        sections.append([_verified(report)])
    return print_sections([section for section in sections if section], look)


def print_baseline(report: BaselineReport, look: Look) -> str:
    """Return what ``baseline`` is to record, or has recorded."""
    head: list[RenderableType] = [_title(report.schema, report.place)]
    refusals = [line for refusal in report.refusals for line in show_refusal(refusal)]
    sections: list[list[RenderableType]] = [head, list(_drift(report.drift)), refusals, [_recorded(report)]]
    return print_sections([section for section in sections if section], look)


def _title(schema: SchemaThere, where: Place) -> Text:
    text = Text().append(escape(schema.name), style="bold")
    text.append(f": version {schema.version}, hash {schema.version_hash}")
    return text.append(f"\n  {_place(where)}", style=FAINT)


def _place(where: Place) -> str:
    return f"{escape(where.origin)}, dataset {escape(where.dataset)}"


def _state(report: StatusReport) -> Iterator[RenderableType]:
    yield Text(_place(report.place), style="bold")
    yield indented(_line("there", report.there))
    if report.target is not None:
        is_same = report.there is not None and report.there.version_hash == report.target.version_hash
        yield indented(Text("wanted  the same", style=FAINT) if is_same else _line("wanted", report.target))


def _line(label: str, schema: SchemaThere | None) -> Text:
    text = Text().append(f"{label:<8}", style=FAINT)
    if schema is None:
        return text.append("no schema: its ledger names none")
    text.append(f"{escape(schema.name)} version {schema.version}, hash {schema.version_hash}")
    return text.append(f", since {_time(schema.at)}", style=FAINT) if schema.at else text


def _pending(report: StatusReport, look: Look) -> Iterator[RenderableType]:
    if report.planned is None or not report.planned.plan.steps:
        return
    planned = report.planned
    done = planned.done
    left = len(planned.plan.steps) - (done or 0)
    if done is None:
        yield warning("pending", count(left, "step"))
    else:
        yield warning("unfinished", f"{done:,} of {len(planned.plan.steps):,} steps are done")
    for number, each in enumerate(planned.plan.steps, 1):
        if number <= (done or 0):
            continue
        yield indented(Text(f"{number:>3} {words.mark(each.step)} {escape(words.title(each.step))}"))
        for statement in each.statements if look.is_verbose else ():
            yield indented(Text(f"      {escape(statement)}", style=FAINT, overflow="fold"))
    for refusal in planned.refusals:
        yield from show_refusal(refusal)


def _drift(changes: Sequence[Change]) -> Iterator[RenderableType]:
    for change in changes:
        name = ".".join(part for part in place(change) if part)
        yield warning("drift", escape(f"`{name}`: {describe(change)}"))


def _variants(changes: Sequence[ColumnAdded]) -> Iterator[RenderableType]:
    for change in changes:
        name = escape(f"`{change.table}.{change.column.name}`")
        yield warning("variant", f"{name} takes values that do not fit; the schema does not have it yet")


def _runs(runs: Sequence[PastRun], look: Look) -> Iterator[RenderableType]:
    shown = runs if look.is_verbose else runs[:_MOST_RUNS]
    for run in shown:
        before = f"{run.before[:_SHORT_HASH]}…" if run.before else "nothing"
        yield (
            Text()
            .append(f"{_time(run.started)}  ", style=FAINT)
            .append(
                f"{run.state}: {before} -> {run.after[:_SHORT_HASH]}…, {run.done:,} of {count(run.steps, 'step')}, "
                f"by {escape(run.who)}"
            )
        )
    if len(runs) > len(shown):
        yield Text(f"... and {count(len(runs) - len(shown), 'earlier run')} (`--verbose`)", style=FAINT)


def _verdict(report: StatusReport) -> Text:
    if report.is_settled:
        return Text("Settled: nothing is pending, and nothing was changed by hand.", style=GOOD)
    planned = report.planned.plan.steps if report.planned else ()
    parts = []
    if report.unfinished:
        parts.append(f"a run stands half done ({_WAYS_ON})")
    elif planned:
        parts.append(f"{count(len(planned), 'step')} pending")
    if report.drift:
        parts.append(f"{count(len(report.drift), 'change')} by hand, or by others")
    return Text(f"Not settled: {'; '.join(parts)}.", style="bold")


def _half_done(run: PastRun) -> Iterator[RenderableType]:
    yield warning("unfinished", f"{run.done:,} of {count(run.steps, 'step')} to the schema {run.after} are done")
    yield indented(Text(_WAYS_ON, style=FAINT))


def _odd(odd: OddValues) -> Iterator[RenderableType]:
    of = f" of {count(odd.rows, 'row')}" if odd.rows else ""
    yield warning("values", escape(f"`{odd.table}.{odd.column}`: {odd.count:,}{of}: {odd.message}"))
    for example in odd.examples:
        yield indented(Text(escape(example), style=FAINT, overflow="fold"))


def _disagreement(found: Disagreement) -> Iterator[RenderableType]:
    yield warning("files", escape(found.message))
    if found.hint:
        yield indented(Text(escape(found.hint), style=FAINT))


def _misplaced(found: Misplaced) -> Iterator[RenderableType]:
    place = found.table if found.column is None else f"{found.table}.{found.column}"
    what = "rows" if found.column is None else "values"
    yield warning("values", escape(f"`{place}` does not hold the {what} of `{found.origin}`, as `x-renamed-from` says"))
    hint = (
        f"state it anew, `x-renamed-from: [{found.origin}]`, and apply that while `{found.origin}` is still there; "
        "where all is right by now, `schemactl migrate baseline` records it"
    )
    yield indented(Text(escape(hint), style=FAINT))


def _verified(report: VerifyReport) -> Text:
    looked = f"{count(report.tables, 'table')}, values of {count(report.columns, 'column')}"
    if report.rows < report.all_rows:
        looked += f" in {report.rows:,} of {count(report.all_rows, 'row')}"
    if report.is_clean:
        return Text(f"Verified: all is as the schema says ({looked}).", style=GOOD)
    found = len(report.drift) + len(report.variants) + len(report.odd) + len(report.disagreements)
    found += len(report.misplaced)
    half = "A run stands half done; " if report.unfinished else ""
    return Text(f"{half}{count(found, 'difference')} ({looked}).", style=BAD)


def _recorded(report: BaselineReport) -> Text:
    match report.outcome:
        case Outcome.DONE:
            tables = count(report.tables, "table")
            return Text(f"The ledger names this schema as what is there: {tables}, none of them changed.", style=GOOD)
        case Outcome.NOTHING:
            return Text("Nothing to do: the ledger names this schema already.", style=GOOD)
        case _:
            return Text("Nothing was recorded.", style="bold")


def _time(at: datetime | None) -> str:
    if at is None:
        return ""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")

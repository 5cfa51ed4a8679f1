"""Plans, and the state of destinations, in the formats of a review: for CI systems and pull request comments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from schemactl.errors import Location
from schemactl.inference.evidence import Position
from schemactl.inference.report import InferenceReport, TypingFinding
from schemactl.migration.custom_sql import OwnSql
from schemactl.migration.migration_plan import MigrationPlan
from schemactl.migration.plan_documents import plan_document
from schemactl.migration.planner import PlannedStep
from schemactl.migration.reports import FolderStatus, PlanReport, StatusReport, VerifyReport
from schemactl.render import plan_words as words
from schemactl.render import review_words
from schemactl.render.changes import describe, full_name
from schemactl.render.escaping import escape
from schemactl.render.json import document
from schemactl.render.reviews import OUTPUTS
from schemactl.render.reviews.markdown import Table, code, finding_table, fitting_table, heading, prose, room_left, word
from schemactl.render.selection import count_labels
from schemactl.review import migration_rules as rules
from schemactl.review.migration_rules import finding_of
from schemactl.review.readers import Answer, StepReaders
from schemactl.review.report import Compatibility, Finding, Report, Review
from schemactl.review.rule import place_of
from schemactl.review.severity import Severity
from schemactl.schema.changes import Change
from schemactl.schema.wording import counted
from schemactl.store.sources import TABLE_PREFIX

_FIELDS: Final = "migration=schema severity location rule title message why fix table column fingerprint"
_STEPS: Final = "| | Step | Risk | Lock | Undo |\n|---|---|---|---|---|\n"
_FINDINGS: Final = "| Severity | Rule | What |\n|---|---|---|\n"


def render_findings(report: Report, plans: Sequence[MigrationPlan], name: str, title: str) -> str:
    """Return a report in a format of CI systems; in Markdown with the steps of the plans."""
    return render_markdown(report, plans, title) if name == "markdown" else OUTPUTS[name].render(report)


def render_markdown(report: Report, plans: Sequence[MigrationPlan], title: str) -> str:
    """Return a comment: the findings, and the steps with risk, lock and undo, as far as there is room."""
    findings = report.findings
    counts = review_words.summary(report) if findings else "no findings"
    severities = (finding.severity for finding in findings if finding.severity.rank >= Severity.WARN.rank)
    worst = max(severities, key=lambda severity: severity.rank, default=None)
    parts = [heading(report, worst, f"{title}: {counts}")]
    parts += fitting_table(finding_table(_FINDINGS, _finding_row), findings, parts)
    omitted_plans = list[MigrationPlan]()
    for plan in plans:
        caption = f"**{prose(plan.place.origin)}** — {prose(words.summary(plan))}\n\n"
        table = fitting_table(_step_table(plan), enumerate(plan.steps, 1), (*parts, caption))
        if room_left(parts) < len(caption) + sum(map(len, table)):
            omitted_plans.append(plan)
        else:
            parts += (caption, *table)
    if omitted_plans:
        risks = count_labels(planned.risk for plan in omitted_plans for planned in plan.steps)
        plan_count = counted(len(omitted_plans), "more plan")
        parts.append(f"{plan_count} did not fit into this comment{risks and f': {risks}'}.\n")
    return "".join(parts).rstrip("\n") + "\n"


def _finding_row(finding: Finding) -> str:
    location = str(finding.location or "")
    location_line = f"<br>{code(location)}" if location not in finding.message else ""  # of data the sentence names it
    readers = review_words.readers_sentence(finding)
    readers_line = f"<br>{prose(readers)}" if readers else ""
    return f"| {word(finding)} | {code(finding.rule)} | {prose(finding.message)}{readers_line}{location_line} |\n"


def _step_table(plan: MigrationPlan) -> Table[tuple[int, PlannedStep]]:
    """Return a table of numbered steps, in their order."""
    return Table(
        _STEPS,
        show=lambda step: _step_row(*step, plan.own_of(step[0])),
        thing="step",
        kind=lambda step: (step[1].risk, type(step[1].step)),
        label=lambda step: step[1].risk,
        order=lambda step: step[0],
    )


def _step_row(number: int, planned: PlannedStep, own_sql: Sequence[OwnSql]) -> str:
    cells = (
        str(number),
        "<br>".join(prose(text) for text in (planned.step.title, *map(words.own, own_sql))),
        prose(words.risk(planned)),
        prose(words.lock(planned) or ""),
        prose(words.undo(planned)),
    )
    return f"| {' | '.join(cells)} |\n"


def print_findings(report: Report) -> str:
    """Return findings for a person: a line each, and how many there are."""
    lines = [
        f"{review_words.WORDS.get(finding.severity, 'note')} {finding.rule}: {escape(finding.message)}"
        + (f"\n  {escape(str(finding.location))}" if finding.location else "")
        + f"\n  fix: {escape(finding.fix)}"
        for finding in sorted(report.findings, key=lambda finding: -finding.severity.rank)
    ]
    counts = review_words.summary(report) if report.findings else "no findings"
    return "".join(f"{line}\n" for line in (*lines, counts))


def lint_document(report: Report, plans: Sequence[MigrationPlan]) -> dict[str, Any]:
    """Return the JSON document of ``lint``."""
    numbers = Counter(finding.severity for finding in report.findings)
    return {
        "counts": {str(severity): numbers[severity] for severity in (Severity.ERROR, Severity.WARN, Severity.INFO)},
        "plans": [plan_document(plan) for plan in plans],
        "findings": document(report.findings, {"Finding": _FIELDS}),
    }


def report_of_plan(report: PlanReport, step_readers: Sequence[StepReaders] = ()) -> Report:
    """Return a plan's blockers, its pending steps, and the steps that break declared readers as findings."""
    name = report.plan.place.shown
    findings = _plan_findings(report, name)
    for broken in step_readers:
        step = report.plan.steps[broken.number - 1].step
        message = f"step {broken.number:,}: {step.title}"
        finding = finding_of(rules.BREAKS_READERS, message, name, table=step.table_name, column=step.column_name)
        findings.append(replace(finding, answer=Answer.READ, readers=broken.readers))
    return _report("schemactl migrate plan", name, findings)


def report_of_status(report: StatusReport) -> Report:
    """Return a destination's unfinished run, pending steps and drift as findings."""
    name, findings = report.place.shown, list[Finding]()
    if report.unfinished is not None:
        findings.append(finding_of(rules.UNFINISHED, words.half_done(report.unfinished), name))
    elif report.planned is not None:
        findings += _plan_findings(report.planned, name)
    findings += [_drifted(change, name) for change in report.drift]
    return _report("schemactl migrate status", name, findings)


def report_of_folders(statuses: Sequence[FolderStatus]) -> Report:
    """Return the pending migrations of destinations as findings."""
    reviews = []
    for status in statuses:
        name, findings = status.place.shown, list[Finding]()
        if status.is_unfinished:
            findings.append(finding_of(rules.UNFINISHED, f"`{status.pending[0]}` is unfinished", name))
        if status.blocker is not None:
            findings.append(finding_of(rules.REFUSED, status.blocker.message, name))
        findings += [finding_of(rules.PENDING, f"`{migration}` is pending", name) for migration in status.pending]
        reviews.append(Review(name=name, base=None, head=None, findings=tuple(findings)))
    return Report(compatibility=Compatibility.FULL, reviews=tuple(reviews), command="schemactl migrate status")


def report_of_verification(report: VerifyReport) -> Report:
    """Return the differences between a destination and its schema as findings."""
    name = report.place.shown
    findings = []
    if report.unfinished is not None:
        findings.append(finding_of(rules.UNFINISHED, words.half_done(report.unfinished), name))
    findings += [_drifted(change, name) for change in (*report.drift, *report.variants)]
    for odd_values in report.odd:
        table, column = odd_values.table, odd_values.column
        message = f"`{table}.{column}`: {odd_values.count:,} of {odd_values.rows:,} rows: {odd_values.message}"
        findings.append(finding_of(rules.VALUES, message, name, table=table, column=column))
    findings += [finding_of(rules.VALUES, file.message, name, table=file.table) for file in report.disagreements]
    for moved in report.misplaced:
        path = f"{moved.table}.{moved.column}" if moved.column else moved.table
        message = f"`{path}` does not contain the values of `{moved.origin}`, its name in `x-renamed-from`"
        findings.append(finding_of(rules.VALUES, message, name, table=moved.table, column=moved.column))
    return _report("schemactl migrate verify", name, findings)


def _plan_findings(report: PlanReport, name: str) -> list[Finding]:
    findings = [finding_of(rules.REFUSED, blocker.message, name) for blocker in report.blockers]
    if report.plan.steps:
        message = f"{counted(len(report.plan.steps), 'step')} to the schema {report.plan.target_hash}"
        findings.append(finding_of(rules.PENDING, message, name))
    findings += [
        finding_of(rules.FOLDED, message, name, table=step.table, column=step.target.name)
        for step, message in words.folded(report)
    ]
    findings += [
        finding_of(rules.WIDENED, message, name, table=step.table_name, column=step.column_name)
        for step, message in words.widened(report)
    ]
    return findings


def _drifted(change: Change, name: str) -> Finding:
    table, column = place_of(change)
    return finding_of(rules.DRIFT, f"`{full_name(change)}`: {describe(change)}", name, table=table, column=column)


def _report(command: str, name: str, findings: Iterable[Finding]) -> Report:
    review = Review(name=name, base=None, head=None, findings=tuple(findings))
    return Report(compatibility=Compatibility.FULL, reviews=(review,), command=command)


def render_data_findings(report: InferenceReport | None, name: str, command: str) -> str:
    """Return the findings about data in a format of CI systems."""
    source, findings = (command, ()) if report is None else (report.name, _findings(report))
    return render_findings(_report(command, source, findings), (), name, "Data and schema")


def _location(position: Position) -> Location | None:
    """Return the place of a record in a file; None in a table. `./` before a colon marks that it is no `REV:PATH`."""
    if position.file.startswith(TABLE_PREFIX):
        return None
    location = position.location
    is_plain = ":" not in location.path or "://" in location.path or Path(location.path).is_absolute()
    return location if is_plain else replace(location, path=f"./{location.path}")


def _typing_finding(typing: TypingFinding, name: str) -> Finding:
    rule, count = rules.UNREAD, counted(typing.count, "value")
    message = f"`{typing.column}`: {count} cannot be typed, first at {typing.first}"
    if typing.contract is not None:
        rule = rules.VIOLATES
        message = f"`{typing.column}`: {typing.message} ({typing.contract}; {count}, first at {typing.first})"
    finding = finding_of(rule, message, name, location=_location(typing.first), column=typing.column)
    return replace(finding, severity=Severity.ERROR if typing.stops else Severity.WARN)


def _findings(report: InferenceReport) -> Iterator[Finding]:
    name = report.name
    for violation in report.violations:
        column = violation.variant_of or violation.column  # as all formats name it
        path = ".".join(filter(None, (violation.table, column)))
        first = f", first at {violation.first}" if violation.first is not None else ""
        contract = f"{violation.entity}={violation.mode}; {counted(violation.values, 'value')}{first}"
        message = f"`{path}`: {violation.found}, expected {violation.expected} ({contract})"
        location = _location(violation.first) if violation.first is not None else None
        finding = finding_of(rules.VIOLATES, message, name, location=location, table=violation.table, column=column)
        # The contract asks for the discards, so these are no errors.
        yield finding if violation.mode == "freeze" else replace(finding, severity=Severity.WARN)
    for table in report.tables:
        if table.is_new:
            message = f"new table `{table.name}` with {counted(len(table.columns), 'column')}"
            yield finding_of(rules.EVOLVES, message, name, table=table.name)
            continue
        for column_finding in table.columns:
            event = "new column, " if column_finding.is_new else f"{column_finding.before or 'no type'} -> "
            message = f"`{table.name}.{column_finding.name}`: {event}{column_finding.data_type}"
            yield finding_of(rules.EVOLVES, message, name, table=table.name, column=column_finding.name)
    for null in report.nulls:
        noun = "null" if null.variant is None else f"value of `{null.variant}`"
        message = f"`{null.table}.{null.column}`: {counted(null.count, noun)}, first at {null.first}"
        location = _location(null.first)
        yield finding_of(rules.UNREAD, message, name, location=location, table=null.table, column=null.column)
    for file in report.files:
        if file.bad:
            message = f"`{file.path}`: {counted(file.bad, 'record')} cannot be read"
            location = Location(file.path)
            if file.first_bad is not None:
                position = Position(file.path, file.first_bad)
                message, location = f"{message}, first at {position}", _location(position)
            yield finding_of(rules.UNREAD, message, name, location=location)
    yield from (_typing_finding(typing, name) for typing in report.typing)

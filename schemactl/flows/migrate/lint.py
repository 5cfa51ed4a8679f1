"""``schemactl migrate lint``: reports locks, data loss and irreversible steps of migrations as findings.

The files may come from a stranger's pull request, so nothing in them is run. Risks, locks and undos are derived from
the steps, whatever the files say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from schemactl.errors import InputError, Location
from schemactl.flows.migrate.migration_folder import Folder, check_problems, module_of, read_folder
from schemactl.flows.migrate.stored_plans import derived_plan
from schemactl.migration.migration_files import (
    SUM_NAME,
    Migration,
    file_hash,
    json_name,
    own_files_of,
    sql_name,
    sql_text,
    stated_hashes,
)
from schemactl.migration.migration_plan import MigrationPlan
from schemactl.migration.plan_documents import ENDING, read_plan
from schemactl.migration.planner import PlannedStep
from schemactl.migration.ways import Risk, Way
from schemactl.review import migration_rules as rules
from schemactl.review.migration_rules import finding_of
from schemactl.review.report import Compatibility, Report, Review, Version
from schemactl.store.git import find_repository
from schemactl.store.revision import files_at
from schemactl.store.text import read_text

COMMAND: Final = "schemactl migrate lint"


@dataclass(frozen=True, slots=True)
class Judged:
    """Plans that were judged.

    Attributes:
        plans: each with the risks, locks and undos of its steps; a folder's migrations once for each dialect.
    """

    plans: tuple[MigrationPlan, ...]
    report: Report


def judge(target: Path, since: str | None = None) -> Judged:
    """Return the findings about the migrations of a folder, or about a plan file.

    ``since`` is a git revision: only migrations that it lacks are checked, and its own migrations must be unchanged.
    """
    if target.is_dir():
        return _judge_folder(read_folder(target), since)
    if since is not None:
        raise InputError("`--since` is for a folder of migrations", hint=f"`{target}` is not one")
    if not target.name.endswith(ENDING):
        raise InputError(
            f"`{target}` is not a folder of migrations or a plan", hint=f"a plan's name ends in `{ENDING}`"
        )
    plan = read_plan(read_text(target), str(target))
    plan = derived_plan(plan, module_of(plan.place.kind).ABILITIES)
    review = _review(plan, target.name, None, str(target), {})
    return Judged((plan,), Report(compatibility=Compatibility.FULL, reviews=(review,), command=COMMAND))


def _judge_folder(folder: Folder, since: str | None) -> Judged:
    earlier_files = _earlier_files(folder, since) if since is not None else {}
    stated_before = stated_hashes(earlier_files.get(SUM_NAME, ""))
    own_before = {
        migration.name: {name: stated_before[name] for name in own_files_of(migration.name, stated_before)}
        for migration in folder.migrations
    }
    reviews, plans, problems, name = [], [], [], str(folder.path)
    for problem in check_problems(folder):
        location = Location(str(folder.path / (problem.file or "")), problem.line)
        problems.append(finding_of(rules.UNSOUND, problem.message, name, location=location))
    for migration in folder.migrations:
        earlier_text = earlier_files.get(json_name(migration.name))
        own_hashes = {name: file_hash(folder.files[name]) for name in own_files_of(migration.name, folder.files)}
        if earlier_text is not None and (file_hash(earlier_text), own_before.get(migration.name, {})) == (
            file_hash(folder.files[json_name(migration.name)]),
            own_hashes,
        ):
            continue
        if earlier_text is not None:
            location = Location(str(folder.path / json_name(migration.name)))
            message = f"`{migration.name}` differs from `{since}`"
            problems.append(finding_of(rules.CHANGED, message, name, location=location))
        for dialect in migration.plans:
            try:
                bound = derived_plan(migration.unbound_plan(dialect), module_of(dialect).ABILITIES)
            except InputError as error:
                problems.append(finding_of(rules.UNSOUND, error.message, name, location=Location(name)))
                continue
            file = str(folder.path / sql_name(migration.name, dialect))
            plans.append(bound)
            reviews.append(
                _review(bound, f"{migration.name} ({dialect})", migration.base, file, _lines(migration, dialect))
            )
    of_folder = Review(name=name, base=None, head=None, findings=tuple(problems))
    all_reviews = (of_folder, *reviews) if problems else tuple(reviews)
    return Judged(tuple(plans), Report(compatibility=Compatibility.FULL, reviews=all_reviews, command=COMMAND))


def _earlier_files(folder: Folder, since: str) -> Mapping[str, str]:
    """Return the migrations that a revision of git has, by the names of their files, and its sum file."""
    kind, _, revision = since.partition(":")
    if kind != "git" or not revision:
        raise InputError(f"`{since}` is not a revision (`--since`)", hint="`git:main`, or `git:main...`")
    find_repository(folder.path)
    names = [SUM_NAME, *(json_name(migration.name) for migration in folder.migrations)]
    paths = [(folder.path / name).absolute() for name in names]
    return {Path(str(file.path)).name: file.text for file in files_at(revision, paths)}


def _lines(migration: Migration, dialect: str) -> Mapping[int, int]:
    """Return the lines of the steps in the file of a migration's statements."""
    lines = sql_text(migration, dialect).splitlines()
    line_numbers = {}
    for number, planned in enumerate(migration.plans[dialect].steps, 1):
        start = f"-- {number}. {type(planned.step).__name__} "
        line_numbers[number] = next(
            (line_number for line_number, line in enumerate(lines, 1) if line.startswith(start)), 1
        )
    return line_numbers


def _review(plan: MigrationPlan, name: str, base: str | None, file: str, lines: Mapping[int, int]) -> Review:
    version = int(plan.schema["version"])
    findings = []
    for number, planned in enumerate(plan.steps, 1):
        location, table, column = Location(file, lines.get(number)), planned.step.table_name, planned.step.column_name
        subject = f"step {number} ({planned.step.kind} `{planned.step.full_name}`)"
        for rule, message in _rules_of(planned):
            findings.append(
                finding_of(rule, f"{subject}: {message}", name, location=location, table=table, column=column)
            )
    for own_sql in plan.own:
        step, count = plan.steps[own_sql.number - 1].step, len(own_sql.statements)
        if not own_sql.is_empty:
            action = f"runs {count} statement{'' if count == 1 else 's'}" if count else "checks a precondition"
            message = (
                f"`{own_sql.file}` {action} {own_sql.when.words} step {own_sql.number} ({step.kind} `{step.full_name}`)"
            )
            location = Location(str(Path(file).parent / own_sql.file))
            findings.append(finding_of(rules.OWN, message, name, location=location, table=step.table_name))
    return Review(
        name=name,
        base=Version(origin=file, number=version, stated_hash=base, hash=base or "no schema"),
        head=Version(origin=file, number=version, stated_hash=plan.target_hash, hash=plan.target_hash),
        findings=tuple(sorted(findings, key=lambda finding: -finding.severity.rank)),
    )


def _rules_of(planned: PlannedStep) -> Iterator[tuple[rules.MigrationRule, str]]:
    if not planned.is_possible:
        yield rules.IMPOSSIBLE, "the destination does not support it"
        return
    if planned.is_destructive:
        yield rules.LOSES, "its values are lost and cannot be restored"
    elif not planned.undo.is_possible:
        yield rules.FINAL, planned.undo.note or "it cannot be undone"
    if planned.way is not Way.IN_PLACE:
        lasts = "are read" if planned.way is Way.SCAN else "are written"
        if planned.lock is not None and planned.lock.readers_wait:
            yield rules.BLOCKS_READERS, f"{planned.lock.mode} while all rows {lasts}: readers and writers wait"
        elif planned.lock is None or planned.lock.writers_wait:
            mode = f"{planned.lock.mode} " if planned.lock is not None else ""
            if planned.risk in (Risk.BLOCKS, Risk.REWRITES):
                yield rules.BLOCKS_WRITERS, f"{mode}while all rows {lasts}: writers wait"
    if planned.step.needs_count:
        yield rules.COUNTS, planned.step.caution

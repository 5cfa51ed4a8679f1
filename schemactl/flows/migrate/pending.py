"""Find the migrations of a folder that a destination has, and run the pending ones (``apply --dir``)."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from schemactl.errors import InputError, Location
from schemactl.flows.migrate.apply import Agree, ApplyRequest, OpenProgress, apply_goal, check_resumed
from schemactl.flows.migrate.bound_migrations import differing_places, find_start_blocker, plan_in, unbound_plan
from schemactl.flows.migrate.migration_folder import Folder, NextRequest, draft_next, sound_folder, write_next
from schemactl.flows.migrate.plan import Goal, read_and_plan, refuse_unfinished
from schemactl.flows.migrate.state import DestinationState, find_goal_schema, read_state
from schemactl.flows.target import MigrationTarget, migratable
from schemactl.migration.custom_sql import When, draft_own
from schemactl.migration.effects import in_first_names
from schemactl.migration.migration_files import Migration, json_name, own_name, with_own_files
from schemactl.migration.migration_plan import MigrationMark
from schemactl.migration.plan_documents import mark_in
from schemactl.migration.records import RunState
from schemactl.migration.reports import BlockerKind, FolderApplyReport, FolderStatus, NextReport, Outcome, PlanBlocker
from schemactl.store.text import replace_file


def find_folder_status(path: Path, to: str | None) -> FolderStatus:
    """Return the position of a destination in the folder; nothing is written."""
    folder = sound_folder(path)
    return _find_ahead(folder, migratable(to))[0]


def plan_next_there(request: NextRequest, to: str, *, drafts_sql: bool = False) -> NextReport:
    """Write the next migration of a folder from the data of a destination that has all earlier migrations.

    ``drafts_sql``: whether to write custom SQL that drops the views that block steps, and creates them again.
    """
    folder, target = sound_folder(request.folder, may_be_new=True), migratable(to)
    if folder.migrations and (pending := _find_ahead(folder, target)[0].pending):
        hint = f"`schemactl migrate apply --dir {folder.path} --to DEST` runs it; without `--to` no data is looked at"
        raise InputError(f"the destination does not have `{pending[0]}` yet", hint=hint)
    start = None
    if drafts_sql and not folder.migrations and request.start is None:
        name = find_goal_schema(request.reference, request.schemas).name
        # The first migration starts from the schema that the destination has.
        with target.open_for_reading(name, may_be_new=True) as session:
            start = read_state(session, target, name).ledger_schema
    report = draft_next(folder, replace(request, dialects=() if folder.migrations else (target.kind,)), start)
    if report.migration is None:
        return report
    own_files: dict[str, str] = {}
    by_hand: tuple[PlanBlocker, ...] = ()
    if drafts_sql and not target.destination.ABILITIES.transactional_ddl:
        by_hand = _write_view_files(report.migration, target, folder.path)
    elif drafts_sql:
        own_files = _draft_view_files(report.migration, target)
        drafted, problems = with_own_files(report.migration, own_files)
        if problems:
            raise InputError(f"no SQL can be drafted: {problems[0].message}", hint=problems[0].hint)
        report = replace(report, migration=drafted)
    assert report.migration is not None
    plan_report, _ = read_and_plan(Goal(target, report.migration.target, migration=report.migration))
    stopping = tuple(blocker for blocker in plan_report.blockers if blocker.kind is not BlockerKind.DESTRUCTIVE)
    return write_next(
        folder, replace(report, there=plan_report, blockers=(*report.blockers, *stopping, *by_hand)), own_files
    )


def _write_view_files(migration: Migration, target: MigrationTarget, folder: Path) -> tuple[PlanBlocker, ...]:
    """Write scripts that the user runs before and after a migration, if its destination commits each statement at once.

    Returns:
        The blocker that names the scripts; none if no view blocks a step.
    """
    steps = [planned.step for planned in migration.plans[target.kind].steps]
    with target.open_for_reading(migration.target.name, may_be_new=True) as session:
        views = session.view_scripts([step for step in in_first_names(steps) if step is not None])
    if not views:
        return ()
    before, after = (folder / f"views.{target.kind}.{when}.sql" for when in (When.BEFORE, When.AFTER))
    replace_file(before, "".join(f"{view.drop};\n" for view in reversed(views)))
    replace_file(after, "".join(f"{statement};\n" for view in views for statement in view.create))
    message = f"{target.kind} commits each statement at once, so the views are dropped and created by hand"
    hint = f"run `{before}`, then plan and apply, then run `{after}`"
    return (PlanBlocker(BlockerKind.IMPOSSIBLE, message, hint),)


def _draft_view_files(migration: Migration, target: MigrationTarget) -> dict[str, str]:
    """Return the files of custom SQL that drop the views that block steps, and create them again, by name.

    All views are dropped before the first step that they block, and created after the last one.
    """
    steps = [planned.step for planned in migration.plans[target.kind].steps]
    with target.open_for_reading(migration.target.name, may_be_new=True) as session:
        traced_steps = dict(enumerate(in_first_names(steps), 1))
        views = session.view_scripts([step for step in traced_steps.values() if step is not None])
        blocked = [number for number, step in traced_steps.items() if step is not None and session.view_scripts([step])]
    if not blocked:
        return {}
    drops = [view.drop for view in reversed(views)]
    creates = [statement for view in views for statement in view.create]
    listed = ", ".join(" ".join(view.name.split()) for view in views)
    files = {
        own_name(migration.name, target.kind, blocked[0], When.BEFORE): draft_own(
            drops, creates, f"Drops the views that steps cannot change with: {listed}."
        ),
        own_name(migration.name, target.kind, blocked[-1], When.AFTER): draft_own(
            creates, drops, f"Creates the views again: {listed}."
        ),
    }
    other_plans = [
        (dialect, plan) for dialect, plan in migration.plans.items() if dialect != target.kind and plan.steps
    ]
    return files | {own_name(migration.name, dialect, len(plan.steps), When.AFTER): "" for dialect, plan in other_plans}


def apply_folder(
    path: Path, request: ApplyRequest, agree: Agree[FolderApplyReport], open_progress: OpenProgress
) -> FolderApplyReport:
    """Run the migrations of a folder that a destination lacks, in order, each in a separate run."""
    folder, target = sound_folder(path), migratable(request.to)
    status, migrations = _find_ahead(folder, target)
    if not migrations:
        outcome = Outcome.REFUSED if status.blocker else Outcome.NOTHING
        return FolderApplyReport(status, None, (), outcome)
    goals = [
        Goal(target, migration.target, request.options, request.allows_destructive, migration=migration)
        for migration in migrations
    ]
    later = migrations[1:]
    plans = tuple(unbound_plan(migration, target, status.place) for migration in later)
    report, _ = read_and_plan(goals[0])
    check_resumed(report, goals[0])
    proposal = FolderApplyReport(status, report, plans, Outcome.REFUSED)
    losing = [migration.name for migration, plan in zip(later, plans, strict=True) if plan.is_destructive]
    if losing and not request.allows_destructive:
        # Found out now, not when half of them have run.
        blocker = PlanBlocker(BlockerKind.DESTRUCTIVE, f"`{losing[0]}` loses data", "`--allow-destructive` allows it")
        return replace(proposal, status=replace(status, blocker=blocker))
    if proposal.next is not None and proposal.next.blockers:
        return proposal
    if not agree(proposal):
        return replace(proposal, outcome=Outcome.DECLINED)
    applied = []
    for goal in goals:
        applied.append(apply_goal(goal, request, lambda _: True, open_progress))
        if applied[-1].is_refused:
            return replace(proposal, applied=tuple(applied), outcome=Outcome.REFUSED)
    return replace(proposal, applied=tuple(applied), outcome=Outcome.DONE)


def _find_ahead(folder: Folder, target: MigrationTarget) -> tuple[FolderStatus, tuple[Migration, ...]]:
    """Return the position of a destination in the folder, and the migrations that it does not have yet."""
    last = folder.last
    if last is None:
        raise InputError(
            f"`{folder.path}` has no migration", hint="create one with `schemactl migrate plan REF --dir DIR`"
        )
    name = str(last.schema["name"])
    for migration in folder.migrations:
        plan_in(migration, target)
    with target.open_for_reading(name, may_be_new=True) as session:
        return _ahead_of(read_state(session, target, name), folder)


def _ahead_of(state: DestinationState, folder: Folder) -> tuple[FolderStatus, tuple[Migration, ...]]:
    migrations = folder.migrations
    applied_marks = [
        mark for run in state.runs if run.state is RunState.DONE and (mark := mark_in(run.plan)) is not None
    ]
    last = _check_applied(folder, applied_marks, state.session.origin)
    count = _count_there(migrations, state.ledger_hash, last)
    is_unfinished = state.unfinished is not None and (
        (count or 0) < len(migrations) and mark_in(state.unfinished.plan) == migrations[count or 0].mark
    )
    state_place, version = state.place, state.ledger_version
    elsewhere = _find_elsewhere(state, migrations, count, last)
    if count is None or elsewhere is not None:
        return FolderStatus(state_place, version, migrations[last - 1].name if last else None, (), elsewhere), ()
    remaining = migrations[count:]
    blocker: PlanBlocker | None = None
    if state.unfinished is not None and not is_unfinished:
        blocker = refuse_unfinished(state.unfinished)
    elif remaining and not is_unfinished:
        blocker = find_start_blocker(state, remaining[0])
    names = tuple(migration.name for migration in remaining)
    last_name = migrations[count - 1].name if count else None
    return FolderStatus(state_place, version, last_name, names, blocker, is_unfinished), remaining


def _find_elsewhere(
    state: DestinationState, migrations: tuple[Migration, ...], count: int | None, last: int
) -> PlanBlocker | None:
    """Return why the tables contradict the ledger; None if they match it.

    ``count``: how many migrations lead to the ledger's last schema, None if no migration does; ``last``: how many have
    run.
    """
    if count is None:
        last_name = f"`{migrations[last - 1].name}`" if last else "none"
        message = (
            f"the ledger has the schema {state.ledger_hash}, which no migration produces; the last applied migration "
            f"is {last_name}"
        )
        hint = (
            "it was changed without the folder: plan a migration to that schema, or run `schemactl migrate rollback` "
            "or `schemactl migrate baseline`"
        )
        return PlanBlocker(BlockerKind.ELSEWHERE, message, hint)
    if count <= last or state.ledger_schema is None or not (differing := differing_places(state, state.ledger_schema)):
        return None
    place_list = ", ".join(f"`{column_place}`" for _, column_place in differing)
    message = (
        f"the ledger has the schema of `{migrations[count - 1].name}`, but the tables do not match it: {place_list}"
    )
    schema_name = state.ledger_schema.name
    hint = f"a load ran before the migration: continue with `schemactl migrate apply {schema_name} --to DEST`"
    return PlanBlocker(BlockerKind.ELSEWHERE, message, hint)


def _check_applied(folder: Folder, applied_marks: list[MigrationMark], origin: str) -> int:
    """Return the number of a folder's migrations up to the last applied migration in the ledger."""
    by_name = {migration.name: (number, migration.mark) for number, migration in enumerate(folder.migrations, 1)}
    last = 0
    for mark in applied_marks:
        location = Location(str(folder.path / json_name(mark.name)))
        if mark.name not in by_name:
            hint = "restore its files from git, and rebase only migrations that are not applied anywhere"
            message = f"`{mark.name}` is applied to `{origin}`, but missing in the folder"
            raise InputError(message, at=location, hint=hint)
        number, folder_mark = by_name[mark.name]
        if folder_mark != mark:
            hint = "restore its files from git, or undo it first with `schemactl migrate rollback`"
            raise InputError(f"`{mark.name}` is applied to `{origin}`, but was changed since", at=location, hint=hint)
        last = max(last, number)
    return last


def _count_there(migrations: tuple[Migration, ...], known_hash: str | None, last: int) -> int | None:
    """Return how many migrations a destination has; None if no migration leads to its schema."""
    if last and migrations[last - 1].target_hash == known_hash:
        return last
    # The destination reached that schema in another way: `apply REF`, `baseline`, or a dlt pipeline.
    for number, migration in enumerate(migrations, 1):
        if migration.target_hash == known_hash:
            same = takewhile(lambda later: later.target_hash == known_hash, migrations[number:])
            return number + sum(1 for _ in same)
    return 0 if known_hash == migrations[0].base else None

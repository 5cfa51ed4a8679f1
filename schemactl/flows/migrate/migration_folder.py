"""Migrations that live in a folder in git: ``plan --dir``, ``check``, ``hash``, ``rebase``, with no destination."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from schemactl.destinations import DESTINATIONS, Migrator, find_kind, is_migrator
from schemactl.errors import InputError, Location, nearest_or_all
from schemactl.flows.migrate.state import find_goal_schema, names_of
from schemactl.flows.migrate.stored_plans import risk_and_undo
from schemactl.migration.effects import apply_to_model
from schemactl.migration.migration_files import (
    SUM_NAME,
    DialectPlan,
    Migration,
    Problem,
    find_problems,
    json_name,
    migration_of_file,
    own_files_of,
    read_migration,
    sql_name,
    sql_text,
    suggested_title,
    sum_text,
    title_of,
    with_own_files,
    write_migration,
)
from schemactl.migration.migration_plan import MigrationPlan, Place, make_plan, plain_schema
from schemactl.migration.options import PlanOptions
from schemactl.migration.planner import plan_steps, planned_as
from schemactl.migration.reports import BlockerKind, CheckReport, NextReport, PlanBlocker, RebaseReport
from schemactl.migration.table_model import StepDoesNotFit
from schemactl.schema.apply import apply
from schemactl.schema.changes import ColumnsReordered, HeaderChanged
from schemactl.schema.diff import diff
from schemactl.schema.hash import bump
from schemactl.schema.structure import structure_of, with_descriptions
from schemactl.schema.types import Properties, Schema, Table, schema_from_dict
from schemactl.store.folder import SchemasPlace
from schemactl.store.links import refuse_links
from schemactl.store.text import read_text, replace_file

_ANEW = "delete its files, run `schemactl migrate hash DIR`, and plan it again: `schemactl migrate plan REF --dir DIR`"


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of migrations.

    Attributes:
        files: the texts of its files by name, including the sum file.
        problems: reasons not to trust the folder.
    """

    path: Path
    files: Mapping[str, str]
    migrations: tuple[Migration, ...]
    problems: tuple[Problem, ...]

    @property
    def last(self) -> Migration | None:
        """The last migration, if there is one."""
        return self.migrations[-1] if self.migrations else None


@dataclass(frozen=True, slots=True)
class NextRequest:
    """A call of ``schemactl migrate plan --dir``.

    Attributes:
        reference: a REF: the schema that the migration leads to.
        folder: the migrations folder; created if missing.
        dialects: kinds of destinations; empty for the dialects of the previous migration.
        title: the title; None to derive it from the first step.
        start: a REF: the schema that the first migration starts from; None for an empty database.
    """

    reference: str
    folder: Path
    schemas: SchemasPlace
    options: PlanOptions
    dialects: tuple[str, ...] = ()
    allows_destructive: bool = False
    title: str | None = None
    start: str | None = None


def read_folder(path: Path, *, may_be_new: bool = False) -> Folder:
    """Return a folder of migrations with its problems; nothing of it is run."""
    refuse_links(path)
    if not path.is_dir():
        if may_be_new and not path.exists():
            return Folder(path, {}, (), ())
        raise InputError(
            f"there is no folder `{path}`", hint="`schemactl migrate plan REF --dir DIR` writes the first migration"
        )
    files: dict[str, str] = {}
    problems: list[Problem] = []
    for file in sorted(path.iterdir()):
        if migration_of_file(file.name) is None and file.name != SUM_NAME:
            if file.name[:1].isdigit() and file.suffix in (".json", ".sql"):
                hint = "`0007_add_amount.json`: a number of four digits, a title in lower case"
                problems.append(Problem(file.name, f"`{file.name}` is not the name of a migration file", hint))
        elif file.is_symlink() or not file.is_file():
            problems.append(Problem(file.name, f"`{file.name}` is not a regular file", "replace it with a copy"))
        else:
            files[file.name] = read_text(file)
    read, unread = _read_migrations(path, files)
    attached = [with_own_files(migration, files) for migration in read]
    migrations = tuple(migration for migration, _ in attached)
    problems += [problem for _, file_problems in attached for problem in file_problems]
    problems += [problem for migration in migrations for problem in _not_taken_back(migration)]
    return Folder(path, files, migrations, (*problems, *unread, *find_problems(files, migrations)))


def _not_taken_back(migration: Migration) -> Iterator[Problem]:
    """Yield the files of custom SQL that a dialect could not roll back if a step fails."""
    for dialect, plan in migration.plans.items():
        own_scripts = [own_sql for own_sql in plan.own if not own_sql.is_empty]
        try:
            is_taken_back = not own_scripts or module_of(dialect).ABILITIES.transactional_ddl
        except InputError as error:
            yield Problem(json_name(migration.name), error.message, error.hint or "")
            continue
        if not is_taken_back:
            hint = "leave the file empty if no custom SQL is needed"
            message = f"{dialect} commits each statement: custom SQL could not be rolled back if a step fails"
            yield from (Problem(own_sql.file, message, hint) for own_sql in own_scripts)


def _read_migrations(path: Path, files: Mapping[str, str]) -> tuple[tuple[Migration, ...], tuple[Problem, ...]]:
    """Return the readable migrations in their order, and the problems of all other files."""
    migrations, problems = [], []
    for name, text in files.items():
        parsed_name = migration_of_file(name)
        if parsed_name and parsed_name[1] == "json":
            try:
                migrations.append(read_migration(text, name, Location(str(path / name))))
            except InputError as error:
                problems.append(Problem(name, f"`{name}`: {error.message}", error.hint or ""))
        elif parsed_name and json_name(parsed_name[0]) not in files:
            problems.append(
                Problem(name, f"`{name}` belongs to no migration", f"`{json_name(parsed_name[0])}` is missing")
            )
        elif parsed_name and not parsed_name[1].endswith(".sql"):
            problems.append(Problem(name, f"`{name}` is not a file that a migration has", "move it elsewhere"))
    return tuple(sorted(migrations, key=lambda migration: (migration.number, migration.title))), tuple(problems)


def sound_folder(path: Path, *, may_be_new: bool = False) -> Folder:
    """Return a folder of migrations that can be trusted."""
    folder = read_folder(path, may_be_new=may_be_new)
    if folder.problems:
        first, count = folder.problems[0], len(folder.problems)
        more = f"; {count - 1} more: `schemactl migrate check {path}` lists them" if count > 1 else ""
        location = Location(str(path / (first.file or "")), first.line)
        raise InputError(f"{first.message}{more}", at=location, hint=first.hint or None)
    return folder


def check_folder(path: Path, reference: str | None = None, schemas: SchemasPlace = Path("schemas")) -> CheckReport:
    """Return the problems of a folder, and whether its last migration leads to a schema."""
    folder = read_folder(path)
    problems = list(check_problems(folder))
    schema = find_goal_schema(reference, schemas) if reference is not None else None
    last = folder.last
    if schema is not None and (last is None or last.target_hash != schema.version_hash):
        last_migration = f"`{last.name}` leads to version {last.schema['version']}" if last else "there is no migration"
        hint = f"`schemactl migrate plan {reference} --dir {path}` writes the migration"
        message = (
            f"the schema `{schema.name}` has changes without a migration: {last_migration}, hash {schema.version_hash}"
        )
        problems.append(Problem(json_name(last.name) if last else None, message, hint))
    return CheckReport(str(path), tuple(migration.name for migration in folder.migrations), tuple(problems))


def check_problems(folder: Folder) -> tuple[Problem, ...]:
    """Return all problems of a folder, false claims of migrations about their steps included."""
    return folder.problems or tuple(_not_genuine(folder))


def hash_folder(path: Path) -> CheckReport:
    """Rewrite the sum file of a folder, after a merge, or after the last migration was deleted to be replanned."""
    folder = read_folder(path)
    files = {name: text for name, text in folder.files.items() if name != SUM_NAME}
    rehashed = replace(folder, files={**files, SUM_NAME: sum_text(files)})
    of_sum = set(find_problems(folder.files, folder.migrations))
    problems = [problem for problem in folder.problems if problem not in of_sum]
    problems += find_problems(rehashed.files, rehashed.migrations)
    missing = [
        Problem(name, f"`{name}` is missing", "")
        for migration in folder.migrations
        for name in migration.files
        if name not in files
    ]
    if not problems and not missing:
        replace_file(path / SUM_NAME, rehashed.files[SUM_NAME])
    return CheckReport(str(path), tuple(migration.name for migration in folder.migrations), (*problems, *missing))


def next_migration(request: NextRequest) -> NextReport:
    """Write the migration from the last migration of a folder to a schema."""
    folder = sound_folder(request.folder, may_be_new=True)
    report = draft_next(folder, request)
    return write_next(folder, report)


def draft_next(folder: Folder, request: NextRequest, start: Schema | None = None) -> NextReport:
    """Return the migration from the last migration of a folder to a schema, without writing it.

    ``start`` is the schema that the first migration starts from, if the request does not name it.
    """
    schema = find_goal_schema(request.reference, request.schemas)
    last = folder.last
    if last is not None and request.start is not None:
        raise InputError("`--from` is for the first migration only", hint=f"the folder already has `{last.name}`")
    if request.start is not None:
        start = find_goal_schema(request.start, request.schemas)
    dialects = _dialects(request.dialects, last)
    if last is not None and last.schema["name"] != schema.name:
        hint = "use one folder per schema"
        raise InputError(f"the migrations are of the schema `{last.schema['name']}`, not `{schema.name}`", hint=hint)
    base = last.target if last is not None else start
    plans = _plan_in_dialects(folder.migrations, base, schema, dialects, request.options, request.allows_destructive)
    # The same schema still needs steps if an earlier migration was not allowed to drop tables or columns.
    is_there = base is not None and base.version_hash == schema.version_hash
    if is_there and not any(plan.steps for plan in plans.values()):
        return NextReport(str(folder.path), None, (), is_written=False)
    steps = next(iter(plans.values())).steps
    title = title_of(request.title) if request.title is not None else suggested_title(steps)
    migration = _follow(last, title, base, plans, plain_schema(start) if start is not None else None)
    blockers = []
    for dialect, plan in plans.items():
        if numbers := plan.impossible:
            subject = f"step {numbers[0]} is" if len(numbers) == 1 else f"{len(numbers)} steps are"
            message, hint = f"{subject} not possible with {dialect}", "change the schema, or go another way"
            blockers.append(PlanBlocker(BlockerKind.IMPOSSIBLE, message, hint, numbers))
    return NextReport(str(folder.path), migration, tuple(blockers), is_written=False)


def _follow(
    last: Migration | None,
    title: str,
    base: Schema | None,
    plans: Mapping[str, MigrationPlan],
    start: Properties | None,
) -> Migration:
    """Return the migration with these plans after the last migration; the first one contains its start schema."""
    return Migration(
        number=last.number + 1 if last is not None else 1,
        title=title,
        previous=last.mark if last is not None else None,
        base=base.version_hash if base is not None else None,
        schema=next(iter(plans.values())).schema,
        plans={dialect: DialectPlan(plan.steps, plan.notes) for dialect, plan in plans.items()},
        start=start if last is None else None,
    )


def write_next(folder: Folder, report: NextReport, own_files: Mapping[str, str] | None = None) -> NextReport:
    """Write the next migration of a folder with its custom SQL, unless something blocks it."""
    if report.migration is None or report.blockers:
        return report
    folder.path.mkdir(parents=True, exist_ok=True)
    _write(folder.path, folder.files, (report.migration,), own_files)
    return replace(report, is_written=True)


def _dialects(names: Sequence[str], last: Migration | None) -> tuple[str, ...]:
    kinds = tuple(dict.fromkeys(find_kind(name) or name for name in names))
    if last is not None:
        if kinds and set(kinds) != set(last.plans):
            migrated = ",".join(last.plans)
            raise InputError(f"the migrations of the folder are for {migrated}", hint="remove `--dialect`")
        return tuple(last.plans)
    if not kinds:
        hint = "pass `--dialect postgresql`, several (`--dialect duckdb,postgresql`), or `--to DEST`"
        raise InputError("no dialect given for the first migration of the folder", hint=hint)
    for kind in kinds:
        module_of(kind)
    return kinds


def module_of(dialect: str) -> Migrator:
    """Return the destination of a dialect."""
    module = DESTINATIONS[dialect]
    if not is_migrator(module):
        raise InputError(f"`{dialect}` cannot be migrated", hint="`schemactl migrate plan --dialect` writes a script")
    return module


def tables_after(migrations: Sequence[Migration], dialect: str) -> dict[str, Table]:
    """Return a model of the tables after some migrations, including tables that the migrations do not change."""
    tables: dict[str, Table] = {}
    if migrations and migrations[0].start is not None:
        tables = _tables_of(schema_from_dict(migrations[0].start), module_of(dialect))
    for migration in migrations:
        try:
            apply_to_model(tables, [planned.step for planned in migration.plans[dialect].steps])
        except StepDoesNotFit as error:
            message = (
                f"the steps of `{migration.name}` do not fit the tables after the previous migrations: {error.message}"
            )
            raise InputError(message, hint="plan it again") from error
    return tables


def _tables_of(schema: Schema, module: Migrator) -> dict[str, Table]:
    return dict(with_descriptions(structure_of(schema, schema, module.stored), schema).tables)


def _plan_in_dialects(
    before: Sequence[Migration],
    base: Schema | None,
    schema: Schema,
    dialects: Sequence[str],
    options: PlanOptions,
    allows_destructive: bool,
) -> dict[str, MigrationPlan]:
    """Return the plans from one schema to another by dialect, as a destination would have them that has the first."""
    schema = bump(schema)
    removed_before = names_of(migration.target for migration in before)
    chosen = replace(options, keeps_removed=not allows_destructive, removed_before=removed_before)
    plans = {}
    for dialect in dialects:
        module = module_of(dialect)
        tables = tables_after(before, dialect) if before else _tables_of(base, module) if base is not None else {}
        catalogue = Schema(name=schema.name, tables=tables)
        proposal = plan_steps(catalogue, schema, base, stored=module.stored, abilities=module.ABILITIES, options=chosen)
        plan_place = Place(dialect, "", schema.name)
        plans[dialect] = make_plan(proposal, catalogue, schema, plan_place, partial(module.render, dataset=schema.name))
    return plans


def _write(
    path: Path, files: Mapping[str, str], migrations: Sequence[Migration], own_files: Mapping[str, str] | None = None
) -> None:
    """Write migrations into a folder, the sum file last: a process that is killed before has added nothing to it."""
    written = dict(own_files or {})
    for migration in migrations:
        written[json_name(migration.name)] = write_migration(migration)
        written |= {sql_name(migration.name, dialect): sql_text(migration, dialect) for dialect in migration.plans}
    for name, text in written.items():
        replace_file(path / name, text)
    replace_file(path / SUM_NAME, sum_text({**files, **written}))


def _not_genuine(folder: Folder) -> Iterator[Problem]:
    """Yield migrations that were edited: their risks, undos or statements do not match their steps.

    Steps come from the file, are shown and checked. Risks, undos and statements must follow from the steps.
    """
    for index, migration in enumerate(folder.migrations):
        for dialect, plan in migration.plans.items():
            file = json_name(migration.name)
            try:
                abilities = module_of(dialect).ABILITIES
                tables_after(folder.migrations[: index + 1], dialect)
            except InputError as error:
                yield Problem(file, error.message, error.hint or "")
                continue
            for number, planned in enumerate(plan.steps, 1):
                if risk_and_undo(planned) != risk_and_undo(planned_as(planned, abilities)):
                    message = f"`{migration.name}`: the risk or the undo of step {number} is not that of the step"
                    yield Problem(file, message, "plan it again with this version of schemactl")


def rebase_folder(path: Path, names: Sequence[str] = ()) -> RebaseReport:
    """Renumber migrations after another branch merged first, and plan them from the current previous schema.

    ``names`` are the migrations to move to the end; if empty, the migrations that no other migration follows.
    """
    folder = read_folder(path)
    moving = _moving(folder, names)
    staying = [migration for migration in folder.migrations if migration not in moving]
    kept_files = {name: text for name, text in folder.files.items() if name != SUM_NAME}
    moved: list[tuple[str, str]] = []
    written: list[Migration] = []
    own_files: dict[str, str] = {}
    for migration in moving:
        last = staying[-1] if staying else None
        schema, base = _carried_over(folder, migration, last)
        plans = _plan_in_dialects(staying, base, schema, tuple(migration.plans), PlanOptions(), allows_destructive=True)
        for dialect, plan in plans.items():
            was = [planned.step for planned in migration.plans[dialect].steps]
            becomes = [planned.step for planned in plan.steps]
            if was != becomes:
                message = f"`{migration.name}` would have different {dialect} steps after the move"
                raise InputError(message, hint=_ANEW)
        renumbered = _follow(last, migration.title, base, plans, migration.start)
        moved_files = {
            f"{renumbered.name}{name.removeprefix(migration.name)}": kept_files[name]
            for name in own_files_of(migration.name, kept_files)
        }
        renumbered, _ = with_own_files(renumbered, moved_files)
        own_files |= moved_files
        moved.append((migration.name, renumbered.name))
        written.append(renumbered)
        staying.append(renumbered)
    generated = {name for migration in moving for name in (*migration.files, *own_files_of(migration.name, kept_files))}
    other_files = {name: text for name, text in kept_files.items() if name not in generated}
    _write(path, other_files, written, own_files)
    now = {*own_files, *(name for migration in written for name in migration.files)}
    for name in (kept_files.keys() & generated) - now:
        (path / name).unlink()
    return RebaseReport(str(path), tuple(moved), schema_hash=staying[-1].target_hash if staying else None)


def _moving(folder: Folder, names: Sequence[str]) -> list[Migration]:
    """Return the migrations that move, in their order."""
    by_name = {migration.name: migration for migration in folder.migrations}
    for name in names:
        if name not in by_name:
            raise InputError(f"there is no migration `{name}`", hint=nearest_or_all(name, list(by_name)))
    if names:
        return [migration for migration in folder.migrations if migration.name in names]
    chains = _chains(folder.migrations)
    if len(chains) <= 1:
        return []
    longest = max(len(chain) for chain in chains)
    main = [chain for chain in chains if len(chain) == longest]
    if len(main) > 1:
        ends = ", ".join(f"`{chain[-1].name}`" for chain in main)
        raise InputError(f"cannot tell which of these to move: {ends}", hint="name the migrations of your branch")
    return [migration for migration in folder.migrations if migration not in main[0]]


def _chains(migrations: Sequence[Migration]) -> list[list[Migration]]:
    """Return the lines of migrations from the first to each that no other one follows."""
    by_mark = {migration.mark: migration for migration in migrations}
    followed = {migration.previous for migration in migrations}
    chains = []
    for end in (migration for migration in migrations if migration.mark not in followed):
        chain = [end]
        while (before := chain[-1].previous) is not None and before in by_mark:
            chain.append(by_mark[before])
        chains.append(chain[::-1])
    return chains


def _carried_over(folder: Folder, moving: Migration, last: Migration | None) -> tuple[Schema, Schema | None]:
    """Return the new target schema of a moved migration, and its start schema."""
    by_hash = {migration.target_hash: migration.target for migration in folder.migrations}
    if moving.start is not None:
        by_hash[str(moving.base)] = schema_from_dict(moving.start)
    before = by_hash.get(moving.base) if moving.base is not None else None
    if moving.base is not None and before is None:
        message = f"`{moving.name}` starts from the schema {moving.base}, which no migration in the folder produces"
        raise InputError(message, hint=_ANEW)
    base = last.target if last is not None else before
    if base is None or before is None or base.version_hash == before.version_hash:
        return moving.target, base
    changes = diff(before, moving.target, guess_renames=False)
    own_changes = [change for change in changes if not isinstance(change, HeaderChanged | ColumnsReordered)]
    try:
        return apply(base, own_changes), base
    except (KeyError, ValueError, InputError) as error:
        message = f"the changes of `{moving.name}` conflict with the previous migrations: {error}"
        raise InputError(message, hint=_ANEW) from error

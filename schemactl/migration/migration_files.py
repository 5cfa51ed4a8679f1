"""Migrations that live in git: numbered files in one folder, each bound to the schema and to the migration before it.

A migration is not bound to a destination. It contains the schemas before and after it, and the steps for each of its
dialects. This module handles texts and values; a flow reads and writes the folder.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from schemactl.errors import InputError, Location
from schemactl.migration.comparison import is_bookkeeping
from schemactl.migration.custom_sql import OwnSql, When, read_own
from schemactl.migration.migration_plan import MigrationMark, MigrationPlan, Place, with_own
from schemactl.migration.notes import Note
from schemactl.migration.plan_documents import content_hash, from_document, step_document, to_document
from schemactl.migration.planner import PlannedStep
from schemactl.migration.steps import LATER, CreateTable
from schemactl.schema.types import Properties, Schema, schema_from_dict

MARK: Final = "schemactl_migration"
FORMAT: Final = 1
SUM_NAME: Final = "schemactl.sum"

_NAME: Final = re.compile(r"(?P<number>\d{4,})_(?P<title>[a-z0-9][a-z0-9_]*)")
_FILE: Final = re.compile(rf"(?P<name>{_NAME.pattern})\.(?P<rest>.+)")
_OWN: Final = re.compile(r"(?P<dialect>[a-z]+)\.(?P<number>[1-9]\d*)\.(?P<when>before|instead|after)\.sql")
_OWN_HINT: Final = (
    "it does not run: move it out of the folder, or name it `NAME.DIALECT.STEP.before.sql` "
    "(`before`, `instead` or `after`)"
)
_KEYS: Final = frozenset((MARK, "hash", "name", "previous", "base", "target", "plans", "start", "schema"))
_LONGEST_TITLE: Final = 60
_SUM_PREFIX: Final = "h1:"


@dataclass(frozen=True, slots=True)
class DialectPlan:
    """The steps of a migration in the dialect of one kind of destination.

    Attributes:
        own: custom SQL of their files, by number and order.
    """

    steps: tuple[PlannedStep, ...] = ()
    notes: tuple[Note, ...] = ()
    own: tuple[OwnSql, ...] = field(default=(), metadata=LATER)


@dataclass(frozen=True, slots=True)
class Migration:
    """One migration of a folder.

    Attributes:
        number: its place in the folder, from 1; a rebase changes it.
        title: a summary in lower case with underscores.
        previous: the migration before it; None for the first one.
        base: hash of the schema that a destination must have; None without one.
        start: the whole schema that the first migration begins with; None for an empty database, and for later
            migrations.
        schema: the whole stored form of the schema that it leads to.
    """

    number: int
    title: str
    previous: MigrationMark | None
    base: str | None
    schema: Properties
    plans: Mapping[str, DialectPlan]
    start: Properties | None = None

    @property
    def name(self) -> str:
        """The number and the title, by which its files are called."""
        return f"{self.number:04}_{self.title}"

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files that schemactl writes for it, which excludes custom SQL."""
        return (json_name(self.name), *(sql_name(self.name, dialect) for dialect in self.plans))

    @property
    def target(self) -> Schema:
        """The schema that a destination has afterwards."""
        return schema_from_dict(self.schema)

    @property
    def target_hash(self) -> str:
        """The hash of the schema that a destination has afterwards."""
        return str(self.schema["version_hash"])

    @property
    def mark(self) -> MigrationMark:
        """Return its identity for the ledger and the next migration: custom SQL counts as its steps do."""
        own_documents = [to_document(own_sql) for plan in self.plans.values() for own_sql in plan.own]
        content = _content(self)
        return MigrationMark(self.name, content_hash({**content, "own": own_documents} if own_documents else content))

    def unbound_plan(self, dialect: str) -> MigrationPlan:
        """Return it as a plan for no tables in particular, in a dataset that is called like the schema."""
        dialect_plan = self.plans[dialect]
        unbound_place = Place(dialect, f"{self.name}, {dialect}", str(self.schema["name"]))
        plan = MigrationPlan(unbound_place, self.schema, (), "", dialect_plan.steps, dialect_plan.notes, self.mark)
        return with_own(plan, dialect_plan.own)


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a folder of migrations cannot be trusted.

    Attributes:
        file: the name of a file; None if it is about the folder.
        message: part of a sentence, names in backquotes.
        line: in the file, from 1; None if it is about the whole.
    """

    file: str | None
    message: str
    hint: str = ""
    line: int | None = None


def title_of(text: str) -> str:
    """Return text as the title of a migration: lower case, with underscores.

    >>> title_of("Add orders.Amount!")
    'add_orders_amount'
    """
    title = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:_LONGEST_TITLE].strip("_")
    if not title:
        raise InputError(f"`{text}` is not a migration name", hint="letters, digits and underscores: `add_amount`")
    return title


def suggested_title(steps: Sequence[PlannedStep]) -> str:
    """Return a title that describes the first step."""
    user_steps = [planned.step for planned in steps if not planned.step.table_name.startswith("_")]
    if not user_steps:
        return "change_hints"
    step = user_steps[0]
    verb = re.sub(r"(?<!^)([A-Z])", r"_\1", type(step).__name__).lower().partition("_")[0]
    return title_of("_".join(word for word in (verb, step.table_name, step.column_name) if word))


def migration_of_file(name: str) -> tuple[str, str] | None:
    """Return the migration's name and the rest of a file's name; None for a file of no migration."""
    match = _FILE.fullmatch(name)
    return (match["name"], match["rest"]) if match else None


def json_name(migration: str) -> str:
    """Return the name of the file that holds a migration."""
    return f"{migration}.json"


def sql_name(migration: str, dialect: str) -> str:
    """Return the name of the file that shows a migration's statements."""
    return f"{migration}.{dialect}.sql"


def own_name(migration: str, dialect: str, number: int, when: When) -> str:
    """Return the name of a file of custom SQL."""
    return f"{migration}.{dialect}.{number}.{when}.sql"


def own_files_of(migration: str, files: Iterable[str]) -> list[str]:
    """Return the names of the files of custom SQL that a migration has, sound or not."""
    parsed_names = ((name, migration_of_file(name)) for name in files)
    return [name for name, parsed in parsed_names if parsed and parsed[0] == migration and _OWN.fullmatch(parsed[1])]


def with_own_files(migration: Migration, files: Mapping[str, str]) -> tuple[Migration, tuple[Problem, ...]]:
    """Return a migration with the custom SQL of its files, and the problems of the files."""
    own_by_dialect: dict[str, list[OwnSql]] = {}
    problems: list[Problem] = []
    for file in own_files_of(migration.name, files):
        match = _OWN.fullmatch(file.removeprefix(f"{migration.name}."))
        assert match is not None
        dialect, number = match["dialect"], int(match["number"])
        plan = migration.plans.get(dialect)
        if plan is None or number > len(plan.steps):
            of_plan = f"{len(plan.steps)} with {dialect}" if plan is not None else f"none for {dialect}"
            hint = f"it is for {', '.join(migration.plans)}; `{sql_name(migration.name, 'DIALECT')}` numbers its steps"
            message = f"`{file}` is for step {number}, and of its steps `{migration.name}` has {of_plan}"
            problems.append(Problem(file, message, hint))
            continue
        try:
            own_sql = read_own(files[file], file, number, When(match["when"]), dialect)
        except InputError as error:
            problems.append(Problem(file, error.message, error.hint or "", error.at.line if error.at else None))
            continue
        own_by_dialect.setdefault(dialect, []).append(own_sql)
        step = plan.steps[number - 1].step
        if own_sql.is_empty:
            continue
        if isinstance(step, CreateTable) and is_bookkeeping(step.table.name):
            hint = "write it for another step"
            message = f"step {number} creates dlt's own `{step.table.name}`, and is skipped if the table exists"
            problems.append(Problem(file, message, hint))
        elif step.is_outside_transaction:
            message = f"step {number} runs outside a transaction, but custom SQL needs the transaction of its step"
            problems.append(Problem(file, message, "write it for another step"))
    order = list(When)
    own_by_dialect = {
        dialect: sorted(scripts, key=lambda own_sql: (own_sql.number, order.index(own_sql.when)))
        for dialect, scripts in own_by_dialect.items()
    }
    plans = {name: replace(plan, own=tuple(own_by_dialect.get(name, ()))) for name, plan in migration.plans.items()}
    if any(not own_sql.is_empty for scripts in own_by_dialect.values() for own_sql in scripts):
        # An empty file records that a step of another dialect needs no custom SQL, which only a person can know.
        other_dialects = ", ".join(dialect for dialect, plan in plans.items() if plan.own)
        for dialect, plan in plans.items():
            if plan.steps and not plan.own:
                empty = own_name(migration.name, dialect, len(plan.steps), When.AFTER)
                message = f"`{migration.name}` has custom SQL for {other_dialects}, but not for {dialect}"
                hint = f"add the SQL, or an empty `{empty}` if it is not needed"
                problems.append(Problem(json_name(migration.name), message, hint))
    return replace(migration, plans=plans), tuple(problems)


def write_migration(migration: Migration) -> str:
    """Return the text of the file that holds a migration."""
    content = _content(migration)
    return json.dumps({MARK: FORMAT, "hash": content_hash(content), **content}, indent=1, allow_nan=False) + "\n"


def read_migration(text: str, file: str, location: Location) -> Migration:
    """Read a migration that ``write_migration`` wrote."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"this is not a migration: {error}", at=location) from None
    if not isinstance(document, dict) or MARK not in document:
        hint = "create one with `schemactl migrate plan REF --dir DIR`"
        raise InputError("this is not a migration", at=location, hint=hint)
    if document[MARK] != FORMAT or isinstance(document[MARK], bool):
        message = f"this migration has format {document[MARK]}, but schemactl supports format {FORMAT}"
        raise InputError(message, at=location)
    content = {name: value for name, value in document.items() if name not in (MARK, "hash")}
    if document.get("hash") != content_hash(content):
        raise InputError("this migration was changed after it was created", at=location, hint=_RESTORE)
    try:
        migration = _migration(document)
    except RecursionError:
        raise InputError("this migration is damaged: it is nested too deeply", at=location) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"this migration is damaged: {error}", at=location) from error
    if json_name(migration.name) != file:
        raise InputError(f"this is the migration `{migration.name}` under another name", at=location, hint=_REBASE)
    return migration


_RESTORE: Final = "restore it from git, and make the change in a new migration"
_REBASE: Final = "renumber migrations with `schemactl migrate rebase`"
_HASH: Final = "rewrite it with `schemactl migrate hash DIR`, or merge branches with `schemactl migrate rebase`"


def _content(migration: Migration) -> dict[str, Any]:
    schema = migration.schema
    return {
        "name": migration.name,
        "previous": to_document(migration.previous) if migration.previous else None,
        "base": migration.base,
        "target": {key: schema[key] for key in ("name", "version", "version_hash")},
        "plans": {
            dialect: {"steps": list(map(step_document, plan.steps)), "notes": list(map(to_document, plan.notes))}
            for dialect, plan in migration.plans.items()
        },
        "start": dict(migration.start) if migration.start is not None else None,
        "schema": dict(schema),
    }


def _migration(document: Mapping[str, Any]) -> Migration:
    if document.keys() != _KEYS:
        raise ValueError(f"its keys are not {', '.join(sorted(_KEYS))}")
    name = _NAME.fullmatch(document["name"])
    if name is None:
        raise ValueError(f"`{document['name']}` is not a migration name")
    schema, previous, start = document["schema"], document["previous"], document["start"]
    target = {key: schema[key] for key in ("name", "version", "version_hash")}
    if document["target"] != target:
        raise ValueError("its target is not its schema's hash")
    plans = {dialect: from_document(DialectPlan, plan) for dialect, plan in document["plans"].items()}
    if not plans or not all(re.fullmatch("[a-z]+", dialect) for dialect in plans):
        raise ValueError("it has steps for no dialect")
    return Migration(
        number=int(name["number"]),
        title=name["title"],
        previous=None if previous is None else from_document(MigrationMark, previous),
        base=None if document["base"] is None else str(document["base"]),
        schema=schema,
        plans=plans,
        start=None if start is None else dict(start),
    )


def sql_text(migration: Migration, dialect: str) -> str:
    """Return the statements of a migration as people read them. Nothing of it is run."""
    return "\n".join(_sql_lines(migration, dialect)) + "\n"


def _sql_lines(migration: Migration, dialect: str) -> Iterator[str]:
    yield f"-- {migration.name} for {dialect}: schema {_one_line(migration.schema['name'])}"
    yield f"-- from {migration.base or 'no schema'} to {migration.target_hash}"
    yield f"-- Read only: {json_name(migration.name)} runs, in the dataset of each destination."
    for number, planned in enumerate(migration.plans[dialect].steps, 1):
        yield ""
        yield f"-- {number}. {type(planned.step).__name__} {_one_line(planned.step.full_name)}: {planned.risk}"
        if not planned.undo.is_possible:
            yield f"--    cannot be undone: {_one_line(planned.undo.note)}"
        yield from (f"{statement};" for statement in planned.statements)


def _one_line(text: str) -> str:
    """Return text that stays within a comment."""
    return "".join(character if character.isprintable() else "?" for character in text)


def file_hash(content: str) -> str:
    """Return the hash of a file for the sum file; line ends do not count, as git may change them."""
    text = content.replace("\r\n", "\n")
    return _SUM_PREFIX + base64.b64encode(hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()).decode()


def sum_text(files: Mapping[str, str]) -> str:
    """Return the sum file of a folder: a hash of all, and one for each file, as Atlas and Go have it.

    Two branches that both add a migration change its first line, so git does not merge them unseen.
    """
    lines = "".join(f"{name} {file_hash(content)}\n" for name, content in sorted(files.items()) if name != SUM_NAME)
    return f"{file_hash(lines)}\n{lines}"


def stated_hashes(sum_file: str) -> dict[str, str]:
    """Return the hashes of a sum file by file name."""
    return dict(line.rpartition(" ")[::2] for line in sum_file.replace("\r\n", "\n").splitlines()[1:])


def find_problems(files: Mapping[str, str], migrations: Sequence[Migration]) -> Iterator[Problem]:
    """Yield the problems of a folder whose migrations could be read."""
    yield from _sum_problems(files)
    for before, after in zip((None, *migrations), migrations, strict=False):
        file = json_name(after.name)
        if before is not None and before.number == after.number:
            message = f"duplicate number {after.number}: `{before.name}` and `{after.name}`"
            yield Problem(file, message, "move one behind the other with `schemactl migrate rebase`")
        elif after.previous != (before.mark if before else None):
            previous_name = f"`{after.previous.name}`" if after.previous else "no migration"
            name_before = f"`{before.name}`" if before else "no migration"
            if before is not None and after.previous is not None and after.previous.name == before.name:
                message = f"`{after.name}` was created for a different version of `{before.name}`"
            else:
                message = f"`{after.name}` was created to follow {previous_name}, but follows {name_before}"
            yield Problem(file, message, _REBASE)
        elif before is not None and after.base != before.target_hash:
            yield Problem(file, f"`{after.name}` does not start from the schema of `{before.name}`", _REBASE)
        elif before is not None and after.plans.keys() != before.plans.keys():
            yield Problem(file, f"`{after.name}` is for other dialects than `{before.name}`", "plan it again")
    yield from _sql_problems(files, migrations)


def _sql_problems(files: Mapping[str, str], migrations: Sequence[Migration]) -> Iterator[Problem]:
    generated_files = {name for migration in migrations for name in migration.files}
    migration_names = {migration.name for migration in migrations}
    for name in files:
        of = migration_of_file(name)
        is_known = name in generated_files or (of is not None and _OWN.fullmatch(of[1]) is not None)
        if of is not None and of[0] in migration_names and of[1].endswith(".sql") and not is_known:
            # It looks like SQL that runs, but no plan uses it.
            yield Problem(name, f"`{name}` is not a file that a migration has", _OWN_HINT)
    for migration in migrations:
        for dialect in migration.plans:
            name = sql_name(migration.name, dialect)
            if name in files and files[name].replace("\r\n", "\n") != sql_text(migration, dialect):
                yield Problem(name, f"this SQL differs from the SQL of `{migration.name}`, which runs", _RESTORE)


def _sum_problems(files: Mapping[str, str]) -> Iterator[Problem]:
    sum_file = files.get(SUM_NAME)
    if sum_file is None:
        if files:
            yield Problem(SUM_NAME, "the checksum file is missing", _RESTORE)
        return
    if re.search(r"^(<<<<<<<|=======|>>>>>>>)", sum_file, re.MULTILINE):
        yield Problem(SUM_NAME, "two branches changed the folder: the file contains git conflict markers", _REBASE)
        return
    first, *lines = sum_file.replace("\r\n", "\n").splitlines() or [""]
    if first != file_hash("".join(f"{line}\n" for line in lines)):
        yield Problem(SUM_NAME, "the checksum file was changed by hand or by a merge", _HASH)
    recorded_hashes = stated_hashes(sum_file)
    for name in sorted(files.keys() - recorded_hashes.keys() - {SUM_NAME}):
        yield Problem(name, f"`{name}` was added, but is not in the checksum file", _HASH)
    for name, stated_hash in recorded_hashes.items():
        if name not in files:
            yield Problem(name, f"`{name}` is missing", _RESTORE)
        elif file_hash(files[name]) != stated_hash:
            yield Problem(name, f"`{name}` was changed", _RESTORE)

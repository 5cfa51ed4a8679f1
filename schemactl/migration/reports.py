"""The reports of commands about migrations: values that flows return and renderers print."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from schemactl.migration.custom_sql import OwnSql
from schemactl.migration.migration_files import Migration, Problem
from schemactl.migration.migration_plan import MigrationPlan, Place
from schemactl.migration.planner import PlannedStep
from schemactl.migration.records import Fill, Run, Version
from schemactl.schema.changes import Change, ColumnAdded


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of one step in the data.

    Attributes:
        number: of the step, from 1.
        count: values, or rows, that block it.
        examples: a few of them, as texts.
        is_overlap: whether these are rows with values in both columns of a fold.
    """

    number: int
    count: int
    examples: tuple[str, ...] = ()
    is_overlap: bool = False


class BlockerKind(StrEnum):
    """Why a plan is not applied."""

    IMPOSSIBLE = "impossible"
    """The destination cannot run a step."""
    DESTRUCTIVE = "destructive"
    """A step loses data without the user's permission."""
    UNFIT = "unfit"
    """Stored values would not survive a step."""
    MOVED = "moved"
    """The destination has changed since the plan was made."""
    UNFINISHED = "unfinished"
    """Another run is unfinished."""
    ELSEWHERE = "elsewhere"
    """The destination does not have the schema that a migration of a folder begins with."""
    PRECONDITION = "precondition"
    """A precondition of custom SQL returns no rows."""


@dataclass(frozen=True, slots=True)
class PlanBlocker:
    """Something that blocks a plan.

    Attributes:
        message: part of a sentence.
        hint: the way out; may be empty.
        numbers: the numbers of the blocked steps, from 1; empty if it blocks the whole plan.
    """

    kind: BlockerKind
    message: str
    hint: str = ""
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanReport:
    """A plan with its blockers.

    Attributes:
        done: how many of its steps an unfinished run has done; None without one.
        is_recorded: whether the destination's ledger names the schema already.
        not_undone: values that survive, and that an undo of the step spells in another way.
        folded: the values that folds of variants move; all of them survive.
        widened: the values of columns that get a wider type; all of them survive.
    """

    plan: MigrationPlan
    counted: tuple[Counted, ...] = ()
    blockers: tuple[PlanBlocker, ...] = ()
    done: int | None = None
    is_recorded: bool = False
    not_undone: tuple[Counted, ...] = ()
    folded: tuple[Counted, ...] = ()
    widened: tuple[Counted, ...] = ()

    @property
    def stops(self) -> bool:
        """Whether a blocker other than unconfirmed data loss stops it."""
        return any(blocker.kind is not BlockerKind.DESTRUCTIVE for blocker in self.blockers)


class Outcome(StrEnum):
    """How a command that may write has ended."""

    DONE = "done"
    NOTHING = "nothing to do"
    REFUSED = "refused"
    DECLINED = "declined"
    """The user declined."""


class _Ended:
    """The outcome of a command that may write."""

    __slots__ = ()
    outcome: Outcome

    @property
    def is_refused(self) -> bool:
        """Whether schemactl refused or the user declined the whole action or a part of it."""
        return self.outcome in (Outcome.REFUSED, Outcome.DECLINED)


@dataclass(frozen=True, slots=True)
class ApplyReport(_Ended):
    """The report of ``apply``.

    Attributes:
        copy: the copy of the database file from before a destructive plan; None if no copy was made.
    """

    planned: PlanReport
    outcome: Outcome
    seconds: float = 0.0
    copy: str | None = None


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run of the ledger, how many of its steps are done, and how many there are."""

    run: Run
    done: int
    steps: int

    @property
    def state(self) -> str:
        """``running``, ``done``, ``undone`` or ``baseline``."""
        return str(self.run.state) if self.run.plan else "baseline"


@dataclass(frozen=True, slots=True)
class StoredVariant:
    """A variant column of a destination.

    Attributes:
        home: the column that it was made for.
        fill: None if no rows were read.
        is_foldable: whether the schema has both columns, and a type other than text holds their values.
    """

    table: str
    column: str
    home: str
    fill: Fill | None
    is_foldable: bool


@dataclass(frozen=True, slots=True)
class StatusReport:
    """The state of a destination.

    Attributes:
        there: the last schema in its ledger; None if the ledger is empty.
        target: name, version and hash of the schema that it is compared with; None without a schema.
        is_of_ledger: whether the ledger's last schema is the target, because no schema was named.
        planned: the pending steps; None if no schema is known.
        drift: from the ledger's schema to the tables: changes that neither schemactl nor dlt made.
        runs: the last lines of the ledger, the newest one first.
        variants: columns for values that do not fit another column, which the schema lacks so far.
        waiting_records: rejected records that wait in its table of rejects.
        stored_variants: all variant columns of the destination, by table.
    """

    place: Place
    there: Version | None
    target: Version | None
    planned: PlanReport | None
    drift: tuple[Change, ...]
    runs: tuple[PastRun, ...]
    variants: tuple[ColumnAdded, ...] = ()
    waiting_records: int = 0
    is_of_ledger: bool = False
    stored_variants: tuple[StoredVariant, ...] = ()

    @property
    def unfinished(self) -> PastRun | None:
        """The unfinished run; None without one."""
        return next((run for run in self.runs if run.state == "running"), None)

    @property
    def is_settled(self) -> bool:
        """Whether nothing is pending, unfinished, or changed by hand."""
        is_pending = self.planned is not None and bool(self.planned.plan.steps)
        return not (is_pending or self.drift or self.unfinished)


@dataclass(frozen=True, slots=True)
class UndoneStep:
    """A step of an earlier run to undo.

    Attributes:
        number: its place in that run's plan, from 1.
        planned: the step, with the statements that undo it as the tables are now; empty if custom SQL undoes it.
        own: custom SQL of its migration that is undone with it, in the order in which it ran.
        done_with: of the steps that are undone at once with this one, the place of the last in the report, from 1; None
            if it is undone by itself. The last step has the statements of all.
    """

    run_id: str
    number: int
    planned: PlannedStep
    done_with: int | None = None
    own: tuple[OwnSql, ...] = ()


@dataclass(frozen=True, slots=True)
class RollbackReport(_Ended):
    """The report of ``rollback``, before or after it runs.

    Attributes:
        before, after: hash of the schema; ``after`` is None if the ledger has no earlier schema.
        files_hash: of the schema of that name in the schemas folder; None if the folder lacks it.
        counted: the counts of values that block them; numbers are places in ``steps``.
    """

    place: Place
    name: str
    before: str | None
    after: str | None
    steps: tuple[UndoneStep, ...]
    outcome: Outcome
    counted: tuple[Counted, ...] = ()
    blockers: tuple[PlanBlocker, ...] = ()
    files_hash: str | None = None


@dataclass(frozen=True, slots=True)
class CleanReport(_Ended):
    """The report of ``clean``: the backups that it dropped.

    Attributes:
        kept: names of tables that were dropped and kept, or of copies of files.
    """

    place: Place
    kept: tuple[str, ...]
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class BaselineReport(_Ended):
    """The report of ``baseline``.

    Attributes:
        drift: from the schema to the tables that the schema has.
    """

    place: Place
    schema: Version
    tables: int
    drift: tuple[Change, ...]
    outcome: Outcome
    blockers: tuple[PlanBlocker, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Whether a folder of migrations can be trusted."""

    folder: str
    migrations: tuple[str, ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class NextReport:
    """The next migration of a folder.

    Attributes:
        migration: None if the schema has not changed.
        there: how it would run at a destination; None if the user named no destination.
    """

    folder: str
    migration: Migration | None
    blockers: tuple[PlanBlocker, ...]
    is_written: bool
    there: PlanReport | None = None


@dataclass(frozen=True, slots=True)
class RebaseReport:
    """The report of a rebase of a folder's migrations.

    Attributes:
        moved: names before and after.
        schema_hash: of the schema that the last migration leads to now.
    """

    folder: str
    moved: tuple[tuple[str, str], ...]
    schema_hash: str | None


@dataclass(frozen=True, slots=True)
class FolderStatus:
    """How far a destination has come with the migrations of a folder.

    Attributes:
        there: the last schema in its ledger; None if the ledger is empty.
        at: the last migration that it has; None before the first one.
        pending: names of the migrations that it lacks, in their order.
        blocker: why they cannot run; None if they can.
        is_unfinished: whether the first pending migration is unfinished.
    """

    place: Place
    there: Version | None
    at: str | None
    pending: tuple[str, ...]
    blocker: PlanBlocker | None = None
    is_unfinished: bool = False

    @property
    def is_settled(self) -> bool:
        """Whether the destination has all migrations."""
        return not self.pending and self.blocker is None


@dataclass(frozen=True, slots=True)
class FolderApplyReport(_Ended):
    """The report of ``apply --dir``, before or after it runs.

    Attributes:
        next: the plan of the first pending migration; None if no migration is pending.
        later: the following migrations, which are checked when their turn comes.
        applied: the runs, in their order; the last one may be refused.
    """

    status: FolderStatus
    next: PlanReport | None
    later: tuple[MigrationPlan, ...]
    outcome: Outcome
    applied: tuple[ApplyReport, ...] = ()

    @property
    def is_destructive(self) -> bool:
        """Whether a pending step loses data."""
        first = (self.next.plan,) if self.next is not None else ()
        return any(plan.is_destructive for plan in (*first, *self.later))


@dataclass(frozen=True, slots=True)
class Compared:
    """One of two destinations that are compared.

    Attributes:
        there: the last schema in its ledger; None if the ledger is empty.
        migration: the last migration of a folder that it has; None before the first one.
    """

    place: Place
    there: Version | None
    migration: str | None


@dataclass(frozen=True, slots=True)
class CompareReport:
    """How two destinations differ.

    Attributes:
        changes: from the tables of the first to the tables of the second, in terms that both destinations store.
    """

    base: Compared
    head: Compared
    changes: tuple[Change, ...]

    @property
    def is_same(self) -> bool:
        """Whether both have the same tables, and their ledgers name the same schema."""
        hashes = {side.there.version_hash if side.there is not None else None for side in (self.base, self.head)}
        return not self.changes and len(hashes) == 1


@dataclass(frozen=True, slots=True)
class OddValues:
    """Stored values that contradict the schema.

    Attributes:
        rows: how many rows the table has.
    """

    table: str
    column: str
    message: str
    count: int
    rows: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A table whose files contradict each other about its columns.

    Attributes:
        message: the columns and their files.
        hint: a way out; may be empty.
    """

    table: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Misplaced:
    """Values that a run of the ledger has not moved to the name that ``x-renamed-from`` implies.

    Attributes:
        column: None if it is about the rows of the whole table.
        origin: the name of the column, or table, that they were to come from.
    """

    table: str
    column: str | None
    origin: str


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """Whether tables and values match a schema.

    Attributes:
        tables: how many tables were compared.
        columns: how many columns had their values checked.
        rows: how many rows were read for that.
        all_rows: how many rows the tables have that were read; more than ``rows`` for a sample.
        variants: columns for values that do not fit another column, which the schema lacks so far.
        disagreements: tables whose files contradict each other.
        misplaced: values under wrong names, as the runs of the ledger show.
        unfinished: the unfinished run, which may explain the differences; None without one.
    """

    place: Place
    schema: Version
    drift: tuple[Change, ...]
    odd: tuple[OddValues, ...]
    tables: int
    columns: int
    rows: int = 0
    all_rows: int = 0
    variants: tuple[ColumnAdded, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    misplaced: tuple[Misplaced, ...] = ()
    unfinished: PastRun | None = None

    @property
    def is_clean(self) -> bool:
        """Whether all matches the schema; while a run is unfinished, the final state is open."""
        differences = self.drift or self.odd or self.variants or self.disagreements or self.misplaced
        return self.unfinished is None and not differences

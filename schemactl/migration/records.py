"""Facts about a destination's data and earlier migrations: plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

MOST_EXAMPLES = 5
"""How many of the values that block a step are shown."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a migration waits for other sessions.

    Attributes:
        seconds: that it waits for another migration or load to end.
        lock_seconds: that a step waits for a lock of the database; later sessions wait behind it for as long.
        lock_retries: how often a transaction that could not get a lock is retried.
        statement_seconds: that a statement may run; None for no limit.
        batch_rows: how many rows a transaction fills, if a step does not fill all of them at once.
    """

    seconds: float = 10.0
    lock_seconds: float = 2.0
    lock_retries: int = 10
    statement_seconds: float | None = None
    batch_rows: int = 5000


NO_PATIENCE: Final = Patience(seconds=0.0)


@dataclass(frozen=True, slots=True)
class Example:
    """A value that blocks a step.

    Attributes:
        row: the key of a row that holds it: values by column (``_dlt_id``, or the primary key); empty if the table has
            no key.
        value: as the database writes it, cut to 200 characters; None for null.
        becomes: its value after an undo of the step, if the undo was tried.
    """

    row: Mapping[str, str]
    value: str | None
    becomes: str | None = None


@dataclass(frozen=True, slots=True)
class Unfit:
    """The number of values that block a step.

    Attributes:
        count: values that would not survive, forbidden nulls, or rows whose value another row has.
        rows: all rows of the table.
    """

    count: int = 0
    rows: int = 0
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True, slots=True)
class Fill:
    """How many rows hold a value in a column.

    Attributes:
        values: rows that hold one.
        rows: all rows of the table.
        first_load: the smallest load ID of the rows that hold one, or of their root rows; None if no row has a load ID.
    """

    values: int = 0
    rows: int = 0
    first_load: str | None = None


@dataclass(frozen=True, slots=True)
class ParentLink:
    """The way from rows of a nested table to rows of its parent, or of its root table.

    Attributes:
        column: the column of the nested table that holds the key of the other row.
        parent: the other table.
        key: the column of the other table that holds the key.
    """

    column: str
    parent: str
    key: str


@dataclass(frozen=True, slots=True)
class Blocker:
    """A reason that prevents a step whatever the values are: the kind of its table, or what depends on the table.

    Attributes:
        hint: the way out; None if no way is known.
    """

    message: str
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class ViewScript:
    """The statements that drop a view and create it again.

    Attributes:
        name: of the view with its dataset.
        create: the view, its owner, comments, privileges, indexes and triggers.
    """

    name: str
    drop: str
    create: tuple[str, ...]


class RunState(StrEnum):
    """How far a run of a plan has come."""

    RUNNING = "running"
    DONE = "done"
    UNDONE = "undone"


class StepState(StrEnum):
    """How far a step has come."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    UNDONE = "undone"


@dataclass(frozen=True, slots=True)
class Run:
    """One line of ``_schemactl_migrations``: a plan that was applied, or is being applied, or was undone.

    Attributes:
        run_id: any text that no other run has.
        plan_hash: of the plan file's content.
        from_hash: of the schema before; None for the first schema.
        plan: the plan as JSON text; empty for a baseline.
    """

    run_id: str
    plan_hash: str
    schema_name: str
    from_hash: str | None
    to_hash: str
    who: str
    started: datetime
    finished: datetime | None = None
    state: RunState = RunState.RUNNING
    plan: str = ""


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One line of ``_schemactl_steps``: a step of a run.

    Attributes:
        number: its place in the plan, from 1.
        statements_hash: SHA-256, in hex, of the statements.
    """

    run_id: str
    number: int
    statements_hash: str
    undo_statements: tuple[str, ...]
    who: str
    state: StepState = StepState.PENDING
    started: datetime | None = None
    finished: datetime | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """One line of ``_dlt_version``, without the schema itself."""

    schema_name: str
    version: int
    version_hash: str
    inserted_at: datetime | None

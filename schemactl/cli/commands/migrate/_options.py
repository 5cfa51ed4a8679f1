"""Options of several commands about migrations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from schemactl.cli.declarations import Group, Setting, SettingsTable, flag, option
from schemactl.cli.options import SparkCommandOptions, read_count, read_seconds
from schemactl.cli.terminal import Terminal, ask, confirm_loss
from schemactl.errors import ExitCode, InputError

if TYPE_CHECKING:
    from schemactl.engine.spark.options import SparkOptions
    from schemactl.migration.options import PlanOptions
    from schemactl.migration.records import Patience


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrateOptions(SparkCommandOptions):
    """The options of all of them."""

    to: str | None = option(
        "The destination: `duckdb:///PATH`, `postgresql://USER@HOST/DATABASE`, `mysql://USER@HOST/DATABASE`, "
        "`sqlite:///PATH`, `spark:CATALOG.SCHEMA` ...; `?dataset=NAME` sets the database schema. Or a name "
        "from the settings: `[destinations.prod]`.",
        setting=Setting(),
        metavar="DEST",
        is_destination=True,
    )


@dataclass(frozen=True, kw_only=True)  # no slots: two bases with slots cannot be combined
class KeyOptions(MigrateOptions):
    """Options of commands that can enforce keys."""

    unique: bool = flag(
        "Also enforce `unique`: plan the constraints, or check for duplicate values. dlt creates none on most "
        "destinations.",
        Group.PLAN,
        Setting(),
    )
    primary_keys: bool = flag(
        "Also enforce `primary_key`: plan the constraints, or check for nulls and duplicate values. dlt "
        "creates none by default.",
        Group.PLAN,
        Setting(),
    )


@dataclass(frozen=True, kw_only=True)  # no slots: two bases with slots cannot be combined
class PlanningOptions(KeyOptions):
    """Options of commands that make a plan."""

    on_unfit: Literal["refuse", "expand", "variant"] = option(
        "What to do if values of a column do not fit its new type: `refuse` blocks the step, `expand` fills a "
        "new column and keeps the old one, `variant` also moves the other values into a variant column.",
        Group.PLAN,
        Setting(),
        default="refuse",
    )
    allow_destructive: bool = flag(
        "Drop tables and columns removed from the schema, and old columns that earlier plans kept.", Group.PLAN
    )
    guess_renames: bool = flag("Treat likely renames as renames, without `x-renamed-from`.", Group.PLAN)

    online: bool = flag(
        "Run steps without blocking other sessions (PostgreSQL): fill columns in batches, prepare keys and "
        "NOT NULL. Each step commits separately.",
        Group.PLAN,
        Setting(),
    )

    def planning(self) -> PlanOptions:
        """Return the options as the planner takes them."""
        from schemactl.migration.options import OnUnfit, PlanOptions

        return PlanOptions(
            on_unfit=OnUnfit(self.on_unfit),
            compares_unique=self.unique,
            compares_primary_keys=self.primary_keys,
            guesses_renames=self.guess_renames,
            drops_kept=self.allow_destructive,
            is_online=self.online,
        )


@dataclass(frozen=True, kw_only=True)  # no slots: two bases with slots cannot be combined
class WritingOptions(MigrateOptions):
    """Options of commands that write to a destination."""

    lock_timeout: str = option(
        "How long to wait for another migration to end.", setting=Setting(), metavar="SECONDS", default="10"
    )
    step_lock_timeout: str = option(
        "How long a step waits for a database lock (PostgreSQL). Later sessions wait behind it for the same time.",
        setting=Setting(),
        metavar="SECONDS",
        default="2",
    )
    lock_retries: str = option(
        "How often to retry a step that gets no lock, with growing pauses.",
        setting=Setting(),
        metavar="N",
        default="10",
    )
    statement_timeout: str | None = option(
        "How long a statement can run (PostgreSQL). Default: no limit.", setting=Setting(), metavar="SECONDS"
    )
    yes: bool = flag("Do not ask for confirmation.", short="-y")
    confirm: str | None = option(
        "The name of a protected destination, to confirm data loss without a prompt.", metavar="NAME"
    )
    named_destination: Sequence[SettingsTable] = option(
        "", setting=Setting(in_file=False, in_file_only=True), default=[]
    )

    @property
    def protected_name(self) -> str | None:
        """The name of the destination in the settings, if they protect it."""
        settings = self.named_destination[0].values if self.named_destination else {}
        return str(settings["name"]) if settings.get("protected") is True else None

    def agree(self, terminal: Terminal, question: str, summary: str, *, loses_data: bool = False) -> bool:
        """Return whether the user agrees; a protected destination that loses data asks for its name."""
        agreed = ask(question, summary, terminal, self, yes=self.yes)
        return agreed and confirm_loss(self.protected_name if loses_data else None, self.confirm, terminal)

    def patience(self) -> Patience:
        """Return how long to wait for other migrations, database locks and statements."""
        from schemactl.migration.records import Patience

        limit = self.statement_timeout
        return Patience(
            seconds=read_seconds(self.lock_timeout, "--lock-timeout"),
            lock_seconds=read_seconds(self.step_lock_timeout, "--step-lock-timeout"),
            lock_retries=read_count(self.lock_retries, "--lock-retries", least=0),
            statement_seconds=None if limit is None else read_seconds(limit, "--statement-timeout"),
        )


@dataclass(frozen=True, kw_only=True)  # no slots: two bases with slots cannot be combined
class SigningOptions(MigrateOptions):
    """Options of commands that write or read plan files."""

    sign_key: str | None = option(
        "An environment variable that contains a key. `plan --out` signs the plan with the key; `apply` "
        "accepts only plans signed with it.",
        metavar="NAME",
    )

    def key(self) -> bytes | None:
        """Return the key."""
        if self.sign_key is None:
            return None
        secret = os.environ.get(self.sign_key)
        if not secret:
            hint = "pass `--sign-key` the name of a variable, not a key"
            raise InputError(f"environment variable `{self.sign_key}` is not set", hint=hint)
        return secret.encode()


@dataclass(frozen=True, kw_only=True)  # no slots: two bases with slots cannot be combined
class FolderOptions(MigrateOptions):
    """Options of commands that can work with a migrations folder."""

    dir: str | None = option("The migrations folder that you keep in git, such as `migrations`.", metavar="DIR")


def check_is_plain(formats: Iterable[str], instead: str) -> None:
    """Refuse formats that a result has not."""
    for name in formats:
        if name not in ("text", "json"):
            raise InputError(f"`{name}` is not a format of this result", hint=f"use `text` or `json`; {instead}")


class DestinationOptions(Protocol):
    """The options of a command with a destination, which may be Spark's."""

    @property
    def to(self) -> str | None: ...

    def spark(self) -> SparkOptions: ...


O = TypeVar("O", bound=DestinationOptions)  # noqa: E741 - O for options


def with_spark(run: Callable[[O, Terminal], ExitCode]) -> Callable[[O, Terminal], ExitCode]:
    """Return a command that runs in a Spark session, with the user's settings, if its destination needs one."""

    @wraps(run)
    def opened(options: O, terminal: Terminal) -> ExitCode:
        from schemactl.destinations import find_address

        address = find_address(options.to or "")
        if address is None or address[0] != "spark":
            return run(options, terminal)
        from schemactl.destinations.spark.address import read_address
        from schemactl.engine.spark.session import open_session
        from schemactl.render.progress import show_progress

        read_address(options.to or "")  # a wrong one is reported before Spark starts
        with ExitStack() as progress_bars:

            def notify(stage: str, fraction: float | None) -> None:
                # Open the bar only when Spark reports a stage: the command shows its own line of progress, which counts
                # steps.
                if stage and (report := progress_bars.enter_context(show_progress(terminal.progress))) is not None:
                    report(stage, fraction)

            with open_session(options.spark(), notify):
                return run(options, terminal)

    return opened

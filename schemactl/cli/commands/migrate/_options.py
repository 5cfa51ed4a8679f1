"""What several commands about migrations can be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from schemactl.cli.options import Setting, SparkCommandOptions
from schemactl.errors import InputError

if TYPE_CHECKING:
    from schemactl.migration.options import PlanOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrateOptions(SparkCommandOptions):
    """The options of all of them."""

    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="DEST",
            help="The destination: `duckdb:///PATH`, `postgresql://USER@HOST/DATABASE`, `sqlite:///PATH`, "
            "`spark:CATALOG.SCHEMA` ...; `?dataset=NAME` names the database schema.",
        ),
        Setting(),
    ] = None
    format: Annotated[
        Literal["text", "json"], typer.Option("--format", help="How the result is printed."), Setting()
    ] = "text"


@dataclass(frozen=True, kw_only=True)  # no slots: two bases with slots cannot be combined
class KeyOptions(MigrateOptions):
    """The options of those that may heed keys."""

    unique: Annotated[
        bool,
        typer.Option(
            "--unique",
            help="Heed `unique` as well: plan the constraints, or look for values that stand twice. dlt makes none on "
            "most destinations.",
        ),
        Setting(),
    ] = False
    primary_keys: Annotated[
        bool,
        typer.Option(
            "--primary-keys",
            help="Heed `primary_key` as well: plan the constraints, or look for nulls and values that stand twice. dlt "
            "makes none by itself.",
        ),
        Setting(),
    ] = False


@dataclass(frozen=True, kw_only=True)  # no slots: two bases with slots cannot be combined
class PlanningOptions(KeyOptions):
    """The options of those that make a plan."""

    on_unfit: Annotated[
        Literal["refuse", "expand", "variant"],
        typer.Option(
            "--on-unfit",
            help="What becomes of a column whose values may not all survive its new type: refuse it where one would "
            "not; expand into a new column and keep the old one; or also put the others into a variant column.",
        ),
        Setting(),
    ] = "refuse"
    allow_destructive: Annotated[
        bool, typer.Option("--allow-destructive", help="Allow steps that lose data; drop old columns that were kept.")
    ] = False
    guess_renames: Annotated[
        bool, typer.Option("--guess-renames", help="Take for renamed what looks like it, without `x-renamed-from`.")
    ] = False

    def planning(self) -> PlanOptions:
        """Return the options as the planner takes them."""
        from schemactl.migration.options import OnUnfit, PlanOptions

        return PlanOptions(
            on_unfit=OnUnfit(self.on_unfit),
            compares_unique=self.unique,
            compares_primary_keys=self.primary_keys,
            guesses_renames=self.guess_renames,
            drops_kept=self.allow_destructive,
        )


@dataclass(frozen=True, kw_only=True)  # no slots: two bases with slots cannot be combined
class WritingOptions(MigrateOptions):
    """The options of those that write to a destination."""

    lock_timeout: Annotated[
        str,
        typer.Option("--lock-timeout", metavar="SECONDS", help="How long to wait for another migration to end."),
        Setting(),
    ] = "10"
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False

    def patience(self) -> float:
        """Return how many seconds to wait for the lock.

        Raises:
            InputError: it is no number of seconds.
        """
        return read_seconds(self.lock_timeout, "--lock-timeout")


def read_seconds(text: str, option: str) -> float:
    """Return a number of seconds.

    >>> read_seconds("1.5", "--lock-timeout")
    1.5

    Raises:
        InputError: it is no number of seconds.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise InputError(f"`{text}` is no number of seconds (`{option}`)", hint=f"write it like `{option} 30`")
    return seconds


def read_count(text: str, option: str) -> int:
    """Return a number of things, at least 1.

    >>> read_count("3", "--steps")
    3

    Raises:
        InputError: it is no such number.
    """
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise InputError(f"`{text}` is no number of 1 or more (`{option}`)")
    return int(text)

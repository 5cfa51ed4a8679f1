"""Describes the terminal that a command runs in, writes to it, and asks the user there."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar, cast

from schemactl.cli.options import STDOUT
from schemactl.errors import ExitCode, InputError, SchemactlError

if TYPE_CHECKING:
    from schemactl.cli.options import CommonOptions
    from schemactl.render.console import Look

R = TypeVar("R")

PROGRESS_VARIABLE = "SCHEMACTL_PROGRESS_SECONDS"
"""The variable for the seconds between two lines of progress if there is no terminal: 10 by default, 0 for no lines."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """The output of this process: standard output, its form, and progress.

    Attributes:
        out: standard output, only for results; prints of a user's modules go to standard error.
        color: whether standard output is colored.
        width: columns of standard output; None if it is not a terminal and lines are not wrapped.
        progress: seconds between two lines of progress on standard error, 0 for a bar at a terminal, or None for no
            progress.
    """

    out: TextIO
    color: bool
    width: int | None
    progress: float | None

    def write(self, text: str | bytes, output: str | None = None) -> None:
        """Write a result to a file, which only its user can read, or to standard output (``-``).

        A closed pipe (``| head``) is not an error.
        """
        if output not in (None, STDOUT):
            from schemactl.store.text import PRIVATE_MODE, replace_file

            replace_file(Path(output), text, PRIVATE_MODE)
            return
        if isinstance(text, bytes) and self.out.isatty():
            raise InputError("this format is binary and cannot be printed", hint="name a file with `--output FILE`")
        try:
            if isinstance(text, bytes):
                self.out.buffer.write(text)
            else:
                self.out.write(text)
            self.out.flush()
        except BrokenPipeError:
            forget_output(self.out)
        except OSError as error:
            forget_output(self.out)
            raise SchemactlError(f"cannot write to standard output: {error.strerror}") from error

    def report(self, text: str) -> None:
        """Write to the user, on standard error."""
        sys.stderr.write(text)

    def look(self, options: CommonOptions) -> Look:
        """Return the form in which a report is printed as text."""
        from schemactl.render.console import Look

        return Look(self.width, self.color, is_quiet=options.quiet, is_verbose=options.verbose)


def write_report(  # noqa: PLR0913 - a function for each form
    terminal: Terminal,
    options: CommonOptions,
    report: R,
    document: Callable[[R], dict[str, Any]],
    text: Callable[[R, Look], str],
    findings: Callable[[str], str] | None = None,
    *,
    fails: object = False,
    output: str | None = None,
) -> ExitCode:
    """Write a report in the requested format, and return the exit code.

    ``findings`` renders the report for CI in a format such as `markdown` or `github`; None if the command has no
    findings. If ``fails`` is truthy, the exit code is FINDINGS. ``output`` is a file that replaces standard output.
    """

    def render(name: str, terminal: Terminal) -> str:
        if name == "json":
            from schemactl.render.json import render_document

            return render_document(document(report))
        return text(report, terminal.look(options)) if name == "text" or findings is None else findings(name)

    write_in_formats(terminal, options, render, output)
    return ExitCode.FINDINGS if fails else ExitCode.DONE


def write_in_formats(
    terminal: Terminal, options: CommonOptions, render: Callable[[str, Terminal], str], output: str | None = None
) -> None:
    """Write a result in the formats of each ``--report``, then in the format of ``--format``.

    ``render`` returns the text of a format; ``output`` is a file that replaces standard output.
    """
    from schemactl.cli.options import FindingsOptions, parse_report

    in_file = replace(terminal, color=False, width=None)
    if isinstance(options, FindingsOptions):
        for name, file in map(parse_report, options.report):
            terminal.write(render(name, in_file), file)
    terminal.write(render(options.format, terminal if output in (None, STDOUT) else in_file), output)


def describe_terminal(color: str, is_quiet: bool, environ: Mapping[str, str]) -> Terminal:
    """Return how to write in this process; ``color`` is ``auto``, ``always`` or ``never``.

    ``environ`` has ``NO_COLOR``, ``FORCE_COLOR``, ``CI``, ``COLUMNS`` (https://no-color.org, https://force-color.org).
    """
    columns = environ.get("COLUMNS", "")
    width = int(columns) if columns.isdigit() else 0
    if width == 0:
        with contextlib.suppress(OSError, ValueError):
            width = os.get_terminal_size(sys.stdout.fileno()).columns
    progress: float | None = None
    if not is_quiet and (environ.get("CI") or not _is_terminal(sys.stderr, environ)):
        seconds = environ.get(PROGRESS_VARIABLE)
        try:
            progress = float(seconds or 10) or None
        except ValueError:
            raise InputError(f"`{seconds}` is not a number of seconds (`{PROGRESS_VARIABLE}`)") from None
    elif not is_quiet:
        progress = 0
    return Terminal(sys.stdout, wants_color(color, sys.stdout, environ), width or None, progress)


def wants_color(color: str, stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Return whether to color the output to ``stream``; ``always`` and ``never`` override the environment.

    ``NO_COLOR`` overrides ``FORCE_COLOR``. Output that git passes to a pager is colored like git's own output.
    """
    if color != "auto":
        return color == "always"
    if environ.get("NO_COLOR"):
        return False
    is_paged = environ.get("GIT_PAGER_IN_USE") in ("true", "1") and environ.get("TERM") != "dumb"
    return bool(environ.get("FORCE_COLOR")) or is_paged or _is_terminal(stream, environ)


def _is_terminal(stream: TextIO, environ: Mapping[str, str]) -> bool:
    return stream.isatty() and environ.get("TERM") != "dumb"


def make_streams_safe() -> None:
    """Escape text that the terminal's encoding lacks; replace a stream that the caller closed by an empty stream."""
    sys.stdin = sys.stdin or _empty_stream("r")
    sys.stdout = sys.stdout or _empty_stream("w")
    sys.stderr = sys.stderr or _empty_stream("w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _empty_stream(mode: str) -> TextIO:
    return cast(TextIO, Path(os.devnull).open(mode, encoding="utf-8"))


def is_stdout_gone() -> bool:
    """Return whether the reader of standard output has gone away."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return True
    return False


def forget_output(out: TextIO) -> None:
    """Point standard output nowhere, so that the flush at the interpreter's end does not fail again."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, out.fileno())
        os.close(nowhere)


def ask(question: str, text: str, terminal: Terminal, options: CommonOptions, *, yes: bool) -> bool:
    """Show the text and return whether the user agrees; with ``--yes``, return True without asking."""
    if options.format == "text":
        terminal.write(text)
    elif not yes:
        terminal.report(text)
    if yes:
        return True
    if not sys.stdin.isatty():
        raise InputError("no terminal for confirmation; nothing changed", hint="`--yes` agrees beforehand")
    return _agrees(question, terminal)


def can_ask() -> bool:
    """Return whether the user can be asked: both standard input and standard error are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def read_answer() -> str:
    """Return the line that the user types, without blanks around it; empty at the end of the input."""
    return sys.stdin.readline().strip()


def choose(question: str, choices: Sequence[str], default: str, terminal: Terminal) -> str:
    """Ask the user until the answer begins one choice, and return that choice; an empty answer is the default."""
    prompt = f"{question} ({'/'.join(choices)}) [{default}]: "
    while True:
        terminal.report(prompt)
        answer = read_answer().lower()
        if not answer:
            return default
        candidates = [choice for choice in choices if choice.startswith(answer)]
        if len(candidates) == 1:
            return candidates[0]
        terminal.report(f"`{answer}` is not one of {', '.join(choices)}\n")


def confirm_loss(name: str | None, typed: str | None, terminal: Terminal) -> bool:
    """Return whether the user has typed the name of a protected destination at which data will be lost.

    It may be ``typed`` beforehand (``--confirm``); ``name`` is None if nothing is protected, or will be lost.
    """
    if name is None or typed == name:
        return True
    if typed is not None:
        raise InputError(f"`{typed}` is not the destination's name; nothing changed", hint=f"it is `{name}`")
    if not sys.stdin.isatty():
        message = f"`{name}` is protected, and this run would lose data; nothing changed"
        raise InputError(message, hint=f"confirm the data loss with `--confirm {name}`; `--yes` is not enough")
    terminal.report(f"`{name}` is protected, and data will be lost. Type its name to confirm: ")
    return sys.stdin.readline().strip() == name


@contextmanager
def deferred_interrupt(terminal: Terminal) -> Iterator[Callable[[], bool]]:
    """Let the first Ctrl-C of the block only be noted, for work that ends between two steps.

    The function that it yields answers whether there was one. A second Ctrl-C interrupts at once.
    """
    is_interrupted = False

    def note(_number: int, _frame: object) -> None:
        nonlocal is_interrupted
        is_interrupted = True
        signal.signal(signal.SIGINT, before)
        terminal.report("the current load is the last one; Ctrl-C again stops it, too\n")

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: is_interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def agreeing(terminal: Terminal) -> Callable[[str], bool] | None:
    """Return the function that asks the user a question without its question mark; None without a terminal."""
    return partial(_agrees, terminal=terminal) if can_ask() else None


def _agrees(question: str, terminal: Terminal) -> bool:
    terminal.report(f"{question}? Type `yes` to confirm: ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")

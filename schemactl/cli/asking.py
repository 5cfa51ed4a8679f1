"""Shows what is to be done, and asks whether it shall be."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

from schemactl.cli.terminal import Terminal
from schemactl.errors import InputError


def ask(question: str, text: str, terminal: Terminal, *, is_agreed: bool, is_shown: bool) -> bool:
    """Return whether the answer is yes; what is asked about is shown in any case.

    Args:
        question: ends without a question mark.
        text: what is to be done.
        terminal: where it is shown.
        is_agreed: whether the answer was given beforehand.
        is_shown: whether ``text`` goes to standard output; else to standard error, where a document takes the place.

    Raises:
        InputError: there is nobody to ask.
    """
    if is_shown:
        terminal.write(text)
    elif not is_agreed:
        terminal.report(text)
    if is_agreed:
        return True
    if not sys.stdin.isatty():
        raise InputError("there is no terminal to ask on, and nothing was done", hint="`--yes` agrees beforehand")
    return _agrees(question, terminal)


def agreeing(terminal: Terminal) -> Callable[[str], bool] | None:
    """Return what asks a person, who is asked without a question mark; None where nobody is there."""
    return partial(_agrees, terminal=terminal) if sys.stdin.isatty() and sys.stderr.isatty() else None


def _agrees(question: str, terminal: Terminal) -> bool:
    terminal.report(f"{question}? Type `yes` to confirm: ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")

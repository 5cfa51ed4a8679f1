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


def confirm_loss(name: str, typed: str | None, terminal: Terminal) -> bool:
    """Return whether a person has typed the name of a protected destination at which data will be lost.

    Args:
        name: of the destination.
        typed: beforehand (``--confirm``); None where nothing was.
        terminal: where it is asked for.

    Raises:
        InputError: another name was typed beforehand, or there is nobody to ask.
    """
    if typed is not None:
        if typed != name:
            raise InputError(f"`{typed}` is not the destination's name, and nothing was done", hint=f"it is `{name}`")
        return True
    if not sys.stdin.isatty():
        message = f"`{name}` is protected, and data would be lost: nothing was done"
        raise InputError(message, hint=f"`--confirm {name}` says so beforehand; `--yes` is not enough")
    terminal.report(f"`{name}` is protected, and data will be lost. Type its name to confirm: ")
    return sys.stdin.readline().strip() == name


def agreeing(terminal: Terminal) -> Callable[[str], bool] | None:
    """Return what asks a person, who is asked without a question mark; None where nobody is there."""
    return partial(_agrees, terminal=terminal) if sys.stdin.isatty() and sys.stderr.isatty() else None


def _agrees(question: str, terminal: Terminal) -> bool:
    terminal.report(f"{question}? Type `yes` to confirm: ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")

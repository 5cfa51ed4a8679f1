"""Shows what is to be done, and asks whether it shall be."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Protocol

from schemactl.cli.terminal import Terminal
from schemactl.errors import InputError


class AskingOptions(Protocol):
    """The options of a command that asks before it changes anything."""

    @property
    def format(self) -> str: ...

    @property
    def yes(self) -> bool: ...


def ask(question: str, text: str, terminal: Terminal, options: AskingOptions) -> bool:
    """Return whether the answer is yes, or ``--yes`` was given; a person sees what is asked about.

    Args:
        question: ends without a question mark.
        text: what is to be done; it goes to standard error where a document takes standard output.
        terminal: where it is shown.
        options: of the command.

    Raises:
        InputError: there is nobody to ask.
    """
    if options.format == "text":
        terminal.write(text)
    elif not options.yes:
        terminal.report(text)
    if options.yes:
        return True
    if not sys.stdin.isatty():
        raise InputError("there is no terminal to ask on, and nothing was done", hint="`--yes` agrees beforehand")
    return _agrees(question, terminal)


def confirm_loss(name: str | None, typed: str | None, terminal: Terminal) -> bool:
    """Return whether a person has typed the name of a protected destination at which data will be lost.

    Args:
        name: of the destination; None where it is not protected, or nothing will be lost.
        typed: beforehand (``--confirm``); None where nothing was.
        terminal: where it is asked for.

    Raises:
        InputError: another name was typed beforehand, or there is nobody to ask.
    """
    if name is None:
        return True
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

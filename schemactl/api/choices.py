"""Checks arguments with a fixed set of words, for callers without a type checker."""

from __future__ import annotations

from collections.abc import Iterable

from schemactl.errors import InputError, nearest_or_all


def check_choice(argument: str, value: str, choices: Iterable[str]) -> None:
    """Raise an error if a value is not a choice of an argument."""
    choices = tuple(choices)
    if value not in choices:
        raise InputError(f"`{value}` is not a choice of `{argument}`", hint=nearest_or_all(str(value), choices))

"""Options and commands that this version removed, each with a hint until the next version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from schemactl.errors import InputError

_SPARK_CONNECT: Final = "use Spark Connect: `--remote sc://HOST:PORT`, see docs/spark.md"

REMOVED_OPTIONS: Final[Mapping[str, str]] = {
    "keep-spark": _SPARK_CONNECT,
    "java-cache": "remove the option; it is no longer needed",
}
"""Hints by the name of an option, which is also its key in settings files."""

REMOVED_COMMANDS: Final[Mapping[str, str]] = {"engine": _SPARK_CONNECT}


def check_removed_option(word: str) -> None:
    """Raise InputError for a removed option, such as ``--keep-spark``."""
    if (hint := REMOVED_OPTIONS.get(word.removeprefix("--"))) is not None:
        raise InputError(f"`{word}` was removed", hint=hint)


def check_removed_command(name: str) -> None:
    """Raise InputError for a removed command."""
    if (hint := REMOVED_COMMANDS.get(name)) is not None:
        raise InputError(f"`schemactl {name}` was removed", hint=hint)

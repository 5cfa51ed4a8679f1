"""Steps that wait for others, and not for long."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import TypeVar

from schemactl.errors import EngineError

REACH_LIMIT_SECONDS = 10
STOP_LIMIT_SECONDS = 5

Answer = TypeVar("Answer")


def check_reachable(what: str, address: str, places: tuple[tuple[str, int], ...]) -> None:
    """Raise EngineError where none of the places listens; without this look Spark tries for minutes."""
    reasons = []
    for place in places:
        try:
            socket.create_connection(place, timeout=REACH_LIMIT_SECONDS).close()
        except OSError as error:
            reasons.append(error.strerror or str(error))
        else:
            return
    if reasons:
        raise EngineError(f"cannot reach {what} `{address}`: {reasons[0].lower()}")


def bounded(work: Callable[[], Answer], seconds: float) -> tuple[Answer] | None:
    """Return the work's answer in a tuple, None where it takes longer; raise what the work raises."""
    answers: list[Answer] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True, name="schemactl-spark")
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    return (answers[0],) if answers else None


def try_bounded(*steps: Callable[[], object]) -> None:
    """Take the steps in order as far as they work; they have a few seconds together."""

    def run() -> None:
        for step in steps:
            with contextlib.suppress(Exception):
                step()

    bounded(run, STOP_LIMIT_SECONDS)

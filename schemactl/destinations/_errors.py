"""Raises errors of drivers as errors of a destination; each destination translates its driver's errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from schemactl.errors import DestinationError


@contextmanager
def wrap_errors(
    translate: Callable[[Exception], DestinationError | None], *, keeps_cause: bool = True
) -> Iterator[None]:
    """Raise the error that ``translate`` returns instead of a driver's; errors for which it returns None pass.

    ``keeps_cause``: whether a traceback may show the driver's own error, which may hold the address with its password.
    """
    try:
        yield
    except Exception as error:
        translated = translate(error)
        if translated is None:
            raise
        raise translated from (error if keeps_cause else None)


def conflict(task: str, reason: object, hint: str) -> DestinationError:
    """Return the error for a table that another program wrote to meanwhile."""
    message = f"cannot {task}: another program wrote to it at the same time: {reason}"
    return DestinationError(message, hint=hint)

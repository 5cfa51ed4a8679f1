"""Errors as text for a person. It imports nothing heavy: an invalid call is answered as fast as a valid one."""

from __future__ import annotations

from collections.abc import Iterator

from schemactl.errors import Location, SchemactlError
from schemactl.render.escaping import escape

MOST_PROBLEMS = 50
"""Problems of one input that are shown."""

_RED, _YELLOW, _BOLD, _CYAN = "1;31", "33", "1", "36"


def render_failure(error: BaseException, color: bool) -> str:
    """Return the text of an error: the fault, its location, and the way out; ends with a line break."""
    if isinstance(error, SchemactlError):
        return "\n".join(_error_lines(error, color)) + "\n"
    message = f": {_lines(str(error))}" if str(error) else ""
    line = f"{_style('error', _RED, color)}: unexpected {type(error).__name__}{message}"
    return f"{line}\n{_hint('this is a fault of schemactl; `--debug` shows the traceback', '', color)}\n"


def render_traceback(error: BaseException) -> str:
    """Return the traceback of an error; each line behind a bar, as in messages."""
    from traceback import format_exception

    return f"  | {_lines(''.join(format_exception(error)).rstrip())}\n"


def render_warning(message: str, color: bool) -> str:
    """Return the line of a warning; ends with a line break."""
    return f"{_style('warning', _YELLOW, color)}: {_lines(message)}\n"


def _error_lines(error: SchemactlError, color: bool) -> Iterator[str]:
    yield _style("error", _RED, color) + ": " + _prefix(error.at, color) + _lines(error.message)
    for problem in error.problems[:MOST_PROBLEMS]:
        yield "  " + _prefix(problem.at, color) + _lines(problem.message)
        if problem.hint:
            yield _hint(problem.hint, "    ", color)
    if len(error.problems) > MOST_PROBLEMS:
        yield f"  and {len(error.problems) - MOST_PROBLEMS:,} more"
    if error.hint:
        yield _hint(error.hint, "", color)


def _hint(hint: str, indent: str, color: bool) -> str:
    return f"{indent}{_style('hint', _CYAN, color)}: {_lines(hint)}"


def _prefix(location: Location | None, color: bool) -> str:
    return _style(escape(str(location)), _BOLD, color) + ": " if location else ""


def _lines(text: str) -> str:
    """Return a message with its lines behind a bar: a name in it may hold line breaks, and no name starts a line.

    CI systems take commands from lines that begin with them, blanks before them or not.
    """
    return "\n  | ".join(escape(line) for line in text.split("\n"))


def _style(text: str, code: str, color: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if color else text

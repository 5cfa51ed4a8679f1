"""A line of progress on standard error while a command works; gone when it is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from schemactl.render.harmless import escape

Progress = Callable[[str, float | None], None]
"""Is told what is being done and how much of it is (0 to 1, None where that is not known)."""


@contextmanager
def show_progress(is_shown: bool) -> Iterator[Progress | None]:
    """Hand out what takes progress, None where nobody looks."""
    if not is_shown:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
    )
    console = Console(file=sys.stderr, highlight=False, markup=False, emoji=False)
    # Standard output is not redirected: what a command prints must not pass through rich.
    bar = Bar(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
    task = bar.add_task("", total=None)

    def report(stage: str, fraction: float | None) -> None:
        # Not before: a command may have to ask first.
        bar.start()
        bar.update(
            task,
            description=escape(stage),
            total=None if fraction is None else 1.0,
            completed=fraction or 0,
        )

    try:
        yield report
    finally:
        bar.stop()

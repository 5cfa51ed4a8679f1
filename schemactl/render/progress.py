"""Shows the progress of a command on standard error: a bar that disappears at the end, or lines without a terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from schemactl.progress import Progress
from schemactl.render.escaping import escape


@contextmanager
def show_progress(seconds: float | None) -> Iterator[Progress | None]:
    """Yield the function that reports progress, None if it is not shown.

    Args:
        seconds: between two lines; 0 for a bar, None for nothing.
    """
    if seconds is None:
        yield None
    elif seconds:
        with _lines(seconds) as report:
            yield report
    else:
        with _bar() as report:
            yield report


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[share]}"),
        TimeElapsedColumn(),
    )
    console = Console(file=sys.stderr, highlight=False, markup=False, emoji=False)
    # Standard output is not redirected: a command's output must not pass through rich.
    bar = Bar(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
    task = bar.add_task("", total=None, share="")

    def report(stage: str, fraction: float | None) -> None:
        # Not earlier: a command may have a question first.
        bar.start()
        bar.update(
            task,
            description=escape(stage) if stage else None,
            total=None if fraction is None else 1.0,
            completed=fraction or 0,
            share=_share(fraction),
        )

    try:
        yield report
    finally:
        bar.stop()


@contextmanager
def _lines(seconds: float) -> Iterator[Progress]:
    """Write a line with the stage every few seconds, for logs."""
    begun = time.monotonic()
    latest: tuple[str, float | None] = ("", None)
    is_over = threading.Event()

    def report(stage: str, fraction: float | None) -> None:
        nonlocal latest
        latest = (stage or latest[0], fraction)

    def write() -> None:
        while not is_over.wait(seconds):
            stage, fraction = latest
            if stage:
                parts = (escape(stage), _share(fraction), f"{time.monotonic() - begun:.0f} s")
                sys.stderr.write(", ".join(filter(None, parts)) + "\n")

    writer = threading.Thread(target=write, daemon=True, name="schemactl-progress")
    writer.start()
    try:
        yield report
    finally:
        is_over.set()
        writer.join()


def _share(fraction: float | None) -> str:
    return "" if fraction is None else f"{fraction:.0%}"

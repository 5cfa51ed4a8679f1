"""Renders ``schemactl files`` for a person: the files of loads with their rows and rejects."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from schemactl.normalization.loaded_files import FilesReport, FileState, LoadedFile
from schemactl.progress import size_text
from schemactl.render.console import FAINT, WARNING, Look, named, print_line, print_sections
from schemactl.render.escaping import escape
from schemactl.schema.wording import counted


def print_files(report: FilesReport, look: Look) -> str:
    """Return the text of ``schemactl files list``."""
    return print_sections([[_title(report)], [_table(report.files)] if report.files else []], look)


def print_forgotten(report: FilesReport, look: Look) -> str:
    """Return the text of ``schemactl files forget``."""
    if report.is_declined:
        return print_line("nothing was forgotten", look)
    effect = "the next `--new-only` loads them again, and their rows stay"
    return print_line(f"forgot {counted(len(report.files), 'file')}: {effect}", look)


def _title(report: FilesReport) -> Text:
    loads = len({file.entry.load_id for file in report.files})
    paths = len({file.entry.file.path for file in report.files})
    counts = f"{counted(paths, 'file')} in {counted(loads, 'load')}" if paths else "no file was loaded"
    return named(report.name, f"{counts} into {escape(report.destination)}")


def _table(files: tuple[LoadedFile, ...]) -> Table:
    grid = Table(box=None, pad_edge=False, header_style=FAINT, padding=(0, 2, 0, 0))
    for name in ("file", "load", "time (UTC)"):
        grid.add_column(name, overflow="fold")
    for name in ("size", "rows", "rejects"):
        grid.add_column(name, justify="right", overflow="fold")
    grid.add_column("state")
    for loaded in files:
        file = loaded.entry.file
        state = Text(str(loaded.state), style="" if loaded.state is FileState.LOADED else WARNING)
        time = f"{loaded.entry.loaded_at:%Y-%m-%d %H:%M:%S}"
        counts = [_count(file.rows), _count(file.rejects)]
        grid.add_row(escape(file.path), escape(loaded.entry.load_id), time, size_text(file.bytes), *counts, state)
    return grid


def _count(number: int | None) -> str:
    """Return a number; loads of earlier versions did not count."""
    return "" if number is None else f"{number:,}"

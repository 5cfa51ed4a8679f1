"""Puts the files of a load in their places, all or none.

New files are first gathered in a hidden folder of the dataset, on the same file system. Then a journal is written,
in one step: which files are to go, and which get which name. From then on the load is certain: should the process be
killed, whoever comes next takes the same steps once more. Without a journal nothing has happened, and what was
gathered is removed. Readers of ours that come in between see what the journal says (``Listing``).
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from schemactl.destinations._journal import Moves, journal_text, read_journal
from schemactl.errors import DestinationError, InputError
from schemactl.store.text import replace_file

FOLDER: Final = ".schemactl-load"
"""Where a load is gathered, in the dataset's folder."""

JOURNAL: Final = "journal.json"
NEW: Final = f"{FOLDER}/new"
"""Where files wait for their places."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a dataset as they are once a journal is carried out.

    Attributes:
        dataset: its folder.
        files: where each file is, by its path in the dataset, sorted.
    """

    dataset: Path
    files: Mapping[str, Path] = field(default_factory=dict)

    def of(self, folder: str) -> dict[str, Path]:
        """Return the files in one of the folders, and in those below, by their path from there."""
        head = f"{folder}/"
        return {name.removeprefix(head): path for name, path in self.files.items() if name.startswith(head)}

    def folders(self) -> tuple[str, ...]:
        """Return the names of the folders that hold files."""
        return tuple(sorted({name.partition("/")[0] for name in self.files if "/" in name}))


def list_files(dataset: Path) -> Listing:
    """Return the files of a dataset; hidden ones do not count. A folder that does not exist has none.

    Raises:
        DestinationError: a folder cannot be listed, or the journal of a killed load cannot be read.
    """
    journal = find_journal(dataset) or Moves()
    files = {name: path for name, path in _walk(dataset, "") if name not in journal.removals}
    waiting = {new: dataset / old for old, new in journal.moves if (dataset / old).is_file()}
    return Listing(dataset, dict(sorted({**files, **waiting}.items())))


def find_journal(dataset: Path) -> Moves | None:
    """Return what a killed load had still to do, None for nothing; ``DestinationError`` if it is unreadable."""
    path = dataset / FOLDER / JOURNAL
    try:
        return read_journal(Moves, path.read_text(encoding="utf-8"), f"`{path}`")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise DestinationError(f"cannot read the journal `{path}`: {error}") from error


def commit(dataset: Path, journal: Moves) -> None:
    """Make a gathered load certain, and carry it out.

    Raises:
        OSError: a file cannot be moved; a journal that is written by then stays, for ``recover``.
        DestinationError: the journal cannot be written.
    """
    for old, _ in journal.moves:
        _sync(dataset / old)
    write_text(dataset / FOLDER / JOURNAL, journal_text(journal))
    _carry_out(dataset, journal)


def write_text(path: Path, text: str) -> None:
    """Replace a text file in one step; raises ``DestinationError`` where it cannot be written."""
    try:
        replace_file(path, text)
    except InputError as error:
        raise DestinationError(error.message, hint=error.hint) from error


def recover(dataset: Path) -> None:
    """Finish or forget what a killed load has left; call it while no other load can write.

    Raises:
        OSError: a file cannot be moved or removed.
        DestinationError: the journal cannot be read, or files that it lists are gone.
    """
    journal = find_journal(dataset)
    if journal is not None:
        _carry_out(dataset, journal)
    elif (dataset / FOLDER).exists():
        shutil.rmtree(dataset / FOLDER)


def forget_gathered(dataset: Path) -> None:
    """Remove what is gathered, unless a journal has made it certain; the next one does so where it fails."""
    with suppress(OSError):
        if not (dataset / FOLDER / JOURNAL).exists():
            shutil.rmtree(dataset / FOLDER)


def check_device(folder: Path, dataset: Path) -> None:
    """Raise ``DestinationError`` where files cannot be moved to a folder in one step: it is on another file system."""
    if folder.exists() and folder.stat().st_dev != dataset.stat().st_dev:
        raise DestinationError(f"`{folder}` is on another file system than `{dataset}`: nothing can be moved there")


def check_rights(folder: Path) -> None:
    """Raise ``DestinationError`` where files cannot be put into a folder, or taken from it, before the first one is."""
    if folder.exists() and not os.access(folder, os.W_OK | os.X_OK):
        raise DestinationError(f"`{folder}` cannot be written to: nothing was loaded", hint=f"chmod u+wx {folder}")


def _carry_out(dataset: Path, journal: Moves) -> None:
    touched = {(dataset / name).parent for name in (*journal.removals, *(new for _, new in journal.moves))}
    for name in journal.removals:
        (dataset / name).unlink(missing_ok=True)
    for old, new in journal.moves:
        _move(dataset / old, dataset / new)
    for folder in touched:
        _sync(folder)
    # First the journal: without it, what is left of the folder is nothing.
    (dataset / FOLDER / JOURNAL).unlink()
    shutil.rmtree(dataset / FOLDER, ignore_errors=True)


def _move(old: Path, new: Path) -> None:
    new.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.replace(old, new)  # noqa: PTH105 - as the other steps, it is the system's own
    except FileNotFoundError as error:
        # A load that is carried out a second time finds it moved.
        if not new.is_file():
            raise DestinationError(f"`{old}` is gone: the load that was broken off cannot be finished") from error


def _sync(path: Path) -> None:
    if sys.platform == "win32":  # it opens no folder, and flushes only files that may be written
        if path.is_dir():
            return
        mode = os.O_RDWR
    else:
        mode = os.O_RDONLY
    descriptor = os.open(path, mode)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _walk(folder: Path, head: str) -> Iterator[tuple[str, Path]]:
    """Yield files, those of tables right in their folders or in partitions (``day=2024-01-31``)."""
    for path in entries(folder):
        if path.is_dir():
            if head and "=" not in path.name:
                continue
            yield from _walk(path, f"{head}{path.name}/")
        else:
            yield f"{head}{path.name}", path


def entries(folder: Path) -> Iterable[Path]:
    """Return what stands in a folder, sorted, but for what is hidden; ``DestinationError`` if it is unreadable."""
    if not folder.is_dir():
        return ()
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise DestinationError(f"cannot list `{folder}`: {error.strerror or error}") from error


def folders_in(folder: Path) -> list[Path]:
    """Return the folders in a folder, as ``entries`` does."""
    return [each for each in entries(folder) if each.is_dir()]

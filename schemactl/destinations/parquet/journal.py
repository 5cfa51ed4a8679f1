"""Puts the files of a load in their places, all or none.

New files are first gathered in a hidden folder of the dataset, on the same file system. Then a journal is written, in
one step: which files go, and which files get which name. From then on the load is certain: if the process is killed,
the next command repeats the steps. Without a journal the load has not happened, and gathered files are removed. Our
readers in between see the state after the journal (``Listing``).
"""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from schemactl.destinations._bookkeeping import is_bookkeeping
from schemactl.destinations._catalogue import OURS
from schemactl.destinations._folder import is_link, is_plain_name, link_error, read_text, refuse_links, remove_folder
from schemactl.destinations._journal import Moves, journal_error, journal_text, read_journal
from schemactl.errors import CommandWarning, DestinationError, InputError
from schemactl.store.text import remove_leftovers, replace_file

FOLDER: Final = ".schemactl-load"
"""The folder in the dataset in which a load is gathered."""

JOURNAL: Final = "journal.json"
NEW: Final = f"{FOLDER}/new"
"""The folder of files that wait for their places."""


INIT: Final = "init"
"""The file by which dlt recognizes a dataset."""

PARQUET_ENDING: Final = ".parquet"
"""The ending of files that hold rows of tables."""

JSONL_ENDING: Final = ".jsonl"
"""The ending of files that record loads and migrations."""


_MOST_LEVELS: Final = 64
"""Folders in each other: of a table and of its partitions."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a dataset in the state after its journal.

    Attributes:
        dataset: its folder.
        files: the current path of each file, by its path in the dataset, sorted.
        links: the paths in the dataset of links that replace files and folders of a dataset.
    """

    dataset: Path
    files: Mapping[str, Path] = field(default_factory=dict)
    links: tuple[str, ...] = ()

    def of(self, folder: str) -> dict[str, Path]:
        """Return the files in one of the folders and below, by their path from there.

        Raises:
            DestinationError: the folder is a link, or holds one.
        """
        head = f"{folder}/"
        for name in self.links:
            if f"{name}/".startswith(head):
                raise link_error(self.dataset / name)
        return {name.removeprefix(head): path for name, path in self.files.items() if name.startswith(head)}

    def folders(self) -> tuple[str, ...]:
        """Return the names of the folders that hold files, or links in their place."""
        inner_paths = [name for name in (*self.files, *self.links) if "/" in name]
        linked_folders = [name for name in self.links if (self.dataset / name).is_dir()]
        return tuple(sorted({name.partition("/")[0] for name in (*inner_paths, *linked_folders)}))


def list_files(dataset: Path) -> Listing:
    """Return the files of a dataset without hidden ones; empty for a folder that does not exist."""
    journal = find_journal(dataset) or Moves()
    paths = dict(_walk(dataset, ""))
    links = tuple(name for name, path in paths.items() if is_link(path))
    files = {name: path for name, path in paths.items() if name not in journal.removals and name not in links}
    waiting = {new: dataset / old for old, new in journal.moves if (dataset / old).is_file()}
    return Listing(dataset, dict(sorted({**files, **waiting}.items())), links)


def find_journal(dataset: Path) -> Moves | None:
    """Return the moves that a killed load had still to do, None without any."""
    path = dataset / FOLDER / JOURNAL
    text = read_text(dataset, path)
    if text is None:
        return None
    journal = read_journal(Moves, text, f"`{path}`")
    for old, new in journal.moves:
        if old != f"{NEW}/{new}":
            raise journal_error(f"`{path}`", f"`{new}` comes from `{old}`, not from `{NEW}/{new}`")
        refuse_links(dataset, dataset / old)
    _check_places(dataset, journal)
    return journal


def _check_places(dataset: Path, journal: Moves) -> None:
    """Refuse a journal that names other files than a load does, or passes through links."""
    journal_name = f"`{dataset / FOLDER / JOURNAL}`"
    for name in journal.removals:
        if not _is_of_table(name):
            raise journal_error(journal_name, f"no load removes `{name}`")
    targets = [new for _, new in journal.moves]
    for name in targets:
        folder, _, file = name.rpartition("/")
        is_of_load = is_bookkeeping(folder) and is_plain_name(file) and file.endswith(JSONL_ENDING)
        if not (name == INIT or is_of_load or _is_of_table(name)):
            raise journal_error(journal_name, f"no load creates `{name}`")
    # Repeated, it would remove the files that the first run has moved.
    if len({*targets, *journal.removals}) < len(targets) + len(journal.removals):
        raise journal_error(journal_name, "it names a file twice")
    for name in (*journal.removals, *targets):
        refuse_links(dataset, dataset / name)


def _is_of_table(name: str) -> bool:
    """Return whether a path in a dataset is that of a table's file, right in its folder or in partitions."""
    table, *partitions, file = name.split("/") if "/" in name else ("", name)
    is_named = all(map(is_plain_name, (table, *partitions, file)))
    return is_named and all("=" in step for step in partitions) and file.endswith(PARQUET_ENDING)


def commit(dataset: Path, journal: Moves) -> None:
    """Make a gathered load certain, and carry it out.

    Raises:
        OSError: a file cannot be moved; a journal that is written by then stays, for ``recover``.
        DestinationError: the journal cannot be written.
    """
    _check_places(dataset, journal)
    for old, _ in journal.moves:
        _sync(dataset / old)
    write_text(dataset, dataset / FOLDER / JOURNAL, journal_text(journal))
    _carry_out(dataset, journal)


def write_text(folder: Path, path: Path, text: str) -> None:
    """Replace a text file in a destination's folder in one step."""
    refuse_links(folder, path)
    try:
        replace_file(path, text)
    except InputError as error:
        raise DestinationError(error.message, hint=error.hint) from error


def recover(dataset: Path) -> None:
    """Finish or forget a killed load, and warn of it; remove what killed commands were writing to the bookkeeping.

    Call it while no other load can write. ``OSError`` if a file cannot be moved or removed.
    """
    for folder in (dataset, *folders_in(dataset)):
        is_ours = folder == dataset or is_bookkeeping(folder.name) or folder.name.startswith(OURS)
        if is_ours and not is_link(folder):
            remove_leftovers(folder)
    journal = find_journal(dataset)
    if journal is None:
        remove_folder(dataset, dataset / FOLDER)
        return
    _carry_out(dataset, journal)
    counts = f"files moved: {len(journal.moves):,}, removed: {len(journal.removals):,}"
    message = f"finished an interrupted load or migration step in `{dataset}` ({counts})"
    warnings.warn(CommandWarning(message), stacklevel=2)


def forget_gathered(dataset: Path) -> None:
    """Remove gathered files, unless a journal has made them certain; if this fails, the next load removes them."""
    with suppress(OSError):
        if not (dataset / FOLDER / JOURNAL).exists():
            shutil.rmtree(dataset / FOLDER)


def check_device(folder: Path, dataset: Path) -> None:
    """Raise ``DestinationError`` if files cannot be moved to a folder in one step: it is on another file system."""
    if folder.exists() and folder.stat().st_dev != dataset.stat().st_dev:
        raise DestinationError(f"`{folder}` is on another file system than `{dataset}`, so files cannot be moved")


def check_rights(folder: Path) -> None:
    """Raise ``DestinationError`` if files cannot be put into a folder, or removed from it, before any file is."""
    if folder.exists() and not os.access(folder, os.W_OK | os.X_OK):
        raise DestinationError(f"`{folder}` is not writable: nothing loaded", hint=f"chmod u+wx {folder}")


def _carry_out(dataset: Path, journal: Moves) -> None:
    touched = {(dataset / name).parent for name in (*journal.removals, *(new for _, new in journal.moves))}
    for name in journal.removals:
        (dataset / name).unlink(missing_ok=True)
    for old, new in journal.moves:
        _move(dataset / old, dataset / new)
    for folder in touched:
        _sync(folder)
    # The journal goes first: a folder without a journal can be removed at any time.
    (dataset / FOLDER / JOURNAL).unlink()
    shutil.rmtree(dataset / FOLDER, ignore_errors=True)


def _move(old: Path, new: Path) -> None:
    new.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.replace(old, new)  # noqa: PTH105 - one system call, as for the other steps
    except FileNotFoundError as error:
        # A load that is carried out a second time finds it moved.
        if not new.is_file():
            raise DestinationError(f"`{old}` is missing: the interrupted load cannot be finished") from error


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
    """Yield files, of tables directly in their folders or in partitions (``day=2024-01-31``), and links to any."""
    if head.count("/") > _MOST_LEVELS:
        raise DestinationError(f"`{folder}` is nested too deep", hint=f"at most {_MOST_LEVELS} nested folders")
    for path in _entries(folder):
        name = f"{head}{path.name}"
        counts = not head or path.name.endswith((PARQUET_ENDING, JSONL_ENDING)) or "=" in path.name
        if is_link(path):
            if counts:
                yield name, path
        elif path.is_dir():
            if not head or "=" in path.name:
                yield from _walk(path, f"{name}/")
        elif counts and not path.is_file():
            raise DestinationError(f"`{path}` is neither a file nor a folder", hint="remove it")
        else:
            yield name, path


def _entries(folder: Path) -> list[Path]:
    """Return the paths in a folder, sorted, without hidden ones; ``DestinationError`` if it is unreadable."""
    if not folder.is_dir():
        return []
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise DestinationError(f"cannot list `{folder}`: {error.strerror or error}") from error


def folders_in(folder: Path) -> list[Path]:
    """Return the folders in a folder, links to some among them, as ``list_files`` lists."""
    return [path for path in _entries(folder) if path.is_dir()]

"""What a person should know of sources, though it stops nothing: what is not read, or not as it stands."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from schemactl.store.sources import LeftOutWarning, is_local

_MOST_NAMED: Final = 5
_PARTITION: Final = re.compile(r"(?P<column>[^=]+)=.+")


def warn_of_unknown(paths: Sequence[str]) -> None:
    """Name the files of a folder or a pattern that have no known format."""
    if paths:
        what = "a file of no known format was" if len(paths) == 1 else f"{len(paths):,} files of no known format were"
        warn(f"{what} left out: {_named(paths)}; `--input-format` reads all files as of one format", paths)


def warn_of_texts(paths: Sequence[str]) -> None:
    """Name the plain texts that stand in a folder beside records."""
    if paths:
        what = (
            "a plain text beside records was" if len(paths) == 1 else f"{len(paths):,} plain texts beside records were"
        )
        warn(f"{what} left out: {_named(paths)}; a pattern like `'DIR/*.txt'` reads them", paths)


def _named(paths: Sequence[str]) -> str:
    shown = ", ".join(f"`{path}`" for path in paths[:_MOST_NAMED])
    return f"{shown} and {len(paths) - _MOST_NAMED:,} more" if len(paths) > _MOST_NAMED else shown


def warn_of_partitions(paths: Sequence[str]) -> None:
    """Name the columns that stand in the names of folders only (``year=2024``), as Hive and Spark write them.

    Files are read one by one, as dlt's ``filesystem`` source reads them: it makes no columns of such names either.
    """
    columns: dict[str, str] = {}
    for path in paths:
        for part in Path(path).parts[:-1] if is_local(path) else ():
            if found := _PARTITION.fullmatch(part):
                columns.setdefault(found["column"], part)
    if columns:
        shown = ", ".join(f"`{column}` (`{part}`)" for column, part in columns.items())
        warn(f"what the names of folders tell becomes no column: {shown}")


def warn_of_renamed(cells: Sequence[str], names: Sequence[str], paths: Sequence[str]) -> None:
    """Tell of columns whose names in the header are blank or equal: Spark numbers them.

    Args:
        cells: the header.
        names: the names that its columns go by.
        paths: the files that have this header.
    """
    changed = [(cell, name) for cell, name in zip(cells, names, strict=False) if cell != name]
    if changed and len(cells) == len(names):
        shown = ", ".join(f"`{name}` for {f'`{cell}`' if cell else 'a blank'}" for cell, name in changed[:_MOST_NAMED])
        more = f" and {len(changed) - _MOST_NAMED:,} more" if len(changed) > _MOST_NAMED else ""
        warn(f"columns of one name, or of none, are read by their numbers in {_named(paths)}: {shown}{more}", paths)


def warn_of_nanoseconds(values: Mapping[str, int]) -> None:
    """Tell how many values of which columns are cut to microseconds, Spark's own unit."""
    if values:
        shown = ", ".join(f"{count:,} in `{name}`" for name, count in values.items())
        warn(f"timestamps with nanoseconds are cut to microseconds: {shown}")


def warn(message: str, paths: Sequence[str] = ()) -> None:
    """Warn of what is left out, in the name of the caller's caller."""
    warnings.warn(LeftOutWarning(message, paths), stacklevel=4)

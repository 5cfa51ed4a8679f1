"""Warns of source content that is skipped or changed without stopping a load, and of unlike files for one table."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from schemactl.engine.csv_header import SEPARATORS, read_header
from schemactl.engine.input import Input, read_head
from schemactl.errors import InputError, first_names
from schemactl.store.sources import LeftOutWarning, is_local

_MOST_NAMED: Final = 5
_MOST_FILES: Final = 100
_MOST_RECORDS: Final = 20
_MOST_KEYS: Final = 4
_BETWEEN: Final = re.compile(r"[\s,\[]*")
_PARTITION: Final = re.compile(r"(?P<column>[^=]+)=.+")


def warn_of_left_out(paths: Sequence[str], singular: str, plural: str, way: str = "") -> None:
    """Name the files of a folder or a pattern that are left out, and the way to read them."""
    if paths:
        subject = f"{singular} was" if len(paths) == 1 else f"{len(paths):,} {plural} were"
        warn(f"{subject} skipped: {_first_paths(paths)}{way}", paths)


def _first_paths(paths: Sequence[str]) -> str:
    return first_names([f"`{path}`" for path in paths], _MOST_NAMED)


def warn_of_partitions(paths: Sequence[str]) -> None:
    """Name the columns that are in the names of folders only (``year=2024``), as Hive and Spark write them.

    Files are read one by one, as dlt's ``filesystem`` source reads them: it makes no columns of such names either.
    """
    columns: dict[str, str] = {}
    for path in paths:
        for folder_name in Path(path).parts[:-1] if is_local(path) else ():
            if partition_match := _PARTITION.fullmatch(folder_name):
                columns.setdefault(partition_match["column"], folder_name)
    if columns:
        column_list = ", ".join(f"`{column}` (`{folder_name}`)" for column, folder_name in columns.items())
        warn(f"values in folder names do not become columns: {column_list}")


def warn_of_renamed(cells: Sequence[str], names: Sequence[str], paths: Sequence[str]) -> None:
    """Report columns whose names in the header are blank or equal: Spark numbers them, and they go by ``names``."""
    changed = [(cell, name) for cell, name in zip(cells, names, strict=False) if cell != name]
    if changed and len(cells) == len(names):
        renames = [f"`{name}` for {f'`{cell}`' if cell else 'a blank'}" for cell, name in changed]
        subject = f"duplicate or blank column names in {_first_paths(paths)}"
        warn(f"{subject} were numbered: {first_names(renames, _MOST_NAMED)}", paths)


def warn_of_durations(columns: Mapping[str, Sequence[str]]) -> None:
    """Name the columns whose durations are read as whole numbers, with their units, and the files that have them."""
    if columns:
        paths = list(dict.fromkeys(path for column_paths in columns.values() for path in column_paths))
        column_list = ", ".join(columns)
        warn(f"durations in {_first_paths(paths)} are read as whole numbers of their unit: {column_list}", paths)


def warn_of_cuts(values: Mapping[str, int], where: str = "timestamps with nanoseconds are cut to microseconds") -> None:
    """Report columns that lose nanoseconds, with the number of their values."""
    if values:
        warn(f"{where}: " + ", ".join(f"{count:,} in `{name}`" for name, count in values.items()))


def warn(message: str, paths: Sequence[str] = ()) -> None:
    """Warn of skipped content, in the name of the caller's caller."""
    warnings.warn(LeftOutWarning(message, paths), stacklevel=4)


def warn_of_unlike(inputs: Sequence[Input]) -> None:
    """Warn of files whose records have next to no key in common, with an example of each kind.

    The first files on this machine are looked at, by their first records. Formats whose keys need a special parser, and
    files that only Spark can read, are skipped.
    """
    kinds: list[tuple[str, frozenset[str]]] = []
    for file in islice((file for file in inputs if file.is_local), _MOST_FILES):
        keys = first_keys(file)
        # Two kinds are alike if they share a third of the keys of one.
        if keys and all(3 * len(keys & kind_keys) < min(len(keys), len(kind_keys)) for _, kind_keys in kinds):
            kinds.append((file.path, keys))
    if len(kinds) > 1:
        file_keys = (
            (path, ", ".join(f"`{key}`" for key in sorted(keys)[:_MOST_KEYS]), len(keys) > _MOST_KEYS)
            for path, keys in kinds[:3]
        )
        key_list = "; ".join(f"`{path}` has {keys}{' ...' if are_more else ''}" for path, keys, are_more in file_keys)
        way = "separate them with `--table-per-file` or `--table NAME=SOURCE`"
        message = f"files with different fields go to the same table: {key_list}; {way}"
        warnings.warn(LeftOutWarning(message, [path for path, _ in kinds]), stacklevel=2)


def first_keys(file: Input) -> frozenset[str]:
    """Return the keys of a file's first records; empty if they cannot be read."""
    try:
        match file.format:
            case "parquet":
                import pyarrow.parquet

                return frozenset(pyarrow.parquet.read_schema(file.path).names)
            case "csv" | "tsv":
                return frozenset(read_header(read_head(file), SEPARATORS.get(file.format), file.has_header).cells())
            case "ndjson" | "json":
                return frozenset(key for record in _records(read_head(file)) for key in record)
            case _:
                return frozenset()
    except (InputError, OSError, ValueError):
        # The scan reports the fault of the file.
        return frozenset()


def _records(head: str) -> Iterator[dict[str, object]]:
    """Yield the first objects of a text: of its lines, or of one document or list."""
    decoder, position = json.JSONDecoder(), 0
    for _ in range(_MOST_RECORDS):
        between = _BETWEEN.match(head, position)
        try:
            record, position = decoder.raw_decode(head, between.end() if between else position)
        except (ValueError, RecursionError):
            return  # the head ends here
        if isinstance(record, dict):
            yield record

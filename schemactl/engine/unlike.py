"""Finds files that are unlike by their first records, and warns where they would go into one table."""

from __future__ import annotations

import csv
import json
import re
import warnings
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from schemactl.engine.input import Input, read_head
from schemactl.errors import InputError
from schemactl.store.sources import LeftOutWarning

_MOST_FILES: Final = 100
_MOST_RECORDS: Final = 20
_MOST_KEYS: Final = 4
_BETWEEN: Final = re.compile(r"[\s,\[]*")


def warn_of_unlike(inputs: Sequence[Input]) -> None:
    """Warn of files whose records have next to no key in common, with an example of each kind.

    The first files on this machine are looked at, by their first records. Of formats whose keys need a parser of
    their own, and of what only Spark can read, nothing is said.
    """
    kinds: list[tuple[str, frozenset[str]]] = []
    for each in islice((each for each in inputs if each.is_local), _MOST_FILES):
        keys = first_keys(each)
        if keys and not any(_is_alike(keys, known) for _, known in kinds):
            kinds.append((each.path, keys))
    if len(kinds) > 1:
        shown = "; ".join(f"`{path}` has {_named(keys)}" for path, keys in kinds[:3])
        message = f"unlike files go to one table: {shown}; `--table-per-file` or `--table NAME=SOURCE` parts them"
        warnings.warn(LeftOutWarning(message, [path for path, _ in kinds]), stacklevel=2)


def first_keys(each: Input) -> frozenset[str]:
    """Return the keys of a file's first records; none where they cannot be found out."""
    try:
        match each.format:
            case "parquet":
                import pyarrow.parquet

                return frozenset(pyarrow.parquet.read_schema(each.path).names)
            case "csv" | "tsv":
                return frozenset(_header(read_head(each), each.format))
            case "ndjson" | "json":
                return frozenset(key for record in _records(read_head(each)) for key in record)
            case _:
                return frozenset()
    except (InputError, OSError, ValueError):
        # The scan says where a file is broken, and how.
        return frozenset()


def _is_alike(left: frozenset[str], right: frozenset[str]) -> bool:
    """Return whether a third of the keys of one are keys of the other too."""
    return 3 * len(left & right) >= min(len(left), len(right))


def _header(head: str, kind: str) -> list[str]:
    line = head.partition("\n")[0]
    separator = "\t" if kind == "tsv" else max(",;\t|", key=line.count)
    return next(csv.reader([line.rstrip("\r")], delimiter=separator), [])


def _records(head: str) -> Iterator[dict[str, object]]:
    """Yield the first objects of a text: of its lines, or of one document or list."""
    decoder, at = json.JSONDecoder(), 0
    for _ in range(_MOST_RECORDS):
        between = _BETWEEN.match(head, at)
        try:
            record, at = decoder.raw_decode(head, between.end() if between else at)
        except (ValueError, RecursionError):
            return  # the head ends here
        if isinstance(record, dict):
            yield record


def _named(keys: frozenset[str]) -> str:
    shown = sorted(keys)[:_MOST_KEYS]
    return ", ".join(f"`{key}`" for key in shown) + (" ..." if len(keys) > _MOST_KEYS else "")

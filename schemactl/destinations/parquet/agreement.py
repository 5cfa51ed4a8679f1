"""Whether the files of one table say the same of its columns, by their footers alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from schemactl.destinations.parquet.catalogue import file_columns, stored
from schemactl.destinations.parquet.nested import are_read_together
from schemactl.schema.types import Column

ANEW: Final = "write the files anew that have another type, then migrate"
"""What to do where files disagree."""

_MOST_LETTERS: Final = 60
"""How much is reported of a type that has fields of its own."""

_MOST_FILES: Final = 3
"""How many names of files are reported of one type."""


def disagreement(files: Mapping[str, Path]) -> str | None:
    """Return which columns have different types in files of a table, and in which files; None where none has.

    Sizes may differ: files of narrow and of wide integers are read together, and structs with more and less fields.

    Args:
        files: by name; the last one says what the table is.

    Raises:
        DestinationError: a file cannot be read.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for name, file in reversed(list(files.items())):
        for column in file_columns(file).values():
            found.setdefault(column.name, {}).setdefault(_kind(column), []).append(name)
    described = [
        _describe(column, kinds) for column, kinds in found.items() if len(kinds) > 1 and not are_read_together(kinds)
    ]
    return "; ".join(described) or None


def _describe(column: str, kinds: Mapping[str, list[str]]) -> str:
    said = [f"{_short(kind)} in {_listed(sorted(names))}" for kind, names in kinds.items()]
    return f"`{column}` is {', and '.join(said)}"


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:_MOST_FILES])
    rest = len(names) - _MOST_FILES
    return f"{shown} and {rest:,} more" if rest > 0 else shown


def _kind(column: Column) -> str:
    kind = stored(column)
    zone = " without time zone" if kind.get("timezone") is False else ""
    return f"{kind.get('data_type') or next(iter(kind.values()))}{zone}"


def _short(kind: str) -> str:
    return kind if len(kind) <= _MOST_LETTERS else f"{kind[:_MOST_LETTERS]}…"

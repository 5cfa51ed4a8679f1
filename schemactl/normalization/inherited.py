"""What rows take from those above them, besides the links: columns that the config copies down (docs/dlt.md §5.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from schemactl.inference.paths import Path
from schemactl.schema.types import DataType


@dataclass(frozen=True, slots=True)
class Inherited:
    """One value of a row above.

    Attributes:
        name: the column here.
        path: where the value stands; of ``made`` values, the path of the rows that they are made for.
        kinds: the types that were met there.
        made: the column of dlt's own that holds it there, None for values of the data.
    """

    name: str
    path: Path
    kinds: frozenset[DataType]
    made: str | None = None


def handed_down(
    above: tuple[Inherited, ...], row: Iterable[Inherited], mapping: Mapping[str, str]
) -> tuple[Inherited, ...]:
    """Return what the rows below inherit.

    Args:
        above: what the row has inherited itself: it goes down with the rest.
        row: every value of the row under its name there, later ones over earlier ones.
        mapping: the columns that the row copies down, with their names below.
    """
    values = tuple(row)
    added = [
        replace(value, name=target) for column, target in mapping.items() for value in values if value.name == column
    ]
    # dlt makes its values for every row, so nothing of those from further up is left; data may be missing.
    covered = {value.name for value in added if value.made}
    mixed = {value.name for value in added}
    kept = [value for value in above if value.name not in covered and not (value.made and value.name in mixed)]
    return (*kept, *added)

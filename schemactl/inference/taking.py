"""Finds the values that each column takes: those of the classes at its source paths, with their evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from schemactl.inference.classes import LIST, OBJECT, kind_of
from schemactl.inference.evidence import ClassEvidence, Evidence
from schemactl.inference.paths import Path
from schemactl.inference.resolve import Origin, Resolution
from schemactl.inference.values import TYPED, TypedValue, fits
from schemactl.schema.naming import Naming, naming_of
from schemactl.schema.types import VARIANT_ENDINGS, DataType, Schema, Table

_DATA_TYPES: Final = frozenset(map(str, DataType))

Seen = tuple[str, ClassEvidence]
"""A class of values and its evidence."""


class Taking:
    """Resolution and evidence, indexed once: what stands at the source paths of each column."""

    def __init__(self, resolution: Resolution, evidence: Evidence) -> None:
        self.resolution = resolution
        self.evidence = evidence
        self.bases = variant_bases(resolution.schema)
        self._of_stated = _columns_of_stated(resolution)
        self._totals: Counter[tuple[str, Path]] = Counter()
        for origin in resolution.taken:
            for path, _, of_class in self._taken(origin):
                self._totals[origin[0], path] += of_class.count

    def taken(self, origin: Origin) -> list[Seen]:
        """Return the classes that a column takes, with their evidence."""
        return [(name, of_class) for _, name, of_class in self._taken(origin)]

    def total(self, table: str, sources: Iterable[Path]) -> int:
        """Return how many values from ``sources`` all columns of the table take, variants included."""
        return sum(self._totals[table, path] for path in sources)

    def _taken(self, origin: Origin) -> Iterator[tuple[Path, str, ClassEvidence]]:
        for path, name in self.resolution.taken.get(origin, ()):
            for class_name, of_class in self._at(origin, path, name):
                yield path, class_name, of_class

    def _at(self, origin: Origin, path: Path, name: str) -> Iterator[Seen]:
        """Yield what a column takes at a path under one class; ``TYPED`` is any class of a stated type."""
        counted = self.evidence.counted.get(path, {})
        if name == TYPED:
            yield from (each for each in counted.items() if self._is_stated_for(origin, path, each[0]))
            return
        if (of_class := self.evidence.paths.get(path, {}).get(name)) is not None:
            yield name, of_class
        kind = kind_of(name)
        if kind in (OBJECT, LIST) and kind in counted:
            yield kind, counted[kind]

    def _is_stated_for(self, origin: Origin, path: Path, name: str) -> bool:
        """Return whether values of a stated type go to this column: it may be a variant, or have some beside it."""
        if name not in _DATA_TYPES:
            return False
        takers = self._of_stated[origin[0], path]
        value = TypedValue({"data_type": name})
        fitting = (taker for taker in takers if fits(value, self._type_of(taker)))
        # Columns stand before their variants, which take values of their own type alone.
        own = (taker for taker in takers if taker in self.bases and self._type_of(taker) == name)
        base = next((taker for taker in fitting if taker not in self.bases), None)
        return origin == (base or next(own, None) or takers[0])

    def _type_of(self, origin: Origin) -> DataType:
        table, column = origin
        return DataType(self.resolution.schema.tables[table].columns[column].properties["data_type"])


def _columns_of_stated(resolution: Resolution) -> dict[tuple[str, Path], list[Origin]]:
    """Return by table and path the columns that take values of stated types."""
    found: dict[tuple[str, Path], list[Origin]] = {}
    for origin, taken in resolution.taken.items():
        for path, name in taken:
            if name == TYPED:
                found.setdefault((origin[0], path), []).append(origin)
    return found


def variant_bases(schema: Schema) -> dict[Origin, str]:
    """Return for each variant column the column whose values of other types it takes (docs/dlt.md §6.5)."""
    naming = naming_of(schema)
    bases: dict[Origin, str] = {}
    for table in schema.tables.values():
        beside = _variants_beside(table, naming)
        for variant in beside:
            base = variant
            while base in beside:
                base = beside[base]
            bases[table.name, variant] = base
    return bases


def _variants_beside(table: Table, naming: Naming) -> dict[str, str]:
    """Return the variants of a table, each with the column that its name starts from; that may be a variant too."""
    variants = {column.name for column in table.columns.values() if column.is_variant}
    if not variants:
        return {}
    beside: dict[str, str] = {}
    for name in table.columns:
        for variant in {naming.shorten_fragments(name, ending) for ending in VARIANT_ENDINGS} & variants - {name}:
            beside.setdefault(variant, name)
    return beside

"""What a resolution means for a person: findings made from evidence and the schemas before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TypeVar

from schemactl.inference.classes import kind_of
from schemactl.inference.evidence import ClassEvidence, Evidence
from schemactl.inference.paths import ELEMENT, Path, format_path
from schemactl.inference.relational import NO_PATH
from schemactl.inference.report import (
    CollisionFinding,
    ColumnFinding,
    FileFinding,
    NullFinding,
    TableFinding,
    ViolationFinding,
)
from schemactl.inference.resolve import Origin, Resolution
from schemactl.schema.collisions import numbered
from schemactl.schema.contract import Violation
from schemactl.schema.naming import Naming
from schemactl.schema.types import Column, Schema, Table

Number = TypeVar("Number", int, float)


def find_tables(before: Schema, after: Schema, resolution: Resolution, evidence: Evidence) -> tuple[TableFinding, ...]:
    """Return the tables of ``after`` that are new in it or have new or changed columns."""
    found = (_find_table(before.tables.get(name), table, resolution, evidence) for name, table in after.tables.items())
    return tuple(table for table in found if table.is_new or table.columns)


def _find_table(before: Table | None, table: Table, resolution: Resolution, evidence: Evidence) -> TableFinding:
    known = before.columns if before else {}
    columns = tuple(
        _find_column(table.name, known.get(name), column, resolution, evidence)
        for name, column in table.columns.items()
        if known.get(name) != column and column.data_type
    )
    return TableFinding(table.name, table.parent, before is None, columns)


def _find_column(
    table: str, before: Column | None, column: Column, resolution: Resolution, evidence: Evidence
) -> ColumnFinding:
    origin = (table, column.name)
    sources = resolution.sources(origin)
    seen = list(_taken(origin, resolution, evidence))
    kinds: Counter[str] = Counter()
    for name, of_class in seen:
        kinds[kind_of(name)] += of_class.count
    known = [of_class for _, of_class in seen]
    first = min(known, key=lambda of_class: of_class.first, default=None)
    others = sorted((of_class for of_class in known if of_class is not first), key=lambda of_class: of_class.first)
    examples = [example for of_class in ([first] if first else []) + others for example in of_class.examples]
    texts = [of_class for name, of_class in seen if kind_of(name) == "text"]
    return ColumnFinding(
        name=column.name,
        before=str(before.data_type) if before and before.data_type else None,
        data_type=str(column.data_type),
        variant_of=_variant_of(origin, sources, resolution) if column.is_variant else None,
        sources=tuple(format_path(path) for path in sources),
        values=sum(kinds.values()),
        total=_total(table, sources, resolution, evidence),
        nulls=sum(evidence.nulls(path) for path in sources),
        absences=sum(evidence.absences(path) for path in sources),
        kinds=dict(kinds),
        first=first.first if first else None,
        examples=tuple(dict.fromkeys(examples)),
        lengths=_span([text.shortest for text in texts], [text.longest for text in texts]),
        range=_span([of_class.least for of_class in known], [of_class.greatest for of_class in known]),
    )


def _taken(origin: Origin, resolution: Resolution, evidence: Evidence) -> Iterator[tuple[str, ClassEvidence]]:
    for path, name in resolution.taken.get(origin, ()):
        seen = evidence.paths.get(path, {}).get(name)
        if seen is not None:
            yield name, seen


def _total(table: str, sources: tuple[Path, ...], resolution: Resolution, evidence: Evidence) -> int:
    """Return how many values from ``sources`` all columns of the table take, variants included."""
    return sum(
        evidence.paths[path][name].count
        for (other, _), taken in resolution.taken.items()
        if other == table
        for path, name in taken
        if path in sources and name in evidence.paths.get(path, {})
    )


def _variant_of(origin: Origin, sources: tuple[Path, ...], resolution: Resolution) -> str | None:
    """Return the column that takes the other values from the same places, and is no variant itself."""
    table, _ = origin
    columns = resolution.schema.tables[table].columns
    beside = (name for at, name in resolution.taken if at == table and not columns[name].is_variant)
    return next((name for name in beside if set(resolution.sources((table, name))) & set(sources)), None)


def _span(least: list[Number | None], greatest: list[Number | None]) -> tuple[Number, Number] | None:
    lows = [value for value in least if value is not None]
    highs = [value for value in greatest if value is not None]
    return (min(lows), max(highs)) if lows and highs else None


def find_collisions(resolution: Resolution) -> tuple[CollisionFinding, ...]:
    """Return the columns that several source paths feed, which no two parts of one row can share without loss."""
    found = ((origin, _colliding(resolution.sources(origin))) for origin in resolution.taken)
    return tuple(
        CollisionFinding(*origin, tuple(format_path(path) for path in sources)) for origin, sources in found if sources
    )


def _colliding(sources: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the sources that do not stand one inside the other: an element and its own ``value`` share no row."""
    pairs = [pair for pair in combinations(sources, 2) if not _is_inside(*pair)]
    colliding = {path for pair in pairs for path in pair}
    return tuple(path for path in sources if path in colliding)


def _is_inside(left: Path, right: Path) -> bool:
    shorter, longer = sorted((left, right), key=len)
    return longer[: len(shorter)] == shorter


def separate(resolution: Resolution, renamed: Mapping[Path, str], naming: Naming) -> dict[Path, str]:
    """Return names for source keys that keep colliding paths apart; the first path of each column keeps its name.

    Args:
        resolution: what was resolved under ``renamed``.
        renamed: the names that were given before; they stay, and grow where their paths still collide.
        naming: the schema's convention, with the longest identifier.
    """
    names = dict(renamed)
    for origin in resolution.taken:
        sources = _colliding(resolution.sources(origin))
        for number, path in enumerate(sources[1:], start=2):
            at = _parting(sources[0], path)
            key = path[len(at) - 1]
            if at in names and at not in renamed:
                continue
            while True:
                assert key is not None
                name = numbered(naming.normalize_path(key) if key.strip() else "_empty", number, naming)
                if name not in names.values():
                    break
                number += 1
            names[at] = name
    return names


def _parting(kept: Path, path: Path) -> Path:
    """Return the part of ``path`` up to the first key that ``kept`` has not."""
    for index, step in enumerate(path):
        if step is not ELEMENT and (index >= len(kept) or kept[index] != step):
            return path[: index + 1]
    return path


def find_nulls(resolution: Resolution) -> tuple[NullFinding, ...]:
    """Return the nulls that no column takes."""
    return tuple(
        NullFinding(null.table, null.column, format_path(null.path), null.first)
        for null in resolution.nulls
        if null.path is not NO_PATH
    )


def find_violations(
    violations: tuple[Violation, ...], resolution: Resolution, evidence: Evidence
) -> tuple[ViolationFinding, ...]:
    """Return contract violations with the values that they are about."""
    return tuple(_find_violation(violation, resolution, evidence) for violation in violations)


def _find_violation(violation: Violation, resolution: Resolution, evidence: Evidence) -> ViolationFinding:
    seen: list[ClassEvidence] = []
    for origin in resolution.taken:
        if origin[0] == violation.table and violation.column in (None, origin[1]):
            seen += [of_class for _, of_class in _taken(origin, resolution, evidence)]
    first = min(seen, key=lambda of_class: of_class.first, default=None)
    return ViolationFinding(
        table=violation.table,
        column=violation.column,
        entity=str(violation.entity),
        mode=str(violation.mode),
        expected=violation.expected,
        found=violation.found,
        values=sum(of_class.count for of_class in seen),
        first=first.first if first else None,
        example=next(iter(first.examples), None) if first else None,
    )


def find_files(evidence: Evidence) -> tuple[FileFinding, ...]:
    """Return the inputs as they were read, by path."""
    return tuple(
        FileFinding(path, file.records, file.documents, file.bad, file.first_bad)
        for path, file in sorted(evidence.files.items())
    )

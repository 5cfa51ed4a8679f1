"""Finds the type that values of a column, or of a field inside of it, have to fit, and judges them by evidence.

Not for values that have to be looked at: ``flows.survival`` does so, for all questions in one go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schemactl.dataclass import dataclass
from schemactl.inference.classes import LIST, NULL, OBJECT, kind_of
from schemactl.inference.evidence import Evidence
from schemactl.inference.paths import ELEMENT, Path
from schemactl.inference.resolve import Taken
from schemactl.inference.survival import Judged, Tally, add, examples_of, judge_values
from schemactl.review.nested_retypes import leaf_full_type
from schemactl.schema.full_types import FullType
from schemactl.schema.nested_types import FieldPath, Json, Leaf, ListOf, MapOf, NestedType, Struct
from schemactl.schema.types import DataType


@dataclass(frozen=True, slots=True)
class Demand:
    """Values that are to survive in a type.

    Attributes:
        fed: their paths and classes.
        target: the type; None where none of them fits what stands there.
    """

    fed: tuple[Taken, ...]
    target: FullType | None


def find_demands(evidence: Evidence, fed: Sequence[Taken], column: NestedType, field: FieldPath) -> tuple[Demand, ...]:
    """Return what the values of a field have to fit: scalars their type, objects and lists what they are to be.

    Args:
        evidence: what the data holds.
        fed: what of it is for the column.
        column: the type that the column is to have.
        field: the field inside of it; empty for all of the column.
    """
    data = _Data(evidence)
    paths, found = tuple(dict.fromkeys(path for path, _ in fed)), column
    for step in field:
        paths, found = data.below(paths, found, step)
    return tuple(demand for demand in data.demands(paths, found) if demand.fed)


def judge_both(saved: Evidence, scanned: Evidence, demand: Demand) -> tuple[Judged, Judged] | None:
    """Judge both parts of the data; None where what evidence leaves open cannot be looked at."""
    if demand.target is None:
        return _all_unfit(saved, demand), _all_unfit(scanned, demand)
    of_saved = judge_values(saved, demand.fed, demand.target)
    of_scanned = judge_values(scanned, demand.fed, demand.target)
    if of_saved is None or of_scanned is None or of_saved.open_paths:
        return None
    return of_saved, of_scanned


def _all_unfit(evidence: Evidence, demand: Demand) -> Judged:
    known = [(name, evidence.paths[path][name]) for path, name in demand.fed if name in evidence.paths.get(path, {})]
    return Judged(
        add(Tally(seen.count, seen.count, tuple(examples_of(name, seen)), seen.first) for name, seen in known)
    )


def states_types(evidence: Evidence, fed: Sequence[Taken]) -> bool:
    """Return whether a source states the types of a column's values itself: nobody looks at those."""
    tops = {path for path, _ in fed}
    return any(path[:end] in tops for path in evidence.typed for end in range(len(path) + 1))


class _Data:
    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._keys: dict[Path, list[Path]] = {}
        for path in evidence.paths:
            if path and path[-1] is not ELEMENT:
                self._keys.setdefault(path[:-1], []).append(path)

    def below(self, paths: Sequence[Path], of: NestedType, step: str | None) -> tuple[tuple[Path, ...], NestedType]:
        """Return where the values are that stand at a step, with their type."""
        match of:
            case Struct(fields) if step is not None:
                return tuple((*path, step) for path in paths), dict(fields)[step]
            case ListOf(element):
                return tuple((*path, ELEMENT) for path in paths), element
            case MapOf(value):
                return tuple(key for path in paths for key in self._keys.get(path, ())), value
        raise ValueError(f"{of} has no `{step}`")

    def demands(self, paths: Sequence[Path], of: NestedType) -> Iterator[Demand]:
        match of:
            case Json():
                yield self._all(paths, FullType(DataType.TEXT))
            case Leaf():
                full = leaf_full_type(of)
                yield self._all(paths, full)
            case Struct(fields):
                yield from self._containers(paths, OBJECT)
                for name, _ in fields:
                    yield from self.demands(*self.below(paths, of, name))
            case ListOf() | MapOf():
                yield from self._containers(paths, LIST if isinstance(of, ListOf) else OBJECT)
                yield from self.demands(*self.below(paths, of, None))

    def _all(self, paths: Sequence[Path], target: FullType | None) -> Demand:
        return Demand(tuple(self._values(paths)), target)

    def _containers(self, paths: Sequence[Path], kind: str) -> Iterator[Demand]:
        """Yield the values that are objects, or lists, as they should be, and those that are not."""
        values = list(self._values(paths))
        yield Demand(tuple(each for each in values if kind_of(each[1]) == kind), FullType(DataType.JSON))
        yield Demand(tuple(each for each in values if kind_of(each[1]) != kind), None)

    def _values(self, paths: Sequence[Path]) -> Iterator[Taken]:
        return ((path, name) for path in paths for name in self._evidence.paths.get(path, {}) if name != NULL)

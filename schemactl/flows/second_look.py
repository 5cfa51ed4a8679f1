"""A second look at scanned data, for what its evidence leaves open: values that may not fit, rows without a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from schemactl.flows.progress import Progress
from schemactl.inference.paths import Path
from schemactl.inference.resolve import Taken
from schemactl.inference.survival.tallies import Tally, add
from schemactl.inference.survival.target import TargetType

if TYPE_CHECKING:
    from schemactl.engine.unfit import Records


@dataclass(frozen=True, slots=True)
class Missing:
    """Rows of the scanned data that lack a value; the place of the first is not known."""

    tally: Tally
    rows: tuple[Path, ...]
    fed: tuple[Taken, ...]


@dataclass(frozen=True, slots=True)
class SecondLook:
    """The data, to be looked at once more.

    Attributes:
        read: gives the documents that were scanned.
        progress: told each phase.
    """

    read: Callable[[], list[Records]]
    progress: Progress

    def values(self, open_values: Sequence[tuple[tuple[Path, ...], TargetType]]) -> list[Tally]:
        """Return for each target how many of the values at its paths do not survive in it."""
        from schemactl.engine.unfit import Scalars, count_unfit

        self.progress("counting values that do not fit", None)
        asked = [Scalars(at, target) for at, target in open_values]
        tallies = [count_unfit(each, asked) for each in self.read()]
        return [add(parts) for parts in zip(*tallies, strict=True)]

    def absences(self, missing: Sequence[Missing]) -> list[Tally]:
        """Return the tallies with the place of the first absence."""
        from schemactl.engine.unfit import Absences, find_absences

        self.progress("looking for absent values", None)
        asked = [Absences(each.rows, each.fed) for each in missing]
        found = zip(*(find_absences(each, asked) for each in self.read()), strict=True)
        firsts = [min((place for place in places if place is not None), default=None) for places in found]
        return [
            Tally(each.tally.values, each.tally.bad, first=first) for each, first in zip(missing, firsts, strict=True)
        ]

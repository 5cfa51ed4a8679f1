"""Counts of values that were looked at and of the bad ones among them; they add up."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from schemactl.inference.evidence import MAX_EXAMPLE_LENGTH, Position

MAX_EXAMPLES: Final = 5


@dataclass(frozen=True, slots=True)
class Tally:
    """Values that were looked at and those that are bad, with some of the latter and the place of the first."""

    values: int = 0
    bad: int = 0
    examples: tuple[Any, ...] = ()
    first: Position | None = None


def add(tallies: Iterable[Tally]) -> Tally:
    """Return the sum of tallies of different values."""
    tallies = list(tallies)
    known = sorted((tally for tally in tallies if tally.first is not None), key=_first)
    examples = distinct(example for tally in known for example in tally.examples)
    # Bad values without a place may stand before all others.
    is_placed = all(tally.first is not None for tally in tallies if tally.bad)
    return Tally(
        values=sum(tally.values for tally in tallies),
        bad=sum(tally.bad for tally in tallies),
        examples=examples,
        first=known[0].first if known and is_placed else None,
    )


def _first(tally: Tally) -> Position:
    assert tally.first is not None
    return tally.first


def distinct(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the first few values that differ as JSON: ``1``, ``1.0`` and ``true`` do."""
    return tuple({json.dumps(value): value for value in values}.values())[:MAX_EXAMPLES]


def shown(value: Any) -> Any:
    """Return a value for an example: long texts are cut."""
    return value[:MAX_EXAMPLE_LENGTH] if isinstance(value, str) else value

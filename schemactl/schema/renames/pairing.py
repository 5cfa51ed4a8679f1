"""Which old name goes with which new one."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any, Final

from schemactl.schema.types import Properties

RENAMED_FROM: Final = "x-renamed-from"
"""Property of a table or column: the name, or the names, that it had."""

MAX_PAIRS: Final = 200 * 200
"""Of old and new names; where there are more, too much has changed for a guess."""

MIN_SCORE: Final = 0.7
"""From which on a pair is taken for a rename."""

MARGIN: Final = 0.05
"""By how much a pair must be better than any other with one of its names."""


def is_dlts_own(name: str) -> bool:
    """Return whether dlt gives a table or column this name; naming conventions change only its case."""
    return name.casefold().startswith("_dlt")


def is_stated_new(properties: Properties) -> bool:
    """Return whether ``x-renamed-from: []`` says that a table or column had no other name: no guess is made then."""
    return properties.get(RENAMED_FROM) == []


ID: Final = "x-id"
"""Property of a column: what stays the same when its name changes."""


def stated_pairs(gone: Container[str], new: Mapping[str, Properties]) -> dict[str, str]:
    """Return new names by old ones, as ``x-renamed-from`` states them; of two claims the first counts.

    Args:
        gone: old names that are not there any more.
        new: properties by names that were not there.
    """
    pairs: dict[str, str] = {}
    for name, properties in new.items():
        origin = next((origin for origin in origins(properties) if origin in gone and origin not in pairs), None)
        if origin is not None:
            pairs[origin] = name
    return pairs


def id_pairs(gone: Mapping[str, Properties], new: Mapping[str, Properties]) -> dict[str, str]:
    """Return new names by old ones, where both state one ``x-id`` and no other name does."""
    old, now = _by_id(gone), _by_id(new)
    return {old[key]: name for key, name in now.items() if key in old}


def _by_id(stated: Mapping[str, Properties]) -> dict[str, str]:
    names: dict[str, list[str]] = {}
    for name, properties in stated.items():
        if properties.get(ID):
            names.setdefault(str(properties[ID]), []).append(name)
    return {key: found[0] for key, found in names.items() if len(found) == 1}


def clear_pairs(scores: Mapping[tuple[str, str], float]) -> dict[str, str]:
    """Return new names by old ones: pairs with a high score that is clearly the best of both names.

    Args:
        scores: scores of (old name, new name), 0 to 1; those that are left out count as 0.
    """
    old: dict[str, list[float]] = {}
    new: dict[str, list[float]] = {}
    for (before, after), score in scores.items():
        old.setdefault(before, []).append(score)
        new.setdefault(after, []).append(score)
    lead = {
        **{(0, name): _lead(found) for name, found in old.items()},
        **{(1, name): _lead(found) for name, found in new.items()},
    }
    return {
        before: after
        for (before, after), score in scores.items()
        if score >= MIN_SCORE and score >= max(lead[0, before], lead[1, after])
    }


def _lead(scores: list[float]) -> float:
    """Return the score that it takes to be clearly the best of them."""
    if len(scores) == 1:
        return scores[0]
    second, first = sorted(scores)[-2:]
    return max(first, second + MARGIN)


def origins(properties: Properties) -> Iterator[str]:
    """Yield the names that a table or column is stated to have had."""
    stated: Any = properties.get(RENAMED_FROM)
    names = stated if isinstance(stated, (list, tuple)) else (stated,)
    yield from (name for name in names if isinstance(name, str))

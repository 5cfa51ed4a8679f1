"""Group items by a key or up to a size, in their order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def group_by(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return the items in lists by their keys; keys and items stay in the order in which they come.

    >>> group_by(["apple", "avocado", "banana"], lambda word: word[0])
    {'a': ['apple', 'avocado'], 'b': ['banana']}
    """
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def group_by_size(items: Iterable[T], size_of: Callable[[T], int], most: int) -> Iterator[tuple[T, ...]]:
    """Yield consecutive items in groups of at most ``most`` in all; a larger item is a group by itself.

    >>> list(group_by_size(["a", "bcd", "ef", "ghijk"], len, 4))
    [('a', 'bcd'), ('ef',), ('ghijk',)]
    """
    group: list[T] = []
    total = 0
    for item in items:
        size = size_of(item)
        if group and total + size > most:
            yield tuple(group)
            group, total = [], 0
        group.append(item)
        total += size
    if group:
        yield tuple(group)

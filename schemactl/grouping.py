"""Group items by a key, in their order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
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

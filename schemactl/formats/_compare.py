"""Compares two states of a value: whether they say the same, the keys that moved, the items that were replaced."""

from __future__ import annotations

from collections.abc import Callable
from difflib import SequenceMatcher
from typing import Any

from schemactl.formats._tree import Key

Keys = tuple[Key, ...]

IsOrdered = Callable[[Keys], bool]
"""Whether, for a mapping by the way to it, the order of its keys has a meaning."""


def same(old: Any, new: Any, is_ordered: IsOrdered, keys: Keys = ()) -> bool:
    """Return whether two values say the same; a bool is no number, an integer no float."""
    if isinstance(old, dict) and isinstance(new, dict):
        if old.keys() != new.keys() or (is_ordered(keys) and list(old) != list(new)):
            return False
        return all(same(value, new[key], is_ordered, (*keys, key)) for key, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        pairs = enumerate(zip(old, new, strict=False))
        return len(old) == len(new) and all(same(a, b, is_ordered, (*keys, i)) for i, (a, b) in pairs)
    return type(old) is type(new) and bool(old == new)


def moved_keys(own: list[str], wanted: list[str]) -> set[str]:
    """Return the keys that have to leave their places for the rest to be in the wanted order."""
    known = set(own)
    order = [key for key in wanted if key in known]
    blocks = SequenceMatcher(None, own, order, autojunk=False).get_matching_blocks()
    return known - {key for block in blocks for key in own[block.a : block.a + block.size]}


def paired_items(old: list[Any], new: list[Any]) -> list[tuple[int | None, Any]]:
    """Return the new items, each with the position of the old one that it replaces, None if it is new."""
    matcher = SequenceMatcher(None, [_frozen(item) for item in old], [_frozen(item) for item in new], autojunk=False)
    pairs: list[tuple[int | None, Any]] = []
    for _, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        for offset, value in enumerate(new[new_start:new_end]):
            position = old_start + offset
            pairs.append((position if position < old_end else None, value))
    return pairs


def _frozen(value: Any) -> Any:
    """Return a hashable stand-in."""
    match value:
        case dict():
            return frozenset((key, _frozen(item)) for key, item in value.items())
        case list():
            return tuple(_frozen(item) for item in value)
        case _:
            return (type(value), value)

"""Change a document to another meaning by the least edit: defaults stay left out, and the order stays."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Any

from schemactl.trees.nodes import IsOrdered, Keys, same


def least_edit(raw: Any, old: Any, new: Any, is_ordered: IsOrdered, keys: Keys = ()) -> Any:
    """Return the content of a document that now is ``raw`` and means ``old``, edited so that it means ``new``.

    The meaning may have values that the document leaves out (defaults), and lack values that it has: these stay. Keys
    whose order has no meaning (``is_ordered``) stay in their place. ``keys`` lead to the value.
    """
    if same(old, new, is_ordered, keys):
        return raw
    if isinstance(raw, dict) and isinstance(new, dict):
        old_fields = old if isinstance(old, dict) else {}
        kept_fields = {
            key: least_edit(value, old_fields.get(key), new[key], is_ordered, (*keys, key)) if key in new else value
            for key, value in raw.items()
            if key in new or key not in old_fields
        }
        added = {
            key: value
            for key, value in new.items()
            if key not in raw and not (key in old_fields and same(old_fields[key], value, is_ordered, (*keys, key)))
        }
        new_fields = kept_fields | added
        if is_ordered(keys):
            order = [key for key in kept_fields if key not in new] + [key for key in new if key in new_fields]
        else:
            order = _behind_predecessors(list(kept_fields), [key for key in new if key in new_fields])
        return {key: new_fields[key] for key in order}
    if isinstance(raw, list) and isinstance(old, list) and isinstance(new, list) and len(raw) == len(old):
        return [
            value if index is None else least_edit(raw[index], old[index], value, is_ordered, (*keys, index))
            for index, value in paired_items(old, new)
        ]
    return new


def _behind_predecessors(kept_keys: list[Any], ordered_keys: list[Any]) -> list[Any]:
    """Return kept keys in their order, with each new key behind its predecessor in ``ordered_keys``."""
    kept_set = {*kept_keys}
    followers: dict[Any, list[Any]] = {key: [key] for key in kept_keys}
    current = followers[kept_keys[-1]] if kept_keys else []
    leading = [] if kept_keys else current
    for key in ordered_keys:
        if key in kept_set:
            current = followers[key]
        else:
            current.append(key)
    return [*leading, *(key for keys in followers.values() for key in keys)]


def paired_items(old: list[Any], new: list[Any]) -> list[tuple[int | None, Any]]:
    """Return the new items, each with the position of the old item that it replaces, or None."""
    matcher = SequenceMatcher(None, [_frozen(item) for item in old], [_frozen(item) for item in new], autojunk=False)
    pairs: list[tuple[int | None, Any]] = []
    for _, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        for offset, value in enumerate(new[new_start:new_end]):
            position = old_start + offset
            pairs.append((position if position < old_end else None, value))
    used_positions = {position for position, _ in pairs}
    moved = {_frozen(item): position for position, item in enumerate(old) if position not in used_positions}
    return [(moved.pop(_frozen(value), None) if position is None else position, value) for position, value in pairs]


def _frozen(value: Any) -> Any:
    """Return a hashable copy of a value, to find equal values."""
    match value:
        case dict():
            return frozenset((key, _frozen(item)) for key, item in value.items())
        case list():
            return tuple(_frozen(item) for item in value)
        case _:
            return (type(value), value)

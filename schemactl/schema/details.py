"""What differs inside a free-form value: a setting, a normalizer's config, an ``x-`` hint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from schemactl.schema.changes import ABSENT


@dataclass(frozen=True, slots=True)
class Detail:
    """A leaf that differs.

    Attributes:
        path: keys of mappings and positions (from 0) in lists, from the top of the value; () is the value itself.
        before, after: ``ABSENT`` where the leaf is new or gone.
    """

    path: tuple[str | int, ...]
    before: Any
    after: Any


def details(before: Any, after: Any) -> tuple[Detail, ...]:
    """Return the leaves in which two JSON values differ, in the order of their paths.

    Lists are compared position by position, so that paths are the same in both. deepdiff takes long to import: call
    this for values that do differ.

    Args:
        before: plain JSON data, or ``ABSENT``.
        after: the same.
    """
    if before is ABSENT or after is ABSENT:
        return () if before is after else (Detail((), before, after),)
    from deepdiff import DeepDiff

    found = DeepDiff(
        before,
        after,
        view="tree",
        zip_ordered_iterables=True,
        ignore_private_variables=False,  # it takes keys that start with `__` for private
        threshold_to_diff_deeper=0,  # or else it tells two mappings with few keys in common as wholes
    )
    leaves = [_detail(kind, level) for kind, levels in found.items() for level in levels]
    # Positions are compared as numbers, and keys that are no text have a place as well.
    return tuple(sorted(leaves, key=lambda leaf: [(type(key).__name__, key) for key in leaf.path]))


def _detail(kind: str, level: Any) -> Detail:
    path = tuple(level.path(output_format="list"))
    before = ABSENT if kind.endswith("_item_added") else level.t1
    after = ABSENT if kind.endswith("_item_removed") else level.t2
    return Detail(path, before, after)

"""Finds where nulls may stand: read as anything but a VARIANT, a null is like a key that is absent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import replace
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from schemactl.engine.codegen import whole_stages
from schemactl.engine.shapes import ANY_KEY, Shape
from schemactl.inference.paths import ELEMENT, Path

MOST_KEYS: Final = 1_000
"""That are told; where data stands as text in data, there may be any number."""


def find_null_keys(texts: DataFrame, shape: Shape) -> frozenset[str] | None:
    """Return at least all keys of documents with a null somewhere; None where they are too many to tell.

    Args:
        texts: with ``text``, JSON documents.
        shape: everything that they can hold.
    """
    text, before = F.col("text"), F.col("before")
    pieces = texts.where(text.contains("null")).select(F.explode(F.split(text, "null")).alias("before"))
    # What follows the last null ends with no colon.
    is_key = F.substring_index(before, '"', -1).rlike(r"^[ \t\r\n]*:[ \t\r\n]*\z")
    key = F.substring_index(F.substring_index(before, '"', -2), '"', 1)
    with whole_stages(texts.sparkSession):
        rows = pieces.where(is_key).select(key.alias("key")).distinct().limit(MOST_KEYS + 1).collect()
    if len(rows) > MOST_KEYS:
        return None
    # A key with a quote or a null in it is cut there.
    cut = {step for path, _ in shape.walk() for step in path if step is not ELEMENT and ('"' in step or "null" in step)}
    return frozenset(_parsed(row.key for row in rows)) | cut


def _parsed(keys: Iterable[str]) -> Iterator[str]:
    for key in keys:
        # Within a text that quotes JSON the last quote may be escaped.
        with suppress(ValueError):
            yield json.loads(f'"{key}"')


def hidden_nulls(shape: Shape, may_be_null: Callable[[Path], bool]) -> Iterator[tuple[Shape, frozenset[Path]]]:
    """Yield shapes by which nulls in the place of objects, and of lists, can be told, and the paths where.

    At these paths the values are read as VARIANTs and nothing below them is; so each shape has paths of which none is
    above another.

    Args:
        shape: as documents are read otherwise: with structs, maps and arrays in these places.
        may_be_null: asked for the paths of keys in ``shape``; a null among elements is told in any case.
    """
    levels: dict[int, set[Path]] = {}

    def collect(shape: Shape, path: Path, level: int) -> None:
        if not shape.is_read_apart:
            return
        if path and path[-1] is not ELEMENT and may_be_null(path):
            levels.setdefault(level, set()).add(path)
            level += 1
        for step, inner in shape.inside():
            collect(inner, (*path, step), level)

    collect(shape, (), 0)
    for paths in levels.values():
        yield _cut_below(shape, paths), frozenset(paths)


def _cut_below(shape: Shape, paths: Set[Path]) -> Shape:
    """Return the shape with VARIANTs at ``paths``, and nothing else but what is above them."""
    above = {path[:size] for path in paths for size in range(len(path) + 1)}

    def cut(shape: Shape, path: Path) -> Shape:
        if path in paths:
            return Shape(is_mixed=True)
        children = {key: cut(child, (*path, key)) for key, child in shape.children.items() if (*path, key) in above}
        element = shape.element if (*path, ELEMENT) in above else None
        entry = shape.entry if (*path, ANY_KEY) in above else None
        return replace(
            shape,
            children=children,
            element=element and cut(element, (*path, ELEMENT)),
            entry=entry and cut(entry, (*path, ANY_KEY)),
        )

    return cut(shape, ())

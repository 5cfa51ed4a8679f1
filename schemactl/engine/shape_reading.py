"""Reads the shape of documents: what Spark says of each block, and where kinds mix, of each kind by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from schemactl.engine.inputs import shown_path
from schemactl.engine.parts import read_folded, read_texts
from schemactl.engine.shapes import Shape, parse_shape, pruned
from schemactl.errors import InputError, Location
from schemactl.inference.paths import Path

MOST_LEVELS = 200
"""Levels of nesting; not much deeper, Python's own recursion ends."""

_TOO_DEEP = "StreamWriteConstraints.getMaxNestingDepth"
"""What Spark says of types that nest far deeper."""


def read_shape(texts: DataFrame, blocks: Iterable[Row], progress: Callable[[str, float | None], None]) -> Shape:
    """Return everything that documents can hold.

    Args:
        texts: columns ``file``, ``block``, ``id`` and ``text``, JSON documents.
        blocks: with ``file`` and ``shape``, what Spark says of the documents in each block.
        progress: told each phase.

    Raises:
        InputError: a document nests too deep.
    """
    shape = Shape()
    for row in blocks:
        if row.shape is not None:
            found = parse_shape(row.shape)
            _check_depth(found, Location(shown_path(row.file)))
            shape.absorb(found)
    while mixed := {path for path, found in shape.walk() if found.is_mixed}:
        progress("reading mixed values", None)
        _settle(texts, shape, mixed)
        _check_depth(shape)
    return shape


def _check_depth(shape: Shape, at: Location | None = None) -> None:
    if any(len(path) > MOST_LEVELS for path, _ in shape.walk()):
        raise _too_deep(at)


@contextmanager
def depth_told() -> Iterator[None]:
    """Tell of documents that nest too deep where Spark fails for it."""
    try:
        yield
    except Exception as error:
        if _TOO_DEEP in str(error):
            raise _too_deep() from error
        raise


def _too_deep(at: Location | None = None) -> InputError:
    return InputError(f"a record nests deeper than {MOST_LEVELS} levels", at=at)


def _settle(texts: DataFrame, shape: Shape, mixed: set[Path]) -> None:
    """Find out what stands at paths where kinds mix, each kind by itself."""
    kind = F.schema_of_variant("item")
    is_object, is_list = kind.startswith("OBJECT"), kind.startswith("ARRAY")
    is_scalar = ~is_object & ~is_list & (kind != "VOID")
    nodes = dict(shape.walk())
    seen: list[tuple[Shape, Row]] = []
    for part in read_folded(read_texts(texts), pruned(shape, mixed)):
        there = part.folded(mixed)
        if not there:
            continue
        items, listing = part.list_raw(there)
        found = items.groupBy("node", *(["keys"] if listing.has_keys else [])).agg(
            F.schema_of_variant_agg(F.when(is_object, F.col("item"))).alias("objects"),
            F.schema_of_variant_agg(F.when(is_list, F.col("item"))).alias("lists"),
            F.collect_set(F.when(is_scalar, kind)).alias("scalars"),
        )
        with depth_told():
            rows = found.collect()
        paths = [(*part.base, *listing.path(row)) for row in rows]
        # Under folded keys values come along that are not mixed by themselves.
        seen += [(nodes[path], row) for path, row in zip(paths, rows, strict=True) if path in mixed]
    # Not before all parts are read: they share what grows here, and were cut so that Spark can walk them as they are.
    for node, row in seen:
        node.scalars.update(row.scalars)
        for text in (row.objects, row.lists):
            if text not in (None, "VOID"):
                node.absorb(parse_shape(text))
    for path in mixed:
        nodes[path].is_mixed = False

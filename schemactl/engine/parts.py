"""Documents in parts, each of which is read with a type of its own, and its values listed as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructField, StructType

from schemactl.engine import walk
from schemactl.engine.codegen import whole_stages
from schemactl.engine.document_types import document_type, with_own_types
from schemactl.engine.null_keys import hidden_nulls
from schemactl.engine.shapes import Shape, cut_shape, split_fields
from schemactl.engine.siblings import fold_keys, fold_path
from schemactl.engine.walk import Listing, list_fields, list_nulls, list_raw_values, list_values
from schemactl.inference.paths import Path

PLACE = ("file", "block", "id")
"""Columns that tell where a document stands (``measure.Place``)."""

_MOST_FIELDS = 30
"""Listing the values of wider documents makes a method too long for Java to compile well: it takes twice the time."""

MOST_FIELDS_APART = 500
"""Fields that are told apart: of 250 in two thirds of the time of a list, of 1,000 in the same, of 3,000 in twice."""

_MOST_LEVELS = 16
"""Deeper documents make more code than it saves: 48 levels take twice the time, 200 fill a heap of 2 GiB."""

Read = Callable[[DataType], DataFrame]
"""Reads documents with a type: columns ``file``, ``block``, ``id`` and ``document``."""


def read_texts(texts: DataFrame) -> Read:
    """Return what reads documents from columns ``file``, ``block``, ``id`` and ``text``, which is JSON."""

    def read(kind: DataType) -> DataFrame:
        root = StructType([StructField("document", kind)])
        wrapped = F.concat(F.lit('{"document":'), "text", F.lit("}"))
        return texts.select(*PLACE, F.from_json(wrapped, root).alias("root")).select(*PLACE, "root.document")

    return read


@dataclass(frozen=True, slots=True)
class Part:
    """Documents, or what lies deep in them, read with a type of their own.

    Attributes:
        read: reads them.
        shape: their shape, of which only parts may be read.
        base: where they stand.
        leave_out: paths in them that other parts tell about.
    """

    read: Read
    shape: Shape
    base: Path
    leave_out: Set[Path]

    def folded(self, paths: Iterable[Path]) -> set[Path]:
        """Return where in ``shape`` paths of whole documents are, those left out that this part does not tell about."""
        size = len(self.base)
        inside = (fold_path(self.shape, path[size:]) for path in paths if path[:size] == self.base)
        return {path for path in inside if path is not None} - self.leave_out

    def list_raw(self, only: Set[Path]) -> tuple[DataFrame, Listing]:
        """Return the values at some paths of ``shape`` as VARIANTs: place, ``node``, ``item``, ``keys``."""
        listing = list_raw_values(self.shape, "document", only)
        return _explode(self._documents(self.shape), listing), listing

    def list_values(self, leave_out: Set[Path] = frozenset()) -> tuple[DataFrame, Listing]:
        """Return all values but those at ``leave_out``: place, ``node``, ``kind``, ``text``, ``length``, ``keys``."""
        listing = list_values(self.shape, "document", leave_out | self.leave_out)
        return _describe(_explode(self._documents(self.shape), listing), listing), listing

    def list_apart(self, leave_out: Set[Path] = frozenset()) -> Iterator[tuple[DataFrame, Listing]]:
        """Yield the same in several frames where Spark is faster with it in ``whole_stages``: most often fields apart.

        To have a row made for each field of a document takes half the time of an array of them that is exploded.
        """
        fields, rest = split_fields(self.shape) if self._is_compiled else (None, self.shape)
        listing = list_fields(fields, "document", leave_out | self.leave_out) if fields is not None else Listing(())
        if fields is None or not 0 < len(listing.nodes) <= MOST_FIELDS_APART:
            yield self.list_values(leave_out)
            return
        yield _describe(_unpivot(self._documents(fields), listing), listing), listing
        if rest is not None:
            told = frozenset(path for path, _ in fields.walk())
            yield replace(self, shape=rest, leave_out=self.leave_out | told).list_values(leave_out)

    def list_nulls(self, may_be_null: Callable[[Path], bool]) -> Iterator[tuple[DataFrame, Listing]]:
        """Yield nulls in the place of objects and lists, which ``list_values`` takes for absent: a row for each.

        Args:
            may_be_null: asked for paths in ``shape``.
        """
        for shape, paths in hidden_nulls(self.shape, may_be_null):
            listing = list_nulls(shape, "document", paths)
            yield _explode(self._documents(shape), listing).drop("item"), listing

    def stages(self, spark: SparkSession, listing: Listing) -> AbstractContextManager[None]:
        """Let Spark compile whole stages in the block, where it is faster with them."""
        most = MOST_FIELDS_APART if listing.fields else _MOST_FIELDS
        return whole_stages(spark, most) if self._is_compiled else nullcontext()

    @property
    def _is_compiled(self) -> bool:
        return len(self.base) + max(len(path) for path, _ in self.shape.walk()) <= _MOST_LEVELS

    def _documents(self, shape: Shape) -> DataFrame:
        return self.read(document_type(shape))


def read_folded(read: Read, shape: Shape, null_keys: Set[str] | None = None) -> Iterator[Part]:
    """Yield what ``read_parts`` does, with the keys of objects that have many of them folded (``siblings``).

    Args:
        read: reads the documents.
        shape: everything that they can hold.
        null_keys: keys with a null somewhere; None if any may have one. Scalars of others are read as what they are.
    """

    def fold(shape: Shape, apart: Set[Path]) -> Shape:
        folded = fold_keys(shape, apart)
        return folded if null_keys is None else with_own_types(folded, null_keys)

    return _parts(read, shape, (), fold)


def read_parts(read: Read, shape: Shape) -> Iterator[Part]:
    """Yield documents with all parts of them that are nested too deep to be walked together.

    Args:
        read: reads the documents.
        shape: everything that they can hold.
    """
    return _parts(read, shape, (), lambda shape, _: shape)


def _parts(read: Read, shape: Shape, base: Path, fold: Callable[[Shape, Set[Path]], Shape]) -> Iterator[Part]:
    whole, deep = cut_shape(shape)
    top = Part(read, fold(whole, deep.keys()), base, frozenset(deep))
    yield top
    for path, inner in deep.items():
        items, _ = top.list_raw({path})
        texts_there = items.select(*PLACE, F.to_json("item").alias("text"))
        yield from _parts(read_texts(texts_there), inner, (*base, *path), fold)


def _unpivot(documents: DataFrame, listing: Listing) -> DataFrame:
    """Return what ``_explode`` does for a listing of fields."""
    fields: list[Column | str] = [F.expr(item).alias(str(node)) for node, item in enumerate(listing.fields)]
    items = documents.unpivot(list(PLACE), fields, "node", "item")
    return items.where("item is not null").withColumn("node", F.col("node").cast("int"))


def _explode(documents: DataFrame, listing: Listing) -> DataFrame:
    """Return a row for each value: its document's place, ``node``, ``item``, and ``keys`` if the listing has them."""
    arrays = documents.select(*PLACE, F.explode(F.expr(listing.sql)).alias("array"))
    groups = arrays.select(*PLACE, F.explode("array").alias("group"))
    first, step = F.col("group.first").alias("first"), F.col("group.step").alias("step")
    keys = [F.col("group.keys").alias("keys")] if listing.has_keys else []
    items = groups.select(*PLACE, first, step, *keys, F.posexplode("group.items").alias("at", "item"))
    node = (F.col("first") + F.col("step") * F.col("at")).alias("node")
    return items.where("item is not null").select(*PLACE, node, *(["keys"] if keys else []), "item")


def node_columns(values: DataFrame) -> list[str]:
    """Return the columns that tell a value's path."""
    return [name for name in ("node", "keys") if name in values.columns]


def _describe(items: DataFrame, listing: Listing) -> DataFrame:
    """Return ``kind``, ``text`` (of scalars) and ``length`` (of lists) in place of the items."""
    item = F.col("item")
    # One literal, however many nodes there are: Spark plans thousands of them for seconds.
    kinds = F.split(F.lit(",".join(node.kind or "" for node in listing.nodes)), ",")
    known = F.element_at(kinds, F.col("node") + 1)
    kind = (
        F.when(known == "", F.substring_index(item, " ", 1))
        .when(item == F.expr(walk.NULL_TEXT), walk.NULL_KIND)
        .otherwise(known)
    )
    text = F.when(known == "", F.substring(item, F.instr(item, " ") + 1, F.lit(2**31 - 1))).otherwise(item)
    described = items.select(*PLACE, *node_columns(items), kind.alias("kind"), text.alias("text"))
    is_scalar = ~F.col("kind").isin(walk.NULL_KIND, walk.OBJECT_KIND, walk.KEYED_KIND, walk.LIST_KIND)
    return described.select(
        *PLACE,
        *node_columns(items),
        "kind",
        F.when(is_scalar, F.col("text")).alias("text"),
        F.when(F.col("kind") == walk.LIST_KIND, F.col("text").cast("int")).alias("length"),
    )

"""What is staged of documents: for each path that a plan takes something from, the Spark type that its values get.

What nothing is taken from is not read at all. Fields are named by their position, because keys of documents can be
anything. Which item a path gets, ``document_items`` and ``typed_items`` say.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from pyspark.sql import types as T

from schemactl.schema.nested_types import NestedType
from schemactl.schema.types import DataType


class Form(StrEnum):
    """What is known of the values at one path."""

    SCALAR = "scalar"
    """All are scalars of one kind."""
    JSON = "json"
    """All are objects and lists, kept whole as JSON text; or all that matters is that they are there."""
    NESTED = "nested"
    """All are objects, or lists, kept whole with their structure."""
    OBJECT = "object"
    LIST = "list"
    VARIANT = "variant"
    """Each tells its own kind."""


@dataclass(frozen=True, slots=True)
class Item:
    """What is staged at one path.

    Attributes:
        kind: the kind of all values of a ``SCALAR``.
        source: the type that a document is read with; for sources that state their types, theirs.
        type: the type that is staged.
        fields: of an ``OBJECT``, or of the objects among ``VARIANT``s, by key, in their order.
        element: of a ``LIST``, or of the lists among ``VARIANT``s.
        scalars: of ``VARIANT``s: Spark's names of the scalar types among them, ``DOUBLE`` for all that have a point.
        is_nested: of ``VARIANT``s: whether there are objects or lists among them.
        is_kept: of ``JSON``: whether cells take it; else only its presence counts. Of ``VARIANT``s: whether cells take
            objects and lists among them as JSON.
        is_row: whether the values make rows; then objects are rows, and only lists among them may be kept whole.
        is_marked: whether texts here may stand for large integers (``large_integers``).
        texts: what is staged beside it, in the same structure down to the VARIANTs, where any of these are kept: their
            JSON texts (of texts the bare characters), as VARIANTs forget how keys were ordered and numbers written.
        structure: of ``NESTED``; documents are staged as ``nested.read_type`` has it, others as it is stored.
    """

    form: Form
    source: T.DataType
    type: T.DataType
    kind: DataType | None = None
    fields: Mapping[str, Item] = field(default_factory=dict)
    element: Item | None = None
    scalars: frozenset[str] = frozenset()
    is_nested: bool = False
    is_kept: bool = False
    is_row: bool = False
    is_marked: bool = False
    texts: Item | None = None
    structure: NestedType | None = None

    def shown_type(self) -> T.DataType:
        """Return ``type`` with the fields named by their keys."""
        if self.form is Form.OBJECT:
            return T.StructType([T.StructField(key, inner.shown_type()) for key, inner in self.fields.items()])
        if self.form is Form.LIST and self.element is not None:
            return T.ArrayType(self.element.shown_type())
        return self.type


def object_item(fields: Mapping[str, Item]) -> Item:
    """Return objects of values by key, each read and staged as its item says."""
    source = T.StructType([T.StructField(key, item.source) for key, item in fields.items()])
    items = zip(_staged_names(fields), fields.values(), strict=True)
    staged = T.StructType([T.StructField(name, item.type) for name, item in items])
    texts = {key: item.texts for key, item in fields.items() if item.texts is not None}
    return Item(Form.OBJECT, source, staged, fields=fields, texts=object_item(texts) if texts else None)


def _staged_names(keys: Collection[str]) -> Iterable[str]:
    """Return the keys where Parquet and SQL take all of them as they are: to rename fields costs a copy of each row."""
    return keys if all(map(_PLAIN_KEY.fullmatch, keys)) else (f"f{at}" for at in range(len(keys)))


_PLAIN_KEY: Final = re.compile("[A-Za-z][A-Za-z0-9_]{0,99}")


def list_item(element: Item) -> Item:
    """Return lists of elements, each read and staged as ``element`` says."""
    texts = list_item(element.texts) if element.texts is not None else None
    return Item(Form.LIST, T.ArrayType(element.source), T.ArrayType(element.type), element=element, texts=texts)


def struct_sql(item: Item, values: Iterable[str]) -> str:
    """Return SQL for an object as it is staged, of SQL for the values of its fields."""
    assert isinstance(item.type, T.StructType)
    fields = (f"'{name}', {sql}" for name, sql in zip(item.type.names, values, strict=True))
    return f"named_struct({', '.join(fields)})"

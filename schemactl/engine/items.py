"""How documents are staged: for each path that a plan takes something from, the Spark type that its values get.

What nothing is taken from is not read at all. Fields are named by their position, because keys of documents can be
anything. Expressions are built as SQL text (see ``walk``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from pyspark.sql import types as T

from schemactl.engine.nested import Converter
from schemactl.engine.nested_types import read_type as nested_type
from schemactl.engine.nested_types import structure_type
from schemactl.engine.shapes import Shape
from schemactl.engine.spark_types import typed_columns
from schemactl.engine.walk import field_of
from schemactl.inference.paths import ELEMENT, Path
from schemactl.normalization.plan import Cell, Plan
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


@dataclass(slots=True)
class Use:
    """What a plan takes from one path.

    Attributes:
        cells: the cells that take the values there.
        is_row: whether the values make rows.
        below: the same for keys, and for elements under ``ELEMENT``.
    """

    cells: list[Cell] = field(default_factory=list)
    is_row: bool = False
    below: dict[str | None, Use] = field(default_factory=dict)

    def at(self, path: Path) -> Use:
        """Return the use of a path, made where there is none."""
        found = self
        for step in path:
            found = found.below.setdefault(step, Use())
        return found

    def takes(self, kind: DataType) -> bool:
        """Return whether a cell takes values of a kind."""
        return any(kind in cell.targets for cell in self.cells)

    @property
    def structure(self) -> NestedType | None:
        """What all cells that take objects and lists keep them in; None where one does not."""
        found = [cell.structure for cell in self.cells if DataType.JSON in cell.targets]
        return found[0] if found and all(each == found[0] for each in found) else None

    @property
    def is_double(self) -> bool:
        """Whether integers and other numbers go the same way, as doubles."""
        return bool(self.cells) and all(_is_double(cell) for cell in self.cells)


def _is_double(cell: Cell) -> bool:
    firsts = [cell.targets.get(kind, ())[:1] for kind in (DataType.BIGINT, DataType.DOUBLE)]
    return firsts[0] == firsts[1] and all(
        target.column.data_type is DataType.DOUBLE and target.refusal is None for target in firsts[0]
    )


def uses_of(plan: Plan) -> Use:
    """Return what ``plan`` takes from documents."""
    root = Use()
    for rows in plan.rows.walk():
        root.at(rows.path).is_row = True
        for cell in (*rows.cells, *rows.own_key):
            root.at(cell.path).cells.append(cell)
    return root


# --- documents, whose values have to be looked at ---

_SCALARS: Final[Mapping[str, tuple[DataType, T.DataType]]] = {
    "STRING": (DataType.TEXT, T.StringType()),
    "BIGINT": (DataType.BIGINT, T.LongType()),
    "BOOLEAN": (DataType.BOOL, T.BooleanType()),
}


def document_item(shape: Shape, use: Use, is_marked: bool) -> Item:
    """Return how documents of ``shape`` are staged.

    Args:
        shape: everything that stands there.
        use: what the plan takes from there.
        is_marked: whether large integers are marked.
    """
    if shape.is_nested and not shape.scalars:
        is_kept = use.takes(DataType.JSON)
        structure = use.structure
        if structure is not None and (not use.is_row or shape.is_list):
            staged = nested_type(structure)
            return Item(Form.NESTED, staged, staged, is_marked=is_marked, structure=structure)
        if is_kept and (not use.is_row or shape.is_list):
            return Item(Form.JSON, T.StringType(), T.StringType(), is_kept=True, is_marked=is_marked)
        if shape.is_object:
            found = {
                key: document_item(child, use.below[key], is_marked)
                for key, child in shape.children.items()
                if key in use.below
            }
            return _object(found) if found else _PRESENCE
        if shape.is_list:
            element, inner = shape.element, use.below.get(ELEMENT)
            if element is None or inner is None:
                return _PRESENCE
            return _list(document_item(element, inner, is_marked))
    return _variant(shape, use, is_marked) if shape.is_nested else _scalar(shape, use, is_marked)


def _scalar(shape: Shape, use: Use, is_marked: bool) -> Item:
    scalars = _scalar_types(shape, use)
    if scalars == {"DOUBLE"} or (scalars == {"DOUBLE", "BIGINT"} and use.is_double):
        return Item(Form.SCALAR, T.DoubleType(), T.DoubleType(), DataType.DOUBLE)
    if len(scalars) > 1 or not scalars <= _SCALARS.keys():
        return _variant(shape, use, is_marked)
    # Where nothing but nulls were met, any type will do.
    kind, spark_type = _SCALARS[next(iter(scalars), "STRING")]
    return Item(Form.SCALAR, spark_type, spark_type, kind, is_marked=is_marked and kind is DataType.TEXT)


_PRESENCE: Final = Item(Form.JSON, T.StringType(), T.StringType())
_TEXTS: Final = Item(Form.JSON, T.StringType(), T.StringType(), is_kept=True)


def _variant(shape: Shape, use: Use, is_marked: bool) -> Item:
    """Return values that each tell their kind, with all that is in them."""
    fields = {
        key: _variant(child, use.below[key], is_marked) for key, child in shape.children.items() if key in use.below
    }
    inner = use.below.get(ELEMENT)
    element = _variant(shape.element, inner, is_marked) if shape.element is not None and inner is not None else None
    is_kept = shape.is_nested and use.takes(DataType.JSON) and use.structure is None
    has_texts = is_kept or any(each.texts for each in (*fields.values(), element) if each is not None)
    return Item(
        Form.VARIANT,
        T.VariantType(),
        T.VariantType(),
        fields=fields,
        element=element,
        scalars=_scalar_types(shape, use),
        is_nested=shape.is_nested,
        is_kept=is_kept,
        is_row=use.is_row,
        is_marked=is_marked,
        texts=_TEXTS if has_texts else None,
    )


def _scalar_types(shape: Shape, use: Use) -> frozenset[str]:
    found = frozenset("DOUBLE" if name.startswith("DECIMAL") else name for name in shape.scalars)
    # Of integers among other numbers Spark's shapes tell nothing.
    return found | {"BIGINT"} if "DOUBLE" in found and use.takes(DataType.BIGINT) else found


def _object(fields: Mapping[str, Item]) -> Item:
    source = T.StructType([T.StructField(key, item.source) for key, item in fields.items()])
    items = zip(_staged_names(fields), fields.values(), strict=True)
    staged = T.StructType([T.StructField(name, item.type) for name, item in items])
    texts = {key: item.texts for key, item in fields.items() if item.texts is not None}
    return Item(Form.OBJECT, source, staged, fields=fields, texts=_object(texts) if texts else None)


def _staged_names(keys: Collection[str]) -> Iterable[str]:
    """Return the keys where Parquet and SQL take all of them as they are: to rename fields costs a copy of each row."""
    return keys if all(map(_PLAIN_KEY.fullmatch, keys)) else (f"f{at}" for at in range(len(keys)))


_PLAIN_KEY: Final = re.compile("[A-Za-z][A-Za-z0-9_]{0,99}")


def _list(element: Item) -> Item:
    texts = _list(element.texts) if element.texts is not None else None
    return Item(Form.LIST, T.ArrayType(element.source), T.ArrayType(element.type), element=element, texts=texts)


# --- sources that state their types ---


def typed_item(source: T.DataType, use: Use) -> Item:
    """Return how values of a stated type are staged."""
    structure = use.structure
    match source:
        case T.StructType() | T.ArrayType() | T.MapType() if structure is not None and not use.is_row:
            return Item(Form.NESTED, source, structure_type(structure), structure=structure)
        case T.StructType() if use.is_row or not use.takes(DataType.JSON):
            found = {
                inner.name: typed_item(inner.dataType, use.below[inner.name])
                for inner in source.fields
                if inner.name in use.below
            }
            return Item(Form.OBJECT, source, _object(found).type, fields=found) if found else _typed_json(source, use)
        case T.ArrayType() if ELEMENT in use.below and not use.takes(DataType.JSON):
            element = typed_item(source.elementType, use.below[ELEMENT])
            return Item(Form.LIST, source, T.ArrayType(element.type), element=element)
        case T.StructType() | T.ArrayType() | T.MapType() | T.VariantType():
            return _typed_json(source, use)
        case _:
            kind = typed_columns(T.StructType([T.StructField("value", source)]))[("value",)]["data_type"]
            return Item(Form.SCALAR, source, _staged_type(source), DataType(kind))


def _typed_json(source: T.DataType, use: Use) -> Item:
    is_row = use.is_row and isinstance(source, T.StructType)
    return Item(Form.JSON, source, T.StringType(), is_kept=use.takes(DataType.JSON) and not is_row)


def _staged_type(source: T.DataType) -> T.DataType:
    match source:
        case T.ByteType() | T.ShortType() | T.IntegerType():
            return T.LongType()
        case T.FloatType():
            return T.DoubleType()
        case (
            T.LongType() | T.DoubleType() | T.BooleanType() | T.DecimalType() | T.BinaryType() | T.DateType()
            | T.TimeType() | T.TimestampType() | T.TimestampNTZType()
        ):  # fmt: skip
            return source
        case _:
            return T.StringType()


def staged_sql(item: Item, value: str, depth: int = 0) -> str:
    """Return SQL that makes of a value of the stated type ``item.source`` what is staged."""
    match item.form:
        case Form.OBJECT:
            inner = [staged_sql(child, field_of(value, key), depth) for key, child in item.fields.items()]
            return f"if({value} is null, null, {struct_sql(item, inner)})"
        case Form.LIST if item.element is not None:
            each = f"e{depth}"
            inner_sql = staged_sql(item.element, each, depth + 1)
            return value if inner_sql == each else f"transform({value}, {each} -> {inner_sql})"
        case Form.NESTED if item.structure is not None:
            return Converter().of_typed(item.source, item.structure, value)
        case Form.JSON:
            return f"to_json({value}, map('ignoreNullFields', 'false'))"
        case _:
            return value if item.type == item.source else f"cast({value} as {item.type.simpleString()})"


def struct_sql(item: Item, values: Iterable[str]) -> str:
    """Return SQL for an object as it is staged, of SQL for the values of its fields."""
    assert isinstance(item.type, T.StructType)
    fields = (f"'{name}', {sql}" for name, sql in zip(item.type.names, values, strict=True))
    return f"named_struct({', '.join(fields)})"

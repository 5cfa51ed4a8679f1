"""Lists every value of a document, as one SQL expression made from the shape that the documents can have.

A document is read with a type of its own (``document_type``): structs and lists where nothing else was met, VARIANT
everywhere else. Taking a value out of a VARIANT copies the keys of the whole VARIANT with it, so VARIANTs are kept
small: 200 MB of GitHub's events take 70 s as one VARIANT a document and a tenth of that so (benchmarks/infer.py).

The expression is built as SQL text: one with 5,000 keys takes Python a blink, and minutes as ``Column`` calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field

from pyspark.sql.types import ArrayType, DataType, StructField, StructType, VariantType

from schemactl.engine.shapes import Shape
from schemactl.inference.classes import is_row_key
from schemactl.inference.paths import ELEMENT, Path

OBJECT_KIND = "OBJECT"
KEYED_KIND = "KEYED"
"""An object that brings its own row key (``classes.KEYED_OBJECT``)."""
LIST_KIND = "ARRAY"
NULL_KIND = "VOID"

_SURE_SCALARS = frozenset({"STRING", "BIGINT", "BOOLEAN"})
"""Scalar types which, met alone at a path, are the type of every value there; ``DOUBLE`` may stand for a mix."""

_NULL = "parse_json('null')"
_FALSY = "('', '0', '0.0', '-0.0', 'false', '0E0')"


def document_type(shape: Shape) -> DataType:
    """Return the type that documents of ``shape`` are read with."""
    if shape.is_object and shape.children:
        return StructType([StructField(key, document_type(child)) for key, child in shape.children.items()])
    if shape.is_list and shape.element is not None:
        return ArrayType(document_type(shape.element))
    return VariantType()


@dataclass(frozen=True, slots=True)
class Listing:
    """The values of a document as SQL: an array of arrays of structs; null arrays and null structs count as nothing.

    Attributes:
        sql: the expression.
        paths: where the values stand; the structs' ``node`` counts in them.
    """

    sql: str
    paths: tuple[Path, ...]


def list_values(shape: Shape, column: str) -> Listing:
    """Return SQL that lists all values of the documents in ``column``, which has the type ``document_type(shape)``.

    The structs hold ``node`` (int), ``kind`` (string: a scalar's type, ``OBJECT``, ``KEYED``, ``ARRAY``), ``text``
    (string: scalars as texts, null where a scalar is null) and ``length`` (int: of lists).
    """
    return _listing(_Writer(_describe), shape, column)


def list_raw_values(shape: Shape, column: str, only: Set[Path]) -> Listing:
    """Return SQL that lists the values at some paths as they are: structs of ``node`` and ``value`` (VARIANT)."""
    return _listing(_Writer(_keep, only), shape, column)


def _listing(writer: _Writer, shape: Shape, column: str) -> Listing:
    groups = list(writer.groups(shape, quote(column), ()))
    return Listing(f"array({', '.join(groups)})", tuple(writer.numbers))


def _describe(node: int, kind: str | None, value: str | None, length: str | None) -> str:
    """Return SQL for a value's struct: its kind as SQL, None to ask for it; its VARIANT, its length as SQL."""
    known = kind or f"regexp_replace(schema_of_variant({value}), '<.*', '')"
    text = f"try_variant_get({value}, '$', 'string')" if value else "cast(null as string)"
    size = length or "cast(null as int)"
    return f"named_struct('node', {node}, 'kind', {known}, 'text', {text}, 'length', {size})"


def _keep(node: int, _kind: str | None, value: str | None, _length: str | None) -> str:
    return f"named_struct('node', {node}, 'value', {value})"


@dataclass(slots=True)
class _Writer:
    item: Callable[[int, str | None, str | None, str | None], str]
    only: Set[Path] | None = None
    numbers: dict[Path, int] = field(default_factory=dict)
    variables: int = 0

    def groups(self, shape: Shape, value: str, path: Path) -> Iterator[str]:
        """Yield arrays of items: one for an object and the scalars in it, more for what is nested deeper."""
        if not (shape.is_object and shape.children):
            yield self._group(shape, value, path)
            return
        items = [self._item(path, self._object_kind(shape, value))]
        nested: list[str] = []
        for key, child in shape.children.items():
            inner, at = f"{value}.{quote(key)}", (*path, key)
            if child.is_nested or child.is_mixed:
                nested += self.groups(child, inner, at)
            else:
                items.append(f"if({inner} is null, null, {self._scalar_item(child, inner, at)})")
        yield f"if({value} is null, null, array({', '.join(items)}))"
        yield from nested

    def _group(self, shape: Shape, value: str, path: Path) -> str:
        if shape.is_list and shape.element is not None:
            return self._list_group(shape.element, value, path)
        if shape.is_nested:
            return self._variant_group(shape, value, path)
        return f"if({value} is null, null, array({self._scalar_item(shape, value, path)}))"

    def _list_group(self, element: Shape, value: str, path: Path) -> str:
        own = self._item(path, literal(LIST_KIND), length=f"size({value})")
        variable = self._variable()
        inside = list(self.groups(element, variable, (*path, ELEMENT)))
        null = self._item((*path, ELEMENT), literal(NULL_KIND))
        listed = f"if({variable} is null, array({null}), {_joined(inside)})"
        return f"if({value} is null, null, concat(array({own}), flatten(transform({value}, {variable} -> {listed}))))"

    def _variant_group(self, shape: Shape, value: str, path: Path) -> str:
        """List what a VARIANT holds, where kinds mix or an object has no keys."""
        bound = self._variable()
        elements = f"try_variant_get({bound}, '$', 'array<variant>')"
        length = f"size({elements})" if shape.has_lists else None
        parts = [f"array({self._item(path, self._variant_kind(shape, bound), bound, length)})"]
        for key, child in shape.children.items():
            parts.append(self._variant_group(child, variant_child(bound, key), (*path, key)))
        if shape.element is not None:
            item = self._variable()
            inside = self._variant_group(shape.element, f"coalesce({item}, {_NULL})", (*path, ELEMENT))
            parts.append(f"flatten(transform({elements}, {item} -> {inside}))")
        # A lambda's variable is computed once; as plain text the value would be repeated for every key below it.
        return f"if({value} is null, null, transform(array({value}), {bound} -> {_joined(parts)})[0])"

    def _object_kind(self, shape: Shape, value: str) -> str:
        kind = literal(OBJECT_KIND)
        for key in filter(is_row_key, shape.children):
            child, inner = shape.children[key], f"{value}.{quote(key)}"
            is_set = f"{inner} is not null" if child.is_object or child.is_list else _is_truthy(inner)
            kind = f"if({is_set}, {literal(KEYED_KIND)}, {kind})"
        return kind

    def _variant_kind(self, shape: Shape, value: str) -> str | None:
        keys = [_is_truthy(variant_child(value, key)) for key in shape.children if is_row_key(key)]
        asked = f"regexp_replace(schema_of_variant({value}), '<.*', '')"
        return f"if({' or '.join(keys)}, {literal(KEYED_KIND)}, {asked})" if keys else None

    def _scalar_item(self, shape: Shape, value: str, path: Path) -> str:
        is_sure = len(shape.scalars) == 1 and shape.scalars <= _SURE_SCALARS
        return self._item(path, literal(next(iter(shape.scalars))) if is_sure else None, value)

    def _item(self, path: Path, kind: str | None, value: str | None = None, length: str | None = None) -> str:
        if self.only is not None and path not in self.only:
            return "cast(null as struct<node: int, value: variant>)"
        return self.item(self.numbers.setdefault(path, len(self.numbers)), kind, value, length)

    def _variable(self) -> str:
        self.variables += 1
        return f"x{self.variables}"


def _joined(arrays: list[str]) -> str:
    """Return SQL for all arrays as one; null ones count as empty."""
    return arrays[0] if len(arrays) == 1 else f"flatten(array_compact(array({', '.join(arrays)})))"


def _is_truthy(value: str) -> str:
    """Return SQL for whether Python takes a VARIANT for true; of objects and lists it takes the full ones."""
    return (
        f"coalesce(try_variant_get({value}, '$', 'string') not in {_FALSY}, "
        f"schema_of_variant({value}) not in ('VOID', 'OBJECT<>', 'ARRAY<VOID>'), false)"
    )


def quote(name: str) -> str:
    """Quote an identifier of Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def variant_child(value: str, key: str) -> str:
    """Return SQL for the value of ``key`` in an object that is a VARIANT, null where there is none."""
    if "'" in key and '"' in key:
        # Spark's paths cannot quote a key that holds both quotes.
        return f"try_element_at(try_variant_get({value}, '$', 'map<string,variant>'), {literal(key)})"
    mark = '"' if "'" in key else "'"
    path = literal(f"$[{mark}{key}{mark}]")
    return f"try_variant_get({value}, {path}, 'variant')"


def literal(text: str) -> str:
    """Quote a text of Spark SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"

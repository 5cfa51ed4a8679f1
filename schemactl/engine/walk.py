"""Lists every value of a document, as one SQL expression made from the shape that the documents can have.

A document is read with a type of its own (``document_type``): structs and lists where nothing else was met, maps where
an object has many keys (``siblings``), VARIANT everywhere else. Taking a value out of a VARIANT copies the keys of the
whole VARIANT with it, so VARIANTs are kept small; and the values of an object are listed as one array of texts, because
a struct for each of them costs more than all the parsing (benchmarks/infer.py).

The expression is built as SQL text: one with 5,000 keys takes Python a blink, and minutes as ``Column`` calls.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field

from pyspark.sql import Row

from schemactl.engine.document_types import is_sure
from schemactl.engine.shapes import ANY_KEY, Shape
from schemactl.engine.siblings import unfold_path
from schemactl.engine.sql import field_of
from schemactl.engine.variants import elements_of, entries_of, is_truthy, kind_of, map_of, variant_child
from schemactl.inference.classes import is_row_key
from schemactl.inference.paths import ELEMENT, Path

OBJECT_KIND = "OBJECT"
KEYED_KIND = "KEYED"
"""An object that brings its own row key (``classes.KEYED_OBJECT``)."""
LIST_KIND = "ARRAY"
NULL_KIND = "VOID"

NULL_TEXT = "cast(X'FF' as string)"
"""SQL of what stands for a null where texts are listed: no UTF-8, so that no text of the data is the same."""

_NULL = "parse_json('null')"


@dataclass(frozen=True, slots=True)
class Node:
    """What an item is: its path, and the kind of all its values, None where each item tells its own."""

    path: Path
    kind: str | None


@dataclass(frozen=True, slots=True)
class Listing:
    """The values of a document as SQL: an array of arrays of structs, all of which may be null and then count nothing.

    A struct has ``first`` and ``step`` (int) and ``items`` (array): the item at position ``p``, counted from 0, is of
    the node ``first + step * p``; null items count nothing. If any key may stand in the path of a node, a struct has
    ``keys`` (array of texts) too: those that stand there for its items.

    Where a document has at most one item of each node, there is an expression for each of these instead.

    Attributes:
        nodes: what the items are.
        sql: the expression; empty where there are ``fields``.
        fields: expressions of items, one of each node.
        has_keys: whether structs have ``keys``.
    """

    nodes: tuple[Node, ...]
    sql: str = ""
    fields: tuple[str, ...] = ()
    has_keys: bool = False

    def path(self, item: Row) -> Path:
        """Return the path of an item, given its ``node`` and ``keys``."""
        path = self.nodes[item.node].path
        return unfold_path(path, item["keys"]) if self.has_keys else path


def list_values(shape: Shape, column: str, leave_out: Set[Path] = frozenset()) -> Listing:
    """Return SQL that lists all values of the documents in ``column``, which has the type ``document_type(shape)``.

    Items are texts: a scalar as text, ``NULL_TEXT``, the length of a list, an empty text for an object; where the
    node has no kind of its own, the kind and a blank stand before that. Values at ``leave_out`` are not listed.
    """
    return _listing(_Writer(_text_of, lambda path: path not in leave_out, "string", _has_keys(shape)), shape, column)


def list_fields(shape: Shape, column: str, leave_out: Set[Path] = frozenset()) -> Listing:
    """Return SQL for the same items, of a shape that has nothing but fields (``shapes.split_fields``)."""
    writer = _Writer(_text_of, lambda path: path not in leave_out, "string", has_keys=False)
    items = writer.fields(shape, column, ())
    told = [(node, item) for node, item in zip(writer.nodes, items, strict=True) if node.path not in leave_out]
    return Listing(tuple(node for node, _ in told), fields=tuple(item for _, item in told))


def list_raw_values(shape: Shape, column: str, only: Set[Path]) -> Listing:
    """Return SQL that lists the values at some paths as they are, as VARIANTs."""
    return _listing(_Writer(_raw, lambda path: path in only, "variant", _has_keys(shape)), shape, column)


def list_nulls(shape: Shape, column: str, only: Set[Path]) -> Listing:
    """Return SQL that lists the nulls at some paths whose values are VARIANTs, as empty texts."""
    return _listing(_Writer(_null_of, lambda path: path in only, "string", _has_keys(shape)), shape, column)


def _listing(writer: _Writer, shape: Shape, column: str) -> Listing:
    sql = f"array({', '.join(writer.arrays(shape, column, ()))})"
    return Listing(tuple(writer.nodes), sql, has_keys=writer.has_keys)


def _has_keys(shape: Shape) -> bool:
    return any(inner.entry is not None for _, inner in shape.walk())


def _text_of(kind: str | None, value: str | None, asked: str, length: str) -> str:
    """Return SQL for an item.

    Args:
        kind: the kind of all values of the node; None to ask.
        value: SQL of the value, a VARIANT; None where the kind says all.
        asked: SQL of the item, where that cannot be told from the value as a VARIANT.
        length: SQL of a list's length.
    """
    if value is None:
        return f"cast({length} as string)" if length else "''"
    if asked:
        return asked
    if kind is not None:
        # As its own type first: other than texts, Spark makes each value an expression to turn it into a text.
        own = f"cast(try_variant_get({value}, '$', '{kind}') as string)"
        return f"if({value} is null, null, coalesce({own}, {NULL_TEXT}))"
    text = f"try_variant_get({value}, '$', 'string')"
    return f"if({value} is null, null, concat(schema_of_variant({value}), ' ', coalesce({text}, '')))"


def _raw(_kind: str | None, value: str | None, _asked: str, _length: str) -> str:
    return value or _NULL


def _null_of(_kind: str | None, value: str | None, _asked: str, _length: str) -> str:
    return f"if(is_variant_null({value}), '', null)" if value else "cast(null as string)"


@dataclass(slots=True)
class _Writer:
    item: Callable[[str | None, str | None, str, str], str]
    is_wanted: Callable[[Path], bool]
    item_type: str
    has_keys: bool
    nodes: list[Node] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    variables: int = 0

    def arrays(self, shape: Shape, value: str, path: Path) -> list[str]:
        """Return arrays of structs for a value: one for it and the objects in it, one more for each list in it."""
        structs: list[str] = []
        lists: list[str] = []
        self._collect(shape, value, path, structs, lists)
        return [f"array({', '.join(structs)})", *lists] if structs else lists

    def fields(self, shape: Shape, value: str, path: Path) -> list[str]:
        """Return the items of a value and of the objects in it."""
        if not _is_struct(shape):
            return [self._own_item(shape, value, path)]
        items = [f"if({value} is null, null, {item})" for item in self._object_items(shape, value, path)]
        for key, child in shape.children.items():
            items += self.fields(child, field_of(value, key), (*path, key))
        return items

    def _collect(self, shape: Shape, value: str, path: Path, structs: list[str], lists: list[str]) -> None:
        if not _is_struct(shape):
            structs += [self._struct([self._own_item(shape, value, path)], value)] if _is_listed_alone(shape) else []
            lists += self._inside(shape, value, path)
            return
        children = [(child, field_of(value, key), (*path, key)) for key, child in shape.children.items()]
        items = self._object_items(shape, value, path)
        items += [self._own_item(*child) for child in children if _is_listed_alone(child[0])]
        structs.append(self._struct(items, value))
        for child, inner, at in children:
            if _is_struct(child):
                self._collect(child, inner, at, structs, lists)
            else:
                lists += self._inside(child, inner, at)

    def _inside(self, shape: Shape, value: str, path: Path) -> list[str]:
        if shape.is_list and shape.element is not None:
            return [self._elements(shape.element, value, (*path, ELEMENT))]
        if shape.is_object and shape.entry is not None:
            return [self._map(shape.entry, value, path)]
        return [self._variant(shape, value, path)] if shape.is_nested else []

    def _elements(self, element: Shape, value: str, path: Path) -> str:
        variable = self._variable()
        if element.is_nested and not (element.is_object or element.is_list):
            inside = self._variant(element, f"coalesce({variable}, {_NULL})", path)
        elif element.is_nested:
            null = self._struct([self._item(path, NULL_KIND)])
            inside = f"if({variable} is null, array({null}), {_joined(self.arrays(element, variable, path))})"
        else:
            first = len(self.nodes)
            if element.is_typed:
                item = f"coalesce({self._own_item(element, variable, path)}, {NULL_TEXT})"
            else:
                item = self._own_item(element, f"coalesce({variable}, {_NULL})", path)
            items = f"transform({value}, {variable} -> {item})"
            return f"if({value} is null, null, array({self._group(first, 0, items)}))"
        return f"flatten(transform({value}, {variable} -> {inside}))"

    def _map(self, entry: Shape, value: str, path: Path) -> str:
        """List an object that is read as a map, and what is in it."""
        own = f"array({self._struct([self._item(path, OBJECT_KIND)])})"
        inside = self._entries(entries_of(value), lambda each: _joined(self.arrays(entry, each, (*path, ANY_KEY))))
        return f"if({value} is null, null, {_joined([own, inside])})"

    def _entries(self, entries: str, inside: Callable[[str], str]) -> str:
        """List what is in the values of a map's entries."""
        variable = self._variable()
        self.keys.append(f"{variable}.key")
        arrays = inside(f"{variable}.value")
        self.keys.pop()
        return f"flatten(array_compact(transform({entries}, {variable} -> {arrays})))"

    def _variant(self, shape: Shape, value: str, path: Path) -> str:
        """List a VARIANT and what is in it, where kinds mix or an object has no keys."""
        bound = self._variable()
        own = self._item(path, None, bound, self._asked(shape, bound) if shape.is_nested else "")
        parts = [f"array({self._struct([own])})"]
        parts += [
            self._variant(child, variant_child(bound, key), (*path, key)) for key, child in shape.children.items()
        ]
        if shape.element is not None:
            item = self._variable()
            inside = self._variant(shape.element, f"coalesce({item}, {_NULL})", (*path, ELEMENT))
            parts.append(f"flatten(transform({elements_of(bound)}, {item} -> {inside}))")
        if (entry := shape.entry) is not None:
            entries = f"map_entries({map_of(bound)})"
            parts.append(self._entries(entries, lambda each: self._variant(entry, each, (*path, ANY_KEY))))
        # A lambda's variable is computed once; as plain text the value would be repeated for every key below it.
        return f"if({value} is null, null, transform(array({value}), {bound} -> {_joined(parts)})[0])"

    def _object_items(self, shape: Shape, value: str, path: Path) -> list[str]:
        keys = [key for key in shape.children if is_row_key(key)]
        if not keys:
            return [self._item(path, OBJECT_KIND)]
        is_set = " or ".join(_is_set(shape.children[key], field_of(value, key)) for key in keys)
        plain, keyed = self._item(path, OBJECT_KIND), self._item(path, KEYED_KIND)
        return [f"if({is_set}, null, {plain})", f"if({is_set}, {keyed}, null)"]

    def _own_item(self, shape: Shape, value: str, path: Path) -> str:
        if shape.is_list and shape.element is not None:
            return f"if({value} is null, null, {self._item(path, LIST_KIND, length=f'size({value})')})"
        if shape.is_nested:
            return self._item(path, None, value, self._asked(shape, value))
        asked = f"cast({value} as string)" if shape.is_typed else ""
        return self._item(path, next(iter(shape.scalars)) if is_sure(shape) else None, value, asked)

    def _asked(self, shape: Shape, value: str) -> str:
        """Return SQL for the item of a VARIANT that may be nested."""
        keys = [is_truthy(variant_child(value, key)) for key in shape.children if is_row_key(key)]
        kind = kind_of(value)
        text = f"coalesce(cast(size({elements_of(value)}) as string), try_variant_get({value}, '$', 'string'), '')"
        keyed = f"when {' or '.join(keys)} then '{KEYED_KIND} ' " if keys else ""
        return f"case {keyed}when {kind} = '{OBJECT_KIND}' then '{OBJECT_KIND} ' else concat({kind}, ' ', {text}) end"

    def _struct(self, items: list[str], value: str | None = None) -> str:
        first = len(self.nodes) - len(items)
        struct = self._group(first, 1, f"array({', '.join(items)})")
        return struct if value is None else f"if({value} is null, null, {struct})"

    def _group(self, first: int, step: int, items: str) -> str:
        keys = f", 'keys', cast(array({', '.join(self.keys)}) as array<string>)" if self.has_keys else ""
        return f"named_struct('first', {first}, 'step', {step}, 'items', {items}{keys})"

    def _item(self, path: Path, kind: str | None, value: str | None = None, asked: str = "", length: str = "") -> str:
        self.nodes.append(Node(path, kind))
        if not self.is_wanted(path):
            return f"cast(null as {self.item_type})"
        return self.item(kind, value, asked, length)

    def _variable(self) -> str:
        self.variables += 1
        return f"x{self.variables}"


def _is_struct(shape: Shape) -> bool:
    return shape.is_object and bool(shape.children)


def _is_listed_alone(shape: Shape) -> bool:
    """Return whether a value is an item beside its siblings: structs and VARIANTs that nest bring their own."""
    return not shape.is_nested or (shape.is_list and shape.element is not None)


def _joined(arrays: list[str]) -> str:
    """Return SQL for all arrays as one; null ones count as empty."""
    return arrays[0] if len(arrays) == 1 else f"flatten(array_compact(array({', '.join(arrays)})))"


_FALSE = {"STRING": "''", "BIGINT": "0", "BOOLEAN": "false"}


def _is_set(shape: Shape, value: str) -> str:
    if _is_struct(shape):
        return f"{value} is not null"
    if shape.is_typed:
        return f"coalesce({value} not in ({_FALSE[next(iter(shape.scalars))]}), false)"
    is_sized = (shape.is_list and shape.element is not None) or (shape.is_object and shape.entry is not None)
    return f"size({value}) > 0" if is_sized else is_truthy(value)

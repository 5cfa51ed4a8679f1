"""Evolves the types of columns that keep structure (``x-spark-type``) by evidence.

Otherwise the normalizer that keeps structure is the relational one at ``max_nesting: 0``: one table, with a column for
each nested value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from schemactl.inference.classes import LIST, OBJECT, kind_of
from schemactl.inference.document_tree import Node, tree_of
from schemactl.inference.evidence import Evidence
from schemactl.inference.resolve import AS_IT_IS, Origin, Resolution, ResolveOptions, resolve
from schemactl.inference.values import DECLARED
from schemactl.inference.widening import MAPS
from schemactl.schema.coercion import EXACT_INTEGERS
from schemactl.schema.full_types import MAX_DIGITS
from schemactl.schema.nested_types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    LARGE,
    SPARK_TYPE,
    STRING,
    FieldPath,
    Json,
    Leaf,
    ListOf,
    MapOf,
    NestedType,
    Struct,
    keeps_structure,
    leaf_of,
    read_type,
    stated_type,
    structure_of,
    write_type,
)
from schemactl.schema.nested_widening import fields_of
from schemactl.schema.paths import ELEMENT, Path
from schemactl.schema.settings import NormalizerConfig, Settings
from schemactl.schema.types import Column, DataType, Properties, Schema, Table

_WIDENED: Final = ({DataType.BIGINT, DataType.DOUBLE}, {DataType.DATE, DataType.TIMESTAMP})


def leaf_of_declared(properties: Properties, declared_types: frozenset[DataType]) -> NestedType:
    """Return the type that keeps scalars of all declared types without changing how they are written."""
    if len(declared_types) > 1 and declared_types not in _WIDENED:
        return Json()
    return Json() if properties.get("precision", 0) > MAX_DIGITS else leaf_of(properties)


def map_of_declared(properties: Properties, levels: int) -> NestedType | None:
    """Return the type that keeps all maps that sources declare, None without any; JSON text below ``levels``."""
    map_types = [read_type(text) for text in properties.get(MAPS, ())]
    return _cut(_merge_types(map_types, _widest), levels) if map_types else None


def merge_structures(old: NestedType, new: NestedType) -> NestedType:
    """Return ``old`` with the fields of ``new``; fields whose types differ become JSON texts."""
    return _merge_types((old, new), lambda names: Json() if len(names) > 1 else Leaf(*names))


def are_distinct_names(names: Iterable[str]) -> bool:
    """Return whether readers can distinguish fields: many ignore case, and Parquet has no blank names."""
    names = list(names)
    return len({name.lower() for name in names}) == len(names) and all(name and "\0" not in name for name in names)


def _merge_types(types: Sequence[NestedType], leaf: Callable[[frozenset[str]], NestedType]) -> NestedType:
    """Return the type that keeps values of all types, whatever their order; ``leaf`` decides for scalars."""
    structs = [nested_type for nested_type in types if isinstance(nested_type, Struct)]
    lists = [nested_type.element for nested_type in types if isinstance(nested_type, ListOf)]
    maps = [nested_type.value for nested_type in types if isinstance(nested_type, MapOf)]
    leaves = [nested_type.name for nested_type in types if isinstance(nested_type, Leaf)]
    if len(structs) == len(types):
        types_by_field: dict[str, list[NestedType]] = {}
        for name, field_type in (field for struct in structs for field in dict(struct.fields).items()):
            types_by_field.setdefault(name, []).append(field_type)
        return Struct(tuple((name, _merge_types(field_types, leaf)) for name, field_types in types_by_field.items()))
    if len(lists) == len(types):
        return _nest(ListOf, _merge_types(lists, leaf))
    if len(maps) == len(types):
        return _nest(MapOf, _merge_types(maps, leaf))
    return leaf(frozenset(leaves)) if len(leaves) == len(types) else Json()


def _nest(kind: type[ListOf] | type[MapOf], inner: NestedType) -> NestedType:
    return inner if isinstance(inner, Json) else kind(inner)


def _widest(names: frozenset[str]) -> NestedType:
    """Return the type that keeps scalars of all types within maps, as ``leaf_of_declared`` does."""
    if len(names) == 1:
        return Leaf(*names)
    if names == {BIGINT, DOUBLE}:
        return Leaf(DOUBLE)
    if names <= {"date", "timestamp", "timestamp_ntz"}:
        return Leaf("timestamp")
    kinds = {name.partition("(")[0] for name in names}
    sizes = [[int(size) for size in name.rstrip(")").partition("(")[2].split(",")] for name in names if "(" in name]
    if kinds == {"time"}:
        return Leaf(f"time({max(precision for (precision,) in sizes)})")
    if kinds == {"decimal"}:
        scale = max(scale for _, scale in sizes)
        precision = scale + max(precision - scale for precision, scale in sizes)
        return Leaf(f"decimal({precision},{scale})") if precision <= MAX_DIGITS else Json()
    return Json()


def _cut(of: NestedType, levels: int) -> NestedType:
    match of:
        case Leaf() | Json():
            return of
        case _ if levels <= 0:
            return Json()
        case Struct(fields):
            cut = tuple((name, _cut(inner, levels - 1)) for name, inner in fields)
            return Struct(cut) if are_distinct_names(name for name, _ in fields) else Json()
        case ListOf(inner) | MapOf(inner):
            return _nest(type(of), _cut(inner, levels - 1))


MOST_LEVELS: Final = 50
"""Levels that keep structure; deeper values are JSON texts. Arrow and similar libraries stop not much deeper."""

_KEY_HINTS: Final = ("primary_key", "merge_key", "unique", "row_key", "parent_key", "root_key")
"""Hints of columns that databases compare; not all of them compare structs."""

_DIGITS: Final = 9.9e37
"""A number that certainly fits 38 digits."""


def structures_in(schema: Schema) -> Iterator[tuple[Table, Column]]:
    """Yield the columns that keep structs or lists, with their tables."""
    if keeps_structure(schema.normalizers):
        for table in schema.tables.values():
            for column in table.columns.values():
                if column.is_complete and not isinstance(stated_type(column), (Json, type(None))):
                    yield table, column


def flat(schema: Schema) -> Schema:
    """Return a schema under which the relational normalizer keeps all nested values whole."""
    section = schema.normalizers.get("json") or {}
    config = {**(section.get("config") or {}), "max_nesting": 0}
    tables = {name: _with_nesting(table, None) for name, table in schema.tables.items()}
    return replace(schema, tables=tables, normalizers={**schema.normalizers, "json": {**section, "config": config}})


def _with_nesting(table: Table, levels: int | None) -> Table:
    """Return a table with a limit of flattened levels; None removes the limit."""
    if table.normalizer_hint("max_nesting") == levels:
        return table
    hints = {key: value for key, value in (table.properties.get("x-normalizer") or {}).items() if key != "max_nesting"}
    hints |= {} if levels is None else {"max_nesting": levels}
    return replace(table, properties={**table.properties, "x-normalizer": hints})


def _normalizers_as_before(flattened: Schema, before: Schema) -> Properties:
    old = before.normalizers.get("json") or {}
    new = flattened.normalizers["json"]
    config = {key: value for key, value in new["config"].items() if key != "max_nesting"}
    if "max_nesting" in (old.get("config") or {}):
        config["max_nesting"] = old["config"]["max_nesting"]
    if config == (old.get("config") or {}):
        return before.normalizers
    return {**flattened.normalizers, "json": {**new, "config": config}}


def resolve_nested(evidence: Evidence, schema: Schema, table: str, options: ResolveOptions = AS_IT_IS) -> Resolution:
    """Evolve ``schema`` as ``resolve`` does, with nested values in columns that keep their structure.

    A new column of objects or lists gets the type that keeps them. An existing type gets new fields at the end of its
    structs, and JSON texts for fields whose type changes, except ``wider_fields``. An existing column without such a
    type keeps JSON texts.
    """
    resolution = resolve(evidence, flat(schema), table, options)
    # `flat` removed the limits of levels: restore them.
    levels = {name: stored_table.normalizer_hint("max_nesting") for name, stored_table in schema.tables.items()}
    tables = {name: _with_nesting(new_table, levels.get(name)) for name, new_table in resolution.schema.tables.items()}
    resolved = replace(resolution.schema, tables=tables, normalizers=_normalizers_as_before(resolution.schema, schema))
    types = _Types(evidence, options.wider_fields)
    return replace(resolution, schema=_Structures(types, schema, resolution).evolved(resolved))


class _Structures:
    """The types of the columns that a resolution feeds from nested data."""

    def __init__(self, types: _Types, before: Schema, resolution: Resolution) -> None:
        self._before = before
        self._resolution = resolution
        self._types = types
        self._settings = Settings.of(before.settings)
        self._most = NormalizerConfig.of(before.normalizers).max_nesting

    def evolved(self, schema: Schema) -> Schema:
        tables = dict(schema.tables)
        for table, name in self._resolution.taken:
            column = tables[table].columns.get(name)
            if column is not None and self._is_kept(table, column, self._resolution.sources((table, name))[0]):
                columns = {**tables[table].columns, name: self._evolved_column(tables[table], column)}
                tables[table] = replace(tables[table], columns=columns)
        return replace(schema, tables=tables)

    def _is_kept(self, table: str, column: Column, path: Path) -> bool:
        if column.data_type is not DataType.JSON or any(map(column.properties.get, _KEY_HINTS)):
            return False
        if SPARK_TYPE in column.properties:
            return True
        known_column = self._before.column(table, column.name)
        is_declared = known_column is not None and bool(known_column.properties.get("data_type"))
        return not is_declared and self._settings.preferred_type(column.name, path) is not DataType.JSON

    def _evolved_column(self, table: Table, column: Column) -> Column:
        levels = table.normalizer_hint("max_nesting")
        level_limit = min(self._most if levels is None else levels, MOST_LEVELS)
        taken_classes = self._resolution.taken[table.name, column.name]
        nested_type: NestedType | None = stated_type(column)
        for path in dict.fromkeys(path for path, _ in taken_classes):
            # Texts that hold JSON, and sources that declare only `json`, have no structure to keep.
            classes = (name for taken_path, name in taken_classes if taken_path == path)
            is_nested = all(self._types.is_nested(path, name) for name in classes)
            nested_type = self._types.at(path, nested_type, level_limit) if is_nested else Json()
        spark_type = write_type(nested_type or Json())
        return Column(column.name, {**column.properties, SPARK_TYPE: spark_type})


def _type_of_scalars(kinds: set[str], largest: float, old: NestedType | None) -> NestedType:
    """Return the type that keeps scalars of some kinds, integers up to a size; if several do, the old one."""
    # Evidence may have rounded to the last exact integer.
    if kinds <= {BIGINT} and old == Leaf(DOUBLE) and largest < EXACT_INTEGERS:
        return Leaf(DOUBLE)
    if kinds <= {BIGINT, LARGE} and largest < _DIGITS:
        return Leaf(BIGINT if kinds == {BIGINT} and old != Leaf(LARGE) else LARGE)
    if DOUBLE in kinds and kinds <= {BIGINT, DOUBLE} and largest < EXACT_INTEGERS:
        return Leaf(DOUBLE)
    plain = {"text": STRING, "bool": BOOLEAN}
    return Leaf(plain[next(iter(kinds))]) if len(kinds) == 1 and kinds <= plain.keys() else Json()


class _Types:
    """The types of nested data, path by path."""

    def __init__(self, evidence: Evidence, wider_fields: Mapping[Path, NestedType]) -> None:
        self._evidence = evidence
        self._wider_fields = wider_fields
        self._tree = tree_of(evidence)

    def is_nested(self, path: Path, name: str) -> bool:
        """Return whether a class of values at ``path`` contains objects, lists or maps."""
        return kind_of(name) in (OBJECT, LIST) or (name == DECLARED and self._has_maps(path))

    def _has_maps(self, path: Path) -> bool:
        return MAPS in self._evidence.declared.get(path, {})

    def at(self, path: Path, old: NestedType | None, levels: int) -> NestedType | None:
        """Return the type that keeps objects and lists at ``path``, evolved from ``old``."""
        node = self._tree
        for step in path:
            inner_node = node.element if step is ELEMENT else node.keys.get(step)
            if inner_node is None:
                return old
            node = inner_node
        # Scalars go to other columns; if documents are lists, objects among them are rows.
        container = replace(node, kinds=frozenset(), is_object=node.is_object and bool(path))
        return self._nested(container, path, old, levels)

    def _type(self, node: Node, path: Path, old: NestedType | None, levels: int) -> NestedType | None:
        """Return the type that keeps the values at ``path``; None without values and without an old type."""
        if isinstance(old, Json):
            return old
        is_nested = node.is_object or node.is_list or self._has_maps(path)
        new_type = self._nested(node, path, old, levels) if is_nested else self._leaf(path, old)
        return Json() if old is not None and new_type is not None and type(new_type) is not type(old) else new_type

    def _nested(self, node: Node, path: Path, old: NestedType | None, levels: int) -> NestedType | None:
        declared_map = map_of_declared(self._evidence.declared.get(path, {}), levels)
        kinds = node.kinds - {DataType.JSON} if declared_map else node.kinds
        if isinstance(old, Json) or kinds or (node.is_list and (node.is_object or declared_map)) or levels <= 0:
            return Json()
        old = merge_structures(old, declared_map) if old and declared_map else old or declared_map
        if isinstance(old, MapOf) and not node.is_list:
            value: NestedType | None = old.value
            for name, below in node.keys.items():
                value = self._type(below, (*path, name), value, levels - 1)
            return Json() if value is None else _nest(MapOf, value)
        if node.is_object:
            return self._struct(node, path, old, levels) if old is None or isinstance(old, Struct) else Json()
        if not node.is_list:
            return old
        if not (old is None or isinstance(old, ListOf)):
            return Json()
        element = old.element if old else None
        element = self._type(node.element, (*path, ELEMENT), element, levels - 1) if node.element else element
        return Json() if element is None else _nest(ListOf, element)

    def _struct(self, node: Node, path: Path, old: Struct | None, levels: int) -> NestedType:
        old_fields = dict(old.fields) if old else {}
        names = dict.fromkeys((*old_fields, *node.keys))
        field_types = dict.fromkeys(names) | old_fields
        for name, below in node.keys.items():
            field_types[name] = self._type(below, (*path, name), old_fields.get(name), levels - 1)
        fields = tuple((name, inner) for name, inner in field_types.items() if inner is not None)
        return Struct(fields) if fields and are_distinct_names(names) else Json()

    def _leaf(self, path: Path, old: NestedType | None) -> NestedType | None:
        if path in self._wider_fields:
            return self._wider_fields[path]
        kinds: set[str] = set()
        largest = 0.0
        for name, class_evidence in self._evidence.paths.get(path, {}).items():
            kind = kind_of(name)
            if kind == DataType.BIGINT:
                largest = max(largest, -(class_evidence.least or 0.0), class_evidence.greatest or 0.0)
                is_large = {"uint64", "wide", "beyond-wei"}.intersection(name.partition(":")[2].split(","))
                kinds.add(LARGE if is_large else BIGINT)
            elif kind in (DataType.TEXT, DataType.DOUBLE, DataType.BOOL):
                kinds.add(kind)
        properties = self._evidence.declared.get(path)
        types = [_type_of_scalars(kinds, largest, old)] if kinds else []
        types += [leaf_of_declared(properties, self._evidence.declared_types(path))] if properties is not None else []
        types += [old] if old is not None else []
        return types[0] if len(set(types)) == 1 else Json() if types else None

    def changes_leaf(self, path: Path, old: NestedType) -> bool:
        """Return whether the values at a path do not keep the type of their field."""
        has_containers = any(kind_of(name) in (OBJECT, LIST) for name in self._evidence.paths.get(path, {}))
        return has_containers or self._leaf(path, old) not in (None, old)


@dataclass(frozen=True, slots=True)
class ChangedField:
    """A field of scalars in an existing column, whose values in the data have another type.

    Attributes:
        column: the type of the whole column.
        field: the path of the field in the column.
        leaf: the type of the field.
        paths: the paths of its values.
    """

    origin: Origin
    column: NestedType
    field: FieldPath
    leaf: Leaf
    paths: tuple[Path, ...]


def find_changed_fields(evidence: Evidence, before: Schema, resolution: Resolution) -> Iterator[ChangedField]:
    """Yield the fields that would become JSON texts; none for columns of lists that feed nested tables."""
    if not keeps_structure(before.normalizers):
        return
    types = _Types(evidence, {})
    for table, name in resolution.taken:
        stored_column = before.column(table, name)
        if stored_column is None or (structure := structure_of(stored_column)) is None:
            continue
        for field, of in fields_of(structure):
            if not isinstance(of, Leaf):
                continue
            paths = _paths_of(evidence, resolution.sources((table, name)), structure, field)
            if any(types.changes_leaf(path, of) for path in paths):
                yield ChangedField((table, name), structure, field, of, paths)


def _paths_of(evidence: Evidence, sources: Sequence[Path], of: NestedType, field: FieldPath) -> tuple[Path, ...]:
    """Return the paths of a field's values."""
    paths = tuple(sources)
    for step in field:
        match of:
            case Struct(fields) if step is not None:
                paths, of = tuple((*path, step) for path in paths), dict(fields)[step]
            case ListOf(element):
                paths, of = tuple((*path, ELEMENT) for path in paths), element
            case MapOf(value):
                all_paths = dict.fromkeys((*evidence.paths, *evidence.declared))
                below = [path for path in all_paths if path and path[-1] is not ELEMENT]
                paths, of = tuple(path for path in below if path[:-1] in paths), value
    return paths

"""Evidence and a schema -> a plan, the way dlt's relational normalizer goes (docs/dlt.md §5), path by path.

What ``inference.relational`` does with one document is done here for all documents at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from schemactl.errors import InputError
from schemactl.inference.identifiers import Identifiers
from schemactl.inference.paths import ELEMENT, Path
from schemactl.inference.relational import LIST_KEY, Filters
from schemactl.normalization.inherited import Inherited, handed_down
from schemactl.normalization.keys import row_key
from schemactl.normalization.plan import Cell, Passed, Plan, RowKey, Rows
from schemactl.normalization.request import PlanRequest
from schemactl.normalization.targets import Targets
from schemactl.normalization.tree import Node, tree_of
from schemactl.schema.contract import Mode
from schemactl.schema.judgement import Violation
from schemactl.schema.settings import UNLIMITED_NESTING, Settings
from schemactl.schema.types import DataType, Schema, Table

_NONE: frozenset[DataType] = frozenset()


def plan_relational(request: PlanRequest, *, coerces: bool) -> Plan:
    """Return the plan of a load.

    Args:
        request: the load.
        coerces: whether values may change their type to fit a column.

    Raises:
        InputError: rows are to be found by a primary key and a table has none, or the config copies keys over keys.
    """
    planner = _Planner(request, coerces=coerces)
    rows = planner.documents(tree_of(request.evidence))
    tables = _written(rows, request.judgement.schema)
    return Plan(rows=rows, tables=tables, names=planner.names, coerces=coerces)


def _written(rows: Rows, schema: Schema) -> dict[str, Table]:
    """Return the tables that rows are loaded into, in the schema's order, each with its complete columns."""
    loaded = set(_loaded(rows))
    tables: dict[str, Table] = {}
    for name, table in schema.tables.items():
        columns = {column.name: column for column in table.columns.values() if column.is_complete}
        if name in loaded and columns:
            tables[name] = Table(name, columns, table.properties)
    return tables


def _loaded(rows: Rows) -> Iterator[str]:
    if rows.refusal is None:
        yield rows.table
        for below in rows.lists:
            yield from _loaded(below)


@dataclass(frozen=True, slots=True)
class _Above:
    """What rows take from the rows above them: the parts of their table's name, and values."""

    tables: tuple[str, ...] = ()
    inherited: tuple[Inherited, ...] = ()


@dataclass(frozen=True, slots=True)
class _List:
    """Elements that make rows: the parts that their key adds to the table's name, where they stand, levels left."""

    ident: tuple[str, ...]
    path: Path
    element: Node
    level: int


@dataclass(frozen=True, slots=True)
class _Content:
    """What the elements at one path hold: values by column, and lists."""

    values: tuple[Inherited, ...]
    lists: tuple[_List, ...]


class _Planner:
    def __init__(self, request: PlanRequest, *, coerces: bool) -> None:
        naming, config, resolution = request.naming, request.config, request.resolution
        self._schema = resolution.schema
        self._root = resolution.root
        self._max_nesting = config.max_nesting
        self._propagation = resolution.propagation
        self._identifiers = Identifiers(naming, config, resolution.renamed)
        self._filters = Filters.of(resolution.schema, naming)
        self._targets = Targets(resolution.schema, request.judgement, naming, coerces=coerces)
        self._settings = Settings.of(resolution.schema.settings)
        self.names = self._identifiers.system

    def documents(self, tree: Node) -> Rows:
        nesting = self._schema.tables[self._root].normalizer_hint("max_nesting")
        level = self._max_nesting if nesting is None else nesting
        level = UNLIMITED_NESTING if level is None else level
        rows = self._rows(_List((self._root,), (), tree, level), _Above())
        return rows or Rows(self._root, None, (), RowKey.RANDOM, skips_empty=True)

    def _rows(self, found: _List, above: _Above) -> Rows | None:
        """Return the rows of a list's elements, None where filters leave nothing of them."""
        table = self._identifiers.join(*above.tables, *found.ident)
        known = self._schema.tables.get(table) or Table(table, properties={"parent": table})
        key, key_columns = row_key(known, self.names.row_id)
        content = self._content(table, found, is_document=not above.tables)
        passed, refusal = self._passed(table, above.inherited)
        own_key = self._own_key(table, found.path, content, above)
        over = {each.target.name for each in passed}
        over |= {self.names.row_id} | self._made_over(known, is_keyed=bool(own_key))
        cells = self._cells(table, (*content.values, *above.inherited), over)
        left = self._left_by_filters(known, passed, is_keyed=bool(own_key))
        if not cells and not left:
            return None
        if table not in self._schema.tables:
            # Seen first below rows that the filters empty; whether other rows have such lists is not known here.
            message = f"the filters leave out some of the rows that `{table}` is nested in, and all that was seen of it"
            raise InputError(message, hint=f"exclude `{table}` altogether, or keep dlt's own columns of those rows")
        below = _Above((*above.tables, *found.ident), self._below(known, found.path, content, above))
        return Rows(
            table=table,
            parent=self._identifiers.join(*above.tables) if known.is_nested else None,
            path=found.path,
            key=key,
            key_columns=key_columns,
            has_load_id=not known.is_nested,
            cells=cells,
            own_key=own_key,
            passed=passed,
            lists=tuple(
                rows
                for each in content.lists
                if (left or _may_be_reached(each, found.path, cells)) and (rows := self._rows(each, below))
            ),
            skips_empty=not left,
            refusal=self._targets.refusal_of(table) or refusal,
        )

    # what elements hold

    def _content(self, table: str, found: _List, *, is_document: bool) -> _Content:
        node, path, level = found.element, found.path, found.level
        values: list[Inherited] = []
        lists: list[_List] = []
        if node.is_object:
            self._flatten(table, node, path, level, values, lists)
        if node.kinds:
            name = self._identifiers.column_part(self.names.value, path) if is_document else self.names.value
            values.append(Inherited(name, path, node.kinds))
        if node.is_list:
            self._wrap(table, found, values, lists, is_document=is_document)
        return _Content(tuple(values), _grouped(lists))

    def _flatten(
        self, table: str, item: Node, path: Path, level: int, values: list[Inherited], lists: list[_List]
    ) -> None:
        """Add what stands in objects, in the order of dlt's stack (``RelationalNormalizer._flatten``)."""
        stack: list[tuple[Node, int, tuple[str, ...], Path]] = [(item, level, (), path)]
        while stack:
            current, left, parts, at = stack.pop()
            for key, node in current.keys.items():
                source = (*at, key)
                name = self._identifiers.column_part(key, source)
                column = self._identifiers.join(*parts, name) if parts else name
                is_kept = self._is_kept(table, column, left)
                kinds = node.kinds | ({DataType.JSON} if is_kept and (node.is_object or node.is_list) else _NONE)
                if kinds:
                    values.append(Inherited(column, source, kinds))
                if node.is_object and not is_kept:
                    stack.append((node, left - 1, (*parts, name), source))
                if node.is_list and node.element and not is_kept:
                    ident = (*parts, self._identifiers.table_part(key, source))
                    lists.append(_List(ident, (*source, ELEMENT), node.element, level - 1))

    def _wrap(
        self, table: str, found: _List, values: list[Inherited], lists: list[_List], *, is_document: bool
    ) -> None:
        """Add what dlt makes of elements that are lists: objects with the list under a key of its own."""
        key, level = (self.names.value, found.level) if is_document else (LIST_KEY, found.level - 1)
        name = self._identifiers.column_part(key, found.path)
        if self._is_kept(table, name, level):
            values.append(Inherited(name, found.path, frozenset({DataType.JSON})))
        elif found.element.element:
            ident = (self._identifiers.table_part(key, found.path),)
            lists.append(_List(ident, (*found.path, ELEMENT), found.element.element, level - 1))

    def _is_kept(self, table: str, column: str, level: int) -> bool:
        """Return whether objects and lists stay whole, as JSON."""
        if level <= 0:
            return True
        known = self._schema.tables.get(table)
        stated = known.columns[column].data_type if known and column in known.columns else None
        return (stated or self._settings.preferred_type(column)) is DataType.JSON

    # what becomes of it

    def _cells(self, table: str, values: Iterable[Inherited], over: set[str]) -> tuple[Cell, ...]:
        return tuple(
            Cell(value.name, value.path, self._targets.by_kind(table, value.name, value.kinds))
            for value in values
            if not value.made and value.name not in over and not self._filters.drops(table, value.name)
        )

    def _own_key(self, table: str, path: Path, content: _Content, above: _Above) -> tuple[Cell, ...]:
        name = self.names.row_id
        if any(value.made and value.name == name for value in above.inherited):
            raise InputError(f"the normalizer's config copies keys over the `{name}` of `{table}`")
        found = [value for value in (*content.values, *above.inherited) if value.name == name and value.path != path]
        is_dropped = self._filters.drops(table, name)
        return tuple(
            Cell(name, value.path, {} if is_dropped else self._targets.by_kind(table, name, value.kinds))
            for value in found
        )

    def _made_over(self, table: Table, *, is_keyed: bool) -> set[str]:
        """Return the columns that dlt fills in every row, whatever the data has there."""
        if not table.is_nested:
            return {self.names.load_id}
        return set() if is_keyed else {self.names.parent_id, self.names.list_index}

    def _passed(self, table: str, inherited: Iterable[Inherited]) -> tuple[tuple[Passed, ...], Violation | None]:
        """Return the values made above, and what the contract has against the rows because of them."""
        passed: list[Passed] = []
        for value in inherited:
            if not value.made or self._filters.drops(table, value.name):
                continue
            kind = DataType.BIGINT if value.made == self.names.list_index else DataType.TEXT
            target = self._targets.made(table, value.name, kind)
            if target and target.refusal and target.refusal.mode is Mode.DISCARD_ROW:
                return (), target.refusal
            if target and not target.refusal:
                passed.append(Passed(target.column, value.path, value.made))
        return tuple(passed), None

    def _left_by_filters(self, table: Table, passed: Iterable[Passed], *, is_keyed: bool) -> bool:
        """Return whether rows have a column of dlt's own, so that none is ever empty."""
        made = {self.names.row_id, *self._made_over(table, is_keyed=is_keyed), *(each.target.name for each in passed)}
        return not all(self._filters.drops(table.name, name) for name in made)

    def _below(self, table: Table, path: Path, content: _Content, above: _Above) -> tuple[Inherited, ...]:
        mapping = self._propagation.of(table.name, not table.is_nested)
        made = [self.names.row_id]
        made += [self.names.parent_id, self.names.list_index] if table.is_nested else [self.names.load_id]
        # Elements that are scalars, or lists that are kept whole, have no rows below.
        values = [value for value in content.values if value.path != path]
        row = [
            *(value for value in (*values, *above.inherited) if value.name not in made),
            *(Inherited(name, path, _NONE, made=name) for name in made),
        ]
        return handed_down(above.inherited, row, mapping)


def _may_be_reached(found: _List, path: Path, cells: Iterable[Cell]) -> bool:
    """Return whether a row that holds a list has a cell, where filters leave it nothing else."""
    is_in_list = found.path == (*path, ELEMENT)
    return any(cell.path != path and not (is_in_list and cell.path[: len(path)] == path) for cell in cells)


def _grouped(lists: list[_List]) -> tuple[_List, ...]:
    """Return lists of one table together, as dlt walks them."""
    groups: dict[tuple[str, ...], list[_List]] = {}
    for each in lists:
        groups.setdefault(each.ident, []).append(each)
    return tuple(each for group in groups.values() for each in group)

"""Plans the tables of a load from evidence and a schema, like dlt's relational normalizer (docs/dlt.md §5).

``inference.relational`` does the same for the values of one document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Final

from schemactl.errors import InputError
from schemactl.inference.document_tree import Node, tree_of
from schemactl.inference.flattening import Flattening, Shape
from schemactl.inference.identifiers import Identifiers
from schemactl.inference.relational import LIST_KEY, Filters
from schemactl.inference.resolve import Resolution
from schemactl.inference.values import ALWAYS_FITS
from schemactl.normalization.plan import Cell, Passed, Plan, RowKey, Rows, TargetColumn
from schemactl.normalization.request import PlanRequest
from schemactl.schema.coercion import is_ever_coerced
from schemactl.schema.contract import Mode
from schemactl.schema.judgment import Judgment, Violation
from schemactl.schema.naming import Naming
from schemactl.schema.paths import ELEMENT, Path
from schemactl.schema.settings import UNLIMITED_NESTING, Settings
from schemactl.schema.types import Column, DataType, Schema, Table


@dataclass(frozen=True, slots=True)
class Inherited:
    """One value of a row, or of a row above it.

    Attributes:
        path: the path of the value; for ``made`` values, the path of the rows for which dlt makes them.
        made: the column of dlt's own that the value comes from, None for values of the data.
    """

    name: str
    path: Path
    kinds: frozenset[DataType]
    made: str | None = None


def propagate(
    above: tuple[Inherited, ...], row: Iterable[Inherited], mapping: Mapping[str, str]
) -> tuple[Inherited, ...]:
    """Return the values that the rows below inherit (docs/dlt.md §5.5).

    ``row`` has the values of the row by name, later ones over earlier ones; ``mapping`` the columns that it copies
    down, with their names below.
    """
    values = tuple(row)
    added = [
        replace(value, name=target) for column, target in mapping.items() for value in values if value.name == column
    ]
    # dlt makes its values for every row, so they cover values from further up; values of the data may be missing.
    covered = {value.name for value in added if value.made}
    mixed = {value.name for value in added}
    inherited = [value for value in above if value.name not in covered and not (value.made and value.name in mixed)]
    return (*inherited, *added)


def row_key(table: Table, row_id: str) -> tuple[RowKey, tuple[str, ...]]:
    """Return the source of the rows' key, and for ``RowKey.PRIMARY_KEY`` its columns.

    A root table inside a list makes keys like any other root table (docs/dlt.md §5.6).
    """
    if table.is_nested:
        return RowKey.PARENT, ()
    merges = table.properties.get("write_disposition") == "merge"
    strategy = table.properties.get("x-merge-strategy") if merges else None
    if strategy in ("upsert", "insert-only", "cdc"):
        columns = table.hinted("primary_key")
        if not columns:
            hint = f"`{strategy}` needs a primary key: set `primary_key: true` on a column"
            raise InputError(f"the table `{table.name}` has no primary key", hint=hint)
        return RowKey.PRIMARY_KEY, columns
    version = next(iter(table.hinted("x-row-version")), None)
    if strategy == "scd2" and version == row_id:
        return RowKey.CONTENT, ()
    return RowKey.RANDOM, ()


class Targets:
    """Finds the columns for values."""

    def __init__(self, resolution: Resolution, judgment: Judgment, naming: Naming, *, coerces: bool) -> None:
        self._schema = resolution.schema
        self._rounded = resolution.refused
        self._allowed = judgment.schema
        self._naming = naming
        self._coerces = coerces
        self.refused = {(violation.table, violation.column): violation for violation in judgment.violations}
        """Violations by table and column; under column None, the violations that reject the rows of a table."""

    def by_kind(self, table: str, column: str, kinds: Iterable[DataType]) -> dict[str, tuple[TargetColumn, ...]]:
        """Return the target columns for each kind of value that feeds ``column``, in a fixed order."""
        return {str(kind): tuple(self._chain(table, column, kind)) for kind in sorted(kinds)}

    def made(self, table: str, column: str, kind: DataType) -> TargetColumn | None:
        """Return the column for values that dlt makes later, which accepts every value of a kind."""
        return next((target for target in self._chain(table, column, kind) if self._is_total(target, kind)), None)

    def _chain(self, table: str, name: str, kind: DataType) -> Iterator[TargetColumn]:
        """Yield the columns to try for values of a kind, up to the first that accepts every value."""
        for column in self._candidates(table, name, kind):
            if column.name == name and kind in self._rounded.get((table, name), ()):
                continue
            target = TargetColumn(column, self.refused.get((table, column.name)))
            if column.data_type is kind or (
                self._coerces and column.data_type and is_ever_coerced(kind, column.data_type)
            ):
                if (earlier_target := self._earlier_target(target, table)) is not None:
                    yield earlier_target
                yield target
                if self._is_total(target, kind):
                    return

    def _candidates(self, table: str, name: str, kind: DataType) -> Iterator[Column]:
        columns = self._schema.tables[table].columns if table in self._schema.tables else {}
        if name in columns and columns[name].is_complete:
            yield columns[name]
        variant = self._naming.shorten_fragments(name, f"v_{kind}")
        if kind is DataType.JSON:
            legacy_name = self._naming.shorten_fragments(name, "v_complex")
            variant = legacy_name if legacy_name in columns and columns[legacy_name].is_variant else variant
        tried = {name}
        while variant in columns and columns[variant].is_complete and variant not in tried:
            yield columns[variant]
            tried.add(variant)
            variant = self._naming.shorten_fragments(variant, f"v_{kind}")

    def _earlier_target(self, target: TargetColumn, table: str) -> TargetColumn | None:
        """Return the stored column, which some values fit, if the contract refuses its new size or time zone."""
        column = self._allowed.column(table, target.column.name)
        if target.refusal is None or column is None or column.data_type is DataType.JSON:
            return None
        return TargetColumn(column, is_exact=True) if column.data_type is target.column.data_type else None

    def _is_total(self, target: TargetColumn, kind: DataType) -> bool:
        data_type = target.column.data_type
        fits = self._coerces and data_type is not None and kind in ALWAYS_FITS.get(data_type, frozenset())
        return not target.is_exact and (data_type is kind or fits)


_NONE: frozenset[DataType] = frozenset()
_JSON = frozenset({DataType.JSON})
_NODES: Final[Shape[Node]] = Shape(
    lambda node: node.keys.items(), lambda node: node.is_object, lambda node: node.is_list
)


def plan_relational(request: PlanRequest, *, coerces: bool) -> Plan:
    """Return the plan of a load."""
    planner = _Planner(request, coerces=coerces)
    rows = planner.documents(tree_of(request.evidence))
    return Plan(rows=rows, tables=_written(rows, request.judgment.schema), names=planner.names, coerces=coerces)


def _written(rows: Rows, schema: Schema) -> dict[str, Table]:
    """Return the tables that rows are loaded into, in the schema's order, each with its complete columns."""
    loaded: set[str] = set()
    queue = [rows]
    for table_rows in queue:
        if table_rows.refusal is None:
            loaded.add(table_rows.table)
            queue += table_rows.lists
    tables: dict[str, Table] = {}
    for name, table in schema.tables.items():
        columns = {column.name: column for column in table.columns.values() if column.is_complete}
        if name in loaded and columns:
            tables[name] = Table(name, columns, table.properties)
    return tables


@dataclass(frozen=True, slots=True)
class _Above:
    """The parts of a table's name and the values that rows inherit from the rows above them."""

    tables: tuple[str, ...] = ()
    inherited: tuple[Inherited, ...] = ()


@dataclass(frozen=True, slots=True)
class _List:
    """Elements that make rows: the parts of the table's name from their key, their path, levels left to flatten."""

    ident: tuple[str, ...]
    path: Path
    element: Node
    level: int


class _Planner:
    def __init__(self, request: PlanRequest, *, coerces: bool) -> None:
        naming, config, resolution = request.naming, request.config, request.resolution
        self._schema = resolution.schema
        self._root = resolution.root
        self._max_nesting = config.max_nesting
        self._propagation = resolution.propagation
        self._identifiers = Identifiers(naming, config, resolution.renamed)
        self._filters = Filters.of(resolution.schema, naming)
        self._targets = Targets(resolution, request.judgment, naming, coerces=coerces)
        self._settings = Settings.of(resolution.schema.settings)
        self.names = self._identifiers.system

    def documents(self, tree: Node) -> Rows:
        nesting = self._schema.tables[self._root].normalizer_hint("max_nesting")
        level = self._max_nesting if nesting is None else nesting
        level = UNLIMITED_NESTING if level is None else level
        rows = self._rows(_List((self._root,), (), tree, level), _Above())
        return rows or Rows(self._root, None, (), RowKey.RANDOM, skips_empty=True)

    def _rows(self, elements: _List, above: _Above) -> Rows | None:
        """Return the rows of a list's elements, None if filters remove all of them."""
        table = self._identifiers.join(*above.tables, *elements.ident)
        stored_table = self._schema.tables.get(table) or Table(table, properties={"parent": table})
        key, key_columns = row_key(stored_table, self.names.row_id)
        values, lists = self._content(table, elements, is_document=not above.tables)
        passed, refusal = self._passed(table, elements.path, above.inherited)
        own_key = self._own_key(table, elements.path, (*values, *above.inherited))
        # dlt fills these columns in every row, whatever the data has for them.
        system_columns = {value.target.name for value in passed}
        links = () if own_key else (self.names.parent_id, self.names.list_index)
        system_columns |= {self.names.row_id, *(links if stored_table.is_nested else (self.names.load_id,))}
        cells = tuple(
            Cell(value.name, value.path, self._targets.by_kind(table, value.name, value.kinds))
            for value in (*values, *above.inherited)
            if not value.made
            and value.name not in system_columns
            and not self._filters.drops(table, value.name, value.path, is_made=False)
        )
        # Rows with a column of dlt's own are never empty.
        is_dropped = (self._filters.drops(table, name, elements.path, is_made=True) for name in system_columns)
        has_system_columns = not all(is_dropped)
        if not cells and not has_system_columns:
            return None
        if table not in self._schema.tables:
            # All known rows of the table are below rows that the filters empty; other rows may have such lists too.
            message = f"the filters remove some parent rows of `{table}` and all of its rows in the data"
            raise InputError(
                message, hint=f"exclude the whole table `{table}`, or keep dlt's own columns of its parent rows"
            )
        below = _Above((*above.tables, *elements.ident), self._below(stored_table, elements.path, values, above))
        return Rows(
            table=table,
            parent=self._identifiers.join(*above.tables) if stored_table.is_nested else None,
            path=elements.path,
            key=key,
            key_columns=key_columns,
            has_load_id=not stored_table.is_nested,
            cells=cells,
            own_key=own_key,
            passed=passed,
            lists=tuple(
                rows
                for inner_list in lists
                if (has_system_columns or _may_be_reached(inner_list, elements.path, cells))
                and (rows := self._rows(inner_list, below))
            ),
            skips_empty=not has_system_columns,
            refusal=self._targets.refused.get((table, None)) or refusal,
        )

    def _content(self, table: str, elements: _List, *, is_document: bool) -> tuple[list[Inherited], list[_List]]:
        """Return the values and the lists in elements, lists of one table together."""
        node, path, level = elements.element, elements.path, elements.level
        flattening = Flattening(self._identifiers, _NODES, partial(self._keeps_json, table))
        branches = list(flattening.object(node, path, level)) if node.is_object else []
        values = [
            Inherited(branch.column, branch.path, kinds)
            for branch in branches
            if (kinds := branch.value.kinds | (_JSON if branch.is_whole else _NONE))
        ]
        if node.kinds:
            name = self._identifiers.column_part(self.names.value, path) if is_document else self.names.value
            values.append(Inherited(name, path, node.kinds))
        if node.is_list:
            # dlt wraps lists in objects, under a special key.
            key, wrapped_level = (self.names.value, level) if is_document else (LIST_KEY, level - 1)
            branch = flattening.value(node, key, path, wrapped_level)
            branches.append(branch)
            if branch.is_whole:
                values.append(Inherited(branch.column, path, _JSON))
        lists: dict[tuple[str, ...], list[_List]] = {}
        for branch in branches:
            if branch.ident is not None and branch.value.element:
                inner_level = level - 1 if branch.value is not node or is_document else level - 2
                inner = _List(branch.ident, (*branch.path, ELEMENT), branch.value.element, inner_level)
                lists.setdefault(branch.ident, []).append(inner)
        return values, list(chain.from_iterable(lists.values()))

    def _keeps_json(self, table: str, column: str, path: Path) -> bool:
        stored_column = self._schema.column(table, column)
        declared_type = stored_column.data_type if stored_column else None
        return (declared_type or self._settings.preferred_type(column, path)) is DataType.JSON

    def _own_key(self, table: str, path: Path, values: Iterable[Inherited]) -> tuple[Cell, ...]:
        name = self.names.row_id
        keys = [value for value in values if value.name == name]
        if any(value.made for value in keys):
            raise InputError(f"the normalizer's config copies keys over the `{name}` of `{table}`")
        inner_keys = [value for value in keys if value.path != path]
        return tuple(
            Cell(name, value.path, {} if is_dropped else self._targets.by_kind(table, name, value.kinds))
            for value in inner_keys
            for is_dropped in (self._filters.drops(table, name, value.path, is_made=False),)
        )

    def _passed(
        self, table: str, path: Path, inherited: Iterable[Inherited]
    ) -> tuple[tuple[Passed, ...], Violation | None]:
        """Return dlt's values from the rows above, and the violation that rejects the rows because of them."""
        passed: list[Passed] = []
        for value in inherited:
            if not value.made or self._filters.drops(table, value.name, path, is_made=True):
                continue
            kind = DataType.BIGINT if value.made == self.names.list_index else DataType.TEXT
            target = self._targets.made(table, value.name, kind)
            if target and target.refusal and target.refusal.mode is Mode.DISCARD_ROW:
                return (), target.refusal
            if target and not target.refusal:
                passed.append(Passed(target.column, value.path, value.made))
        return tuple(passed), None

    def _below(
        self, table: Table, path: Path, cell_values: Iterable[Inherited], above: _Above
    ) -> tuple[Inherited, ...]:
        mapping = self._propagation.of(table.name, not table.is_nested)
        system_columns = [self.names.row_id]
        system_columns += [self.names.parent_id, self.names.list_index] if table.is_nested else [self.names.load_id]
        # Elements that are scalars, or lists that are kept whole, have no rows below.
        values = [value for value in cell_values if value.path != path]
        row = [
            *(value for value in (*values, *above.inherited) if value.name not in system_columns),
            *(Inherited(name, path, _NONE, made=name) for name in system_columns),
        ]
        return propagate(above.inherited, row, mapping)


def _may_be_reached(list_rows: _List, path: Path, cells: Iterable[Cell]) -> bool:
    """Return whether a row that contains a list has a cell, if filters remove everything else."""
    is_in_list = list_rows.path == (*path, ELEMENT)
    return any(cell.path != path and not (is_in_list and cell.path[: len(path)] == path) for cell in cells)

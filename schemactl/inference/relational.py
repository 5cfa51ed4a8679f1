"""From a nested document to the rows of relational tables, the way dlt's relational normalizer goes (docs/dlt.md §5).

Only names and order matter here: which table, which column, which value, from which path. Row keys are placeholders;
the values of rows are made by the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Protocol

from schemactl.inference.flattening import Flattening, Shape
from schemactl.inference.identifiers import Identifiers
from schemactl.schema.naming import Naming
from schemactl.schema.paths import ELEMENT, Path, PathPattern
from schemactl.schema.settings import UNLIMITED_NESTING, NormalizerConfig, Pattern, compile_any, is_normalizer
from schemactl.schema.types import Properties, Schema

LIST_KEY: Final = "list"
"""The key under which a list in a list is wrapped."""

GENERATED_KEY = "key"
"""Placeholder for the keys of rows and loads that dlt generates."""

NO_PATH: Path = ("",)
"""The path of values that normalization itself adds."""

_VALUES: Final[Shape[Any]] = Shape(
    dict.items, lambda value: isinstance(value, dict), lambda value: isinstance(value, list)
)


def coerces_values(normalizers: Properties) -> bool:
    """Return whether values may change their type to fit a column; one normalizer forbids it (docs/dlt.md §6.3)."""
    return not is_normalizer(normalizers, "relational_no_coercion")


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a row: the column it goes to and the path it came from."""

    column: str
    value: Any
    path: Path


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table, made of the value at ``path``, cells in dlt's order; ``parent`` is None in root tables."""

    table: str
    parent: str | None
    cells: tuple[Cell, ...]
    path: Path


@dataclass(frozen=True, slots=True)
class _Above:
    """The values that nested rows get from the row above: parts of its table's name, cells, its ``_dlt_id``."""

    tables: tuple[str, ...] = ()
    propagated: Mapping[str, Cell] = field(default_factory=dict)
    row_key: Any = None


class TableView(Protocol):
    """The parts of a schema that rows depend on, in their state when a document arrives."""

    def is_root(self, table: str) -> bool:
        """Return whether ``table`` exists and is not nested."""
        ...

    def keeps_json(self, table: str, column: str, path: Path) -> bool:
        """Return whether objects and lists at ``path``, for ``column``, stay whole, as JSON."""
        ...


@dataclass(frozen=True, slots=True)
class Propagation:
    """Columns of all root tables, and of single ones, that rows copy down, with names there (docs/dlt.md §5.5)."""

    root: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def of(self, table: str, is_root: bool) -> dict[str, str]:
        """Return the columns that rows of ``table`` copy down."""
        return {**(self.root if is_root else {}), **self.tables.get(table, {})}


class RelationalNormalizer:
    """Turns documents into rows.

    ``view`` may change between documents; ``renamed`` is as in ``Identifiers``.
    """

    def __init__(
        self,
        naming: Naming,
        config: NormalizerConfig,
        view: TableView,
        renamed: Mapping[Path, str] | None = None,
        filters: Filters | None = None,
    ) -> None:
        self._identifiers = Identifiers(naming, config, renamed)
        self.names = self._identifiers.system
        self._view = view
        self._filters = filters
        self.propagation = Propagation(config.propagation_root, config.propagation_tables)
        self._join, self.table_name = self._identifiers.join, self._identifiers.table

    def propagate(self, table: str, columns: Mapping[str, str]) -> None:
        """Copy columns of ``table`` into the tables nested in it from now on; ``columns`` maps them to names there."""
        tables = self.propagation.tables
        self.propagation = Propagation(self.propagation.root, {**tables, table: {**tables.get(table, {}), **columns}})

    def rows(self, document: Any, table: str, max_nesting: int | None) -> Iterator[Row]:
        """Yield the rows of one document, parents before children, in dlt's order.

        Anything but an object is wrapped under ``value``; without ``max_nesting`` all levels are flattened.
        """
        level = UNLIMITED_NESTING if max_nesting is None else max_nesting
        yield from self._row(document, self.names.value, (), _Above(), (table,), level)

    def _row(
        self, value: Any, key: str, path: Path, above: _Above, ident: tuple[str, ...], level: int
    ) -> Iterator[Row]:
        """Yield the row of an object and the rows below it; another value becomes an object with the key ``key``."""
        table = self._join(*above.tables, *ident)
        flattening = Flattening(self._identifiers, _VALUES, partial(self._view.keeps_json, table))
        is_object = isinstance(value, dict)
        branches = flattening.object(value, path, level) if is_object else [flattening.value(value, key, path, level)]
        cells: list[Cell] = []
        lists: dict[tuple[str, ...], list[tuple[Path, list[Any]]]] = {}
        for branch in branches:
            if branch.ident is not None:
                lists.setdefault(branch.ident, []).append((branch.path, branch.value))
            elif branch.is_whole or not isinstance(branch.value, dict):
                cells.append(Cell(branch.column, branch.value, branch.path))
        is_root = not above.tables or self._view.is_root(table)
        added = dict(above.propagated)
        if is_root:
            added[self.names.load_id] = Cell(self.names.load_id, GENERATED_KEY, NO_PATH)
        cells = _overwritten(cells, added)
        row_key = next((cell.value for cell in reversed(cells) if cell.column == self.names.row_id), None)
        if not row_key:
            row_key = GENERATED_KEY
            cells = _overwritten(cells, self._link_cells(above, is_root))
        # Before the row is yielded: schema changes caused by the row do not affect its own nested rows.
        propagated = {**above.propagated, **self._propagated(table, cells, is_root)}
        below = _Above((*above.tables, *ident), propagated, row_key)
        kept_cells = self._filtered(table, cells, path)
        if not kept_cells:
            return
        yield Row(table, None if is_root else self._join(*above.tables), kept_cells, path)
        for list_ident, path_elements in lists.items():
            for list_path, elements in path_elements:
                yield from self._list(elements, list_path, below, list_ident, level - 1)

    def _list(
        self, elements: list[Any], path: Path, above: _Above, ident: tuple[str, ...], level: int
    ) -> Iterator[Row]:
        table = self._join(*above.tables, *ident)
        element_path = (*path, ELEMENT)
        for element in elements:
            if isinstance(element, dict | list):
                element_level = level - 1 if isinstance(element, list) else level
                yield from self._row(element, LIST_KEY, element_path, above, ident, element_level)
            else:
                is_root = self._view.is_root(table)
                value = Cell(self.names.value, element, element_path)
                cells = _overwritten([value], {**above.propagated, **self._link_cells(above, is_root)})
                if kept_cells := self._filtered(table, cells, element_path):
                    yield Row(table, None if is_root else self._join(*above.tables), kept_cells, element_path)

    def _filtered(self, table: str, cells: list[Cell], row: Path) -> tuple[Cell, ...]:
        """Return the cells that pass the filters; without any dlt makes no row, and none below (docs/dlt.md §5.7)."""
        if self._filters is None:
            return tuple(cells)
        return tuple(
            cell
            for cell in cells
            for is_made in (cell.path is NO_PATH,)
            if not self._filters.drops(table, cell.column, row if is_made else cell.path, is_made)
        )

    def _link_cells(self, above: _Above, is_root: bool) -> dict[str, Cell]:
        values = {} if is_root else {self.names.parent_id: above.row_key, self.names.list_index: 0}
        values[self.names.row_id] = GENERATED_KEY
        return {column: Cell(column, value, NO_PATH) for column, value in values.items()}

    def _propagated(self, table: str, cells: list[Cell], is_root: bool) -> dict[str, Cell]:
        mapping = self.propagation.of(table, is_root)
        if not mapping:
            return {}
        values = {cell.column: cell for cell in cells}
        return {
            target: Cell(target, values[column].value, values[column].path)
            for column, target in mapping.items()
            if column in values
        }


def _overwritten(cells: list[Cell], added: Mapping[str, Cell]) -> list[Cell]:
    """Return ``cells`` with dlt's own cells, which replace the data's cells of the same columns in place."""
    remaining = dict(added)
    replaced = [remaining.pop(cell.column, None) if cell.column in added else cell for cell in cells]
    return [cell for cell in replaced if cell is not None] + list(remaining.values())


_Patterns = tuple[Pattern | PathPattern, ...]


def _is_met(pattern: Pattern | PathPattern, name: str, path: Path) -> bool:
    return pattern.search(name) if isinstance(pattern, Pattern) else pattern.is_at_or_above(path)


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of a schema's tables; a table's filters also apply to tables whose names extend its own."""

    _naming: Naming
    _rules: Mapping[str, tuple[_Patterns, _Patterns]] = field(default_factory=dict)
    """Excludes and includes by table."""

    @classmethod
    def of(cls, schema: Schema, naming: Naming) -> Filters:
        """Read the filters of all tables; includes without excludes have no effect."""
        filters_by_table = {name: table.properties.get("filters") or {} for name, table in schema.tables.items()}
        rules = {
            name: (_compiled(filters["excludes"]), _compiled(filters.get("includes")))
            for name, filters in filters_by_table.items()
            if filters.get("excludes")
        }
        return cls(naming, rules)

    def drops(self, table: str, column: str, path: Path, is_made: bool) -> bool:
        """Return whether rows of a table lose a value of a column.

        ``path`` is the value's, or that of the row if dlt makes the value (``is_made``).
        """
        if not self._rules:
            return False
        parts = self._naming.break_path(table)
        for end in range(len(parts), 0, -1):
            if (rules := self._rules.get(self._naming.make_path(*parts[:end]))) is None:
                continue
            excludes, includes = rules
            name = self._naming.make_path(*parts[end:], column)
            if any(_is_met(pattern, name, path) for pattern in excludes) and not any(
                # Rows with something to include need their keys.
                _is_met(pattern, name, path)
                or (is_made and isinstance(pattern, PathPattern) and pattern.is_below(path))
                for pattern in includes
            ):
                return True
        return False


def _compiled(patterns: Iterable[Any] | None) -> _Patterns:
    return tuple(compile_any(str(pattern)) for pattern in patterns or ())

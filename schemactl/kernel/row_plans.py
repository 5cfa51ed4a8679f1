"""A table plan compiled for the row maker: the paths of each cell's values, and the columns that accept them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from schemactl.kernel.coercion import Coercion
from schemactl.kernel.kinds import KindValues, split_by_kind
from schemactl.kernel.outcome import Problem
from schemactl.kernel.structures import build
from schemactl.normalization.plan import Cell, Plan, RowKey, Rows, TargetColumn
from schemactl.schema.contract import Mode
from schemactl.schema.nested_types import NestedType
from schemactl.schema.paths import ELEMENT, Path
from schemactl.schema.types import Column, DataType

NULL_KIND: Final = "null"
"""The kind of missing values of primary keys (``tally.UnfitFinding``)."""


@dataclass(frozen=True, slots=True)
class ColumnTarget:
    """A column that values of one kind go to, and the index of the contract violation that rejects them, if any.

    ``convert`` returns the values in the type of the column, null if they do not fit.
    """

    column: Column
    convert: Callable[[KindValues], pa.Array]
    problem: int | None
    rejects_row: bool


@dataclass(frozen=True, slots=True)
class KindTargets:
    """The columns that values of one kind of a cell go to, in order.

    Attributes:
        unfit_problem: index of the problem of values that no column accepts.
        sized_column: the column of a declared size that numbers are meant for.
    """

    columns: tuple[ColumnTarget, ...]
    unfit_problem: int
    sized_column: Column | None


@dataclass(frozen=True, slots=True)
class CompiledCell:
    """A cell: the path of its values in the elements ``levels_up``, and the columns that they go to, by kind.

    ``is_row`` tells whether objects among the values are the rows themselves.
    """

    path_in_document: Path
    levels_up: int
    path: Path
    kinds: Mapping[str, KindTargets]
    is_row: bool

    def split(self, values: Sequence[Any], json_paths: frozenset[Path]) -> Iterator[KindValues]:
        """Yield values by kind; at ``json_paths`` all are JSON."""
        if self.path_in_document not in json_paths:
            yield from split_by_kind(values, self.kinds, are_rows=self.is_row)
        elif DataType.JSON in self.kinds:
            yield KindValues(DataType.JSON, None, values)


@dataclass(frozen=True, slots=True)
class KeyCell:
    """A cell of a primary key's column: the path of its values, and their kinds."""

    levels_up: int
    path: Path
    kinds: frozenset[str]


def _build_structures(structure: NestedType, spells_scalars: bool, values: KindValues) -> pa.Array:
    array, lost = build(values.listed, structure, spells_scalars=spells_scalars)
    return array if lost is None else pc.if_else(pa.array(~lost), array, None)


class RowPlan:
    """The compiled ``Rows`` of a plan, with the rows of their lists.

    Args:
        plan: the whole plan.
        rows: the rows to compile.
        ancestors: the rows that these are nested in, outermost first.
        problems: collects the problems that rows may have; ``RowOutcome`` counts them by index.

    Attributes:
        levels_up: the number of levels from the rows up to each ancestor, by its path.
        root_levels_up: how many levels up the nearest root table is.
        optional_paths: paths at which some elements were seen to lack a value.
        overwritten_columns: problems by column, of columns that several cells may fill in one row.
        shared_lists: problems of several lists of one row that fill one table by index, and the paths of these lists.
    """

    def __init__(self, plan: Plan, rows: Rows, ancestors: tuple[Rows, ...], problems: list[Problem]) -> None:
        self.plan = plan
        self.rows = rows
        self.table = plan.tables.get(rows.table)
        self.lineage = (*ancestors, rows)
        self.levels_up = {level.path: len(ancestors) - depth for depth, level in enumerate(self.lineage)}
        root_depth = max(depth for depth, level in enumerate(self.lineage) if level.parent is None)
        self.root_levels_up = len(ancestors) - root_depth
        self.root_table = self.lineage[root_depth].table
        self.optional_paths: set[Path] = set()
        self._problems = problems
        self.refusal = self._add_problem(None, (rows.path,), violation=rows.refusal) if rows.refusal else None
        self.key_sources = [self._source(cell) for cell in rows.own_key]
        self.cells = [self._compile(cell) for cell in rows.cells if cell.name != plan.names.row_id]
        self.key_cells = [
            [KeyCell(*self._source(cell), frozenset(cell.targets)) for cell in rows.cells if cell.name == column]
            for column in rows.key_columns
        ]
        self.missing_key_problems = self._missing_key_problems()
        self.overwritten_columns = self._overwritten_columns()
        self.shared_lists = self._shared_lists()
        self.lists = [RowPlan(plan, nested, self.lineage, problems) for nested in rows.lists]

    def _source(self, cell: Cell) -> tuple[int, Path]:
        """Return how many levels up a cell's values are, and their path there."""
        for levels_up, rows in enumerate(reversed(self.lineage)):
            size = len(rows.path)
            if cell.path[:size] == rows.path and ELEMENT not in cell.path[size:]:
                return levels_up, cell.path[size:]
        raise ValueError(f"no row of the lineage has the path {cell.path}")

    def _compile(self, cell: Cell) -> CompiledCell:
        kinds = {name: self._compile_kind(cell, DataType(name), targets) for name, targets in cell.targets.items()}
        return CompiledCell(cell.path, *self._source(cell), kinds, is_row=cell.path == self.rows.path)

    def _compile_kind(self, cell: Cell, kind: DataType, targets: Sequence[TargetColumn]) -> KindTargets:
        if not self.plan.coerces:
            targets = [target for target in targets if target.column.data_type is kind]
        columns = tuple(self._compile_target(cell, kind, target) for target in targets)
        name, expected = (columns[0].column.name, str(columns[0].column.data_type)) if columns else (cell.name, "")
        unfit_problem = self._add_problem(name, (cell.path,), kind=str(kind), expected=expected)
        column = next((target.column for target in targets if not target.is_exact), None)
        if column is None or column.data_type not in (DataType.BIGINT, DataType.DECIMAL, DataType.WEI):
            return KindTargets(columns, unfit_problem, None)
        return KindTargets(columns, unfit_problem, column if column.properties.get("precision") else None)

    def _compile_target(self, cell: Cell, kind: DataType, target: TargetColumn) -> ColumnTarget:
        rejects_row = target.refusal is not None and target.refusal.mode is not Mode.DISCARD_VALUE
        problem = None
        if target.refusal is not None:
            problem = self._add_problem(
                target.column.name, (cell.path,), kind=str(kind), violation=target.refusal, refuses_row=rejects_row
            )
        convert: Callable[[KindValues], pa.Array] = Coercion(kind, target.column, is_exact=target.is_exact)
        if kind is DataType.JSON and target.structure is not None:
            convert = partial(_build_structures, target.structure, target.spells_scalars)
        return ColumnTarget(target.column, convert, problem, rejects_row)

    def _add_problem(
        self, column: str | None, paths: tuple[Path, ...], *, table: str | None = None, **properties: Any
    ) -> int:
        self._problems.append(Problem(table or self.rows.table, column, paths, **properties))
        return len(self._problems) - 1

    def _missing_key_problems(self) -> list[int]:
        """Rows that are identified by their primary key need all of it, unless they contain a row key."""
        if self.rows.key is not RowKey.PRIMARY_KEY:
            return []
        paths = {cell.name: cell.path for cell in reversed(self.rows.cells)}
        return [
            self._add_problem(column, (paths.get(column, self.rows.path),), kind=NULL_KIND)
            for column in self.rows.key_columns
        ]

    def _overwritten_columns(self) -> dict[str, int]:
        """Return the problems of columns that several cells may fill in one row."""
        loads_by_path: dict[str, dict[Path, bool]] = {}
        for cell in self.rows.cells:
            for target in chain.from_iterable(cell.targets.values()):
                loads = loads_by_path.setdefault(target.column.name, {})
                loads[cell.path] = loads.get(cell.path, False) or target.refusal is None
        return {
            column: self._add_problem(column, tuple(loads))
            for column, loads in loads_by_path.items()
            if sum(loads.values()) > 1
        }

    def _shared_lists(self) -> list[tuple[int, list[Path]]]:
        """Elements at the same index of two lists would get the same key."""
        paths_by_table: dict[str, list[Path]] = {}
        for nested in self.rows.lists:
            if nested.key is RowKey.PARENT:
                paths_by_table.setdefault(nested.table, []).append(nested.path[:-1])
        start = len(self.rows.path)
        return [
            (self._add_problem(None, tuple(paths), table=table), [path[start:] for path in paths])
            for table, paths in paths_by_table.items()
            if len(paths) > 1
        ]

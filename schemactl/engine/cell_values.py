"""Values of staged documents as the columns that take them: each kind of value by itself, the plan's columns in turn.

A frame gets columns step by step: the values of each kind (``kind_values``), and then what each column in turn makes
of those that no column before has taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemactl.engine.coercion import coerced, exact, is_total, stored_type
from schemactl.engine.coercions.canonical import canonical_json
from schemactl.engine.kind_values import KindValues, split_by_kind
from schemactl.engine.nested import Converter
from schemactl.engine.reach import Reached
from schemactl.normalization.plan import Cell, TargetColumn
from schemactl.schema.nested_types import Json, NestedType
from schemactl.schema.types import DataType


@dataclass(frozen=True, slots=True)
class ReachedCell:
    """A cell, and where the frame has its values; ``at`` is None where this batch of documents has none."""

    cell: Cell
    at: Reached | None


@dataclass(frozen=True, slots=True)
class Take:
    """What one column takes.

    Attributes:
        sql: of the values in the column's own type, null where it takes none.
    """

    target: TargetColumn
    sql: str


@dataclass(frozen=True, slots=True)
class Value:
    """The values of one kind that a cell has.

    Attributes:
        kind: as the plan names it.
        sql: of the values before any coercion.
        takes: the columns that may take them.
        may_be_left: whether there may be values that none of them takes.
        is_nested: whether the values are structs or arrays.
    """

    cell: Cell
    kind: str
    sql: str
    takes: tuple[Take, ...]
    may_be_left: bool
    is_nested: bool = False

    def left_sql(self) -> str:
        """Return SQL for whether a value is taken by no column."""
        return " and ".join([f"{self.sql} is not null", *(f"{take.sql} is null" for take in self.takes)])

    def text_sql(self) -> str:
        """Return SQL for the value as a text for a person."""
        if self.is_nested:
            return f"to_json({self.sql})"
        return f"cast({self.sql} as string)"


def take_values(
    frame: DataFrame, sources: Sequence[ReachedCell], prefix: str, *, coerces: bool
) -> tuple[DataFrame, list[Value]]:
    """Add columns for the values of cells to a frame.

    Args:
        frame: that ``ReachedCell.at`` speaks of; its columns stay.
        sources: cells.
        prefix: how the names of the new columns begin; no other column's name does.
        coerces: whether values may change their type.

    Returns:
        The frame, and the values of all cells in their order.
    """
    there = [(source.cell, source.at) for source in sources if source.at is not None]
    return _coerce(*split_by_kind(frame, there, prefix), prefix, coerces=coerces)


def _coerce(
    frame: DataFrame, found: Sequence[KindValues], prefix: str, *, coerces: bool
) -> tuple[DataFrame, list[Value]]:
    chains = [_chain(of_kind, coerces=coerces) for of_kind in found]
    takes: list[list[Take]] = [[] for _ in found]
    for turn in range(max(map(len, chains), default=0)):
        columns: list[Column] = []
        for at, (of_kind, chain) in enumerate(zip(found, chains, strict=True)):
            if turn < len(chain):
                take, column = _take(of_kind, chain[turn], takes[at], f"{prefix}a{at}_{turn}")
                takes[at].append(take)
                columns += [] if column is None else [column]
        frame = frame.select("*", *columns) if columns else frame
    return frame, [_value(of_kind, tuple(took)) for of_kind, took in zip(found, takes, strict=True)]


def _take(of_kind: KindValues, target: TargetColumn, before: Sequence[Take], name: str) -> tuple[Take, Column | None]:
    """Return what a column takes of what is left by those before, and the frame's column that it needs for that."""
    is_left = " and ".join(f"{take.sql} is null" for take in before)
    if _is_same(of_kind, target):
        return Take(target, f"if({is_left}, {of_kind.sql}, null)" if is_left else of_kind.sql), None
    if target.structure is not None:
        return Take(target, name), F.expr(_fitted(of_kind, target.structure)).alias(name)
    value = F.when(F.expr(is_left), F.col(of_kind.sql)) if is_left else F.col(of_kind.sql)
    return Take(target, name), _coerced(value, of_kind, target).alias(name)


def _value(of_kind: KindValues, takes: tuple[Take, ...]) -> Value:
    may_be_left = not takes or not is_total(of_kind.coerced_as, takes[-1].target.column)
    return Value(of_kind.cell, of_kind.kind, of_kind.sql, takes, may_be_left, of_kind.structure is not None)


def _coerced(value: Column, of_kind: KindValues, target: TargetColumn) -> Column:
    column = target.column
    if target.is_exact:
        return exact(value, of_kind.type, of_kind.coerced_as, column)
    if of_kind.coerced_as is DataType.JSON and column.data_type is DataType.JSON:
        # What Spark writes differs from what dlt does in its numbers and escapes.
        return canonical_json(value)
    return coerced(value, of_kind.coerced_as, column, naive=isinstance(of_kind.type, T.TimestampNTZType))


def _fitted(of_kind: KindValues, structure: NestedType) -> str:
    """Return SQL for values in another structure, null for those that would lose something there."""
    wide = of_kind.structure or Json()
    is_lost = Converter().is_lost(wide, structure, of_kind.sql)
    return f"if({is_lost}, null, {Converter().narrowed(wide, structure, of_kind.sql)})"


def _chain(of_kind: KindValues, *, coerces: bool) -> tuple[TargetColumn, ...]:
    """Return the columns to try; none after one that takes all values of the kind."""
    targets = of_kind.cell.targets.get(of_kind.kind, ())
    if not coerces:
        targets = tuple(target for target in targets if target.column.data_type == of_kind.kind)
    for at, target in enumerate(targets):
        is_last = is_total(of_kind.coerced_as, target.column) and target.structure == of_kind.structure
        if not target.is_exact and (is_last or not coerces):
            return targets[: at + 1]
    return targets


def _is_same(of_kind: KindValues, target: TargetColumn) -> bool:
    """Return whether values are stored as they are."""
    if target.is_exact:
        return False
    column = target.column
    if of_kind.structure is not None or target.structure is not None:
        return of_kind.structure == target.structure
    return (
        of_kind.coerced_as in _KEPT and column.data_type is of_kind.coerced_as and stored_type(column) == of_kind.type
    )


_KEPT: Final[frozenset[DataType]] = frozenset((DataType.TEXT, DataType.BIGINT, DataType.DOUBLE, DataType.BOOL))


def values_by_column(values: Sequence[Value]) -> Mapping[str, list[list[str]]]:
    """Return for each column what fills it, as SQL: for each cell, in order, the values of its kinds."""
    columns: dict[str, dict[int, list[str]]] = {}
    for value in values:
        for take in value.takes:
            if take.target.refusal is None:
                columns.setdefault(take.target.column.name, {}).setdefault(id(value.cell), []).append(take.sql)
    return {name: list(cells.values()) for name, cells in columns.items()}

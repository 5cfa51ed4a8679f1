"""Values of staged documents as the columns that take them: each kind of value by itself, the plan's columns in turn.

A frame gets columns step by step: the raw values, their kinds where those differ, the values by kind, and then what
each column in turn makes of those that no column before has taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemactl.engine.coercion import coerced, exact, is_total, kind_type, stored_type
from schemactl.engine.coercions.canonical import canonical_json
from schemactl.engine.items import Form, Item
from schemactl.engine.large_integers import marked_digits_sql, unmarked_json_sql, unmarked_sql
from schemactl.engine.nested import Converter
from schemactl.engine.nested_types import structure_type
from schemactl.engine.reach import Reached
from schemactl.inference.classes import INT64, UINT64_LIMIT, WEI_LIMIT
from schemactl.normalization.plan import Cell, Target
from schemactl.schema.nested_types import Json, NestedType
from schemactl.schema.types import DataType


@dataclass(frozen=True, slots=True)
class Source:
    """A cell, and where the frame has its values; ``at`` is None where this batch of documents has none."""

    cell: Cell
    at: Reached | None


@dataclass(frozen=True, slots=True)
class Take:
    """What one column takes.

    Attributes:
        sql: of the values in the column's own type, null where it takes none.
    """

    target: Target
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


@dataclass(frozen=True, slots=True)
class _Raw:
    """Values of one kind in a frame's column, or an expression of it; ``structure`` is theirs if they keep it."""

    cell: Cell
    kind: str
    coerced_as: DataType
    sql: str
    type: T.DataType
    structure: NestedType | None = None


def evaluate(
    frame: DataFrame, sources: Sequence[Source], prefix: str, *, coerces: bool
) -> tuple[DataFrame, list[Value]]:
    """Add columns for the values of cells to a frame.

    Args:
        frame: that ``Source.at`` speaks of; its columns stay.
        sources: cells.
        prefix: how the names of the new columns begin; no other column's name does.
        coerces: whether values may change their type.

    Returns:
        The frame, and the values of all cells in their order.
    """
    there = [(source.cell, source.at) for source in sources if source.at is not None]
    names = [f"{prefix}x{at}" for at in range(len(there))]
    reached = [(at, name) for (_, at), name in zip(there, names, strict=True)]
    kept = [f"{at.texts} as {name}t" for at, name in reached if at.item.form is Form.VARIANT and at.item.is_kept]
    frame = _with(frame, [*(f"{at.sql} as {name}" for at, name in reached), *kept])
    # Each as a column of its own: as part of what needs it, it would be made anew for each kind.
    asked = [name for (_, at), name in zip(there, names, strict=True) if _is_asked(at.item)]
    frame = _with(frame, [f"{_kind_of(name)} as {name}k" for name in asked])
    frame = _with(
        frame,
        [
            f"{_of_kind(at.item, name, 'STRING')} as {name}s"
            for (cell, at), name in zip(there, names, strict=True)
            if at.item.form is Form.VARIANT and _may_be_large(cell, at.item)
        ],
    )
    found = [
        raw
        for (cell, at), name in zip(there, names, strict=True)
        for raw in _by_kind(cell, at.item, name)
        if raw.kind in cell.targets
    ]
    plain = {f"{prefix}v{at}": raw for at, raw in enumerate(found) if raw.sql not in names}
    frame = _with(frame, [f"{raw.sql} as {name}" for name, raw in plain.items()])
    named = [(raw, f"{prefix}v{at}" if f"{prefix}v{at}" in plain else raw.sql) for at, raw in enumerate(found)]
    return _coerce(frame, named, prefix, coerces=coerces)


def _with(frame: DataFrame, expressions: Sequence[str]) -> DataFrame:
    return frame.selectExpr("*", *expressions) if expressions else frame


def _kind_of(value: str) -> str:
    return f"regexp_replace(schema_of_variant({value}), '(?s)[<(].*', '')"


# --- from raw values to values by kind ---


def _by_kind(cell: Cell, item: Item, name: str) -> Iterator[_Raw]:
    match item.form:
        case Form.SCALAR if item.kind is DataType.TEXT and item.is_marked:
            yield from _texts(cell, item, name)
        case Form.SCALAR if item.kind is not None:
            yield _Raw(cell, str(item.kind), item.kind, name, item.type)
        case Form.NESTED if item.structure is not None:
            is_read = item.type != structure_type(item.structure)
            sql = Converter().of_read(item.structure, name) if is_read else name
            yield _nested(cell, item.structure, sql)
        case Form.JSON if item.is_kept and cell.structure is not None:
            yield _nested(cell, cell.structure, Converter().of_variant(cell.structure, f"parse_json({name})"))
        case Form.JSON if item.is_kept:
            yield _raw(cell, DataType.JSON, unmarked_json_sql(name) if item.is_marked else name)
        case Form.VARIANT:
            yield from _of_variant(cell, item, name)


def _raw(cell: Cell, kind: DataType, sql: str, coerced_as: DataType | None = None) -> _Raw:
    as_kind = coerced_as or kind
    return _Raw(cell, str(kind), as_kind, sql, kind_type(as_kind))


def _nested(cell: Cell, structure: NestedType, sql: str) -> _Raw:
    return _Raw(cell, str(DataType.JSON), DataType.JSON, sql, structure_type(structure), structure)


def _of_kind(item: Item, name: str, scalar: str) -> str:
    """Return SQL for the scalars of one type among VARIANTs."""
    value = f"try_variant_get({name}, '$', '{scalar}')"
    return f"if({name}k {_CONDITIONS[scalar]}, {value}, null)" if _is_asked(item) else value


_CONDITIONS: Final = {
    "STRING": "= 'STRING'",
    "BIGINT": "= 'BIGINT'",
    "DOUBLE": "in ('DOUBLE', 'DECIMAL')",
    "BOOLEAN": "= 'BOOLEAN'",
}


def _is_asked(item: Item) -> bool:
    """Return whether values have to be asked for their kind."""
    return item.form is Form.VARIANT and len(item.scalars) + item.is_nested + item.is_row > 1


def _of_variant(cell: Cell, item: Item, name: str) -> Iterator[_Raw]:
    if "STRING" in item.scalars:
        is_named = _may_be_large(cell, item)
        yield from _texts(cell, item, f"{name}s" if is_named else _of_kind(item, name, "STRING"))
    for scalar, kind in (("BIGINT", DataType.BIGINT), ("DOUBLE", DataType.DOUBLE), ("BOOLEAN", DataType.BOOL)):
        if scalar in item.scalars:
            yield _raw(cell, kind, _of_kind(item, name, scalar))
    if item.is_nested and DataType.JSON in cell.targets:
        kinds = "('ARRAY')" if item.is_row else "('OBJECT', 'ARRAY')"
        if cell.structure is not None:
            value = f"if({name}k in {kinds}, {name}, null)" if _is_asked(item) else name
            yield _nested(cell, cell.structure, Converter().of_variant(cell.structure, value))
            return
        whole = f"if({name}k in {kinds}, {name}t, null)" if _is_asked(item) else f"{name}t"
        yield _raw(cell, DataType.JSON, unmarked_json_sql(whole) if item.is_marked else whole)


# --- large integers, which come as marked texts ---


def _may_be_large(cell: Cell, item: Item) -> bool:
    may_hold_marks = item.is_marked and (item.form is Form.SCALAR or "STRING" in item.scalars)
    return may_hold_marks and not cell.targets.keys().isdisjoint((DataType.BIGINT, DataType.WEI))


def _texts(cell: Cell, item: Item, text: str) -> Iterator[_Raw]:
    """Tell texts from large integers, and those by what dlt can do with them (``inference.values.kind``)."""
    if not _may_be_large(cell, item):
        # Those past all numbers are texts.
        yield _raw(cell, DataType.TEXT, unmarked_sql(text) if item.is_marked else text)
        return
    digits = marked_digits_sql(text)
    is_small = f"try_cast({digits} as bigint) is not null"
    size = f"try_cast({digits} as decimal(38, 0))"
    is_unsigned = f"({size} >= {INT64.stop}BD and {size} < {UINT64_LIMIT}BD) is true"
    bare, limit = f"trim(leading '-' from {digits})", str(WEI_LIMIT)
    is_wei = f"(length({bare}) < {len(limit)} or (length({bare}) = {len(limit)} and {bare} <= '{limit}'))"
    yield _raw(cell, DataType.BIGINT, f"try_cast({digits} as bigint)")
    yield _raw(cell, DataType.BIGINT, f"if({is_unsigned}, {digits}, null)", DataType.WEI)
    is_past = f"not {is_small} and not {is_unsigned}"
    yield _raw(cell, DataType.WEI, f"if({is_past} and {is_wei}, {digits}, null)")
    is_beyond = f"({is_past} and not {is_wei})"
    yield _raw(cell, DataType.TEXT, f"if({digits} is null, {text}, if({is_beyond}, {digits}, null))")


# --- from values to columns ---


def _coerce(
    frame: DataFrame, raws: Sequence[tuple[_Raw, str]], prefix: str, *, coerces: bool
) -> tuple[DataFrame, list[Value]]:
    chains = [_chain(raw, coerces=coerces) for raw, _ in raws]
    takes: list[list[Take]] = [[] for _ in raws]
    for turn in range(max(map(len, chains), default=0)):
        columns: list[Column] = []
        for at, ((raw, name), chain) in enumerate(zip(raws, chains, strict=True)):
            if turn >= len(chain):
                continue
            target = chain[turn]
            is_left = " and ".join(f"{take.sql} is null" for take in takes[at])
            if _is_same(raw, target):
                takes[at].append(Take(target, f"if({is_left}, {name}, null)" if is_left else name))
                continue
            value = F.when(F.expr(is_left), F.col(name)) if is_left else F.col(name)
            taken = f"{prefix}a{at}_{turn}"
            if target.structure is None:
                columns.append(_coerced(value, raw, target).alias(taken))
            else:
                columns.append(F.expr(_fitted(name, raw, target.structure)).alias(taken))
            takes[at].append(Take(target, taken))
        frame = frame.select("*", *columns) if columns else frame
    values = [
        Value(raw.cell, raw.kind, name, tuple(took), _may_be_left(raw, took), raw.structure is not None)
        for (raw, name), took in zip(raws, takes, strict=True)
    ]
    return frame, values


def _coerced(value: Column, raw: _Raw, target: Target) -> Column:
    column = target.column
    if target.is_exact:
        return exact(value, raw.type, raw.coerced_as, column)
    if raw.coerced_as is DataType.JSON and column.data_type is DataType.JSON:
        # What Spark writes differs from what dlt does in its numbers and escapes.
        return canonical_json(value)
    return coerced(value, raw.coerced_as, column, naive=isinstance(raw.type, T.TimestampNTZType))


def _fitted(name: str, raw: _Raw, structure: NestedType) -> str:
    """Return SQL for values in another structure, null for those that would lose something there."""
    wide = raw.structure or Json()
    fitted, is_lost = Converter().narrowed(wide, structure, name), Converter().is_lost(wide, structure, name)
    return f"if({is_lost}, null, {fitted})"


def _chain(raw: _Raw, *, coerces: bool) -> tuple[Target, ...]:
    """Return the columns to try; none after one that takes all values of the kind."""
    targets = raw.cell.targets.get(raw.kind, ())
    if not coerces:
        targets = tuple(target for target in targets if target.column.data_type == raw.kind)
    for at, target in enumerate(targets):
        is_last = is_total(raw.coerced_as, target.column) and target.structure == raw.structure
        if not target.is_exact and (is_last or not coerces):
            return targets[: at + 1]
    return targets


def _is_same(raw: _Raw, target: Target) -> bool:
    """Return whether values are stored as they are."""
    if target.is_exact:
        return False
    column = target.column
    if raw.structure is not None or target.structure is not None:
        return raw.structure == target.structure
    return raw.coerced_as in _KEPT and column.data_type is raw.coerced_as and stored_type(column) == raw.type


_KEPT: Final[frozenset[DataType]] = frozenset((DataType.TEXT, DataType.BIGINT, DataType.DOUBLE, DataType.BOOL))


def _may_be_left(raw: _Raw, takes: Sequence[Take]) -> bool:
    return not takes or not is_total(raw.coerced_as, takes[-1].target.column)


def values_by_column(values: Sequence[Value]) -> Mapping[str, list[list[str]]]:
    """Return for each column what fills it, as SQL: for each cell, in order, the values of its kinds."""
    columns: dict[str, dict[int, list[str]]] = {}
    for value in values:
        for take in value.takes:
            if take.target.refusal is None:
                columns.setdefault(take.target.column.name, {}).setdefault(id(value.cell), []).append(take.sql)
    return {name: list(cells.values()) for name, cells in columns.items()}

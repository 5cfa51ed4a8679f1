"""Values of staged documents by their kinds, before any coercion.

A frame gets columns step by step: the values of cells, their kinds where those differ, and the values of each kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from schemactl.engine.coercion import kind_type
from schemactl.engine.items import Form, Item
from schemactl.engine.large_integers import marked_digits_sql, unmarked_json_sql, unmarked_sql
from schemactl.engine.nested import Converter
from schemactl.engine.nested_types import structure_type
from schemactl.engine.reach import Reached
from schemactl.normalization.plan import Cell
from schemactl.schema.integers import INT64, UINT64_LIMIT, WEI_LIMIT
from schemactl.schema.nested_types import NestedType
from schemactl.schema.types import DataType

ReachedCell: TypeAlias = tuple[Cell, Reached]
"""A cell, and where the frame has its values."""


@dataclass(frozen=True, slots=True)
class KindValues:
    """The values of one kind that a cell has.

    Attributes:
        kind: as the plan names it.
        coerced_as: the type that coercion takes them for.
        sql: the column of the frame that has them, or an expression; null for values of other kinds.
        type: Spark's, of that column.
        structure: theirs, if they keep it.
    """

    cell: Cell
    kind: str
    coerced_as: DataType
    sql: str
    type: T.DataType
    structure: NestedType | None = None


def split_by_kind(frame: DataFrame, cells: Sequence[ReachedCell], prefix: str) -> tuple[DataFrame, list[KindValues]]:
    """Add columns for the values of cells, a kind each; kinds that no column of the plan takes are left out.

    Args:
        frame: that ``Reached`` speaks of; its columns stay.
        cells: in the order of the result.
        prefix: how the names of the new columns begin; no other column's name does.
    """
    named = [(cell, at, f"{prefix}x{number}") for number, (cell, at) in enumerate(cells)]
    kept = [f"{at.texts} as {name}t" for _, at, name in named if at.item.form is Form.VARIANT and at.item.is_kept]
    frame = _with(frame, [*(f"{at.sql} as {name}" for _, at, name in named), *kept])
    # Each as a column of its own: as part of what needs it, it would be made anew for each kind.
    frame = _with(frame, [f"{_kind_of(name)} as {name}k" for _, at, name in named if _is_asked(at.item)])
    frame = _with(
        frame,
        [
            f"{_of_kind(at.item, name, 'STRING')} as {name}s"
            for cell, at, name in named
            if at.item.form is Form.VARIANT and _may_be_large(cell, at.item)
        ],
    )
    found = [
        values for cell, at, name in named for values in _by_kind(cell, at.item, name) if values.kind in cell.targets
    ]
    # What has a column already needs no other one.
    whole = {name for _, _, name in named}
    names = [values.sql if values.sql in whole else f"{prefix}v{number}" for number, values in enumerate(found)]
    added = [(values, name) for values, name in zip(found, names, strict=True) if values.sql not in whole]
    frame = _with(frame, [f"{values.sql} as {name}" for values, name in added])
    return frame, [replace(values, sql=name) for values, name in zip(found, names, strict=True)]


def _with(frame: DataFrame, expressions: Sequence[str]) -> DataFrame:
    return frame.selectExpr("*", *expressions) if expressions else frame


def _kind_of(value: str) -> str:
    return f"regexp_replace(schema_of_variant({value}), '(?s)[<(].*', '')"


# --- from raw values to values by kind ---


def _by_kind(cell: Cell, item: Item, name: str) -> Iterator[KindValues]:
    match item.form:
        case Form.SCALAR if item.kind is DataType.TEXT and item.is_marked:
            yield from _texts(cell, item, name)
        case Form.SCALAR if item.kind is not None:
            yield KindValues(cell, str(item.kind), item.kind, name, item.type)
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


def _raw(cell: Cell, kind: DataType, sql: str, coerced_as: DataType | None = None) -> KindValues:
    as_kind = coerced_as or kind
    return KindValues(cell, str(kind), as_kind, sql, kind_type(as_kind))


def _nested(cell: Cell, structure: NestedType, sql: str) -> KindValues:
    return KindValues(cell, str(DataType.JSON), DataType.JSON, sql, structure_type(structure), structure)


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


def _of_variant(cell: Cell, item: Item, name: str) -> Iterator[KindValues]:
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


def _texts(cell: Cell, item: Item, text: str) -> Iterator[KindValues]:
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

"""The values in rows whose columns state their types, as expressions: at each path, and what is asked of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemactl.engine.input_formats import FILE, Typed
from schemactl.engine.spark_types import stated_type
from schemactl.engine.sql import quoted
from schemactl.engine.typed_rows import ID, TAKEN
from schemactl.inference.classes import LIST, OBJECT
from schemactl.inference.evidence import MAX_EXAMPLE_LENGTH
from schemactl.inference.paths import ELEMENT, Path

_MEASURED: Final = (T.StringType, T.CharType, T.VarcharType, T.NumericType, T.ArrayType)


@dataclass(frozen=True, slots=True)
class Part:
    """What stands at one path of rows.

    Attributes:
        number: tells parts of a batch apart.
        path: from the row on.
        type: of the values.
        parent: of what it stands in; None for the row itself.
        is_many: whether a row holds any number of values, because they stand in lists.
    """

    number: int
    path: Path
    type: T.DataType
    parent: Part | None = None
    is_many: bool = False

    @property
    def name(self) -> str:
        """Return the class of the values (``Evidence.counted``)."""
        match self.type:
            case T.StructType():
                return OBJECT
            case T.ArrayType():
                return LIST
            case _:
                return str(stated_type(self.type))

    @property
    def is_scalar(self) -> bool:
        return not isinstance(self.type, T.StructType | T.ArrayType)

    @property
    def values(self) -> str:
        """Return the name of the column with the value, or with an array of those that are not null."""
        return f"__schemactl_value_{self.number}"

    @property
    def raw(self) -> str:
        """Return the name of the column with an array of all values, of parts of which there are many."""
        return f"__schemactl_raw_{self.number}"

    @property
    def measures(self) -> str:
        """Return the name of the column with an array of lengths or numbers, of parts of which there are many."""
        return f"__schemactl_measures_{self.number}" if _is_prepared(self) else self.values


def list_parts(batch: Typed) -> list[Part]:
    """Return the row, its columns, and what stands in these; each part after what it stands in."""
    columns = [column for column in batch.frame.schema.fields if column.name != FILE]
    return list(_parts(Part(0, (), T.StructType(columns)), count(1)))


def _parts(part: Part, numbers: Iterator[int]) -> Iterator[Part]:
    yield part
    match part.type:
        case T.StructType():
            for field in part.type.fields:
                inner = Part(next(numbers), (*part.path, field.name), field.dataType, part, part.is_many)
                yield from _parts(inner, numbers)
        case T.ArrayType():
            inner = Part(next(numbers), (*part.path, ELEMENT), part.type.elementType, part, is_many=True)
            yield from _parts(inner, numbers)


def with_values(rows: DataFrame, parts: Sequence[Part]) -> DataFrame:
    """Return the rows with the columns that ``Part`` tells of.

    Args:
        rows: with ``typed_rows.TAKEN``; others hold nothing.
        parts: the first one is the row itself.
    """
    by_level = sorted(parts, key=lambda part: len(part.path))
    for _, level in groupby(by_level, key=lambda part: len(part.path)):
        group = list(level)
        many = [part for part in group if part.is_many]
        rows = rows.select("*", *(_found(part).alias(part.raw if part.is_many else part.values) for part in group))
        if many:
            rows = rows.select("*", *(F.array_compact(part.raw).alias(part.values) for part in many))
            rows = rows.select("*", *(_measures(part).alias(part.measures) for part in many if _is_prepared(part)))
    return rows


def _found(part: Part) -> Column:
    """Return what stands at a part's path, in terms of what it stands in."""
    parent = part.parent
    if parent is None:
        return F.when(F.col(TAKEN), F.lit(True))
    step = part.path[-1]
    if step is ELEMENT:
        return F.flatten(parent.values) if parent.is_many else F.col(parent.values)
    if parent.parent is None:
        return F.when(F.col(TAKEN), F.col(quoted(step)))
    return F.col(parent.values).getField(step)


def _is_measured(part: Part) -> bool:
    return isinstance(part.type, _MEASURED)


def _is_prepared(part: Part) -> bool:
    """Return whether measures are other than the values themselves, as whole numbers are."""
    is_float = isinstance(part.type, T.FloatType | T.DoubleType)
    return _is_measured(part) and (is_float or not isinstance(part.type, T.NumericType))


def _measure(part: Part, value: Column) -> Column:
    """Return the length of a text or list, and a number itself; null for what is no number."""
    match part.type:
        case T.ArrayType():
            return F.array_size(value)
        case T.FloatType() | T.DoubleType():
            return F.nanvl(value, F.lit(None))
        case T.NumericType():
            return value
        case _:
            return F.char_length(value)


def _measures(part: Part) -> Column:
    return F.transform(part.values, lambda value: _measure(part, value))


def facts_of(part: Part) -> dict[str, Column]:
    """Return what is asked of the values at a part's path, as aggregates by name.

    ``count``, ``first`` (the id of the first row with a value), ``first_null`` (of the first with a null), ``size``
    (how many values there are, nulls included, where there are many), and as of ``ClassEvidence`` ``shortest`` and
    ``longest``, ``least`` and ``greatest``.
    """
    facts = _of_many(part) if part.is_many else _of_one(part)
    if not _is_measured(part):
        return facts
    low, high = ("least", "greatest") if isinstance(part.type, T.NumericType) else ("shortest", "longest")
    if part.is_many:
        return {**facts, low: F.min(F.array_min(part.measures)), high: F.max(F.array_max(part.measures))}
    measure = _measure(part, F.col(part.values))
    return {**facts, low: F.min(measure), high: F.max(measure)}


def _of_one(part: Part) -> dict[str, Column]:
    value = F.col(part.values)
    facts = {"count": F.count(value), "first": F.min(F.when(value.isNotNull(), F.col(ID)))}
    if part.parent is None:
        return facts
    is_null = value.isNull() & F.col(part.parent.values).isNotNull()
    return {**facts, "first_null": F.min(F.when(is_null, F.col(ID)))}


def _of_many(part: Part) -> dict[str, Column]:
    values, size = F.array_size(part.values), F.array_size(part.raw)
    return {
        "count": F.sum(values),
        "size": F.sum(size),
        "first": F.min(F.when(values > 0, F.col(ID))),
        "first_null": F.min(F.when(values < size, F.col(ID))),
    }


def example_of(part: Part) -> Column:
    """Return a row's first value of a part, as a text; null where there is none."""
    value = F.get(part.values, F.lit(0)) if part.is_many else F.col(part.values)
    match part.type:
        case T.BinaryType():
            text = F.concat(F.lit("0x"), F.hex(F.substring(value, 1, MAX_EXAMPLE_LENGTH // 2)))
        case T.MapType() | T.VariantType():
            text = F.to_json(value)
        case _:
            text = value.cast("string")
    return F.substring(text, 1, MAX_EXAMPLE_LENGTH)

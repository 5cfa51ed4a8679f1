"""The set of values that a column permits by its type and its hints, and whether one such set is within another.

Limits are compared by the values that they permit, not hint by hint: of integers, more than 0 is at least 1. They mean
the same as in JSON Schema (https://json-schema.org/draft/2020-12/json-schema-validation#section-6). Patterns are only
equal or not: a stranger's pattern never runs.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from enum import Enum, auto
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, lcm
from typing import Any, Final, assert_never

from schemactl.schema.full_types import FullType, full_type
from schemactl.schema.types import DataType, Properties

_HUMP: Final = re.compile("(?<=[a-z])(?=[A-Z])")

_MOST_VALUES: Final = 1000
"""Of a range that is compared value by value."""

_MOST_DIGITS: Final = 400
"""Before and behind the point of a limit: more than a double has."""

_MOST_BITS: Final = 512
"""Of an integer; files can contain any number."""


def canonical(name: str) -> str:
    """Return a hint's name in kebab case: ``x-max-length`` for ``x-maxLength``."""
    return _HUMP.sub("-", name).lower() if name.startswith("x-") else name


class Limit(Enum):
    """A way in which hints restrict the values of a column."""

    LOWER = auto()
    UPPER = auto()
    STEP = auto()
    SHORTEST = auto()
    LONGEST = auto()
    FEWEST = auto()
    MOST = auto()
    UNIQUE = auto()
    PATTERN = auto()
    ENUM = auto()


LIMITS_BY_HINT: Final[Mapping[str, Limit]] = {
    "x-minimum": Limit.LOWER,
    "x-exclusive-minimum": Limit.LOWER,
    "x-maximum": Limit.UPPER,
    "x-exclusive-maximum": Limit.UPPER,
    "x-multiple-of": Limit.STEP,
    "x-min-length": Limit.SHORTEST,
    "x-max-length": Limit.LONGEST,
    "x-min-items": Limit.FEWEST,
    "x-max-items": Limit.MOST,
    "x-unique-items": Limit.UNIQUE,
    "x-pattern": Limit.PATTERN,
    "x-enum": Limit.ENUM,
}
"""The limit that a hint sets, by the hint's canonical name."""

BOUND_HINTS: Final[Mapping[Limit, tuple[str, str]]] = {
    Limit.LOWER: ("x-minimum", "x-exclusive-minimum"),
    Limit.UPPER: ("x-maximum", "x-exclusive-maximum"),
}
"""The hints of the inclusive and of the exclusive bound, which are one bound together."""

_SIZE_HINTS: Final = {
    Limit.SHORTEST: "x-min-length",
    Limit.LONGEST: "x-max-length",
    Limit.FEWEST: "x-min-items",
    Limit.MOST: "x-max-items",
}
_MAXIMA: Final = (Limit.UPPER, Limit.LONGEST, Limit.MOST)

_NUMBERS: Final = (DataType.BIGINT, DataType.DOUBLE, DataType.DECIMAL, DataType.WEI)

Point = Fraction | str
"""A number, or a date or a time as text."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The least or the greatest point, permitted or not; ``hint_value`` is the hint's value."""

    point: Point
    is_inclusive: bool = True
    hint_value: Any = field(default=None, compare=False)


def listed_values(enum: Any) -> list[Any] | None:
    """Return the values of an ``x-enum``, the codes if it maps them to labels; None without a limit."""
    return list(enum) if isinstance(enum, list | tuple | Mapping) else None


@dataclass(frozen=True)
class PermittedValues:
    """The values that a column permits.

    Attributes:
        type: of the column; None for a column that waits for data.
        bounds, sizes: lower and upper bounds, lengths and numbers of items that hints set.
        hint_step: the divisor of all values, by the hint.
        listed: the values of ``x-enum``.
        unreadable: hints that cannot be read, by their limits; they can only be compared for equality.
    """

    type: FullType | None
    bounds: Mapping[Limit, Bound]
    sizes: Mapping[Limit, int]
    hint_step: Fraction | None
    is_unique: bool
    listed: tuple[Any, ...] | None
    unreadable: Mapping[Limit, Mapping[str, str]]

    @classmethod
    def of(cls, properties: Properties) -> PermittedValues:
        """Return the values that the properties of a column permit."""
        by_name = {canonical(name): value for name, value in properties.items()}
        hints = {name: value for name, value in by_name.items() if value is not None and value is not False}
        data_type = full_type(properties)
        bounds = {limit: bound for limit in BOUND_HINTS if (bound := _bound(hints, limit, data_type)) is not None}
        sizes = {limit: size for limit, hint in _SIZE_HINTS.items() if (size := _size(hints.get(hint))) is not None}
        step = _number(hints.get("x-multiple-of"))
        enum_values = listed_values(hints.get("x-enum"))
        readable = {*bounds, *sizes, Limit.UNIQUE, *({Limit.STEP} if step else ()), Limit.ENUM}
        unreadable: dict[Limit, dict[str, str]] = {}
        for hint, limit in LIMITS_BY_HINT.items():
            if hint in hints and limit not in readable:
                unreadable.setdefault(limit, {})[hint] = repr(hints[hint])
        enum = None if enum_values is None else tuple(enum_values)
        return cls(data_type, bounds, sizes, abs(step) if step else None, "x-unique-items" in hints, enum, unreadable)

    def is_within(self, other: PermittedValues, limit: Limit) -> bool:
        """Return whether a limit of another set excludes no value of this set, as far as one can tell."""
        if limit in other.unreadable:
            return self.unreadable.get(limit) == other.unreadable[limit]
        if self.values is not None:
            return all(other.admits(value, limit) is True for value in self.values)
        match limit:
            case Limit.LOWER | Limit.UPPER:
                bound, other_bound = self._bound_of_values(limit), other.bounds.get(limit)
                return other_bound is None or (bound is not None and _is_inside(bound, other_bound, limit) is True)
            case Limit.STEP:
                other_step = other.hint_step
                return other_step is None or (self.step is not None and (self.step / other_step).denominator == 1)
            case Limit.SHORTEST | Limit.LONGEST | Limit.FEWEST | Limit.MOST:
                size, other_size = self._size_of_values(limit), other.sizes.get(limit)
                return other_size is None or (size is not None and _is_size_inside(size, other_size, limit))
            case Limit.UNIQUE:
                return self.is_unique or not other.is_unique
            case Limit.ENUM:
                return other.listed is None
            case Limit.PATTERN:
                return True
            case _:
                assert_never(limit)

    def admits(self, value: Any, limit: Limit) -> bool | None:
        """Return whether a limit permits a value, None if that is unknown. Limits are not about nulls."""
        if limit in self.unreadable:
            return None
        match limit:
            case Limit.ENUM:
                return self.listed is None or value_key(value) in self._keys
            case _ if value is None:
                return True
            case Limit.LOWER | Limit.UPPER if limit in self.bounds:
                point = _point(value, self.type)
                return None if point is None else _is_inside(Bound(point), self.bounds[limit], limit)
            case Limit.STEP if self.hint_step is not None:
                point = _point(value, self.type)
                return (point / self.hint_step).denominator == 1 if isinstance(point, Fraction) else None
            case Limit.SHORTEST | Limit.LONGEST if limit in self.sizes:
                return _is_size_inside(len(value), self.sizes[limit], limit) if isinstance(value, str) else None
            case Limit.FEWEST | Limit.MOST if limit in self.sizes:
                return None
            case Limit.UNIQUE if self.is_unique:
                return None
            case _:
                return True

    def admits_but_for(self, value: Any, limit: Limit) -> bool:
        """Return whether all limits but one permit a value, as far as one can tell."""
        return all(self.admits(value, other) is not False for other in Limit if other is not limit)

    @cached_property
    def _keys(self) -> frozenset[Hashable]:
        return frozenset(map(value_key, self.listed or ()))

    @cached_property
    def values(self) -> tuple[Any, ...] | None:
        """All values, if they are listed or few; else None."""
        if self.listed is not None:
            return tuple(value for value in self.listed if self.admits_but_for(value, Limit.ENUM))
        if self.type is not None and self.type.data_type is DataType.BOOL:
            return True, False
        bounds = [self._bound_of_values(limit) for limit in BOUND_HINTS]
        points = [bound.point for bound in bounds if bound is not None and isinstance(bound.point, Fraction)]
        if len(points) != len(bounds) or self.step is None:
            return None
        first, last = points
        steps = (last - first) / self.step
        if steps >= _MOST_VALUES:
            return None
        numbers = (first + number * self.step for number in range(floor(steps) + 1))
        return tuple(int(number) if number.denominator == 1 else number for number in numbers)

    @cached_property
    def step(self) -> Fraction | None:
        """The number that all values are a multiple of, by the hint and the type, if any."""
        hint, unit = self.hint_step, _unit(self.type)
        if hint is None or unit is None:
            return hint or unit
        denominator = hint.denominator * unit.denominator
        return Fraction(lcm(hint.numerator * unit.denominator, unit.numerator * hint.denominator), denominator)

    def _bound_of_values(self, limit: Limit) -> Bound | None:
        """Return the bound that the values have by hints, by their step and by the size of their type."""
        bound, by_type = self.bounds.get(limit), _bound_of_type(self.type, limit)
        if by_type is not None and (bound is None or _is_inside(bound, by_type, limit) is False):
            bound = by_type
        if bound is None or isinstance(bound.point, str) or self.step is None:
            return bound
        steps = bound.point / self.step
        skipped = int(not bound.is_inclusive and steps.denominator == 1)
        nearest = floor(steps) - skipped if limit is Limit.UPPER else ceil(steps) + skipped
        return Bound(nearest * self.step)

    def _size_of_values(self, limit: Limit) -> int | None:
        """Return the least or greatest length or number of items, if it is limited."""
        size = self.sizes.get(limit)
        if limit is Limit.LONGEST and self.type is not None and self.type.data_type is DataType.TEXT:
            return min((length for length in (size, self.type.precision) if length is not None), default=None)
        return size if limit in _MAXIMA else size or 0


def _bound(hints: Properties, limit: Limit, data_type: FullType | None) -> Bound | None:
    """Return the tighter bound of the hints that can be read, if any."""
    inclusive, exclusive = (hints.get(hint) for hint in BOUND_HINTS[limit])
    if exclusive is True:  # in JSON Schema's draft 4 it is a mark on the other hint
        inclusive, exclusive = None, inclusive
    pairs = ((inclusive, True), (exclusive, False))
    points = ((_point(hint_value, data_type), is_inclusive, hint_value) for hint_value, is_inclusive in pairs)
    bounds = [Bound(point, is_inclusive, hint_value) for point, is_inclusive, hint_value in points if point is not None]
    if len(bounds) > 1 and _is_inside(bounds[0], bounds[1], limit) is not True:
        return bounds[1]
    return bounds[0] if bounds else None


def _bound_of_type(data_type: FullType | None, limit: Limit) -> Bound | None:
    """Return the bound of an integer by its bits, None for other types."""
    if data_type is None or data_type.data_type is not DataType.BIGINT or data_type.precision is None:
        return None
    half = 2 ** (min(data_type.precision, _MOST_BITS) - 1)
    return Bound(Fraction(half - 1 if limit is Limit.UPPER else -half))


def _is_inside(bound: Bound, other: Bound, limit: Limit) -> bool | None:
    """Return whether a bound is as tight as another one; None for points that cannot be compared."""
    points = bound.point, other.point
    # A number and a text, or texts that are not dates or times of one length, cannot be compared.
    lengths = {len(point) if isinstance(point, str) else None for point in points}
    if len(lengths) > 1:
        return None
    if points[0] == points[1]:
        return other.is_inclusive or not bound.is_inclusive
    return bool(points[0] < points[1] if limit is Limit.UPPER else points[0] > points[1])  # type: ignore[operator]


def _is_size_inside(size: int, other_size: int, limit: Limit) -> bool:
    return size <= other_size if limit in _MAXIMA else size >= other_size


def _point(value: Any, data_type: FullType | None) -> Point | None:
    """Return a value as a point on its line; a text is a number only in a column of numbers."""
    if isinstance(value, str) and (data_type is None or data_type.data_type not in _NUMBERS):
        return value
    return value if isinstance(value, Fraction) else _number(value)


def _number(value: Any) -> Fraction | None:
    """Return a number with its exact decimal value: 0.1 is a tenth."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    is_short = number.is_finite() and max(abs(number.adjusted()), len(number.as_tuple().digits)) <= _MOST_DIGITS
    return Fraction(number) if is_short else None


def _size(value: Any) -> int | None:
    number = _number(value) if not isinstance(value, str) else None
    return int(number) if number is not None and number.denominator == 1 else None


def _unit(data_type: FullType | None) -> Fraction | None:
    """Return the least difference of two values of a type: integers and decimals have one."""
    if data_type is None:
        return None
    match data_type.data_type:
        case DataType.BIGINT:
            return Fraction(1)
        case DataType.DECIMAL | DataType.WEI:
            return Fraction(1, 10 ** min(data_type.scale or 0, _MOST_DIGITS))
        case _:
            return None


def value_key(value: Any) -> Hashable:
    """Return a value as something to compare: 1 is 1.0, and ``true`` is not."""
    is_plain = value is None or isinstance(value, int | float | str)
    return (isinstance(value, bool), value) if is_plain else repr(value)

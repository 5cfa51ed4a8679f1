"""Decides which data survives a new type of its column: single values, classes of evidence, rows without a value.

A value survives if dlt coerces it into the type (docs/dlt.md §6.3), the type has room for it, and the conversion loses
nothing: dlt itself checks no value against a precision or a scale (docs/dlt.md §6.4) and coerces some with loss.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time
from decimal import Decimal
from enum import Enum
from operator import itemgetter
from typing import Any, Final

from schemactl.inference.classes import LIST, NULL, OBJECT, kind_of
from schemactl.inference.evidence import (
    MAX_EXAMPLE_LENGTH,
    ClassEvidence,
    Evidence,
    Position,
    as_float,
)
from schemactl.inference.resolve import Resolution, TakenClass, variant_bases
from schemactl.inference.values import is_coercible, kind
from schemactl.schema.coercion import EXACT_INTEGERS, can_coerce, coerce
from schemactl.schema.full_types import FullType
from schemactl.schema.paths import Path, row_path
from schemactl.schema.types import MICROSECOND_DIGITS, DataType

MAX_EXAMPLES: Final = 5


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of examined values and of bad values, with examples of bad ones and the position of the first."""

    values: int = 0
    bad: int = 0
    examples: tuple[Any, ...] = ()
    first: Position | None = None


@dataclass(frozen=True, slots=True)
class Scalars:
    """Asks which scalars at some paths survive in a type; nulls, objects and lists do not count."""

    paths: tuple[Path, ...]
    target: FullType
    kinds: frozenset[str] | None = None


def add(tallies: Iterable[Tally]) -> Tally:
    """Return the sum of tallies of different values."""
    tallies = list(tallies)
    placed = sorted(((tally.first, tally) for tally in tallies if tally.first is not None), key=itemgetter(0))
    examples = distinct(example for _, tally in placed for example in tally.examples)
    # Bad values without a position may come before all other values.
    is_placed = all(tally.first is not None for tally in tallies if tally.bad)
    return Tally(
        values=sum(tally.values for tally in tallies),
        bad=sum(tally.bad for tally in tallies),
        examples=examples,
        first=placed[0][0] if placed and is_placed else None,
    )


def distinct(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the first few values that differ as JSON, as ``1``, ``1.0`` and ``true`` do."""
    return tuple({json.dumps(value): value for value in values}.values())[:MAX_EXAMPLES]


def shown(value: Any) -> Any:
    """Return a value for an example: long texts are cut."""
    return value[:MAX_EXAMPLE_LENGTH] if isinstance(value, str) else value


LONGEST_DOUBLE: Final = 24
"""Characters of the longest text of a Python float."""

LONGEST_INTEGER: Final = 8
"""Bytes of the longest integer that dlt reads."""


def integer_limit(bits: int) -> int:
    """Return the least positive integer that does not fit a signed integer of ``bits`` bits."""
    return 1 << max(bits - 1, 0)


def survives(value: Any, target: FullType) -> bool:
    """Return whether a JSON value that is not null can be stored as ``target`` without loss."""
    return _is_plain_decimal(value, target) or (is_coercible(value, target.data_type) and _is_held(value, target))


def _is_plain_decimal(value: Any, target: FullType) -> bool:
    """Return whether a decimal column holds a number by its spelling, which takes a fraction of the coercion's time."""
    if target.data_type not in (DataType.DECIMAL, DataType.WEI) or not isinstance(value, float | str):
        return False
    number = _PLAIN_NUMBER.fullmatch(repr(value) if isinstance(value, float) else value)
    if number is None:
        return False
    has_room = target.integer_digits is None or len(number[1]) <= target.integer_digits
    return has_room and len((number[2] or "").rstrip("0")) <= (target.scale or 0)


_PLAIN_NUMBER: Final = re.compile(r"-?([0-9]{1,28})(?:\.([0-9]{1,28}))?")
"""Numbers without an exponent; dlt reads all of them from texts, too."""


def _coerced(value: Any, data_type: DataType) -> Any:
    natural_type = kind(value)
    if type(value) is int and natural_type is DataType.WEI:
        return coerce(Decimal(value), DataType.DECIMAL, data_type)
    return coerce(str(value) if natural_type is DataType.TEXT else value, natural_type, data_type)


def _is_held(value: Any, target: FullType) -> bool:
    of, size = target.data_type, target.precision
    match of:
        case DataType.TEXT | DataType.BINARY:
            return size is None or len(_coerced(value, of)) <= size
        case DataType.BIGINT:
            return size is None or -integer_limit(size) <= _coerced(value, of) < integer_limit(size)
        case DataType.DECIMAL | DataType.WEI:
            number = _coerced(value, of)
            if not number.is_finite():
                return False
            integer_digits, places = _digits(number)
            has_room = target.integer_digits is None or integer_digits <= target.integer_digits
            return has_room and places <= (target.scale or 0)
        case DataType.DOUBLE:
            return _is_exact_double(value)
        case DataType.BOOL:
            return isinstance(value, str) or value in (0, 1)
        case DataType.TIMESTAMP | DataType.TIME if size is not None and size < MICROSECOND_DIGITS:
            return bool(_coerced(value, of).microsecond % 10 ** (MICROSECOND_DIGITS - max(size, 0)) == 0)
        case DataType.DATE:
            return _is_day(value)
    return True


def _digits(number: Decimal) -> tuple[int, int]:
    """Return the number of digits before and after the decimal point, without zeros at both ends."""
    if not number:
        return 0, 0
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    last = next(zeros for zeros, digit in enumerate(reversed(digits)) if digit)
    return max(number.adjusted() + 1, 0), max(-exponent - last, 0)


def _is_exact_double(value: Any) -> bool:
    """Return whether the double reads as the same number again."""
    if isinstance(value, float):
        return True
    natural_type = DataType.TEXT if isinstance(value, str) else DataType.BIGINT
    if not can_coerce(value, natural_type, DataType.DECIMAL):
        return True
    number: Decimal = coerce(value, natural_type, DataType.DECIMAL)
    return not number.is_finite() or Decimal(repr(_coerced(value, DataType.DOUBLE))) == number


def _is_day(value: Any) -> bool:
    if isinstance(value, int | float):
        return value % 86_400 == 0  # seconds
    if not can_coerce(value, DataType.TEXT, DataType.TIMESTAMP):
        return True
    moment = _coerced(value, DataType.TIMESTAMP)
    in_utc = (moment if moment.tzinfo is None else moment.astimezone(UTC)).replace(tzinfo=None)
    # Python's dates overlook the end of `2024010203`, which is another day as seconds since 1970.
    return bool(in_utc == datetime.combine(_coerced(value, DataType.DATE), time()))


class Verdict(Enum):
    """Which values of a class survive according to evidence; ``OPEN`` if evidence cannot tell."""

    ALL = "all"
    NONE = "none"
    OPEN = "open"


def judge_class(name: str, evidence: ClassEvidence, target: FullType) -> Verdict:
    """Return which values of a class survive, as far as their number, lengths and range show."""
    value_kind, _, marks = name.partition(":")
    answers = frozenset(marks.split(","))
    if value_kind in (OBJECT, LIST):
        if target.data_type is DataType.TEXT:
            return Verdict.ALL if target.precision is None else Verdict.OPEN
        return Verdict.ALL if target.data_type is DataType.JSON else Verdict.NONE
    if answers & _BEYOND:
        return Verdict.NONE if target.data_type is DataType.BIGINT else Verdict.OPEN
    if target.data_type not in (value_kind, DataType.TEXT) and target.data_type not in answers:
        return Verdict.NONE
    return _judge_scalars(value_kind, answers, evidence, target)


_BEYOND: Final = frozenset({"wide", "beyond-wei"})
"""Marks of integers that dlt cannot read; their class does not list the types they can be coerced to."""


_SURE_DIGITS: Final = 13
"""Characters of an integer that is exact as a double, also of a hexadecimal one."""


def _judge_scalars(value_kind: str, answers: frozenset[str], evidence: ClassEvidence, target: FullType) -> Verdict:
    size = target.precision
    match target.data_type:
        case DataType.TEXT if size is not None:
            return _judge_text(value_kind, evidence, size)
        case DataType.BIGINT if size is not None:
            return _judge_integer(value_kind, answers, evidence, integer_limit(size))
        case DataType.DECIMAL | DataType.WEI:
            is_whole = value_kind == DataType.BIGINT or (value_kind == DataType.DOUBLE and DataType.BIGINT in answers)
            has_places = is_whole or (evidence.places is not None and evidence.places <= (target.scale or 0))
            if has_places and target.integer_digits is not None:
                return _judge_range(evidence, 10 ** max(target.integer_digits, 0))
            is_sure = has_places
        case DataType.DOUBLE if value_kind == DataType.TEXT:
            is_sure = DataType.BIGINT in answers and (evidence.longest or 0) <= _SURE_DIGITS
        case DataType.DOUBLE:
            is_sure = value_kind == DataType.DOUBLE or _is_exact(evidence)
        case DataType.BOOL:
            return _judge_bool(value_kind, evidence)
        case DataType.TIMESTAMP | DataType.TIME:
            is_sure = size is None or size >= MICROSECOND_DIGITS or value_kind == DataType.BIGINT
        case DataType.BINARY:
            longest = evidence.longest if value_kind == DataType.TEXT else LONGEST_INTEGER
            is_sure = size is None or (longest is not None and longest <= size)
        case of:
            is_sure = of is not DataType.DATE
    return Verdict.ALL if is_sure else Verdict.OPEN


def _judge_text(value_kind: str, evidence: ClassEvidence, size: int) -> Verdict:
    match value_kind:
        case DataType.TEXT if evidence.shortest is not None and evidence.longest is not None:
            return _judge_span(evidence.shortest, evidence.longest, size)
        case DataType.BOOL:
            return _judge_span(len("True"), len("False"), size)
        case DataType.BIGINT if _is_exact(evidence):
            longest = max(len(str(int(end))) for end in (evidence.least, evidence.greatest) if end is not None)
            return _judge_span(1, longest, size)
        case _:
            return Verdict.ALL if size >= LONGEST_DOUBLE else Verdict.OPEN


def _judge_span(shortest: int, longest: int, limit: int) -> Verdict:
    if longest <= limit:
        return Verdict.ALL
    return Verdict.NONE if shortest > limit else Verdict.OPEN


def _is_exact(evidence: ClassEvidence) -> bool:
    """Return whether the range is known and its ends are not rounded: 2^53 itself may be a rounded integer."""
    ends = (evidence.least, evidence.greatest)
    return all(end is not None and abs(end) < EXACT_INTEGERS for end in ends)


def _judge_integer(value_kind: str, answers: frozenset[str], evidence: ClassEvidence, past: int) -> Verdict:
    if value_kind == DataType.TEXT:
        # As digits, or as hexadecimal ones after `0x`.
        longest = evidence.longest or 0
        return Verdict.ALL if max(10**longest, 16 ** max(longest - 2, 0)) <= past else Verdict.OPEN
    if "uint64" in answers:
        return Verdict.ALL if past >= integer_limit(65) else Verdict.NONE
    if value_kind == DataType.BIGINT and past >= integer_limit(64):
        return Verdict.ALL
    return _judge_range(evidence, past)


def _judge_range(evidence: ClassEvidence, past: int) -> Verdict:
    """Judge whether numbers are below ``past`` and above its negative; ends past 2^53 are rounded, as the limit is."""
    limit = as_float(past)
    if evidence.least is None or evidence.greatest is None or limit is None:
        return Verdict.OPEN
    if -limit < evidence.least and evidence.greatest < limit:
        return Verdict.ALL
    return Verdict.NONE if evidence.least > limit or evidence.greatest < -limit else Verdict.OPEN


def _judge_bool(value_kind: str, evidence: ClassEvidence) -> Verdict:
    if value_kind in (DataType.TEXT, DataType.BOOL):
        return Verdict.ALL
    if evidence.least is None or evidence.greatest is None:
        return Verdict.OPEN
    if evidence.least > 1 or evidence.greatest < 0:
        return Verdict.NONE
    is_bit = value_kind == DataType.BIGINT and evidence.least >= 0 and evidence.greatest <= 1
    return Verdict.ALL if is_bit else Verdict.OPEN


@dataclass(frozen=True, slots=True)
class Judged:
    """The tally of a column's values, except for values at ``open_paths``, which have to be read."""

    tally: Tally
    open_paths: tuple[Path, ...] = ()


def feeds(resolution: Resolution, table: str, column: str) -> tuple[TakenClass, ...]:
    """Return the paths and classes of the values of a column, including values that went to its variants."""
    bases = variant_bases(resolution.schema)
    origins = [(table, column), *[origin for origin, base in bases.items() if origin[0] == table and base == column]]
    return tuple(dict.fromkeys(taken_class for origin in origins for taken_class in resolution.taken.get(origin, ())))


def judge_values(evidence: Evidence, fed: Iterable[TakenClass], target: FullType) -> Judged | None:
    """Judge the values of a column by evidence; None if objects or lists may be too long for a text.

    ``fed`` are paths and classes of its values (``feeds``). The evidence may be of a part of the data.
    """
    classes = [(path, name, evidence.paths[path][name]) for path, name in fed if name in evidence.paths.get(path, {})]
    verdicts = [
        (path, name, class_evidence, judge_class(name, class_evidence, target))
        for path, name, class_evidence in classes
    ]
    open_paths = dict.fromkeys(path for path, _, _, verdict in verdicts if verdict is Verdict.OPEN)
    if any(verdict is Verdict.OPEN and not _is_scalar(name) for _, name, _, verdict in verdicts):
        return None
    tallies = [
        Tally(
            class_evidence.count, class_evidence.count, tuple(examples_of(name, class_evidence)), class_evidence.first
        )
        if verdict is Verdict.NONE
        else Tally(class_evidence.count)
        for path, name, class_evidence, verdict in verdicts
        if not (path in open_paths and _is_scalar(name))
    ]
    return Judged(add(tallies), tuple(open_paths))


def _is_scalar(name: str) -> bool:
    return kind_of(name) not in (OBJECT, LIST)


def examples_of(name: str, evidence: ClassEvidence) -> Iterator[Any]:
    """Yield the examples of a class as values."""
    is_text = kind_of(name) == DataType.TEXT
    yield from evidence.examples if is_text else map(json.loads, evidence.examples)


def is_in_rows(path: Path, rows: Iterable[Path]) -> bool:
    """Return whether the values at ``path`` belong to rows made of the values at ``rows``, with no list between."""
    return row_path(path) in rows


def judge_absences(evidence: Evidence, rows: Iterable[Path], fed: Iterable[TakenClass]) -> Tally:
    """Count the rows of a table that have no value for a column.

    The position of the first such row is known only if no row has a value or every missing value is a null. ``rows``
    are the paths whose values make the rows (``Resolution.rows``), ``fed`` the paths and classes of the column's
    values, at most one value per row.
    """
    rows, fed = tuple(rows), tuple(fed)
    row_evidence = [class_evidence for path in rows for class_evidence in evidence.paths.get(path, {}).values()]
    total = sum(class_evidence.count for class_evidence in row_evidence)
    values = sum(evidence.paths[path][name].count for path, name in fed if name in evidence.paths.get(path, {}))
    nulls = [classes[NULL] for path in {path for path, _ in fed} if NULL in (classes := evidence.paths.get(path, {}))]
    bad = total - values
    if not bad:
        return Tally(total)
    if not values:
        return Tally(total, bad, first=min(class_evidence.first for class_evidence in row_evidence))
    if sum(class_evidence.count for class_evidence in nulls) == bad:
        return Tally(total, bad, first=min(class_evidence.first for class_evidence in nulls))
    return Tally(total, bad)

"""Decide which data survives a new type of its column: by value, by class of evidence, and rows without a value.

A value survives where dlt coerces it into the type (docs/dlt.md §6.3), the type has room for it, and nothing of it is
lost: dlt itself checks no value against a precision or a scale (docs/dlt.md §6.4), and takes some with loss.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time
from decimal import Decimal
from enum import Enum
from operator import itemgetter
from typing import Any, Final

from schemactl.inference.classes import LIST, NULL, OBJECT, kind_of
from schemactl.inference.evidence import MAX_EXAMPLE_LENGTH, ClassEvidence, Evidence, Position
from schemactl.inference.resolve import Resolution, Taken, variant_bases
from schemactl.inference.values import is_coercible, kind
from schemactl.schema.coercion import can_coerce, coerce
from schemactl.schema.full_types import FullType
from schemactl.schema.paths import Path, row_path
from schemactl.schema.types import MICROSECOND_DIGITS, DataType

MAX_EXAMPLES: Final = 5


@dataclass(frozen=True, slots=True)
class Tally:
    """Values that were looked at and those that are bad, with some of the latter and the place of the first."""

    values: int = 0
    bad: int = 0
    examples: tuple[Any, ...] = ()
    first: Position | None = None


def add(tallies: Iterable[Tally]) -> Tally:
    """Return the sum of tallies of different values."""
    tallies = list(tallies)
    placed = sorted(((tally.first, tally) for tally in tallies if tally.first is not None), key=itemgetter(0))
    examples = distinct(example for _, tally in placed for example in tally.examples)
    # Bad values without a place may stand before all others.
    is_placed = all(tally.first is not None for tally in tallies if tally.bad)
    return Tally(
        values=sum(tally.values for tally in tallies),
        bad=sum(tally.bad for tally in tallies),
        examples=examples,
        first=placed[0][0] if placed and is_placed else None,
    )


def distinct(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the first few values that differ as JSON: ``1``, ``1.0`` and ``true`` do."""
    return tuple({json.dumps(value): value for value in values}.values())[:MAX_EXAMPLES]


def shown(value: Any) -> Any:
    """Return a value for an example: long texts are cut."""
    return value[:MAX_EXAMPLE_LENGTH] if isinstance(value, str) else value


LONGEST_DOUBLE: Final = 24
"""Characters of the longest text that Python makes of a double."""

EXACT_INTEGERS: Final = 2**53
"""Doubles hold every integer up to here."""


def integer_limit(bits: int) -> int:
    """Return the first integer that a signed one of ``bits`` bits does not hold."""
    return 1 << max(bits - 1, 0)


def survives(value: Any, target: FullType) -> bool:
    """Return whether a JSON value that is not null can be stored as ``target`` with nothing of it lost."""
    return is_coercible(value, target.data_type) and _is_held(value, target)


def _coerced(value: Any, data_type: DataType) -> Any:
    own = kind(value)
    if type(value) is int and own is DataType.WEI:
        return coerce(Decimal(value), DataType.DECIMAL, data_type)
    return coerce(str(value) if own is DataType.TEXT else value, own, data_type)


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
            whole, places = _digits(number)
            has_room = target.integer_digits is None or whole <= target.integer_digits
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
    """Return how many digits stand before and after the point, zeros at both ends left out."""
    if not number:
        return 0, 0
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    last = next(at for at, digit in enumerate(reversed(digits)) if digit)
    return max(number.adjusted() + 1, 0), max(-exponent - last, 0)


def _is_exact_double(value: Any) -> bool:
    """Return whether the double reads as the same number again."""
    if isinstance(value, float):
        return True
    own = DataType.TEXT if isinstance(value, str) else DataType.BIGINT
    if not can_coerce(value, own, DataType.DECIMAL):
        return True
    number: Decimal = coerce(value, own, DataType.DECIMAL)
    return not number.is_finite() or Decimal(repr(_coerced(value, DataType.DOUBLE))) == number


def _is_day(value: Any) -> bool:
    if isinstance(value, int | float):
        return value % 86_400 == 0  # seconds
    if not can_coerce(value, DataType.TEXT, DataType.TIMESTAMP):
        return True
    moment = _coerced(value, DataType.TIMESTAMP)
    in_utc = (moment if moment.tzinfo is None else moment.astimezone(UTC)).replace(tzinfo=None)
    # Python's dates overlook the end of `2024010203`, whose day is another one as seconds since 1970.
    return bool(in_utc == datetime.combine(_coerced(value, DataType.DATE), time()))


class Verdict(Enum):
    """The answer of evidence for the values of a class; ``OPEN`` where some may survive and others not."""

    ALL = "all"
    NONE = "none"
    OPEN = "open"


def judge_class(name: str, seen: ClassEvidence, target: FullType) -> Verdict:
    """Return which values of a class survive, as far as their number, lengths and range show."""
    own, _, stated = name.partition(":")
    answers = frozenset(stated.split(","))
    if own in (OBJECT, LIST):
        if target.data_type is DataType.TEXT:
            return Verdict.ALL if target.precision is None else Verdict.OPEN
        return Verdict.ALL if target.data_type is DataType.JSON else Verdict.NONE
    if answers & _BEYOND:
        return Verdict.NONE if target.data_type is DataType.BIGINT else Verdict.OPEN
    if target.data_type not in (own, DataType.TEXT) and target.data_type not in answers:
        return Verdict.NONE
    return _judge_scalars(own, answers, seen, target)


_BEYOND: Final = frozenset({"wide", "beyond-wei"})
"""Marks of integers that dlt cannot read; their own class says too little."""


_SURE_DIGITS: Final = 13
"""Characters of an integer that is exact as a double, also of a hexadecimal one."""


def _judge_scalars(own: str, answers: frozenset[str], seen: ClassEvidence, target: FullType) -> Verdict:
    size = target.precision
    match target.data_type:
        case DataType.TEXT if size is not None:
            return _judge_text(own, seen, size)
        case DataType.BIGINT if size is not None:
            return _judge_integer(own, answers, seen, integer_limit(size))
        case DataType.DECIMAL | DataType.WEI:
            is_whole = own == DataType.BIGINT or (own == DataType.DOUBLE and DataType.BIGINT in answers)
            if is_whole and target.integer_digits is not None:
                return _judge_range(seen, 10 ** max(target.integer_digits, 0))
            is_sure = is_whole
        case DataType.DOUBLE if own == DataType.TEXT:
            is_sure = DataType.BIGINT in answers and (seen.longest or 0) <= _SURE_DIGITS
        case DataType.DOUBLE:
            is_sure = own == DataType.DOUBLE or _is_exact(seen)
        case DataType.BOOL:
            return _judge_bool(own, seen)
        case DataType.TIMESTAMP | DataType.TIME:
            is_sure = size is None or size >= MICROSECOND_DIGITS or own == DataType.BIGINT
        case DataType.BINARY:
            longest = seen.longest if own == DataType.TEXT else 8  # of an integer
            is_sure = size is None or (longest is not None and longest <= size)
        case of:
            is_sure = of is not DataType.DATE
    return Verdict.ALL if is_sure else Verdict.OPEN


def _judge_text(own: str, seen: ClassEvidence, size: int) -> Verdict:
    match own:
        case DataType.TEXT if seen.shortest is not None and seen.longest is not None:
            return _judge_span(seen.shortest, seen.longest, size)
        case DataType.BOOL:
            return _judge_span(len("True"), len("False"), size)
        case DataType.BIGINT if _is_exact(seen):
            longest = max(len(str(int(end))) for end in (seen.least, seen.greatest) if end is not None)
            return _judge_span(1, longest, size)
        case _:
            return Verdict.ALL if size >= LONGEST_DOUBLE else Verdict.OPEN


def _judge_span(shortest: int, longest: int, limit: int) -> Verdict:
    if longest <= limit:
        return Verdict.ALL
    return Verdict.NONE if shortest > limit else Verdict.OPEN


def _is_exact(seen: ClassEvidence) -> bool:
    """Return whether the range is known, and its ends are no rounded integers: 2^53 may be a rounded one itself."""
    ends = (seen.least, seen.greatest)
    return all(end is not None and abs(end) < EXACT_INTEGERS for end in ends)


def _judge_integer(own: str, answers: frozenset[str], seen: ClassEvidence, past: int) -> Verdict:
    if own == DataType.TEXT:
        # As digits, or as hexadecimal ones after `0x`.
        longest = seen.longest or 0
        return Verdict.ALL if max(10**longest, 16 ** max(longest - 2, 0)) <= past else Verdict.OPEN
    if "uint64" in answers:
        return Verdict.ALL if past >= integer_limit(65) else Verdict.NONE
    if own == DataType.BIGINT and past >= integer_limit(64):
        return Verdict.ALL
    return _judge_range(seen, past)


def _judge_range(seen: ClassEvidence, past: int) -> Verdict:
    """Judge whether numbers are below ``past`` and above its negative; ends past 2^53 may be rounded."""
    if seen.least is None or seen.greatest is None:
        return Verdict.OPEN
    if -past < seen.least and seen.greatest < past:
        return Verdict.ALL
    return Verdict.NONE if seen.least > past or seen.greatest < -past else Verdict.OPEN


def _judge_bool(own: str, seen: ClassEvidence) -> Verdict:
    if own in (DataType.TEXT, DataType.BOOL):
        return Verdict.ALL
    if seen.least is None or seen.greatest is None:
        return Verdict.OPEN
    if seen.least > 1 or seen.greatest < 0:
        return Verdict.NONE
    is_bit = own == DataType.BIGINT and seen.least >= 0 and seen.greatest <= 1
    return Verdict.ALL if is_bit else Verdict.OPEN


@dataclass(frozen=True, slots=True)
class Judged:
    """The answer of evidence for a column's values but those at ``open_paths``, which have to be looked at."""

    tally: Tally
    open_paths: tuple[Path, ...] = ()


def feeds(resolution: Resolution, table: str, column: str) -> tuple[Taken, ...]:
    """Return what of the data is for a column: what it takes, and what went to its variants instead."""
    bases = variant_bases(resolution.schema)
    beside = [origin for origin, base in bases.items() if origin[0] == table and base == column]
    origins = [(table, column), *beside]
    return tuple(dict.fromkeys(each for origin in origins for each in resolution.taken.get(origin, ())))


def judge_values(evidence: Evidence, fed: Iterable[Taken], target: FullType) -> Judged | None:
    """Judge the values of a column by evidence; None where objects or lists may be too long for a text.

    ``fed`` are paths and classes of its values (``feeds``). The evidence may be of a part of the data.
    """
    known = [(path, name, evidence.paths[path][name]) for path, name in fed if name in evidence.paths.get(path, {})]
    verdicts = [(path, name, seen, judge_class(name, seen, target)) for path, name, seen in known]
    open_paths = dict.fromkeys(path for path, _, _, verdict in verdicts if verdict is Verdict.OPEN)
    if any(verdict is Verdict.OPEN and not _is_scalar(name) for _, name, _, verdict in verdicts):
        return None
    tallies = [
        Tally(seen.count, seen.count, tuple(examples_of(name, seen)), seen.first)
        if verdict is Verdict.NONE
        else Tally(seen.count)
        for path, name, seen, verdict in verdicts
        if not (path in open_paths and _is_scalar(name))
    ]
    return Judged(add(tallies), tuple(open_paths))


def _is_scalar(name: str) -> bool:
    return kind_of(name) not in (OBJECT, LIST)


def examples_of(name: str, seen: ClassEvidence) -> Iterator[Any]:
    """Yield the examples of a class as values."""
    is_text = kind_of(name) == DataType.TEXT
    yield from seen.examples if is_text else map(json.loads, seen.examples)


def is_in_rows(path: Path, rows: Iterable[Path]) -> bool:
    """Return whether the values at ``path`` stand in rows made of the values at ``rows``: no list is between."""
    return row_path(path) in rows


def judge_absences(evidence: Evidence, rows: Iterable[Path], fed: Iterable[Taken]) -> Tally:
    """Count the rows of a table that have no value for a column.

    The first of them is reported where evidence knows it: where no row has a value, or every missing one is a null.
    ``rows`` are paths whose values make the rows (``Resolution.rows``), ``fed`` those of the column's values, at most
    one a row.
    """
    rows, fed = tuple(rows), tuple(fed)
    made = [seen for path in rows for seen in evidence.paths.get(path, {}).values()]
    total = sum(seen.count for seen in made)
    held = sum(evidence.paths[path][name].count for path, name in fed if name in evidence.paths.get(path, {}))
    nulls = [found[NULL] for path in {path for path, _ in fed} if NULL in (found := evidence.paths.get(path, {}))]
    bad = total - held
    if not bad:
        return Tally(total)
    if not held:
        return Tally(total, bad, first=min(seen.first for seen in made))
    if sum(seen.count for seen in nulls) == bad:
        return Tally(total, bad, first=min(seen.first for seen in nulls))
    return Tally(total, bad)

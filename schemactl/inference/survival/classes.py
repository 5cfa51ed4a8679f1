"""Whether the values of a class of evidence survive in a type, as far as evidence shows without them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final

from schemactl.inference.classes import LIST, OBJECT
from schemactl.inference.evidence import ClassEvidence
from schemactl.inference.survival.target import (
    EXACT_INTEGERS,
    LONGEST_DOUBLE,
    MICROSECOND_DIGITS,
    TargetType,
    integer_limit,
)
from schemactl.schema.types import DataType


class Verdict(Enum):
    """What evidence of a class says of its values; ``OPEN`` where some may survive and others not."""

    ALL = "all"
    NONE = "none"
    OPEN = "open"


def judge_class(name: str, seen: ClassEvidence, target: TargetType) -> Verdict:
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
    judge = _JUDGES.get(target.data_type)
    return Verdict.ALL if judge is None else judge(own, answers, seen, target)


_BEYOND: Final = frozenset({"wide", "beyond-wei"})
"""Marks of integers that dlt cannot read; their own class says too little."""


def _judge_text(own: str, _answers: frozenset[str], seen: ClassEvidence, target: TargetType) -> Verdict:
    if target.precision is None:
        return Verdict.ALL
    match own:
        case DataType.TEXT if seen.shortest is not None and seen.longest is not None:
            return _judge_span(seen.shortest, seen.longest, target.precision)
        case DataType.BOOL:
            return _judge_span(len("True"), len("False"), target.precision)
        case DataType.BIGINT if _is_exact(seen):
            longest = max(len(str(int(end))) for end in (seen.least, seen.greatest) if end is not None)
            return _judge_span(1, longest, target.precision)
        case _:
            return Verdict.ALL if target.precision >= LONGEST_DOUBLE else Verdict.OPEN


def _judge_span(shortest: int, longest: int, limit: int) -> Verdict:
    if longest <= limit:
        return Verdict.ALL
    return Verdict.NONE if shortest > limit else Verdict.OPEN


def _is_exact(seen: ClassEvidence) -> bool:
    """Return whether the range is known, and its ends are no rounded integers."""
    ends = (seen.least, seen.greatest)
    return all(end is not None and abs(end) <= EXACT_INTEGERS for end in ends)


def _judge_integer(own: str, answers: frozenset[str], seen: ClassEvidence, target: TargetType) -> Verdict:
    if target.precision is None:
        return Verdict.ALL
    past = integer_limit(target.precision)
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


def _judge_decimal(own: str, answers: frozenset[str], seen: ClassEvidence, target: TargetType) -> Verdict:
    is_whole = own == DataType.BIGINT or (own == DataType.DOUBLE and DataType.BIGINT in answers)
    if not is_whole:
        return Verdict.OPEN
    if target.integer_digits is None:
        return Verdict.ALL
    return _judge_range(seen, 10 ** max(target.integer_digits, 0))


def _judge_double(own: str, answers: frozenset[str], seen: ClassEvidence, _target: TargetType) -> Verdict:
    if own == DataType.TEXT:
        is_small = DataType.BIGINT in answers and (seen.longest or 0) <= _SURE_DIGITS
        return Verdict.ALL if is_small else Verdict.OPEN
    return Verdict.ALL if own == DataType.DOUBLE or _is_exact(seen) else Verdict.OPEN


_SURE_DIGITS: Final = 13
"""Characters of an integer that is exact as a double, also of a hexadecimal one."""


def _judge_bool(own: str, _answers: frozenset[str], seen: ClassEvidence, _target: TargetType) -> Verdict:
    if own in (DataType.TEXT, DataType.BOOL):
        return Verdict.ALL
    if seen.least is None or seen.greatest is None:
        return Verdict.OPEN
    if seen.least > 1 or seen.greatest < 0:
        return Verdict.NONE
    is_bit = own == DataType.BIGINT and seen.least >= 0 and seen.greatest <= 1
    return Verdict.ALL if is_bit else Verdict.OPEN


def _judge_fraction(own: str, _answers: frozenset[str], _seen: ClassEvidence, target: TargetType) -> Verdict:
    is_fine = target.precision is None or target.precision >= MICROSECOND_DIGITS or own == DataType.BIGINT
    return Verdict.ALL if is_fine else Verdict.OPEN


def _judge_day(_own: str, _answers: frozenset[str], _seen: ClassEvidence, _target: TargetType) -> Verdict:
    return Verdict.OPEN


def _judge_binary(own: str, _answers: frozenset[str], seen: ClassEvidence, target: TargetType) -> Verdict:
    longest = seen.longest if own == DataType.TEXT else _BYTES_OF_INTEGER
    has_room = target.precision is None or (longest is not None and longest <= target.precision)
    return Verdict.ALL if has_room else Verdict.OPEN


_BYTES_OF_INTEGER: Final = 8
_JUDGES: Final[Mapping[DataType, Callable[[str, frozenset[str], ClassEvidence, TargetType], Verdict]]] = {
    DataType.TEXT: _judge_text,
    DataType.BIGINT: _judge_integer,
    DataType.DECIMAL: _judge_decimal,
    DataType.WEI: _judge_decimal,
    DataType.DOUBLE: _judge_double,
    DataType.BOOL: _judge_bool,
    DataType.TIMESTAMP: _judge_fraction,
    DataType.TIME: _judge_fraction,
    DataType.DATE: _judge_day,
    DataType.BINARY: _judge_binary,
}

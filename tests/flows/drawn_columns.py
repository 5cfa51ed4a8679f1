"""Random columns with values of several loads: of the column's own type, and JSON values of any other kind."""

from __future__ import annotations

import base64
import math
import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Context, Decimal
from typing import Any, Final

from schemactl.schema.types import DataType

INTEGERS: Final = [
    *(0, 1, -1, 127, 128, -128, -129, 255, 32_767, 32_768, 2**31 - 1, 2**31, -(2**31) - 1),
    *(2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 9_223_372_036_854_775_000, 2**63 - 1, -(2**63)),
    *(2**63, 2**64 - 1, 2**64, 10**37, 10**38 - 1, 10**38, -(10**37), 86_400, 1_700_000_000, 253_402_300_799),
]
FLOATS: Final = [
    *(0.1, -0.0, 0.0, 1.5, 2.0, 2.5, -7.25, 1e300, -1e300, 5e-324, 1.7976931348623157e308, 2.0**53, 2.0**53 + 2),
    *(2.0**63, 1e22, 1e-7, 0.1 + 0.2, 123_456.789, 1e5, 1.23456789012345, 12345678.25),
]
NUMBER_TEXTS: Final = [
    *("1", "0", "-1", "1.5", "1.50", "0x1F", "1e5", "-0.0", "-0", "NaN", "Infinity", "-Infinity", " 7 ", "1_000"),
    *("9007199254740993", "9223372036854775808", "9" * 38, "9" * 39, "0." + "1" * 30, "1.2567", "1e300", "0.1"),
    *("9" * 29 + "." + "9" * 9, "1" * 28 + ".5", "٣", "sNaN", "1e-400", "+5", "007"),
]
TIME_TEXTS: Final = [
    *("2024-06-30T23:59:60Z", "9999-12-31T23:59:59.999999Z", "0001-01-01", "2024-02-29", "2024-03-01T10:30:00Z"),
    *("0001-01-01T00:00:00Z", "2024-03-01T10:30:00.123456+02:00", "2024-03-01 10:30:00.5", "1582-10-10"),
    *("9999-12-31", "03:04:05.5", "03:04:05.123456", "23:59:60", "23:59:59.999999", "00:00", "03:04:05+02:00"),
    *("2024-01-02T03:04:05.123Z", "2024-W01-1", "1700000000", "1900-01-01T00:00:00Z", "1969-12-31"),
    *("2024-03-31T02:30:00", "24:00:00", "2024-03-01T24:00:00Z", "9999-12-31T23:59:59-01:00", "0000-01-01"),
    *("0001-01-01T00:00:00+01:00", "0000-01-01T00:00:00Z"),
]
OTHER_TEXTS: Final = [
    *("", " ", "abc", "\0", "a\0b", "é\U0001f600", "\U0001f600" * 3, "YWJj", "YWJhYmFiYWI=", "0x00ff"),
    *("true", "yes", "n", "True", "{}", '{"a": 1}', "[1]", '"x"', "a'b\"c\\d", "line\nbreak", "x" * 300),
]
TEXTS: Final = [*NUMBER_TEXTS, *TIME_TEXTS, *OTHER_TEXTS]
OBJECTS: Final = [{}, {"a": 1}, {"a": [1.5, None, "x"]}, [], [1, 2], [{"b": 2**53 + 1}], {"n": 1e300}]
MOMENTS: Final = [datetime.max, datetime.min, datetime(1969, 12, 31, 23, 59, 59, 999_999)]

_WIDE: Final = Context(prec=60)


def draw_integer(chance: random.Random, bits: int = 64) -> int:
    end = 2 ** (bits - 1)
    edges = [number for number in INTEGERS if -end <= number < end]
    return chance.choice((chance.choice(edges), chance.randrange(-end, end), chance.randrange(-100, 100)))


def draw_any_integer(chance: random.Random) -> int:
    return chance.choice((chance.choice(INTEGERS), draw_integer(chance)))


def draw_float(chance: random.Random) -> float:
    (any_bits,) = struct.unpack("d", chance.randbytes(8))
    simple = chance.randrange(-(10**6), 10**6) / 10 ** chance.randrange(5)
    return chance.choice((chance.choice(FLOATS), any_bits if math.isfinite(any_bits) else 0.5, simple))


def draw_characters(chance: random.Random, longest: int) -> str:
    alphabet = "ab 01.-:TZ\"'\\\n\té\u0301ß\U0001f600\uffff"
    return "".join(chance.choice(alphabet) for _ in range(chance.randrange(longest + 1)))


def draw_decimal(chance: random.Random, precision: int, scale: int) -> str:
    digits = chance.randrange(10 ** chance.randrange(1, precision + 1)) * chance.choice((-1, 1))
    return f"{Decimal(digits).scaleb(-scale, _WIDE):f}"


def draw_moment(chance: random.Random, digits: int = 6, zone: str = "Z") -> str:
    any_moment = datetime.min + timedelta(chance.randrange(3_652_059), microseconds=chance.randrange(86_400 * 10**6))
    moment = chance.choice((any_moment, any_moment, chance.choice(MOMENTS)))
    step = 10 ** (6 - digits)
    return moment.replace(microsecond=moment.microsecond // step * step).isoformat() + zone


def draw_date(chance: random.Random) -> str:
    return draw_moment(chance)[:10]


def draw_time(chance: random.Random, digits: int = 6) -> str:
    return draw_moment(chance, digits, "")[11:]


def draw_bytes(chance: random.Random, longest: int) -> str:
    return base64.b64encode(chance.randbytes(chance.randrange(longest + 1))).decode()


def draw_text(chance: random.Random) -> str:
    odd = chance.choice(TEXTS)
    number = draw_decimal(chance, 12, 4)
    return chance.choice((odd, odd, number, draw_characters(chance, 8), draw_moment(chance), draw_date(chance)))


def draw_bool(chance: random.Random) -> bool:
    return chance.random() < 0.5


def draw_scalar(chance: random.Random) -> Any:
    return chance.choice((draw_any_integer, draw_float, draw_text, draw_text, draw_bool))(chance)


DRAW_BY_TYPE: Final[dict[str, Callable[[random.Random], Any]]] = {
    "bigint(8)": lambda chance: draw_integer(chance, 8),
    "bigint(16)": lambda chance: draw_integer(chance, 16),
    "bigint(32)": lambda chance: draw_integer(chance, 32),
    "bigint": draw_integer,
    "double": draw_float,
    "decimal": lambda chance: draw_decimal(chance, 38, 9),
    "decimal(6,2)": lambda chance: draw_decimal(chance, 6, 2),
    "decimal(38,0)": lambda chance: draw_decimal(chance, 38, 0),
    "decimal(20,10)": lambda chance: draw_decimal(chance, 20, 10),
    "wei": lambda chance: int(draw_decimal(chance, 38, 0)),
    "bool": draw_bool,
    "date": draw_date,
    "time": draw_time,
    "time(3)": lambda chance: draw_time(chance, 3),
    "timestamp": draw_moment,
    "timestamp(0)": lambda chance: draw_moment(chance, 0),
    "timestamp(3),timezone=false": lambda chance: draw_moment(chance, 3, ""),
    "timestamp,timezone=false": lambda chance: draw_moment(chance, 6, ""),
    "text": draw_text,
    "text(5)": lambda chance: draw_characters(chance, 5),
    "binary": lambda chance: draw_bytes(chance, 6),
    "binary(4)": lambda chance: draw_bytes(chance, 4),
    "json": lambda chance: chance.choice(OBJECTS),
}
"""Draws a value of a type, by the type as the command line spells it."""


@dataclass(frozen=True)
class DrawnColumn:
    """A column of a type, with the values of each load; None for a missing value."""

    type_words: str
    loads: tuple[tuple[Any, ...], ...]

    @property
    def data_type(self) -> DataType:
        return DataType(self.type_words.partition("(")[0].partition(",")[0])


def draw_column(
    chance: random.Random, loads: int, rows: int, is_possible: Callable[[Any], bool], types: Sequence[str]
) -> DrawnColumn:
    """Return a column whose first load has values of its type, and the later ones those and others."""
    type_words = chance.choice(types)
    natural = DRAW_BY_TYPE[type_words]
    kinds = [natural, draw_scalar, draw_float, draw_any_integer, draw_text]
    later = chance.choice([[kind] for kind in kinds] + [[natural, kind] for kind in kinds])

    def draw(draws: Sequence[Callable[[random.Random], Any]]) -> Any:
        value = None if chance.random() < 0.15 else chance.choice(draws)(chance)
        return value if is_possible(value) else draw(draws)

    values = [tuple(draw([natural] if number == 0 else later) for _ in range(rows)) for number in range(loads)]
    return DrawnColumn(type_words, tuple(values))

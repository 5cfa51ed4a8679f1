"""Coercion gives for every pair of types what dlt gives, or refuses where dlt refuses; dlt itself is run."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from dlt.common.data_types import coerce_value, py_type_to_sc_type
from dlt.common.wei import Wei
from hypothesis import example, given, settings
from hypothesis import strategies as st

from schemactl.schema.coercion import can_coerce, coerce, type_of
from schemactl.schema.types import DataType

REFUSED = "refused"


@dataclass(frozen=True)
class Failed:
    """The error with which dlt ends a load instead of making a variant column."""

    error: type[BaseException]


@dataclass(frozen=True)
class Difference:
    """Where we mean to differ from dlt: the rule, and why."""

    reason: str
    covers: Callable[[Any, Any, Any], bool]
    """Takes the value, dlt's outcome and ours."""


MARKS = frozenset(map(chr, range(0xF026, 0xF02F)))


def holds_mark(value: Any) -> bool:
    """Return whether a text anywhere in a JSON value starts with one of dlt's marks."""
    match value:
        case str():
            return value[:1] in MARKS
        case dict():
            return any(map(holds_mark, value.values()))
        case list():
            return any(map(holds_mark, value))
        case _:
            return False


def is_past_calendar(outcome: Any) -> bool:
    """Return whether an outcome is a timestamp of which UTC has none."""
    match outcome:
        case ("timestamp", str(text), timedelta() as offset):
            return not MIN_MOMENT <= datetime.fromisoformat(text) - EPOCH - offset <= MAX_MOMENT
        case _:
            return False


EPOCH = datetime(1970, 1, 1)
MIN_MOMENT, MAX_MOMENT = datetime.min - EPOCH, datetime.max - EPOCH

UNUSABLE = "a timestamp whose offset no operation accepts"

MEANT = [
    Difference("dlt reads an offset of 24 hours or more and fails as soon as it uses the timestamp; we refuse it",
        lambda value, theirs, ours: theirs == UNUSABLE and ours == REFUSED),
    Difference("dlt reads a timestamp whose offset leads out of the years 1 to 9999, and fails; we refuse it",
        lambda value, theirs, ours: is_past_calendar(theirs) and ours == REFUSED),
    Difference("dlt fails on an hour without minutes such as `12:`; we refuse it",
        lambda value, theirs, ours: isinstance(value, str) and theirs == Failed(TypeError) and ours == REFUSED),
    Difference("dlt fails on seconds whose year the C library cannot count; we refuse them, as dlt does nearer ones",
        lambda value, theirs, ours: theirs == Failed(OSError) and ours == REFUSED),
    Difference("dlt fails to write JSON with integers beyond 64 bits or half surrogate pairs; we write it",
        lambda value, theirs, ours: isinstance(value, dict | list) and theirs == Failed(TypeError) and ours != REFUSED),
    Difference("dlt marks types by a private character and cuts it off texts in JSON that start so; we keep it",
        lambda value, theirs, ours: isinstance(value, dict | list) and holds_mark(value)),
]  # fmt: skip


def outcome(convert: Callable[[], Any]) -> Any:
    """Return what a conversion ended in, comparable: value and type, offset included."""
    try:
        result = convert()
    except ValueError:
        return REFUSED
    except Exception as error:
        return Failed(type(error))
    match result:
        case datetime():
            try:
                return "timestamp", result.replace(tzinfo=None).isoformat(), result.utcoffset()
            except ValueError:
                return UNUSABLE
        case date():
            return "date", result.isoformat()
        case time():
            return "time", result.isoformat()
        case Decimal():
            return "decimal", str(result)
        case _:
            return type(result), repr(result)


def differences(value: Any, from_: DataType) -> list[str]:
    """Return how the outcomes for a value differ from dlt's, over all targets, but for what is meant."""
    found = []
    for to in DataType:
        theirs = outcome(lambda to=to: coerce_value(str(to), str(from_), copy.deepcopy(value)))
        ours = outcome(lambda to=to: coerce(value, from_, to))
        if (ours != REFUSED) is not can_coerce(value, from_, to):
            found.append(f"{value!r} to {to}: coerce and can_coerce disagree")
        if theirs != ours and not any(difference.covers(value, theirs, ours) for difference in MEANT):
            found.append(f"{value!r} to {to}: dlt {theirs}, schemactl {ours}")
    return found


def spaced(texts: str) -> list[str]:
    return texts.split()


DAYS = spaced("""
    2024-01-02 20240102 2024-01 2024-1-2 202401 2024 0000 0304 2024- 2024-01- 2024-02-30 2024-13-01
    2023-02-29 0001-01-01 9999-12-31 10000-01-01 -2024-01-02 +2024-01-02 2024/01/02 2024/1/2 2024:01:02
    2024/0102 01/02/2024 2024-001 2024001 2024-366 2023-366 2024366 2023366 2024-000 2024-W05 2024W05
    2024-W05-1 2024W051 2024-W051 2024W05-1 2024-W00 2024-W53 2020-W53-7 2024-W05-0 2024-W05-8
    9999-W52-7 0001-W00 2024-w05 2024-01-02Z 2024-01-02/2024-01-03 P1D PT1H PT now today 2024010203
    20240102T0 2024W0512/ ٢٠٢٤ ٢٠٢٤-01-02
""")

TIMES = spaced("""
    03:04:05 03:04 3:04 3:4 3: 12: 12::5 24:00 23:59:60 T03 T0304 T03:04 T03:04:05 T030405,5
    03:04:05.5-23:30 T 030405 123456 03:04:05+24:00 00:30:00+01:00
""")

MOMENTS = spaced("""
    2024-01-02T03 2024-01-02T03:04 2024-01-02T0304 2024-01-02T03:04:05 2024-01-02t03:04:05
    2024-01-02T03:04:05. 2024-01-02T03:04:05.1234567890 2024-01-02T03:04:05,5 2024-01-02T03:04.5
    2024-01-02T24:00:00 2024-01-02T24:00 2024-01-02T23:59:60 2024-01-02T23:60 20240102T030405
    20240102T03:04 20240102T03:04:05 2024-01T03:04 2024-W05T03:04:05 2024001T030405 2024-001T030405
    2024T03:04 2024-01-02T03:04:05Z 2024-01-02T03:04:05z 2024-01-02T03:04:05+02 2024-01-02T03:04:05+0230
    2024-01-02T03:04:05+02: 2024-01-02T03:04:05+02:0 2024-01-02T03:04:05-00:30 2024-01-02T03:04:05+22:99
    2024-01-02T03:04:05+24:00 2024-01-02T03:04:05-25:00 2024-01-02T03:04:05[UTC]
    0001-01-01T00:00:00+02:00 9999-12-31T23:59:59-02:00
""")

NUMBERS = spaced("""
    1 0 -0 -1 +1 --1 007 12.0 1e3 1E+3 1e400 -1e400 1e17 1e15 1e99999999999999999999 .5 5. . 1,5 1_000
    _1 1_ 1__0 n_a_n 0x1F 0X1F 0x 0xg -0x1 0x-5 0x1_0 0x1p3 nan NaN -nan nan12 sNaN inf -Infinity
    infinit １２ 1２.5 ² Ⅷ 9223372036854775807 9223372036854775808 18446744073709551616 1700000000
    1700000000000 253402300799 253402300800 -62135596800 -62135596801 67768036191676800
""")

WORDS = spaced("""
    yes YES y true True false f no off ſ İ null None {} [] [1,] {"a":1} {"a":1,"a":2} "a" "" " [ { 'a' -
    _ tru truely nulls [1e400] eA== eA= eA ab-_ 0x6869 0x123 né inside Tea
""")

BLANKS_AND_WORSE = [
    "", " ", "\n", " 1 ", " 0x1 ", "e A==", "0x68 69", " 2024-01-02", "2024-01-02 ", "2024-01-02\n", "2024\n", " 3:04",
    "2024 3:04", "2024-01-02 03:04:05", "20240102 030405", "20240102 3:4", "2024/01/02 3:04:05|5",
    "2024-01-02T03:04:05 Z", "2024-01-02T03:04:05 UTC", "1999W402 Z", "\u00a01", "\x1c1", "\u200b1", "1\x00",
    "\ufeff{}", "\ud800", "\ud83d\ude00", "1" * 5000, "0x" + "f" * 300, "[" * 2000, "2024-01-02T03:04:05." + "1" * 40,
]  # fmt: skip

CURATED = [*DAYS, *TIMES, *MOMENTS, *NUMBERS, *WORDS, *BLANKS_AND_WORSE]


def digits(length: int, limit: int) -> st.SearchStrategy[str]:
    return st.integers(0, limit).map(lambda number: str(number).zfill(length))


def joined(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map("".join)


def maybe(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.just("") | part


years = st.sampled_from(["2024", "2023", "2020", "2015", "0001", "9999", "0000", "10000"])
seps = st.sampled_from(["-", "-", "", "/", ":"])
days = joined(
    years,
    seps,
    st.one_of(
        joined(digits(2, 13), maybe(joined(seps, digits(2, 32)))),
        digits(3, 367),
        joined(st.just("W"), digits(2, 54), maybe(joined(seps, digits(1, 8)))),
        st.just(""),
    ),
)
colons = st.sampled_from([":", ":", ""])
fractions = joined(st.sampled_from([".", ",", "|"]), st.text("0123456789", max_size=12))
seconds = joined(colons, digits(2, 60), maybe(fractions))
clocks = joined(digits(2, 24) | digits(1, 9), maybe(joined(colons, digits(2, 60), maybe(seconds))))
offsets = st.one_of(
    st.sampled_from(["", "Z", "z", "+", " Z", "+2", "+02:"]),
    joined(st.sampled_from("+-"), digits(2, 25), colons, maybe(digits(2, 99))),
)
moments = joined(maybe(days), st.sampled_from(["T", " ", "", "t"]), clocks, offsets)


@st.composite
def altered(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> str:
    """A text with up to three characters put in, left out or changed."""
    text = draw(texts)
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text)))
        end = start + draw(st.integers(0, 1))
        text = text[:start] + draw(st.text('0123456789-:TZ W+./,|_exnaisfNI٢１ \n{}[]"=tru', max_size=1)) + text[end:]
    return text


hostile_texts = st.one_of(
    days,
    moments,
    altered(st.sampled_from(CURATED) | moments),
    st.text(max_size=12),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.binary(max_size=9).map(bytes.hex),
)

zones = st.sampled_from(
    [
        None,
        UTC,
        timezone(timedelta(hours=2)),
        timezone(-timedelta(hours=23, minutes=59)),
        timezone(timedelta(seconds=1)),
        ZoneInfo("Europe/Berlin"),
    ]
)
integers = st.one_of(
    st.integers(-(2**70), 2**70),
    st.integers(-(10**12), 10**12),
    st.sampled_from([10**17, -(10**17), 10**20, 10**400, 253402300799, 253402300800, -62135596801]),
)
json_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from(
        [
            2**64,
            "\ud800",
            "\uf026abc",
            Decimal("1.50"),
            b"x",
            date(2024, 1, 2),
            datetime(2024, 1, 2, tzinfo=UTC),
        ]
    ),
)
json_values = st.recursive(
    st.dictionaries(st.text(max_size=3) | st.integers(-9, 9) | st.none(), json_scalars, max_size=3)
    | st.lists(json_scalars, max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)

typed_values = st.one_of(
    st.tuples(st.just(DataType.BIGINT), integers),
    st.tuples(
        st.just(DataType.DOUBLE),
        st.floats() | st.floats(-1e12, 1e12) | integers.filter(lambda n: abs(n) < 10**300).map(float),
    ),
    st.tuples(st.just(DataType.DECIMAL), st.decimals() | integers.filter(lambda n: abs(n) < 10**50).map(Decimal)),
    st.tuples(st.just(DataType.WEI), st.decimals().map(Wei) | integers.filter(lambda n: abs(n) < 10**50).map(Wei)),
    st.tuples(st.just(DataType.BOOL), st.booleans()),
    st.tuples(st.just(DataType.BINARY), st.binary(max_size=9)),
    st.tuples(st.just(DataType.JSON), json_values),
    st.tuples(st.just(DataType.TIMESTAMP), st.datetimes(timezones=zones)),
    st.tuples(st.just(DataType.DATE), st.dates()),
    st.tuples(st.just(DataType.TIME), st.times(timezones=zones)),
)


@pytest.mark.parametrize("text", CURATED)
def test_a_text_near_to_another_type_becomes_what_it_becomes_in_dlt(text):
    assert differences(text, DataType.TEXT) == []


@settings(max_examples=600)
@given(hostile_texts)
def test_any_text_becomes_what_it_becomes_in_dlt(text):
    assert differences(text, DataType.TEXT) == []


@settings(max_examples=600)
@given(typed_values)
@example((DataType.DECIMAL, Decimal("sNaN")))
@example((DataType.DECIMAL, Decimal("1E+27")))
@example((DataType.DECIMAL, Decimal("1E+28")))
@example((DataType.DOUBLE, 253402300799.9999999))
@example((DataType.DOUBLE, 5e-7))
@example((DataType.BIGINT, 10**17))
@example((DataType.JSON, {"wide": 2**64}))
@example((DataType.JSON, {"marked": "\uf026abc"}))
@example((DataType.TIMESTAMP, datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2)))))
def test_a_value_of_any_type_becomes_what_it_becomes_in_dlt(typed_value):
    from_, value = typed_value

    assert differences(value, from_) == []


@settings(max_examples=500)
@given(typed_values)
def test_a_value_has_the_type_that_dlt_gives_it(typed_value):
    _, value = typed_value

    theirs = py_type_to_sc_type(type(value))

    # dlt's class for wei is a decimal to us: only Python sources make it
    assert type_of(value) == ("decimal" if theirs == "wei" else theirs)


@pytest.mark.parametrize("difference", MEANT, ids=lambda difference: difference.reason)
def test_each_meant_difference_is_still_there(difference):
    witnesses = [
        ("2024-01-02T03:04:05+24:00", DataType.TEXT, DataType.TIMESTAMP),
        ("9999-12-31T23:59:59-01:00", DataType.TEXT, DataType.TIMESTAMP),
        ("12:", DataType.TEXT, DataType.TIMESTAMP),
        (10**17, DataType.BIGINT, DataType.TIMESTAMP),
        ({"wide": 2**64}, DataType.JSON, DataType.TEXT),
        ({"marked": "\uf026abc"}, DataType.JSON, DataType.TEXT),
    ]
    met = []
    for value, from_, to in witnesses:
        theirs = outcome(lambda: coerce_value(str(to), str(from_), copy.deepcopy(value)))  # noqa: B023
        ours = outcome(lambda: coerce(value, from_, to))  # noqa: B023
        met.append(theirs != ours and difference.covers(value, theirs, ours))

    assert any(met)

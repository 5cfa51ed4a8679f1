"""Spark's columns are coerced as single values are, for every pair of types, over thousands of made-up values a job."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle
from pyspark.sql import functions as F
from pyspark.sql import types as T

from schemactl.destinations._migration import conversion
from schemactl.destinations.spark.conversion import by_python, survivor
from schemactl.destinations.spark.types import stored_type
from schemactl.engine.spark.reading.columnar import allow_all_types
from schemactl.migration.statements import Retype
from schemactl.schema.coercion import coerce
from schemactl.schema.types import Column, DataType

pytestmark = pytest.mark.spark

MADE_UP = 500
"""How many values a test makes up: each run finds others."""
EPOCH = datetime(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)
INFINITE = float("inf")
BELOW_MICROSECONDS = re.compile(r"[.,][0-9]{6}[0-9]*[1-9]")

TARGETS = [
    *(Column(str(data_type), {"data_type": str(data_type)}) for data_type in DataType),
    Column("naive", {"data_type": "timestamp", "timezone": False}),
    Column("zoned", {"data_type": "timestamp", "timezone": True}),
    Column("bits_8", {"data_type": "bigint", "precision": 8}),
    Column("bits_16", {"data_type": "bigint", "precision": 16}),
    Column("bits_32", {"data_type": "bigint", "precision": 32}),
    Column("money", {"data_type": "decimal", "precision": 10, "scale": 2}),
    Column("thousands", {"data_type": "decimal", "precision": 3, "scale": 0}),
    Column("fraction", {"data_type": "decimal", "precision": 38, "scale": 38}),
    Column("small_wei", {"data_type": "wei", "precision": 10, "scale": 2}),
]


# --- what is expected: what the coercion gives, and then whether the stored type has room ---


def retype(kind: DataType, to: Column, *, naive: bool = False) -> Retype:
    properties = {"data_type": str(kind), **({"timezone": False} if naive else {})}
    return Retype(Column("v", properties), to, counts_seconds=True)


def expected(value: Any, kind: DataType, to: Column) -> Any:
    """Return the value of the stored column, as ``comparable`` gives it; both sessions ask the same."""
    key = (repr(value), kind, to.name)
    if key not in _EXPECTED:
        _EXPECTED[key] = None if value is None else _expected(value, kind, to)
    return _EXPECTED[key]


_EXPECTED: dict[tuple[str, DataType, str], Any] = {}


def _expected(value: Any, kind: DataType, to: Column) -> Any:
    try:
        own = conversion.plain_number(value) if isinstance(value, Decimal) else value
        result = conversion.coerced(own, retype(kind, to))
        if DataType.JSON is to.data_type:
            return coerce(result, DataType.JSON, DataType.TEXT)
        is_beyond = to.data_type is DataType.DOUBLE and kind is DataType.TEXT and result in (INFINITE, -INFINITE)
        is_finer = to.data_type in (DataType.TIMESTAMP, DataType.TIME) and kind is DataType.TEXT
        if (is_beyond and any(map(str.isdecimal, value))) or (is_finer and BELOW_MICROSECONDS.search(value)):
            return None
        return stored(result, to)
    except (ValueError, ArithmeticError):
        return None


def stored(value: Any, to: Column) -> Any:
    match to.data_type:
        case DataType.BIGINT:
            bits = to.properties.get("precision", 64)
            return value if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) else None
        case DataType.DECIMAL | DataType.WEI:
            default = (38, 9) if to.data_type is DataType.DECIMAL else (38, 0)
            return held(value, to.properties.get("precision", default[0]), to.properties.get("scale", default[1]))
        case DataType.TIMESTAMP:
            return micros(value)
        case DataType.DATE:
            return (value - date(1970, 1, 1)).days
        case DataType.TIME:
            return (datetime.combine(EPOCH, value) - EPOCH) // MICROSECOND
        case DataType.DOUBLE:
            return bits_of(value)
        case _:
            return value


def held(value: Decimal, precision: int, scale: int) -> Decimal | None:
    """Return a number that no digit is lost of."""
    if not value:
        return Decimal(0)
    if not value.is_finite() or abs(value.adjusted()) > 100:
        return None
    context = Context(prec=20_000, Emax=999999, Emin=-999999)
    result = value.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, context)
    return result if result == value and result.copy_abs() < Decimal(10) ** (precision - scale) else None


def micros(moment: datetime) -> int:
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return (moment - EPOCH) // MICROSECOND


def bits_of(number: float) -> bytes:
    return b"nan" if number != number else struct.pack(">d", number)


def comparable(values: pa.ChunkedArray) -> list[Any]:
    """Return what Spark has stored, in terms of numbers and texts."""
    if pa.types.is_timestamp(values.type):
        assert values.type.unit == "us"
        return values.cast(pa.int64()).to_pylist()
    if pa.types.is_date(values.type):
        return values.cast(pa.int32()).to_pylist()
    if pa.types.is_time(values.type):
        return [None if nanos is None else nanos // 1000 for nanos in values.cast(pa.int64()).to_pylist()]
    if pa.types.is_floating(values.type):
        return [None if number is None else bits_of(number) for number in values.to_pylist()]
    return values.to_pylist()


# --- values ---


@cache
def made_up(strategy: st.SearchStrategy[Any], count: int = MADE_UP) -> tuple[Any, ...]:
    """Return values of a strategy, for one job of Spark over all of them in each session."""
    found: list[Any] = []

    @settings(max_examples=count, database=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return tuple(found)


def spaced(texts: str) -> list[str]:
    return texts.split()


SPECIAL_TEXTS = [
    *spaced("""
    2024-01-02T03:04:05Z 2024-01-02T03:04:05 2024-01-02T03:04 2024-01-02T03 20240102T030405 2024-01-02T03:04:05+0200
    2024-01-02T03:04:05+02 2024-01-02T03:04:05.5 2024-01-02T03:04:05,5Z 2024-01-02T03:04:05.123456789+01:00
    0001-01-01T00:00:00 0001-01-01T00:00:00+02:00 9999-12-31T23:59:59.999999 9999-12-31T23:59:59-02:00 0000-01-01
    0000-01-01T00:00:00Z 1582-10-10 1582-10-10T12:00:00Z 1500-02-29T00:00:00Z 1500-02-29 1900-02-29 2024-02-29
    2024-01-02 20240102 2024-01 2024 1234 2024-W05 2024-W05-1 2024-032 2024032 2024/01/02 2024/1/2 01/02/2024
    2024-1-2 2024-02-30 2024-01-02T25:00:00 2024-01-02T24:00:00 2024-01-02T23:59:60 2024-01-02t03:04:05z 03:04:05
    2024-01-02T03:04:05+18:00 2024-01-02T03:04:05+18:01 2024-01-02T03:04:05-23:59 2024-01-02T03:04:05+02:60
    2024-03-10T02:30:00 2024-11-03T01:30:00 2024-11-03T01:30:00-04:00 2024-11-03T01:30:00-05:00
    P1D 2024-01-02/2024-01-03 10000-01-01 123456 1700000000 2024.01.02 2024010203 123456789 99999999999
    03:04:05+02:00 00:30:00+01:00 03:04:05.5 03:04:05.1234567 3:04 03:04 24:00:00 T03:04 T0304 T03
    1 0 -0 +1 -1 007 12.0 1e3 1E+3 1e400 -1e400 1e-400 .5 5. 1,5 1_000 _1 0x1F 0X1F 0x 0xg -0x1 0x1_0 nan NaN -nan
    nan12 sNaN inf -Infinity 9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809
    18446744073709551616 999999999999999999 1000000000000000000 127 128 -128 -129 32767 32768 2147483647 2147483648
    253402300799 253402300800 -62135596800 -62135596801 67768036191676800 1.5 2.5 -2.5 1.005 -1.005 999.5 0.0000000005
    1.23456789050 2.5e-10 1e37 1e38 1e99999999 1e-99999999 0e99999999 1e-38 5e-39 4e-39 0.1 1E-7 123456789012345678
    99999999999999999999999999999999999999 100000000000000000000000000000000000000
    yes YES y true True TRUE false F no off 1 t eA== eA= eA eB== ab-_ 0x6869 0x123 AAAA ==== A=== word words null None
    {} [] [1,] {"a":1} {"a":1,"a":2} {"b":1.0,"a":1e16} [1e400] [18446744073709551616] "a" "" -5 1.50 tru [ {
    """),
    "", " ", "\n", " 1 ", "1\n", " 0x1 ", "e A==", "0x68 69", " 2024-01-02", "2024-01-02 ", "2024-01-02\n", " 3:04",
    "2024 3:04", "2024-01-02 03:04:05", "2024-01-02 03:04:05.5+01:00", "20240102 030405", "2024/01/02 3:04:05|5",
    "2024-01-02T03:04:05 UTC", " yes", "\u0661\u0662", "\uff11\uff12", "1\u0662.5", "\u00a01", "\x1c1", "\u200b1",
    "1\x00", "\ufeff{}", "ſ", "İ", "\u212a", "\U0001f600", "é", '{"a": "é", "b": [1, 2]}', ' {"a": 1} ', '"\\ud800"',
    '"\\u00e9"', "1" * 5000, "0x" + "f" * 300, "[" * 200 + "]" * 200, "[" * 2000, "A" * 40_000, "0." + "1" * 60,
    "9" * 38 + "." + "9" * 10, "\ufdd0" + "1",
]  # fmt: skip


def joined(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map("".join)


def digits(length: int, limit: int) -> st.SearchStrategy[str]:
    return st.integers(0, limit).map(lambda number: str(number).zfill(length))


days = joined(digits(4, 9999), st.just("-"), digits(2, 13), st.just("-"), digits(2, 32))
clocks = joined(
    digits(2, 25),
    st.just(":"),
    digits(2, 60),
    st.just("")
    | joined(st.just(":"), digits(2, 60), st.just("") | st.text("0123456789", max_size=9).map(".{}".format)),
)
offsets = st.sampled_from(["", "", "Z", "+00:00", "-00:30", "+14:00", "-18:00", "+19:00", "+0230", "+02"])
moments = joined(days, st.sampled_from("T "), clocks, offsets)
numerals = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.integers(-(10**12), 10**12).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**31), max_value=10**31).map(str),
    st.decimals(-1000, 1000, places=4).map(str),
    st.floats().map(str),
)


@st.composite
def altered(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> str:
    text = draw(texts)
    start = draw(st.integers(0, len(text)))
    return (
        text[:start] + draw(st.text('0123456789-:TZ W+./,|_exnaisfNI٢１ \n{}[]"=tru', max_size=1)) + text[start + 1 :]
    )


plain_texts = st.one_of(days, moments, clocks, numerals)
texts = st.one_of(
    plain_texts,
    altered(plain_texts | st.sampled_from([text for text in SPECIAL_TEXTS if len(text) < 100])),
    st.text(st.characters(codec="utf-8"), max_size=12),
    st.binary(max_size=9).map(bytes.hex).map("0x{}".format),
    st.text("ABab09+/=", max_size=8),
)

short_texts = st.text(st.characters(codec="utf-8"), max_size=4)
json_scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | short_texts
)
json_values = st.recursive(
    json_scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(short_texts, inner, max_size=3),
    max_leaves=5,
).filter(lambda value: isinstance(value, dict | list))

integers = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.integers(-(10**12), 10**12), st.integers(-70000, 70000), st.integers(-300, 300)
)
SPECIAL_INTEGERS = [
    *(0, 1, -1, 127, 128, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)),
    *(253402300799, 253402300800, -62135596800, -62135596801, 10**17, -(10**17)),
]
SPECIAL_DOUBLES = [
    *(0.0, -0.0, 0.1, 0.3, -2.5, 1e-3, 9.999e-4, 1e-4, 1e-5, 1e-7, 5e-324, 1.5e300, 1.7976931348623157e308, 2e-3, 2e23),
    *(1e6, 9999999.0, 1e7, 12345678.91, 1.2e7, 1e14, 1e15, 123456789012345.6, 1e16, 1e17, 1e22, 123456789012345680.0),
    *(float("nan"), float("inf"), -float("inf"), 2.0**53, 2.0**63, -(2.0**63), 2.0**63 - 1024, 1.005, 0.5, 1.5),
    *(253402300799.9999999, 253402300799.5, 253402300800.0, 5e-7, 15e-7, -5e-7, -0.5, -62135596800.0, -62135596800.5),
    *(1700000000.123456, 1700000000.1234565, -1.0000005, 1e-39, 1e37, 1e38, 99.995),
]
doubles = st.one_of(
    st.floats(),
    st.floats(-1e12, 1e12),
    st.integers(-(10**10), 10**10).map(lambda number: number / 1000),
    st.integers(-(10**15), 10**15).map(float),
    st.integers(-(10**16), 10**16).map(lambda number: number / 10**9),
)
wides = st.one_of(
    st.integers(-(10**40), 10**40), st.integers(2**63, 2**64), st.integers(-(10**45), 10**45), st.integers(-99, 99)
)
moments_of_day = st.datetimes()
days_alone, times_of_day = st.dates(), st.times()
DST_MOMENTS = [datetime(2024, 3, 10, 2, 30), datetime(2024, 11, 3, 5, 30), datetime(2024, 11, 3, 6, 30, 0, 1)]
EDGES = [datetime.min, datetime.max, EPOCH, datetime(1582, 10, 10, 12), datetime(1969, 12, 31, 23, 59, 59, 999999)]


@cache
def decimals(precision: int, scale: int) -> tuple[T.DataType, list[Decimal]]:
    """Return decimals of a type of Spark's, as it holds them."""
    limit = 10**precision - 1
    numbers = st.one_of(st.integers(-limit, limit), st.integers(-(10**6), 10**6), st.integers(-99, 99)).filter(
        lambda number: abs(number) <= limit
    )
    exact = Context(prec=60)
    whole = [sign * 10**scale * each for each in (0, 1, 128, 2**31) for sign in (1, -1)]
    found = [*made_up(numbers), *(number for number in whole if abs(number) <= limit)]
    return T.DecimalType(precision, scale), [Decimal(number).scaleb(-scale, exact) for number in found]


def frame_of(spark, values: list[Any], arrow_type: pa.DataType):
    return spark.createDataFrame(pa.table({"value": pa.array(values, arrow_type)}))


def stored_columns(frame, kind: DataType, *, naive: bool = False) -> dict[str, list[Any]]:
    """Coerce the column ``value`` to all targets, in one job."""
    value = F.col("value")
    done = frame.select(*(survivor(value, retype(kind, to, naive=naive)).alias(to.name) for to in TARGETS))
    assert [field.dataType for field in done.schema] == [stored_type(to) for to in TARGETS]
    return {name: comparable(column) for name, column in zip(done.columns, done.toArrow().columns, strict=True)}


def differences(frame, values: list[Any], kind: DataType, *, naive: bool = False) -> list[str]:
    """Return where Spark's outcome is not that of a single value."""
    found = []
    outcomes = stored_columns(frame, kind, naive=naive)
    for to in TARGETS:
        for value, ours in zip(values, outcomes[to.name], strict=True):
            right = expected(value, kind, to)
            if type(ours) is not type(right) or ours != right:
                found.append(f"{value!r:.80} to {to.name}: {ours!r:.80}, not {right!r:.80}")
    return found


@pytest.fixture(scope="module", params=[("UTC", "true"), ("America/New_York", "false")], ids=["plain", "odd"])
def session(spark, request):
    """The session with settings on which nothing may depend: the time zone, and whether Spark is as strict as SQL."""
    allow_all_types(spark)
    settings = dict(zip(("spark.sql.session.timeZone", "spark.sql.ansi.enabled"), request.param, strict=True))
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


# --- tests ---


def test_texts_are_coerced_as_single_ones_are(session):
    values = [*SPECIAL_TEXTS, None, *made_up(texts)]
    assert differences(frame_of(session, values, pa.string()), values, DataType.TEXT) == []


def test_integers_are_coerced_as_single_ones_are(session):
    values = [*SPECIAL_INTEGERS, None, *made_up(integers)]
    assert differences(frame_of(session, values, pa.int64()), values, DataType.BIGINT) == []


def test_doubles_are_coerced_as_single_ones_are(session):
    values = [*SPECIAL_DOUBLES, None, *made_up(doubles)]
    assert differences(frame_of(session, values, pa.float64()), values, DataType.DOUBLE) == []


def test_integers_past_64_bits_are_coerced_as_single_ones_are(session):
    numbers = [0, 2**63, 10**38 - 1, 10**38, -(10**38), 10**400, *made_up(wides)]
    frame = frame_of(session, [*map(str, numbers), None], pa.string())
    assert differences(frame, [*map(Decimal, numbers), None], DataType.WEI) == []


@pytest.mark.parametrize("digits", [(38, 9), (10, 2), (38, 38)])
def test_decimals_of_any_type_are_coerced_as_single_ones_are(session, digits):
    spark_type, values = decimals(*digits)
    frame = frame_of(session, [*values, None], pa.decimal128(*digits))
    assert frame.schema["value"].dataType == spark_type
    assert differences(frame, [*values, None], DataType.DECIMAL) == []


def test_booleans_are_coerced_as_single_ones_are(session):
    values = [True, False, None]
    assert differences(frame_of(session, values, pa.bool_()), values, DataType.BOOL) == []


def test_bytes_are_coerced_as_single_ones_are(session):
    values = [b"", b"x", bytes(range(256)) * 3, b"\xff", None]
    assert differences(frame_of(session, values, pa.binary()), values, DataType.BINARY) == []


def test_timestamps_are_coerced_as_single_ones_are(session):
    naive = [*EDGES, *DST_MOMENTS, *made_up(moments_of_day)]
    aware = [moment.replace(tzinfo=UTC) for moment in naive]
    counted = [*map(micros, naive), None]
    frame = frame_of(session, counted, pa.timestamp("us", "UTC"))
    assert differences(frame, [*aware, None], DataType.TIMESTAMP) == []


def test_timestamps_without_zone_count_as_utc(session, tmp_path):
    values = [*EDGES, *DST_MOMENTS, *made_up(moments_of_day)]
    counted = pa.array([*map(micros, values), None], pa.timestamp("us"))
    pq.write_table(pa.table({"value": counted}), tmp_path / "naive.parquet")
    frame = session.read.parquet(str(tmp_path / "naive.parquet"))
    assert frame.schema["value"].dataType == T.TimestampNTZType()
    assert differences(frame, [*values, None], DataType.TIMESTAMP, naive=True) == []


def test_dates_are_coerced_as_single_ones_are(session):
    values = [date.min, date.max, date(1970, 1, 1), date(1582, 10, 10), None, *made_up(days_alone)]
    assert differences(frame_of(session, values, pa.date32()), values, DataType.DATE) == []


def test_times_of_day_are_coerced_as_single_ones_are(session):
    values = [time.min, time.max, time(3, 4, 5), time(3, 4, 5, 500000), None, *made_up(times_of_day)]
    assert differences(frame_of(session, values, pa.time64("us")), values, DataType.TIME) == []


def test_objects_and_lists_are_kept_and_become_texts_as_single_ones_do(session):
    values = [{}, [], {"b": 1, "a": 1.0}, [1e16, 1e-7, 2**64, "é\n"], None, *made_up(json_values)]
    written = [None if value is None else json.dumps(value, separators=(",", ":")) for value in values]
    outcomes = stored_columns(frame_of(session, written, pa.string()), DataType.JSON)
    assert outcomes.pop("json") == written
    assert outcomes.pop("text") == [expected(value, DataType.JSON, TARGETS[0]) for value in values]
    assert not [name for name, column in outcomes.items() if any(value is not None for value in column)]


def test_a_text_that_is_no_unicode_is_no_value_of_another_type(session):
    frame = frame_of(session, [b"1\xff", b"\xff", b"2024-01-02\xff", b'{"a":"\xff"}'], pa.binary())
    frame = frame.select(F.col("value").cast("string").alias("value"))
    others = [to for to in TARGETS if to.data_type is not DataType.TEXT]
    done = frame.select(
        *(survivor(F.col("value"), retype(DataType.TEXT, to)).alias(to.name) for to in others)
    ).toArrow()
    assert [set(column.to_pylist()) for column in done.columns] == [{None}] * len(others)


def test_a_column_without_type_has_no_stored_type():
    with pytest.raises(ValueError, match="`a` has no data type"):
        stored_type(Column("a"))


def test_what_workers_are_sent_needs_no_schemactl(spark, tmp_path: Path):
    udf: Any = by_python(retype(DataType.TEXT, Column("v", {"data_type": "timestamp"})))
    (tmp_path / "sent").write_bytes(cloudpickle.dumps(udf.func))
    script = (
        "import pickle, sys; sys.modules['schemactl'] = None; import pyarrow as pa;"
        "print(pickle.load(open('sent', 'rb'))(pa.array(['2024-W05', 'x'])).to_pylist())"
    )
    done = subprocess.run([sys.executable, "-I", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("['2024-01-29T00:00:00Z', None]\n", "")

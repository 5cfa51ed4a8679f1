"""Columns of dates, times and instants: the patterns of Arc's documentation, and the same values as one by one."""

from __future__ import annotations

import random
import re
from typing import Any

import pyarrow as pa
import pytest
from typed_texts import micros_of, values

from schemactl.arc.date_columns import DateColumn, QuickPattern
from schemactl.arc.date_patterns import is_strict
from schemactl.arc.date_texts import DatePattern, days_of, instant_of
from schemactl.arc.fields import Date, Timestamp
from schemactl.arc.zones import find_zone


def instants(texts: list[str], formatters: list[str], zone: str = "UTC", **field: Any) -> list[str | None]:
    typed_values = values(texts, type="timestamp", formatters=formatters, timezoneId=zone, **field)
    return [None if value is None else value.isoformat() for value in typed_values]


def test_patterns_of_instants_are_tried_in_order():
    formatters = ["dd/MM/uuuu HH:mm:ssZ", "dd/MM/uuuu HH:mm:ss", "d/MM/uuuu H:mm"]
    texts = ["01/02/2020 03:04:05+0100", "01/02/2020 03:04:05", "1/02/2020 3:04", "32/02/2020 03:04:05", ""]
    assert instants(texts, formatters, "+1000") == [
        "2020-02-01T02:04:05+00:00",
        "2020-01-31T17:04:05+00:00",
        "2020-01-31T17:04:00+00:00",
        None,
        None,
    ]


def test_dates_become_instants_by_a_stated_time():
    time = {"hour": 23, "minute": 59, "second": 59, "nano": 0}
    assert instants(["31/12/2019"], ["dd/MM/uuuu"], "Australia/Sydney", time=time) == ["2019-12-31T12:59:59+00:00"]


def test_epochs_are_instants():
    texts = ["1527727035", "1527727035456", "-1", "152772703"]
    expected = ["2018-05-31T00:37:15+00:00", "2018-05-31T00:37:15.456000+00:00", None, None]
    assert instants(texts, ["s" * 10, "s" * 13]) == expected
    assert instants(texts[:1], ["s" * 10], "GMT") == [None]


def test_clocks_that_are_moved_have_java_s_instants():
    pattern = ["uuuu-MM-dd HH:mm"]
    texts = ["2021-03-28 02:30", "2021-10-31 02:30", "2021-07-01 00:00"]
    expected = ["2021-03-28T01:30:00+00:00", "2021-10-31T00:30:00+00:00", "2021-06-30T22:00:00+00:00"]
    assert instants(texts, pattern, "Europe/Paris") == expected
    zone = find_zone("Europe/Paris")
    assert zone is not None
    assert instant_of(days_of(2021, 3, 28), 9_000 * 10**9, zone) == micros_of("2021-03-28T01:30:00Z") * 1000


def test_zones_are_known_by_name():
    zoned = instants(
        ["2017-10-01 12:00 Pacific Daylight Time", "2017-10-01 12:00 europe/paris", "2017-10-01 12:00 CST"],
        ["uuuu-MM-dd HH:mm zzzz", "uuuu-MM-dd HH:mm VV", "uuuu-MM-dd HH:mm z"],
    )
    assert zoned == ["2017-10-01T19:00:00+00:00", "2017-10-01T10:00:00+00:00", "2017-10-01T17:00:00+00:00"]


def dates(texts: list[str], *formatters: str, **field: Any) -> list[str | None]:
    typed_values = values(texts, type="date", formatters=list(formatters), **field)
    return [None if value is None else value.isoformat() for value in typed_values]


def test_a_year_of_the_era_forgives_days_past_the_end_of_a_month():
    assert dates(["2001-02-29", "2001-02-32"], "yyyy-MM-dd") == ["2001-02-28", None]
    assert dates(["2001-02-29", "2000-02-29"], "uuuu-MM-dd") == [None, "2000-02-29"]
    assert dates(["2001-02-29"], "uuuu-MM-dd", "dd/MM/yyyy") == ["2001-02-28"]


def test_names_match_in_any_case_unless_case_matters():
    assert dates(["31MAY2020", "31may2020"], "ddMMMuuuu") == ["2020-05-31", "2020-05-31"]
    assert dates(["31MAY2020", "31May2020"], "ddMMMuuuu", caseSensitive=True) == [None, "2020-05-31"]


def test_parts_that_say_another_date_are_an_error():
    assert dates(["Fri, 01 Jan 2021", "Sat, 01 Jan 2021"], "EEE, dd MMM uuuu") == ["2021-01-01", None]


def test_zones_without_their_offset_are_named_as_others():
    texts = ["2017-10-01 12:00 PT", "2017-10-01 12:00 Pacific Time"]
    zoned = instants(texts, ["uuuu-MM-dd HH:mm v", "uuuu-MM-dd HH:mm vvvv"])
    assert zoned == ["2017-10-01T19:00:00+00:00"] * 2


def test_weeks_begin_on_sunday():
    assert dates(["2021-W01-1", "2021-W01-6"], "YYYY-'W'ww-e") == ["2020-12-27", "2021-01-01"]


PIECES = (
    "0", "1", "9", "12", "31", "2020", "-", "+", "/", ":", "T", " ", "Z", ".", "Feb", "feb", "000", "24", "é", "\n",
)  # fmt: skip
PATTERNS = [
    "uuuu-MM-dd", "yyyy-MM-dd", "dd/MM/yy", "uuuuMMdd", "dd MMM uuuu", "uuuu-MM-dd'T'HH:mm:ssXXX", "uuuu-MM-dd HH",
    "uuuu-MM-dd HH:mm:ss.SSS", "yyyy-MM-dd HH:mmZ", "ddMMuuuu", "uuuu-MM-dd HH:mmX", "uuuu-MM-dd HH:mmxx",
]  # fmt: skip


def near(pattern: str, chance: random.Random) -> str:
    """Return a text that may be of a pattern."""
    samples = {
        "uuuu": ["2020", "2021", "0000", "-0001", "+12345", "1", "-0000", "+2020"], "yyyy": ["2020", "0001", "0000"],
        "yy": ["20"], "MMM": ["Feb", "feb", "Xyz", "Sep"], "MM": ["02", "12", "13", "00", "2"],
        "dd": ["29", "30", "31", "32", "01", "00"], "HH": ["00", "23", "24", "25"], "mm": ["00", "59", "60"],
        "ss": ["00", "59", "60"], "SSS": ["000", "999", "9"], "XXX": ["Z", "z", "+01:00", "-18:00", "+19:00", "+0100"],
        "xx": ["+0000", "Z", "-0130"], "X": ["Z", "+01", "+0130", "+01:30"], "Z": ["+0000", "+0100", "Z", "-2360"],
    }  # fmt: skip
    words = re.findall(r"'T'|uuuu|yyyy|yy|MMM|MM|dd|HH|mm|ss|SSS|XXX|xx|X|Z|.", pattern)
    text = "".join(chance.choice(samples[word]) if word in samples else word.strip("'") for word in words)
    position = chance.randrange(len(text) + 1)
    changed = text[:position] + chance.choice(PIECES) + text[position + chance.randrange(2) :]
    return text if chance.random() < 0.7 else changed


@pytest.mark.parametrize("pattern", PATTERNS)
def test_columns_of_dates_are_what_their_texts_are_one_by_one(pattern: str):
    chance = random.Random(pattern)
    texts = pa.array([near(pattern, chance) for _ in range(1000)])
    kinds: list[Date | Timestamp] = [Date((pattern,)), Date((pattern,), case_sensitive=True)]
    kinds += [Timestamp((pattern,), zone) for zone in ("UTC", "America/New_York", "-03:30", "Nowhere")]
    for kind in kinds:
        column = DateColumn(kind)
        parser = DatePattern(pattern, is_case_sensitive=kind.case_sensitive, is_strict=is_strict((pattern,)))
        assert QuickPattern.of(parser) is not None
        together = column.convert(texts)
        whole = pa.int32() if isinstance(kind, Date) else pa.int64()
        one_by_one = [column.parse(text, parser) for text in texts.to_pylist()]
        pairs = zip(together.cast(whole).to_pylist(), one_by_one, strict=True)
        assert [(text, *pair) for text, pair in zip(texts.to_pylist(), pairs, strict=True) if len({*pair}) > 1] == []

"""Single texts by Java's patterns of dates, and the calendar of all of Java's years."""

from __future__ import annotations

import pytest

from schemactl.arc.date_texts import DatePattern, civil, days_of, iso_time, week_of_year, week_year


@pytest.mark.parametrize(
    ("pattern", "text", "moment"),
    [
        ("h:mm B", "8:30 in the morning", "08:30:00"),
        ("h:mm B", "8:30 in the Evening", "20:30:00"),
        ("h:mm B", "12:00 midnight", "00:00:00"),
        ("h:mm B", "3:00 in the evening", "03:00:00"),
        ("h:mm BBBBB", "12:00 n", "12:00:00"),
        ("h:mm BBBBB", "12:00 noon", None),
        ("HH:mm BBBB", "13:00 in the afternoon", "13:00:00"),
        ("HH:mm BBBB", "13:00 in the morning", None),
        ("HH:mm B", "05:59 at night", "05:59:00"),
        ("HH:mm:ss.SSS B", "13:00:00.000 in the morning", "13:00:00"),
        ("B", "at night", "01:30:00"),
        ("B", "night", None),
        ("a", "PM", "18:00:00"),
        ("hh", "08", None),
        ("HH ss", "08 99", None),
    ],
)
def test_parts_of_the_day_are_java_s(pattern: str, text: str, moment: str | None):
    parsed = DatePattern(pattern, is_case_sensitive=False, is_strict=False).parse(text)
    nano = None if parsed is None else parsed.nano
    assert (None if nano is None else iso_time(nano)) == moment


def test_parts_of_the_day_alone_are_no_time_where_patterns_are_strict():
    for pattern, text in (("B", "noon"), ("a", "PM"), ("HH ss", "25 99")):
        parsed = DatePattern(pattern, is_case_sensitive=False, is_strict=True).parse(text)
        assert parsed is not None
        assert parsed.nano is None


def test_weeks_of_the_year_begin_on_sunday():
    assert [(week_year(day), week_of_year(day)) for day in (days_of(2020, 12, 26), days_of(2020, 12, 27))] == [
        (2020, 52),
        (2021, 1),
    ]


@pytest.mark.parametrize("day", [-720_000, -1, 0, 11_016, 2_932_896, 10**8])
def test_days_and_dates_are_the_same(day: int):
    assert days_of(*civil(day)) == day

"""What each detector takes; tests/parity/test_detectors_parity.py holds them to dlt."""

from __future__ import annotations

import time

import pytest

from schemactl.errors import InputError
from schemactl.schema.detectors import DETECTORS
from schemactl.schema.detectors.timestamp import window
from schemactl.schema.types import DataType

YEAR_SECONDS = 365 * 24 * 60 * 60


def test_all_detections_of_dlt_are_known():
    assert set(DETECTORS) >= {
        "timestamp",
        "iso_timestamp",
        "iso_date",
        "large_integer",
        "hexbytes_to_text",
        "wei_to_double",
    }


def test_an_unknown_detection_is_reported_with_the_nearest_name():
    with pytest.raises(InputError, match="`iso_timestmp`") as caught:
        DETECTORS["iso_timestmp"]

    assert "iso_timestamp" in caught.value.hint


def test_the_window_of_timestamps_is_five_years_around_now_and_stays():
    first, last = window()

    assert first == pytest.approx(time.time() - 5 * YEAR_SECONDS, abs=24 * 3600)
    assert last == pytest.approx(time.time() + 5 * YEAR_SECONDS, abs=24 * 3600)
    assert window() == (first, last)


def test_a_number_inside_the_window_is_a_timestamp_and_no_other():
    detect = DETECTORS["timestamp"].detect
    first, last = window()

    assert [detect(value) for value in (first, int(first) + 1, last)] == [DataType.TIMESTAMP] * 3
    outside = (first - 1, last + 1, int(last) * 1000, 0, True, float("nan"), str(int(first) + 1), None)
    assert [detect(value) for value in outside] == [None] * len(outside)


@pytest.mark.parametrize(
    ("value", "timestamp", "day"),
    [
        ("2024-01-02T03:04:05Z", DataType.TIMESTAMP, None),
        ("2024-01-02 03", DataType.TIMESTAMP, None),
        ("2024/01/02 3:04", DataType.TIMESTAMP, None),
        ("2024-01-02", None, DataType.DATE),
        ("2024-W05", None, DataType.DATE),
        ("1234", None, DataType.DATE),
        ("0000", None, None),
        ("03:04:05", None, None),
        ("1700000000", None, None),
        ("", None, None),
        (20240102, None, None),
        (None, None, None),
    ],
)
def test_texts_are_dates_or_timestamps_but_never_both(value, timestamp, day):
    assert DETECTORS["iso_timestamp"].detect(value) is timestamp
    assert DETECTORS["iso_date"].detect(value) is day


@pytest.mark.parametrize("text", ["0", "-1.5", "1e3", "1E-5", " 2 ", ".5", "-.5", ".5e3", "1.", "-1.", "1.e5"])
def test_numbers_with_nothing_on_one_side_of_their_point_are_numbers_as_well(text):
    assert DETECTORS["number"].detect(text) is DataType.DOUBLE


@pytest.mark.parametrize("text", [
    "", ".", "-", "-.", ".e5", "e5", "1e", "007", "01.5", "+5", "+.5", "0x1F", "1_000", "1e400", "nan", "inf", "-inf",
    "1.2.",
])  # fmt: skip
def test_codes_and_words_are_not_numbers(text):
    assert DETECTORS["number"].detect(text) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2**63 - 1, None),
        (2**63, DataType.WEI),
        (578960446186580977117854925043439539266, DataType.WEI),
        (578960446186580977117854925043439539267, DataType.TEXT),
        (-(2**200), None),
        (True, None),
        (1e300, None),
    ],
)
def test_integers_beyond_64_bits_are_wei_and_beyond_wei_texts(value, expected):
    assert DETECTORS["large_integer"].detect(value) is expected


@pytest.mark.parametrize("name", ["hexbytes_to_text", "wei_to_double"])
@pytest.mark.parametrize("value", [b"0x", "0x12", 12, 1.5, None, {}, []])
def test_values_that_need_no_python_class_are_left_alone(name, value):
    assert DETECTORS[name].detect(value) is None

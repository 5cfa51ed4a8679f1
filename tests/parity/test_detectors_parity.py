"""Each detector says of every value what dlt's detection of the same name says; dlt itself is run."""

from __future__ import annotations

from decimal import Decimal
from typing import get_args

import pytest
from dlt.common.libs.hexbytes import HexBytes
from dlt.common.schema import detections
from dlt.common.schema.typing import TTypeDetections
from dlt.common.wei import Wei
from hypothesis import given, settings
from hypothesis import strategies as st
from test_coercion_parity import CURATED, UNUSABLE, hostile_texts, is_past_calendar, outcome, typed_values

from schemactl.schema.detectors import DETECTORS
from schemactl.schema.detectors.timestamp import window

NAMES = get_args(TTypeDetections)

SECONDS_OF_SLACK = 3600
"""How far dlt's window, fixed when dlt is imported, may lie from ours."""


def answers(value: object) -> tuple[dict[str, str | None], dict[str, str | None]]:
    """Return dlt's answers about a value and ours, by name."""
    theirs = {name: getattr(detections, f"is_{name}")(type(value), value) for name in NAMES}
    ours = {name: DETECTORS[name].detect(value) for name in NAMES}
    return theirs, ours


def is_unusable_timestamp(value: object) -> bool:
    """Return whether dlt calls a text a timestamp that it cannot use.

    Its offset is 24 hours or more, or takes it out of the years 1 to 9999. We mean to differ there, as in coercion:
    such a text stays a text.
    """
    from dlt.common.data_types import coerce_value

    if not isinstance(value, str):
        return False
    theirs = outcome(lambda: coerce_value("timestamp", "text", value))
    return theirs == UNUSABLE or is_past_calendar(theirs)


def near_the_edge(value: object) -> bool:
    if not isinstance(value, int | float):
        return False
    return any(edge - SECONDS_OF_SLACK < value < edge + SECONDS_OF_SLACK for edge in window())


def test_we_know_the_detections_that_dlt_knows():
    assert set(DETECTORS) >= set(NAMES)


def test_our_window_of_timestamps_is_that_of_dlt():
    theirs = (
        detections._NOW_TS - detections._FLOAT_TS_RANGE,
        detections._NOW_TS + detections._FLOAT_TS_RANGE,
    )

    assert window() == pytest.approx(theirs, abs=SECONDS_OF_SLACK)


@pytest.mark.parametrize("text", CURATED)
def test_detectors_agree_on_a_text_near_to_another_type(text):
    theirs, ours = answers(text)

    assert ours == theirs or (is_unusable_timestamp(text) and ours["iso_timestamp"] is None)


@settings(max_examples=500)
@given(hostile_texts)
def test_detectors_agree_on_any_text(text):
    theirs, ours = answers(text)

    assert ours == theirs or (is_unusable_timestamp(text) and ours["iso_timestamp"] is None)


@settings(max_examples=400)
@given(
    st.one_of(
        typed_values.map(lambda typed_value: typed_value[1]),
        st.integers(1_300_000_000, 2_100_000_000) | st.floats(1.3e9, 2.1e9),
        st.sampled_from([2**63 - 1, 2**63, -(2**64)]),
        st.integers(578960446186580977117854925043439539264, 578960446186580977117854925043439539268),
    )
)
def test_detectors_agree_on_values_of_other_types(value):
    if not near_the_edge(value):
        theirs, ours = answers(value)
        assert ours == theirs


@pytest.mark.parametrize(
    "value",
    [
        HexBytes("0x12"),
        type("Address", (HexBytes,), {})("0x12"),
        Wei("1.5"),
        type("Gwei", (Wei,), {})("1"),
        b"\x12",
        Decimal("1.5"),
    ],
)
def test_detectors_agree_on_the_classes_that_only_python_sources_make(value):
    theirs, ours = answers(value)

    assert ours == theirs

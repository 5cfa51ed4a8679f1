"""How a sample is asked for."""

from __future__ import annotations

import pytest

from schemactl.errors import InputError
from schemactl.inference.sample import Sample, parse_sample


@pytest.mark.parametrize(
    ("text", "sample"),
    [
        ("full", Sample()),
        ("10%", Sample(share=0.1)),
        ("0.5 %", Sample(share=0.005)),
        ("100%", Sample(share=1.0)),
        ("100000", Sample(records=100_000)),
    ],
)
def test_samples(text, sample):
    assert parse_sample(text) == sample


@pytest.mark.parametrize("text", ["", "0", "0%", "101%", "-5", "ten", "10 percent", "1e3", "%"])
def test_what_is_no_sample_is_reported(text):
    with pytest.raises(InputError, match="is not a sample") as caught:
        parse_sample(text)
    assert "10%" in caught.value.hint


@pytest.mark.parametrize(
    ("sample", "total", "share"),
    [
        (Sample(), 7, 1.0),
        (Sample(share=0.1), 7, 0.1),
        (Sample(records=10), 100, 0.1),
        (Sample(records=10), 5, 1.0),
        (Sample(records=10), 0, 1.0),
    ],
)
def test_the_share_of_all_records(sample, total, share):
    assert sample.share_of(total) == share
    assert sample.is_full is (sample == Sample())

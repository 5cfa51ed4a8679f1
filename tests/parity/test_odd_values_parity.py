"""Single values that dlt and schemactl load differently on purpose (docs/differences.md)."""

from __future__ import annotations

import math

import pytest
from dlt.pipeline.exceptions import PipelineStepFailed
from loaded_tables import ByDlt, BySchemactl

FOUND = [
    {"nr": 1, "note": "a\u0000b", "plain": 1.5, "mixed": 1.5},
    {"nr": 2, "note": "", "plain": -0.0, "mixed": -0.0},
    {"nr": 3, "note": "", "plain": 1.5, "mixed": {"x": 1}},
]


def test_nul_characters_and_signs_of_zero(local_engine, tmp_path):
    theirs, ours = ByDlt(tmp_path / "dlt"), BySchemactl(local_engine, tmp_path / "ours")
    theirs.load(FOUND)

    ours.load(FOUND)

    (of_dlt, of_ours) = ({row["nr"]: row for row in each.loaded().rows["data"]} for each in (theirs, ours))
    assert of_dlt[1]["note"] == "ab", "dlt drops NUL"
    assert of_ours[1]["note"] == "a\u0000b"
    signs = [[math.copysign(1, each[2][name]) for name in ("plain", "mixed")] for each in (of_dlt, of_ours)]
    assert signs[0] == [1, 1], "DuckDB reads the `-0.0` of dlt's SQL as a decimal"
    assert signs[1] == [-1, -1]


def test_texts_of_special_numbers_beside_numbers(local_engine, tmp_path):
    found = [{"nr": 1, "share": 1.5}, {"nr": 2, "share": "NaN"}, {"nr": 3, "share": "-Infinity"}]
    with pytest.raises(PipelineStepFailed, match="nan"):
        ByDlt(tmp_path / "dlt").load(found)
    ours = BySchemactl(local_engine, tmp_path / "ours")

    ours.load(found)

    shares = {row["nr"]: row["share"] for row in ours.loaded().rows["data"]}
    assert shares[1] == 1.5
    assert math.isnan(shares[2])
    assert shares[3] == -math.inf

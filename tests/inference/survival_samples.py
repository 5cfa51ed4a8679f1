"""Types and values of every sort, and evidence of documents."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hypothesis import strategies as st

from schemactl.inference.evidence import Position, observe
from schemactl.schema.full_types import FullType
from schemactl.schema.types import DataType

TARGETS = (
    *(FullType(data_type) for data_type in DataType if data_type not in (DataType.DECIMAL, DataType.WEI)),
    *(FullType(DataType.TEXT, length) for length in (1, 4, 5, 8, 20, 24)),
    *(FullType(DataType.BIGINT, bits) for bits in (8, 16, 32, 54, 63, 64, 128)),
    *(FullType(DataType.DECIMAL, *size) for size in ((38, 9), (10, 2), (3, 3), (4, 0))),
    FullType(DataType.WEI, None, 0), FullType(DataType.WEI, 10, 2),
    FullType(DataType.BINARY, 1), FullType(DataType.BINARY, 5),
    *(FullType(data_type, digits) for data_type in (DataType.TIMESTAMP, DataType.TIME) for digits in (0, 3, 6)),
)  # fmt: skip

TEXTS = st.one_of(
    st.text("0123456789abcdefxX+-. eE_T:Z=", max_size=14),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.decimals(-1000, 1000, places=3).map(str),
    st.integers(-(2**70), 2**70).map(str),
    st.integers(0, 2**70).map(hex),
    st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)).map(lambda moment: moment.isoformat() + "Z"),
    st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)).map(lambda moment: moment.isoformat()[:10] + "T00:00:00Z"),
    st.dates().map(str),
    st.times().map(str),
    st.sampled_from(["true", "no", "[1]", "{}", "NaN", "inf", "", "word", "two words"]),
    st.text(st.characters(codec="utf-8"), max_size=6),
)
NUMBERS = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.integers(-300, 300),
    st.integers(-2000, 20000).map(lambda days: days * 86400),
    st.floats(allow_nan=False, allow_infinity=False),
    st.decimals(-1000, 1000, places=3).map(float),
    st.integers(-(10**6), 10**6).map(float),
)
SCALARS = st.one_of(TEXTS, NUMBERS, st.booleans())


def evidence_of(*documents: Any) -> Any:
    return observe((Position("a.jsonl", number), document) for number, document in enumerate(documents, start=1))

"""JSON documents that are hard to read: odd keys, numbers and texts, with the strategies that combine them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from schemactl.inference.classes import is_row_key

HARD_KEYS = (
    "", " ", "\t", "a", "A", "Id", "id", "ID", "a.b", "a b", "it's", 'say "hi"', "'\"", "`", "``", "back`tick", "a`: x",
    "\\", "a\\'b", "new\nline", "🚀", "größe", "[0]", "[*]", "$", "$.a", "*", "a:b", "a: b", "a, b", ",", ">",
    "<", "OBJECT<a", "ARRAY<STRING>", "VARIANT", "VOID", "_dlt_id", "_dlt_list_idx", "Dlt-Id", "\u0000",
    "\u200b", "e\u0301", "k" * 300, "document", "file", "node", "{x}", "-- c", "/* c */", "%s", "${x}",
    "${spark.app.name}",
)  # fmt: skip
HARD_NUMBERS = (
    "0", "1", "-1", "1.0", "1e3", "-0.0", "-0", "1E300", "1e-400", "0.1", "2.50", "1700000000", "1700000000.5",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "18446744073709551615", "18446744073709551616", "9223372036854775808.0", "9223372036854775807.0", "9" * 38,
    "9" * 39, "-" + "9" * 38, "9" * 80, "123456789012345678.123456789012345678", "253402300800", "-62135596801",
    "1e18", "1e19", "1e20", "12345678901234567890.5",
)  # fmt: skip
HARD_TEXTS = (
    "", " ", "plain", "1", "01", "1.5", "1e5", "true", "No", "null", "NaN", "2024-02-29", "2024-02-30",
    "2024-05-06T07:08:09Z", "10:30", "[1]", '{"a": 1}', "[1", "deadbeef", "aGVsbG8=", "٣", "🏳️‍🌈", "e\u0301",
    "\u0000", "line\nbreak", "\u2028", "x" * 300, "\0null", "\ufdd0", "\ufdd0-12",
)  # fmt: skip


class Number(float):
    """A number that is written as it was typed."""

    def __new__(cls, text: str) -> Number:
        made = super().__new__(cls, text)
        made.text = text
        return made


def write_json(value: Any) -> str:
    """Return JSON, numbers as they were typed and equal keys kept: objects are lists of pairs behind a mark."""
    match value:
        case Number():
            return value.text
        case tuple():
            return "{" + ",".join(f"{json.dumps(key)}:{write_json(item)}" for key, item in value) + "}"
        case list():
            return "[" + ",".join(map(write_json, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)


keys = st.sampled_from(HARD_KEYS) | st.sampled_from(["a", "b", "c"]) | st.text(max_size=5)
scalars = (
    st.none()
    | st.booleans()
    | st.sampled_from(HARD_NUMBERS).map(Number)
    | st.integers(-(2**70), 2**70)
    | st.sampled_from(HARD_TEXTS)
    | st.text(max_size=8)
)


def fields(pairs: list[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
    """Leave out objects that stand for a row's key: nothing sensible does that, and we do not look into them."""
    return tuple((key, item) for key, item in pairs if not (is_row_key(key) and isinstance(item, tuple)))


values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.lists(st.tuples(keys, inner), max_size=5).map(fields),
    max_leaves=20,
)
records = st.lists(st.tuples(keys, values), max_size=6).map(fields)

"""Columns of numbers: Java's patterns, rounding, and the same values as one by one."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from typed_texts import field_of, typed, values

from schemactl.arc.number_columns import NumberColumn


@pytest.mark.parametrize(
    ("text", "formatter", "value"),
    [
        ("1,234.50-", "#,##0.###;#,##0.###-", "-1234.50"),
        ("(1,234.5)", "#,##0.###;(#,##0.###)", "-1234.50"),
        ("-1,234.5", "#,##0.###;(#,##0.###)", None),
        ("12.345", "0", "12.35"),
        ("12%", "#,##0%", "0.12"),
        ("$7", "¤0", "7"),
        ("1,234", "0", None),
        ("1e3", "0", None),
        ("1E3", "0", "1000"),
        ("1E99999999999", "0", None),
    ],
)
def test_patterns_of_numbers_say_how_they_are_written(text: str, formatter: str, value: str | None):
    (number,) = values([text], type="decimal", precision=10, scale=2, formatters=[formatter])
    assert number == (None if value is None else Decimal(value))


def test_decimals_are_rounded_half_up_and_have_to_fit():
    field = {"type": "decimal", "precision": 4, "scale": 2}
    assert values(["42.225", "-42.225", "99.995", "1e-900", "1e345345345"], **field) == [
        Decimal("42.23"), Decimal("-42.23"), None, Decimal("0.00"), None,
    ]  # fmt: skip


@pytest.mark.parametrize("formatters", [None, ["#,##0.###;-#,##0.###"], ["0"], ["#,##0.#;(#)"], ["(0)"]])
@pytest.mark.parametrize(
    "kind", [{"type": "integer"}, {"type": "long"}, {"type": "double"}, {"type": "decimal", "precision": 9, "scale": 3}]
)
def test_columns_of_numbers_are_what_their_texts_are_one_by_one(kind: dict[str, Any], formatters: list[str] | None):
    chance = random.Random(5)
    pieces = ["0", "1", "99", "123456789", ",", ".", "-", "+", "E", "e", "(", ")", " ", "NaN", "٤", "000"]
    texts = ["".join(chance.choices(pieces, k=chance.randint(1, 5))) for _ in range(1500)]
    field = {**kind, **({"formatters": formatters} if formatters is not None else {})}
    together = typed([*texts], **field)
    number_column = NumberColumn(field_of(**field).type)
    expected = pa.array([number_column.parse(text) for text in texts], together.values.type)
    assert list(map(repr, together.values.to_pylist())) == list(map(repr, expected.to_pylist()))

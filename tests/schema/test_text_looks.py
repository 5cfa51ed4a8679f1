"""Texts that look like dates, money, percentages and numbers with separators."""

from __future__ import annotations

import pytest

from schemactl.inference.classes import classify
from schemactl.schema.text_looks import LOOKS, find_look, look_of


@pytest.mark.parametrize(
    ("mark", "texts"),
    [
        ("date-day-first", ["31/12/2020", "13-01-2020", "31/1/2020 10:20", " 31/12/2020 "]),
        ("date-month-first", ["12/31/2020", "1-13-2020", "1/31/2020 1:02 PM"]),
        ("date-any-first", ["01/02/2020", "1/2/2020", "12-12-2020", "01/02/2020 03:04:05"]),
        ("date", ["31.12.2020", "1.2.2020", "2020/01/02", "5 Jan 2020", "05-jan-2020", "January 5, 2020"]),
        ("money-point", ["$1,234.50", "-$5.25", "($3.25)", "$-4.10", "12.50 €", "USD 1,234.00"]),
        ("money-comma", ["1.234,56 €", "12,50 €", "€ 12,5", "1 234,50 €", "CHF 1'234,50"]),
        ("money-any", ["$5", "12 €", "EUR 1,234", "£1"]),
        ("percent-point", ["12.5%", "-0.25 %"]),
        ("percent-comma", ["12,5%"]),
        ("percent-any", ["12%", "100 %"]),
        ("number-point", ["1,234.5", "1,234,567", "1'234.50", "(5.5)"]),
        ("number-comma", ["1.234,5", "12,5", "1 234,5", "1.234.567", "-12,25"]),
        ("number-any", ["1,234", "1 234", "5-", "(12)"]),
    ],
)
def test_texts_have_the_look_of_their_kind(mark: str, texts: list[str]):
    assert {find_look(text) for text in texts} == {f"like-{mark}"}
    assert {look_of(classify(text)) for text in texts} == {look_of(f"text:like-{mark}")}


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "ann", "12", "12.5", "2020-01-02", "2020-01-02T03:04:05Z", "007", "+4750539173", "030 123 456",
        "192.168.1.1", "1.2.3", "1,2,3",
        "12 mm", "$", "%", "32/13/2020", "00/01/2020", "13/13/2020", "1/2/20", "12,345,67", "$" * 70,
        "12%\n", "1,234\n", "5 Foo 2020", "12/2020", "a" * 100,
    ],
)  # fmt: skip
def test_other_texts_have_none(text: str):
    assert find_look(text) is None


def test_no_text_fits_two_kinds():
    import re

    texts = ["31/12/2020", "01/02/2020", "$1,234.50", "12,5 %", "1,234", "1.234,5", "1 234", "5-", "12 €", "1.2.2020"]
    for text in texts:
        assert len({mark for mark, pattern in LOOKS if re.search(pattern, text)}) == 1, text

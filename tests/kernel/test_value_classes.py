"""Values are classified a column at a time as ``classify`` does it one by one."""
# ruff: noqa: E501 - lists of texts read best in long lines

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.inference.classes import classify
from schemactl.kernel import value_classes
from schemactl.kernel.arrays import string_array
from schemactl.kernel.value_classes import (
    class_of_code,
    class_of_number,
    classes_of_numbers,
    codes_of_array,
    codes_of_columns,
)
from schemactl.schema.coercion import WEI_LIMIT, WEI_STOP

DIGITS = "0123456789"
HOSTILE = [
    "", " ", "true", "True", " no", "T", "t", "null", "NaN", "-nan", "inf", "-Infinity", "sNaN1", "0x1F", "-0x1f", "1_000",
    "1e5", "1E400", "12e4", "12d4", "4e10", ".5", "-.5", "+5", "5.", "-5.e3", ".5E1", ".", ".e1", "00", "007", "0", "1", "9", "-0", "-1", "١٢٣", "T10:30", "T 10",
    "10:30", "10:30:61", "24:00:00", "2020-02-29", "2021-02-29", "2020-W10", "2020-W10-1", "2020-060", "20200101",
    "20201301", "20200132", "2020366", "2021366", "2020000", "2020400", "202001", "2020", "0000", "9999", "253402300799", "253402300800",
    "2020-01-01T10:00:00Z", "2020-01-01 10:00", "2020-01-01T10:00:00.1234567Z", "2020-01-01T25:00:00Z", "20200101T101010",
    '{"a":1}', '{"a":1} x', "[1,2", "[NaN]", '"text"', '"a" b', "[]", "{}", '"\\ud800"', '{"a":1,"a":2}', "[01]", "['a']", "[1,]",
    "\t1", "1\n", "\x001", "é", "Ω", "aGVsbG8=", "abcd", "deadbeef", "0xdeadbeef", "12ab", "_1", "__", "-", "--", "+", "...", "1.2.3",
    "1.2.3.4", "10/10/2020", "1/1/2020", "P1D", "Z", "1Z", "12Z", "1-1", "12-12", "2020-01", "-2020", "- item one", "+49 170 1234567", "100%", "5 apples",
    "１２", "Ⅷ", "½", "infinity war", "not", "no one", "yes!", "nan5", "NAN", "f", "False ", "y\n", "true\x00", "Today", "T1", "fig", "12345678901234567890123456",
]  # fmt: skip


def _made_up_texts(rng: random.Random) -> Iterator[str]:
    def digits(low: int, high: int) -> str:
        return "".join(rng.choices(DIGITS, k=rng.randint(low, high)))

    def hexadecimal(length: int) -> str:
        return "".join(rng.choices(DIGITS + "abcdef", k=length))

    def stamp() -> str:
        between = rng.choice(["-", "-", "/", ":", ""])
        year = rng.choice([rng.randrange(1900, 2100), rng.randrange(10_000), 1900, 2000, 9999])
        day = between.join(
            [f"{year:04}", f"{rng.randrange(1, 13):02}", f"{rng.choice([rng.randrange(1, 32), 29, 31]):02}"]
        )
        colon = rng.choice([":", ":", ""])
        time = colon.join(f"{rng.randrange(limit):02}" for limit in (25, 61, 61)[: rng.randint(1, 3)])
        zone = rng.choice(["", "Z", "+02:00", "-14:59", "+0200", "z", "-23", "+24:00", "+1:00", " UTC"])
        return day + rng.choice("T t") + time + rng.choice(["", f".{digits(1, 12)}", f",{digits(1, 3)}"]) + zone

    def digits_in_groups() -> str:
        return "".join(
            digits(1, 5) + rng.choice(["-", " ", ",", "/", ":", ".", "|", " - ", ", "])
            for _ in range(rng.randint(1, 4))
        ) + digits(0, 4)

    makers: list[Callable[[], str]] = [
        lambda: digits(1, 28),
        lambda: digits(6, 8),
        lambda: rng.choice("-+") + digits(1, 26),
        lambda: "0" + digits(1, 26),
        lambda: "000" + digits(9, 14),
        lambda: f"{rng.choice('-+')}{rng.randrange(62_135_596_700, 62_135_596_900)}",
        lambda: f"{rng.choice(['', '+', '0', '00'])}{rng.randrange(253_402_300_700, 253_402_300_900)}",
        lambda: f"{rng.randrange(10_000):04}{rng.randrange(370):03}",
        lambda: "0x" + "".join(rng.choices(DIGITS + "abcdefABCDEFg", k=rng.randint(0, 70))),
        digits_in_groups,
        digits_in_groups,
        lambda: rng.choice(["+", "-"]) + digits_in_groups(),
        lambda: ":".join(hexadecimal(rng.randint(0, 4)) for _ in range(rng.randint(2, 8))),
        lambda: "-".join(hexadecimal(size).upper() for size in (8, 4, 4, 4, 12)),
        lambda: f"{rng.choice(['', '-'])}{digits(1, 11)}.{digits(0, 40)}",
        lambda: (
            f"{rng.choice(['', '-'])}{digits(1, 10)}.{digits(1, 20)}{rng.choice('eE')}{rng.choice(['', '-', '+'])}{digits(1, 3)}"
        ),
        lambda: stamp().partition("T")[2],
        lambda: f"{rng.randrange(1900, 2100)}{rng.randrange(1, 14):02}{rng.randrange(33):02}",
        lambda: f"{digits(1, 11)}.{digits(0, 8)}",
        lambda: f"-{digits(1, 11)}.{digits(0, 8)}",
        lambda: f"{digits(1, 5)}e{rng.choice(['', '-', '+'])}{digits(1, 4)}",
        lambda: hexadecimal(rng.choice([7, 8, 32, 40])),
        lambda: "-".join(hexadecimal(size) for size in (8, 4, 4, 4, 12)),
        stamp,
        lambda: stamp()[: rng.randint(4, 30)],
        lambda: f"{digits(1, 2)}/{digits(1, 2)}/{digits(4, 4)}",
        lambda: ".".join(digits(1, 4) for _ in range(rng.randint(2, 5))),
        lambda: "".join(rng.choices("aeinftxyzTNZ019.:-+ _eE", k=rng.randint(1, 9))),
        lambda: "".join(rng.choices('[]{}",:1a \\u0n', k=rng.randint(1, 12))),
        lambda: rng.choice('[{"') + "".join(rng.choices('[]{}",:1a ', k=rng.randint(1, 8))),
        lambda: "".join(chr(rng.randrange(1, 0x2FFF)) for _ in range(rng.randint(1, 6))),
    ]
    while True:
        yield rng.choice(makers)()


def assert_classified(texts: list[str]) -> None:
    expected = {text: classify(text) for text in texts}
    texts = texts * value_classes._FEW  # fewer are not classified by families
    found = zip(texts, map(class_of_code, codes_of_array(string_array(texts))), strict=True)
    assert [(text, name) for text, name in found if name != expected[text]] == []


@pytest.mark.parametrize("seed", [7, 8])
def test_texts_are_classified_as_each_by_itself(seed: int) -> None:
    rng = random.Random(seed)
    made_up = _made_up_texts(rng)
    letters = (
        "".join(rng.choices("aeinftxyzTNZ019.:-+ _eEsSrRuUlLwordbank/=@,", k=rng.randint(1, 14))) for _ in range(2_000)
    )
    assert_classified([*HOSTILE, *(next(made_up) for _ in range(4_000)), *letters])


def test_texts_with_a_look_are_classified_as_each_by_itself() -> None:
    numbers = ["1,234", "1.234,5", "1 234,50", "1'234.5", "12,5", "7", "12.50", "030 1", "1,2,3", "1" * 70]
    forms = ["{}", "${}", "-${}", "(${})", "{} €", "EUR {}", "{}%", "{} %", "{}-", "({})", " {} ", "{}\n", "{} kg"]
    dates = ["31/12/2020", "1-13-2020", "01/02/2020 10:20 PM", "1.2.2020", "5 Jan 2020", "May 5, 2020", "1/2/20"]
    assert_classified([*(form.format(number) for form in forms for number in numbers), *dates])


@given(st.lists(st.text(max_size=12)))
def test_any_texts_are_classified_as_each_by_itself(texts: list[str]) -> None:
    assert_classified(texts)


def test_few_texts_are_classified_as_each_by_itself() -> None:
    texts = ["plain words", "12345", "2024-05-06", "", "0x00", "0x0", "0x" + "f" * 201, "0x" + "f" * 202]
    assert list(map(class_of_code, codes_of_array(string_array(texts)))) == list(map(classify, texts))
    assert_classified(texts)


def test_columns_of_few_different_texts_are_classified_as_each_by_itself() -> None:
    columns = [["true", "5", "2024-05-06"] * 200, [str(at) for at in range(600)], [], ["no"] * 300]
    texts = [text for column in columns for text in column]
    found = map(class_of_code, codes_of_columns([string_array(column) for column in columns]))
    assert list(found) == [classify(text) for text in texts]


def test_common_texts_are_classified_without_a_look_at_each() -> None:
    """Otherwise a column of such texts would take a hundred times as long."""
    texts = [
        "plain words", "https://example.com/a?b=1", "12345", "12.5", "-3", "2024-05-06", "2024-05-06T07:08:10Z", "07:08:10",
        "f3a1c2d4e5b6a7c8d9e0f1a2b3c4d5e6f7a8b9c0", "0f1e2d3c", "123e4567-e89b-12d3-a456-426614174000", "192.168.0.1", "Tuesday", "no problem", "5 apples", "01234", "12/31/2024",
        "2024-01-31", "2024-05-30 07:08", "07:08:09.1234567",
        "12345629", "01712345678", "+49 171 2345678", "555-123-4567",
        "123-45-6789", "1234-5678-9012-3456", "1234 5678 9012 3456", "12345-6789", "1,234.56", "12,50", "31.12.2024", "52.5200065999",
        "-122.4194155", "1.234567E-05", "-9.99e+00", "0xdeadbeef", "0x00000000219ab540356cbb839cbe05303d7705fa", "-123456789012",
        "3FA85F64-5717-4562-B3FC-2C963F66AFA6", "2001:db8::8a2e:370:7334", "00:1a:2b:3c:4d:5e", "2024-05-06 07:08:09 UTC", "1 Main Street",
        "978-3-16-148410-0", "1 000 000", "12 345", "#42", "(555) 123-4567",
    ]  # fmt: skip
    value_classes._codes_of_texts.clear()
    assert_classified(texts)
    assert value_classes._codes_of_texts == {}


EDGES = (
    -62_135_596_800, 0, 1, 2, 253_402_300_800, 1_700_000_000, 2**53, 2**63, 2**64, -(2**63), WEI_STOP, -WEI_STOP, WEI_LIMIT, -WEI_LIMIT,
    2**1024, 2**1024 - 2**970, -(2**1024) + 2**970,
)  # fmt: skip


def numbers() -> tuple[list[int], list[float]]:
    rng = random.Random(3)
    whole = {edge + step for edge in EDGES for step in (-1, 0, 1)}
    whole |= {rng.randrange(-(10**size), 10**size) for size in (*range(1, 42), 80, 308, 309, 999) for _ in range(30)}
    reals = [float(number) + rng.choice((0, 0.5)) for number in whole if abs(number) < 10**300]
    return sorted(whole), [*reals, 1.5e-7, -0.0, 1e300, math.inf, -math.inf, math.nan]


def test_numbers_are_classified_as_each_by_itself() -> None:
    for values in numbers():
        assert [value for value in values if class_of_number(value) != classify(value)] == []


def test_a_column_of_numbers_is_classified_as_its_numbers() -> None:
    rng = random.Random(4)
    for values in numbers():
        for _ in range(500):
            column = [rng.choice(values) for _ in range(rng.randint(1, 5))]
            found = classes_of_numbers(column)
            assert [found] * len(column) if isinstance(found, str) else found == [classify(value) for value in column]
            if isinstance(found, str):
                assert {classify(value) for value in column} == {found}


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_texts_become_an_array_of_arrow(texts: list[str]) -> None:
    assert string_array(texts).to_pylist() == texts

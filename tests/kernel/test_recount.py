"""The values that do not survive a type, and the rows that lack one, with the places of the first."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from schemactl.inference.evidence import Position
from schemactl.inference.survival import Scalars, Tally, survives
from schemactl.kernel.parsing import parse_texts
from schemactl.kernel.recount import Absences, Recount
from schemactl.schema.full_types import FullType
from schemactl.schema.paths import ELEMENT, values_at
from schemactl.schema.types import DataType

TARGETS = (
    *(FullType(data_type) for data_type in DataType if data_type not in (DataType.DECIMAL, DataType.WEI)),
    *(FullType(DataType.TEXT, length) for length in (4, 8, 24)),
    *(FullType(DataType.BIGINT, bits) for bits in (8, 54, 64, 128)),
    *(FullType(DataType.DECIMAL, *size) for size in ((38, 9), (10, 2), (3, 3))),
    FullType(DataType.WEI, None, 0), FullType(DataType.WEI, 10, 2),
    FullType(DataType.BINARY, 1), FullType(DataType.BINARY, 5),
    *(FullType(data_type, 3) for data_type in (DataType.TIMESTAMP, DataType.TIME)),
)  # fmt: skip

TEXTS = (
    "", " ", "plain", "plain words", "abcd", "ABCDEFGH", "QQ==", "0x1f", "0xabcg", "1", "01", "-1", "+1", "-0", "127",
    "128", "-128", "-129", "2147483648", "9223372036854775807", "9223372036854775808", "99999999999999999999", "1.5",
    "1.50", "0.001", "0.0010", "-0.5", ".5", "5.", "1e3", "1e400", "1e-7", "NaN", "inf", "1_000", "9007199254740993",
    "12345678.123456789", "0.12345678901234567890", "123456789012345678.1", "0x20000000000001", "true", "No", "null",
    "2024-02-29", "2024-02-30", "2024-05-06T00:00:00Z", "2024-05-06T00:00:00.000+00:00", "2024-05-06T02:00:00+02:00",
    "2024-05-06T02:00:00.5+02:00", "2024-05-06 00:00:00", "2024-05-06T07:08:09.120Z", "2024-05-06T07:08:09.123456Z",
    "20240506", "2024127", "2024", "2024010203", "86400", "172800", "1700000000", "86400.5", "86400.00", "10:30",
    "10:30:00", "10:30:00.5", "10:30:00.123456", "23:30:00+02:00", "[1]", '{"a": 1}', "[1", "größe", "🚀🚀", "e\u0301",
    "x" * 300, "\u0663", "2024-W01-1", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59Z",
)  # fmt: skip
NUMBERS = (
    "0", "1", "2", "-1", "127", "128", "-128", "-129", "32768", "2147483647", "2147483648", "9007199254740992",
    "9007199254740993", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551615",
    "18446744073709551616", "-18446744073709551616", "9" * 38, "9" * 39, "9" * 80, "86400", "86401", "1700000000",
    "253402300800", "0.0", "1.0", "2.0", "2.5", "2.50", "-0.5", "0.1", "0.30000000000000004", "1e3", "1e20", "1e-7",
    "1E300", "1e-400", "128.0", "9223372036854775808.0", "9223372036854774784.0", "52.5200066", "999.999", "0.001",
    "123456789012345678.123456789012345678", "86400.0", "86400.25", "10000000000.0", "9999999999.5", "99.995", "0.0005",
)  # fmt: skip


def write_lines(file: Path, documents: Iterable[str]) -> Path:
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in documents), encoding="utf-8", newline="")
    return file


def count(asked: list[Any], *files: Path) -> list[Tally]:
    recount = Recount(asked)
    for file in files:
        lines = file.read_bytes().split(b"\n")
        parsed = parse_texts(lines)
        places = range(len(lines)) if parsed.places is None else parsed.places
        recount.add(parsed.documents, [Position(str(file), at + 1) for at in places])
    return list(recount.tallies())


def expected(ask: Scalars, *files: Path) -> tuple[int, int, str | None]:
    values = bad = 0
    first = None
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), start=1):
            document = json.loads(line) if line.strip() else None
            found = [value for path in ask.paths for value in values_at(document, path)]
            scalars = [value for value in found if value is not None and not isinstance(value, (dict, list))]
            unfit = [value for value in scalars if not survives(value, ask.target)]
            values, bad = values + len(scalars), bad + len(unfit)
            if unfit and first is None:
                first = f"{file}:{number}"
    return values, bad, first


def reported(tally: Tally) -> tuple[int, int, str | None]:
    return tally.values, tally.bad, None if tally.first is None else str(tally.first)


def assert_counts(asked: list[Scalars], *files: Path) -> list[Tally]:
    tallies = count(asked, *files)
    wrong = [
        (ask, reported(tally), expected(ask, *files))
        for ask, tally in zip(asked, tallies, strict=True)
        if reported(tally) != expected(ask, *files)
    ]
    assert not wrong
    return tallies


def test_every_type_and_size_is_counted_as_python_counts(tmp_path: Path) -> None:
    values = [*map(json.dumps, TEXTS), *NUMBERS, "true", "false", "null", "{}", "[]", '{"x": 1}', "[1]"]
    lines = [f'{{"v": {value}, "t": {text}}}' for value, text in zip(values, map(json.dumps, TEXTS * 3), strict=False)]
    files = [write_lines(tmp_path / "a.jsonl", lines[::2]), write_lines(tmp_path / "b.jsonl", lines[1::2])]

    tallies = assert_counts([Scalars((("v",),), target) for target in TARGETS], *files)

    assert all(tally.bad > 0 for tally, target in zip(tallies, TARGETS, strict=True) if target != TARGETS[0])


def test_values_of_one_kind_are_counted_as_python_counts(tmp_path: Path) -> None:
    """A path of one kind is read with that type, others are not."""
    integers = [number for number in NUMBERS if number.lstrip("-").isdecimal() and len(number) < 19]
    reals = [number for number in NUMBERS if not number.lstrip("-").isdecimal()]
    lines = [
        f'{{"t": {json.dumps(text)}, "i": [{integers[at % len(integers)]}], "r": {{"x": {reals[at % len(reals)]}}}}}'
        for at, text in enumerate(TEXTS)
    ]
    file = write_lines(tmp_path / "a.jsonl", lines)
    paths = (("t",), ("i", ELEMENT), ("r", "x"))
    assert_counts([Scalars((path,), target) for target in TARGETS for path in paths], file)


@settings(
    # The first example is the simplest one.
    max_examples=2,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    st.lists(
        st.one_of(
            st.floats(allow_nan=False, allow_infinity=False),
            st.decimals(-(10**7), 10**7, places=3).map(float),
            st.integers(-(2**66), 2**66),
            st.integers(-300, 300),
            st.decimals(-(10**13), 10**13, allow_nan=False).map(str),
            st.integers(-(2**66), 2**66).map(str),
            st.datetimes().map(lambda moment: moment.isoformat() + "Z"),
            st.dates().map(str),
            st.times().map(str),
            st.binary(max_size=8).map(lambda octets: octets.hex()),
            st.text(st.characters(codec="utf-8"), max_size=10),
            st.booleans(),
        ),
        min_size=200,
        max_size=300,
    )
)
def test_made_up_values_are_counted_as_python_counts(
    tmp_path_factory: pytest.TempPathFactory, values: list[Any]
) -> None:
    lines = [json.dumps({"v": value}) for value in values]
    file = write_lines(tmp_path_factory.mktemp("made") / "a.jsonl", lines)
    assert_counts([Scalars((("v",),), target) for target in TARGETS], file)


def test_examples_are_the_first_bad_values_and_differ(tmp_path: Path) -> None:
    values = ["ok", "too long", "too long", 12345, "longer still", "x" * 200, "six", "sevens", "eightsss", "ninesss"]
    file = write_lines(tmp_path / "a.jsonl", (json.dumps({"v": value}) for value in values))
    ask = Scalars((("v",),), FullType(DataType.TEXT, 4))

    [tally] = count([ask], file)

    assert (tally.values, tally.bad, tally.first) == (10, 8, Position(str(file), 2))
    assert tally.examples[0] == "too long"
    assert 2 <= len(tally.examples) <= 5
    assert len(set(tally.examples)) == len(tally.examples)
    assert all(len(str(example)) <= 80 for example in tally.examples)


def test_values_deep_in_lists_have_the_line_of_their_document(tmp_path: Path) -> None:
    lines = ['{"o": [{"p": [{"n": 1.5}, {"n": 2.25}]}]}', "", '{"o": [{"p": []}, {"p": [{"n": 1}, {"n": 3.125}]}]}']
    file = write_lines(tmp_path / "a.jsonl", lines)
    ask = Scalars((("o", ELEMENT, "p", ELEMENT, "n"),), FullType(DataType.DECIMAL, 10, 2))

    [tally] = count([ask], file)

    assert reported(tally) == (4, 1, f"{file}:3")
    assert tally.examples == (3.125,)


def test_values_beside_objects_and_lists_are_found(tmp_path: Path) -> None:
    lines = ['{"v": {"x": 1}}', '{"v": [1, [2]]}', '{"v": 5}', '{"v": "long text"}', '{"v": null}', '"long text"', "{}"]
    file = write_lines(tmp_path / "a.jsonl", lines)
    target = FullType(DataType.TEXT, 3)
    asked = [Scalars((("v",), ()), target), Scalars((("v", ELEMENT), ("v", "x")), target)]

    tallies = count(asked, file)

    assert [reported(tally)[:2] for tally in tallies] == [(3, 2), (2, 0)]


# --- absences ---


@pytest.mark.parametrize(
    ("lines", "rows", "fed", "line"),
    [
        (['{"a": 1}', '{"a": "x"}', '{"b": 1}', '{"a": null}'], ((),), ((("a",), "bigint"), (("a",), "text")), 3),
        (['{"a": {"b": 1}}', '{"a": {"c": 1}}', '{"a": {"b": 1}}'], ((),), ((("a", "b"), "bigint"),), 2),
        (['{"a": {"b": 1}}', '{"a": 1}', "{}"], ((),), ((("a",), "bigint"),), 1),
        (['{"a": {"b": 1}}', '{"a": [1]}', '{"a": 1}'], ((),), ((("a",), "object"), (("a",), "list")), 3),
        (
            ['{"l": [{"x": 1}, {"x": 2}]}', '{"l": []}', '{"l": [{"x": 1}, {}, {"x": 2}]}'],
            (("l", ELEMENT),), ((("l", ELEMENT, "x"), "bigint"),), 3,
        ),
        (
            ['{"l": [1, {"value": 2}]}', '{"l": [3]}', '{"l": [1, null]}'], (("l", ELEMENT),),
            ((("l", ELEMENT), "bigint"), (("l", ELEMENT, "value"), "bigint")), 3,
        ),
        (['{"a": 1}', "", '{"a": 2}'], ((),), ((("a",), "bigint"),), None),
    ],
)  # fmt: skip
def test_the_first_row_without_a_value_is_found(
    tmp_path: Path, lines: list[str], rows: Any, fed: Any, line: int | None
) -> None:
    file = write_lines(tmp_path / "a.jsonl", lines)
    [tally] = count([Absences(rows, fed)], file)
    assert tally.first == (None if line is None else Position(str(file), line))

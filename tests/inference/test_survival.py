"""A value survives as dlt coerces it and the type has room; what evidence says of classes is so for their values."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Context, Decimal
from typing import Any

import pytest
from dlt.common.data_types.type_helpers import coerce_value, py_type_to_sc_type
from hypothesis import given, settings
from hypothesis import strategies as st

from schemactl.inference.classes import classify, kind_of
from schemactl.inference.evidence import Position, observe
from schemactl.inference.paths import ELEMENT
from schemactl.inference.resolve import resolve
from schemactl.inference.survival import (
    Tally,
    Target,
    Verdict,
    add,
    feeds,
    is_in_rows,
    judge_absences,
    judge_class,
    judge_values,
    survives,
    values_at,
)
from schemactl.schema.templates import new_schema
from schemactl.schema.types import DataType

TARGETS = (
    *(Target(data_type) for data_type in DataType if data_type not in (DataType.DECIMAL, DataType.WEI)),
    *(Target(DataType.TEXT, length) for length in (1, 4, 5, 8, 20, 24)),
    *(Target(DataType.BIGINT, bits) for bits in (8, 16, 32, 54, 63, 64, 128)),
    *(Target(DataType.DECIMAL, *size) for size in ((38, 9), (10, 2), (3, 3), (4, 0))),
    Target(DataType.WEI, None, 0), Target(DataType.WEI, 10, 2), Target(DataType.BINARY, 1), Target(DataType.BINARY, 5),
    *(Target(data_type, digits) for data_type in (DataType.TIMESTAMP, DataType.TIME) for digits in (0, 3, 6)),
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


# one value


def stored_by_dlt(value: Any, data_type: DataType) -> Any:
    return coerce_value(str(data_type), py_type_to_sc_type(type(value)), value)


def survives_in_dlt(value: Any, target: Target) -> bool:
    """What dlt stores has room in the type and tells the value again."""
    try:
        stored = stored_by_dlt(value, target.data_type)
    except (ValueError, TypeError, ArithmeticError, OSError):
        return False
    size = target.precision
    match target.data_type:
        case DataType.TEXT | DataType.BINARY:
            return size is None or len(stored) <= size
        case DataType.BIGINT:
            return size is None or (stored if stored >= 0 else ~stored).bit_length() < size
        case DataType.DECIMAL | DataType.WEI:
            return has_room(Decimal(stored), size, target.scale or 0)
        case DataType.DOUBLE:
            return isinstance(value, float) or tells_again(stored, value)
        case DataType.BOOL:
            return isinstance(value, str) or stored == value
        case DataType.TIMESTAMP | DataType.TIME:
            digits = 6 if size is None else size
            return is_coarse(stored, digits)
        case DataType.DATE:
            return is_midnight(value, stored)
        case _:
            return True


def has_room(number: Decimal, precision: int | None, scale: int) -> bool:
    if not number.is_finite():
        return False
    if number and abs(number.adjusted()) > 1000:
        return number.adjusted() > 0 and precision is None
    rounded = number.quantize(Decimal(1).scaleb(-scale), context=Context(prec=2000))
    return rounded == number and (precision is None or abs(number) < Decimal(10) ** (precision - scale))


def tells_again(stored: float, value: Any) -> bool:
    try:
        number = Decimal(stored_by_dlt(value, DataType.DECIMAL))
    except (ValueError, ArithmeticError):
        return True
    return not number.is_finite() or Decimal(repr(stored)) == number


def is_coarse(moment: Any, digits: int) -> bool:
    return set(f"{moment.microsecond:06}"[digits:]) <= {"0"}


def is_midnight(value: Any, stored: Any) -> bool:
    if isinstance(value, int | float):
        return value % 86400 == 0
    moment = stored_by_dlt(value, DataType.TIMESTAMP)
    at = datetime.fromisoformat(moment.isoformat())
    at = at if at.tzinfo is None else at.astimezone(UTC)
    return at.replace(tzinfo=None) == datetime(stored.year, stored.month, stored.day)


@settings(max_examples=400, deadline=None)
@given(SCALARS)
def test_a_value_survives_where_dlt_stores_it_whole(value: Any) -> None:
    answers = {target: (survives(value, target), survives_in_dlt(value, target)) for target in TARGETS}
    assert {target: pair for target, pair in answers.items() if pair[0] != pair[1]} == {}


@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [
        ("größer", Target(DataType.TEXT, 6), True),
        (True, Target(DataType.TEXT, 4), True),
        (False, Target(DataType.TEXT, 4), False),
        (1.5, Target(DataType.TEXT, 3), True),
        (2.0, Target(DataType.BIGINT), True),
        (2.5, Target(DataType.BIGINT), False),
        (-128, Target(DataType.BIGINT, 8), True),
        (128, Target(DataType.BIGINT, 8), False),
        (2**63, Target(DataType.BIGINT, 64), False),
        ("99999999999999999999", Target(DataType.BIGINT, 64), False),
        (2.50, Target(DataType.DECIMAL, 3, 1), True),
        ("2.500", Target(DataType.DECIMAL, 3, 1), True),
        (2.55, Target(DataType.DECIMAL, 3, 1), False),
        (100, Target(DataType.DECIMAL, 3, 1), False),
        (0.5, Target(DataType.DECIMAL, 1, 1), True),
        ("NaN", Target(DataType.DECIMAL, 38, 9), False),
        (2.5, Target(DataType.WEI, None, 0), False),
        (10**30, Target(DataType.WEI, None, 0), True),
        (10**30, Target(DataType.BIGINT, 64), False),
        (10**400, Target(DataType.TEXT), True),
        (2**53 + 1, Target(DataType.DOUBLE), False),
        ("1e400", Target(DataType.DOUBLE), False),
        ("inf", Target(DataType.DOUBLE), True),
        (2, Target(DataType.BOOL), False),
        ("2024-01-01T02:00:00+02:00", Target(DataType.DATE), True),
        ("2024-01-01T10:00:00Z", Target(DataType.DATE), False),
        ("2024-01-01T10:00:00.120Z", Target(DataType.TIMESTAMP, 2), True),
        ("2024-01-01T10:00:00.123Z", Target(DataType.TIMESTAMP, 2), False),
        ({"a": 1}, Target(DataType.TEXT, 7), True),
        ({"a": 1}, Target(DataType.BIGINT), False),
    ],
)
def test_what_is_lost_does_not_survive(value: Any, target: Target, expected: bool) -> None:
    assert survives(value, target) is expected


# classes


def evidence_of(*documents: Any) -> Any:
    return observe((Position("a.jsonl", number), document) for number, document in enumerate(documents, start=1))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(SCALARS, st.integers(-(10**90), 10**90)), min_size=1, max_size=12))
def test_what_evidence_is_sure_of_is_so(values: list[Any]) -> None:
    for name, seen in evidence_of(*({"v": value} for value in values)).paths[("v",)].items():
        members = [value for value in values if classify(value) == name]
        for target in TARGETS:
            answers = {survives(value, target) for value in members}
            allowed = {Verdict.ALL: {True}, Verdict.NONE: {False}, Verdict.OPEN: {True, False}}
            assert answers <= allowed[judge_class(name, seen, target)], (name, members, target)


@pytest.mark.parametrize(
    ("values", "target", "expected"),
    [
        (["a", "abc"], Target(DataType.TEXT, 3), Verdict.ALL),
        (["abcd", "abcde"], Target(DataType.TEXT, 3), Verdict.NONE),
        (["a b", "a bc"], Target(DataType.TEXT, 3), Verdict.OPEN),
        ([-3, -300], Target(DataType.BIGINT, 8), Verdict.OPEN),
        ([3, 127], Target(DataType.BIGINT, 8), Verdict.ALL),
        ([2**63, 2**64 - 1], Target(DataType.BIGINT, 64), Verdict.NONE),
        ([2.5], Target(DataType.BIGINT, 64), Verdict.NONE),
        ([300.0, 3.0], Target(DataType.BIGINT, 64), Verdict.ALL),
        ([2, 999], Target(DataType.DECIMAL, 5, 2), Verdict.ALL),
        ([2, 1000], Target(DataType.DECIMAL, 5, 2), Verdict.OPEN),
        ([2, 10**6], Target(DataType.DOUBLE), Verdict.ALL),
        (["words here"], Target(DataType.DATE), Verdict.NONE),
        ([True], Target(DataType.BIGINT, 64), Verdict.NONE),
        ([{"a": 1}], Target(DataType.JSON), Verdict.ALL),
        ([[1]], Target(DataType.BIGINT, 64), Verdict.NONE),
    ],
)
def test_evidence_decides_what_it_can(values: list[Any], target: Target, expected: Verdict) -> None:
    classes = {
        name: seen
        for name, seen in evidence_of(*({"v": value} for value in values)).paths[("v",)].items()
        if kind_of(name) == kind_of(classify(values[-1]))
    }
    verdicts = {judge_class(name, seen, target) for name, seen in classes.items()}
    assert verdicts == {expected}


# columns


def judged(column: str, target: Target, *documents: Any, table: str = "t") -> Any:
    evidence = evidence_of(*documents)
    resolution = resolve(evidence, new_schema("made"), "t")
    return judge_values(evidence, feeds(resolution, table, column), target)


def test_a_column_is_counted_with_its_variants_and_keys() -> None:
    found = judged("v", Target(DataType.BIGINT, 64), {"v": 1}, {"V": 2}, {"v": "x"}, {"v": True}, {"v": None})
    assert found.open_paths == ()
    assert found.tally == Tally(4, 2, ("x", True), Position("a.jsonl", 3))


def test_only_paths_with_something_open_are_left_to_be_counted() -> None:
    found = judged("v", Target(DataType.TEXT, 3), {"v": "a"}, {"v": "a to z"}, {"V": "abc"}, {"V": "b"})
    assert found.open_paths == (("v",),)
    assert found.tally == Tally(2)


def test_objects_that_stay_whole_are_counted_but_not_measured() -> None:
    schema = new_schema("made")
    schema = schema.with_table(resolve(evidence_of({"v": 1}), schema, "t").schema.tables["t"])
    columns = dict(schema.tables["t"].columns)
    stated = {**columns["v"].properties, "data_type": "json"}
    kept = resolve(evidence_of(), schema, "t").schema.tables["t"]
    kept = type(kept)("t", {**columns, "v": type(columns["v"])("v", stated)}, kept.properties)
    evidence = evidence_of({"v": {"a": 1}}, {"v": [1]})
    fed = feeds(resolve(evidence, schema.with_table(kept), "t"), "t", "v")

    number = judge_values(evidence, fed, Target(DataType.BIGINT, 64))
    assert number is not None
    assert (number.tally.values, number.tally.bad) == (2, 2)
    assert judge_values(evidence, fed, Target(DataType.TEXT, 3)) is None


def test_tallies_add_up_and_tell_the_first_place_only_where_it_is_sure() -> None:
    early, late = Position("a", 2), Position("b", 1)
    assert add([Tally(3, 1, ("y",), late), Tally(2), Tally(4, 1, ("x",), early)]) == Tally(9, 2, ("x", "y"), early)
    assert add([Tally(3, 1, ("y",), late), Tally(2, 1)]) == Tally(5, 2, ("y",), None)
    assert add([]) == Tally()


def test_examples_that_differ_as_json_are_kept_apart() -> None:
    at = Position("a", 1)
    assert json.dumps(add([Tally(4, 4, (1, True, 1.0, 1), at)]).examples) == "[1, true, 1.0]"


# rows


def absences(table: str, column: str, *documents: Any) -> Tally:
    evidence = evidence_of(*documents)
    resolution = resolve(evidence, new_schema("made"), "t")
    return judge_absences(evidence, resolution.rows[table], feeds(resolution, table, column))


def test_rows_are_documents_and_elements_of_lists() -> None:
    documents = [{"l": [{"x": 1}, 5, [6, 7], None]}, {"l": [{}], "m": {"l": [{"x": 1}]}}]
    evidence = evidence_of(*documents)
    rows = resolve(evidence, new_schema("made"), "t").rows
    assert rows == {
        "t": ((),),
        "t__l": (("l", ELEMENT),),
        "t__l__list": (("l", ELEMENT, ELEMENT),),
        "t__m__l": (("m", "l", ELEMENT),),
    }
    assert absences("t__l", "x", *documents) == Tally(5, 4)
    assert absences("t__l__list", "value", *documents) == Tally(2, 0)


def test_the_first_absence_is_told_where_evidence_knows_it() -> None:
    assert absences("t", "x", {"x": 1}, {"x": None}) == Tally(2, 1, first=Position("a.jsonl", 2))
    assert absences("t", "y", {"x": 1}, {"x": None}) == Tally(2, 2, first=Position("a.jsonl", 1))
    assert absences("t", "x", {"x": 1}, {}, {"x": None}) == Tally(3, 2)


def test_values_of_other_lists_are_in_other_rows() -> None:
    assert is_in_rows(("a", "b"), [()])
    assert is_in_rows(("l", ELEMENT, "x"), [("l", ELEMENT)])
    assert not is_in_rows(("l", ELEMENT, "x"), [()])
    assert not is_in_rows(("a",), [("l", ELEMENT)])


def test_values_at_a_path_come_in_their_order() -> None:
    document = {"l": [{"x": 1}, {}, {"x": [2]}, 3], "x": 4}
    assert list(values_at(document, ("l", ELEMENT, "x"))) == [1, [2]]
    assert list(values_at(document, ())) == [document]
    assert list(values_at([document], ("l",))) == []

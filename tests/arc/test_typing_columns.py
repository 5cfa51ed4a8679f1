"""Columns of texts are typed in Arc's order of operations, with its messages and its measured results."""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from outside_data import OutsideData
from typed_texts import day_of, micros_of, typed, values

from schemactl.arc.fields import Field, Long, String, Typing
from schemactl.arc.text_columns import ERRORS_TYPE, ColumnTyper, TextTyper
from schemactl.arc.typing_file import read_typing

SAYS_SO = {'hex: "-ff"', 'hex: "１２"', 'hex: "٤٢"', 'hex notnull: "-ff"', 'hex notnull: "+ff"'}
"""Cases in which Arc makes a null of a text and no error, and a text is an error here: nothing is lost unsaid."""


def message(text: str | None, **attributes: Any) -> str | None:
    return typed([text], **attributes).messages[0].as_py()


def agree(values: pa.Array, case: dict[str, Any]) -> bool:
    expected = case["value"]
    if expected is None or values.null_count:
        return expected is None and values.null_count == 1
    match case["field"]["type"]:
        case "binary":
            return base64.b64encode(values[0].as_py()).decode() == expected
        case "decimal":
            return values[0].as_py() == Decimal(expected)
        case "double":
            return repr(values[0].as_py()) == repr(float(expected))
        case "date":
            return values.cast(pa.int32())[0].as_py() == day_of(expected)
        case "timestamp":
            return values.cast(pa.int64())[0].as_py() == micros_of(expected)
    return values[0].as_py() == expected


@pytest.mark.filterwarnings("ignore::schemactl.errors.CommandWarning")
def test_texts_become_what_arc_measured(conformance: OutsideData):
    wrong = []
    for case in json.loads(conformance("arc/cases.json").read_text()):
        if not case["json_reachable"] and "json_driven_value" in case:
            # Arc's own test built this field by hand.
            case = {**case, "value": case["json_driven_value"], "error": case["json_driven_error"]}
        (field,) = read_typing(json.dumps([case["field"]]), "case").fields
        typed_column = ColumnTyper(field).run(pa.array([case["input"]], pa.string()))
        reported = typed_column.messages[0].as_py()
        if case["case"] in SAYS_SO:
            assert reported == f"Unable to convert '{case['input']}' to binary using 'hexadecimal' decoding."
        elif reported != case["error"] or not agree(typed_column.values, case):
            wrong.append(
                (case["field"], case["input"], case["value"], case["error"], str(typed_column.values), reported)
            )
    assert wrong == []


def test_a_text_is_trimmed_then_compared_with_null_values_then_replaced_then_converted():
    field = {"type": "long", "trim": True, "nullableValues": ["", "N/A"], "nullReplacementValue": " 7"}
    column = typed([" 1\t", " N/A ", None, "\x00", "\u00a02"], **field)
    assert column.values.to_pylist() == [1, None, None, None, None]
    # The replacement is not trimmed.
    replaced = "Unable to convert ' 7' to long using formatters ['#,##0;-#,##0']"
    assert column.messages.to_pylist() == [None, replaced, replaced, replaced, replaced.replace(" 7", "\u00a02")]


def test_replaced_nulls_are_not_counted_as_converted_texts():
    assert typed(["x", None, "1"], type="long", nullReplacementValue="7").converted == 1
    assert typed(["x", None, None], type="long", nullReplacementValue="7").converted == 0
    assert typed(["1", None, "2"], type="long", nullReplacementValue="x").converted == 2


def test_null_values_are_not_trimmed():
    assert values([" N/A "], type="string", nullableValues=[" N/A "]) == [None]
    assert values([" N/A "], type="string", nullableValues=[" N/A "], trim=True) == ["N/A"]


def test_a_null_where_none_is_allowed_is_an_error():
    reported = "Non-null value expected and no nullReplacementValue value was provided"
    assert message(None, type="string", nullable=False) == reported
    assert message("x", type="string", nullable=False, nullableValues=["x"]) == reported
    assert values([None], type="string", nullable=False, nullReplacementValue="y") == ["y"]


def test_rows_have_their_errors_in_the_order_of_fields():
    fields = (
        Field(name="a", type=Long(), nullable=True),
        Field(name="b", type=String(max_length=1), nullable=False),
        Field(name="c", type=Long(), nullable=True),
    )
    columns = [pa.array(["1", "x", "y"]), pa.array(["k", None, "long"]), pa.array([7, 8, None])]
    typed_columns, errors = TextTyper(Typing(fields)).run(columns)
    assert [column.to_pylist() for column in typed_columns] == [[1, None, None], ["k", None, None], [7, 8, None]]
    assert errors.type == ERRORS_TYPE
    assert [[error["field"] for error in row] for row in errors.to_pylist()] == [[], ["a", "b"], ["a", "b"]]
    assert errors[2].as_py()[1]["message"] == "String 'long' (4 characters) is greater than maxLength (1)."


def test_rows_without_errors_have_empty_lists():
    typing = Typing((Field(name="a", type=Long(), nullable=True),))
    typed_columns, errors = TextTyper(typing).run([pa.array(["1", "2"])])
    assert (typed_columns[0].to_pylist(), errors.to_pylist()) == ([1, 2], [[], []])
    assert TextTyper(Typing(())).run([])[1].to_pylist() == []


def test_all_that_is_wrong_with_a_text_is_one_message():
    reported = message("😀A", type="string", minLength=4, maxLength=2, regex="[a-z]*")
    assert reported == (
        "String '😀A' (3 characters) is less than minLength (4)."
        " String '😀A' (3 characters) is greater than maxLength (2)."
        " String '😀A' does not match regex '[a-z]*'."
    )


ODD_NUMBERS = [
    "", "-", "-0", "007", "0x1", "--1", "1-2", "1/2", "5.", ".5", "-.5", ".", "1.255", "1.250", "1.2.3", "0.005",
    "-0.00", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "2147483648", "-2147483648",
    "99999999.99", "99999999.995", "123456789.5", "000000000001.5", "1e5", "+1", "1" * 40, "1" * 400,
]  # fmt: skip
ODD_DATES = [
    "", "2020-02-29", "2021-02-29", "2020-02-30", "0000-01-01", "0001-01-01", "9999-12-31", "2020-1-01", "2020/01/01",
    "-020-01-01", "2020-01-00", "2020-13-01", "2020-01-32", " 2020-01-01", "2020-01-01 ", "20200-01-01",
]  # fmt: skip


@pytest.mark.parametrize(
    "field",
    [
        {"type": "integer"},
        {"type": "long"},
        {"type": "long", "formatters": ["#,##0;-#,##0"]},
        {"type": "double"},
        {"type": "double", "formatters": ["#,##0.###"]},
        {"type": "decimal", "precision": 10, "scale": 2},
        {"type": "decimal", "precision": 2, "scale": 2},
        {"type": "decimal", "precision": 38, "scale": 0, "formatters": ["#,##0.###"]},
        *({"type": "date", "formatters": [pattern]} for pattern in ("uuuu-MM-dd", "yyyy-MM-dd", "uuuu-MM-dd HH:mm:ss")),
    ],
)
def test_a_text_becomes_the_same_value_in_a_column_of_plain_texts_and_beside_an_odd_one(field):
    odd = ODD_DATES if field["type"] == "date" else ODD_NUMBERS
    for text in odd:
        alone = typed([text, None], **field, nullableValues=[])
        beside = typed([text, "an odd one"], **field, nullableValues=[])
        of = pa.int32() if field["type"] == "date" else alone.values.type  # Python has no year 0
        assert repr(alone.values.cast(of)[0]) == repr(beside.values.cast(of)[0]), text
        assert alone.messages[0] == beside.messages[0], text

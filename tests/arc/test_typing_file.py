"""Arc's schema files: every case that was measured with Arc 4.2.0."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any

import pytest
from outside_data import OutsideData

from schemactl.arc.fields import Array, Decimal, Field, FieldType, Struct, Typing, spark_type
from schemactl.arc.typing_file import attributes, read_fields, read_typing
from schemactl.errors import CommandWarning, InputError
from schemactl.trees.nodes import Source

STRING = '[{"name": "a", "type": "string", "nullable": true}]'


def cases(conformance: OutsideData) -> list[dict[str, Any]]:
    return json.loads(conformance("arc/schema_cases.json").read_text())


def column_metadata(of: Field) -> dict[str, Any]:
    """Return what Arc attaches to a column: the field's metadata, id, description, and two marks of its own."""
    hints = {"id": of.id, "description": of.description}
    present_hints = {key: value for key, value in hints.items() if value is not None}
    return {**of.metadata, **present_hints, "nullable": of.nullable, "internal": False}


def struct_of(fields: tuple[Field, ...]) -> dict[str, Any]:
    columns = [
        {
            "name": field.name,
            "type": type_of(field.type),
            "nullable": field.nullable,
            "metadata": column_metadata(field),
        }
        for field in fields
    ]
    return {"type": "struct", "fields": columns}


def type_of(of: FieldType) -> Any:
    match of:
        case Struct(fields):
            return struct_of(fields)
        case Array(element):
            return {"type": "array", "elementType": type_of(element.type), "containsNull": False}
    return {"int": "integer", "bigint": "long"}.get(spark_type(of), spark_type(of))


@pytest.mark.filterwarnings("ignore::schemactl.errors.CommandWarning")
def test_files_mean_what_arc_measured(conformance: OutsideData, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", "/root")
    wrong = []
    for case in cases(conformance):
        source = Source("case", case["schema_text"])
        try:
            typing, faults = read_fields(source)
        except InputError as error:
            outcome: Any = f"refused: {error}"
            expected: Any = outcome if case["outcome"] == "exception" else case["outcome"]
        else:
            if faults:
                outcome = [
                    (fault.path[0], fault.attribute, fault.message, source.locate(fault.offset).line)
                    for fault in faults
                ]
                expected = [
                    (error["field"], error["attribute"], error["message"], error.get("attribute_line", error["line"]))
                    for error in case.get("errors", ())
                ]
                expected = outcome if case["outcome"] == "exception" else expected
            else:
                outcome, expected = struct_of(typing.fields), case.get("struct")
        if outcome != expected and not (isinstance(outcome, list) and sorted(outcome) == sorted(expected or ())):
            wrong.append((case["case"], outcome, expected))
    assert wrong == []


@pytest.mark.filterwarnings("ignore::schemactl.errors.CommandWarning")
def test_what_is_written_reads_back(conformance: OutsideData):
    for case in cases(conformance):
        if case["outcome"] == "ok" and "HOME" not in case["schema_text"]:
            typing = read_typing(case["schema_text"], "case")
            text = json.dumps([attributes(field) for field in typing.fields])
            assert read_typing(text, "again") == typing


def test_a_fault_says_where_and_what_would_be_valid():
    text = """[
  {"name": "born", "type": "data", "nullable": true},
  {"name": "s", "type": "struct", "nullable": true,
   "fields": [{"name": "t", "type": "string"}]}
]"""
    with pytest.raises(InputError) as caught:
        read_typing(text, "people.arc.json")
    first, second = caught.value.problems
    assert (str(first.at), first.hint) == ("people.arc.json:2:20", "did you mean `date`?")
    assert first.message.startswith("`type` of `born`: Invalid value. Valid values are ['boolean','date',")
    assert (str(second.at), second.message) == (
        "people.arc.json:4:15",
        "`nullable` of `s.t`: Missing required attribute 'nullable'.",
    )


def test_an_unknown_attribute_is_a_warning_with_the_place_and_a_hint():
    with pytest.warns(CommandWarning, match=r"^a\.json:1:44: `formater` of `a`: .*did you mean `formatters`\?$"):
        read_typing('[{"name":"a","type":"long","nullable":true,"formater":["0"]}]', "a.json")


def test_shared_parts_are_substituted():
    text = """
    // what all fields have
    defaults { trim: true, nullableValues = ["", "N/A"] }
    schema: [
      { name: a, type: string, nullable: false, trim: ${defaults.trim}, nullableValues: ${defaults.nullableValues} }
    ]
    """
    (field,) = read_typing(text, "a.arc.conf").fields
    assert (field.name, field.trim, field.nullable_values) == ("a", True, ("", "N/A"))


@pytest.mark.parametrize(
    ("text", "location", "reported"),
    [
        ('[{"name": "a"', "f:1:2", "bracket that opens here"),
        ("[{name: ${nobody}}]", "f:1:9", "`nobody` is not defined"),
        ("a: ${b}\nb: ${a}\nschema: []", "f:1:4", "refers to itself"),
        ('include "other"\nschema: []', "f:1:1", "`include` is not supported"),
        ('{"schema": 5}', "f:1:12", "must be a list"),
        ("[1]", "f:1:2", "a field is an object"),
        ("[{name: a b c {} }]", "f:1:15", "an object cannot follow a text"),
        ("", "f:1:1", "not an Arc schema"),
        ("id,name\n1,ada\n", "f:1:1", "not an Arc schema"),
        ("\n1;2;3\n", "f:1:1", "not an Arc schema"),
    ],
)
def test_what_is_no_hocon_is_refused_with_its_place(text: str, location: str, reported: str):
    with pytest.raises(InputError, match=reported) as caught:
        read_typing(text, "f")
    assert str(caught.value.at) == location


@pytest.mark.parametrize(
    ("pattern", "reported"),
    [
        ("uuuu-MM F", "a day up to Java 18 and a week from Java 19 on: F"),
        ("HH vv", "Wrong number of pattern letters: v"),
        ("hh BB", "Wrong number of pattern letters: B"),
    ],
)
def test_letters_without_one_meaning_are_refused_with_their_place(pattern: str, reported: str):
    text = f'[\n{{"name":"a","nullable":true,"type":"date",\n"formatters":["{pattern}"]}}]'
    with pytest.raises(InputError, match=f"f:3:1: .*{reported}"):
        read_typing(text, "f")


def test_environment_variables_and_files_of_arc_s_documentation_are_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ZONE", "Australia/Sydney")
    text = """[{
      "name" : "create_date", "type" : "timestamp", "nullable" : true,
      "formatters": [
        "dd/MM/uuuu",
      ],
      "timezoneId": ${ZONE},
      "time": { "hour": 23, "minute": 59, "second": 59, "nano": 0, },
    }]"""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (field,) = read_typing(text, "f").fields
    assert spark_type(field.type) == "timestamp"
    assert attributes(field)["timezoneId"] == os.environ["ZONE"]


@pytest.mark.parametrize(
    ("attributes_of_type", "reported"),
    [
        ('"type":"timestamp","formatters":["uuuu"],"timezoneId":"Mars/Olympus"', "has no time zone"),
        ('"type":"date","formatters":["d/M/y"]', "never results in a date"),
        ('"type":"time","formatters":["foo"]', "no value will fit `foo`"),
        ('"type":"long","formatters":["#.##0,00"]', "no value will fit `#.##0,00`"),
    ],
)
def test_patterns_that_fit_no_value_are_warned_of(attributes_of_type: str, reported: str):
    with pytest.warns(CommandWarning, match=reported):
        read_typing(f'[{{"name":"a","nullable":true,{attributes_of_type}}}]', "f")


def test_a_typing_without_fields_is_empty():
    assert read_typing("[]", "f") == Typing(())
    assert len(read_typing(STRING, "f").fields) == 1


def test_fields_inherit_what_objects_before_them_state():
    text = """
    base { nullable: true, trim: true, nullableValues: [""] }
    base.nullableValues += "N/A"
    money: ${base} { type: decimal, precision: 10, scale: 2 }
    schema: [
      ${base} { name: id, type: long, nullable: false }
      ${money} { name: price }
      ${money} { name: fee, nullableValues: ${base.nullableValues} ["-"] }
    ]
    """
    identity, price, fee = read_typing(text, "a.arc.conf").fields
    assert (identity.name, identity.nullable, identity.trim) == ("id", False, True)
    assert (price.type, price.nullable_values) == (Decimal(10, 2), ("", "N/A"))
    assert fee.nullable_values == ("", "N/A", "-")


def test_a_fault_of_a_field_that_inherits_has_the_place_where_it_is_stated():
    with pytest.raises(InputError) as caught:
        read_typing("base { nullable: true, trim: true }\nschema: [${base} { name: a, type: dat }]", "f")
    assert str(caught.value.problems[0].at) == "f:2:29"

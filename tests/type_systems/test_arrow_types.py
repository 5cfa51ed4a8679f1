"""dlt's `x-nested-type` is read and written, and Arrow's types are those of nested data."""

from __future__ import annotations

import base64
import gzip

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemactl.errors import InputError
from schemactl.schema.arrow_hint import NESTED_TYPE, are_same, check_text, decode, describe, encode
from schemactl.schema.nested_types import (
    Json,
    Leaf,
    ListOf,
    MapOf,
    NestedType,
    Struct,
    leaf_of,
    leaf_properties,
    read_type,
    write_type,
)
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column
from schemactl.schema.validation import check
from schemactl.type_systems.arrow_types import (
    arrow_type_of,
    from_arrow,
    from_exact_arrow,
    nested_type_of,
    restate,
    to_arrow,
)

STATED = (
    "arrow-ipc:H4sIAAAAAAACA/v///9/DUYGBgEGEOBi4GFgY2Bl4ACygICRBchnAPI4gCQLlAQKQ2kPoF4gj1cGyFaAijED8QYgzmCAmAlSmwzEDkC1"
    "FRD1PCJAvgySWSJQdkliejHI2hyguiUQtawgMySg8gxQOrMkNRfEngJUcwaijkkAyUwGqDuqMguAbuYBYnaw20HWKYDdJQLkswFFecA8iN8hdsmg2ZWcWVI"
    "JYbOA+QDc4+p1MAEAAA=="
)
"""Written by dlt 1.31 for Arrow data of the type below."""
TYPE = pa.struct({"city": pa.string(), "zip": pa.int32(), "tags": pa.list_(pa.string())})

LEAVES = (
    *("tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "string", "binary", "date"),
    *("timestamp", "timestamp_ntz", "time(6)", "decimal(38,0)", "decimal(10,2)"),
)


def nested() -> st.SearchStrategy[NestedType]:
    """Types as files hold them: they do not distinguish JSON texts from others."""

    def inside(inner: st.SearchStrategy[NestedType]) -> st.SearchStrategy[NestedType]:
        fields = st.lists(st.tuples(st.text(min_size=1), inner), min_size=1, max_size=3, unique_by=lambda each: each[0])
        return fields.map(lambda each: Struct(tuple(each))) | inner.map(ListOf) | inner.map(MapOf)

    return st.recursive(st.sampled_from(LEAVES).map(Leaf), inside, max_leaves=8)


def written_by_another_python(text: str) -> str:
    """The same with another byte for the operating system in gzip's header: Python 3.10 wrote 255, later ones 3."""
    raw = bytearray(base64.b64decode(text.removeprefix("arrow-ipc:")))
    raw[9] ^= 0xFF
    return f"arrow-ipc:{base64.b64encode(bytes(raw)).decode()}"


def packed(message: bytes) -> str:
    return f"arrow-ipc:{base64.b64encode(gzip.compress(message, mtime=0)).decode()}"


def test_a_text_of_dlt_holds_a_type():
    assert decode(STATED) == TYPE
    assert are_same(encode(decode(STATED)), STATED)
    assert describe(STATED) == "struct<city: string, zip: int32, tags: list<item: string>>"


def test_texts_of_one_type_are_the_same():
    other = written_by_another_python(STATED)
    assert other != STATED
    assert decode(other) == TYPE
    assert are_same(STATED, other)
    assert not are_same(STATED, encode(pa.list_(pa.string())))
    assert not are_same(STATED, None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("struct<a:int>", "begin"),
        ("arrow-ipc:", "cut off"),
        ("arrow-ipc:not base64", "Base64"),
        ("arrow-ipc:AAAA", "gzip"),
        (STATED[:60], "Base64"),
        (STATED[:-4], "cut off"),
        (packed(b"\0" * (1 << 21)), "larger"),
        (packed(b""), "Arrow"),
        (packed(b"no message"), "Arrow"),
        (packed(pa.schema([]).serialize().to_pybytes()), "without a field"),
    ],
)
def test_what_holds_no_type_is_refused_with_the_reason(text: str, reason: str):
    with pytest.raises(ValueError, match=reason):
        check_text(text)
    assert describe(text) == text


def test_a_schema_file_states_types_that_are_some():
    stored = new_schema("shop").to_dict()
    column = {"data_type": "json", NESTED_TYPE: STATED}
    stored["tables"]["orders"] = {"columns": {"buyer": column}}
    assert check(stored) == ()
    column[NESTED_TYPE] = STATED[:60]
    (finding,) = check(stored)
    assert finding.keys == ("tables", "orders", "columns", "buyer", NESTED_TYPE)
    assert finding.hint
    assert "remove it" in finding.hint
    column[NESTED_TYPE] = None
    assert check(stored) == ()


@given(nested())
def test_types_of_nested_data_come_back_from_arrow(of: NestedType):
    assert from_exact_arrow(to_arrow(of)) == of
    assert from_arrow(to_arrow(of)) == of
    assert from_arrow(decode(encode(to_arrow(of)))) == of


@pytest.mark.parametrize(
    ("of", "taken"),
    [
        (pa.list_(pa.uint8()), "array<smallint>"),
        (pa.list_(pa.uint64()), "array<decimal(20,0)>"),
        (pa.list_(pa.float16()), "array<double>"),
        (pa.list_(pa.timestamp("ms")), "array<timestamp_ntz>"),
        (pa.list_(pa.timestamp("ns", "Europe/Berlin")), "array<timestamp>"),
        (pa.list_(pa.time32("s")), "array<time(0)>"),
        (pa.list_(pa.dictionary(pa.int8(), pa.string())), "array<string>"),
        (pa.list_(pa.duration("s")), "array<string>"),
        (pa.list_(pa.binary(4)), "array<binary>"),
        (pa.list_(pa.int64(), 3), "array<bigint>"),
        (pa.list_(pa.struct([])), "string"),
        (pa.map_(pa.int64(), pa.string()), "string"),
    ],
)
def test_types_without_a_name_in_ddl_are_taken_as_dlt_takes_them(of: pa.DataType, taken: str):
    assert write_type(from_arrow(of)) == taken
    assert from_exact_arrow(of) is None


@pytest.mark.parametrize("name", [*LEAVES, "time(3)", "time", "decimal"])
def test_a_leaf_has_the_properties_of_a_column(name: str):
    properties = leaf_properties(name)
    assert properties is not None
    sized = {"float": "double", "time": "time(6)", "decimal": "decimal(38,9)"}
    assert leaf_of(properties, keeps_sizes=True) == Leaf(sized.get(name, name))
    assert leaf_properties("HUGEINT") is None


def test_a_column_states_its_type_by_the_own_hint_before_the_one_of_dlt():
    column = Column("buyer", {"data_type": "json", NESTED_TYPE: STATED})
    assert nested_type_of(column) == read_type("struct<city:string,zip:int,tags:array<string>>", keeps_sizes=True)
    both = Column("buyer", {**column.properties, "x-spark-type": "array<string>"})
    assert nested_type_of(both) == ListOf(Leaf("string"))
    assert arrow_type_of(Column("buyer", {"data_type": "text", NESTED_TYPE: STATED})) is None
    assert nested_type_of(Column("buyer", {"data_type": "json"})) is None
    with pytest.raises(InputError, match="buyer"):
        nested_type_of(Column("buyer", {"data_type": "json", NESTED_TYPE: "arrow-ipc:"}))


def test_a_known_text_stays_where_the_type_is_the_same():
    properties = {"data_type": "json", "x-spark-type": "struct<city:string,zip:int,tags:array<string>>"}
    for known in (STATED, written_by_another_python(STATED)):
        assert restate(properties, known) == {"data_type": "json", NESTED_TYPE: known}


def test_another_type_is_written_as_dlt_writes_it():
    properties = {"data_type": "json", "nullable": True, "x-spark-type": "array<bigint>", "x-fields": {}}
    found = restate(properties, STATED)
    assert found.keys() == {"data_type", "nullable", NESTED_TYPE}
    assert from_arrow(decode(found[NESTED_TYPE])) == ListOf(Leaf("bigint"))


def test_a_column_of_json_texts_states_no_nested_type():
    for properties in ({"data_type": "json"}, {"data_type": "json", "x-spark-type": "string"}, {"data_type": "text"}):
        assert restate(properties, STATED) == properties
    assert from_arrow(pa.string()) != Json()

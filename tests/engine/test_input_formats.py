"""Each format as Spark reads it: which records come out, and what is reported of files that are not what they seem."""

from __future__ import annotations

import bz2
import datetime
import decimal
import gzip
import json
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.orc
import pyarrow.parquet
import pytest
import zstandard
from pyspark.sql import SparkSession
from record_batches import record_batches

from schemactl.engine.bad_records import explain_bad_records
from schemactl.engine.inputs import find_inputs
from schemactl.engine.protocol import DocumentBatch, Engine
from schemactl.engine.scan import Scan, scan_inputs
from schemactl.engine.spark.session.failure import explain_failure
from schemactl.engine.spark.types import column_properties
from schemactl.errors import InputError, SchemactlError
from schemactl.inference.evidence import Position
from schemactl.inference.sample import Sample
from schemactl.kernel.partitions import records_of
from schemactl.store.sources import LeftOutWarning

pytestmark = pytest.mark.usefixtures("work")

ROWS = [{"id": 1, "name": "é"}, {"id": 2, "name": "🚀"}]
LINES = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)


@pytest.fixture
def read(engine: Engine) -> Callable[..., list[Any]]:
    """Write a file, and return the documents that are read from it: parsed, texts where they are no JSON."""

    def read(name: str, content: str | bytes, input_format: str | None = None) -> list[Any]:
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return records(engine, name, input_format=input_format)

    return read


def records(engine: Engine, *sources: str, input_format: str | None = None) -> list[Any]:
    inputs = find_inputs(sources, input_format)
    found: list[tuple[str, int, list[bytes]]] = []
    for batch in engine.read(inputs):
        assert isinstance(batch, DocumentBatch)
        found += records_of(record_batches(engine, batch.records()))
    found.sort(key=lambda records: records[:2])
    return [_parsed(text) for _, _, texts in found for text in texts if text.strip()]


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text.removeprefix(BOM_UTF8))
    except ValueError:
        return text.decode()


def scan(engine: Engine, *sources: str) -> Scan:
    return scan_inputs(engine, find_inputs(sources), Sample())


# --- lines of JSON, in every encoding and compression ---


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_of_json_in_any_encoding(read, encoding: str, end: str) -> None:
    text = LINES.replace("\n", end)
    assert read("a.jsonl", text.encode(encoding)) == ROWS
    assert read("b.jsonl", text.rstrip().encode(encoding)) == ROWS


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    ("ending", "compress"),
    [("gz", gzip.compress), ("bz2", bz2.compress), ("zst", zstandard.compress)],
)
def test_compressed_lines_of_json(read, encoding: str, ending: str, compress) -> None:
    if (ending, encoding) == ("zst", "utf-16"):
        pytest.skip("only Spark can look into it, and Spark cannot find the encoding")
    assert read(f"a.jsonl.{ending}", compress(LINES.encode(encoding))) == ROWS


def test_any_name_of_a_file_can_be_read(engine: Engine) -> None:
    names = [
        "a b",
        "100%",
        "a%20b",
        "größe",
        "e\u0301",
        "🚀",
        "a#b?c",
        "a'b\"",
        "a;b&c=d",
        "[1]",
        "{x}",
        "a*",
        "a,b",
        "-x",
        "a\\b",
    ]
    for number, name in enumerate(names):
        Path(f"{name}.jsonl").write_text(f'{{"n": {number}}}\n')
    found = scan(engine, *(f"{name}.jsonl" for name in names)).evidence
    assert {file: seen.documents for file, seen in found.files.items()} == {f"{name}.jsonl": 1 for name in names}
    assert {position.file for position in found.witnesses} == {min(f"{name}.jsonl" for name in names)}


def test_a_link_and_its_aim_are_two_files(engine: Engine) -> None:
    Path("a.jsonl").write_text(LINES)
    Path("b.jsonl").symlink_to("a.jsonl")
    found = scan(engine, "a.jsonl", "b.jsonl").evidence
    assert {file: seen.documents for file, seen in found.files.items()} == {"a.jsonl": 2, "b.jsonl": 2}


def test_a_file_above_the_working_folder_is_one_file(engine: Engine, work: Path, monkeypatch) -> None:
    (work / "below").mkdir()
    (work / "a.jsonl").write_text(LINES)
    monkeypatch.chdir(work / "below")
    assert list(scan(engine, "../a.jsonl").evidence.files) == [str(work / "a.jsonl")]


# --- documents of JSON ---


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_elements_of_a_list_are_records(read, indent: int | None, encoding: str) -> None:
    assert read("a.json", json.dumps(ROWS, indent=indent).encode(encoding)) == ROWS


def test_an_object_is_one_record_whose_keys_keep_their_order(read) -> None:
    document = {"z": 1, "a": {"y": [1, 2], "b": None}, "m": "x"}
    (found,) = read("a.json", json.dumps(document, indent=2))
    assert json.dumps(found) == json.dumps(document)
    (found,) = read("b.json", json.dumps([document], indent=2))
    assert json.dumps(found) == json.dumps(document)


def test_elements_of_any_kind_are_records(engine: Engine) -> None:
    text = r"""[1, 1.0, 1e3, -0.0, "1", "a \"b\"", "{\"c\":1}", true, null, {}, [], [1, "x"], ""]"""
    text = text.replace("true", "true, 123456789012345678901234567890")
    Path("a.json").write_text(text)
    found = records(engine, "a.json")
    assert list(map(repr, found)) == list(map(repr, json.loads(text)))


@pytest.mark.parametrize(
    ("text", "documents"),
    [('[{"a": 1}, ', 1), ('[{"a": 1}] x', 1), ('{"a": 1\n', 0), ("[1, 2]]", 2), ('[{"a": NaN}]', 0), ("[1,, 2]", 2)],
)
def test_what_is_no_json_in_a_list_is_a_bad_record(engine: Engine, text: str, documents: int) -> None:
    Path("a.json").write_text("\n" + text)
    found = scan_inputs(engine, find_inputs(["a.json"], "json"), Sample())
    at = 2 if ",," in text else documents + 1
    assert [record.position for record in found.bad_records] == [Position("a.json", at)]
    assert found.evidence.documents == documents


def test_a_large_list_is_read_whole(read) -> None:
    rows = [{"id": number, "text": "x" * 1_000} for number in range(18_000)]
    assert len(read("a.json", json.dumps(rows))) == len(rows)


ODD_ROWS = [{"id": number, "text": '"],[{\\' * (number % 7), "l": [[{}], number]} for number in range(400)]


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
@pytest.mark.parametrize("bad", [(), (3,), (0, 250, 399)])
def test_a_file_in_parts_gives_what_the_whole_gives(engine: Engine, cut, name: str, bad: tuple[int, ...]) -> None:
    texts = ["{no}" if at in bad else json.dumps(row) for at, row in enumerate(ODD_ROWS)]
    is_list = name.endswith(".json")
    Path(name).write_text("\n[ " + ",\n".join(texts) + "\n]\n" if is_list else "\r\n".join(texts))
    whole = scan(engine, name)
    with cut(3000):
        parts = scan(engine, name)
        assert len(engine.run(parts.documents[0].records, "schemactl.kernel.partitions", "count_partition")) > 5
    assert parts.evidence == whole.evidence
    assert parts.bad_records == whole.bad_records
    assert [record.position.number for record in whole.bad_records] == [at + 1 for at in bad]
    assert whole.evidence.documents == len(ODD_ROWS) - len(bad)


def test_many_small_files_are_read_by_few_tasks(engine: Engine) -> None:
    for number in range(200):
        Path(f"{number:03}.jsonl").write_text(f'{{"id": {number}}}\n' if number != 7 else "{no\n")
    found = scan(engine, ".")
    assert len(engine.run(found.documents[0].records, "schemactl.kernel.partitions", "count_partition")) < 5
    assert found.evidence.documents == 199
    assert [str(record.position) for record in found.bad_records] == ["007.jsonl:1"]


# --- CSV ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id,name\n1,a\n2,b\n", [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}]),
        ("id;name\r\n1;a,b\r\n", [{"id": "1", "name": "a,b"}]),
        ("id|name\n1|a\n", [{"id": "1", "name": "a"}]),
        ("id\tname\n1\ta\n", [{"id": "1", "name": "a"}]),
        ("id\n1\n2\n", [{"id": "1"}, {"id": "2"}]),
        ('"id","a ""b"""\n"1","say ""hi"""\n', [{"id": "1", 'a "b"': 'say "hi"'}]),
        ('id;"x, y, z"\n1;2\n', [{"id": "1", "x, y, z": "2"}]),
        ('id,text\n1,"two\nlines"\n2,"a\r\nb"\n', [{"id": "1", "text": "two\nlines"}, {"id": "2", "text": "a\r\nb"}]),
        ('id,"a\nb"\r\n1,x\r\n2,\r\n', [{"id": "1", "a\nb": "x"}, {"id": "2"}]),
        ('id,"a\r\nb"\n1,x\n2,\n', [{"id": "1", "a\r\nb": "x"}, {"id": "2"}]),
        ('"a\nb";c;d\n1,5;2;3\n', [{"a\nb": "1,5", "c": "2", "d": "3"}]),
        ('id,text\n1,\n2,""\n', [{"id": "1"}, {"id": "2"}]),
        ("id,name\n1\n2,b\n", [{"id": "1"}, {"id": "2", "name": "b"}]),
        ("id,name\n1,a,\n", [{"id": "1", "name": "a"}]),
        ("id,name\n1, a \n", [{"id": "1", "name": " a "}]),
        ("a.b,c`d, e\n1,2,3\n", [{"a.b": "1", "c`d": "2", " e": "3"}]),
        ("id,name", []),
        ("", []),
        ("id,name\n\n1,a\n\n", [{"id": "1", "name": "a"}]),
        ("z,a\n1,2\n", [{"z": "1", "a": "2"}]),
    ],
)
def test_csv(read, text: str, expected: list[Any]) -> None:
    found = read("a.csv", text)
    assert found == expected
    assert [list(row) for row in found] == [list(row) for row in expected]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "utf-16"])
def test_csv_in_any_encoding(read, encoding: str) -> None:
    assert read("a.csv", "größe,b\n1,é\n".encode(encoding)) == [{"größe": "1", "b": "é"}]


def test_compressed_csv_with_its_own_separator(read) -> None:
    text = b"id;name\n1;a, b\n"
    for ending, compress in (("gz", gzip.compress), ("zst", zstandard.compress)):
        assert read(f"a.csv.{ending}", compress(text)) == [{"id": "1", "name": "a, b"}]


def test_csv_rows_with_cells_that_have_no_column_are_bad(engine: Engine) -> None:
    Path("a.csv").write_text("id,name\n1,a\n2,b,c\n[3,4,5]\n")
    found = scan(engine, "a.csv")
    assert [(bad.position.number, bad.text) for bad in found.bad_records] == [
        (3, "more cells than columns: 2, b, c"),
        (4, "more cells than columns: [3, 4, 5]"),
    ]
    assert found.evidence.documents == 1


def test_the_line_in_which_excel_states_the_separator_is_no_header(engine: Engine, read) -> None:
    assert read("a.csv", 'sep=;\r\nid;name\r\n1;"a, b\nc"\r\n') == [{"id": "1", "name": "a, b\nc"}]
    assert read("b.csv", '"sep=|"\nid|name|id|\n1|a|2|x\n') == [{"id0": "1", "name": "a", "id2": "2", "_c3": "x"}]
    assert read("c.csv", "sep=;\nid;name\n") == []
    Path("d.csv").write_text("sep=;\nid;name\n1;a\n2;b;c\n")
    found = scan(engine, "d.csv")
    (problem,) = explain_bad_records(found.bad_records, found.inputs)
    assert str(problem) == "d.csv:4, row 3: this row has more cells (3) than columns (2): 2;b;c"


def test_csv_files_of_several_headers_are_read_by_their_own(engine: Engine) -> None:
    Path("a.csv").write_text("id,name\n1,a\n")
    Path("b.csv").write_text("name;id\nb;2\n")
    Path("c.csv").write_text("id,name\n3,c\n")
    assert records(engine, "a.csv", "b.csv", "c.csv") == [
        {"id": "1", "name": "a"}, {"name": "b", "id": "2"}, {"id": "3", "name": "c"},
    ]  # fmt: skip


def test_csv_headers_that_differ_behind_a_line_break_are_read_by_their_own(engine: Engine) -> None:
    Path("a.csv").write_text('"id\nno",name,age\n1,a,7\n')
    Path("b.csv").write_text('"id\nno",age,name\n2,8,b\n')
    assert records(engine, "a.csv", "b.csv") == [
        {"id\nno": "1", "name": "a", "age": "7"}, {"id\nno": "2", "age": "8", "name": "b"},
    ]  # fmt: skip


def test_csv_in_another_encoding_is_reported_by_line(engine: Engine) -> None:
    Path("a.csv").write_bytes("id,name\n1,a\n2,é\n".encode("latin-1"))
    with pytest.raises(InputError, match="the file is not UTF-8") as caught:
        scan(engine, "a.csv")
    assert str(caught.value.at) == "a.csv:3"


def test_tsv(read) -> None:
    assert read("a.tsv", 'id\tname, or so\n1\ta,b;"c"\n2\t"x\ty"\n') == [
        {"id": "1", "name, or so": 'a,b;"c"'},
        {"id": "2", "name, or so": "x\ty"},
    ]


def test_the_customers_fixture_is_what_pythons_reader_says(engine: Engine, fixtures: Path) -> None:
    import csv

    with (fixtures / "customers.csv").open(encoding="utf-8", newline="") as file:
        expected = [{key: cell for key, cell in row.items() if cell} for row in csv.DictReader(file)]
    assert records(engine, str(fixtures / "customers.csv")) == expected


# --- text and XML ---


def test_text_is_a_row_for_each_line(read) -> None:
    assert read("a.txt", '\ufeffone\n\n{"id": 1}\r\nlast "é"') == [
        {"value": "one"}, {"value": ""}, {"value": '{"id": 1}'}, {"value": 'last "é"'},
    ]  # fmt: skip
    assert read("b.txt", "é\n".encode("utf-16")) == [{"value": "é"}]


XML = """<?xml version="1.0"?>
<!-- a comment -->
<shop>
  <item sku="a1"><price>1.50</price><tag>x</tag><tag>y</tag></item>
  <item sku="b2"><price>2</price><size><cm>3</cm></size></item>
</shop>
"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_the_elements_below_the_root_of_xml_are_records(read, encoding: str) -> None:
    assert read("a.xml", XML.encode(encoding)) == [
        {"_sku": "a1", "price": "1.50", "tag": ["x", "y"]},
        {"_sku": "b2", "price": "2", "size": {"cm": "3"}},
    ]


def test_xml_with_namespaces(read) -> None:
    text = '<s:shop xmlns:s="http://s"><s:item><s:price>1</s:price></s:item></s:shop>'
    assert read("a.xml", text) == [{"s:price": "1"}]


def test_the_named_elements_of_xml_are_records(read) -> None:
    text = "<export><book><t>a</t></book><cd><t>b</t></cd><cd><t>c</t></cd></export>"
    assert read("a.xml", text, "xml:cd") == [{"t": "b"}, {"t": "c"}]
    assert read("a.xml", text, "xml:export") == [{"book": {"t": "a"}, "cd": [{"t": "b"}, {"t": "c"}]}]


def test_xml_in_another_encoding(read) -> None:
    text = XML.replace('version="1.0"', 'version="1.0" encoding="UTF-16"').replace("1.50", "é")
    assert read("a.xml", text.encode("utf-16"))[0]["price"] == "é"


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("<a>\n<b></c></a>", "this is not XML", "a.xml:2:6"),
        ("<a/>", "no element below the root", "a.xml"),
        ("", "no element found", "a.xml:1:1"),
    ],
)
def test_what_is_no_xml_is_reported(engine: Engine, text: str, message: str, place: str) -> None:
    Path("a.xml").write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        scan(engine, "a.xml")
    assert str(caught.value.at) == place


# --- formats that state their types ---

PLAIN = pyarrow.schema(
    {
        "b": pyarrow.bool_(), "i8": pyarrow.int8(), "i16": pyarrow.int16(), "i32": pyarrow.int32(),
        "i64": pyarrow.int64(), "f32": pyarrow.float32(), "f64": pyarrow.float64(), "s": pyarrow.string(),
        "bin": pyarrow.binary(), "day": pyarrow.date32(), "utc": pyarrow.timestamp("us", "UTC"),
        "local": pyarrow.timestamp("us"), "money": pyarrow.decimal128(10, 2), "large": pyarrow.decimal128(38,
        9), "whole": pyarrow.decimal128(20, 0),
    }
)  # fmt: skip


def dlt_columns(schema: pyarrow.Schema) -> dict[str, dict[str, Any]]:
    from dlt.common.libs.pyarrow import py_arrow_to_table_schema_columns

    columns = py_arrow_to_table_schema_columns(schema)
    return {
        name: {key: value for key, value in column.items() if key not in ("name", "nullable")}
        for name, column in columns.items()
    }


def stated(engine: Engine, *sources: str) -> dict[Any, Any]:
    return {path: dict(column) for path, column in scan(engine, *sources).evidence.declared.items()}


def test_parquet_types_are_what_dlt_makes_of_the_same_arrow_types(engine: Engine) -> None:
    schema = PLAIN.append(pyarrow.field("t", pyarrow.time64("us"))).append(pyarrow.field("t9", pyarrow.time64("ns")))
    pyarrow.parquet.write_table(schema.empty_table(), "a.parquet")
    found = stated(engine, "a.parquet")
    assert {path[0]: column for path, column in found.items()} == dlt_columns(schema)
    assert list(found) == [(name,) for name in schema.names]


def test_orc_types_are_what_dlt_makes_of_the_same_arrow_types(engine: Engine) -> None:
    row = {
        "b": True, "i8": 1, "i16": 1, "i32": 1, "i64": 1, "f32": 1.0, "f64": 1.0, "s": "x", "bin": b"x",
        "day": datetime.date(2024, 1, 1), "utc": datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
        "local": datetime.datetime(2024, 1, 1), "money": decimal.Decimal("1.00"), "large": decimal.Decimal("1"),
        "whole": decimal.Decimal("1"),
    }  # fmt: skip
    pyarrow.orc.write_table(pyarrow.Table.from_pylist([row], schema=PLAIN), "a.orc")
    found = {path[0]: column for path, column in stated(engine, "a.orc").items()}
    # Spark reads both of ORC's types of timestamps as those with a time zone.
    assert found == {**dlt_columns(PLAIN), "local": found["utc"]}


def test_nested_types_are_gone_into_and_maps_are_kept(engine: Engine) -> None:
    schema = pyarrow.schema(
        {
            "st": pyarrow.struct({"a": pyarrow.int64(), "A": pyarrow.string()}),
            "li": pyarrow.list_(pyarrow.struct({"x": pyarrow.list_(pyarrow.date32())})),
            "mp": pyarrow.map_(pyarrow.string(), pyarrow.int64()),
            "a.b": pyarrow.string(),
        }
    )
    pyarrow.parquet.write_table(schema.empty_table(), "a.parquet")
    assert {path: column["data_type"] for path, column in stated(engine, "a.parquet").items()} == {
        ("st", "a"): "bigint",
        ("st", "A"): "text",
        ("li", None, "x", None): "date",
        ("mp",): "json",
        ("a.b",): "text",
    }


@pytest.mark.parametrize("unit", ["s", "ms", "ns"])
def test_timestamps_of_other_units_are_timestamps(engine: Engine, unit: str) -> None:
    kinds = {"utc": pyarrow.timestamp(unit, "UTC"), "local": pyarrow.timestamp(unit)}
    schema = pyarrow.schema({**kinds, "a.`b": pyarrow.list_(kinds["utc"])})
    pyarrow.parquet.write_table(schema.empty_table(), "a.parquet")
    found = stated(engine, "a.parquet")
    assert {column["data_type"] for column in found.values()} == {"timestamp"}
    assert found[("local",)]["timezone"] is False


def test_durations_are_numbers_of_their_unit_with_a_warning(engine: Engine) -> None:
    lists = pyarrow.array([[{"of": 1}]], pyarrow.list_(pyarrow.struct({"of": pyarrow.duration("ms")})))
    table = pyarrow.table({"took": pyarrow.array([90], pyarrow.duration("s")), "laps": lists})
    pyarrow.parquet.write_table(table, "a.parquet")
    pyarrow.parquet.write_table(table, "b.parquet")
    expected = (
        r"durations in `a.parquet`, `b.parquet` are read as whole numbers of their unit: `took` \(seconds\), `laps`"
    )
    with pytest.warns(LeftOutWarning, match=expected) as warned:
        found = stated(engine, "a.parquet", "b.parquet")
    assert len([each for each in warned if "durations" in str(each.message)]) == 1
    assert found[("took",)]["data_type"] == "bigint"


def test_nanoseconds_that_are_cut_are_counted(engine: Engine) -> None:
    moments = pyarrow.array([1_700_000_000_123_456_789, 1_700_000_000_000_001_000, None], pyarrow.int64())
    zoned, naive = (moments.cast(pyarrow.timestamp("ns", zone)) for zone in ("UTC", None))
    whole = pyarrow.array([1000, 2000, None], pyarrow.timestamp("ns"))
    table = pyarrow.table({"at": zoned, "local": naive, "whole": whole})
    pyarrow.parquet.write_table(table, "a.parquet")
    (rows,) = scan(engine, "a.parquet").rows
    with pytest.warns(LeftOutWarning, match="microseconds: 1 in `at`, 1 in `local`$"):
        rows.batch.warn_of_nanoseconds()


def test_nanoseconds_within_structs_and_lists_are_cut_and_counted(engine: Engine) -> None:
    moments = pyarrow.array([1_700_000_000_123_456_789, 1000], pyarrow.int64()).cast(pyarrow.timestamp("ns"))
    nested = pyarrow.StructArray.from_arrays([moments], ["at"])
    lists = pyarrow.ListArray.from_arrays([0, 1, 2], moments)
    pyarrow.parquet.write_table(pyarrow.table({"nested": nested, "lists": lists}), "a.parquet")
    with pytest.warns(LeftOutWarning, match="are cut to microseconds: 1 in `nested`, 1 in `lists`$"):
        scan(engine, "a.parquet")


def test_parquet_files_are_counted_and_their_columns_merged(engine: Engine) -> None:
    Path("d").mkdir()
    pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2]}), "d/a.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"id": [3], "name": ["x"]}), "d/b 1.parquet")
    found = scan(engine, "d").evidence
    assert {file: seen.documents for file, seen in found.files.items()} == {"d/a.parquet": 2, "d/b 1.parquet": 1}
    assert [path[0] for path in found.declared] == ["id", "name"]


def test_a_parquet_column_of_nulls_states_no_type(engine: Engine) -> None:
    Path("d").mkdir()
    nulls = pyarrow.nulls(1)
    pyarrow.parquet.write_table(pyarrow.table({"id": [1], "day": nulls, "none": nulls}), "d/a.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"id": [2], "day": [datetime.date(2024, 1, 2)]}), "d/b.parquet")
    found = scan(engine, "d").evidence
    assert {path[0]: column["data_type"] for path, column in found.declared.items()} == {"id": "bigint", "day": "date"}
    assert found.documents == 2
    assert not found.conflicting_types


def test_a_parquet_column_of_nulls_beside_timestamps_of_nanoseconds(engine: Engine) -> None:
    # As pandas writes a frame with an empty column and a moment: PySpark has no name for the type of the latter.
    moments = pyarrow.array([datetime.datetime(2024, 1, 2)], pyarrow.timestamp("ns"))
    pyarrow.parquet.write_table(pyarrow.table({"at": moments, "none": pyarrow.nulls(1)}), "a.parquet")
    found = scan(engine, "a.parquet").evidence
    assert {path[0]: column["data_type"] for path, column in found.declared.items()} == {"at": "timestamp"}


def test_an_orc_file_that_breaks_off_is_reported_as_such(engine: Engine) -> None:
    pyarrow.orc.write_table(pyarrow.table({"id": list(range(1000))}), "a.orc")
    whole = Path("a.orc").read_bytes()
    Path("a.orc").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="the footer of the file cannot be read: invalid ORC postscript") as caught:
        scan(engine, "a.orc")
    assert (str(caught.value.at), caught.value.hint) == ("a.orc", "was it written to the end?")


def test_parquet_files_that_do_not_agree_are_read_by_their_columns(engine: Engine) -> None:
    Path("d").mkdir()
    for name, numbers in {"a": [1, 2], "b": [1.5], "c": [3]}.items():
        pyarrow.parquet.write_table(pyarrow.table({"id": numbers}), f"d/{name}.parquet")
    found = scan(engine, "d")
    assert len(found.rows) == 2
    assert found.evidence.documents == 4
    assert found.evidence.declared == {("id",): {"data_type": "double"}}
    assert found.evidence.conflicting_types == {("id",): {"bigint", "double"}}


@pytest.mark.spark
def test_a_table_of_the_catalogue(spark: SparkSession, spark_engine: Engine) -> None:
    spark.sql("SELECT 1 AS id, 'x' AS name, CAST('x' AS CHAR(3)) AS c, INTERVAL 1 DAY AS i").createOrReplaceTempView(
        "rows"
    )
    try:
        found = scan(spark_engine, "table:rows").evidence
    finally:
        spark.catalog.dropTempView("rows")  # others use the session, too
    assert found.files["table:rows"].documents == 1
    assert found.declared[("id",)] == {"data_type": "bigint", "precision": 32}
    assert found.declared[("i",)] == {"data_type": "text"}


def test_types_of_a_row_without_columns() -> None:
    from pyspark.sql.types import StructType

    assert column_properties(StructType()) == {}


# --- files that are not what they seem ---


def failure(engine: Engine, *sources: str) -> SchemactlError:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - what Spark raises is explained as the commands do
        scan(engine, *sources)
    return explain_failure(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.parquet", b"no parquet at all"),
        ("a.orc", b"no orc at all"),
        ("a.parquet", b""),
        ("a.jsonl.gz", gzip.compress(bytes(3_000_000), mtime=0)[:-200] + b"x"),
        ("a.csv.gz", gzip.compress(LINES.encode() * 50_000, mtime=0)[:-500]),
        ("a.jsonl.zst", b"no zstandard at all"),
    ],
)
def test_a_broken_file_is_reported_by_its_name(engine: Engine, name: str, content: bytes) -> None:
    Path(name).write_bytes(content)
    error = failure(engine, name)
    assert isinstance(error, InputError)
    assert name in str(error)


def test_a_broken_parquet_file_is_reported_with_its_row_group_and_the_reason(engine: Engine) -> None:
    rows = pyarrow.table({"id": range(100), "name": [f"text {number}" for number in range(100)]})
    pyarrow.parquet.write_table(rows, "a.parquet", row_group_size=25)
    start = pyarrow.parquet.read_metadata("a.parquet").row_group(2).column(1).data_page_offset
    content = bytearray(Path("a.parquet").read_bytes())
    content[start : start + 40] = b"\xff" * 40
    Path("a.parquet").write_bytes(content)
    found = scan_inputs(engine, find_inputs(["a.parquet"]), Sample(), counts_values=False).evidence
    assert found.documents == 100
    error = failure(engine, "a.parquet")
    assert isinstance(error, InputError)
    assert "row group 3 of 4 (rows 51 to 75), column `name`: " in error.message

    Path("b.parquet").write_bytes(content[:-20])
    message = failure(engine, "b.parquet").message
    assert "the footer of the file cannot be read: parquet magic bytes not found" in message


@pytest.mark.spark
def test_a_missing_table_is_reported(spark_engine: Engine) -> None:
    assert str(failure(spark_engine, "table:no.such")).startswith("there is no table `no`.`such`")


HOSTILE = {
    "latin1.jsonl": [1],
    "malformed.jsonl": [3],
    "nan.jsonl": [2, 3, 4],
    "numbers.jsonl": [12],
    "surrogates.jsonl": [2],
    "trailing_garbage.jsonl": [2],
}
"""Lines that cannot be read. The other files there are whole (test_scan.py), or cannot be opened."""


def test_hostile_fixtures_with_bad_records_are_reported_by_line(engine: Engine, fixtures: Path) -> None:
    found = scan(engine, *(str(fixtures / "hostile" / name) for name in HOSTILE))
    lines: dict[str, list[int]] = {name: [] for name in HOSTILE}
    for record in found.bad_records:
        lines[Path(record.position.file).name].append(record.position.number)
    assert lines == HOSTILE


def test_hostile_fixtures_in_other_forms_hold_the_same_rows(engine: Engine, fixtures: Path) -> None:
    folder = fixtures / "hostile"
    expected = [{"id": number, "name": f"row {number}"} for number in range(1, 6)]
    for name in ("blank_lines", "bom", "cr", "crlf", "no_final_newline", "utf16"):
        assert records(engine, str(folder / f"{name}.jsonl")) == expected
    assert records(engine, str(folder / "whole.jsonl.gz")) == expected
    assert records(engine, str(folder / "empty.jsonl")) == []


@pytest.mark.parametrize("name", ["truncated.jsonl.gz", "not_gzip.jsonl.gz"])
def test_hostile_fixtures_that_cannot_be_opened_are_reported(engine: Engine, fixtures: Path, name: str) -> None:
    error = failure(engine, str(fixtures / "hostile" / name))
    assert isinstance(error, InputError)
    assert name in str(error)


def test_every_hostile_fixture_has_an_outcome(fixtures: Path) -> None:
    here = Path(__file__).read_text() + Path(__file__).with_name("test_scan.py").read_text()
    known = [file.name for file in (fixtures / "hostile").iterdir() if file.name.partition(".")[0] in here]
    assert sorted(known) == sorted(file.name for file in (fixtures / "hostile").iterdir())

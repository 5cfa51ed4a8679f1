"""``--typing``: columns of texts become typed ones on their way to a schema and to tables."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from loading_shop import LOCAL, Shop

from schemactl.arc.fields import OnError
from schemactl.errors import CommandWarning, InputError
from schemactl.flows.export import ExportRequest, export
from schemactl.flows.import_ import ImportRequest, import_files
from schemactl.flows.infer import InferRequest, infer
from schemactl.flows.schemas import open_schemas
from schemactl.flows.typing import TypingSource, find_typing
from schemactl.inference.evidence import Position
from schemactl.normalization.report import NormalizeReport, Outcome, Stop
from schemactl.store.folder import SchemasFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIELDS: list[dict[str, Any]] = [
    {"id": "c1", "name": "id", "type": "long", "nullable": False, "description": "Key"},
    {
        "name": "born", "type": "date", "nullable": True, "trim": True, "nullableValues": ["", "N/A"],
        "formatters": ["uuuu-MM-dd", "dd/MM/uuuu"], "metadata": {"pii": True},
    },
    {"name": "amount", "type": "decimal", "precision": 10, "scale": 2, "nullable": True, "formatters": ["#,##0.#;(#)"]},
    {
        "name": "seen", "type": "timestamp", "nullable": True, "formatters": ["uuuu-MM-dd HH:mm:ss"],
        "timezoneId": "Europe/Paris",
    },
]  # fmt: skip

ROWS = """id,born,amount,seen
1,2020-01-02,"1,234.50",2021-03-28 02:30:00
2,31/12/1999,(7),2021-01-01 00:00:00
3, N/A ,x,soon
4,,5,
"""
NOT_NUMBER = "Unable to convert 'x' to decimal(10, 2) using formatters ['#,##0.#;(#)']"
NOT_INSTANT = (
    "Unable to convert 'soon' to timestamp using formatters ['uuuu-MM-dd HH:mm:ss'] and timezone 'Europe/Paris'"
)


def source_of(on_error: str | None = None, fields: list[dict[str, Any]] | None = None) -> TypingSource:
    Path("customer.arc.json").write_text(json.dumps(fields or FIELDS))
    return find_typing("customer.arc.json", on_error, SchemasFolder.at(Path("schemas")))


def load(shop: Shop, text: str = ROWS, on_error: str | None = None, **options: Any) -> NormalizeReport:
    Path("customer.csv").write_text(text)
    return shop.load("customer.csv", table="customer", typing=source_of(on_error), **options)


def test_texts_are_loaded_typed_with_their_errors_beside_them(shop: Shop):
    report = load(shop)
    assert (report.outcome, report.rows_loaded) == (Outcome.LOADED, 4)
    rows = shop.rows("customer", "id", "born", "amount", "seen", "_errors")
    instants = [datetime(2021, 3, 28, 1, 30, tzinfo=UTC), datetime(2020, 12, 31, 23, tzinfo=UTC)]
    assert [row[:4] for row in rows] == [
        (1, date(2020, 1, 2), Decimal("1234.50"), instants[0]),
        (2, date(1999, 12, 31), Decimal("-7.00"), instants[1]),
        (3, None, None, None),
        (4, None, Decimal("5.00"), None),
    ]
    assert [json.loads(row[4]) for row in rows] == [
        [],
        [],
        [{"field": "amount", "message": NOT_NUMBER}, {"field": "seen", "message": NOT_INSTANT}],
        [],
    ]
    assert report.inference is not None
    findings = report.inference.typing
    footer = pyarrow.parquet.read_schema(next(iter(Path("warehouse/customer").glob("*.parquet"))))
    assert footer.field("id").metadata == {b"description": b"Key"}
    assert footer.field("born").metadata == {b"pii": b"true"}
    assert [(finding.column, finding.count, finding.first, finding.stops) for finding in findings] == [
        ("amount", 1, Position("customer.csv", 4), False),
        ("seen", 1, Position("customer.csv", 4), False),
    ]
    schema = open_schemas(SchemasFolder.at(Path("schemas")), "shop").schema
    assert schema is not None
    columns = schema.tables["customer"].columns
    assert columns["id"].properties == {
        "data_type": "bigint", "nullable": False, "description": "Key", "x-id": "c1", "x-typing": {"type": "long"},
    }  # fmt: skip
    assert columns["born"].properties["x-metadata"] == {"pii": True}


def test_spark_reads_the_metadata_of_typed_columns(shop: Shop, spark: SparkSession):
    load(shop)
    columns = spark.read.parquet(str(shop.folder / "warehouse/customer")).schema
    assert columns["id"].metadata == {"description": "Key", "comment": "Key"}
    assert (columns["born"].metadata, columns["amount"].metadata) == ({"pii": True}, {})
    assert [columns[name].dataType.simpleString() for name in ("amount", "seen")] == ["decimal(10,2)", "timestamp"]


def test_rows_with_errors_are_rejected_with_their_place_and_text(shop: Shop):
    report = load(shop, on_error="reject")
    assert report.outcome is Outcome.LOADED
    assert [(table.read, table.loaded, table.rejected) for table in report.tables] == [(4, 3, 1)]
    assert [row[0] for row in shop.rows("customer", "id")] == [1, 2, 4]
    rejects = shop.rows("_rejects", "column_name", "found", "value", "file", "line", "row")
    text = json.dumps({"id": "3", "born": " N/A ", "amount": "x", "seen": "soon"})
    assert [(*row[:5], json.loads(row[5])) for row in rejects] == [
        ("amount", NOT_NUMBER, "x", "customer.csv", 4, json.loads(text)),
        ("seen", NOT_INSTANT, "soon", "customer.csv", 4, json.loads(text)),
    ]
    assert "_errors" not in pyarrow.parquet.read_schema(next(Path("warehouse").rglob("customer/*.parquet"))).names


@pytest.mark.parametrize(
    ("text", "on_error"),
    [
        (ROWS, "fail"),
        ("id,born,amount,seen\n,,,\n", "column"),
        ("id,born,amount,seen\nx,,,\n", "reject"),
        ("id,born,amount,seen\n1,,x,\n2,N/A,y,\n", None),
    ],
)
def test_nothing_is_written_where_errors_stop_the_load(shop: Shop, text: str, on_error: str | None):
    report = load(shop, text, on_error)
    assert (report.outcome, report.stops) == (Outcome.STOPPED, (Stop.TYPING,))
    assert not Path("warehouse").exists()
    assert not Path("schemas").exists()


@pytest.mark.parametrize(("on_error", "rows"), [("column", 2), ("reject", 1)])
def test_a_column_of_errors_alone_is_loaded_where_the_call_says_what_becomes_of_errors(
    shop: Shop, on_error: str, rows: int
):
    report = load(shop, "id,born,amount,seen\n1,,x,\n2,,,\n", on_error)
    assert (report.outcome, report.rows_loaded) == (Outcome.LOADED, rows)
    assert report.inference is not None
    assert [(finding.count, finding.converted, finding.stops) for finding in report.inference.typing] == [(1, 0, False)]


def test_rows_that_are_too_long_are_bad_records(shop: Shop):
    report = load(shop, "id,born,amount,seen\n1,,,\n2,,,,x\n3,,,\n", on_bad_record="skip")
    assert (report.documents, report.bad) == (2, 1)
    assert [row[0] for row in shop.rows("customer", "id")] == [1, 3]
    with pytest.raises(InputError, match="1 record cannot be read"):
        load(shop, "id,born,amount,seen\n1,,,\n2,,,,x\n", load_id="2")


def test_columns_are_found_by_name_else_by_place(shop: Shop):
    other = "seen,amount,id,born\n,1,7,\n"
    load(shop, other)
    assert shop.rows("customer", "id", "amount") == [(7, Decimal("1.00"))]
    with pytest.warns(CommandWarning, match="`w` as `id`"):
        load(shop, "w,x,y,z\n8,,2,\n", load_id="2")
    assert sorted(row[0] for row in shop.rows("customer", "id")) == [7, 8]
    with pytest.raises(InputError, match="4 fields and the data 3 columns: the source does not have `seen`"):
        load(shop, "id,born,amount\n1,,\n", load_id="3")


def test_text_columns_of_parquet_are_typed_and_columns_of_the_type_are_taken_as_they_are(shop: Shop):
    table = pa.table(
        {"id": pa.array([1, None], pa.int64()), "born": ["2020-01-01", "x"], "amount": ["1", "2"], "seen": ["", ""]}
    )
    pyarrow.parquet.write_table(table, "customer.parquet")
    fields = [{**FIELDS[0], "nullable": True}, *FIELDS[1:3], {**FIELDS[3], "nullableValues": [""]}]
    shop.load("customer.parquet", table="customer", typing=source_of("column", fields))
    assert shop.rows("customer", "id", "born", "amount") == [
        (1, date(2020, 1, 1), Decimal("1.00")),
        (None, None, Decimal("2.00")),
    ]
    pyarrow.parquet.write_table(table.set_column(0, "id", pa.array([1.5, 2.5])), "customer.parquet")
    with pytest.raises(InputError, match="the column `id` is `double`, not text that could become `long`"):
        shop.load("customer.parquet", table="customer", typing=source_of("column", fields), load_id="2")


def test_texts_that_stand_for_null_are_null_in_any_source_of_texts(shop: Shop):
    Path("customer.csv").write_text('id,name\n1,N/A\nN/A,"it\'s ""-"""\n3,-\n')
    report = shop.load("customer.csv", table="customer", null_values=("N/A", "-", 'it\'s "-"'))
    assert shop.rows("customer", "id", "name") == [(1, None), (3, None), (None, None)]
    assert report.inference is not None
    Path("customer.csv").write_text(ROWS.replace("soon", "-").replace(",x,", ",N/A,"))
    typed = shop.load("customer.csv", name="crm", table="customer", typing=source_of("fail"), null_values=("N/A", "-"))
    assert typed.outcome is Outcome.LOADED


def test_infer_states_the_typed_columns_and_refuses_what_stops(shop: Shop):
    Path("customer.csv").write_text(ROWS)
    request = InferRequest(("customer.csv",), "crm", None, Path("schemas"), typing=source_of("fail"), engine=LOCAL)
    refused = infer(request)
    assert (refused.is_refused, refused.saved, refused.written) == (True, False, ())
    report = infer(replace(request, typing=source_of()))
    assert report.saved
    schema = open_schemas(SchemasFolder.at(Path("schemas")), "crm").schema
    assert schema is not None
    columns = schema.tables["customer"].columns
    types = {name: str(column.data_type) for name, column in columns.items() if not name.startswith("_dlt")}
    assert types == {"id": "bigint", "born": "date", "amount": "decimal", "seen": "timestamp", "_errors": "json"}


def test_a_schema_that_was_imported_is_a_typing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("customer.arc.json").write_text(json.dumps(FIELDS))
    import_files(ImportRequest((Path("customer.arc.json"),), None, "crm", Path("schemas")))
    folder = SchemasFolder.at(Path("schemas"))
    named = find_typing("crm", "reject", folder)
    assert named.task.on_error is OnError.REJECT
    assert named.task.typing == find_typing("customer.arc.json", "reject", folder).task.typing
    with pytest.raises(InputError, match="no file and no schema `crn`") as caught:
        find_typing("crn", "column", folder)
    assert caught.value.hint == "did you mean `crm`?"


def test_a_field_cannot_have_the_name_of_the_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="a field cannot be called `_errors`"):
        source_of(fields=[{"name": "_errors", "type": "string", "nullable": True}])


def test_a_typing_is_read_from_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source_of()
    folder = SchemasFolder.at(Path("schemas"))
    typing = find_typing((tmp_path / "customer.arc.json").as_uri(), "column", folder)
    assert [field.name for field in typing.task.typing.fields] == ["id", "born", "amount", "seen"]
    with pytest.raises(InputError, match="cannot read the typing `file:///no/such"):
        find_typing("file:///no/such.arc.json", "column", folder)
    with pytest.raises(InputError, match="cannot read the typing `nothing://bucket"):
        find_typing("nothing://bucket/a.json", "column", folder)


def test_an_arc_schema_states_the_patterns_of_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source_of(
        fields=[{"id": name, "name": name, "type": "string", "nullable": True} for name in ("id", "born", "Full Name")]
    )
    import_files(ImportRequest(("customer.arc.json",), "arc", "crm", Path("schemas")))
    Path("data.csv").write_text('id,born,Full Name,new\n1,31/12/1999,"Ann, B.",x\n2,N/A,Bob,y\n')
    call = ExportRequest("crm", "arc", None, Path("schemas"))
    (exported,) = export(replace(call, data=Path("data.csv")))
    fields = {field["id"]: field for field in json.loads(exported.text)}
    assert {name: (field["name"], field["type"]) for name, field in fields.items()} == {
        "id": ("id", "long"), "born": ("born", "date"), "Full Name": ("Full Name", "string")
    }  # fmt: skip
    assert (fields["born"]["formatters"], fields["born"]["nullableValues"]) == (["dd/MM/uuuu"], ["N/A"])
    with pytest.raises(InputError, match="`--data` needs `--to arc`"):
        export(replace(call, to="avro", data=Path("data.csv")))
    with pytest.raises(InputError, match="cannot read `nothing"):
        export(replace(call, data=Path("nothing.csv")))
    Path("other.csv").write_text("a,b\n1,2\n")
    Path("other.jsonl").write_text('{"id": 1}\n')
    with pytest.raises(InputError, match=r"cannot read `other\.jsonl`: it is not a local file of CSV or TSV"):
        export(replace(call, data=Path("other.jsonl")))
    with pytest.raises(InputError, match="has no column of the table"):
        export(replace(call, data=Path("other.csv")))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.csv", b"id;born;phone\n1;31/12/1999;+4750539173\n2;01/01/2000;+47505\n"),
        ("data.csv", b"id|born|phone\r\n1|31/12/1999|+4750539173\r\n"),
        ("data.csv", b'sep=;\n"id";"born";"phone"\n1;31/12/1999;"+47;5"\n'),
        ("data.csv", "\ufeffid;born;phone\n1;31/12/1999;+47\n".encode("utf-16")),
        ("data.csv.gz", gzip.compress(b"id;born;phone\n1;31/12/1999;+47\n", mtime=0)),
        ("data.tsv", b"id\tborn\tphone\n1\t31/12/1999\t+47\n"),
        ("data.tab", b"id\tborn\tphone\n1\t31/12/1999\t+47\n"),
    ],
)
def test_the_data_of_an_arc_schema_is_read_as_infer_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    source_of(
        fields=[{"id": name, "name": name, "type": "string", "nullable": True} for name in ("id", "born", "phone")]
    )
    import_files(ImportRequest(("customer.arc.json",), "arc", "crm", Path("schemas")))
    Path(name).write_bytes(content)
    (exported,) = export(replace(ExportRequest("crm", "arc", None, Path("schemas")), data=Path(name)))
    types = {field["id"]: field["type"] for field in json.loads(exported.text)}
    assert types == {"id": "long", "born": "date", "phone": "string"}

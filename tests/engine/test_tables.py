"""Tables that engines make of documents hold what a plan says, value by value, whatever the partitions and sources."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cached_property

import pytest
from rows_contract import (
    EMPTY,
    LOAD,
    NOW,
    RowsContract,
    as_set,
    assert_interpreted,
    root_key,
    with_key,
    with_table,
)

from schemactl.engine.input import shown_path
from schemactl.engine.inputs import find_inputs
from schemactl.engine.package import write_rows
from schemactl.engine.scan import scan_inputs
from schemactl.inference.resolve import resolve
from schemactl.inference.sample import Sample
from schemactl.normalization.normalizers import make_plan
from schemactl.normalization.plan import RowKey
from schemactl.normalization.request import PlanRequest
from schemactl.normalization.tally import STORED_REJECTS_COLUMNS, LoadTime, RowCounts
from schemactl.schema.judgment import judge
from schemactl.schema.types import Column, DataType, Table


class Made:
    """One load: its plan, what was written, and the tables read back."""

    def __init__(self, engine, folder, sources, before=EMPTY, contract=None, change=lambda plan: plan):
        self.scan = scan_inputs(engine, find_inputs([str(source) for source in sources]), Sample())
        resolution = resolve(self.scan.evidence, before, "t")
        request = PlanRequest(self.scan.evidence, resolution, judge(before, resolution.schema, contract))
        self.plan = change(make_plan(request))
        plans = {("",): self.plan}
        (self.written,) = write_rows(engine, self.scan, plans, LoadTime(LOAD, NOW), folder / "rows").values()
        self.tally = self.written.tally
        self.file = shown_path(sources[0].as_uri())
        self.violations = self.written.rejected

    def rows(self, table):
        folder = self.written.folders.get(table)
        return read(folder) if folder else []

    @cached_property
    def rejected(self):
        rejects = self.written.rejects
        rows = read(rejects.folder) if rejects else []
        assert not rejects or rejects.rows == len(rows)
        return rows


def read(folder):
    import pyarrow.dataset

    files = [str(file) for file in folder.glob("*.parquet")]
    assert files
    return pyarrow.dataset.dataset(files).to_table().to_pylist()


def write(file, documents):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{json.dumps(document)}\n" for document in documents), encoding="utf-8")
    return file


class TestRowsOfEngines(RowsContract):
    reject_columns = STORED_REJECTS_COLUMNS

    @pytest.fixture
    def make(self, engine, tmp_path):
        def make_rows(documents, *options, **named_options):
            return Made(engine, tmp_path, [write(tmp_path / "data.jsonl", documents)], *options, **named_options)

        return make_rows


def test_texts_like_the_marks_of_large_integers_and_nulls_stay_texts(engine, tmp_path):
    documents = [
        {"t": "\ufdd0", "n": 2**64, "j": {"t": "word", "n": [2**64, "1"]}},
        {"t": "\ufdd012", "n": "\ufdd0", "j": {"t": "\ufdd0", "n": ["\0null", "\ufdd0 1"]}},
        {"t": "\0null", "n": -(2**70)},
    ]
    file = write(tmp_path / "marks.jsonl", documents)
    assert_interpreted(Made(engine, tmp_path, [file], with_table(j={"data_type": "json"})), documents)
    assert_interpreted(Made(engine, tmp_path / "again", [file]), documents)


def test_rows_do_not_depend_on_files_and_partitions(engine, cut, tmp_path):
    documents = [{"n": number, "l": [{"x": at} for at in range(number % 3)]} for number in range(60)]
    file = write(tmp_path / "one.jsonl", documents)
    whole = Made(engine, tmp_path / "whole", [file])
    with cut(300):
        split = Made(engine, tmp_path / "split", [file])
    for table in ("t", "t__l"):
        assert as_set(whole.rows(table)) == as_set(split.rows(table))
    assert len({row["_dlt_id"] for row in whole.rows("t")}) == len(documents)
    assert_interpreted(whole, documents)


def test_primary_keys_of_stated_types_make_row_keys_as_in_dlt(engine, tmp_path):
    import pyarrow.parquet
    from dlt.common.json import json as dlt_json
    from dlt.common.normalizers.json.helpers import get_row_hash

    moment = datetime(2024, 1, 2, 3, 4, 5, 120000)
    columns = {
        "amount": pyarrow.array([Decimal("1.50"), Decimal("-0.10")], pyarrow.decimal128(10, 2)),
        "at": pyarrow.array(
            [moment.replace(tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC)], pyarrow.timestamp("us", "UTC")
        ),
        "naive": pyarrow.array([moment, datetime(2024, 1, 2)], pyarrow.timestamp("us")),
        "day": [date(2024, 1, 2), date(1500, 1, 2)],
        "hour": [time(3, 4, 5, 120000), time(3, 4)],
        "raw": [b"\x00\xff" * 50, b""],
        "small": pyarrow.array([1, -2], pyarrow.int8()),
        "ratio": [0.5, 1e16],
        "is_new": [True, False],
        "name": ["é", "x"],
    }
    file = tmp_path / "data.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns), file)

    made = Made(engine, tmp_path, [file], change=with_key(RowKey.PRIMARY_KEY, tuple(columns)))

    # dlt hashes rows as it has stored them between its steps
    rows = [dlt_json.loads(dlt_json.typed_dumps(row)) for row in pyarrow.table(columns).to_pylist()]
    assert {row["_dlt_id"] for row in made.rows("t")} == {get_row_hash(row, list(columns)) for row in rows}


def hash_of(values):
    text = json.dumps(values, separators=(",", ":"), sort_keys=True)
    return base64.b64encode(hashlib.shake_128(text.encode()).digest(10)).decode().rstrip("=")


def test_keys_may_have_many_columns(engine, tmp_path):
    names = [f"c{number:02}" for number in range(16)]
    documents = [dict.fromkeys(names, "a"), dict.fromkeys(names, "b")]
    file = write(tmp_path / "data.jsonl", documents)
    made = Made(engine, tmp_path, [file], change=with_key(RowKey.PRIMARY_KEY, tuple(names)))
    assert {row["_dlt_id"] for row in made.rows("t")} == {hash_of(each) for each in documents}


def test_typed_sources_keep_their_types(engine, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet

    item = pa.struct([("sku", pa.string()), ("prices", pa.list_(pa.decimal128(8, 2)))])
    table = pa.table(
        {
            "id": pa.array([1, 2], pa.int32()),
            "amount": pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
            "at": pa.array([datetime(2024, 1, 2, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
            "naive": pa.array([datetime(2024, 1, 2, 3), None], pa.timestamp("us")),
            "day": pa.array([date(1500, 1, 2), None]),
            "raw": pa.array([b"\x00\xff", None]),
            "ratio": pa.array([0.5, None], pa.float32()),
            "who": pa.array([{"name": "a", "age": 1}, None], pa.struct([("name", pa.string()), ("age", pa.int16())])),
            "items": pa.array([[{"sku": "x", "prices": [Decimal("2.25")]}, None], []], pa.list_(item)),
            "attributes": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
            "odd.`name": pa.array(["x", None]),
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "data.parquet")
    made = Made(engine, tmp_path, [tmp_path / "data.parquet"])
    assert made.tally.is_loadable, made.tally
    first = next(row for row in made.rows("t") if row["id"] == 1)
    values = {name: value for name, value in first.items() if not name.startswith("_dlt")}
    assert values == {
        "id": 1,
        "amount": Decimal("1.50"),
        "at": datetime(2024, 1, 2, tzinfo=UTC),
        "naive": datetime(2024, 1, 2, 3, tzinfo=UTC),
        "day": date(1500, 1, 2),
        "raw": b"\x00\xff",
        "ratio": 0.5,
        "who__name": "a",
        "who__age": 1,
        "attributes": '{"k":1}',
        "odd_name": "x",
    }
    assert {row["sku"] for row in made.rows("t__items")} == {"x", None}
    assert [row["value"] for row in made.rows("t__items__prices")] == [Decimal("2.25")]
    assert {row["_dlt_id"] for row in made.rows("t")} == {root_key(made.file, at) for at in (1, 2)}


@pytest.mark.spark
def test_records_of_formats_without_row_numbers_are_numbered_as_they_stand(spark, spark_engine, tmp_path):
    spark.range(40, numPartitions=2).write.orc(str(tmp_path / "data"))
    made = Made(spark_engine, tmp_path / "made", [tmp_path / "data"])
    files = sorted((tmp_path / "data").glob("*.orc"))
    assert {row["_dlt_id"] for row in made.rows("t")} == {
        root_key(shown_path(file.as_uri()), at) for file in files for at in range(1, 21)
    }


def test_tables_without_rows_have_a_file_with_their_columns(engine, tmp_path):
    import pyarrow.parquet

    known = with_table(n={"data_type": "bigint"})
    later = Table("later", {"at": Column("at", {"data_type": DataType.TIME})}, {})

    def change(plan):
        return replace(plan, tables={**plan.tables, "later": later})

    made = Made(engine, tmp_path, [write(tmp_path / "data.jsonl", [{"n": 1}])], known, change=change)
    (file,) = made.written.folders["later"].glob("*.parquet")
    assert pyarrow.parquet.read_schema(file).names == ["at"]
    assert made.tally.tables["later"] == RowCounts()

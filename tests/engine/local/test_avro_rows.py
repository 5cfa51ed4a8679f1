"""Avro on this machine: chunks of blocks, types by their specification, and files that are broken or not trusted."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from random_data import write_avro

from schemactl.engine.inputs import find_inputs
from schemactl.engine.local import avro_rows
from schemactl.engine.local.batches import LocalRows
from schemactl.engine.protocol import Engine
from schemactl.engine.scan import scan_inputs
from schemactl.errors import InputError
from schemactl.inference.sample import Sample

pytestmark = pytest.mark.usefixtures("work")


def record(*types: Any) -> dict[str, Any]:
    fields = [{"name": f"c{number}", "type": of} for number, of in enumerate(types)]
    return {"type": "record", "name": "row", "fields": fields}


def write(name: str, schema: dict[str, Any], rows: Sequence[dict[str, Any]], **options: Any) -> None:
    with Path(name).open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(schema), rows, **options)


def read(engine: Engine, *names: str) -> list[dict[str, Any]]:
    rows = []
    for batch in engine.read(find_inputs(names)):
        assert isinstance(batch, LocalRows)
        records = batch.rows()
        for source in records.records:
            for record_batch in source.batches():
                rows += record_batch.drop_columns(["file", "block"]).rename_columns(list(records.names)).to_pylist()
    return rows


@pytest.mark.parametrize(("of", "stored", "value", "arrow_type"), [
    ({"type": "int", "logicalType": "date"}, -1, date(1969, 12, 31), pa.date32()),
    ({"type": "int", "logicalType": "time-millis"}, 5, 5, pa.int32()),
    ({"type": "long", "logicalType": "time-micros"}, 5, time(microsecond=5), pa.time64("us")),
    ({"type": "long", "logicalType": "timestamp-millis"}, -(62_135_596_800_000), datetime(1, 1, 1, tzinfo=UTC),
     pa.timestamp("us", "UTC")),
    ({"type": "long", "logicalType": "local-timestamp-micros"}, 1, datetime(1970, 1, 1, microsecond=1),
     pa.timestamp("us")),
    ({"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2}, (10**37 + 1).to_bytes(16, "big"),
     Decimal(f"1{'0' * 35}.01"), pa.decimal128(38, 2)),
    ({"type": "fixed", "name": "f", "size": 2, "logicalType": "decimal", "precision": 9, "scale": 1}, b"ab", b"ab",
     pa.binary()),
    (["null", "int", "string"], "x", {"member0": None, "member1": "x"},
     pa.struct([("member0", pa.int32()), ("member1", pa.string())])),
    ({"type": "map", "values": ["null", "long"]}, {"a": None}, [("a", None)], pa.map_(pa.string(), pa.int64())),
])  # fmt: skip
def test_types_are_those_of_spark(
    local_engine: Engine, of: Any, stored: Any, value: Any, arrow_type: pa.DataType
) -> None:
    write_avro(Path("a.avro"), [{"name": "c0", "type": of}], [{"c0": stored}])
    assert read(local_engine, "a.avro") == [{"c0": value}]
    (batch,) = local_engine.read(find_inputs(["a.avro"]))
    assert isinstance(batch, LocalRows)
    assert batch.columns[0].type == arrow_type


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "bzip2", "xz", "zstandard"])
def test_chunks_are_read_by_tasks_of_their_own(
    local_engine: Engine, codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(avro_rows, "_CHUNK_BYTES", 500)
    monkeypatch.setattr("schemactl.engine.local.row_files._BYTES_OF_TASK", 1)
    write(
        "a.avro",
        record("long", "string"),
        [{"c0": n, "c1": "x" * 9} for n in range(2000)],
        codec=codec,
        sync_interval=100,
    )
    (batch,) = local_engine.read(find_inputs(["a.avro"]))
    assert isinstance(batch, LocalRows)
    assert len(batch.rows().records) > 3
    assert sum(batch.count_by_block().values()) == 2000
    assert [row["c0"] for row in read(local_engine, "a.avro")] == list(range(2000))


def test_files_with_other_columns_are_read_after_the_others(local_engine: Engine) -> None:
    write("a.avro", record("long"), [{"c0": 1}])
    write("b.avro", record("string"), [{"c0": "x"}])
    write("c.avro", record("long"), [{"c0": 2}])
    assert read(local_engine, "a.avro", "b.avro", "c.avro") == [{"c0": 1}, {"c0": 2}, {"c0": "x"}]


LINKED = {"type": "record", "name": "row", "fields": [{"name": "next", "type": ["null", "row"]}]}


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (record(["string", {"type": "enum", "name": "e", "symbols": ["a"]}]), "a union with ambiguous value types"),
        (record({"type": "array", "items": "null"}), "a list of zero-byte values"),
        (record({"type": "int", "spark.sql.catalyst.type": "interval year"}), "Spark's own type"),
    ],
)
def test_what_spark_alone_reads_is_refused(local_engine: Engine, schema: dict[str, Any], message: str) -> None:
    write("a.avro", schema, [])
    with pytest.raises(InputError, match=message) as caught:
        read(local_engine, "a.avro")
    assert caught.value.hint == "`--engine spark` reads it"
    assert str(caught.value.at) == "a.avro"


def test_a_record_that_contains_itself_is_refused(local_engine: Engine) -> None:
    write("a.avro", LINKED, [])
    with pytest.raises(InputError, match="the record `row` contains itself") as caught:
        read(local_engine, "a.avro")
    assert caught.value.hint is None


def test_a_decimal_that_spark_cannot_hold_is_refused(local_engine: Engine) -> None:
    write("a.avro", record({"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 1}), [])
    with pytest.raises(InputError, match="decimal of 50 digits"):
        read(local_engine, "a.avro")


def test_a_file_that_breaks_off_is_refused_with_the_place(local_engine: Engine) -> None:
    write("a.avro", record("string"), [{"c0": "x" * 50}] * 1000, sync_interval=1000)
    whole = Path("a.avro").read_bytes()
    for content, message in (
        (whole[:-5], "is broken, or the file ends within it"),
        (whole[:20], "no Avro header"),
        (whole.replace(b"null", b"lz77"), "compressed by `lz77`"),
    ):
        Path("a.avro").write_bytes(content)
        with pytest.raises(InputError, match=message) as caught:
            read(local_engine, "a.avro")
        assert caught.value.at is not None
        assert caught.value.at.path == "a.avro"


def test_broken_values_are_reported_with_their_file(local_engine: Engine) -> None:
    write("a.avro", record("string"), [{"c0": "x" * 50}] * 1000)
    content = Path("a.avro").read_bytes()
    Path("a.avro").write_bytes(content.replace(b"x" * 50, b"\xff" * 50, 1))
    with pytest.raises(InputError, match="the blocks from byte ") as caught:
        scan_inputs(local_engine, find_inputs(["a.avro"]), Sample())
    assert str(caught.value.at) == "a.avro"

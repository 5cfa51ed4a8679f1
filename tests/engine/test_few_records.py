"""Few records are read without Python workers, CSV without Spark's reader; what is read is the same."""

from __future__ import annotations

import gzip

import pytest

from schemactl.engine.inputs import find_inputs
from schemactl.engine.scan import scan_inputs
from schemactl.engine.spark.input_formats import csv
from schemactl.inference.sample import Sample

pytestmark = pytest.mark.spark


def test_few_records_are_read_without_workers_alike(spark_engine, tmp_path, monkeypatch):
    path = tmp_path / "orders.jsonl"
    path.write_text('\ufeff{"id": 1}\r\n\r\n{"id": "x", "lines": [{"sku": 1}]}\n{no\n{"id": null}')
    by_workers = scan_inputs(spark_engine, find_inputs([str(path)]), Sample())
    monkeypatch.setattr("schemactl.engine.spark.engine._SMALL_BYTES", path.stat().st_size)

    here = scan_inputs(spark_engine, find_inputs([str(path)]), Sample())

    assert isinstance(here.documents[0].records, list)
    assert not isinstance(by_workers.documents[0].records, list)
    assert here.evidence == by_workers.evidence
    assert here.bad_records == by_workers.bad_records


def test_many_records_and_compressed_ones_are_left_to_workers(spark_engine, tmp_path, monkeypatch):
    packed = tmp_path / "orders.jsonl.gz"
    packed.write_bytes(gzip.compress(b'{"id": 1}\n'))
    monkeypatch.setattr("schemactl.engine.spark.engine._SMALL_BYTES", packed.stat().st_size)

    scan = scan_inputs(spark_engine, find_inputs([str(packed)]), Sample())

    assert not isinstance(scan.documents[0].records, list)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_lines_of_a_wide_csv_file_become_the_rows_that_spark_reads(spark_engine, tmp_path, monkeypatch, line_end):
    path = tmp_path / "wide.csv"
    names = [f"c{at}" for at in range(201)]
    full = [str(at) for at in range(len(names))]
    rows = [names, full, ["1", "", " x "], [], ["\u2028é", *full, "surplus"], [*full, "", "kept"], [" "], [""] * 5]
    text = line_end.join(",".join(row) for row in rows)
    path.write_bytes(f"\ufeff{line_end}{text}{line_end}".encode())

    by_lines = scan_inputs(spark_engine, find_inputs([str(path)]), Sample())
    assert by_lines.documents[0].documents.rows is not None
    monkeypatch.setattr(csv, "split_inputs", lambda _, inputs: ([], inputs))
    by_spark = scan_inputs(spark_engine, find_inputs([str(path)]), Sample())

    assert by_lines.evidence == by_spark.evidence
    assert by_lines.bad_records == by_spark.bad_records
    assert by_lines.evidence.files == by_spark.evidence.files

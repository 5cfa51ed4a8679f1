"""Avro files: read where Spark has its package for them; where not, the error says how to get it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from schemactl.engine.inputs import find_inputs
from schemactl.engine.scan import scan_inputs
from schemactl.engine.spark.engine import SparkEngine
from schemactl.errors import InputError
from schemactl.inference.sample import Sample

pytestmark = pytest.mark.spark


def has_reader(spark: SparkSession) -> bool:
    try:
        spark.read.format("avro").schema("id BIGINT").load([])
    except AnalysisException:
        return False
    return True


def test_a_missing_reader_is_reported_with_its_package_for_this_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if has_reader(spark):
        pytest.skip("Spark has its Avro reader here")
    monkeypatch.chdir(tmp_path)
    Path("a.avro").write_bytes(b"Obj\x01")
    with pytest.raises(InputError, match="Avro") as caught:
        scan_inputs(SparkEngine(spark), find_inputs(["a.avro"]), Sample())
    assert caught.value.at is not None
    assert caught.value.at.path == "a.avro"
    assert f"spark.jars.packages=org.apache.spark:spark-avro_2.13:{spark.version}`" in str(caught.value.hint)


def test_avro_files_state_their_types_and_are_counted(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_reader(spark):
        pytest.skip("Spark's package for Avro is not among its jars: org.apache.spark:spark-avro_2.13 of its version")
    monkeypatch.chdir(tmp_path)
    rows = spark.createDataFrame([(1, "x"), (2, None)], "id BIGINT, name STRING")
    rows.coalesce(1).write.format("avro").save("written")
    (written,) = Path("written").glob("*.avro")
    written.rename("a.avro")
    found = scan_inputs(SparkEngine(spark), find_inputs(["a.avro"]), Sample()).evidence
    assert {json.dumps(path): column["data_type"] for path, column in found.declared.items()} == {
        '["id"]': "bigint",
        '["name"]': "text",
    }
    assert (found.documents, found.nulls(("name",))) == (2, 1)

"""Row keys: the same for the same input, and another for any other."""

from __future__ import annotations

import base64
import hashlib

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from schemactl.engine.row_keys import child_key, content_hash, primary_key_hash, random_key

pytestmark = pytest.mark.spark


def keys(spark, columns: dict[str, list[object]], **made) -> dict[str, list[str]]:
    frame = spark.createDataFrame(pa.table(columns)).repartition(3, *columns).orderBy(*columns)
    done = frame.select(*(key.alias(name) for name, key in made.items())).toArrow()
    return {name: done[name].to_pylist() for name in made}


def test_a_root_row_is_known_by_its_load_table_file_and_number(spark):
    places = {"file": ["a", "a", "a1", "a\n1", "b"], "number": [1, 11, 1, 1, 1]}
    file, number = F.col("file"), F.col("number")
    made = keys(
        spark,
        places,
        here=random_key("1.5", "t", file, number),
        again=random_key("1.5", "t", file, number),
        load=random_key("1.6", "t", file, number),
        table=random_key("1.5", "t2", file, number),
    )
    assert made["here"] == made["again"]
    distinct = {key for name in ("here", "load", "table") for key in made[name]}
    assert len(distinct) == 3 * len(places["file"])
    digest = hashlib.sha256(b"1.5\nt\n1\na").digest()[:10]
    assert made["here"][0] == base64.b64encode(digest).decode().rstrip("=")
    assert {len(key) for key in distinct} == {14}


def test_a_nested_row_is_known_by_its_parent_table_and_place(spark):
    made = keys(spark, {"parent": ["root1"]}, key=child_key(F.col("parent"), "t__items", F.lit(0)))
    assert made["key"] == ["KQ7GAS+weooXog"]


def test_integers_past_64_bits_keep_all_digits_in_keys(spark):
    texts = {
        "text": ['{"a":184467440737095516160}', '{"a":184467440737095516161}', '{"b":1,"a":184467440737095516160}']
    }
    made = keys(spark, texts, primary=primary_key_hash(F.col("text")), content=content_hash(F.col("text")))
    assert made["primary"] == made["content"]
    assert len(set(made["content"])) == 3
    digest = hashlib.shake_128(b'{"a":184467440737095516160}').digest(10)
    assert base64.b64encode(digest).decode().rstrip("=") in made["content"]


def test_the_order_of_keys_and_blanks_do_not_change_a_key(spark):
    texts = {"text": ['{"a": 1, "b": {"d": 2, "c": 3}, "_dlt_id": "x"}', '{"b":{"c":3,"d":2},"a":1}']}
    content = keys(spark, texts, content=content_hash(F.col("text")))["content"]
    assert content[0] == content[1]


def test_no_row_has_no_key(spark):
    made = keys(spark, {"text": pa.array([None, None], pa.string())}, key=content_hash(F.col("text")))
    assert made["key"] == [None, None]

"""Columns whose types their source states are counted, wherever they stand, and no schema changes by it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from schemactl.engine.inputs import find_inputs
from schemactl.engine.protocol import Engine
from schemactl.engine.scan import scan_inputs
from schemactl.inference.classes import kind_of
from schemactl.inference.evidence import ClassEvidence, Evidence, Position, merge, merge_classes, observe
from schemactl.inference.sample import parse_sample

pytestmark = pytest.mark.usefixtures("work")

FLAT = [
    {"id": 1, "name": None, "x": math.nan, "ok": True},
    {"id": -2, "name": "żółw", "x": None, "ok": None},
    {"id": 30, "name": "", "x": 1.5, "ok": False},
    {"id": 4, "name": "ab", "x": -2.0, "ok": True},
]

NESTED = [
    {"s": None, "l": [], "ll": [[1], None, []]},
    {"s": {"a": None, "t": [{"k": "x"}, None, {"k": None}]}, "l": [1, None, 5], "ll": None},
    {"s": {"a": 7, "t": None}, "l": None, "ll": [[None, 3], [2]]},
    {"s": {"a": 8, "t": [{"k": "yyy"}]}, "l": [-2], "ll": [[]]},
]
TYPES = pa.schema(
    {
        "s": pa.struct({"a": pa.int64(), "t": pa.list_(pa.struct({"k": pa.string()}))}),
        "l": pa.list_(pa.int64()),
        "ll": pa.list_(pa.list_(pa.int64())),
    }
)


def scan(engine: Engine, *sources: str, sample: str = "full") -> Evidence:
    return scan_inputs(engine, find_inputs(list(sources)), parse_sample(sample)).evidence


def write(path: str, rows: list[dict[str, Any]], schema: pa.Schema | None = None, **options: Any) -> None:
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows, schema=schema), path, **options)


def observed(rows: list[dict[str, Any]], file: str) -> dict[Any, dict[str, Any]]:
    """Return what evidence of the same rows as documents says, the classes of each kind together."""
    found: dict[Any, dict[str, ClassEvidence]] = {}
    for path, classes in observe((Position(file, number), row) for number, row in enumerate(rows, 1)).paths.items():
        kinds = found.setdefault(path, {})
        for name, seen in classes.items():
            kind = kind_of(name)
            kinds[kind] = merge_classes(kinds[kind], seen) if kind in kinds else seen
    return {path: {kind: _facts(seen) for kind, seen in kinds.items()} for path, kinds in found.items()}


def counted(evidence: Evidence) -> dict[Any, dict[str, Any]]:
    return {path: {name: _facts(seen) for name, seen in of.items()} for path, of in evidence.counted.items()}


def _facts(seen: ClassEvidence) -> tuple[Any, ...]:
    return seen.count, seen.first, seen.shortest, seen.longest, seen.least, seen.greatest


def test_nested_values_are_counted_as_those_of_documents_are(engine: Engine) -> None:
    write("a.parquet", NESTED, TYPES)
    assert counted(scan(engine, "a.parquet")) == observed(NESTED, "a.parquet")


def test_any_cut_of_the_data_makes_the_same_whole(engine: Engine, cut) -> None:
    rows = [{"id": number, "name": f"n{number}" if number > 70 else None} for number in range(100)]
    types = pa.schema({"id": pa.int64(), "name": pa.string()})
    Path("d").mkdir()
    write("d/a.parquet", rows[:60], types, row_group_size=7)
    write("d/b.parquet", rows[60:], types)
    whole = scan(engine, "d")
    parts = [scan(engine, "d/a.parquet"), scan(engine, "d/b.parquet")]
    assert counted(merge(*parts)) == counted(merge(*reversed(parts))) == counted(whole)
    assert whole.counted[("name",)]["text"].first == Position("d/b.parquet", 12)
    with cut(300):
        assert scan(engine, "d").counted == whole.counted


def test_rows_without_a_number_of_their_own_are_numbered_as_they_are_read(engine: Engine) -> None:
    rows = [{"id": number, "name": "x" if number == 5 else None} for number in range(9)]
    pyarrow.orc.write_table(pa.Table.from_pylist(rows), "a.orc")
    found = scan(engine, "a.orc").counted[("name",)]
    assert found["text"] == ClassEvidence(1, Position("a.orc", 6), ("x",), 1, 1)
    assert found["null"] == ClassEvidence(8, Position("a.orc", 1))


@pytest.fixture
def view(spark: SparkSession) -> Iterator[str]:
    # A map, binary, an interval and a VARIANT: types without a range.
    columns = "map('k', 1) AS m, X'6162' AS b, INTERVAL 2 DAY AS i, parse_json('[1]') AS v, DATE'2024-01-02' AS d"
    spark.sql(f"SELECT {columns}, CAST(1.50 AS DECIMAL(30, 2)) AS money").createOrReplaceTempView("counted_rows")
    yield "table:counted_rows"
    spark.catalog.dropTempView("counted_rows")  # others use the session, too


@pytest.mark.spark
def test_values_of_all_types_have_examples(spark_engine: Engine, view: str) -> None:
    found = scan(spark_engine, view).counted
    examples = {path[0]: classes.popitem()[1].examples for path, classes in found.items() if path}
    assert examples == {
        "m": ('{"k":1}',),
        "b": ("0x6162",),
        "i": ("INTERVAL '2' DAY",),
        "v": ("[1]",),
        "d": ("2024-01-02",),
        "money": ("1.50",),
    }


def test_odd_names_and_rows_of_nothing_are_counted(engine: Engine) -> None:
    Path("d").mkdir()
    write("d/a b%.parquet", [{"a.`b": 1, "A": {"x y": "t"}, "a": None}], None)
    write("none.parquet", [], TYPES)
    found = scan(engine, "d").counted
    assert found[("a.`b",)]["bigint"].first == Position("d/a b%.parquet", 1)
    assert found[("A", "x y")]["text"].examples == ("t",)
    assert scan(engine, "none.parquet").counted == {}


def test_a_key_that_some_rows_do_not_have_is_absent_there(engine: Engine) -> None:
    write("a.parquet", [{"id": 1, "t": "x"}])
    Path("b.jsonl").write_text('{"id": 2}\n{"id": 3, "u": 1}\n')
    found = scan(engine, "a.parquet", "b.jsonl")
    assert (found.count(("id",)), found.absences(("id",))) == (3, 0)
    assert (found.count(("t",)), found.absences(("t",))) == (1, 2)
    assert (found.count(("u",)), found.absences(("u",))) == (1, 2)


def test_only_the_sample_is_counted_and_its_rows_are_reported(engine: Engine) -> None:
    write("a.parquet", [{"id": number} for number in range(2_000)])
    tenth = scan(engine, "a.parquet", sample="10%")
    (file,) = tenth.files.values()
    assert file.records == 2_000
    assert 100 < file.documents < 300
    assert tenth.counted[("id",)]["bigint"].count == tenth.counted[()]["object"].count == file.documents
    assert 400 < scan(engine, "a.parquet", sample="500").documents < 600
    assert scan(engine, "a.parquet", sample="5000").documents == 2_000


def test_whoever_only_loads_does_not_count(engine: Engine) -> None:
    write("a.parquet", FLAT)
    loaded = scan_inputs(engine, find_inputs(["a.parquet"]), parse_sample("full"), counts_values=False).evidence
    inferred = scan(engine, "a.parquet")
    assert loaded.counted == {}
    assert (loaded.declared, loaded.conflicting_types, loaded.paths, loaded.witnesses, loaded.files) == (
        inferred.declared, inferred.conflicting_types, inferred.paths, inferred.witnesses, inferred.files
    )  # fmt: skip

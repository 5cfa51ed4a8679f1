"""Maps of Parquet files: one column of JSON, as dlt has it of Arrow tables."""

from __future__ import annotations

import json
from typing import Any

import dlt
import duckdb
import pyarrow as pa
import pyarrow.parquet
from loaded_tables import DATASET, BySchemactl

PRICES = [[("eur", 1.5), ("usd", None)], [], None, [("odd \"'. name", 2.0)]]
COUNTS = [[("a", [1, 2])], [("b", None)], [], None]


def test_maps_become_what_dlt_makes_of_arrow_tables(local_engine: Any, tmp_path: Any) -> None:
    table = pa.table(
        {
            "id": range(4),
            "prices": pa.array(PRICES, pa.map_(pa.string(), pa.float64())),
            "counts": pa.array(COUNTS, pa.map_(pa.string(), pa.list_(pa.int64()))),
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "data.parquet")
    path = str(tmp_path / "dlt.duckdb")
    pipeline = dlt.pipeline(
        "maps",
        pipelines_dir=str(tmp_path / "pipelines"),
        destination=dlt.destinations.duckdb(path),
        dataset_name=DATASET,
    )
    pipeline.run(dlt.resource([table], name="data")).raise_on_failed_jobs()
    ours = BySchemactl(local_engine, tmp_path / "ours")

    ours.load_files([tmp_path / "data.parquet"])

    for name in ("prices", "counts"):
        assert ours.stored["tables"]["data"]["columns"][name]["data_type"] == "json"
        assert pipeline.default_schema.tables["data"]["columns"][name]["data_type"] == "json"
    assert rows(ours.path) == rows(path)
    assert rows(path)[0][1] == {"eur": 1.5, "usd": None}


def rows(path: Any) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(path), read_only=True) as database:
        found = database.execute(f"select id, prices, counts from {DATASET}.data order by id").fetchall()
    return [(at, *(value if value is None else json.loads(value) for value in values)) for at, *values in found]

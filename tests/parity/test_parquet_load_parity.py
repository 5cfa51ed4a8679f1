"""What our loads leave in a folder of Parquet is what dlt's leave in DuckDB; and dlt goes on with such a folder."""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import dlt
import duckdb
import pyarrow.parquet
from dlt.destinations import duckdb as in_duckdb
from dlt.destinations import filesystem

from schemactl.destinations import parquet as destination
from schemactl.normalization.package import LoadPackage, StagedTable
from schemactl.schema.types import Schema, schema_from_dict

BOUNDARIES = tuple(datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3))

FIRST = [
    {"id": 1, "part": "a", "note": "one", "rank": 1, "lines": [{"sku": "x", "tags": ["p", "q"]}, {"sku": "y"}]},
    {"id": 2, "part": "a", "note": "two", "rank": 1, "lines": [{"sku": "z", "tags": ["r"]}]},
    {"id": 3, "part": "b", "note": "three", "rank": 1},
]
SECOND = [
    {"id": 2, "part": "a", "note": "deux", "rank": 1, "lines": [{"sku": "w"}]},
    {"id": 4, "part": "c", "note": "four", "rank": 2, "new": Decimal("1.5"), "lines": [{"sku": "v", "tags": ["s"]}]},
    {"id": 4, "part": "c", "note": "vier", "rank": 1},
]
THIRD = [
    {"id": 1, "part": "a", "note": "one", "rank": 9, "gone": True, "lines": [{"sku": "x", "tags": ["p"]}]},
    {"id": 2, "part": "a", "note": "deux", "rank": 1, "lines": [{"sku": "w"}]},
    {"id": 5, "part": "e", "rank": 1, "gone": True},
    {"id": 6, "part": "e", "rank": 1, "gone": False, "at": datetime(2026, 5, 6, 7, 8, 9, 10, UTC)},
]
RANKED = {"rank": {"dedup_sort": "desc"}}
MARKED = {"gone": {"hard_delete": True, "data_type": "bool"}, **RANKED}

CASES: dict[str, dict[str, Any]] = {
    "append": {"write_disposition": "append"},
    "replace": {"write_disposition": "replace"},
    "merge_without_a_key": {"write_disposition": "merge"},
    "by_primary_key": {"write_disposition": "merge", "primary_key": "id", "columns": RANKED},
    "by_merge_key": {"write_disposition": "merge", "merge_key": "part"},
    "by_both_with_deletions": {"write_disposition": "merge", "primary_key": "id", "merge_key": "part",
        "columns": MARKED},
    "upsert": {"write_disposition": {"disposition": "merge", "strategy": "upsert"}, "primary_key": "id",
        "columns": MARKED},
    "insert_only": {"write_disposition": {"disposition": "merge", "strategy": "insert-only"}, "primary_key": "id",
        "columns": RANKED},
    "scd2": {"write_disposition": {"disposition": "merge", "strategy": "scd2"}},
    "scd2_by_merge_key_with_an_open_end": {"write_disposition": {"disposition": "merge", "strategy": "scd2",
                                               "active_record_timestamp": "9999-12-31",
                                               "validity_column_names": ["since", "until"]}, "merge_key": "part"},
}  # fmt: skip
"""By the names of their tables, which all are loaded by the same three loads."""
# Of rows with one primary key dlt lets DuckDB choose what is nested, and these strategies expect no such rows.
UNIQUE = {"upsert", "insert_only"}


def test_three_loads_leave_the_rows_that_dlt_leaves(tmp_path: Path) -> None:
    database, url = tmp_path / "d.duckdb", f"parquet:{tmp_path / 'w'}"
    pipeline = dlt.pipeline(
        "shop",
        destination=in_duckdb(str(database)),
        dataset_name="sales",
        pipelines_dir=str(tmp_path / "pipelines"),
    )
    for data, boundary in zip((FIRST, SECOND, THIRD), BOUNDARIES, strict=True):
        resources = []
        for case, hints in CASES.items():
            options = dict(hints)
            if "scd2" in case:
                options["write_disposition"] = {**options["write_disposition"], "boundary_timestamp": boundary}
            rows = SECOND[:2] if data is SECOND and case in UNIQUE else data
            resources.append(dlt.resource(rows, name=case, **options))
        pipeline.extract(resources, loader_file_format="parquet")
        pipeline.normalize()
        package = _package(pipeline, tmp_path / "staged", boundary)
        pipeline.load().raise_on_failed_jobs()
        destination.check_tables(url, package.schema)
        destination.load(url, package, lambda *_: None)
        with duckdb.connect(str(database), read_only=True) as connection:
            for table in (f"{case}{below}" for case in CASES for below in ("", "__lines", "__lines__tags")):
                theirs = connection.table(f"sales.{table}").to_arrow_table()
                assert _counted(_ours(tmp_path / "w", table, theirs.column_names)) == _counted(theirs.to_pylist()), (
                    table
                )


def _package(pipeline: Any, folder: Path, at: datetime) -> LoadPackage:
    """Return the load that dlt has normalized, in the files that it made."""
    (load_id,) = pipeline.list_normalized_load_packages()
    info = pipeline.get_load_package_info(load_id)
    schema: Schema = schema_from_dict(pipeline.default_schema.to_dict())
    files: dict[str, list[Path]] = {}
    for job in info.jobs["new_jobs"]:
        name = job.job_file_info.table_name
        if job.file_path.endswith(".parquet") and not name.startswith("_dlt"):
            files.setdefault(name, []).append(Path(job.file_path))
    staged = []
    for name in (each for each in schema.tables if each in files):
        place = folder / load_id / name
        place.mkdir(parents=True)
        for file in files[name]:
            shutil.copy(file, place)
        rows = sum(pyarrow.parquet.read_metadata(file).num_rows for file in place.iterdir())
        staged.append(StagedTable(schema.tables[name], place, rows))
    return LoadPackage(load_id, schema, tuple(staged), at)


def _ours(folder: Path, table: str, columns: list[str]) -> list[dict[str, Any]]:
    """Return our rows with dlt's columns; one that is nowhere in our files is null."""
    rows = [row for file in (folder / table).glob("*.parquet") for row in pyarrow.parquet.read_table(file).to_pylist()]
    return [{name: row.get(name) for name in columns} for row in rows]


def _counted(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(repr([_plain(value) for value in row.values()]) for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return value.normalize()
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value


def test_a_pipeline_of_dlt_goes_on_with_our_folder(tmp_path: Path) -> None:
    def pipeline(folder: str, name: str) -> Any:
        return dlt.pipeline(
            "shop",
            destination=filesystem(bucket_url=(tmp_path / folder).as_uri()),
            dataset_name="sales",
            pipelines_dir=str(tmp_path / name),
        )

    def orders(data: Any, **options: Any) -> Any:
        return dlt.resource(data, name="orders", **options)

    # A first load of dlt's is taken over by us,
    source = pipeline("source", "one")
    source.extract(orders(FIRST), loader_file_format="parquet")
    source.normalize()
    package = _package(source, tmp_path / "staged", datetime.now(UTC))
    url = f"parquet:{tmp_path}/warehouse?dataset=sales"
    destination.load(url, package, lambda *_: None)
    # is read by dlt with the schema that stands in the folder,
    place = filesystem(bucket_url=(tmp_path / "warehouse").as_uri())
    dataset = dlt.dataset(place, "sales", schema="shop")
    assert dataset.schema.version_hash == package.schema.version_hash
    assert dataset.schema.data_table_names() == ["orders", "orders__lines", "orders__lines__tags"]
    with dataset.sql_client as client:
        assert client.execute_sql("SELECT id, note FROM orders ORDER BY id")[0] == (1, "one")
        joined = "SELECT o.id, l.sku FROM orders o JOIN orders__lines l ON l._dlt_parent_id = o._dlt_id ORDER BY 1, 2"
        assert client.execute_sql(joined) == [(1, "x"), (1, "y"), (2, "z")]
        assert client.execute_sql("SELECT load_id, status FROM _dlt_loads") == [(package.load_id, 0)]
    # a pipeline that has never seen it appends, with a column more,
    mine = pipeline("warehouse", "two")
    mine.run(orders(SECOND), loader_file_format="parquet").raise_on_failed_jobs()
    with mine.sql_client() as client:
        assert client.execute_sql("SELECT count(*), count(new) FROM orders") == [(6, 1)]
    # and replaces what is there.
    mine.run(orders(THIRD, write_disposition="replace"), loader_file_format="parquet").raise_on_failed_jobs()
    catalogue = destination.read_catalogue(url)
    assert catalogue.hashes[0] == mine.default_schema.version_hash
    assert len(destination.read_past_loads(url, "shop").load_ids) == 3
    assert sorted(row["id"] for row in _ours(tmp_path / "warehouse" / "sales", "orders", ["id"])) == [1, 2, 5, 6]


def test_we_go_on_with_dlts_folder(tmp_path: Path) -> None:
    pipeline = dlt.pipeline(
        "shop",
        destination=filesystem(bucket_url=tmp_path.as_uri()),
        dataset_name="sales",
        pipelines_dir=str(tmp_path / "pipelines"),
    )
    options = {"write_disposition": {"disposition": "merge", "strategy": "upsert"}, "primary_key": "id"}
    pipeline.run(dlt.resource(FIRST, name="orders", **options), loader_file_format="parquet").raise_on_failed_jobs()
    pipeline.extract(dlt.resource(SECOND[:2], name="orders", **options), loader_file_format="parquet")
    pipeline.normalize()
    url = f"parquet:{tmp_path}?dataset=sales"
    destination.load(url, _package(pipeline, tmp_path / "staged", datetime.now(UTC)), lambda *_: None)
    found = sorted((row["id"], row["note"]) for row in _ours(tmp_path / "sales", "orders", ["id", "note"]))
    assert found == [(1, "one"), (2, "deux"), (3, "three"), (4, "four")]
    skus = sorted(row["sku"] for row in _ours(tmp_path / "sales", "orders__lines", ["sku"]))
    assert skus == ["v", "w", "x", "y"]

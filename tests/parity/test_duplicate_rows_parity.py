"""Of several new rows with one primary key dlt's ``delete-insert`` keeps, on DuckDB, the first; we do by rule."""

from __future__ import annotations

import random
import shutil

import pytest
from dlt.pipeline.exceptions import PipelineStepFailed
from loaded_tables import ByDlt, BySchemactl, assert_same_rows

DELETE_INSERT = {"write_disposition": {"disposition": "merge", "strategy": "delete-insert"}}
SORT, FLAG = "dedup_sort", {"gone": {"hard_delete": True}}
CASES = {
    "without_nested_tables": {"primary_key": "id"},
    "compound": {"primary_key": ["id", "region"]},
    "merge_key": {"primary_key": "id", "merge_key": "region"},
    "sorted_with_ties": {"primary_key": "id", "columns": {"at": {SORT: "desc"}}},
    "deleted_sorted": {"primary_key": "id", "columns": {**FLAG, "at": {SORT: "asc"}}},
    "deleted_merge_key": {"primary_key": "id", "merge_key": "region", "columns": FLAG},
}


def documents(count, keys, seed, is_nested=True):
    chance = random.Random(seed)
    for at in range(count):
        nested = {"l": [{"x": f"{at}.{n}", "m": [{"y": n}]} for n in range(chance.randrange(3))]} if is_nested else {}
        yield {
            "id": chance.randrange(keys),
            "region": chance.choice("abc"),
            "at": chance.choice((None, 1, 2)),
            "gone": chance.random() < 0.2,
            "note": f"{seed}.{at}",
            **nested,
        }


def test_the_same_rows_of_a_key_are_kept(local_engine, tmp_path):
    """Each case in a table of its name."""
    hints = {case: {**DELETE_INSERT, **of} for case, of in CASES.items()}
    are_nested = {case: case != "without_nested_tables" for case in CASES}
    old = {case: list(documents(60, 12, 1, is_nested)) for case, is_nested in are_nested.items()}
    new = {case: list(documents(9, 4, 2, is_nested)) for case, is_nested in are_nested.items()}
    theirs = ByDlt(tmp_path / "dlt")
    theirs.load_tables({case: (rows, hints[case]) for case, rows in old.items()})
    base = shutil.copy(theirs.path, tmp_path / "base.duckdb")
    ours = BySchemactl(local_engine, tmp_path / "ours", theirs.stored, database=base)
    theirs.load_tables({case: (rows, hints[case]) for case, rows in new.items()})

    ours.load_tables(new)

    found = ours.loaded()
    assert set(CASES) <= found.rows.keys()
    assert_same_rows(found, theirs.loaded())


def test_dlt_refuses_upserts_of_several_rows_with_one_key(tmp_path):
    hints = {"primary_key": "id", "write_disposition": {"disposition": "merge", "strategy": "upsert"}}
    theirs = ByDlt(tmp_path / "dlt")
    theirs.load([{"id": 1, "v": "old"}], **hints)

    with pytest.raises(PipelineStepFailed, match="more than once"):
        theirs.load([{"id": 1, "v": "a"}, {"id": 1, "v": "b"}], **hints)


def test_dlt_inserts_all_new_rows_with_one_key(tmp_path):
    hints = {"primary_key": "id", "write_disposition": {"disposition": "merge", "strategy": "insert-only"}}
    theirs = ByDlt(tmp_path / "dlt")

    theirs.load([{"id": 1, "v": "a"}, {"id": 1, "v": "b"}], **hints)

    assert sorted(row["v"] for row in theirs.loaded().rows["data"]) == ["a", "b"]


def test_dlt_writes_what_is_nested_in_equal_rows_of_a_history_for_each_of_them(local_engine, tmp_path):
    hints = {"write_disposition": {"disposition": "merge", "strategy": "scd2"}}
    twice = [{"id": 1, "l": [{"x": 1}]}] * 2
    theirs = ByDlt(tmp_path / "dlt")
    theirs.load([{"id": 9, "l": [{"x": 9}]}], **hints)
    ours = BySchemactl(
        local_engine, tmp_path / "ours", theirs.stored, database=shutil.copy(theirs.path, tmp_path / "base")
    )
    theirs.load(twice, **hints)

    ours.load(twice)

    counts = [[len(each.loaded().rows[table]) for table in ("data", "data__l")] for each in (ours, theirs)]
    assert counts == [[3, 2], [3, 3]]

"""``normalize --new-only`` of objects of a store: they are known by address, size, time, and version or ETag."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from loading_shop import Shop

sys.path.insert(0, str(Path(__file__).parents[1] / "engine"))
from object_store import ObjectStore, serve_objects

from schemactl.engine.choice import EngineName, EngineOptions, find_engine_inputs
from schemactl.engine.protocol import Engine
from schemactl.errors import InputError
from schemactl.flows.backlog import LoadLimits
from schemactl.flows.file_ledger import forget_files, list_files
from schemactl.flows.loaded_files import Changed
from schemactl.normalization.report import Outcome

TO = "duckdb:///shop.duckdb"
NAMES = ("a", "b", "c")


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with serve_objects() as store:
        for number, name in enumerate(NAMES):
            store.objects[f"shop/in/{name}.jsonl"] = f'{{"id": {number}}}\n'.encode()
        yield store


@pytest.fixture
def shop(local_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.chdir(tmp_path)
    return Shop(tmp_path, local_engine)


def test_objects_are_loaded_once(store: ObjectStore, shop: Shop) -> None:
    source = store.address("shop/in")
    assert shop.load(source, to=TO, new_only=True).rows_loaded == 3
    store.objects["shop/in/d.jsonl"] = b'{"id": 3}\n'
    store.heads.clear()
    report = shop.load(source, to=TO, new_only=True)
    assert (report.rows_loaded, report.skipped) == (1, 3)
    assert report.seen == tuple(f"s3://shop/in/{name}.jsonl" for name in NAMES)
    # Objects that were loaded are neither read nor asked for their version.
    assert set(store.heads) <= {"shop/in/d.jsonl"}
    assert shop.load(store.address("shop/in/*.jsonl"), to=TO, new_only=True).outcome is Outcome.NOTHING_NEW
    # The ledger has no options and secrets of the address.
    paths = [file.entry.file.path for file in list_files("shop", TO).files]
    assert paths == [f"s3://shop/in/{name}.jsonl" for name in (*NAMES, "d")]
    assert {file.entry.file.etag for file in list_files("shop", TO).files} == {'"1"'}


def test_an_object_that_has_changed_is_named(store: ObjectStore, shop: Shop) -> None:
    source = store.address("shop/in")
    shop.load(source, to=TO, new_only=True)
    store.objects["shop/in/a.jsonl"] = b'{"id": 0}\n{"id": 9}\n'
    store.modified["shop/in/b.jsonl"] = datetime(2024, 5, 2, tzinfo=UTC)
    store.etags["shop/in/b.jsonl"] = "2"
    with pytest.raises(InputError, match="2 files have rows that earlier loads appended") as raised:
        shop.load(source, to=TO, new_only=True)
    assert [problem.message for problem in raised.value.problems] == [
        "`s3://shop/in/a.jsonl` has changed since it was loaded: 10 bytes then, 20 now",
        "`s3://shop/in/b.jsonl` has changed since it was loaded: written again at 2024-05-02 00:00:00 UTC",
    ]
    assert shop.load(source, to=TO, changed=Changed.SKIP).outcome is Outcome.NOTHING_NEW
    forget_files("shop", TO, ["s3://shop/in/a.jsonl"], lambda _: True)
    assert shop.load(source, to=TO, changed=Changed.SKIP).rows_loaded == 2


def test_an_object_that_was_written_again_with_the_same_content_has_not_changed(store: ObjectStore, shop: Shop) -> None:
    source = store.address("shop/in")
    shop.load(source, to=TO, new_only=True)
    store.modified["shop/in/a.jsonl"] = datetime(2024, 6, 1, tzinfo=UTC)
    assert shop.load(source, to=TO, new_only=True).outcome is Outcome.NOTHING_NEW


def test_an_object_that_changes_within_the_second_of_its_load_is_known_by_its_version(
    store: ObjectStore, shop: Shop
) -> None:
    source = store.address("shop/in")
    store.modified["shop/in/a.jsonl"] = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=60)
    shop.load(source, to=TO, new_only=True)
    store.objects["shop/in/a.jsonl"] = b'{"id": 7}\n'
    assert shop.load(source, to=TO, new_only=True).outcome is Outcome.NOTHING_NEW
    store.etags["shop/in/a.jsonl"] = "2"
    with pytest.raises(InputError) as raised:
        shop.load(source, to=TO, new_only=True)
    assert "has changed since it was loaded: another version of " in raised.value.problems[0].message


def test_a_backlog_of_objects_begins_with_the_oldest(store: ObjectStore, shop: Shop) -> None:
    store.modified["shop/in/c.jsonl"] = datetime(2024, 4, 1, tzinfo=UTC)
    report = shop.load(store.address("shop/in"), to=TO, limits=LoadLimits(2), is_ended=lambda: True)
    assert (report.waiting, report.rows_loaded) == (1, 2)
    files = {Path(file.entry.file.path).stem for file in list_files("shop", TO).files}
    assert files == {"a", "c"}


def test_objects_are_listed_here_for_spark_too(store: ObjectStore, shop: Shop) -> None:
    source = store.address("shop/in").replace("s3://", "s3a://")
    options = EngineOptions(EngineName.SPARK)
    inputs = find_engine_inputs(options, [source], is_wanted=lambda file: not file.path.endswith("a.jsonl"))
    assert [file.path for file in inputs] == ["s3a://shop/in/b.jsonl", "s3a://shop/in/c.jsonl"]
    assert [file.size for file in inputs] == [10, 10]
    assert [file.path for file in find_engine_inputs(options, [source])] == [source]


def test_folders_of_a_store_are_listed_one_by_one(store: ObjectStore, shop: Shop) -> None:
    for number in range(30):
        store.objects[f"shop/deep/day={number:02}/x/{number}.jsonl"] = b"{}\n"
        store.objects[f"shop/deep/day={number:02}/_temporary/{number}.jsonl"] = b"{}\n"
    inputs = find_engine_inputs(EngineOptions(EngineName.LOCAL), [store.address("shop/deep")])
    days = [f"deep/day={number:02}/" for number in range(30)]
    assert [file.path for file in inputs] == [f"s3://shop/{day}x/{number}.jsonl" for number, day in enumerate(days)]
    assert set(store.folders) == {"deep/", *days, *(f"{day}x/" for day in days)}

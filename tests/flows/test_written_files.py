"""Loads whose sources hold the folders that schemactl writes to."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from loading_shop import Shop

from schemactl.destinations import folder_of
from schemactl.engine.inputs import find_inputs
from schemactl.engine.written_files import without_written_files
from schemactl.errors import InputError
from schemactl.store.sources import LeftOutWarning


def left(*sources: str, own: tuple[str, ...], rejects: Path | None = None) -> list[str]:
    return [each.path for each in without_written_files(find_inputs(sources), sources, map(Path, own), rejects)]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Data, a warehouse, and what a killed load has left."""
    monkeypatch.chdir(tmp_path)
    for name in ("warehouse/orders/1.parquet", "warehouse/orders__lines/1.parquet", "tmp/schemactl-rows-x/1.parquet"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": [1]}), name)
    Path("a.jsonl").write_text('{"id": 1}\n')
    Path("latest").symlink_to("warehouse")
    return tmp_path


OWN = ("warehouse", "tmp", "not/there")


@pytest.mark.parametrize("source", [".", "**", "../{}"])
def test_files_of_our_own_below_a_source_are_left_out(work: Path, source: str) -> None:
    message = r"left out: 1 in `tmp`, 2 in `warehouse`"
    with pytest.warns(LeftOutWarning, match=message):
        assert left(source.format(work.name), own=OWN) == ["a.jsonl"]


def test_files_of_our_own_are_known_by_another_path(work: Path) -> None:
    with pytest.warns(LeftOutWarning, match=r"2 in `warehouse`"):
        assert left("a.jsonl", "latest", own=OWN) == ["a.jsonl"]


@pytest.mark.parametrize("source", ["warehouse", "warehouse/*", "./warehouse/../warehouse", "latest"])
def test_a_source_of_nothing_but_our_own_files_is_refused(work: Path, source: str) -> None:
    with pytest.raises(InputError, match=r"no files but those where schemactl writes: 2 in `warehouse`"):
        left(source, own=OWN)


def test_files_of_schemas_and_lineage_are_left_out_beside_data(work: Path) -> None:
    Path("out").mkdir()
    for name in ("shop.schema.json", "shop.lineage.json", "data.json"):
        Path("out", name).write_text('{"id": 1}')
    sources = ("a.jsonl", "out")
    with pytest.warns(LeftOutWarning, match=r"2 in `out`"):
        found = without_written_files(
            find_inputs(sources), sources, (), schema_folders=(Path("out"), Path("not/there"))
        )
    assert [each.path for each in found] == ["a.jsonl", "out/data.json"]
    named = ("out/shop.schema.json",)
    assert len(without_written_files(find_inputs(named), named, (), schema_folders=(Path("out"),))) == 1


def test_data_may_stand_beside_the_folders_of_tables(work: Path) -> None:
    Path("init").write_text('{"initial_version": 1}')
    assert left("*.jsonl", own=(".",)) == ["a.jsonl"]
    with pytest.warns(LeftOutWarning, match=r"4 in `\.`"):
        assert left(".", own=(".",)) == ["a.jsonl"]


def test_files_of_rejects_are_left_out(work: Path) -> None:
    Path("refused").mkdir()
    Path("warehouse/orders/1.parquet").rename("refused/1.parquet")
    with pytest.warns(LeftOutWarning, match=r"1 in `refused`"):
        assert left("a.jsonl", "refused", own=(), rejects=Path("refused")) == ["a.jsonl"]


@pytest.mark.parametrize("source", ["warehouse/orders", "warehouse/orders/*.parquet", "latest/orders/1.parquet"])
def test_a_source_within_a_folder_of_our_own_is_meant(work: Path, source: str) -> None:
    [found] = left(source, own=OWN)
    assert Path(found).samefile("warehouse/orders/1.parquet")


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("parquet:warehouse", "warehouse"),
        ("parquet://warehouse", "warehouse"),
        ("delta:warehouse?dataset=raw", "warehouse/raw"),
        ("iceberg:nowhere", None),
        ("duckdb:///a.jsonl", None),
        ("postgresql://ann@db:5432/shop?dataset=raw", None),
        ("spark:spark_catalog.shop", None),
    ],
)
def test_destinations_in_folders_are_known(work: Path, url: str, folder: str | None) -> None:
    assert folder_of(url) == (folder and Path(folder))


def test_the_same_folder_can_be_loaded_again_and_again(shop: Shop) -> None:
    shop.write("a.jsonl", {"id": 1, "lines": [{"n": 1}]})
    shop.load("a.jsonl")
    shop.write("b.jsonl", {"id": 2}, {"id": 3, "new": "x"})

    with pytest.warns(LeftOutWarning, match=r"left out: 1 in `schemas`, \d in `warehouse`"):
        second = shop.load(".", new_only=True, rejects=Path("refused"), contract="columns=discard_row")
    with pytest.warns(LeftOutWarning, match=r"1 in `refused`"):
        third = shop.load(".", new_only=True, rejects=Path("refused"))

    assert (second.seen, second.roots[0].read, second.roots[0].rejected) == (("a.jsonl",), 2, 1)
    assert third.seen == ("a.jsonl", "b.jsonl")
    assert shop.rows("orders", "id") == [(1,), (2,)]


@pytest.mark.parametrize("name", ["_Rejects", "_schemactl_inputs"])
def test_tables_of_our_own_take_no_data(shop: Shop, name: str) -> None:
    source = shop.write("a.jsonl", {"id": 1})
    before = shop.files()
    with pytest.raises(InputError, match="is a table of schemactl's own"):
        shop.load(source, table=name)
    assert shop.files() == before

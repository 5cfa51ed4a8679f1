"""Loads whose sources contain the folders that schemactl writes to."""

from __future__ import annotations

from pathlib import Path

import pytest
from loading_shop import Shop

from schemactl.destinations import folder_of
from schemactl.errors import InputError
from schemactl.store.sources import LeftOutWarning


@pytest.mark.parametrize(("url", "folder"), [
    ("parquet:warehouse", "warehouse"), ("parquet://warehouse", "warehouse"),
    ("delta:warehouse?dataset=raw", "warehouse/raw"), ("iceberg:nowhere", None), ("duckdb:///a.jsonl", None),
    ("postgresql://ann@db:5432/shop?dataset=raw", None), ("spark:spark_catalog.shop", None),
])  # fmt: skip
def test_destinations_in_folders_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, folder: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("warehouse").mkdir()
    assert folder_of(url) == (folder and Path(folder))


def test_the_same_folder_can_be_loaded_again_and_again(shop: Shop) -> None:
    shop.write("a.jsonl", {"id": 1, "lines": [{"n": 1}]})
    shop.load("a.jsonl")
    shop.write("b.jsonl", {"id": 2}, {"id": 3, "new": "x"})

    with pytest.warns(LeftOutWarning, match=r"were skipped: 1 in `schemas`, \d in `warehouse`"):
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

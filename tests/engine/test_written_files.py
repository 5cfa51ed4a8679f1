"""Files in folders that schemactl writes to are excluded from the sources around them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from schemactl.engine.inputs import find_inputs
from schemactl.engine.written_files import without_written_files
from schemactl.errors import InputError
from schemactl.store.sources import LeftOutWarning


def remaining(*sources: str, written: tuple[str, ...], rejects: Path | None = None) -> list[str]:
    return [file.path for file in without_written_files(find_inputs(sources), sources, map(Path, written), rejects)]


@pytest.fixture
def data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Data, a warehouse, and what a killed load has left."""
    monkeypatch.chdir(tmp_path)
    for name in ("warehouse/orders/1.parquet", "warehouse/orders__lines/1.parquet", "tmp/schemactl-rows-x/1.parquet"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": [1]}), name)
    Path("a.jsonl").write_text('{"id": 1}\n')
    Path("latest").symlink_to("warehouse")
    return tmp_path


WRITTEN = ("warehouse", "tmp", "not/there")


@pytest.mark.parametrize("source", [".", "**", "../{}"])
def test_files_of_our_own_below_a_source_are_left_out(data_folder: Path, source: str) -> None:
    message = r"skipped: 1 in `tmp`, 2 in `warehouse`"
    with pytest.warns(LeftOutWarning, match=message):
        assert remaining(source.format(data_folder.name), written=WRITTEN) == ["a.jsonl"]


def test_files_of_our_own_are_known_by_another_path(data_folder: Path) -> None:
    with pytest.warns(LeftOutWarning, match=r"2 in `warehouse`"):
        assert remaining("a.jsonl", "latest", written=WRITTEN) == ["a.jsonl"]


@pytest.mark.parametrize("source", ["warehouse", "warehouse/*", "./warehouse/../warehouse", "latest"])
def test_a_source_of_nothing_but_our_own_files_is_refused(data_folder: Path, source: str) -> None:
    with pytest.raises(InputError, match=r"only files of the destination: 2 in `warehouse`"):
        remaining(source, written=WRITTEN)


def test_files_of_schemas_and_lineage_are_left_out_beside_data(data_folder: Path) -> None:
    Path("out").mkdir()
    for name in ("shop.schema.json", "shop.lineage.json", "data.json"):
        Path("out", name).write_text('{"id": 1}')
    sources = ("a.jsonl", "out")
    inputs = find_inputs(sources)
    with pytest.warns(LeftOutWarning, match=r"2 in `out`"):
        inputs = without_written_files(inputs, sources, (), schema_folders=(Path("out"), Path("not/there")))
    assert [file.path for file in inputs] == ["a.jsonl", "out/data.json"]
    file_source = ("out/shop.schema.json",)
    assert len(without_written_files(find_inputs(file_source), file_source, (), schema_folders=(Path("out"),))) == 1


def test_data_may_stand_beside_the_folders_of_tables(data_folder: Path) -> None:
    Path("init").write_text('{"initial_version": 1}')
    assert remaining("*.jsonl", written=(".",)) == ["a.jsonl"]
    with pytest.warns(LeftOutWarning, match=r"4 in `\.`"):
        assert remaining(".", written=(".",)) == ["a.jsonl"]


def test_files_of_rejects_are_left_out(data_folder: Path) -> None:
    Path("refused").mkdir()
    Path("warehouse/orders/1.parquet").rename("refused/1.parquet")
    with pytest.warns(LeftOutWarning, match=r"1 in `refused`"):
        assert remaining("a.jsonl", "refused", written=(), rejects=Path("refused")) == ["a.jsonl"]


@pytest.mark.parametrize("source", ["warehouse/orders", "warehouse/orders/*.parquet", "latest/orders/1.parquet"])
def test_a_source_within_a_folder_of_our_own_is_meant(data_folder: Path, source: str) -> None:
    [path] = remaining(source, written=WRITTEN)
    assert Path(path).samefile("warehouse/orders/1.parquet")

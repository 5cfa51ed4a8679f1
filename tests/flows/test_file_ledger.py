"""``schemactl files``: what destinations know of loaded files, and files that are loaded again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from loading_shop import Shop

from schemactl.engine.protocol import Engine
from schemactl.errors import InputError
from schemactl.flows.file_ledger import forget_files, list_files, match_paths
from schemactl.flows.target import loadable
from schemactl.normalization.loaded_files import FilesReport, FileState
from schemactl.normalization.report import Outcome

ADDRESSES = (
    "duckdb:///shop.duckdb",
    "sqlite:///shop.db",
    "parquet:shop",
    "delta:shop",
    "iceberg:shop",
    "dlt:duckdb?dataset=shop",
)


@pytest.fixture
def shop(local_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DLT_DATA_DIR", str(tmp_path / "dlt"))
    monkeypatch.setenv("DESTINATION__DUCKDB__CREDENTIALS", str(tmp_path / "dlt.duckdb"))
    (tmp_path / "landing").mkdir()
    return Shop(tmp_path, local_engine)


def states(report: FilesReport) -> list[tuple[str, FileState]]:
    return [(Path(file.entry.file.path).name, file.state) for file in report.files]


@pytest.mark.parametrize("to", ADDRESSES)
def test_a_forgotten_file_is_loaded_again_once(shop: Shop, to: str) -> None:
    shop.write("landing/a.jsonl", {"id": 1}, {"id": "x"})
    shop.write("landing/b.jsonl", {"id": 2})
    shop.write("first.jsonl", {"id": 0})
    shop.load("first.jsonl", to=to)
    first = shop.load("landing", to=to, new_only=True, contract="data_type=discard_row")
    report = list_files("shop", to, ["landing"])
    assert [(file.entry.load_id, file.entry.file.rows, file.entry.file.rejects) for file in report.files] == [
        (first.load_id, 1, 1),
        (first.load_id, 1, 0),
    ]

    versions = loadable(to).destination.read_catalogue(loadable(to).url).hashes
    assert states(forget_files("shop", to, ["landing/a*"], lambda _: True)) == [("a.jsonl", FileState.FORGOTTEN)]
    assert loadable(to).destination.read_catalogue(loadable(to).url).hashes == versions
    with pytest.raises(InputError, match=r"no loaded file matches `landing/a\*`"):
        forget_files("shop", to, ["landing/a*"], lambda _: True)

    again = shop.load("landing", to=to, new_only=True, contract="data_type=discard_row")
    assert (again.documents, again.seen) == (2, ("landing/b.jsonl",))
    assert shop.load("landing", to=to, new_only=True).outcome is Outcome.NOTHING_NEW
    assert states(list_files("shop", to, ["landing"])) == [
        ("a.jsonl", FileState.FORGOTTEN),
        ("a.jsonl", FileState.LOADED),
        ("b.jsonl", FileState.LOADED),
    ]
    assert states(list_files("shop", to, load_id=again.load_id)) == [("a.jsonl", FileState.LOADED)]


def test_files_are_forgotten_only_if_the_user_agrees(shop: Shop) -> None:
    to = ADDRESSES[0]
    shop.load(shop.write("a.jsonl", {"id": 1}), to=to, new_only=True)
    shown: list[FilesReport] = []

    def decline(report: FilesReport) -> bool:
        shown.append(report)
        return False

    assert forget_files("shop", to, ["a.jsonl"], decline).is_declined
    assert states(shown[0]) == [("a.jsonl", FileState.LOADED)]
    assert shop.load("a.jsonl", to=to, new_only=True).outcome is Outcome.NOTHING_NEW


def test_a_file_is_forgotten_although_its_load_has_a_clock_that_is_ahead(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    import schemactl.flows.normalize as normalize_flow

    to = ADDRESSES[0]
    ahead = datetime.now(UTC) + timedelta(days=2)

    class Clock(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:
            return ahead

    with monkeypatch.context() as patch:
        patch.setattr(normalize_flow, "datetime", Clock)
        shop.load(shop.write("a.jsonl", {"id": 1}), to=to, new_only=True)
    forget_files("shop", to, ["a.jsonl"], lambda _: True)
    assert states(list_files("shop", to)) == [("a.jsonl", FileState.FORGOTTEN)]


def test_a_destination_without_loads_has_no_files(shop: Shop) -> None:
    for to in ADDRESSES[:4]:
        assert list_files("shop", to).files == ()
        with pytest.raises(InputError, match=r"no loaded file matches `a\.jsonl`"):
            forget_files("shop", to, ["a.jsonl"], lambda _: True)
    with pytest.raises(InputError, match="load `7` has loaded no such file"):
        list_files("shop", ADDRESSES[0], load_id="7")


def test_patterns_of_files_are_those_of_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    here = [f"{tmp_path}/{name}" for name in ("in/a.jsonl", "in/b/c.jsonl", "in[1]/d.jsonl", "other.jsonl")]
    objects = ["s3://shop/in/a.jsonl", "s3://shop/in/b/c.jsonl"]
    for pattern, matched in (
        ("in", here[:2]),
        ("in/*.jsonl", here[:1]),
        ("in/**", here[:2]),
        ("./in/../in/a.jsonl", here[:1]),
        ("in[1]/d.jsonl", here[2:3]),
        (f"{tmp_path}/**/*.jsonl", here[:3]),
        ("*.jsonl", here[3:]),
        ("s3://shop/in/*", objects),
        ("s3://shop/in/a.jsonl", objects[:1]),
        ("s3://shop", objects),
    ):
        assert match_paths([*here, *objects], [pattern]) == set(matched), pattern
    with pytest.raises(InputError, match="no loaded file matches `out`"):
        match_paths(here, ["in", "out"])


def test_a_file_below_a_name_with_marks_of_patterns_is_found_by_its_path(shop: Shop) -> None:
    Path("[x]").mkdir()
    shop.load(shop.write("[x]/a*.jsonl", {"id": 1}), to=ADDRESSES[0], new_only=True)
    assert states(list_files("shop", ADDRESSES[0], ["[x]/a*.jsonl"])) == [("a*.jsonl", FileState.LOADED)]

from __future__ import annotations

import os
from pathlib import Path

import pytest

from schemactl.engine.input import Input
from schemactl.errors import InputError
from schemactl.flows.normalize_call import choose_load_id, remember, without_seen
from schemactl.flows.target import loadable
from schemactl.normalization.package import PastLoads


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("duckdb:////data/shop.duckdb?dataset=raw", "duckdb:////data/shop.duckdb?dataset=raw"),
        ("postgresql://ann:secret@db:5432/shop", "postgresql://ann@db:5432/shop"),
        ("postgresql://ann:se?cr/e@t@db/shop", "postgresql://ann@db/shop"),
        ("postgresql://db/shop?password=secret&dataset=raw", "postgresql://db/shop?dataset=raw"),
        ("postgresql://db:5432/shop?user=ann", "postgresql://db:5432/shop"),
    ],
)
def test_shown_address_reports_no_password(url: str, shown: str) -> None:
    assert loadable(url).shown == shown


def test_load_id_is_the_time_as_in_dlt_unless_it_is_stated() -> None:
    assert float(choose_load_id(None)) > 1_700_000_000
    assert choose_load_id("2026-11-21_a.b") == "2026-11-21_a.b"


@pytest.mark.parametrize("stated", ["", "../a", "a/b", "a b", ".a", "é", "a" * 65, "a\n"])
def test_load_id_that_cannot_be_in_a_file_name_is_refused(stated: str) -> None:
    with pytest.raises(InputError, match="cannot be the id of a load"):
        choose_load_id(stated)


@pytest.fixture
def landed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Input, ...]:
    monkeypatch.chdir(tmp_path)
    for name in ("a.jsonl", "b.jsonl"):
        Path(name).write_text('{"id": 1}\n')
    return Input("a.jsonl", "ndjson"), Input("b.jsonl", "ndjson")


def test_loaded_files_are_left_out_until_they_change(landed: tuple[Input, ...], tmp_path: Path) -> None:
    files = remember(landed)
    past = PastLoads(frozenset(("1",)), {file.path: file for file in files})
    assert [file.path for file in files] == [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]
    assert without_seen(landed, files, past) == ((), ("a.jsonl", "b.jsonl"))

    os.utime("a.jsonl", ns=(0, 1_700_000_000_123_456_789))
    assert without_seen(landed, remember(landed), past) == (landed[:1], ("b.jsonl",))

    Path("b.jsonl").write_text('{"id": 22}\n')
    assert without_seen(landed, remember(landed), past) == (landed, ())


def test_files_of_no_earlier_load_are_new(landed: tuple[Input, ...]) -> None:
    assert without_seen(landed, remember(landed), PastLoads()) == (landed, ())


def test_what_is_no_file_of_this_machine_may_always_be_new() -> None:
    inputs = (Input("table:a.b", "table"),)

    assert remember(inputs) == ()
    with pytest.raises(InputError, match=r"is unknown whether `table:a\.b` is new"):
        without_seen(inputs, (), PastLoads())


def test_file_that_has_gone_is_reported(landed: tuple[Input, ...]) -> None:
    Path("a.jsonl").unlink()

    with pytest.raises(InputError, match="no such file"):
        remember(landed)

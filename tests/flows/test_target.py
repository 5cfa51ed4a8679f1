"""The destination that an address names."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemactl.errors import InputError
from schemactl.flows.target import find_destination


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ["warehouse", "./snowflake:prod", "2026-01-01T10:00", "out.v1", "C:\\data"])
def test_what_has_no_scheme_is_a_folder_of_parquet(name: str) -> None:
    found = find_destination(name)
    assert (found.kind, found.url) == ("parquet", f"parquet:{name}")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("snowflake:prod", "there is no destination `snowflake`", "or a folder: `./snowflake:prod`"),
        ("s3://bucket/shop", "there is no destination `s3`", "known: "),
        ("duckbd:shop", "there is no destination `duckbd`", "did you mean `duckdb`?"),
        ("shop.duckdb", "`shop.duckdb` is not the name of a folder", "`duckdb:///shop.duckdb` is a database in a file"),
        ("data/shop.sqlite3", "is not the name of a folder", "`sqlite:///data/shop.sqlite3`"),
    ],
)
def test_what_looks_like_another_destination_makes_no_folder(text: str, message: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        find_destination(text)
    assert message in caught.value.message
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize("name", ["snowflake:prod", "shop.duckdb"])
def test_a_folder_that_is_there_is_meant_whatever_it_is_called(name: str) -> None:
    Path(name).mkdir()
    assert find_destination(name).kind == "parquet"

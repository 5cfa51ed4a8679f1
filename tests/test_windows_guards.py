"""Calls that Windows lacks are not made there; the platform is faked, as these tests run elsewhere."""

from __future__ import annotations

import os
import sys
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace

import pytest

from schemactl.destinations._journal import Moves
from schemactl.destinations.parquet import journal
from schemactl.errors import InputError
from schemactl.flows import references
from schemactl.flows.migrate.runner import who
from schemactl.store import sources
from schemactl.store.folder import SchemasFolder


def test_folders_are_not_opened_to_flush_a_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / journal.FOLDER).mkdir()
    (tmp_path / journal.FOLDER / "1.parquet").write_bytes(b"rows")

    def open_as_windows(path, flags, *args, **kwargs):
        if Path(path).is_dir():
            raise PermissionError(13, "Permission denied", str(path))
        assert flags & (os.O_RDWR | os.O_WRONLY), "FlushFileBuffers needs a handle that may write"
        return os.open(path, flags, *args, **kwargs)

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(journal, "os", SimpleNamespace(**{**vars(os), "open": open_as_windows}))
    monkeypatch.setattr(journal, "replace_file", lambda path, text: path.write_text(text))
    journal.commit(tmp_path, Moves(moves=((f"{journal.FOLDER}/1.parquet", "orders/1.parquet"),)))

    assert (tmp_path / "orders" / "1.parquet").read_bytes() == b"rows"
    assert not (tmp_path / journal.FOLDER).exists()


def test_a_user_without_a_name_has_no_number_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    def unnamed() -> str:
        raise ImportError("No module named 'pwd'")

    monkeypatch.setattr("getpass.getuser", unnamed)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.delattr(os, "getuid")
    assert who().startswith("unknown user@")


def test_data_is_named_after_its_file_not_after_its_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "Path", PureWindowsPath)
    for source in (r"C:\data\orders.jsonl", r"data\orders.jsonl.gz", "data/orders.csv"):
        assert sources.table_name([source], "other") == "orders"
    assert sources.table_name(["s3://bucket/orders.csv"], "other") == "orders"


def test_both_marks_of_folders_make_a_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(references, "os", SimpleNamespace(sep="\\", altsep="/"))
    monkeypatch.chdir(tmp_path)
    for reference in ("schemas/shop", r"schemas\shop"):
        with pytest.raises(InputError, match="there is no file"):
            references.find_schemas(reference, SchemasFolder.at(tmp_path))
    with pytest.raises(InputError, match="there is no schema"):
        references.find_schemas("shop", SchemasFolder.at(tmp_path))

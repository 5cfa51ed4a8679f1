"""Where locks are kept for destinations that have none: in a folder that nobody else can write to."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest

from schemactl.destinations._lake.lock import holding, machine_folder
from schemactl.errors import DestinationError


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    return tmp_path


def _own(temporary: Path) -> Path:
    return temporary / f"schemactl-{os.getuid()}"


def test_folder_is_the_user_s_alone(temporary: Path) -> None:
    folder = machine_folder("spark", "a")
    with holding(folder):
        assert folder.parent == _own(temporary) / "locks"
        assert stat.S_IMODE(_own(temporary).stat().st_mode) == 0o700
    assert machine_folder("spark", "a") == folder != machine_folder("spark", "b")


def test_runtime_folder_of_the_user_goes_first(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = temporary / "runtime"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))

    assert machine_folder("spark").is_relative_to(runtime)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o701])
def test_folder_that_others_may_use_is_refused(temporary: Path, mode: int) -> None:
    _own(temporary).mkdir()
    _own(temporary).chmod(mode)

    with pytest.raises(DestinationError, match="is not private to this user"):
        machine_folder("spark")


def test_link_in_its_place_is_refused(temporary: Path) -> None:
    (temporary / "elsewhere").mkdir(mode=0o700)
    _own(temporary).symlink_to(temporary / "elsewhere")

    with pytest.raises(DestinationError, match="is not private to this user"):
        machine_folder("spark")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_folder_of_another_user_is_refused(temporary: Path) -> None:
    _own(temporary).mkdir(mode=0o700)
    os.chown(_own(temporary), 12345, 12345)

    with pytest.raises(DestinationError, match="is not private to this user"):
        machine_folder("spark")

"""The folder of a user's sockets and locks: nobody else gets in, nor gets to make it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from schemactl.errors import InputError
from schemactl.store.temporary_folders import private_folder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")


def test_only_its_user_can_enter_it(tmp_path: Path) -> None:
    os.umask(os.umask(0o022))

    folder = private_folder({"XDG_RUNTIME_DIR": str(tmp_path)})

    assert folder == tmp_path / "schemactl"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert private_folder({"XDG_RUNTIME_DIR": str(tmp_path)}) == folder


@pytest.mark.parametrize(
    "stated", [{}, {"XDG_RUNTIME_DIR": ""}, {"XDG_RUNTIME_DIR": "relative"}, {"XDG_RUNTIME_DIR": "/no/such"}]
)
def test_without_a_runtime_folder_it_lies_in_the_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stated: dict[str, str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    assert private_folder(stated) == tmp_path / f"schemactl-{os.getuid()}"


def test_one_that_others_may_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "schemactl").mkdir()
    (tmp_path / "schemactl").chmod(0o755)

    with pytest.raises(InputError, match="is not private to this user"):
        private_folder({"XDG_RUNTIME_DIR": str(tmp_path)})


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "schemactl").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(InputError, match="is not private to this user"):
        private_folder({"XDG_RUNTIME_DIR": str(tmp_path)})


def test_one_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "schemactl").write_text("")

    with pytest.raises(InputError, match=r"cannot use the folder .*schemactl"):
        private_folder({"XDG_RUNTIME_DIR": str(tmp_path)})

"""The folder of caches."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemactl.store.cache_folder import cache_folder

HOME = Path("/home/ada")
FOLDERS = {
    "linux": ("linux", {}, HOME / ".cache" / "schemactl"),
    "linux with a folder": ("linux", {"XDG_CACHE_HOME": "/caches"}, Path("/caches/schemactl")),
    "linux with a relative folder": ("linux", {"XDG_CACHE_HOME": "caches"}, HOME / ".cache" / "schemactl"),
    "macOS": ("darwin", {"XDG_CACHE_HOME": "/caches"}, HOME / "Library" / "Caches" / "schemactl"),
    "Windows": ("win32", {"LOCALAPPDATA": "/local"}, Path("/local/schemactl")),
    "named": ("linux", {"SCHEMACTL_CACHE_DIR": "/ci/cache"}, Path("/ci/cache")),
    "switched off": ("linux", {"SCHEMACTL_CACHE_DIR": ""}, None),
}


@pytest.mark.parametrize(("platform", "environment", "folder"), FOLDERS.values(), ids=FOLDERS)
def test_caches_are_in_the_folder_of_the_system(
    platform: str, environment: dict[str, str], folder: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr(Path, "home", lambda: HOME)
    assert cache_folder(environment) == folder

"""Hints name the way in which this copy was installed."""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from schemactl import installation
from schemactl.installation import install_command, requirement

WHEEL = "file:///tmp/schemactl_cli-0.1.0-py3-none-any.whl"
GIT = "https://example.org/schemactl"


@pytest.mark.parametrize(("direct_url", "expected"), [
    (None, '"schemactl-cli[duckdb]"'),
    ({"url": "file:///src/my%20clone", "dir_info": {"editable": True}}, '-e "/src/my clone[duckdb]"'),
    ({"url": "file:///src/clone", "dir_info": {}}, '"schemactl-cli[duckdb] @ file:///src/clone"'),
    ({"url": WHEEL, "archive_info": {"hashes": {"sha256": "0"}}}, f'"schemactl-cli[duckdb] @ {WHEEL}"'),
    ({"url": GIT, "vcs_info": {"vcs": "git", "commit_id": "abc", "requested_revision": "v1"}},
     f'"schemactl-cli[duckdb] @ git+{GIT}@v1"'),
    ({"url": GIT, "vcs_info": {"vcs": "git", "commit_id": "abc"}, "subdirectory": "sub"},
     f'"schemactl-cli[duckdb] @ git+{GIT}@abc#subdirectory=sub"'),
])  # fmt: skip
def test_copy_is_installed_again_from_where_it_came(direct_url: dict[str, Any] | None, expected: str) -> None:
    assert requirement("duckdb", direct_url) == expected


class Copy:
    """A distribution that an installer wrote down."""

    def __init__(self, **files: str) -> None:
        self.files = {"INSTALLER": "pip\n", **{name.replace("__", "."): text for name, text in files.items()}}

    def read_text(self, name: str) -> str | None:
        return self.files.get(name)


@pytest.mark.parametrize(
    ("installer", "file", "program"),
    [
        ("pip", None, "pip install"),
        ("uv", None, "uv pip install"),
        ("uv", "uv-receipt.toml", "uv tool install"),
        ("pip", "pipx_metadata.json", "pipx install --force"),
    ],
)
def test_program_is_the_one_that_owns_the_environment(
    installer: str, file: str | None, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if file:
        (tmp_path / file).touch()
    monkeypatch.setattr(installation.sys, "prefix", str(tmp_path))
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Copy(INSTALLER=f"{installer}\n"))

    assert install_command("spark") == f'{program} "schemactl-cli[spark]"'


def test_uvx_is_called_with_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation.sys, "prefix", str(tmp_path / "uv" / "archive-v0" / "9aXk"))
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Copy(INSTALLER="uv\n"))

    assert install_command("duckdb") == 'uvx --from "schemactl-cli[duckdb]" schemactl'


def test_clone_on_the_path_is_installed_from_its_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.distribution", missing)
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.setattr(installation, "__file__", str(tmp_path / "schemactl" / "installation.py"))

    assert install_command("spark").endswith(f'install -e "{tmp_path}[spark]"')


def test_hint_for_spark_leaves_out_the_java_that_alpine_cannot_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Copy(INSTALLER="pip\n"))
    monkeypatch.setattr(installation.sysconfig, "get_config_var", lambda _: "cpython-312-x86_64-linux-musl")

    assert install_command("spark") == 'pip install "schemactl-cli[spark-own-java]"'
    assert install_command("duckdb") == 'pip install "schemactl-cli[duckdb]"'


def test_extras_of_spark_differ_by_the_java_alone() -> None:
    extras = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]

    own_java, java = extras["spark"]
    assert own_java == "schemactl-cli[spark-own-java]"
    marker = Requirement(java).marker
    assert marker is not None
    wheels = [("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "x86_64"), ("darwin", "arm64"), ("win32", "AMD64")]
    others = [("linux", "riscv64"), ("linux", "ppc64le"), ("win32", "ARM64")]
    on = {at: marker.evaluate({"sys_platform": at[0], "platform_machine": at[1]}) for at in (*wheels, *others)}
    assert [at for at, is_so in on.items() if is_so] == wheels

"""The merge driver's set-up in real repositories."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from schemactl.errors import InputError
from schemactl.store.folder import SchemasFolder
from schemactl.store.merge_driver import install_merge_driver


def git(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ("git", "-C", str(folder), *arguments)
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def driver_of(top: Path, path: str) -> str:
    return git(top, "check-attr", "merge", "--", path).strip().rpartition(": ")[2]


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    top = tmp_path / "shop"
    top.mkdir()
    git(top, "init", "-q")
    monkeypatch.chdir(top)
    return top


def test_schema_and_lineage_files_get_the_driver_and_others_do_not(top):
    written = install_merge_driver(SchemasFolder.at("schemas"))
    assert written == (str(top / ".gitattributes"), str(top / ".git/config"))
    for path in ("import/a.schema.yaml", "import/a.schema.json", "export/a.schema.yml", "export/a.lineage.json"):
        assert driver_of(top, f"schemas/{path}") == "schemactl"
    for path in ("schemas/import/notes.yaml", "schemas/import/deep/a.schema.yaml", "src/import/a.schema.yaml"):
        assert driver_of(top, path) == "unspecified"


def test_the_configuration_runs_this_installation_and_imports_nothing_of_the_repository(top):
    install_merge_driver(SchemasFolder.at("schemas"))
    command = git(top, "config", "--local", "merge.schemactl.driver")
    assert command.startswith(f"{sys.executable} -P -m schemactl merge-driver %O %A %B %L %P;")
    assert git(top, "config", "--local", "merge.schemactl.recursive") == "binary\n"


def test_a_second_call_changes_nothing_and_a_person_s_lines_stay(top):
    attributes = top / ".gitattributes"
    attributes.write_text("*.png binary")
    install_merge_driver(SchemasFolder.at("schemas"))
    text = attributes.read_text()
    assert text.startswith("*.png binary\n/schemas/import/*.schema.* merge=schemactl\n")
    assert install_merge_driver(SchemasFolder.at("schemas")) == ()
    assert attributes.read_text() == text
    assert git(top, "config", "--local", "--get-all", "merge.schemactl.driver").count("\n") == 1


def test_an_earlier_installation_s_command_is_replaced(top):
    git(top, "config", "merge.schemactl.driver", "/gone/python -m schemactl merge-driver %O %A %B")
    assert str(top / ".git/config") in install_merge_driver(SchemasFolder.at("schemas"))
    assert sys.executable in git(top, "config", "--local", "merge.schemactl.driver")


@pytest.mark.parametrize("folder", ["my schemas", "a[b]c", "ünï*", "."], ids=["blank", "class", "star", "top"])
def test_odd_folder_names_match(top, folder):
    install_merge_driver(SchemasFolder.at(folder))
    prefix = "" if folder == "." else f"{folder}/"
    assert driver_of(top, f"{prefix}import/a.schema.yaml") == "schemactl"
    assert driver_of(top, f"{prefix}export/a.lineage.json") == "schemactl"


def test_a_shared_folder_gets_its_lines_once(top):
    install_merge_driver(SchemasFolder.at("s", imports="s", exports="s"))
    lines = (top / ".gitattributes").read_text().splitlines()
    assert lines == ["/s/*.schema.* merge=schemactl", "/s/*.lineage.json merge=schemactl"]


def test_another_driver_is_not_overridden(top):
    (top / ".gitattributes").write_text("*.yaml merge=union\n")
    with pytest.raises(InputError, match="another driver: `merge=union`"):
        install_merge_driver(SchemasFolder.at("schemas"))
    assert (top / ".gitattributes").read_text() == "*.yaml merge=union\n"


def test_outside_of_a_repository_it_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="is not in a git repository"):
        install_merge_driver(SchemasFolder.at("schemas"))

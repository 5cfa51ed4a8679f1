"""Import and export folders of their own: `--import-schemas`, `--export-schemas`, their settings and variables."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from schemactl.cli.app import run
from schemactl.store.folder import SchemasFolder

IMPORT, EXPORT = Path("in/shop.schema.yaml"), Path("out/shop.schema.yaml")
FOLDERS = ["--import-schemas", "in", "--export-schemas", "out"]
SETTINGS = 'import-schemas = "in"\nexport-schemas = "out"\n'


@pytest.fixture(autouse=True)
def _shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("orders.sql").write_text("CREATE TABLE orders (id bigint PRIMARY KEY, total double precision);\n")
    assert run(["import", "orders.sql", "--name", "shop", *FOLDERS]) == 0


def test_both_files_are_written_to_their_folders() -> None:
    assert IMPORT.exists()
    assert EXPORT.exists()
    assert not Path("schemas").exists()
    assert sorted(path.name for path in Path("out").iterdir()) == [".schemactl", "shop.schema.yaml"]


@pytest.mark.parametrize("place", ["options", "settings", "project", "variables"])
def test_every_command_finds_the_schemas(
    place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = FOLDERS if place == "options" else []
    if place == "settings":
        Path("schemactl.toml").write_text(SETTINGS)
    elif place == "project":
        Path("pyproject.toml").write_text(f"[tool.schemactl]\n{SETTINGS}")
    elif place == "variables":
        monkeypatch.setenv("SCHEMACTL_IMPORT_SCHEMAS", "in")
        monkeypatch.setenv("SCHEMACTL_EXPORT_SCHEMAS", "out")
    database = "duckdb:///shop.duckdb"
    for call in (
        ["list"],
        ["show", "shop"],
        ["show", "import:shop"],
        ["check"],
        ["fmt", "--check"],
        ["diff"],
        ["export", "shop", "--to", "sql"],
        ["migrate", "apply", "shop", "--to", database, "--yes"],
        ["migrate", "status", "shop", "--to", database],
        ["migrate", "verify", "shop", "--to", database],
        ["migrate", "plan", "shop", "--dir", "migrations", "--dialect", "duckdb"],
        ["migrate", "check", "migrations", "--schema", "shop"],
        ["edit", "shop", "--column", "orders.note:text"],
    ):
        assert run([*call, *folders]) == 0, capsys.readouterr().err
    assert "note" in IMPORT.read_text()
    assert run(["sync", "--check", *folders]) == 1
    assert run(["diff", "--fail-on", "warn", *folders]) == 0
    capsys.readouterr()
    assert run(["sync", "shop", *folders]) == 0
    assert f"wrote {EXPORT}" in capsys.readouterr().out
    assert "note" in EXPORT.read_text()
    assert run(["migrate", "plan", "shop", "--to", database, *folders]) == 0
    assert "add column `orders.note`" in capsys.readouterr().out
    assert not Path("schemas").exists()


def test_accepted_findings_are_those_of_the_folders(capsys: pytest.CaptureFixture[str]) -> None:
    IMPORT.write_text(IMPORT.read_text().replace("data_type: double", "data_type: bigint"))
    assert run(["diff", *FOLDERS]) == 1
    assert run(["accept", "--all", "--until", "2999-01-01", "--reason", "agreed", *FOLDERS]) == 0
    assert run(["diff", *FOLDERS]) == 0, capsys.readouterr().out


def test_one_folder_may_be_that_of_the_layout() -> None:
    Path("schemas").mkdir()
    shutil.move("in", "schemas/import")
    assert run(["check", "--export-schemas", "out"]) == 0
    shutil.move("out", "schemas/export")
    shutil.move("schemas/import", "in")
    assert run(["diff", "--import-schemas", "in"]) == 0


def test_both_may_be_one_folder(capsys: pytest.CaptureFixture[str]) -> None:
    one = ["--import-schemas", "one", "--export-schemas", "one"]
    assert run(["import", "orders.sql", "--name", "other", *one]) == 0
    assert run(["edit", "other", "--column", "orders.note:text", *one]) == 0
    capsys.readouterr()
    assert run(["show", "other", *one]) == 0
    assert "note" in capsys.readouterr().out
    assert [path.name for path in Path("one").glob("*.yaml")] == ["other.schema.yaml"]


def test_what_is_set_nearer_to_the_call_counts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["import", "orders.sql", "--name", "other", "--schemas", "elsewhere"]) == 0
    Path("schemactl.toml").write_text(SETTINGS)

    def names(*call: str) -> str:
        capsys.readouterr()
        assert run(["list", "--format", "json", *call]) == 0
        printed = capsys.readouterr().out
        return "".join(name for name in ("shop", "other") if f'"{name}"' in printed)

    assert names("--export-schemas", "out") == "shop"
    assert names("--schemas", "elsewhere") == "other"
    assert names("--schemas", "elsewhere", *FOLDERS) == "shop"
    Path("schemactl.toml").write_text(f'schemas = "elsewhere"\n{SETTINGS}')
    assert names() == "shop"
    monkeypatch.setenv("SCHEMACTL_SCHEMAS", "elsewhere")
    assert names() == "other"


def test_paths_in_a_settings_file_are_relative_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("schemactl.toml").write_text(SETTINGS)
    Path("below").mkdir()
    monkeypatch.chdir("below")
    assert run(["show", "shop"]) == 0


def test_revisions_have_the_same_folders(capsys: pytest.CaptureFixture[str]) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for call in (["init", "-q"], ["add", "in", "out"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *call], check=True)
    assert run(["edit", "shop", "--column", "orders.note:text", *FOLDERS]) == 0
    capsys.readouterr()
    assert run(["diff", "git:HEAD", *FOLDERS]) == 0
    assert "note" in capsys.readouterr().out
    nowhere = ["--import-schemas", "a", "--export-schemas", "b"]
    assert run(["export", "git:HEAD", "--to", "sql", *nowhere]) == 2
    assert "there is no schema file at `a` or `b` in revision `HEAD`" in capsys.readouterr().err


def test_messages_name_both_folders(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sync", "shpo", *FOLDERS]) == 2
    assert "there is no schema `shpo` in `in` and `out`" in capsys.readouterr().err
    assert run(["list", "--import-schemas", "a", "--export-schemas", "b"]) == 2
    assert "there is no schema in `a` and `b`" in capsys.readouterr().err


def test_calls_that_share_the_export_folder_share_its_lock() -> None:
    usual = SchemasFolder.at(Path("schemas"))
    assert SchemasFolder.at(Path("other"), Path("in"), Path("schemas/export")).root == usual.root
    first, second = (SchemasFolder.at(Path(root), exports=Path("out")) for root in ("a", "b"))
    assert first.root == second.root

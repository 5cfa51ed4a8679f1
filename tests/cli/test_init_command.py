"""``schemactl init``: the files of a project, and its first schemas."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tomllib
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_schemas import check_document
from terminals import Person

from schemactl.cli.app import run
from schemactl.formats import dlt
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table

ALL_PARTS = ("--git", "--ci", "github", "--pre-commit", "--editor")
ORDERS = Table(
    "orders",
    {"id": Column("id", {"data_type": "bigint", "nullable": True})},
    {"resource": "orders", "write_disposition": "append"},
)
SCHEMA = bump(new_schema("shop").with_table(ORDERS))


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, in no repository and without settings of git's."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("COLUMNS", "120")
    return folder


def files(folder: Path) -> set[str]:
    """The files below a folder, without those of git and of locks."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {path.as_posix() for path in paths if ".git" not in path.parts and path.name != "lock"}


def git(*arguments: str) -> str:
    return subprocess.run(("git", *arguments), capture_output=True, text=True, check=True).stdout


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["init", *arguments, "--format", "json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    check_document(document, "init")
    return document


def save_schema(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dlt.write(SCHEMA, str(path)))


def make_sqlite(path: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, total DECIMAL(10, 2))")
        connection.commit()


def test_without_a_terminal_and_options_the_folder_and_its_settings_are_set_up(
    project: Path, capsys: pytest.CaptureFixture[str]
):
    assert run(["init"]) == 0
    assert files(project) == {"schemactl.toml", "schemas/import/.gitkeep", "schemas/export/.gitkeep"}
    assert tomllib.loads((project / "schemactl.toml").read_text()) == {"schemas": "schemas"}
    *_, first, second, third = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in (first, second, third)] == [
        ["schemactl", "infer"],
        ["schemactl", "show"],
        ["schemactl", "normalize"],
    ]


def test_all_parts_are_valid_and_name_the_folder(project: Path):
    assert run(["init", "--schemas", "contracts", *ALL_PARTS]) == 0
    assert files(project) == {
        "schemactl.toml",
        "contracts/import/.gitkeep",
        "contracts/export/.gitkeep",
        ".gitattributes",
        ".github/workflows/schemas.yml",
        ".pre-commit-config.yaml",
        ".schemactl/file.json",
        ".schemactl/settings.json",
        ".vscode/settings.json",
    }
    workflow = yaml.safe_load((project / ".github/workflows/schemas.yml").read_text())
    assert workflow[True]["pull_request"]["paths"] == ["contracts/**", "schemactl.toml"]
    hooks = yaml.safe_load((project / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert [hook["id"] for hook in hooks] == ["schemactl-schema", "schemactl-diff"]
    editor = json.loads((project / ".vscode/settings.json").read_text())
    assert "contracts/import/*.schema.yaml" in editor["yaml.schemas"]["./.schemactl/file.json"]
    assert (project / "schemactl.toml").read_text().startswith("#:schema .schemactl/settings.json\n")
    assert git("config", "--get", "diff.schemactl.command") == "schemactl diff --git\n"
    assert git("check-attr", "diff", "merge", "--", "contracts/export/x.schema.yaml").count(": schemactl\n") == 2


def test_the_settings_and_the_json_schema_that_it_writes_fit(project: Path):
    import jsonschema

    run(["init", "--schemas", "contracts", "--editor"])
    settings = tomllib.loads((project / "schemactl.toml").read_text())
    schema = json.loads((project / ".schemactl/settings.json").read_text())
    jsonschema.validate(settings, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**settings, "schmas": "x"}, schema)


def test_existing_files_stay_byte_for_byte_and_the_report_shows_what_they_lack(
    project: Path, capsys: pytest.CaptureFixture[str]
):
    existing = {
        "schemactl.toml": "compat = 'full' # ours\r\n",
        ".github/workflows/schemas.yml": "on: push\n",
        ".pre-commit-config.yaml": "repos: [] # none\n",
        ".schemactl/file.json": "{}",
        ".vscode/settings.json": "{ /* ours */ }",
        "schemas/import/shop.schema.yaml": "# mine\nname: shop\ntables: {}\n",
    }
    for path, text in existing.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text, newline="")
    (project / ".gitattributes").write_text("*.bin binary")
    document = report(capsys, *ALL_PARTS)

    assert {path: (project / path).read_bytes().decode() for path in existing} == existing
    assert (project / ".gitattributes").read_text().startswith("*.bin binary\n*.schema.yaml diff=schemactl\n")
    additions = {file["path"]: file["addition"] for file in document["unchanged"]}
    assert additions.keys() == existing.keys() - {"schemas/import/shop.schema.yaml"}
    assert "- id: schemactl-diff" in additions[".pre-commit-config.yaml"]
    assert "yaml.schemas" in additions[".vscode/settings.json"]
    assert not additions["schemactl.toml"], "the default folder needs no setting"
    assert document["schemas"] == ["shop"]


def test_a_second_run_changes_nothing(project: Path, capsys: pytest.CaptureFixture[str]):
    run(["init", *ALL_PARTS])
    texts = {path: (project / path).read_bytes() for path in files(project)}
    document = report(capsys, *ALL_PARTS)
    assert document["created"] == []
    assert not any(file["addition"] for file in document["unchanged"])
    assert {path: (project / path).read_bytes() for path in files(project)} == texts


def test_a_repository_decides_what_no_option_does(project: Path, capsys: pytest.CaptureFixture[str]):
    git("init", "--quiet")
    git("remote", "add", "origin", "https://gitlab.example/x.git")
    (project / ".vscode").mkdir()
    created = report(capsys)["created"]
    assert {".gitlab-ci.yml", ".gitattributes", ".schemactl/file.json"} <= set(created)
    assert ".pre-commit-config.yaml" not in created
    job = yaml.safe_load((project / ".gitlab-ci.yml").read_text())["schemas"]
    assert job["rules"][0]["changes"] == ["schemas/**/*", "schemactl.toml"]
    assert not set(report(capsys, "--no-git", "--ci", "none", "--no-editor")["created"])


def test_in_a_folder_of_a_repository_checks_go_to_its_top(project: Path, monkeypatch: pytest.MonkeyPatch):
    git("init", "--quiet")
    inner = project / "pipelines" / "my shop"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert run(["init", *ALL_PARTS]) == 0
    assert "pipelines/my shop/schemactl.toml" in files(project)
    workflow = yaml.safe_load((project / ".github/workflows/schemas.yml").read_text())
    assert workflow[True]["pull_request"]["paths"][0] == "pipelines/my shop/schemas/**"
    assert "cd 'pipelines/my shop'" in workflow["jobs"]["review"]["steps"][-1]["run"]
    hooks = yaml.safe_load((project / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert all("--schemas 'pipelines/my shop/schemas'" in hook["entry"] for hook in hooks)
    attribute = git("check-attr", "merge", "--", "schemas/export/x.schema.yaml")
    assert attribute.endswith(": schemactl\n")


def test_the_hooks_pass_with_the_first_schema_and_fail_with_a_change_that_breaks_readers(project: Path):
    run(["init", "--git", "--pre-commit", "--yes"])
    git("-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "--quiet", "--allow-empty", "-m", "x")
    save_schema(project / "schemas/export/shop.schema.yaml")
    hooks = yaml.safe_load((project / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    check, review = (hook["entry"].split()[1:] for hook in hooks)
    assert run([*check, "schemas/export/shop.schema.yaml"]) == 0
    assert run(review) == 0
    git("add", ".")
    git("-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "--quiet", "-m", "y")
    text = dlt.write(bump(replace(SCHEMA, tables={})), "shop.schema.yaml")
    (project / "schemas/export/shop.schema.yaml").write_text(text)
    assert run(review) == 1


def test_the_folders_of_a_pipeline_in_the_project_become_its_own(project: Path, capsys: pytest.CaptureFixture[str]):
    save_schema(project / "contracts/export/shop.schema.yaml")
    document = report(capsys, "contracts", "--no-git")
    assert document["created"] == ["schemactl.toml"]
    assert document["schemas"] == ["shop"]
    assert run(["show", "shop"]) == 0


@pytest.mark.parametrize("source", ["contracts/export", "contracts/import", "contracts"])
def test_one_of_a_pipelines_folders_means_both(project: Path, source: str):
    save_schema(project / "contracts/export/shop.schema.yaml")
    save_schema(project / "contracts/import/shop.schema.yaml")
    assert run(["init", source]) == 0
    assert tomllib.loads((project / "schemactl.toml").read_text()) == {"schemas": "contracts"}


def test_a_folder_of_export_files_alone_is_the_export_folder(project: Path):
    save_schema(project / "contracts/shop.schema.yaml")
    assert run(["init", "contracts"]) == 0
    assert tomllib.loads((project / "schemactl.toml").read_text())["export-schemas"] == "contracts"
    assert run(["show", "shop"]) == 0


def test_schemas_of_a_pipelines_working_folder_are_copied(project: Path, capsys: pytest.CaptureFixture[str]):
    save_schema(project / "pipelines/shop/schemas/shop.schema.json")
    (project / "pipelines/shop/state.json").write_text("{}")
    created = report(capsys, "pipelines/shop")["created"]
    assert created == ["schemas/import/shop.schema.yaml", "schemas/export/shop.schema.yaml", "schemactl.toml"]


def test_schemas_of_a_folder_elsewhere_are_copied_with_their_hash(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    save_schema(tmp_path / "elsewhere/export/shop.schema.yaml")
    assert "schemas/export/shop.schema.yaml" in report(capsys, "../elsewhere")["created"]
    copied = dlt.read((project / "schemas/export/shop.schema.yaml").read_text(), "").schema
    assert copied.version_hash == SCHEMA.version_hash


def test_the_tables_of_a_database_become_a_schema_named_after_it(project: Path, capsys: pytest.CaptureFixture[str]):
    make_sqlite("Web Shop.sqlite")
    document = report(capsys, "sqlite:///Web Shop.sqlite")
    assert document["schemas"] == ["web_shop"]
    baseline = document["next_commands"][1]
    assert baseline == "schemactl migrate baseline web_shop --to 'sqlite:///Web Shop.sqlite'"
    assert run(["migrate", "baseline", "web_shop", "--to", "sqlite:///Web Shop.sqlite", "--yes"]) == 0


def test_an_existing_schema_is_not_imported_again(project: Path, capsys: pytest.CaptureFixture[str]):
    make_sqlite("shop.sqlite")
    save_schema(project / "schemas/export/shop.schema.yaml")
    text = (project / "schemas/export/shop.schema.yaml").read_bytes()
    document = report(capsys, "sqlite:///shop.sqlite")
    assert "schemas/export/shop.schema.yaml" in [file["path"] for file in document["unchanged"]]
    assert (project / "schemas/export/shop.schema.yaml").read_bytes() == text


@pytest.mark.parametrize(("name", "names"), [(None, ["other", "shop"]), ("other", ["other"])])
def test_each_schema_that_a_dataset_stores_keeps_its_name_and_hash(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str | None, names: list[str]
):
    for schema_name in ("shop", "other"):
        table = replace(SCHEMA.tables["orders"], name=f"{schema_name}_orders")
        schema = bump(replace(SCHEMA, name=schema_name, tables={**new_schema("x").tables, table.name: table}))
        (tmp_path / f"{schema_name}.yaml").write_text(dlt.write(schema, ""))
        assert (
            run(["migrate", "apply", f"../{schema_name}.yaml", "--to", "duckdb:///data.duckdb?dataset=raw", "--yes"])
            == 0
        )
    document = report(capsys, "duckdb:///data.duckdb?dataset=raw", *(("--name", name) if name else ()))
    assert document["schemas"] == names
    for schema_name in names:
        assert run(["migrate", "status", schema_name, "--to", "duckdb:///data.duckdb?dataset=raw", "--check"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "is not a folder"),
        (["."], "has no schema files of dlt"),
        (["duckdb:///nowhere.duckdb"], "there is no file"),
        (["contracts", "--name", "shpo"], "has no schema `shpo`"),
        (["contracts", "--name", "a-b"], "cannot name a schema"),
        (["--ci", "jenkins"], "jenkins"),
    ],
)
def test_a_wrong_call_writes_nothing(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
):
    save_schema(project / "contracts/export/shop.schema.yaml")
    assert run(["init", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert files(project) == {"contracts/export/shop.schema.yaml"}


@pytest.mark.parametrize("answers", ["\nyes\ngitl\ny\ny\n", "\ny\ng\nwhat\ngitlab\nYES\nyes\n"])
def test_a_person_is_asked_for_what_no_option_decides(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answers: str
):
    monkeypatch.setattr(sys, "stdin", Person(answers))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert run(["init", "--format", "json"]) == 0
    created = set(json.loads(capsys.readouterr().out)["created"])
    assert {".gitattributes", ".gitlab-ci.yml", ".pre-commit-config.yaml", ".schemactl/file.json"} <= created


def test_a_person_may_name_a_source_and_leave_all_else(project: Path, monkeypatch: pytest.MonkeyPatch):
    make_sqlite("shop.sqlite")
    monkeypatch.setattr(sys, "stdin", Person("sqlite:///shop.sqlite\n"))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert run(["init"]) == 0
    assert {"schemas/import/shop.schema.yaml", "schemactl.toml"} <= files(project)


def test_a_password_shows_nowhere(project: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["init", "postgresql://ann:hunter2@127.0.0.1:1/shop"]) == 3
    assert "hunter2" not in capsys.readouterr().err
    assert files(project) == set()

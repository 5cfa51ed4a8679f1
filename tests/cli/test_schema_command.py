"""``schemactl schema``: JSON Schemas for editors, and files that name them."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from schemactl.cli.app import run
from schemactl.cli.commands import all_options
from schemactl.cli.declarations import option_specs
from schemactl.cli.settings import check_keys, parse_file
from schemactl.cli.settings_schema import project_schema, settings_schema
from schemactl.errors import InputError
from schemactl.schema.json_schema import file_schema

SETTINGS = """
schemas = "contracts"
color = "never"
verbose = true
master = "local[2]"
conf = { "spark.sql.shuffle.partitions" = 4 }

[infer]
sample = "10%"
on_bad_record = "skip"
resolve-collisions = "yes"

[csv]
null-values = ["N/A"]

[diff]
compat = "readers"
severity = { C204 = "warn" }
timeout = 60

[[diff.silence]]
rule = "C204"
table = "orders"
reason = "nobody reads it"
until = 2026-03-31

[migrate]
to = "duckdb:///shop.duckdb"
"""

MISSPELT = ["colour = 'never'", "[infer]\nsampel = '1%'", "[infr]", "[csv]\nnull-value = []", "[diff]\nsources = []"]


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    schema = settings_schema(all_options())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def read(text: str) -> None:
    file = parse_file(text, Path("schemactl.toml"), Path())
    assert file is not None
    check_keys(file, all_options())


def test_settings_that_are_read_are_valid(validator: jsonschema.Draft202012Validator) -> None:
    read(SETTINGS)
    validator.validate(tomllib.loads(SETTINGS))


@pytest.mark.parametrize("text", MISSPELT)
def test_settings_that_are_misspelt_are_invalid(text: str, validator: jsonschema.Draft202012Validator) -> None:
    with pytest.raises(InputError, match="there is no setting"):
        read(text)
    assert not validator.is_valid(tomllib.loads(text))


def test_each_setting_of_each_command_is_in_the_schema() -> None:
    tables = settings_schema(all_options())["properties"]
    for command, options in all_options().items():
        for spec in option_specs(options):
            if spec.setting.in_file:
                section, key = spec.setting.section or (command, spec.key)
                if spec.setting.is_top_level or section == "readers":
                    # `[[readers]]` are sources, so the command of this name has no table.
                    assert key in tables
                else:
                    assert "description" in tables[section]["properties"][key] or spec.setting.in_file_only


def test_only_its_own_table_of_a_project_is_described() -> None:
    validator = jsonschema.Draft202012Validator(project_schema(all_options()))
    project = {"project": {"name": "x"}, "tool": {"ruff": {"a": 1}, "schemactl": {"color": "never"}}}
    validator.validate(project)
    project["tool"]["schemactl"] = {"colour": "never"}
    assert not validator.is_valid(project)


@pytest.mark.parametrize("kind", ["file", "config", "pyproject"])
def test_schemas_are_printed_with_an_id(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", kind]) == 0
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert printed["$id"].startswith("urn:schemactl:")
    expected = {"file": file_schema, "config": lambda: settings_schema(all_options())}
    assert kind not in expected or printed == json.loads(json.dumps(expected[kind]()))


def test_files_name_the_schema_in_their_first_comment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schemas/import").mkdir(parents=True)
    file, settings = Path("schemas/import/shop.schema.yaml"), Path("schemactl.toml")
    file.write_bytes(b"# ours\r\nname: shop # a name\r\n")
    settings.write_text("color = 'never'\n")
    call = ["schema", "file", "--output", "editor/file.json", "--name-in", str(file), "--name-in", str(settings)]
    assert run(call) == 0
    line = b"# yaml-language-server: $schema=../../editor/file.json\r\n"
    assert file.read_bytes() == line + b"# ours\r\nname: shop # a name\r\n"
    assert settings.read_text() == "#:schema editor/file.json\ncolor = 'never'\n"
    assert json.loads(Path("editor/file.json").read_text()) == json.loads(json.dumps(file_schema()))

    before = file.stat().st_mtime_ns
    assert run(call) == 0
    assert file.stat().st_mtime_ns == before
    assert run(["schema", "file", "--output", "other.json", "--name-in", str(file)]) == 0
    assert file.read_bytes() == line.replace(b"editor/file", b"other") + b"# ours\r\nname: shop # a name\r\n"


def test_the_line_survives_what_schemactl_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schemas/import").mkdir(parents=True)
    file = Path("schemas/import/shop.schema.yaml")
    file.write_text("tables:\n  orders:\n    columns:\n      id: {data_type: bigint}\n")
    assert run(["schema", "file", "--output", "file.json", "--name-in", str(file)]) == 0
    assert run(["edit", "shop", "--column", "id:text"]) == 0
    assert run(["fmt", str(file)]) == 0
    assert file.read_text().startswith("# yaml-language-server: $schema=../../file.json\n")
    jsonschema.validate(yaml.safe_load(file.read_text()), json.loads(Path("file.json").read_text()))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["schema", "file", "--name-in", "a.yaml"], "`--name-in` needs `--output`"),
        (["schema", "file", "--output", "s.json", "--name-in", "a.json"], "cannot name a JSON Schema"),
        (["schema", "table"], "table"),
    ],
)
def test_what_cannot_name_a_schema_is_refused(
    args: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(args) == 2
    assert message in capsys.readouterr().err


def test_a_wrong_argument_is_not_called_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "nope"]) == 2
    assert "`nope` is not a value of `KIND`" in capsys.readouterr().err

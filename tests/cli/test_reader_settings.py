"""Sources of readers in settings files: ``[[readers]]`` and ``[readers.datasets]``."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import duckdb
import jsonschema
import pytest

from schemactl.cli.app import run
from schemactl.cli.commands import all_options
from schemactl.cli.settings_schema import settings_schema
from schemactl.formats.dlt import write
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Table
from tests.store.test_revision import commit, git

SCHEMA = Path("schemas/export/shop.schema.yaml")
READERS = '[[readers]]\nkind = "sql"\nwhere = "queries"\n'


def save_schema(*columns: str) -> None:
    SCHEMA.parent.mkdir(parents=True, exist_ok=True)
    table = Table("orders", {name: Column(name, {"data_type": "bigint"}) for name in columns})
    SCHEMA.write_text(write(new_schema("shop").with_table(table)))


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    save_schema("id", "note")
    for path, sql in {
        "queries/a.sql": "select id from raw.orders",
        "more/b.sql": "select note from shop.orders",
    }.items():
        Path(path).parent.mkdir()
        Path(path).write_text(sql)
    return tmp_path


def save_settings(text: str, path: str = "schemactl.toml") -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


def readers(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, list[str]]:
    """Return the names of the readers of each column."""
    assert run(["readers", "orders", "--schema", "export:", "--format", "json", *arguments]) == 0
    (schema,) = json.loads(capsys.readouterr().out)["schemas"]
    return {column["column"]: [use["reader"] for use in column["uses"]] for column in schema["columns"]}


VALID = {
    "a dataset for one source": (READERS + 'dataset = "raw"\n', {"id": ["queries/a.sql"], "note": []}),
    "datasets by schema": (READERS + '[readers.datasets]\nshop = "raw"\n', {"id": ["queries/a.sql"], "note": []}),
    "datasets of the last table count for all": (
        READERS + '[[readers]]\nkind = "sql"\nwhere = "more"\ndataset = "shop"\n[readers.datasets]\nshop = "raw"\n',
        {"id": ["queries/a.sql"], "note": ["more/b.sql"]},
    ),
    "a list in one line": (
        'readers = [{kind = "sql", where = "queries", dataset = "raw", dialect = "duckdb", complete = true}]',
        {"id": ["queries/a.sql"], "note": []},
    ),
    "another schema's dataset": (READERS + '[readers.datasets]\nother = "raw"\n', {"id": [], "note": []}),
}


@pytest.mark.parametrize(("text", "expected"), VALID.values(), ids=VALID)
def test_settings_declare_readers(text: str, expected: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    save_settings(text)
    assert readers(capsys) == expected
    jsonschema.validate(tomllib.loads(text), settings_schema(all_options()))


def test_datasets_count_for_sources_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    save_settings('[readers.datasets]\nshop = "raw"\n')
    assert readers(capsys, "--readers", "sql:queries") == {"id": ["queries/a.sql"], "note": []}
    assert readers(capsys, "--readers", "sql:more?dataset=shop") == {"id": [], "note": ["more/b.sql"]}


def test_sources_of_settings_and_command_line_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    save_settings(READERS + 'dataset = "raw"\n')
    assert readers(capsys, "--readers", "sql:more") == {"id": ["queries/a.sql"], "note": ["more/b.sql"]}


def test_paths_start_from_the_folder_of_the_file(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save_settings(READERS + 'dataset = "raw"\n')
    (work / "below").mkdir()
    monkeypatch.chdir(work / "below")
    assert readers(capsys, "--schemas", "../schemas")["id"] == ["../queries/a.sql"]


def test_paths_can_start_from_the_home(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(work))
    save_settings('[[readers]]\nkind = "sql"\nwhere = "~/queries"\ndataset = "raw"\n')
    assert readers(capsys)["id"] == [str(work / "queries/a.sql")]


def test_a_project_file_declares_readers(capsys: pytest.CaptureFixture[str]) -> None:
    text = READERS + 'dataset = "raw"\n[readers.datasets]\nother = "x"\n'
    save_settings(text.replace("[readers", "[tool.schemactl.readers"), "pyproject.toml")
    assert readers(capsys)["id"] == ["queries/a.sql"]


INVALID = {
    "no place": ('[[readers]]\nkind = "sql"', "each of `readers` needs `kind`, and `where` or `where-env`"),
    "two places": (READERS + 'where-env = "X"', "each of `readers` needs `kind`, and `where` or `where-env`"),
    "no kind": ('[[readers]]\nwhere = "x"', "each of `readers` needs `kind`"),
    "unknown key": (READERS + 'dialekt = "x"', "there is no setting `readers.dialekt`"),
    "unknown kind": ('[[readers]]\nkind = "sqll"\nwhere = "x"', "`sqll` is not a kind of readers"),
    "unknown dialect": (READERS + 'dialect = "duckbd"', "there is no dialect `duckbd`"),
    "another kind": ('[[readers]]\nkind = "duckdb"\nwhere = "sqlite:///x"', "`duckdb` is not the kind of `sqlite:///x`"),
    "a string for a flag": (READERS + 'complete = "yes"', "`complete` of `readers` must be `true` or `false`"),
    "a number for a string": (READERS + "dataset = 3", "`dataset` of `readers` must be a string"),
    "datasets of another shape": ("[readers.datasets]\nshop = 3", "`readers.datasets` must be a table of names"),
    "a list of strings": ('readers = ["sql:queries"]', "`readers` must be a list of tables"),
    "settings of the command": ('[readers]\nformat = "csv"', "there is no setting `readers.format`"),
    "in the table of a command": ("[diff]\nreaders = []", "there is no setting `diff.readers`"),
    "a server": ('[[readers]]\nkind = "postgresql"\nwhere = "//u:secret@h/x"', "`where` of `readers` names a server"),
    "no variable": ('[[readers]]\nkind = "mysql"\nwhere-env = "NO_URL"', "environment variable `NO_URL`"),
    "another secret": ('[[readers]]\nkind = "mysql"\nwhere-env = "TOKEN"', "`TOKEN` is not the address of a database"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), INVALID.values(), ids=INVALID)
def test_settings_that_cannot_be_read_are_refused_with_their_place(
    text: str, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    save_settings(text)
    assert run(["readers"]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.startswith("error: schemactl.toml:")
    assert "secret" not in err


def test_a_database_file_can_be_named_and_a_server_comes_from_the_environment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with duckdb.connect("data.duckdb") as connection:
        connection.execute("create schema shop; create table shop.orders (id bigint, note bigint)")
        connection.execute("create view daily as select note from shop.orders")
    for where in ('where = "///data.duckdb"', 'where = "duckdb:///data.duckdb"', 'where-env = "READERS_URL"'):
        monkeypatch.setenv("READERS_URL", "duckdb:///data.duckdb")
        save_settings(f'[[readers]]\nkind = "duckdb"\n{where}\n')
        assert readers(capsys)["note"] == ["main.daily"]


def test_the_user_can_name_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    save_settings('[[readers]]\nkind = "postgresql"\nwhere = "//localhost:1/shop"', "config/schemactl/config.toml")
    assert run(["readers"]) == 3
    assert "names a server" not in capsys.readouterr().err


def test_the_base_decides_which_readers_count(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(work, "init", "-q", "-b", "main")
    save_settings('[[readers]]\nkind = "sql"\nwhere = "more"\n')
    commit(work, "first")
    save_schema("id")
    save_settings('[[readers]]\nkind = "sql"\nwhere = "queries"\ncomplete = true\n')
    assert run(["diff", "git:main", "--format", "json"]) == 1
    findings = [finding for review in json.loads(capsys.readouterr().out)["reviews"] for finding in review["findings"]]
    by_rule = {finding["rule"]: finding for finding in findings}
    assert [reader["name"] for reader in by_rule["C204"]["readers"]] == ["more/b.sql"]
    assert (by_rule["P001"]["before"], by_rule["P001"]["after"]) == (
        [{"kind": "sql", "where": "more"}],
        [{"kind": "sql", "where": "queries", "complete": "true"}],
    )
    assert run(["diff", "git:main", "--policy", "git:main", "--format", "json"]) == 1
    assert "P001" not in capsys.readouterr().out


def test_readers_of_the_head_must_be_valid(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(work, "init", "-q", "-b", "main")
    commit(work, "first")
    save_settings('[[readers]]\nkind = "sql"\nwhre = "more"\n')
    assert run(["diff", "git:main"]) == 2
    assert "there is no setting `readers.whre`" in capsys.readouterr().err

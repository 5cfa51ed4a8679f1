"""What a REF on the command line names."""

from __future__ import annotations

import io
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from git_commands import git

from schemactl.destinations import DESTINATIONS
from schemactl.errors import InputError
from schemactl.flows.references import find_schema, find_schemas
from schemactl.formats import dlt
from schemactl.schema.hash import bump
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Schema
from schemactl.store.folder import SchemasFolder


def make(name: str, note: str = "") -> Schema:
    return bump(replace(new_schema(name), description=note or None))


def put(folder: Path, schema: Schema, file_name: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (file_name or f"{schema.name}.schema.yaml")
    path.write_text(dlt.write(schema, str(path)))
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SchemasFolder:
    """A working folder with schemas: `shop` in both folders, `geo` exported, `plan` imported."""
    monkeypatch.chdir(tmp_path)
    made = SchemasFolder.at(Path("schemas"))
    put(made.exports, make("shop", "exported"))
    put(made.imports, make("shop", "imported"))
    put(made.exports, make("geo"), "geo.schema.json")
    put(made.imports, make("plan"))
    return made


def notes(reference: str, folder: SchemasFolder) -> list[tuple[str, str | None]]:
    return [(each.schema.name, each.schema.description) for each in find_schemas(reference, folder)]


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("shop", [("shop", "exported")]),
        ("export:shop", [("shop", "exported")]),
        ("import:shop", [("shop", "imported")]),
        ("import:plan", [("plan", None)]),
        ("schemas/import/shop.schema.yaml", [("shop", "imported")]),
        ("schemas/export", [("geo", None), ("shop", "exported")]),
        ("schemas", [("geo", None), ("plan", None), ("shop", "imported")]),
        ("export:", [("geo", None), ("shop", "exported")]),
        ("import:", [("geo", None), ("plan", None), ("shop", "imported")]),
    ],
)
def test_each_form_names_its_schemas(folder, reference, found):
    assert notes(reference, folder) == found


def test_where_a_schema_comes_from_is_reported(folder):
    assert find_schema("shop", folder).origin == "schemas/export/shop.schema.yaml"
    assert find_schema("shop", folder).document.schema.name == "shop"


def test_a_file_may_have_any_name(folder, tmp_path):
    put(tmp_path, make("shop", "mine"), "draft.yaml")
    put(tmp_path, make("shop", "mine"), "draft")
    assert notes("draft.yaml", folder) == notes("./draft", folder) == notes("draft", folder) == [("shop", "mine")]


def test_an_exported_schema_comes_before_a_file_of_its_name(folder, tmp_path):
    put(tmp_path, make("other"), "shop")
    assert notes("shop", folder) == [("shop", "exported")]
    assert notes("./shop", folder) == [("other", None)]


def test_standard_input_is_read(folder, monkeypatch):
    text = dlt.write(make("piped"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    referred = find_schema("-", folder)
    assert (referred.schema.name, referred.origin) == ("piped", "<stdin>")


def test_standard_input_that_is_no_text_is_reported_with_its_place(folder, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"name: x\n \xff")))
    with pytest.raises(InputError, match="not UTF-8") as caught:
        find_schemas("-", folder)
    assert str(caught.value.at) == "<stdin>:2:2"


@pytest.fixture
def history(folder: SchemasFolder) -> SchemasFolder:
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-q", "-m", "one")
    put(folder.exports, make("shop", "exported later"))
    put(folder.exports, make("geo", "later"), "geo.schema.json")
    git("commit", "-q", "-a", "-m", "two")
    put(folder.exports, make("shop", "not committed"))
    return folder


def test_a_revision_names_what_the_schemas_folder_meant_then(history):
    assert notes("git:HEAD", history) == [("geo", "later"), ("plan", None), ("shop", "imported")]
    assert notes("git:HEAD~1", history) == [("geo", None), ("plan", None), ("shop", "imported")]
    assert notes("git:HEAD:schemas", history) == notes("git:HEAD", history)


def test_three_dots_name_the_commit_at_which_a_branch_left_a_revision(history):
    git("stash", "-q")
    git("switch", "-q", "-c", "topic", "HEAD~1")
    assert notes("git:main...", history)[0] == ("geo", None)
    assert notes("git:main...:schemas/export/shop.schema.yaml", history) == [("shop", "exported")]
    git("switch", "-q", "--orphan", "alone")
    git("commit", "-q", "--allow-empty", "-m", "alone")
    with pytest.raises(InputError, match="`main` and HEAD have no commit in common"):
        find_schemas("git:main...", history)


def test_a_revision_with_a_path_names_that(history):
    assert notes("git:main:schemas/import", history) == [("plan", None), ("shop", "imported")]
    assert notes("git:main:schemas/export/shop.schema.yaml", history) == [("shop", "exported later")]


def test_a_path_in_a_revision_starts_at_the_top_or_with_a_dot_here(history, monkeypatch):
    monkeypatch.chdir("schemas")
    here = SchemasFolder.at(Path())
    assert notes("git:HEAD:schemas/export", here) == notes("git:HEAD:./export", here)
    assert notes("git:HEAD", here) == notes("git:HEAD:.", here) == notes("git:HEAD:schemas", here)
    with pytest.raises(InputError, match="no schema file at `export` in revision `HEAD`"):
        find_schemas("git:HEAD:export", here)


def test_a_file_at_the_top_of_a_revision_is_named_as_any_other(history):
    put(Path(), make("shop", "at the top"))
    git("add", "-A")
    git("commit", "-q", "-m", "three")
    assert notes("git:HEAD:shop.schema.yaml", history) == [("shop", "at the top")]


def test_the_place_in_a_revision_is_reported(history):
    assert find_schema("git:HEAD:schemas/export/shop.schema.yaml", history).origin == (
        "HEAD:schemas/export/shop.schema.yaml"
    )


@pytest.mark.parametrize(
    ("reference", "message", "hint"),
    [
        ("shp", "there is no schema `shp`", "did you mean `shop`?"),
        ("plan", "there is no schema `plan`", "`import:plan`"),
        ("export:shp", "there is no schema `shp`", "did you mean `shop`?"),
        ("import:geo", "there is no schema `geo`", "known: plan, shop"),
        ("import:../export/shop", "cannot name a schema", ""),
        ("none.yaml", "there is no file `none.yaml`", ""),
        ("none/shop", "there is no file `none/shop`", ""),
        ("git:", "does not name a schema", "git:REV"),
        ("http:x", "does not name a schema", "import:NAME"),
        ("postgre://u:secret@host/db", "there is no destination `postgre`", "did you mean `postgresql`?"),
        ("oracle://u:secret@host/db", "there is no destination `oracle`", "known: delta, dlt, duckdb, iceberg"),
        ("sqlite:///none.db", "there is no file `none.db`", ""),
        ("", "does not name a schema", "NAME"),
        ("x" * 5000, "there is no schema", "known"),
        ("x/" * 5000, "cannot read", ""),
    ],
)
def test_what_names_nothing_is_reported_with_a_way_out(folder, reference, message, hint):
    with pytest.raises(InputError, match=message) as caught:
        find_schemas(reference, folder)
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("name", ["main", "HEAD", "HEAD~1", "v1.0", "origin/next"])
def test_a_bare_revision_is_reported_how_to_be_named(history, name):
    git("tag", "v1.0")
    git("update-ref", "refs/remotes/origin/next", "HEAD")
    with pytest.raises(InputError, match=f"`{name}` does not name a schema") as caught:
        find_schemas(name, history)
    assert caught.value.hint == f"`{name}` is a git revision: write `git:{name}`"
    assert find_schemas(f"git:{name}", history)


@pytest.mark.parametrize("name", ["mian", "HEAD~99", "origin/main", "-q", "--all"])
def test_what_git_does_not_know_is_reported_without_it(history, name):
    with pytest.raises(InputError) as caught:
        find_schemas(name, history)
    assert "is a git revision" not in str(caught.value.hint)


@pytest.mark.parametrize("name", ["shop", "geo", "draft", "drafts"])
def test_schemas_files_and_folders_come_before_revisions_of_their_name(history, tmp_path, name):
    git("tag", name)
    put(tmp_path, make("mine"), "draft")
    put(tmp_path / "drafts", make("mine"))
    assert find_schemas(name, history)


def test_an_imported_schema_comes_before_a_revision_of_its_name(history):
    git("tag", "plan")
    with pytest.raises(InputError) as caught:
        find_schemas("plan", history)
    assert caught.value.hint == "the import folder has it: `import:plan`"


def test_without_a_repository_nothing_is_reported_of_revisions(folder):
    with pytest.raises(InputError) as caught:
        find_schemas("HEAD", folder)
    assert caught.value.hint == "known: geo, shop"


def test_without_git_nothing_is_reported_of_revisions(history, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError) as caught:
        find_schemas("main", history)
    assert caught.value.hint == "known: geo, shop"


def test_a_report_or_a_plan_of_a_migration_is_no_schema(folder, tmp_path, monkeypatch):
    plan = '{"schemactl_plan": 1, "hash": ""}'
    (tmp_path / "report.json").write_text(f'{{"plan": {plan}, "done": 0}}')
    (tmp_path / "saved.json").write_text(plan)
    with pytest.raises(InputError, match="this is a report") as caught:
        find_schemas("report.json", folder)
    assert str(caught.value.at) == "report.json"
    with pytest.raises(InputError, match="this is a plan, not a schema"):
        find_schemas("saved.json", folder)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / "report.json").read_bytes())))
    with pytest.raises(InputError, match="this is a report"):
        find_schemas("-", folder)


def test_a_folder_without_schemas_is_reported(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="there is no schema in `empty`") as caught:
        find_schemas("empty", folder)
    assert "NAME.schema.yaml" in str(caught.value.hint)


def test_a_folder_of_parquet_is_reported_how_to_be_named(folder, tmp_path):
    (tmp_path / "lake" / "orders").mkdir(parents=True)
    (tmp_path / "lake" / "orders" / "1.parquet").touch()
    with pytest.raises(InputError, match="`lake` contains Parquet files, not schemas") as caught:
        find_schemas("lake", folder)
    assert caught.value.hint == "its tables: `parquet:lake`"


def test_a_destination_has_a_catalogue_and_no_document(folder, tmp_path):
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.execute("create table orders (id integer not null)")
    found = find_schema("sqlite:///shop.db", folder)
    assert (found.schema.name, list(found.schema.tables)) == ("shop", ["orders"])
    assert (found.origin, found.document, found.history) == ("sqlite:///shop.db?dataset=main", None, None)
    assert found.destination is DESTINATIONS["sqlite"]


def test_one_schema_is_asked_for_and_several_are_named(folder):
    with pytest.raises(InputError, match="names 3 schemas: `geo`, `plan`, `shop`"):
        find_schema("schemas", folder)


def test_a_wrong_name_in_a_folder_is_reported(folder):
    put(folder.exports, make("other"), "shop.schema.yaml")
    with pytest.raises(InputError, match="named for schema `shop`"):
        find_schemas("shop", folder)
    with pytest.raises(InputError, match="named for schema `shop`"):
        find_schemas("schemas", folder)

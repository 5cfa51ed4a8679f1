"""The models of a dbt project as a git revision has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schemactl.readers.kinds.dbt import read
from schemactl.readers.tables import ReadTables
from schemactl.review.readers import Readership
from schemactl.store.file_trees import RevisionFiles, WorkingFiles
from tests.readers.test_dbt_manifest import SOURCE, manifest, node
from tests.store.test_revision import commit, git

TABLES = ReadTables({"orders": ("id", "amount", "note")}, "landing")


def project_manifest(**nodes: dict[str, Any]) -> str:
    content = json.loads(manifest(**nodes))
    del content["nodes"]["model.shop.stg_orders"]
    source = {"database": "db", "schema": "landing", "source_name": "shop", "name": "orders", "identifier": "orders"}
    content["sources"] = {SOURCE: source}
    return json.dumps(content)


OLD = "select amount\nfrom {{ source('shop', 'orders') }}\n"
NEW = "select id\nfrom {{ source('shop', 'orders') }}\n"


def compiled(raw: str) -> str:
    return raw.replace("{{ source('shop', 'orders') }}", '"db"."landing"."orders"').strip()


@pytest.fixture(params=[".", "analytics"])
def project(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, at the top of its repository or below, with two committed models."""
    monkeypatch.chdir(tmp_path)
    folder = Path(request.param)
    for name, text in {"dbt_project.yml": "name: shop", "models/stg.sql": OLD, "models/gone.sql": OLD}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path, "first")
    return folder


def save_manifest(folder: Path, **nodes: dict[str, Any]) -> None:
    (folder / "target").mkdir(exist_ok=True)
    content = json.loads(project_manifest(**nodes))
    (folder / "target" / "manifest.json").write_text(json.dumps(content))


def changed_model(raw: str = NEW, **more: Any) -> dict[str, dict[str, Any]]:
    fields = {"raw_code": raw.strip(), "compiled_code": compiled(raw), **more}
    return {"model.shop.stg": node("stg", SOURCE, **fields)}


def at(folder: Path, revision: str | None) -> Readership:
    files = RevisionFiles(revision, Path.cwd()) if revision else WorkingFiles()
    return read(str(folder / "target" / "manifest.json"), TABLES, None, files)


def columns(readership: Readership) -> set[tuple[str, str]]:
    return {(use.reader.name, use.column) for use in readership.uses if use.column}


def test_a_changed_model_has_the_text_of_the_revision(project: Path) -> None:
    save_manifest(project, **changed_model())
    assert columns(at(project, None)) == {("stg", "id")}
    assert columns(at(project, "main")) == {("stg", "amount"), ("gone", "amount")}
    locations = {str(use.location) for use in at(project, "main").uses_of("orders", "amount")}
    assert locations == {(project / name).as_posix() for name in ("models/gone.sql:1", "models/stg.sql:1")}


def test_an_unchanged_model_keeps_its_compiled_sql(project: Path) -> None:
    save_manifest(project, **changed_model(OLD, compiled_code="select id, note from landing.orders"))
    assert ("stg", "note") in columns(at(project, "main"))


def test_a_model_that_the_revision_lacks_reads_nothing(project: Path) -> None:
    new = node("new", SOURCE, raw_code=NEW, compiled_code=compiled(NEW))
    save_manifest(project, **changed_model(), **{"model.shop.new": new})
    assert ("new", "id") in columns(at(project, None))
    assert "new" not in {name for name, _ in columns(at(project, "main"))}


def test_models_that_pass_columns_on_are_followed_by_their_refs(project: Path) -> None:
    (project / "models/stg.sql").write_text("select * from {{ source('shop', 'orders') }}")
    (project / "models/mart.sql").write_text("select sum(note)\nfrom {{ ref('stg') }}")
    commit(Path(), "star")
    mart = node("mart", "model.shop.stg", raw_code="select 1", compiled_code="select 1")
    save_manifest(project, **changed_model(schema="marts"), **{"model.shop.mart": mart})
    assert ("mart", "note") in columns(at(project, "HEAD"))


def test_a_template_that_may_be_any_sql_is_named_with_its_line(project: Path) -> None:
    (project / "models/stg.sql").write_text("select amount,\n{{ columns() }}\nfrom {{ source('shop', 'orders') }}")
    commit(Path(), "macro")
    save_manifest(project, **changed_model())
    readership = at(project, "HEAD")
    assert ("stg", "amount") in columns(readership)
    (blindness,) = readership.blind
    assert (blindness.reason, blindness.location and blindness.location.line) == ("a template that may be any SQL", 2)


@pytest.mark.parametrize("path", ["/etc/models/x.sql", "../../x.sql", "*/x.sql", "models/../../x.sql"])
def test_a_path_that_leads_elsewhere_is_not_followed(path: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_manifest(project, **changed_model(original_file_path=path))
    monkeypatch.setattr("glob.glob", lambda *_, **__: pytest.fail("the disk was searched"))
    assert ("stg", "id") in columns(at(project, "main"))


def test_a_manifest_of_another_repository_keeps_its_models(project: Path) -> None:
    other = node("other", SOURCE, raw_code=NEW, compiled_code=compiled(NEW), original_file_path="models/elsewhere.sql")
    save_manifest(project, **{"model.shop.other": other})
    content = json.loads((project / "target/manifest.json").read_text())
    del content["nodes"]["model.shop.mart"]
    (project / "target/manifest.json").write_text(json.dumps(content))
    assert columns(at(project, "main")) == {("other", "id")}

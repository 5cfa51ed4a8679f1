"""The models of a dbt project as a git revision has them."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from schemactl.errors import CommandWarning
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


def node_of_test(kind: str, column: str, holder: str, *parents: str, **arguments: str) -> dict[str, Any]:
    """Return the node of a generic test without compiled SQL."""
    return {
        **node(f"{kind}_{column}", *(parents or (holder,)), kind="test"),
        "original_file_path": "models/schema.yml",
        "column_name": column,
        "attached_node": holder,
        "test_metadata": {"name": kind, "kwargs": arguments},
    }


SCHEMA_YAML = """
sources:
  - name: shop
    tables:
      - name: orders
        columns:
          - {{name: {column}, tests: [not_null, {{relationships: {{to: ref('stg'), field: amount}}}}]}}
          - {{name: id, tests: [unique]}}
"""


def test_a_revision_has_the_tests_of_its_yaml_files(project: Path) -> None:
    path = project / "models/schema.yml"
    path.write_text(SCHEMA_YAML.format(column="note"))
    commit(Path(), "tests")
    path.write_text(SCHEMA_YAML.format(column="amount"))
    nodes = {"test.a": node_of_test("not_null", "amount", SOURCE), "test.b": node_of_test("unique", "id", SOURCE)}
    save_manifest(project, **changed_model(OLD), **nodes)
    prefix = "source_{}_shop_orders_note"
    expected = {(prefix.format(kind), "note") for kind in ("not_null", "relationships")}
    expected |= {(prefix.format("relationships"), "amount")}  # of `stg`
    models = {("stg", "amount"), ("gone", "amount"), ("unique_id", "id")}
    assert columns(at(project, "main")) == {*models, *expected}
    (use, *_) = [use for use in at(project, "main").uses_of("orders", "note") if "not_null" in use.reader.name]
    assert str(use.location) == (project / "models/schema.yml").as_posix()


def test_a_test_without_compiled_sql_reads_the_columns_that_it_compares(project: Path) -> None:
    nodes = {
        "test.a": node_of_test("relationships", "buyer", "model.shop.other", "model.shop.other", SOURCE, field="id"),
        "test.b": node_of_test("unique", "NOTE", SOURCE),
        "model.shop.other": node("other", compiled_code="select 1 as buyer"),
    }
    save_manifest(project, **changed_model(), **nodes)
    readership = at(project, None)
    assert columns(readership) == {("stg", "id"), ("relationships_buyer", "id"), ("unique_NOTE", "note")}
    clauses = {use.clause.value for use in readership.uses if use.reader.name == "relationships_buyer" and use.column}
    assert clauses == {"join", "where"}


def touch(path: Path, manifest: Path, seconds: int) -> None:
    """Set the time of a file to some seconds after that of the manifest."""
    moment = manifest.stat().st_mtime_ns + seconds * 10**9
    os.utime(path, ns=(moment, moment))


def test_a_model_that_is_newer_than_the_manifest_is_read_from_its_file(project: Path) -> None:
    (project / "models/gone.sql").write_text("select note\nfrom {{ source('shop', 'orders') }}")
    (project / "models/disabled.sql").write_text(OLD)
    save_manifest(project, **changed_model(OLD))
    path = project / "target/manifest.json"
    content = json.loads(path.read_text())
    content["disabled"] = {"model.shop.disabled": [node("disabled")]}
    path.write_text(json.dumps(content))
    for name in ("stg.sql", "gone.sql", "disabled.sql"):
        touch(project / "models" / name, path, 10)
    with pytest.warns(CommandWarning) as warned:
        assert columns(at(project, None)) == {("stg", "amount"), ("gone", "note")}
    (message,) = [str(item.message) for item in warned]
    gone = (project / "models/gone.sql").as_posix()
    assert message == f"`{path}` is older than `{gone}`, whose text is read instead: run `dbt compile`"


@pytest.mark.parametrize("seconds", [-10, 10])
def test_a_checksum_tells_whether_a_newer_model_changed(seconds: int, project: Path) -> None:
    checksum = {"name": "sha256", "checksum": hashlib.sha256(OLD.strip().encode()).hexdigest()}
    nodes = changed_model(NEW, raw_code=None, checksum=checksum)
    save_manifest(project, **nodes)
    (project / "models/gone.sql").unlink()
    touch(project / "models/stg.sql", project / "target/manifest.json", seconds)
    touch(project / "models", project / "target/manifest.json", -10)
    assert columns(at(project, None)) == {("stg", "id")}
    (project / "models/stg.sql").write_text(OLD.replace("amount", "note"))
    touch(project / "models/stg.sql", project / "target/manifest.json", seconds)
    if seconds < 0:
        assert columns(at(project, None)) == {("stg", "id")}
        return
    with pytest.warns(CommandWarning, match="is older than"):
        assert columns(at(project, None)) == {("stg", "note")}


def test_a_copied_manifest_has_the_time_at_which_dbt_wrote_it(project: Path) -> None:
    save_manifest(project, **changed_model())
    path = project / "target/manifest.json"
    content = json.loads(path.read_text())
    content["metadata"]["generated_at"] = "2020-01-31T10:00:00.123456Z"
    path.write_text(json.dumps(content))
    with pytest.warns(CommandWarning, match=r"gone.sql` and 3 other files, whose"):
        assert columns(at(project, None)) == {("stg", "amount"), ("gone", "amount")}


def test_a_model_whose_file_is_gone_reads_nothing(project: Path) -> None:
    new = node("new", SOURCE, raw_code=NEW, compiled_code=compiled(NEW))
    save_manifest(project, **changed_model(OLD), **{"model.shop.new": new})
    touch(project / "models", project / "target/manifest.json", 10)
    with pytest.warns(CommandWarning, match=r"models/mart.sql` and 2 other files"):
        assert columns(at(project, None)) == {("stg", "amount")}


def test_tests_are_those_of_a_newer_yaml_file(project: Path) -> None:
    path = project / "models/schema.yml"
    path.write_text(SCHEMA_YAML.format(column="note"))
    nodes = {"test.a": node_of_test("not_null", "amount", SOURCE), "test.b": node_of_test("unique", "id", SOURCE)}
    nodes["test.c"] = {**node_of_test("unique", "amount", SOURCE), "package_name": "other"}
    save_manifest(project, **changed_model(OLD), **nodes)
    manifest_path = project / "target/manifest.json"
    content = json.loads(manifest_path.read_text())
    content["metadata"]["project_name"] = "shop"
    manifest_path.write_text(json.dumps(content))
    touch(path, project / "target/manifest.json", 10)
    with pytest.warns(CommandWarning, match=r"models/schema.yml"):
        found = columns(at(project, None))
    assert {name for name, column in found if column == "note"} == {
        "source_not_null_shop_orders_note",
        "source_relationships_shop_orders_note",
    }
    names = {name for name, _ in found}
    assert "not_null_amount" not in names
    assert "unique_amount" in names  # of an installed package


def test_a_manifest_of_the_base_is_read_as_it_is(project: Path) -> None:
    save_manifest(project, **changed_model())
    touch(project / "models/stg.sql", project / "target/manifest.json", 10)
    readership = read(str(project / "target/manifest.json"), TABLES, None, WorkingFiles(is_base=True))
    assert columns(readership) == {("stg", "id")}

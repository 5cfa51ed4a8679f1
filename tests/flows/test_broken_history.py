"""Rule V003 in the loop of edits, branches and merges: a fork is reported, a branch that comes from its base is not."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from git_commands import commit, git
from schema_parts import put_schema

from schemactl.flows.diff import DiffRequest, diff_schemas
from schemactl.flows.edit import edit_import
from schemactl.flows.sync import sync_schemas
from schemactl.formats import dlt
from schemactl.schema.edits import Edits
from schemactl.schema.hash import bump
from schemactl.schema.hints import ColumnHint, Hints
from schemactl.schema.templates import new_schema
from schemactl.schema.types import Column, Schema, Table

ROOT = Path("schemas")
IMPORT, EXPORT = ROOT / "import/shop.schema.yaml", ROOT / "export/shop.schema.yaml"
SEEN = {"write_disposition": "append", "resource": "orders", "x-normalizer": {"seen-data": True}}


def orders(*columns: str, before: Schema | None = None) -> Schema:
    """Return a schema of text columns, a later version of ``before``."""
    table = Table("orders", {name: Column(name, {"data_type": "text", "nullable": True}) for name in columns}, SEEN)
    return bump((before or new_schema("shop")).with_table(table))


def edit_and_sync(column: str) -> None:
    hint = ColumnHint("orders", column, {"data_type": "text"})
    edit_import("shop", ROOT, Edits(hints=Hints((hint,))))
    sync_schemas(("shop",), ROOT, lambda _: True)


def history_faults(base: str, head: str | None = None) -> list[str]:
    report = diff_schemas(DiffRequest(base=base, head=head, schemas=ROOT, today=date(2026, 1, 1)))
    return [finding.message for finding in report.findings if finding.rule == "V003"]


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Schema:
    """Commit a schema to which loads have added a column since the import file was written; return the export file."""
    monkeypatch.chdir(tmp_path)
    git("init", "-q", "-b", "main", ".")
    imported = orders()
    exported = orders("id", "note", before=orders("id", before=replace(imported, imported_version_hash=None)))
    put_schema(IMPORT, imported)
    put_schema(EXPORT, exported)
    EXPORT.write_text(f"{EXPORT.read_text()}imported_version_hash: {imported.version_hash}\n")
    commit("base")
    git("checkout", "-qb", "feature")
    return replace(exported, imported_version_hash=imported.version_hash)


@pytest.mark.parametrize("commits_each", [True, False])
def test_edits_that_are_synced_one_after_the_other_come_from_the_base(loaded: Schema, commits_each: bool) -> None:
    Path("base.yaml").write_text(EXPORT.read_text())
    for number, column in enumerate(("a", "b", "c"), 1):
        edit_and_sync(column)
        if commits_each:
            commit(column)
        synced = dlt.read(EXPORT.read_text(), str(EXPORT)).schema
        assert loaded.version_hash in synced.previous_hashes
        assert synced.version == loaded.version + number
    assert history_faults("git:main...") == history_faults("git:main") == history_faults("base.yaml") == []


def test_ancestors_that_dlt_forgets_with_each_edit_are_in_git(loaded: Schema) -> None:
    """dlt replaces the schema by the edited import file: its ancestors, and the schema that was replaced."""
    replaced = loaded
    for column in ("a", "b"):
        imported = orders(column, before=orders())
        forgetful = replace(imported, previous_hashes=(replaced.version_hash, *imported.previous_hashes))
        replaced = orders(column, "id", "note", before=forgetful)
        put_schema(EXPORT, replaced)
        commit(column)
    assert loaded.version_hash not in replaced.previous_hashes
    assert history_faults("git:main...") == history_faults("git:main", "git:feature") == []
    assert history_faults("git:feature", "git:main")


def test_a_branch_comes_from_all_that_was_merged_into_it(loaded: Schema) -> None:
    edit_and_sync("a")
    commit("a")
    git("checkout", "-q", "main")
    put_schema(EXPORT, orders("id", "note", "b", before=loaded))
    commit("b")
    git("checkout", "-q", "feature")
    assert history_faults("git:main") == history_faults("git:main", "git:feature")
    assert len(history_faults("git:main")) == 1
    git("merge", "-q", "-s", "ours", "--no-commit", "main")
    assert history_faults("git:main") == []
    git("commit", "-qm", "merge")
    edit_and_sync("b")
    assert history_faults("git:main") == []
    commit("b")
    assert history_faults("git:main") == history_faults("git:main", "git:feature") == []


def test_two_branches_that_went_on_from_one_version_are_a_fork(loaded: Schema) -> None:
    put_schema(EXPORT, orders("id", "note", "a", before=loaded))
    commit("a")
    git("checkout", "-q", "main")
    put_schema(EXPORT, orders("id", "note", "b", before=loaded))
    commit("b")
    (fault,) = history_faults("git:feature", "git:main")
    assert fault == f"both schemas are version {loaded.version + 1}, with different contents"
    assert history_faults("git:feature") == [fault]
    assert history_faults("git:main", "git:feature") == [fault]


def test_a_file_made_anew_on_the_branch_does_not_come_from_the_base(loaded: Schema) -> None:
    put_schema(EXPORT, orders("id", "extra"))
    EXPORT.write_text(f"{EXPORT.read_text()}imported_version_hash: {loaded.imported_version_hash}\n")
    assert len(history_faults("git:main...")) == 1
    commit("anew")
    assert len(history_faults("git:main...")) == 1


def test_a_file_beside_the_repository_has_no_history_in_it(loaded: Schema, tmp_path_factory: pytest.TempPathFactory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "head.yaml"
    put_schema(
        elsewhere, orders("id", "note", "a", before=replace(loaded, version_hash="other", previous_hashes=("old",)))
    )
    assert len(history_faults("git:main:schemas/export/shop.schema.yaml", str(elsewhere))) == 1

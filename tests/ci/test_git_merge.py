"""Branches that both change a schema, merged by a real git with schemactl as its merge driver."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from schemactl.formats.dlt import read

IMPORT, EXPORT = "schemas/import/shop.schema.yaml", "schemas/export/shop.schema.yaml"
BEFORE = {"id": "bigint", "note": "text"}


def columns_in(work: Any, path: str) -> list[str]:
    document = read((work.top / path).read_text(encoding="utf-8"), path)
    assert not document.is_edited
    return list(document.schema.tables["orders"].columns)


def edited_branch(work: Any, name: str, column: str) -> None:
    """Edit the import file on a new branch from main, and apply the edit."""
    work.git("switch", "--quiet", "--create", name, "main")
    work.run("schemactl", "edit", "shop", "--column", column)
    work.run("schemactl", "sync", "shop", "--yes")
    work.commit(name)


def branch(work: Any, name: str, **added: str) -> None:
    """Add columns to both schema files on a new branch from main."""
    work.git("switch", "--quiet", "--create", name, "main")
    for path in (IMPORT, EXPORT):
        work.save({**BEFORE, **added}, path)
    work.commit(name)


@pytest.fixture
def driven(forked_work: Any) -> Any:
    """A repository with both schema files, and the driver; git finds the faster schemactl on the path."""
    forked_work.save(BEFORE, IMPORT)
    forked_work.run("schemactl", "merge-driver", "--install")
    forked_work.git("config", "merge.schemactl.driver", "schemactl merge-driver %O %A %B %L %P")
    forked_work.commit("driver")
    return forked_work


def test_the_installed_command_merges(work: Any) -> None:
    work.save(BEFORE, IMPORT)
    work.run("schemactl", "merge-driver", "--install")
    work.commit("driver")
    branch(work, "city", city="text")
    branch(work, "vip", vip="bool")

    printed = work.git("merge", "city")

    assert "orders.city: new column, text" in printed
    for path in (IMPORT, EXPORT):
        assert columns_in(work, path) == ["id", "note", "vip", "city"]
    assert work.git("status", "--porcelain") == ""
    work.run("schemactl", "check")
    assert "new column" not in work.run("schemactl", "sync", "shop")
    work.run("schemactl", "sync", "--check")


def test_rebase_puts_the_columns_of_a_branch_behind_those_of_main(driven: Any) -> None:
    branch(driven, "city", city="text")
    branch(driven, "vip", vip="bool")
    for path in (IMPORT, EXPORT):
        driven.save({**BEFORE, "vip": "bool", "age": "bigint"}, path)
    driven.commit("age")

    driven.git("rebase", "city")

    assert columns_in(driven, EXPORT) == columns_in(driven, IMPORT) == ["id", "note", "city", "vip", "age"]
    assert driven.git("log", "--format=%s").splitlines()[:3] == ["age", "vip", "city"]
    driven.run("schemactl", "check")


@pytest.mark.parametrize("command", ["merge", "rebase", "cherry-pick"])
def test_edits_that_both_branches_applied_are_applied_in_the_result(driven: Any, command: str) -> None:
    driven.run("schemactl", "sync", "shop", "--yes")
    driven.run("schemactl", "edit", "shop", "--column", "age:bigint")
    driven.run("schemactl", "sync", "shop", "--yes")
    driven.commit("linked")
    edited_branch(driven, "city", "city:text")
    edited_branch(driven, "vip", "vip:bool")

    driven.git(command, "city")

    link = read((driven.top / EXPORT).read_text(encoding="utf-8"), EXPORT).schema.imported_version_hash
    assert link == read((driven.top / IMPORT).read_text(encoding="utf-8"), IMPORT).schema.version_hash
    assert sorted(columns_in(driven, EXPORT)) == ["age", "city", "id", "note", "vip"]
    driven.run("schemactl", "sync", "--check")


def test_an_edit_that_was_not_applied_stays_pending(driven: Any) -> None:
    driven.run("schemactl", "edit", "shop", "--column", "age:bigint")
    driven.run("schemactl", "sync", "shop", "--yes")
    driven.commit("linked")
    edited_branch(driven, "city", "city:text")
    driven.run("schemactl", "edit", "shop", "--column", "zip:text")
    driven.commit("not applied")
    edited_branch(driven, "vip", "vip:bool")

    driven.git("merge", "city")

    assert "zip" in columns_in(driven, IMPORT)
    assert "zip" not in columns_in(driven, EXPORT)
    driven.run("schemactl", "sync", "--check", code=1)
    driven.run("schemactl", "sync", "--yes")
    assert "zip" in columns_in(driven, EXPORT)


def test_cherry_pick_takes_one_column_of_a_branch(driven: Any) -> None:
    branch(driven, "city", city="text")
    for path in (IMPORT, EXPORT):
        driven.save({**BEFORE, "city": "text", "zip": "text"}, path)
    driven.commit("zip")
    branch(driven, "vip", vip="bool")

    driven.git("cherry-pick", "city")

    assert columns_in(driven, EXPORT) == columns_in(driven, IMPORT) == ["id", "note", "vip", "zip"]


def test_a_conflict_waits_for_a_person_and_fmt_ends_it(driven: Any) -> None:
    branch(driven, "theirs", city="text", zip="text")
    branch(driven, "ours", city="json")

    printed = driven.run("git", "merge", "theirs", code=1)

    assert "conflict: `orders.city` is `json` in ours and `text` in theirs" in printed
    assert driven.git("status", "--porcelain").splitlines() == [f"UU {EXPORT}", f"UU {IMPORT}"]
    for path in (IMPORT, EXPORT):
        text = (driven.top / path).read_text(encoding="utf-8")
        before, _, marked = text.partition("<<<<<<< ours: `orders.city` is `json` in ours and `text` in theirs\n")
        _, _, after = marked.partition("=======\n")
        driven.write(path, before + after.replace(">>>>>>> theirs\n", "", 1))
    assert "edited by hand" in driven.run("schemactl", "check", code=1)
    driven.run("schemactl", "fmt")
    driven.run("schemactl", "check")
    driven.commit("merged")
    assert columns_in(driven, EXPORT) == ["id", "note", "city", "zip"]


def test_files_that_both_branches_added_merge(driven: Any) -> None:
    for name, column in (("city", {"city": "text"}), ("vip", {"vip": "bool"})):
        driven.git("switch", "--quiet", "--create", name, "main")
        driven.save({"id": "bigint", **column}, "schemas/export/store.schema.json")
        driven.commit(name)

    driven.git("merge", "city")

    assert columns_in(driven, "schemas/export/store.schema.json") == ["id", "vip", "city"]


def test_crossed_merges_have_no_markers_within_a_schema(driven: Any) -> None:
    branch(driven, "a", city="text")
    branch(driven, "b", city="json")
    driven.git("branch", "old-a", "a")
    for name, other in (("a", "b"), ("b", "old-a")):
        driven.git("switch", "--quiet", name)
        driven.run("git", "merge", other, code=1)
        for path in (IMPORT, EXPORT):
            driven.git("checkout", "--quiet", "HEAD", "--", path)
        driven.commit("merged")

    printed = driven.run("git", "merge", "a", code=1)

    assert "`orders.city` is `json` in ours and `text` in theirs" in printed
    assert "line by line" not in printed


def test_settings_that_schemactl_cannot_read_leave_the_file_to_git(driven: Any) -> None:
    driven.run("schemactl", "merge-driver", "--install")
    command = driven.git("config", "merge.schemactl.driver").strip()
    fast = command.replace(f"{sys.executable} -P -m schemactl", "schemactl")
    assert fast != command
    driven.git("config", "merge.schemactl.driver", fast)
    driven.write("schemactl.toml", "schemas = [")
    driven.commit("settings")
    branch(driven, "city", city="text")
    branch(driven, "vip", vip="bool")

    driven.run("git", "merge", "city", code=1)

    text = (driven.top / EXPORT).read_text(encoding="utf-8")
    assert "<<<<<<< ours\n" in text
    assert "city" in text
    assert "vip" in text


def test_without_schemactl_git_merges_lines(driven: Any, tmp_path: Path) -> None:
    driven.run("schemactl", "merge-driver", "--install")
    command = driven.git("config", "merge.schemactl.driver").strip()
    driven.git("config", "merge.schemactl.driver", command.replace(sys.executable, str(tmp_path / "gone" / "python")))
    branch(driven, "city", city="text")
    branch(driven, "vip", vip="bool")

    driven.run("git", "merge", "city", code=1)

    text = (driven.top / EXPORT).read_text(encoding="utf-8")
    assert "<<<<<<< ours\n" in text
    assert "city" in text


def test_a_folder_with_blanks_and_quotes_is_merged(driven: Any) -> None:
    path = "it's my schemas/export/shop.schema.yaml"
    driven.save(BEFORE, path)
    driven.run("schemactl", "merge-driver", "--install", "--schemas", "it's my schemas")
    driven.git("config", "merge.schemactl.driver", "schemactl merge-driver %O %A %B %L %P")
    driven.commit("folder")
    for name, column in (("city", {"city": "text"}), ("vip", {"vip": "bool"})):
        driven.git("switch", "--quiet", "--create", name, "main")
        driven.save({**BEFORE, **column}, path)
        driven.commit(name)

    assert path in driven.git("merge", "city")

    assert columns_in(driven, path) == ["id", "note", "vip", "city"]


def test_a_job_finds_out_whether_branches_merge(driven: Any) -> None:
    branch(driven, "city", city="text")
    branch(driven, "vip", vip="bool")
    branch(driven, "odd", city="json")

    calls = {name: ("schemactl", "merge", f"git:{name}...", "git:HEAD", f"git:{name}") for name in ("vip", "city")}

    assert "schemas/" not in driven.git("status", "--porcelain")
    assert "orders.vip: new column, bool" in driven.run(*calls["vip"])
    assert "`orders.city` is `json` in ours and `text` in theirs" in driven.run(*calls["city"], code=1)
    assert driven.git("status", "--porcelain") == ""

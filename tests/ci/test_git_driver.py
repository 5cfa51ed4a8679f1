"""``git diff`` with schemactl as its external diff for schema files, set up as docs/ci.md says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
PATH = "schemas/export/shop.schema.yaml"

BREAKING = {"id": "bigint"}


@pytest.fixture
def driven(forked_work: Any) -> Any:
    """The repository with the driver that the documentation shows."""
    text = (REPOSITORY / "docs" / "ci.md").read_text(encoding="utf-8")
    (attributes,) = re.findall(r"^```gitattributes\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (command,) = re.findall(r"^\$ (git config .*)$", text, re.MULTILINE)
    forked_work.write(".gitattributes", attributes)
    forked_work.run(*(word for word in shlex.split(command) if word != "--global"))
    forked_work.commit("driver")
    return forked_work


def is_typed(said: str) -> bool:
    return "C204" in said and "note" in said and "@@" not in said


def test_a_change_of_a_schema_is_reported_in_its_own_words(driven: Any) -> None:
    driven.save(BREAKING)

    said = driven.git("diff")

    assert is_typed(said), said
    assert PATH in said
    assert "/tmp/" not in said.replace(str(driven.top), "")


def test_it_works_from_a_folder_below(driven: Any) -> None:
    driven.save(BREAKING)

    assert is_typed(driven.git("-C", "schemas/export", "diff"))


def test_commits_are_compared_too(driven: Any) -> None:
    driven.save(BREAKING)
    driven.commit("gone")

    assert is_typed(driven.git("diff", "HEAD~1"))
    assert is_typed(driven.git("log", "-p", "--ext-diff", "-1"))
    assert "@@" in driven.git("diff", "--no-ext-diff", "HEAD~1")


def test_all_endings_are_covered(driven: Any) -> None:
    for ending in ("yml", "json"):
        driven.save({"id": "bigint", "note": "text"}, f"other/{ending}.schema.{ending}")
    driven.commit("more")
    for ending in ("yml", "json"):
        driven.save(BREAKING, f"other/{ending}.schema.{ending}")
        assert is_typed(driven.git("diff", "--", f"other/{ending}.schema.{ending}")), ending


def test_new_and_removed_files_are_reported(driven: Any) -> None:
    driven.save(BREAKING, "other/new.schema.yaml")
    driven.git("add", "--all")
    added = driven.git("diff", "--cached")
    driven.commit("new")
    driven.git("rm", "--quiet", PATH)
    removed = driven.git("diff", "--cached")

    assert "other/new.schema.yaml" in added
    assert "orders" in added
    assert "@@" not in added
    assert PATH in removed
    assert "orders" in removed
    assert "@@" not in removed


def test_a_renamed_and_changed_file_is_one_change(driven: Any) -> None:
    driven.git("mv", PATH, "schemas/export/store.schema.yaml")
    driven.save(BREAKING, "schemas/export/store.schema.yaml")
    driven.git("add", "--all")

    assert is_typed(driven.git("diff", "--cached", "--find-renames"))


def test_a_file_that_is_no_schema_is_reported_by_its_lines_and_others_go_on(driven: Any) -> None:
    driven.write("a.schema.yaml", "just: text\n")
    driven.commit("no schema")
    driven.write("a.schema.yaml", "just: other text\n")
    driven.save(BREAKING)

    said = driven.git("diff")

    assert "a.schema.yaml" in said
    assert "other text" in said
    assert "Traceback" not in said
    assert "C204" in said


def test_a_conflict_is_no_failure(driven: Any) -> None:
    driven.git("switch", "--quiet", "--create", "theirs")
    driven.save(BREAKING)
    driven.commit("theirs")
    driven.git("switch", "--quiet", "main")
    driven.save({"id": "text"})
    driven.commit("ours")
    driven.run("git", "merge", "theirs", code=1)

    said = driven.git("diff")

    assert PATH in said
    assert "Traceback" not in said

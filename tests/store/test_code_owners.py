"""The owners of files, by the CODEOWNERS files of GitHub and GitLab."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemactl.errors import InputError
from schemactl.store.code_owners import Forge, parse_code_owners, read_code_owners
from tests.store.test_revision import commit, git

BOTH = (Forge.GITHUB, Forge.GITLAB)
RULES = {
    "the last match wins": (BOTH, "* @all\n*.sql @sql\n/queries/a.sql @a",
        {"queries/a.sql": "@a", "b.sql": "@sql", "c": "@all"}),
    "a name matches in any folder": (BOTH, "*.sql @sql\nREADME @docs", {"a/b/c.sql": "@sql", "x/README": "@docs"}),
    "a slash at the start is the top": (BOTH, "/queries/ @q\n/x.sql @x",
        {"queries/a/b.sql": "@q", "a/queries/b.sql": "", "a/x.sql": ""}),
    "a slash at the end is a folder": (BOTH, "queries/ @q", {"a/queries/b.sql": "@q", "queries": ""}),
    "a folder without a slash": (BOTH, "/models @m", {"models/a/b.sql": "@m", "models": "@m", "models2": ""}),
    "a star stays in its folder": (BOTH, "/docs/* @d", {"docs/a.md": "@d", "docs/a/b.md": ""}),
    "two stars are any folders": (BOTH, "/a/**/z @z\n**/logs @l", {"a/z": "@z", "a/b/c/z": "@z", "b/logs/x": "@l"}),
    "two stars at the end": (BOTH, "/docs/** @d", {"docs/a/b.md": "@d"}),
    "a question mark is one character": (BOTH, "/?.sql @q", {"a.sql": "@q", "ab.sql": ""}),
    "a hidden folder": (BOTH, "*.yml @ci", {".github/workflows/x.yml": "@ci"}),
    "several owners, a comment": (BOTH, "*.sql @a @org/team x@y.z # for @b", {"a.sql": "@a, @org/team, x@y.z"}),
    "a rule without owners": (BOTH, "* @all\n/generated/", {"generated/a": "", "b": "@all"}),
    "a blank in a name": (BOTH, "/my\\ file.sql @m", {"my file.sql": "@m"}),
    "empty lines, comments, line ends": (BOTH, "\ufeff# @x\r\n\r\n* @all\r\n", {"a": "@all"}),
    "an inner slash begins at the top of GitHub": ((Forge.GITHUB,), "docs/a.md @d",
        {"docs/a.md": "@d", "x/docs/a.md": ""}),
    "an inner slash begins anywhere on GitLab": ((Forge.GITLAB,), "docs/a.md @d", {"x/docs/a.md": "@d"}),
    "GitHub skips what it does not support": ((Forge.GITHUB,), "* @all\n!a.sql\n[ab].sql @x\n[Section] @y\n\\#a @z",
        {"a.sql": "@all", "#a": "@all"}),
    "sections of GitLab add up": ((Forge.GITLAB,),
        "* @all\n[Data] @data\n*.sql\n/q/ @q\n^[Docs][2]\n*.md @docs\n[DATA]\n/q/z.sql @z",
        {"a.sql": "@all, @data", "q/a.sql": "@all, @q", "a.md": "@all, @docs", "q/z.sql": "@all, @z"}),
    "GitLab excludes files of a section": ((Forge.GITLAB,), "* @all\n[Data]\n*.sql @data\n!/old/\n/old/a.sql @b",
        {"old/a.sql": "@all", "a.sql": "@all, @data"}),
    "a name with a bracket": ((Forge.GITLAB,), "/a[b].sql @x", {"a[b].sql": "@x", "ab.sql": ""}),
}  # fmt: skip


@pytest.mark.parametrize(("forges", "text", "owners"), RULES.values(), ids=RULES)
def test_rules_name_the_owners_of_files(forges: tuple[Forge, ...], text: str, owners: dict[str, str]) -> None:
    for forge in forges:
        code_owners = parse_code_owners(text, forge)
        assert {path: ", ".join(code_owners.owners_of(path)) for path in owners} == owners


@pytest.fixture
def top(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    return tmp_path


def save(top: Path, path: str, text: str) -> None:
    (top / path).parent.mkdir(parents=True, exist_ok=True)
    (top / path).write_text(text)


def owner(top: Path, revision: str | None = None, forge: Forge | None = None) -> str | None:
    code_owners = read_code_owners(top, revision, forge)
    return None if code_owners is None else ", ".join(code_owners.owners_of("x/docs/a.sql"))


PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")


def test_the_first_place_of_a_forge_counts(top: Path) -> None:
    assert owner(top) is None
    for place in reversed(PLACES):
        save(top, place, f"* @{place.split('/')[0]}")
        commit(top, place)
        assert owner(top) == owner(top, "main") == f"@{place.split('/')[0]}"
    assert (owner(top, forge=Forge.GITHUB), owner(top, forge=Forge.GITLAB)) == ("@.github", "@CODEOWNERS")


def test_a_revision_has_its_own_owners(top: Path) -> None:
    save(top, "CODEOWNERS", "* @before")
    commit(top, "before")
    save(top, "CODEOWNERS", "* @after")
    assert (owner(top, "main"), owner(top)) == ("@before", "@after")


def test_place_and_sections_tell_the_forge(top: Path) -> None:
    save(top, "CODEOWNERS", "docs/a.sql @x")
    assert owner(top) == ""
    save(top, "CODEOWNERS", "[Data]\ndocs/a.sql @x")
    assert owner(top) == "@x"
    save(top, ".gitlab/CODEOWNERS", "docs/a.sql @y")
    (top / "CODEOWNERS").unlink()
    assert owner(top) == "@y"


def test_a_link_out_of_the_repository_is_refused(top: Path) -> None:
    (top / "CODEOWNERS").symlink_to("/etc/hostname")
    commit(top, "link")
    for revision in (None, "main"):
        with pytest.raises(InputError, match="link"):
            read_code_owners(top, revision)

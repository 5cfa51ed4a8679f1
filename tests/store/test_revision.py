"""Schema files at a git revision, read from real repositories."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from schemactl.errors import InputError
from schemactl.store.git import find_repository
from schemactl.store.revision import MissingInRevision, read_revision


def git(folder: Path, *arguments: str) -> str:
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_{what}": "x@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    command = ("git", "-c", "protocol.file.allow=always", "-C", str(folder), *arguments)
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    top = tmp_path / "repo with blank"
    exports = top / "schemas" / "export"
    exports.mkdir(parents=True)
    git(top, "init", "-q", "-b", "main")
    (exports / "a.schema.yaml").write_bytes(b"name: a\r\n")
    (exports / "b.schema.json").write_text("{}")
    (exports / "notes.txt").write_text("no schema")
    commit(top, "one")
    (exports / "a.schema.yaml").write_text("name: a # two\n")
    (exports / "b.schema.json").unlink()
    commit(top, "two")
    return top


def texts(revision: str, path: Path) -> dict[str, str]:
    return {str(file.path): file.text for file in read_revision(revision, path)}


def test_a_file_is_read_as_it_was(repository):
    path = repository / "schemas" / "export" / "a.schema.yaml"
    assert texts("HEAD~1", path) == {"HEAD~1:schemas/export/a.schema.yaml": "name: a\r\n"}
    assert texts("main", path) == {"main:schemas/export/a.schema.yaml": "name: a # two\n"}


def test_a_folder_gives_its_schema_files_and_no_others(repository):
    assert list(texts("HEAD~1", repository / "schemas" / "export")) == [
        "HEAD~1:schemas/export/a.schema.yaml",
        "HEAD~1:schemas/export/b.schema.json",
    ]


def test_the_top_folder_is_a_folder_too(repository):
    (repository / "c.schema.yaml").write_text("name: c\n")
    commit(repository, "three")
    assert texts("HEAD", repository) == {"HEAD:c.schema.yaml": "name: c\n"}


def test_a_folder_that_is_gone_from_the_working_tree_is_still_read(repository):
    git(repository, "rm", "-r", "-q", "schemas")
    assert list(texts("HEAD", repository / "schemas" / "export")) == ["HEAD:schemas/export/a.schema.yaml"]


def test_the_working_tree_is_left_alone(repository):
    path = repository / "schemas" / "export" / "a.schema.yaml"
    path.write_text("name: a # not committed\n")
    before = git(repository, "status", "--porcelain")
    assert texts("HEAD", path)["HEAD:schemas/export/a.schema.yaml"] == "name: a # two\n"
    assert path.read_text() == "name: a # not committed\n"
    assert git(repository, "status", "--porcelain") == before


@pytest.mark.parametrize("name", ["ż ó.schema.yaml", "[a]*.schema.yaml", ":(top)x.schema.yaml", "-x.schema.yaml"])
def test_unusual_file_names_are_taken_as_they_are(repository, name):
    (repository / name).write_text("name: x\n")
    commit(repository, "three")
    assert texts("HEAD", repository / name) == {f"HEAD:{name}": "name: x\n"}


def test_a_path_may_go_up_and_down(repository):
    path = repository / "schemas" / ".." / "schemas" / "export"
    assert len(texts("HEAD~1", path)) == 2
    assert len(texts("HEAD~1", repository / "schemas" / "export" / ".." / "export")) == 2


def test_an_unknown_revision_is_reported(repository):
    with pytest.raises(InputError, match="there is no git revision `nope`") as caught:
        read_revision("nope", repository)
    assert "git fetch" in str(caught.value.hint)


@pytest.mark.parametrize("revision", ["", "--all", "-h", "--output=x", "HEAD:schemas", "HEAD..main", "a b"])
def test_what_is_no_revision_is_refused_and_never_taken_for_an_option(repository, revision):
    with pytest.raises(InputError, match="revision"):
        read_revision(revision, repository / "schemas")


def test_an_unknown_path_is_reported(repository):
    with pytest.raises(InputError, match=r"no schema file at `none/x\.yaml` in revision `HEAD`"):
        read_revision("HEAD", repository / "none" / "x.yaml")
    with pytest.raises(InputError, match="no schema file at `schemas`"):
        read_revision("HEAD", repository / "schemas")


def test_a_shallow_clone_gets_a_hint_of_its_own(repository, tmp_path):
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth", "1", repository.as_uri(), str(clone))
    assert texts("HEAD", clone / "schemas" / "export" / "a.schema.yaml")
    with pytest.raises(InputError, match="there is no git revision `HEAD~1`") as caught:
        read_revision("HEAD~1", clone / "schemas" / "export" / "a.schema.yaml")
    assert "--unshallow" in str(caught.value.hint)


@pytest.mark.parametrize("depth", [("--depth", "1"), ("--single-branch",)])
def test_a_branch_that_a_clone_of_another_lacks_is_there_after_what_the_hint_says(repository, tmp_path, depth):
    git(repository, "checkout", "-q", "-b", "pr")
    (repository / "schemas" / "export" / "a.schema.yaml").write_text("name: a # three\n")
    commit(repository, "three")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", *depth, "--branch", "pr", repository.as_uri(), str(clone))
    path = clone / "schemas" / "export" / "a.schema.yaml"
    with pytest.raises(InputError, match="there is no git revision `origin/main`") as caught:
        read_revision("origin/main...", path)
    asked = re.match("`git ([^`]+)`", str(caught.value.hint))
    git(clone, *asked[1].split())
    assert list(texts("origin/main...", path).values()) == ["name: a # two\n"]


def test_in_a_shallow_clone_the_name_of_a_branch_alone_is_one_of_the_remote(repository, tmp_path):
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth", "1", repository.as_uri(), str(clone))
    with pytest.raises(InputError) as caught:
        read_revision("pr1", clone / "schemas")
    fetch = "git fetch --unshallow origin pr1:refs/remotes/origin/pr1"
    assert caught.value.hint == f"`{fetch}` (in GitHub Actions: `fetch-depth: 0`), then `git:origin/pr1`"


def test_a_folder_outside_any_repository_is_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(InputError, match="is not in a git repository"):
        read_revision("HEAD", tmp_path / "schemas")


def test_a_machine_without_git_is_reported(repository, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(InputError, match="needs the `git` command") as caught:
        read_revision("HEAD", repository)
    assert caught.value.hint == "install git"


def test_a_repository_without_commits_has_no_revision(tmp_path):
    git(tmp_path, "init", "-q")
    with pytest.raises(InputError, match="there is no git revision `HEAD`"):
        read_revision("HEAD", tmp_path)


def test_a_linked_file_is_reported(repository):
    link = repository / "l.schema.yaml"
    link.symlink_to("schemas/export/a.schema.yaml")
    commit(repository, "three")
    with pytest.raises(InputError, match="is a symbolic link"):
        read_revision("HEAD", link)


def test_a_submodule_is_reported_with_the_commit_to_review_it_from(repository, tmp_path, monkeypatch):
    top = tmp_path / "top"
    top.mkdir()
    git(top, "init", "-q", "-b", "main")
    git(top, "submodule", "add", "-q", str(repository), "shared/hr")
    git(top, "submodule", "add", "-q", str(repository), "lib")
    (top / "shared" / "a.schema.yaml").write_text("name: a")
    commit(top, "one")
    monkeypatch.chdir(top)
    for place in ("shared/hr/schemas/export", "shared/hr/gone", "shared/hr"):
        with pytest.raises(InputError, match="`shared/hr` is a git submodule") as caught:
            read_revision("HEAD", top / place)
        assert f"git:{git(repository, 'rev-parse', 'HEAD')[:12]}" in str(caught.value.hint)
    # Above it and beside it nothing is in the way.
    with pytest.raises(MissingInRevision):
        read_revision("HEAD", top)
    assert texts("HEAD", top / "shared") == {"HEAD:shared/a.schema.yaml": "name: a"}


def test_a_repository_is_found_through_a_link_above_it(repository, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(repository)
    assert find_repository(link / "schemas").samefile(repository)
    assert len(texts("HEAD~1", link / "schemas" / "export")) == 2


def test_a_file_that_is_not_text_is_reported(repository):
    path = repository / "x.schema.yaml"
    path.write_bytes(b"name: x\n\xff")
    commit(repository, "three")
    with pytest.raises(InputError, match="not UTF-8") as caught:
        read_revision("HEAD", path)
    assert str(caught.value.at) == "HEAD:x.schema.yaml:2:1"


def test_other_languages_do_not_change_what_is_understood(tmp_path, monkeypatch):
    monkeypatch.setenv("LANGUAGE", "de")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(InputError, match="is not in a git repository"):
        find_repository(tmp_path)


def test_a_branch_that_only_the_remote_has_is_named_in_the_hint(repository, tmp_path):
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", repository.as_uri(), str(clone))
    git(clone, "checkout", "-q", "-b", "topic")
    git(clone, "branch", "-q", "-D", "main")
    with pytest.raises(InputError, match="there is no git revision `main`") as caught:
        read_revision("main...", clone / "schemas" / "export")
    assert caught.value.hint == "only the remote has this branch: write `origin/main`"
    assert texts("origin/main...", clone / "schemas" / "export")

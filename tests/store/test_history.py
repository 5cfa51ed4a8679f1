"""All versions of a file in git history, read from real repositories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from schemactl.errors import InputError
from schemactl.store import history
from schemactl.store.history import versions_of

LINES = "".join(f"line: {number}\n" for number in range(100))


class Repository:
    """A repository with one commit a second."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.seconds = 0
        top.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        environment = {
            **os.environ,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_{what}": "x@x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
            **{f"GIT_{who}_DATE": f"{1_700_000_000 + self.seconds} +0100" for who in ("AUTHOR", "COMMITTER")},
        }
        command = ("git", "-c", "protocol.file.allow=always", "-C", str(self.top), *arguments)
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    def commit(self, message: str = "x") -> str:
        self.seconds += 1
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD").strip()

    def write(self, name: str, text: str) -> str:
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return self.commit()


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repo with blank")


def texts(path: Path) -> list[str]:
    return [version.text for version in versions_of(path)]


def test_versions_come_newest_first_with_commit_date_and_path(repository):
    first = repository.write("dir/a.yaml", "one\n")
    repository.write("other.yaml", "not asked for\n")
    second = repository.write("dir/a.yaml", "two\n")
    versions = versions_of(repository.top / "dir" / "a.yaml")
    assert [version.commit for version in versions] == [second, first]
    assert [version.text for version in versions] == ["two\n", "one\n"]
    assert [version.path for version in versions] == ["dir/a.yaml"] * 2
    assert versions[1].date.isoformat() == "2023-11-14T23:13:21+01:00"
    assert versions[0].name == f"{second[:10]}:dir/a.yaml"


def test_a_rename_is_followed_with_the_path_of_then(repository):
    repository.write("żó [a]*.yaml", LINES)
    repository.git("mv", "żó [a]*.yaml", "new.yaml")
    moved = repository.commit()
    repository.write("new.yaml", LINES + "more\n")
    repository.git("mv", "--", "new.yaml", "-x.yaml")
    repository.write("-x.yaml", LINES + "most\n")
    versions = versions_of(repository.top / "-x.yaml")
    assert [version.path for version in versions] == ["-x.yaml", "new.yaml", "new.yaml"]
    assert [version.text.removeprefix(LINES) for version in versions] == ["most\n", "more\n", ""]
    assert versions[2].commit == moved


def test_a_copy_has_no_past_of_what_it_was_copied_from(repository):
    repository.write("a.yaml", LINES)
    copied = f"{LINES}last: line\n"
    repository.write("b.yaml", copied)
    later = f"{copied}later: line\n"
    repository.write("b.yaml", later)
    assert texts(repository.top / "b.yaml") == [later, copied]


def test_a_file_that_went_and_came_back_keeps_its_past(repository):
    repository.write("a.yaml", "one\n")
    repository.git("rm", "-q", "a.yaml")
    repository.commit()
    assert texts(repository.top / "a.yaml") == ["one\n"]
    repository.write("a.yaml", "two\n")
    assert texts(repository.top / "a.yaml") == ["two\n", "one\n"]


def test_a_content_that_came_back_is_given_once_at_its_last_commit(repository):
    repository.write("a.yaml", "one\n")
    repository.write("a.yaml", "two\n")
    again = repository.write("a.yaml", "one\n")
    versions = versions_of(repository.top / "a.yaml")
    assert [version.text for version in versions] == ["one\n", "two\n"]
    assert versions[0].commit == again


def test_both_sides_of_a_merge_and_what_it_made_are_versions(repository):
    repository.write("a.yaml", LINES)
    repository.git("checkout", "-q", "-b", "side")
    repository.write("a.yaml", LINES.replace("line: 5\n", "side: 5\n"))
    repository.git("checkout", "-q", "main")
    repository.write("a.yaml", LINES.replace("line: 90\n", "main: 90\n"))
    repository.seconds += 1
    repository.git("merge", "-q", "--no-edit", "side")
    merge = repository.git("rev-parse", "HEAD").strip()
    versions = versions_of(repository.top / "a.yaml")
    assert versions[0].commit == merge
    held = [("side: 5" in version.text, "main: 90" in version.text) for version in versions]
    assert held == [(True, True), (False, True), (True, False), (False, False)]


def test_a_merge_that_only_takes_over_is_no_version(repository):
    repository.write("a.yaml", "one\n")
    repository.git("checkout", "-q", "-b", "side")
    changed = repository.write("a.yaml", "two\n")
    repository.git("checkout", "-q", "main")
    repository.write("b.yaml", "other\n")
    repository.git("merge", "-q", "--no-edit", "side")
    assert versions_of(repository.top / "a.yaml")[0].commit == changed


def test_what_is_not_committed_is_no_version(repository):
    repository.write("a.yaml", "one\n")
    (repository.top / "a.yaml").write_text("two\n")
    assert texts(repository.top / "a.yaml") == ["one\n"]
    (repository.top / "b.yaml").write_text("new\n")
    with pytest.raises(InputError, match=r"there is no version of `b\.yaml`"):
        versions_of(repository.top / "b.yaml")


def test_the_number_of_git_processes_does_not_grow(repository, monkeypatch):
    for number in range(30):
        repository.write("a.yaml", f"{number}\n")
    monkeypatch.chdir(repository.top)
    calls = []
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: calls.append(args) or run(*args, **options))
    assert texts(repository.top / "a.yaml") == [f"{number}\n" for number in reversed(range(30))]
    assert len(calls) <= 6


def test_a_long_history_is_cut_at_its_old_end(repository, monkeypatch):
    for number in range(5):
        repository.write("a.yaml", f"{number}\n")
    monkeypatch.setattr(history, "MAX_VERSIONS", 3)
    assert texts(repository.top / "a.yaml") == ["4\n", "3\n", "2\n"]
    monkeypatch.setattr(history, "MAX_HISTORY_BYTES", 4)
    assert texts(repository.top / "a.yaml") == ["4\n", "3\n"]


def test_a_shallow_clone_is_reported(repository, tmp_path):
    repository.write("a.yaml", "one\n")
    repository.write("a.yaml", "two\n")
    clone = tmp_path / "clone"
    repository.git("clone", "-q", "--depth", "1", repository.top.as_uri(), str(clone))
    with pytest.raises(InputError, match=r"history of `a\.yaml` is cut off") as caught:
        versions_of(clone / "a.yaml")
    assert "--unshallow" in str(caught.value.hint)
    assert "fetch-depth: 0" in str(caught.value.hint)


def test_one_version_that_is_not_text_leaves_the_others_readable(repository):
    (repository.top / "a.yaml").write_bytes(b"\xff\xfe")
    repository.commit()
    repository.write("a.yaml", "two\n")
    newest, oldest = versions_of(repository.top / "a.yaml")
    assert newest.text == "two\n"
    with pytest.raises(InputError, match="not UTF-8") as caught:
        _ = oldest.text
    assert "UTF-16" in str(caught.value.hint)


def test_a_link_is_no_version(repository):
    repository.write("a.yaml", "one\n")
    (repository.top / "a.yaml").unlink()
    (repository.top / "a.yaml").symlink_to("b.yaml")
    repository.commit()
    assert texts(repository.top / "a.yaml") == ["one\n"]


def test_settings_of_the_user_change_nothing(repository):
    repository.write("a.yaml", LINES)
    repository.git("mv", "a.yaml", "b.yaml")
    repository.write("b.yaml", LINES + "more\n")
    settings = {"log.showRoot": "false", "diff.renames": "false", "color.ui": "always", "log.date": "relative"}
    settings |= {"diff.noprefix": "true", "log.showSignature": "true", "core.quotePath": "true", "log.decorate": "full"}
    for key, value in settings.items():
        repository.git("config", key, value)
    assert texts(repository.top / "b.yaml") == [LINES + "more\n", LINES]

"""Files that a pattern matches, on disk and in a git revision."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemactl.errors import InputError
from schemactl.store import file_trees
from schemactl.store.file_trees import RevisionFiles, WorkingFiles
from tests.store.test_revision import commit, git

TEXTS = {
    "queries/a.sql": "select 1", "queries/b.txt": "no query", "queries/day/c.sql": "select 3",
    "queries/day/deep/d.sql": "select 4", "queries/.hidden/e.sql": "select 5", "queries/.f.sql": "select 6",
    "queries/[x].sql": "select 7", "other/ü g.sql": "select 8",
}  # fmt: skip
PATTERNS = (
    "queries", "queries/", "./queries", "queries/a.sql", "queries/*.sql", "queries/**", "queries/**/*.sql", "**/*.sql",
    "queries/?.sql", "queries/[[]x].sql", "queries/[ab].*", "queries/*/*.sql", "queries/.hidden/*.sql",
    "queries/.*.sql", "*/day/**/d.sql", "other/*", "queries/day/../*.sql", "missing", "missing/*.sql",
    "queries/a.sql/*", "**/**/**/c.sql", ".",
)  # fmt: skip


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    top = tmp_path / "top"
    for name, text in TEXTS.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    git(top, "init", "-q", "-b", "main")
    commit(top, "first")
    monkeypatch.chdir(top)
    return top


def paths(pattern: str, tree: WorkingFiles | RevisionFiles) -> dict[str, str]:
    return {str(file.path): file.text for file in tree.find(pattern, ".sql")}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_matches_the_same_files_on_disk_and_in_a_revision(pattern: str) -> None:
    expected = paths(pattern, WorkingFiles())
    assert paths(pattern, RevisionFiles("main", Path.cwd())) == expected
    assert bool(expected) != pattern.startswith(("missing", "queries/a.sql/"))


def test_paths_are_relative_to_the_working_folder_or_absolute_as_the_pattern_is(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository / "other")
    tree = RevisionFiles("main", repository)
    for pattern in ("../queries/*.sql", "*.sql", str(repository / "queries" / "*.sql")):
        assert list(paths(pattern, tree)) == list(paths(pattern, WorkingFiles())) != []


def test_a_revision_has_its_own_texts(repository: Path) -> None:
    (repository / "queries" / "a.sql").write_text("select 2")
    (repository / "queries" / "day" / "c.sql").unlink()
    assert paths("queries/a.sql", RevisionFiles("main", Path.cwd())) == {"queries/a.sql": "select 1"}
    assert list(paths("queries/day/*.sql", RevisionFiles("main", Path.cwd()))) == ["queries/day/c.sql"]


def test_files_outside_of_the_repository_are_those_on_disk(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x.sql").write_text("select 1")
    expected = {"../elsewhere/x.sql": "select 1"}
    assert paths("../elsewhere/*.sql", RevisionFiles("main", Path.cwd())) == expected
    assert paths("../elsewhere", RevisionFiles("main", Path.cwd())) == expected


def test_a_file_that_cannot_be_read_has_a_fault(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / "odd").mkdir()
    (repository / "odd" / "latin.sql").write_bytes(b"select '\xe4'")
    (repository / "odd" / "link.sql").symlink_to("/etc/hostname")
    commit(repository, "odd files")
    faults = {str(file.path): file.fault for file in RevisionFiles("HEAD", Path.cwd()).find("odd", ".sql")}
    assert faults == {"odd/latin.sql": "the file is not UTF-8", "odd/link.sql": "a symbolic link"}
    on_disk = {str(file.path): file.fault for file in WorkingFiles().find("odd", ".sql")}
    assert on_disk["odd/latin.sql"] == "the file is not UTF-8"
    assert "is a link out of the repository" in (on_disk["odd/link.sql"] or "")


def test_a_folder_that_leads_out_of_the_repository_is_not_read(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x.sql").write_text("select 1")
    (repository / "odd").mkdir()
    (repository / "odd" / "out").symlink_to(tmp_path / "elsewhere")
    (file,) = WorkingFiles().find("odd/out/*.sql", "")
    assert (file.text, "is a link out of the repository" in (file.fault or "")) == ("", True)


@pytest.mark.parametrize("is_on_disk", [True, False])
def test_too_many_files_are_refused(is_on_disk: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = WorkingFiles() if is_on_disk else RevisionFiles("main", Path.cwd())
    monkeypatch.setattr(file_trees, "MAX_FILES", 2)
    with pytest.raises(InputError, match=r"`queries/\*\*/\*.sql` matches 4 files, more than 2"):
        list(tree.find("queries/**/*.sql", ".sql"))

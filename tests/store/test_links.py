"""Links inside a repository lead nowhere outside; links above it are part of the machine."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from platforms import needs_posix

from schemactl.errors import InputError
from schemactl.store.folder import SchemasFolder, list_names, refuse_linked_schemas
from schemactl.store.git import find_repository
from schemactl.store.links import check_file, check_link, is_plain_file, path_in_repository, refuse_links
from schemactl.store.lock import locked, locked_schemas
from schemactl.store.text import PRIVATE_MODE, read_bytes, read_text, remove_leftovers, replace_file


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository beside a folder that is none of its business."""
    (tmp_path / "outside" / "folder").mkdir(parents=True)
    (tmp_path / "outside" / "secret").write_text("SECRET")
    (tmp_path / "outside" / "folder" / "a.schema.yaml").write_text("SECRET")
    (tmp_path / "outside" / ".git").mkdir()
    top = tmp_path / "repository"
    (top / ".git" / "hooks").mkdir(parents=True)
    (top / ".git" / "config").write_text("SECRET")
    (top / "folder" / "sub").mkdir(parents=True)
    (top / "file").write_text("content")
    monkeypatch.chdir(top)
    return top


def named(path: Path | str) -> tuple[str | None, str | None]:
    """Return the path from the top of its repository, and its first link."""
    repository = path_in_repository(Path(path))
    assert repository is not None
    return repository.inside, repository.link and repository.link.name


def test_a_path_is_named_from_the_top_whether_it_exists_or_not(top: Path):
    assert named("folder/none") == ("folder/none", None)
    assert named(top) == (".", None)
    assert named("folder/../file") == ("file", None)
    assert path_in_repository(top.parent / "none") is None
    assert path_in_repository(Path("../none")) is None


def test_links_above_a_repository_are_followed(top: Path, monkeypatch: pytest.MonkeyPatch):
    (top.parent / "home").symlink_to("first")
    (top.parent / "first").symlink_to(top.parent)
    (top.parent / "into").symlink_to(top / "folder")
    for path in (top.parent / "home/repository/folder/x", top.parent / "into/x", top.parent / "home/into/../folder/x"):
        assert named(path) == ("folder/x", None)
        check_file(path)
    # As a shell's working folder: the system knows it without links.
    monkeypatch.chdir(top.parent / "home/repository")
    refuse_links(Path("folder"))
    assert find_repository_or_none(top.parent / "into/x") == top


def find_repository_or_none(path: Path) -> Path | None:
    repository = path_in_repository(path)
    return repository and repository.top


def test_a_link_of_a_repository_is_not_followed(top: Path):
    (top / "linked").symlink_to("folder")
    assert named("linked/x") == ("linked/x", "linked")
    assert named("linked/../x") == ("x", "linked")
    assert named("linked/../../x") == (None, "linked")
    (top.parent / "into").symlink_to(top / "linked")
    assert named(top.parent / "into/x") == ("linked/x", "linked")


def test_a_repository_behind_a_link_is_not_the_one_of_the_path(top: Path):
    (top / "vendor").symlink_to("../outside")
    repository = path_in_repository(top / "vendor/folder")
    assert repository is not None
    assert (repository.top, repository.inside) == (top, "vendor/folder")
    with pytest.raises(InputError, match="is a link out of the repository"):
        read_text(Path("vendor/secret"))


def test_a_link_of_another_repository_leads_to_that_of_the_working_folder(top: Path, monkeypatch: pytest.MonkeyPatch):
    # A home that is a repository itself, with a link to the disk that holds the checkouts.
    home = top.parent / "home"
    (home / ".git").mkdir(parents=True)
    (home / "work").symlink_to(top.parent)
    monkeypatch.chdir(top)
    assert read_text(home / "work/repository/file") == "content"
    refuse_links(home / "work/repository/folder")


LINKS_OUT: dict[str, Callable[[Path], Path]] = {
    "a file": lambda top: link(top / "x", "../outside/secret"),
    "an absolute path": lambda top: link(top / "x", str(top.parent / "outside/secret")),
    "a folder above": lambda top: link(top / "x", "../outside") / "secret",
    "a chain": lambda top: link(top / "x", str(link(top / "y", str(link(top / "z", "../outside"))))) / "secret",
    "behind a folder": lambda top: link(top / "folder/x", "../../outside") / "secret",
    "dots": lambda top: link(top / "x", "folder/../../outside") / "secret",
    "dots behind a link": lambda top: link(top / "x", "../outside/folder") / ".." / "secret",
    "nothing": lambda top: link(top / "x", "../outside/new"),
    "git": lambda top: link(top / "x", ".git/config"),
    "a folder of git": lambda top: link(top / "x", ".git/hooks") / "post-checkout",
    "a device": lambda top: link(top / "x", "/dev/zero"),
    "the process": lambda top: link(top / "x", "/proc/self/environ"),
    "the root": lambda top: link(top / "x", "/") / "etc/passwd",
}


def link(path: Path, target: str) -> Path:
    path.symlink_to(target)
    return path


@needs_posix
@pytest.mark.parametrize("kind", LINKS_OUT)
@pytest.mark.parametrize("is_absolute", [True, False])
def test_nothing_is_read_or_written_through_a_link_out_of_a_repository(top: Path, kind: str, is_absolute: bool):
    path = LINKS_OUT[kind](top)
    path = path if is_absolute else path.relative_to(top)
    before = {each: each.read_bytes() for each in (top.parent / "outside/secret", top / ".git/config")}

    for use in (read_text, read_bytes, lambda path: replace_file(path, "mine"), check_link, refuse_links):
        with pytest.raises(InputError, match="is a link out of the repository") as caught:
            use(path)
        assert "SECRET" not in f"{caught.value.message} {caught.value.hint}"

    assert before == {each: each.read_bytes() for each in before}
    assert not (top.parent / "outside/new").exists()
    assert not list((top / ".git/hooks").iterdir())


def test_links_within_a_repository_are_followed_but_by_a_review(top: Path):
    link(top / "x", "y")
    link(top / "y", str(top / "file"))
    link(top / "above", "folder")
    assert read_text(Path("x")) == "content"
    replace_file(Path("x"), "new")
    assert (top / "file").read_text() == "new"
    replace_file(Path("above/new"), "new")
    assert (top / "folder/new").read_text() == "new"
    for path in ("x", "above", "above/new", "above/sub"):
        with pytest.raises(InputError, match=r"`(x|above)` is a symbolic link"):
            refuse_links(Path(path))


def test_a_ring_of_links_is_no_way_out_and_does_not_hang(top: Path):
    link(top / "a", "b")
    link(top / "b", "a")
    for use in (read_text, lambda path: replace_file(path, "x")):
        with pytest.raises(InputError, match=r"cannot (read|write) `a`"):
            use(Path("a"))
    assert not SchemasFolder(top, top / "a", top / "folder").is_shared
    with pytest.raises(InputError, match="cannot list"):
        list_names(top / "a")


def test_outside_of_repositories_links_are_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "real").mkdir()
    link(tmp_path / "linked", "real")
    replace_file(Path("linked/file"), "x")
    refuse_links(Path("linked"))
    assert read_text(Path("linked/file")) == "x"


@needs_posix
def test_a_pipe_among_the_files_of_a_repository_is_not_waited_for(top: Path):
    os.mkfifo(top / "pipe")
    link(top / "linked", "pipe")
    for path in (Path("pipe"), Path("linked")):
        for use in (read_text, read_bytes, lambda path: replace_file(path, "x")):
            with pytest.raises(InputError, match="is a pipe or a device"):
                use(path)


@needs_posix
def test_a_pipe_that_the_call_hands_over_is_read(top: Path):
    read, write = os.pipe()
    os.write(write, b"name: a")
    os.close(write)
    try:
        assert read_text(Path(f"/dev/fd/{read}")) == "name: a"
    finally:
        os.close(read)


def test_a_folder_behind_a_link_out_of_the_repository_is_not_listed_or_swept(top: Path):
    link(top / "schemas", "../outside/folder")
    leftover = top.parent / "outside/folder/.schemactl-0.tmp"
    leftover.write_text("")
    for use in (list_names, remove_leftovers):
        with pytest.raises(InputError, match="is a link out of the repository"):
            use(top / "schemas")
    assert leftover.exists()


@pytest.mark.parametrize("kind", ["root", "import", "export", "file"])
def test_a_link_anywhere_in_a_folder_of_schemas_is_refused_for_a_review(top: Path, kind: str):
    (top / "other").mkdir()
    (top / "other/a.schema.yaml").write_text("")
    if kind == "root":
        link(top / "schemas", "folder")
    else:
        (top / "schemas/export").mkdir(parents=True)
        path = {"export": "schemas/export", "import": "schemas/import", "file": "schemas/export/a.schema.yaml"}[kind]
        if kind == "export":
            (top / "schemas/export").rmdir()
        link(top / path, str(top / "other" / ("a.schema.yaml" if kind == "file" else "")))
    with pytest.raises(InputError, match="is a symbolic link"):
        refuse_linked_schemas(SchemasFolder.at(Path("schemas")))


@pytest.mark.parametrize("target", ["../../outside/secret", "../../file"])
@pytest.mark.parametrize("linked", ["lock", "folder"])
def test_a_lock_is_not_taken_through_a_link(top: Path, target: str, linked: str):
    (top / "schemas").mkdir()
    if linked == "folder":
        link(top / "schemas/.schemactl", str(Path(target).parent))
    else:
        (top / "schemas/.schemactl").mkdir()
        link(top / "schemas/.schemactl/lock", f"../{target}")
    link(top / ".schemactl.lock", "file")
    with pytest.raises(InputError, match="a link"), locked_schemas(top / "schemas"):
        pass
    with pytest.raises(InputError, match="a link"), locked(top):
        pass
    assert (top / "file").read_text() == "content"
    assert (top.parent / "outside/secret").read_text() == "SECRET"
    assert not (top.parent / "outside/lock").exists()


def test_the_file_that_lets_git_ignore_a_lock_is_not_written_through_a_link(top: Path):
    (top / "schemas/.schemactl").mkdir(parents=True)
    link(top / "schemas/.schemactl/.gitignore", "../../../outside/new")
    with locked_schemas(top / "schemas"):
        pass
    assert not (top.parent / "outside/new").exists()


def test_a_schemas_folder_that_is_a_link_of_the_repository_can_be_locked(top: Path):
    link(top / "schemas", "folder")
    with locked_schemas(top / "schemas"):
        assert (top / "folder/.schemactl/lock").exists()


def test_a_path_that_is_too_long_or_no_path_is_in_no_repository_of_its_own(top: Path):
    for path in (Path("x" * 5000), Path("x/" * 3000), Path("a\0b")):
        check_file(path)


@needs_posix
def test_a_new_file_of_values_can_be_read_by_its_user_alone(top: Path):
    before = os.umask(0)
    try:
        replace_file(Path("new"), "x", PRIVATE_MODE)
        replace_file(Path("file"), "x", PRIVATE_MODE)
    finally:
        os.umask(before)
    assert stat.S_IMODE((top / "new").stat().st_mode) == 0o600
    assert stat.S_IMODE((top / "file").stat().st_mode) != 0o600


def test_the_repository_of_git_is_found_by_the_name_of_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import subprocess

    for name in ("ours", "theirs"):
        subprocess.run(("git", "init", "-q", str(tmp_path / name)), check=True)
    link(tmp_path / "ours/schemas", "../theirs/schemas")
    link(tmp_path / "ours/vendor", "../theirs")
    link(tmp_path / "to-theirs", "theirs")
    (tmp_path / "none").mkdir()
    for folder in ("ours", "none"):
        monkeypatch.chdir(tmp_path / folder)
        for path in ("ours/schemas/export", "ours/vendor/x", "ours"):
            assert find_repository(tmp_path / path).samefile(tmp_path / "ours")
        assert find_repository(tmp_path / "to-theirs/x").samefile(tmp_path / "theirs")


@needs_posix
def test_a_plain_file_is_one_that_no_link_leads_to(top: Path):
    (top / "out").symlink_to("../outside")
    (top / "alias").symlink_to("folder")
    (top / "folder" / "a.sql").write_text("select 1")
    (top / "folder" / "link.sql").symlink_to("a.sql")
    (top / "folder" / "stolen.sql").symlink_to("../../outside/secret")
    (top / "hooks").symlink_to(".git")
    os.mkfifo(top / "folder" / "pipe.sql")
    plain = {"file", "folder/a.sql", str(top / "folder" / "a.sql"), "../outside/secret"}
    others = {"folder/link.sql", "folder/stolen.sql", "folder/pipe.sql", "folder/sub", "folder/none", "alias/a.sql"}
    others |= {"out/secret", "out/folder/a.schema.yaml", "hooks/config"}
    folders: dict[Path, bool] = {}
    assert {path for path in sorted(plain | others) if is_plain_file(Path(path), folders)} == plain
    for path in plain:
        check_file(Path(path))

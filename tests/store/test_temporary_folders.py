"""Folders for the time of a command: removed at its end, or by the next one where it was killed."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import filelock
import pytest
from platforms import IS_ROOT, needs_posix

from schemactl.errors import EngineError, InputError
from schemactl.store import temporary_folders as module
from schemactl.store.temporary_folders import remove_left, temporary_folder

LIMIT_SECONDS = 10
HOLDER = """
import subprocess, sys, time
from pathlib import Path
from schemactl.store.temporary_folders import held_descriptors, temporary_folder
with temporary_folder("rows", Path(sys.argv[1])) as folder:
    (folder / "part").mkdir()
    (folder / "part" / "0.parquet").write_text("rows")
    locks = held_descriptors() if sys.argv[2] == "heir" else ()
    heir = subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL, pass_fds=locks)
    print(folder, heir.pid, flush=True)
    time.sleep(60)
"""


class Holder:
    """A process that holds a folder, and has started another one."""

    def __init__(self, above: Path, kind: str) -> None:
        command = [sys.executable, "-c", HOLDER, str(above), kind]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        folder, started = self.process.stdout.readline().split()
        self.folder, self.started = Path(folder), int(started)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def holder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Holder]:
    made = Holder(tmp_path, getattr(request, "param", "no heir"))
    yield made
    made.kill()
    assert made.process.stdout is not None
    made.process.stdout.close()
    with suppress(ProcessLookupError):
        os.kill(made.started, signal.SIGKILL)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _fail(folder: Path, error: Exception) -> None:
    for name in ("spark.log", "spark.conf"):
        (folder / name).touch()
    raise error


def leave(above: Path, token: str = "0123") -> Path:
    """What a killed command of this machine leaves."""
    folder = above / f"schemactl-rows-{module._machine()}-{token}"
    folder.mkdir()
    (folder / "0.parquet").write_text("rows")
    module._lock_file(folder).touch()
    return folder


def test_a_folder_is_private_and_gone_at_the_end(tmp_path: Path) -> None:
    with temporary_folder("rows", tmp_path) as folder:
        assert folder.parent == tmp_path
        assert folder.name.startswith("schemactl-rows-")
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "a" / "b").mkdir(parents=True)
        (folder / "a" / "b" / "c").touch()
    assert names(tmp_path) == []


def test_without_a_place_it_stands_in_the_systems_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with temporary_folder("spark") as folder:
        assert folder.parent == tmp_path
    assert names(tmp_path) == []


def test_a_place_may_be_relative_and_the_working_folder_may_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rows").mkdir()
    monkeypatch.chdir(tmp_path)
    with temporary_folder("rows", Path("rows")) as folder:
        monkeypatch.chdir("/")
        assert folder.is_dir()
    assert names(tmp_path / "rows") == []


@pytest.mark.parametrize(("error", "kept"), [(EngineError("x"), ["spark.log"]), (InputError("x"), []), (OSError(), [])])
def test_of_a_failure_of_spark_the_log_stays_for_good(tmp_path: Path, error: Exception, kept: list[str]) -> None:
    with pytest.raises(type(error)), temporary_folder("spark", tmp_path, log="spark.log") as folder:
        _fail(folder, error)
    remove_left(tmp_path)
    assert names(tmp_path) == [folder.name for _ in kept]
    assert not kept or names(folder) == kept


def test_a_folder_that_cannot_be_made_leaves_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(Path, "mkdir", full)
    with pytest.raises(OSError, match="full"), temporary_folder("rows", tmp_path):
        pass
    assert names(tmp_path) == []


def test_the_next_command_removes_what_a_killed_one_left(tmp_path: Path, holder: Holder) -> None:
    holder.kill()
    assert (holder.folder / "part" / "0.parquet").exists()
    with temporary_folder("spark", tmp_path) as folder:
        assert names(tmp_path) == sorted([folder.name, module._lock_file(folder).name])


def test_what_a_running_command_holds_stays(tmp_path: Path, holder: Holder) -> None:
    with temporary_folder("rows", tmp_path):
        pass
    remove_left(tmp_path)
    assert (holder.folder / "part" / "0.parquet").exists()


@pytest.mark.parametrize("holder", ["heir"], indirect=True)
@needs_posix
def test_a_folder_stays_while_a_process_lives_that_its_command_has_started(tmp_path: Path, holder: Holder) -> None:
    holder.kill()
    remove_left(tmp_path)
    assert (holder.folder / "part" / "0.parquet").exists()

    os.kill(holder.started, signal.SIGKILL)
    limit = time.monotonic() + LIMIT_SECONDS
    while names(tmp_path) and time.monotonic() < limit:
        remove_left(tmp_path)
    assert names(tmp_path) == []


def test_two_folders_of_one_process_do_not_remove_each_other(tmp_path: Path) -> None:
    with temporary_folder("rows", tmp_path) as rows:
        with temporary_folder("spark", tmp_path) as spark:
            assert rows.is_dir()
            assert spark.is_dir()
        assert rows.is_dir()
    assert names(tmp_path) == []


def test_a_kill_between_lock_and_folder_leaves_nothing_for_long(tmp_path: Path) -> None:
    folder = leave(tmp_path)
    (folder / "0.parquet").unlink()
    folder.rmdir()
    remove_left(tmp_path)
    assert names(tmp_path) == []


def test_only_folders_with_our_lock_on_this_machine_are_removed(tmp_path: Path) -> None:
    left = leave(tmp_path)
    other = tmp_path / left.name.replace(module._machine(), "ffffffff")
    for name in ("schemactl-rows-abc", f"schemactl-rows-{module._machine()}-no-lock", other.name):
        (tmp_path / name).mkdir()
    for name in (f".{other.name}.lock", ".schemactl.lock", ".a.lock"):
        (tmp_path / name).touch()
    before = names(tmp_path)

    remove_left(tmp_path)

    assert set(before) - set(names(tmp_path)) == {left.name, f".{left.name}.lock"}


def test_links_are_not_followed(tmp_path: Path) -> None:
    above, theirs = tmp_path / "above", tmp_path / "theirs"
    above.mkdir()
    theirs.mkdir()
    (theirs / "a").write_text("kept")
    # a link for the folder, one for the lock, one within
    folder = leave(above, "1")
    (folder / "0.parquet").unlink()
    folder.rmdir()
    folder.symlink_to(theirs)
    lock = module._lock_file(leave(above, "2"))
    lock.unlink()
    lock.symlink_to(theirs / "a")
    (leave(above, "3") / "within").symlink_to(theirs)
    before = names(above)

    remove_left(above)

    assert (theirs / "a").read_text() == "kept"
    assert {name[-1] for name in set(before) - set(names(above)) if not name.startswith(".")} == {"3"}
    assert folder.is_symlink()


@pytest.mark.skipif(not IS_ROOT, reason="gives files to another user")
@pytest.mark.parametrize("part", ["folder", "lock"])
def test_what_another_user_has_made_stays(tmp_path: Path, part: str) -> None:
    folder = leave(tmp_path)
    os.chown(folder if part == "folder" else module._lock_file(folder), 65534, 65534)
    before = names(tmp_path)
    remove_left(tmp_path)
    assert names(tmp_path) == before


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_worked_on_and_nothing_there_is_removed(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = leave(tmp_path)

    def refuse(_: int) -> bool:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(filelock._unix, "lock_fd_nonblocking", refuse)
    with temporary_folder("rows", tmp_path) as folder:
        assert names(tmp_path) == sorted([left.name, f".{left.name}.lock", folder.name])
    assert names(tmp_path) == sorted([left.name, f".{left.name}.lock"])


def test_many_at_once_all_keep_their_folder_until_their_end(tmp_path: Path) -> None:
    leave(tmp_path)
    lost: list[Path] = []

    def work() -> None:
        for _ in range(20):
            with temporary_folder("rows", tmp_path) as folder:
                (folder / "a").touch()
                if not (folder / "a").exists() or not module._lock_file(folder).exists():
                    lost.append(folder)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert lost == []
    assert names(tmp_path) == []
